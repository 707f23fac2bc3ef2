"""What the message history says of paused snippets.

Without it, when the state of one is gone, its approval could not be told from one of code that has not run at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ValidationError
from pydantic_ai.messages import ModelMessage, ModelResponse

_KEY = 'code_mode_pauses'


class PauseTrace(BaseModel):
    """What is known of a paused snippet without its state."""

    token: str
    """Tells this pause from all others."""
    done: list[str]
    """The calls that had ended, one line each."""


def leave_trace(messages: Iterable[ModelMessage], run_code_id: str, trace: PauseTrace) -> None:
    """Note a pause in the metadata of the response that called `run_code`, which no model is sent."""
    if (response := response_of(messages, run_code_id)) is not None:
        metadata = response.metadata or {}
        response.metadata = {**metadata, _KEY: {**metadata.get(_KEY, {}), run_code_id: trace.model_dump()}}


def find_trace(messages: Iterable[ModelMessage], run_code_id: str) -> PauseTrace | None:
    """The last pause of a `run_code` call, or `None` if the history knows of none."""
    response = response_of(messages, run_code_id)
    if response is None or not response.metadata:
        return None
    try:
        return PauseTrace.model_validate(response.metadata[_KEY][run_code_id])
    except (KeyError, TypeError, ValidationError):
        return None


def response_of(messages: Iterable[ModelMessage], run_code_id: str) -> ModelResponse | None:
    """The response that made a `run_code` call."""
    return next(
        (
            message
            for message in reversed([*messages])
            if isinstance(message, ModelResponse)
            and any(call.tool_call_id == run_code_id for call in message.tool_calls)
        ),
        None,
    )
