"""What the getters of a loaded capability return, with a guard around every function in it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

from pydantic_ai import InstructionPart
from pydantic_ai.capabilities import CapabilityOrdering
from pydantic_ai.models import Model, ModelSelectionContext, infer_model
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.toolsets import DynamicToolset, ToolsetFunc
from pydantic_ai.workspaces import LocalWorkspaceBackend, Workspace

from pydantic_ai_harness.narrowing import is_sequence, is_text_mapping

from .checks import CONTRIBUTIONS
from .guarded_toolset import GuardedToolset, is_toolset
from .monitor import Monitor

Accept = Callable[[Monitor, object], object]


def accept(getter: str, monitor: Monitor, value: object) -> object:
    """The getter's value as the agent may have it.

    Raises:
        TypeError: The agent could not use it.
    """
    if getter in CONTRIBUTIONS:
        CONTRIBUTIONS[getter].check(value)
    if value is None or getter not in _ACCEPT:
        return value
    return _ACCEPT[getter](monitor, value)


def guard_function(
    monitor: Monitor,
    function: Callable[..., object],
    where: str,
    is_usable: Callable[[object], bool],
    default: object,
    *,
    may_wait: bool = True,
) -> Callable[..., object]:
    """The function, with `default` in place of a failure and of what is not usable.

    Args:
        monitor: Records failures.
        function: Made by the author.
        where: What it is called in a failure.
        is_usable: Whether the agent can use what it returns.
        default: As if there was no function.
        may_wait: Whether it may be `async def`.
    """

    def checked(result: object) -> object:
        if inspect.iscoroutine(result):
            result.close()
        if not is_usable(result):
            raise TypeError(f'{where} returned {type(result).__name__}, which the agent cannot use.')
        return result

    async def finished(pending: Awaitable[object]) -> object:
        try:
            return checked(await pending)
        except BaseException as error:  # noqa: BLE001 - `contain` raises what is not to be contained
            monitor.contain(where, error)
            return default

    if may_wait and inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def guarded_async(*args: object, **kwargs: object) -> object:
            return await finished(function(*args, **kwargs))

        return guarded_async

    @functools.wraps(function)
    def guarded(*args: object, **kwargs: object) -> object:
        try:
            result = function(*args, **kwargs)
            return finished(result) if may_wait and inspect.isawaitable(result) else checked(result)
        except BaseException as error:  # noqa: BLE001 - `contain` raises what is not to be contained
            monitor.contain(where, error)
            return default

    return guarded


def _instructions(monitor: Monitor, value: object) -> object:
    if is_sequence(value):
        return [_instructions(monitor, item) for item in value]
    if not callable(value):
        return value
    return guard_function(monitor, value, 'an instruction function', _is_instruction_text, None)


def _is_instruction_text(value: object) -> bool:
    return value is None or isinstance(value, (str, InstructionPart))


def _description(monitor: Monitor, value: object) -> object:
    if not callable(value):
        return value
    return guard_function(monitor, value, 'the description function', _is_text, None)


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _model_settings(monitor: Monitor, value: object) -> object:
    if not callable(value):
        return value
    return guard_function(monitor, value, 'the model settings function', is_text_mapping, {}, may_wait=False)


def _native_tools(monitor: Monitor, value: object) -> object:
    return [_native_tool(monitor, tool) for tool in (value if is_sequence(value) else [value])]


def _native_tool(monitor: Monitor, tool: object) -> object:
    if isinstance(tool, AbstractNativeTool):
        return _optional(tool)
    assert callable(tool)  # noqa: S101 - checked as a contribution
    make = guard_function(monitor, tool, 'a native tool function', _is_native_tool_or_none, None)

    async def guarded(ctx: object) -> object:
        made = make(ctx)
        return _optional(await made if inspect.isawaitable(made) else made)

    return guarded


def _optional(tool: object) -> object:
    """A model that does not have the tool would refuse every request."""
    return replace(tool, optional=True) if isinstance(tool, AbstractNativeTool) else tool


def _is_native_tool_or_none(value: object) -> bool:
    return value is None or isinstance(value, AbstractNativeTool)


def _model(monitor: Monitor, value: object) -> object:
    if _is_model_or_none(value):
        return value
    if not callable(value):
        raise TypeError(f'get_model returned {type(value).__name__}: a model, its name, or a function for one.')
    select = guard_function(monitor, value, 'the model selector', _is_model_or_none, None)

    async def guarded(ctx: ModelSelectionContext[Any]) -> object:
        selected = select(ctx)
        model = await selected if inspect.isawaitable(selected) else selected
        return ctx.model if model is None else model

    return guarded


def _is_model_or_none(value: object) -> bool:
    if isinstance(value, str):
        infer_model(value)  # refuses what is no model
    return value is None or isinstance(value, (Model, str))


def _toolset(monitor: Monitor, value: object) -> object:
    if is_toolset(value):
        return GuardedToolset(value, monitor)
    assert callable(value)  # noqa: S101 - checked as a contribution
    make = guard_function(monitor, value, 'the toolset function', _is_toolset_or_none, None)
    return GuardedToolset(DynamicToolset(cast(ToolsetFunc[Any], make)), monitor)


def _is_toolset_or_none(value: object) -> bool:
    return value is None or is_toolset(value)


def _ordering(_monitor: Monitor, value: object) -> object:
    """Whether the rest of an ordering can be met depends on other capabilities, and no run may fail over it."""
    is_outermost = isinstance(value, CapabilityOrdering) and value.position == 'outermost'
    return CapabilityOrdering(position='outermost') if is_outermost else None


def _run_clock(monitor: Monitor, value: object) -> object:
    if not callable(value):
        raise TypeError(f'get_run_clock returned {type(value).__name__}: a function that returns a datetime.')

    def guarded() -> object:
        now = read()
        return now if isinstance(now, datetime) else datetime.now(UTC)

    read = guard_function(monitor, value, 'the run clock', _is_moment, None, may_wait=False)
    return guarded


def _is_moment(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _workspace(_monitor: Monitor, value: object) -> object:
    backend = value.backend if isinstance(value, Workspace) else value
    if not isinstance(backend, LocalWorkspaceBackend) or (isinstance(value, Workspace) and value.read_only):
        raise TypeError('An authored capability cannot move the run to a workspace where nothing can be authored.')
    return value


def _text(_monitor: Monitor, value: object) -> object:
    if not isinstance(value, str):
        raise TypeError(f'It returned {type(value).__name__} in place of a str.')
    return value


_ACCEPT: dict[str, Accept] = {
    'get_instructions': _instructions,
    'get_description': _description,
    'get_model_settings': _model_settings,
    'get_native_tools': _native_tools,
    'get_model': _model,
    'get_toolset': _toolset,
    'get_ordering': _ordering,
    'get_run_clock': _run_clock,
    'get_workspace': _workspace,
    'get_default_run_id': _text,
    'get_default_conversation_id': _text,
}
