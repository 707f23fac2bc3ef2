"""Code mode in a Temporal workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

import anyio
import pydantic_core
from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_core import PydanticSerializationError
from temporalio import activity, workflow
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, ChildWorkflowError, TemporalError
from temporalio.exceptions import TimeoutError as TemporalTimeoutError

from .builtin_errors import error_named
from .engine import DurableEngine

if TYPE_CHECKING:
    from .capability import CodeMode

# The server refuses payloads of 2 MiB (measured with 1.9.1), and a refused argument hangs the run. The rest of an
# operation's payload, the run's context with `deps` among it, needs room beside the step.
_MAX_RECORDED_BYTES = 1_700_000
# Each request to the model is an activity with the whole history, metadata and all, as its argument.
_MAX_METADATA_BYTES = 100_000
_TIME_TO_REPORT = 5.0

LOCAL_STEPS = 'pydantic_ai_harness.local_steps'
"""Under this name `CodeModePlugin` makes known which local activities a worker has."""
_LOCAL_STEPS_PATCH = 'pydantic_ai_harness:local_steps'
_AROUND_COMPUTING = timedelta(seconds=60)
_UNLIMITED = timedelta(hours=24)


def local_step_name(agent: str, code_mode: str | None) -> str:
    """What the local activity for an agent's steps is called; histories have it, so it stays as it is."""
    return f'agent__{agent}__local_step__{code_mode}'


class TemporalEngine(DurableEngine):
    """Steps are activities, sleeps are timers, calls overlap."""

    name = 'Temporal'
    max_recorded_bytes = _MAX_RECORDED_BYTES
    max_metadata_bytes = _MAX_METADATA_BYTES

    def now(self) -> float:
        """The workflow's time, which is the same when it is replayed."""
        return workflow.time()

    async def sleep(self, seconds: float, *, since: float) -> None:
        """Wait on a timer of the server."""
        await workflow.sleep(timedelta(seconds=max(0.0, seconds)))

    def may_overlap(self, tool: ToolDefinition, *, has_hooks: bool) -> bool:
        """The order in which things start and end is the same in a replay."""
        return True

    def why_not_sent(self, arguments: dict[str, Any]) -> str | None:
        """What Temporal's JSON cannot hold would end the run, where it is scheduled."""
        try:
            pydantic_core.to_json(arguments)
        except ValueError as error:
            return f'its arguments cannot be recorded ({error}); pass bytes as text, in base64 for example'
        return None

    def ends_run(self, error: Exception) -> bool:
        """Whatever is not an activity or child workflow that failed on its own account."""
        if isinstance(error, (ActivityError, ChildWorkflowError)):
            return isinstance(error.cause, CancelledError)
        return isinstance(error, (TemporalError, PydanticSerializationError))

    def tool_error(self, error: Exception) -> Exception:
        """What the tool raised in its activity."""
        cause = error.cause if isinstance(error, (ActivityError, ChildWorkflowError)) else None
        if isinstance(cause, ApplicationError):
            name = cause.type or 'RuntimeError'
            return error_named(name, cause.message) or RuntimeError(f'{name}: {cause.message}')
        if isinstance(cause, TemporalTimeoutError):
            return TimeoutError(cause.message)
        return error if cause is None else RuntimeError(str(cause))

    async def take_step(self, settings: CodeMode[Any], ctx: RunContext[Any], request: str) -> str:
        """Record a step as an activity; as a local one where the worker has `CodeModePlugin`."""
        name = local_step_name((ctx.agent.name if ctx.agent else None) or '', settings.id)
        if name not in _local_steps() or not workflow.patched(_LOCAL_STEPS_PATCH):
            return await super().take_step(settings, ctx, request)
        seconds = settings.limits.max_duration_secs
        timeout = _UNLIMITED if seconds is None else timedelta(seconds=seconds) + _AROUND_COMPUTING
        step = workflow.start_local_activity(name, request, result_type=str, start_to_close_timeout=timeout)
        return await _cancelled_once(step)

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


def _local_steps() -> frozenset[str]:
    functions = cast(Mapping[str, Callable[[], frozenset[str]]], workflow.extern_functions())  # pyright: ignore[reportUnknownMemberType]
    names = functions.get(LOCAL_STEPS)
    return frozenset() if names is None else names()


async def _cancelled_once(step: asyncio.Task[str]) -> str:
    """Wait for an activity; cancellation reaches it once.

    Cancelled from an anyio scope, which cancels again and again, an activity's handle asks the server each time, and
    the workflow never comes to rest (temporalio 1.35).
    """
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:
        step.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([step])
        if not step.cancelled():
            step.exception()  # else it is logged as one that nobody has looked at
        raise
