"""One guard for every hook: what a hook does when it works, and what is done in its place when it fails.

The default of a hook is the framework's own: what it does for a capability that does not have the hook.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from pydantic_ai.capabilities import WrapperCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_ai.messages import AgentStreamEvent, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from . import prompt
from .guarded_values import accept
from .hook_results import check_result
from .hooks import AUTHORING_TOOL, HOOKS, Hook
from .manifest import CapabilityFailure
from .monitor import Monitor


class GuardedHooks(WrapperCapability[Any]):
    """What the generated methods need of the capability that they are put on."""

    monitor: Monitor


def guarded_method(name: str) -> Callable[..., object]:
    """The method that stands in for a hook or getter of a loaded capability."""
    hook = HOOKS[name]
    make = {'sync': _guarded_getter, 'async': _guarded_hook, 'stream': _guarded_stream}[hook.kind]
    method = make(hook)
    method.__name__ = name
    method.__qualname__ = f'GuardedHooks.{name}'
    return method


def _original(hook: Hook) -> Callable[..., Any]:
    original: Callable[..., Any] = getattr(WrapperCapability, hook.name, hook.default)
    return original


def _guarded_getter(hook: Hook) -> Callable[..., object]:
    original = _original(hook)

    def method(self: GuardedHooks, *args: object, **kwargs: object) -> object:
        try:
            value: object = original(self, *args, **kwargs)
            check_result(hook.name, value)
            return accept(hook.name, self.monitor, value)
        except BaseException as error:  # noqa: BLE001 - `contain` raises what is not to be contained
            self.monitor.contain(hook.name, error, hook.control)
            return hook.default(self, *args, **kwargs)

    return method


def _guarded_hook(hook: Hook) -> Callable[..., Awaitable[object]]:
    original = _original(hook)

    async def method(self: GuardedHooks, *args: object, **kwargs: object) -> object:
        call = _HookCall(hook, self.monitor, kwargs)
        try:
            result: object = await original(self, *args, **call.kwargs)
            check_result(hook.name, result)
            return result
        except BaseException as error:
            failure = call.contain(error)
            if call.may_be_a_guard:
                raise call.closed(failure) from error
            if call.handler is not None and call.handler.was_called:
                return await call.handler.outcome(instead_of=error)
            default: Any = hook.default(self, *args, **kwargs)
            return await default

    return method


def _guarded_stream(hook: Hook) -> Callable[..., AsyncIterator[AgentStreamEvent]]:
    original = _original(hook)

    async def method(
        self: GuardedHooks, *args: object, stream: AsyncIterable[AgentStreamEvent]
    ) -> AsyncIterator[AgentStreamEvent]:
        source = _Stream(stream)
        try:
            try:
                async for event in original(self, *args, stream=source):
                    source.is_passed_on = True
                    yield event
            except BaseException as error:
                if error is source.error:
                    raise
                self.monitor.contain(hook.name, error, hook.control)
            async for event in source.rest():
                yield event
        finally:
            await _close(stream)

    return method


class _HookCall:
    """One call of a hook: its handler, if it has one, and whose an error is."""

    def __init__(self, hook: Hook, monitor: Monitor, kwargs: Mapping[str, object]) -> None:
        self.hook = hook
        self.kwargs = dict(kwargs)
        self.handler: _Handler | None = None
        self._monitor = monitor
        if hook.wraps:
            self.handler = _Handler(self.kwargs['handler'])
            self.kwargs['handler'] = self.handler

    @property
    def may_be_a_guard(self) -> bool:
        """Whether the call must not go on without the hook."""
        tool = self.kwargs.get('tool_def')
        is_mending = isinstance(tool, ToolDefinition) and AUTHORING_TOOL in (tool.metadata or {})
        return self.hook.around_a_tool and 'error' not in self.kwargs and not is_mending

    def contain(self, error: BaseException) -> CapabilityFailure:
        """Record the error, or raise it if it is the framework's or the handler's."""
        if error is self.kwargs.get('error') or (self.handler is not None and error is self.handler.error):
            raise error
        is_too_early = (
            self.hook.name == 'wrap_tool_validate'
            and isinstance(error, (ApprovalRequired, CallDeferred))
            and not (self.handler is not None and self.handler.has_returned)
        )
        control = self.hook.control
        if is_too_early:
            control = tuple(each for each in control if each not in (ApprovalRequired, CallDeferred))
        return self._monitor.contain(self.hook.name, error, control)

    def closed(self, failure: CapabilityFailure) -> ToolFailed:
        """What the model reads in place of the tool's result."""
        call = self.kwargs['call']
        tool = call.tool_name if isinstance(call, ToolCallPart) else 'The tool'
        has_run = self.hook.name == 'after_tool_execute' or (
            self.hook.name == 'wrap_tool_execute' and self.handler is not None and self.handler.has_returned
        )
        return ToolFailed(prompt.stopped_call(tool, self._monitor.name, failure, has_run=has_run))


class _Handler:
    """What a wrap hook wraps, and how it ended."""

    def __init__(self, handler: Any) -> None:
        self._handler: Callable[..., Awaitable[object]] = handler
        self._ended = asyncio.Event()
        self._result: object = None
        self.was_called = False
        self.has_returned = False
        self.error: BaseException | None = None

    async def __call__(self, *args: object) -> object:
        self.was_called, self.has_returned, self.error = True, False, None
        self._ended.clear()
        try:
            self._result = await self._handler(*args)
            self.has_returned = True
            return self._result
        except BaseException as error:
            self.error = error
            raise
        finally:
            self._ended.set()

    async def outcome(self, *, instead_of: BaseException) -> object:
        """How the last call ended, once it has.

        Raises:
            BaseException: What the handler raised; `instead_of` if the hook itself had cancelled it, since then
                there is nothing to go on with.
        """
        await self._ended.wait()
        if isinstance(self.error, asyncio.CancelledError):
            raise instead_of
        if self.error is not None:
            raise self.error
        return self._result


class _Stream:
    """The events that an authored stream hook reads, so that those which it swallowed can follow."""

    def __init__(self, stream: AsyncIterable[AgentStreamEvent]) -> None:
        self._events = aiter(stream)
        self._last: AgentStreamEvent | None = None
        self.is_passed_on = True
        """Whether the hook has yielded something since it read the last event."""
        self.error: BaseException | None = None
        """What the stream itself raised."""

    def __aiter__(self) -> _Stream:
        return self

    async def __anext__(self) -> AgentStreamEvent:
        try:
            self._last = await anext(self._events)
        except StopAsyncIteration:
            self.is_passed_on = True
            raise
        except BaseException as error:
            self.error = error
            raise
        self.is_passed_on = False
        return self._last

    async def rest(self) -> AsyncIterator[AgentStreamEvent]:
        """The event that the hook failed on, and all after it."""
        if not self.is_passed_on and self._last is not None:
            yield self._last
        async for event in self._events:
            yield event


async def _close(stream: object) -> None:
    close: Callable[[], Awaitable[None]] | None = getattr(stream, 'aclose', None)
    if close is not None:
        await close()
