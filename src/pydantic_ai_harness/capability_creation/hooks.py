"""The hooks of a capability, as the installed framework defines them.

Nothing here names them one by one: a hook of a newer framework is covered on the day it appears. What has to be
known of single hooks (which exceptions steer the framework there, what may come back) is in the tables below.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Literal

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    RetryModelRequest,
    RunCancelled,
    SkipModelRequest,
    SkipToolExecution,
    SkipToolValidation,
    ToolFailed,
    UsageLimitExceeded,
)

Kind = Literal['sync', 'async', 'stream']
Errors = tuple[type[BaseException], ...]

ENDS_RUNS: Errors = (
    asyncio.CancelledError,
    GeneratorExit,
    KeyboardInterrupt,
    RunCancelled,
    UsageLimitExceeded,
)
"""Whoever raises one of these means the run itself."""

TOOL_CONTROL: Errors = (ModelRetry, ToolFailed, SkipToolExecution, ApprovalRequired, CallDeferred)
"""What steers the framework from where a tool runs."""

AUTHORING_TOOL = 'authored_capabilities'
"""Key in the metadata of the tools that mend authored capabilities: no failing guard keeps the model from them."""

_VALIDATE: Errors = (ModelRetry, ToolFailed, SkipToolValidation)
_DEFERRALS: Errors = (ApprovalRequired, CallDeferred)

_CONTROL: Mapping[str, Errors] = {
    # A call can be deferred once its arguments are known to be valid, so not from the first two.
    'before_tool_validate': _VALIDATE,
    'on_tool_validate_error': _VALIDATE,
    'wrap_tool_validate': (*_VALIDATE, *_DEFERRALS),
    'after_tool_validate': (*_VALIDATE, *_DEFERRALS),
    'before_tool_execute': TOOL_CONTROL,
    'wrap_tool_execute': TOOL_CONTROL,
    'after_tool_execute': TOOL_CONTROL,
    'on_tool_execute_error': TOOL_CONTROL,
    'before_model_request': (ModelRetry, SkipModelRequest),
    'wrap_model_request': (ModelRetry, SkipModelRequest),
    'prepare_model_request': (ModelRetry, SkipModelRequest, RetryModelRequest),
    'after_model_request': (ModelRetry, SkipModelRequest, RetryModelRequest),
    'on_model_request_error': (ModelRetry, SkipModelRequest, RetryModelRequest),
    'before_output_validate': (ModelRetry,),
    'wrap_output_validate': (ModelRetry,),
    'after_output_validate': (ModelRetry,),
    'on_output_validate_error': (ModelRetry,),
    'before_output_process': (ModelRetry,),
    'wrap_output_process': (ModelRetry,),
    'after_output_process': (ModelRetry,),
    'on_output_process_error': (ModelRetry,),
}
"""Where the framework knows what to do with which exception. Anywhere else they end the run like any other."""

_NO_HOOKS = frozenset({'apply', 'visit_and_replace', 'combine', 'from_spec', 'listens_to', 'prefix_tools'})
"""How the framework registers and combines capabilities; authored ones leave that to it."""

_CLASS_LEVEL = frozenset({'get_serialization_name'})
"""Asked of the class, by agent specs, of which authored capabilities are no part."""


@dataclass(frozen=True)
class Hook:
    """One method that the framework calls on a capability."""

    name: str

    @cached_property
    def default(self) -> Callable[..., object]:
        """What the framework does where the method is not overridden: as if there was no hook."""
        method: Callable[..., object] = getattr(AbstractCapability, self.name)
        return method

    @cached_property
    def signature(self) -> inspect.Signature:
        """How the framework calls it, with `self`."""
        return inspect.signature(self.default)

    @cached_property
    def kind(self) -> Kind:
        """How it is to be written: `def`, `async def`, or `async def` with `yield`."""
        if inspect.isasyncgenfunction(self.default):
            return 'stream'
        return 'async' if inspect.iscoroutinefunction(self.default) else 'sync'

    @cached_property
    def wraps(self) -> bool:
        """Whether it is given a handler, and decides when to call it."""
        return 'handler' in self.signature.parameters

    @cached_property
    def around_a_tool(self) -> bool:
        """Whether it stands around one tool call, where it may be a guard."""
        return '_tool_' in self.name and 'call' in self.signature.parameters

    @cached_property
    def control(self) -> Errors:
        """The exceptions that are meant for the framework when this hook raises them."""
        return (*ENDS_RUNS, *_CONTROL.get(self.name, ()))


def _is_hook(name: str, member: object) -> bool:
    return inspect.isfunction(member) and not name.startswith('_') and name not in _NO_HOOKS | _CLASS_LEVEL


HOOKS: Mapping[str, Hook] = MappingProxyType(
    {name: Hook(name) for name, member in vars(AbstractCapability).items() if _is_hook(name, member)}
)
"""Every hook and getter by name, in the framework's order."""

RESERVED = frozenset(
    {name for name, member in vars(AbstractCapability).items() if isinstance(member, property)} | _NO_HOOKS
)
"""What is not for authored classes."""


def overridden_in(capability: AbstractCapability[object]) -> frozenset[str]:
    """The hooks and getters that a capability has methods of its own for."""
    own = _overridden_by(type(capability))
    besides = HOOKS.keys() & vars(capability)
    if capability.has_on_event:  # by methods that are marked as listeners
        besides.add('on_event')
    return own | besides if besides else own


@lru_cache(maxsize=512)
def _overridden_by(cls: type[AbstractCapability[object]]) -> frozenset[str]:
    return frozenset(name for name, hook in HOOKS.items() if getattr(cls, name) is not hook.default)
