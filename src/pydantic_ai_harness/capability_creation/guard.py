"""A loaded capability behind its guard: nothing that it does ends a run of the agent."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from pydantic_ai.capabilities import AbstractCapability, WrapperCapability
from pydantic_ai.messages import AgentStreamEvent
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset

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
    guarded = _guard_class(overridden_in(capability))(capability, Monitor(entry, log))
    return LoadedCapability(
        guarded,
        entry,
        id=f'authored_{entry.name}',
        description=capability.description,
        defer_loading=capability.defer_loading,
    )


@dataclass
class _Guard(GuardedHooks):
    """Guards what every capability is asked; `_guard_class` adds the hooks that the authored class has."""

    monitor: Monitor

    guarded: ClassVar[frozenset[str]] = frozenset()
    """The hooks and getters that have a guarded method."""

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        of_run = copy(self)
        of_run.monitor = self.monitor.for_run(ctx.run_id)
        return await _for_run(of_run, ctx)

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Callable[..., Any]) -> AgentRunResult[Any]:
        result = await _wrap_run(self, ctx, handler=handler)
        self.monitor.run_ended()
        return result

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


_for_run: Callable[..., Any] = guarded_method('for_run')
_wrap_run: Callable[..., Any] = guarded_method('wrap_run')
_get_wrapper_toolset: Callable[..., Any] = guarded_method('get_wrapper_toolset')
_OWN = frozenset({'for_run', 'wrap_run', 'get_wrapper_toolset'})


@lru_cache(maxsize=256)
def _guard_class(overridden: frozenset[str]) -> type[_Guard]:
    methods = {name: guarded_method(name) for name in overridden - _OWN}
    return type('Guard', (_Guard,), {**methods, 'guarded': overridden})
