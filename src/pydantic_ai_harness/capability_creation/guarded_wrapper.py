"""A toolset that an authored capability wraps around all others, behind a guard."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from pydantic import ValidationError
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from . import prompt
from .guarded_toolset import Instructions, check_can_be_sent, check_tools, check_wrapper
from .hooks import AUTHORING_TOOL, ENDS_RUNS, TOOL_CONTROL
from .monitor import Monitor

T = TypeVar('T')


@dataclass
class _Shared:
    """What the guard and its boundary know of each other, over the copies that a run makes of both."""

    inside: AbstractToolset[Any]
    """What is wrapped, as it is now."""
    entered: bool = False
    """Whether what is wrapped is entered."""
    begun: set[str | None] = field(default_factory=set[str | None])
    """Ids of the calls that have reached what is wrapped."""
    done: set[str | None] = field(default_factory=set[str | None])
    """Ids of those that have returned."""
    errors: deque[BaseException] = field(default_factory=lambda: deque[BaseException](maxlen=16))
    """The latest errors that came from what is wrapped."""

    def progress(self, tool_call_id: str | None) -> prompt.Progress:
        """How far a tool call has come."""
        return 'done' if tool_call_id in self.done else 'begun' if tool_call_id in self.begun else 'not run'


@dataclass
class _Boundary(WrapperToolset[Any]):
    """Stands between the authored wrapper and what it wraps, to tell whose an error is."""

    shared: _Shared

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        return await self._moved(super().for_run(ctx))

    async def for_run_step(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        return await self._moved(super().for_run_step(ctx))

    async def __aenter__(self) -> Self:
        await self._watched(super().__aenter__())
        self.shared.entered = True
        return self

    async def __aexit__(self, *args: object) -> bool | None:
        self.shared.entered = False
        return await self._watched(super().__aexit__(*args))

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return await self._watched(super().get_tools(ctx))

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> object:
        self.shared.begun.add(ctx.tool_call_id)
        result: object = await self._watched(super().call_tool(name, tool_args, ctx, tool))
        self.shared.done.add(ctx.tool_call_id)
        return result

    async def _moved(self, pending: Awaitable[AbstractToolset[Any]]) -> AbstractToolset[Any]:
        moved = await self._watched(pending)
        self.shared.inside = moved.wrapped if isinstance(moved, _Boundary) else moved
        return moved

    async def _watched(self, pending: Awaitable[T]) -> T:
        try:
            return await pending
        except BaseException as error:
            self.shared.errors.append(error)
            raise


@dataclass
class GuardedWrapperToolset(WrapperToolset[Any]):
    """The authored wrapper, or what it wraps once the wrapper has failed; around a tool call it fails closed."""

    monitor: Monitor
    shared: _Shared
    is_broken: bool = False
    """Whether the run goes on without the wrapper."""

    @staticmethod
    def around(toolset: AbstractToolset[Any]) -> tuple[AbstractToolset[Any], _Shared]:
        """What the authored wrapper is to be given, and what its guard needs besides."""
        shared = _Shared(toolset)
        return _Boundary(toolset, shared), shared

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """See `AbstractToolset.for_run`."""
        return await self._attempt('for_run', super().for_run(ctx), self, check_wrapper)

    async def for_run_step(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """See `AbstractToolset.for_run_step`."""
        if self.is_broken:
            self.shared.inside = await self.shared.inside.for_run_step(ctx)
            return self
        return await self._attempt('for_run_step', super().for_run_step(ctx), self, check_wrapper)

    async def __aenter__(self) -> Self:
        await self._attempt('__aenter__', super().__aenter__(), None)
        if not self.shared.entered:
            await self.shared.inside.__aenter__()
            self.shared.entered = True
        return self

    async def __aexit__(self, *args: object) -> bool | None:
        suppress: bool | None = None
        if not self.is_broken:
            suppress = await self._attempt('__aexit__', super().__aexit__(*args), None)
        if self.shared.entered:
            self.shared.entered = False
            suppress = await self.shared.inside.__aexit__(*args)
        return suppress

    async def get_instructions(self, ctx: RunContext[Any]) -> Instructions:
        """See `AbstractToolset.get_instructions`."""
        if not self.is_broken:
            instructions = await self._attempt('get_instructions', super().get_instructions(ctx), None)
            if not self.is_broken:
                return instructions
        return await self.shared.inside.get_instructions(ctx)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """See `AbstractToolset.get_tools`."""
        if not self.is_broken:
            no_tools = dict[str, ToolsetTool[Any]]()
            tools = await self._attempt('get_tools', super().get_tools(ctx), no_tools, check_tools)
            if not self.is_broken:
                return tools
        return await self.shared.inside.get_tools(ctx)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> object:
        """See `AbstractToolset.call_tool`."""
        if self.is_broken:
            return await self.shared.inside.call_tool(name, tool_args, ctx, tool)
        if AUTHORING_TOOL in (tool.tool_def.metadata or {}):
            inside = await self.shared.inside.get_tools(ctx)
            return await self.shared.inside.call_tool(name, tool_args, ctx, inside[name])
        try:
            result: object = await super().call_tool(name, tool_args, ctx, tool)
            check_can_be_sent(result)
            return result
        except ValidationError:
            raise
        except BaseException as error:
            self._raise_if_from_inside(error)
            failure = self.monitor.contain('its wrapper toolset', error, (*ENDS_RUNS, *TOOL_CONTROL))
            progress = self.shared.progress(ctx.tool_call_id)
            raise ToolFailed(prompt.stopped_call(name, self.monitor.name, failure, progress)) from error

    async def _attempt(
        self, method: str, attempt: Awaitable[T], default: T, check: Callable[[object], None] | None = None
    ) -> T:
        try:
            result = await attempt
            if check is not None:
                check(result)
            return result
        except BaseException as error:  # noqa: BLE001 - `contain` raises what is not to be contained
            self._raise_if_from_inside(error)
            self.monitor.contain(f'{method} of its wrapper toolset', error)
            self.is_broken = True
            return default

    def _raise_if_from_inside(self, error: BaseException) -> None:
        if any(error is known for known in self.shared.errors):
            raise error
