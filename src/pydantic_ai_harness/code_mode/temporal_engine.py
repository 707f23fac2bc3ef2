"""Code mode in a Temporal workflow."""

from __future__ import annotations

import builtins
from datetime import timedelta

from pydantic_ai.tools import ToolDefinition
from pydantic_core import PydanticSerializationError
from temporalio import activity, workflow
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, ChildWorkflowError, TemporalError
from temporalio.exceptions import TimeoutError as TemporalTimeoutError

from .engine import DurableEngine

# The server refuses payloads of 2 MiB (measured with 1.9.1), and a refused argument hangs the run. The rest of an
# operation's payload, the run's context with `deps` among it, needs room beside the step.
_MAX_RECORDED_BYTES = 1_700_000
_TIME_TO_REPORT = 5.0


class TemporalEngine(DurableEngine):
    """Steps are activities, sleeps are timers, calls overlap."""

    name = 'Temporal'
    max_recorded_bytes = _MAX_RECORDED_BYTES

    def now(self) -> float:
        """The workflow's time, which is the same when it is replayed."""
        return workflow.time()

    async def sleep(self, seconds: float, *, since: float) -> None:
        """Wait on a timer of the server."""
        await workflow.sleep(timedelta(seconds=max(0.0, seconds)))

    def may_overlap(self, tool: ToolDefinition, *, has_hooks: bool) -> bool:
        """The order in which things start and end is the same in a replay."""
        return True

    def ends_run(self, error: Exception) -> bool:
        """Whatever is not an activity or child workflow that failed on its own account."""
        if isinstance(error, (ActivityError, ChildWorkflowError)):
            return isinstance(error.cause, CancelledError)
        return isinstance(error, (TemporalError, PydanticSerializationError))

    def tool_error(self, error: Exception) -> Exception:
        """What the tool raised in its activity."""
        cause = error.cause if isinstance(error, (ActivityError, ChildWorkflowError)) else None
        if isinstance(cause, ApplicationError):
            return _built(cause.type, cause.message)
        if isinstance(cause, TemporalTimeoutError):
            return TimeoutError(cause.message)
        return error if cause is None else RuntimeError(str(cause))

    def step_seconds(self) -> float | None:
        """Until the server takes the step for lost and has it run again, less a moment to say so."""
        if not activity.in_activity():
            return None
        info = activity.info()
        limits = [limit for limit in (info.start_to_close_timeout, info.schedule_to_close_timeout) if limit is not None]
        if not limits:
            return None
        seconds = min(limits).total_seconds()
        return max(seconds - _TIME_TO_REPORT, seconds / 2)


def _built(kind: str | None, message: str) -> Exception:
    error: object = getattr(builtins, kind or '', None)
    if isinstance(error, type) and issubclass(error, Exception):
        try:
            return error(message)
        except TypeError:  # needs more than a message
            pass
    return RuntimeError(f'{kind}: {message}' if kind else message)
