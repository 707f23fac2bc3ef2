"""One guard for every hook: what a hook does when it works, and what is done in its place when it fails.

The default of a hook is the framework's own: what it does for a capability that does not have the hook.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic_ai.capabilities import WrapperCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_ai.messages import AgentStreamEvent, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from . import prompt
from .guarded_values import accept
from .hook_results import check_result, is_complete
from .hooks import AUTHORING_TOOL, ENDS_RUNS, HOOKS, Hook
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
    """What passes the call on to the authored method."""
    if hook.name == 'get_toolset':
        return _toolset_of
    passes_on: Callable[..., Any] = getattr(WrapperCapability, hook.name)
    if passes_on is not hook.default:
        return passes_on

    def pass_on(self: GuardedHooks, *args: object, **kwargs: object) -> object:
        return getattr(self.wrapped, hook.name)(*args, **kwargs)

    return pass_on


def _toolset_of(guard: GuardedHooks) -> object:
    return guard.monitor.toolset_of(guard.wrapped)


def _guarded_getter(hook: Hook) -> Callable[..., object]:
    original = _original(hook)

    def method(self: GuardedHooks, *args: object, **kwargs: object) -> object:
        try:
            value: object = original(self, *args, **kwargs)
            check_result(hook.name, value, args)
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
            result: object = await original(self, *map(_copied, args), **call.kwargs)
            check_result(hook.name, result, args)
            return result
        except BaseException as error:
            failure = call.contain(error)
            if call.may_be_a_guard:
                raise await call.closed(failure) from error
            if call.handler is not None and call.handler.has_begun:
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
        has_failed = False
        try:
            try:
                async for event in original(self, *args, stream=source):
                    check_result(hook.name, event, args)
                    source.passed_on(event)
                    yield event
            except BaseException as error:
                if error is source.error:
                    raise
                self.monitor.contain(hook.name, error, hook.control)
                has_failed = True
            if has_failed or not source.is_exhausted:
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
        """Record the error, or raise it if it is the framework's or the handler's.

        From then on the hook does not get its handler to do anything.
        """
        if self.handler is not None:
            self.handler.is_sealed = True
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
        if not is_complete(error):
            control = ENDS_RUNS
        return self._monitor.contain(self.hook.name, error, control)

    async def closed(self, failure: CapabilityFailure) -> ToolFailed:
        """What the model reads in place of the tool's result, once nothing of the tool goes on any more."""
        if self.handler is not None and self.handler.has_begun:
            await self.handler.ended.wait()
        call = self.kwargs['call']
        tool = call.tool_name if isinstance(call, ToolCallPart) else 'The tool'
        return ToolFailed(prompt.stopped_call(tool, self._monitor.name, failure, self._progress()))

    def _progress(self) -> prompt.Progress:
        if self.hook.name == 'after_tool_execute':
            return 'done'
        if self.hook.name != 'wrap_tool_execute' or self.handler is None or not self.handler.has_begun:
            return 'not run'
        return 'done' if self.handler.has_returned else 'begun'


class _Handler:
    """What a wrap hook wraps, and how it ended."""

    def __init__(self, handler: Any) -> None:
        self._handler: Callable[..., Awaitable[object]] = handler
        self.ended = asyncio.Event()
        self._result: object = None
        self.has_begun = False
        self.has_returned = False
        self.is_sealed = False
        """Whether it begins nothing any more; a task that the hook has made may come to it late."""
        self.error: BaseException | None = None

    async def __call__(self, *args: object) -> object:
        if self.is_sealed:
            raise asyncio.CancelledError
        self.has_begun, self.has_returned, self.error = True, False, None
        self.ended.clear()
        try:
            self._result = await self._handler(*args)
            self.has_returned = True
            return self._result
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.ended.set()

    async def outcome(self, *, instead_of: BaseException) -> object:
        """How the last call ended, once it has.

        Raises:
            BaseException: What the handler raised; `instead_of` if the hook itself had cancelled it, since then
                there is nothing to go on with.
        """
        await self.ended.wait()
        if isinstance(self.error, asyncio.CancelledError):
            raise instead_of
        if self.error is not None:
            raise self.error
        return self._result


class _Stream:
    """The events that an authored stream hook reads, so that those which it held back can follow."""

    def __init__(self, stream: AsyncIterable[AgentStreamEvent]) -> None:
        self._events = aiter(stream)
        self._held = deque[AgentStreamEvent]()
        self.is_exhausted = False
        self.error: BaseException | None = None
        """What the stream itself raised."""

    def __aiter__(self) -> _Stream:
        return self

    async def __anext__(self) -> AgentStreamEvent:
        try:
            event = await anext(self._events)
        except StopAsyncIteration:
            self.is_exhausted = True
            raise
        except BaseException as error:
            self.error = error
            raise
        self._held.append(event)
        return event

    def passed_on(self, event: object) -> None:
        """The hook has yielded an event: one that it read, and so it has dropped those before, or another in place."""
        if any(event is held for held in self._held):
            while self._held.popleft() is not event:
                pass
        elif self._held:
            self._held.popleft()

    async def rest(self) -> AsyncIterator[AgentStreamEvent]:
        """The events that the hook held back when it failed or ended, and all after them."""
        while self._held:
            yield self._held.popleft()
        async for event in self._events:
            yield event


def _copied(value: object) -> object:
    """A request of its own for a hook that may change it and then fail."""
    if not isinstance(value, ModelRequestContext):
        return value
    return replace(value, messages=list(value.messages))


async def _close(stream: object) -> None:
    close: Callable[[], Awaitable[None]] | None = getattr(stream, 'aclose', None)
    if close is not None:
        await close()
