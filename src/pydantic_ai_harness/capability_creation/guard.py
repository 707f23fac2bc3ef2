"""A loaded capability behind its guard: nothing that it does ends a run of the agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeGuard

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, WrapperCapability
from pydantic_ai.messages import AgentStreamEvent
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset

from .checks import LOADED_ID_PREFIX
from .guarded_hooks import GuardedHooks, guarded_method
from .guarded_toolset import NameConflictGuard
from .guarded_wrapper import GuardedWrapperToolset
from .hooks import overridden_in
from .manifest import AuthoredCapability
from .monitor import FailureLog, Monitor


@dataclass
class LoadedCapability(WrapperCapability[Any]):
    """What `CapabilityStore.load_active` returns for each capability.

    Its id is made of the authored name: of two that are loaded for an agent and for one of its runs, the run's counts.
    """

    entry: AuthoredCapability
    """What the manifest said of it when it was loaded."""

    @property
    def authored(self) -> AbstractCapability[Any]:
        """The instance of the authored class, without the guard."""
        inner = self.wrapped
        return inner.wrapped if isinstance(inner, _Guard) else inner

    def get_ordering(self) -> Any:
        """See `AbstractCapability.get_ordering`; of an authored one only `position='outermost'` is kept."""
        return self.wrapped.get_ordering()


def guard(capability: AbstractCapability[Any], entry: AuthoredCapability, log: FailureLog) -> LoadedCapability:
    """The capability, with a guard around all that the framework may call of it."""
    return LoadedCapability(
        _guarded(capability, Monitor(entry, log)),
        entry,
        id=f'{LOADED_ID_PREFIX}{entry.name}',
        description=capability.description,
        defer_loading=capability.defer_loading,
    )


@dataclass
class _Guard(GuardedHooks):
    """Guards what every capability is asked; `_guard_class` adds the hooks that the authored class has."""

    monitor: Monitor

    guarded: ClassVar[frozenset[str]] = frozenset()
    """The hooks and getters that have a guarded method."""

    def for_agent(self, agent: AbstractAgent[Any, Any]) -> AbstractCapability[Any]:
        try:
            return _guarded(_checked(self.wrapped.for_agent(agent)), self.monitor)
        except BaseException as error:  # noqa: BLE001 - `contain` raises what is not to be contained
            self.monitor.contain('for_agent', error)
            return self

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        monitor = self.monitor.for_run(ctx.run_id)
        try:
            return _guarded(_checked(await self.wrapped.for_run(ctx)), monitor)
        except BaseException as error:  # noqa: BLE001 - `contain` raises what is not to be contained
            monitor.contain('for_run', error)
            return _guarded(self.wrapped, monitor)

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Callable[..., Any]) -> AgentRunResult[Any]:
        result = await _wrap_run(self, ctx, handler=handler)
        self.monitor.run_ended()
        return result

    def _collect_instructions(self) -> list[Any]:
        # Private in Pydantic AI 2.68: what a wrapper inherits asks the authored capability past its guard.
        return self._collect_own_instructions()

    def listens_to(self, event: AgentStreamEvent) -> bool:
        return self.wrapped.listens_to(event)

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any] | None:
        inner = NameConflictGuard.around(toolset) if 'get_toolset' in self.guarded else toolset
        if 'get_wrapper_toolset' in self.guarded:
            boundary, shared = GuardedWrapperToolset.around(inner)
            wrapper = _get_wrapper_toolset(self, boundary)
            if wrapper is not None:
                return GuardedWrapperToolset(wrapper, self.monitor, shared)
        return None if inner is toolset else inner


_wrap_run: Callable[..., Any] = guarded_method('wrap_run')
_get_wrapper_toolset: Callable[..., Any] = guarded_method('get_wrapper_toolset')
_OWN = frozenset({'for_agent', 'for_run', 'wrap_run', 'get_wrapper_toolset'})


@lru_cache(maxsize=256)
def _guard_class(overridden: frozenset[str]) -> type[_Guard]:
    methods = {name: guarded_method(name) for name in overridden - _OWN}
    return type('Guard', (_Guard,), {**methods, 'guarded': overridden})


def _guarded(capability: AbstractCapability[Any], monitor: Monitor) -> _Guard:
    return _guard_class(overridden_in(capability))(capability, monitor)


def _checked(value: object) -> AbstractCapability[Any]:
    if not is_capability(value):
        raise TypeError(f'It returned {type(value).__name__} in place of a capability, such as `self`.')
    return value


def is_capability(value: object) -> TypeGuard[AbstractCapability[Any]]:
    """Whether it is a capability, and not a class of them."""
    return isinstance(value, AbstractCapability)
