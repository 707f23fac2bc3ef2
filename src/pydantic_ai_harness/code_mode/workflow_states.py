"""The states of a conversation in a durable workflow: paused snippets in the message history, the session recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse

from .engine import Engine
from .packing import compressed, decompressed
from .pause_record import PauseRecord
from .pause_trace import response_of
from .recorded_step import too_large_to_record
from .state_store import Reason, StateUnavailableError
from .states import read, written
from .stored_session import SessionRecord

if TYPE_CHECKING:
    from .capability import CodeMode

_KEY = 'code_mode_states'
_NEVER = datetime.max.replace(tzinfo=UTC)


class TakenSession(BaseModel):
    """What a store gave, as data."""

    session: SessionRecord | None = None
    unavailable: tuple[Reason, str] | None = None
    failure: str | None = None


@dataclass(frozen=True)
class WorkflowStates:
    """Keeps a snippet that waits in the response that called `run_code`, which the workflow keeps anyway."""

    settings: CodeMode[Any]
    engine: Engine
    ctx: RunContext[Any]
    conversation_id: str

    async def save_pause(self, record: PauseRecord) -> None:
        """Put the snippet into the history."""
        response = response_of(self.ctx.messages, record.run_code_id)
        if response is None:
            raise StateUnavailableError('not_in_history', 'nor the call')
        metadata = response.metadata or {}
        packed = compressed(written(record, _NEVER))
        # The history goes along with every request to the model, if the call is answered without being resumed.
        if (problem := too_large_to_record(packed, _half(self.engine.max_recorded_bytes))) is not None:
            raise StateUnavailableError('not_in_history', f'it comes to {problem}')
        response.metadata = {**metadata, _KEY: {**metadata.get(_KEY, {}), record.run_code_id: packed}}

    async def latest_pause(self, run_code_id: str, code: str) -> str | None:
        """Whatever is known stands in the history, which has been asked."""
        return None

    async def take_pause(self, run_code_id: str, token: str) -> PauseRecord:
        """Take the snippet out of the history.

        Raises:
            StateUnavailableError: It is not to be had.
        """
        response = response_of(self.ctx.messages, run_code_id)
        metadata = (response.metadata if response else None) or {}
        packed: object = metadata.get(_KEY, {}).get(run_code_id)
        if response is None or not isinstance(packed, str):
            raise StateUnavailableError('not_in_history')
        record = read(decompressed(packed), PauseRecord)
        if record.token != token:
            raise StateUnavailableError('taken', 'it has waited for other calls since')
        others = {key: state for key, state in metadata[_KEY].items() if key != run_code_id}
        response.metadata = {**metadata, _KEY: others} if others else _without(metadata, _KEY)
        return record

    async def save_session(self, record: SessionRecord) -> None:
        """Keep the session in the store, as a recorded operation."""
        text = record.model_dump_json()
        if (problem := too_large_to_record(text, self.engine.max_recorded_bytes)) is not None:
            raise RuntimeError(f'it comes to {problem}')
        if failure := await self.settings.save_session(self.ctx, self.conversation_id, text):
            raise RuntimeError(failure)

    async def take_session(self) -> SessionRecord:
        """Take the session from the store, as a recorded operation.

        Raises:
            StateUnavailableError: It is not to be had.
        """
        answer = await self.settings.take_session(self.ctx, self.conversation_id, self.engine.max_recorded_bytes)
        taken = TakenSession.model_validate_json(answer)
        if taken.unavailable is not None:
            raise StateUnavailableError(*taken.unavailable)
        if taken.session is None:
            raise RuntimeError(taken.failure)
        return taken.session


def drop_states(messages: Iterable[ModelMessage]) -> None:
    """Take out what nobody waits for any more: before a request to the model, all calls have been answered."""
    for message in messages:
        if isinstance(message, ModelResponse) and message.metadata and _KEY in message.metadata:
            message.metadata = _without(message.metadata, _KEY)


def _half(size: int | None) -> int | None:
    return None if size is None else size // 2


def _without(metadata: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name != key}
