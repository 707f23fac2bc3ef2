"""Asking a guard: which arguments it takes, and what counts as an answer."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic_ai import RunContext
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    RunCancelled,
    SkipToolExecution,
    ToolFailed,
    UsageLimitExceeded,
)
from pydantic_ai.tools import AgentDepsT

from pydantic_ai_harness.errors import ConfigurationError

from .result import GuardrailResult, ToolCallInfo, ToolResultInfo

InfoT = TypeVar('InfoT', bound=ToolCallInfo)

Answer: TypeAlias = GuardrailResult | bool | Awaitable[GuardrailResult | bool]

_AnyGuard: TypeAlias = Callable[[InfoT], Answer] | Callable[[RunContext[AgentDepsT], InfoT], Answer]

ToolGuard: TypeAlias = _AnyGuard[ToolCallInfo, AgentDepsT]
"""Judges a call from `(info)` or `(ctx, info)`, sync or async; `True` allows it, `False` blocks it."""
ResultGuard: TypeAlias = _AnyGuard[ToolResultInfo, AgentDepsT]
"""Judges a result, in the same forms."""

_PASSING = (ModelRetry, ToolFailed, CallDeferred, SkipToolExecution, UsageLimitExceeded, RunCancelled)


class GuardFailure(Exception):  # noqa: N818  no error of the package: it ends as a text for the model
    """A guard gave no usable verdict; the message says why, in words for the model."""


@dataclass(frozen=True)
class Guard(Generic[InfoT, AgentDepsT]):
    """A guard function whose form is known."""

    function: Callable[..., Any]
    takes_context: bool

    @classmethod
    def of(cls, setting: str, function: object) -> Guard[InfoT, AgentDepsT]:
        """Find out which form the function has.

        Raises:
            ConfigurationError: It can be called with neither `(info)` nor `(ctx, info)`.
        """
        if not callable(function):
            raise ConfigurationError(f'`{setting}` takes a function, not {function!r}.')
        takes_context = _takes_context(function)
        if takes_context is None:
            raise ConfigurationError(f'`{setting}` must take `(info)` or `(ctx, info)`, which {function!r} does not.')
        return cls(function, takes_context)

    async def judge(self, ctx: RunContext[AgentDepsT], info: InfoT) -> GuardrailResult:
        """The guard's verdict. What it raises to steer the framework is raised here too.

        Raises:
            GuardFailure: It failed, or returned anything else than a verdict.
        """
        try:
            answer = self.function(ctx, info) if self.takes_context else self.function(info)
            if inspect.isawaitable(answer):
                answer = await answer
        except ApprovalRequired as required:
            return GuardrailResult.approve(required.metadata)
        except _PASSING:
            raise
        except Exception as error:
            raise failure_of('guardrail', error) from error
        if isinstance(answer, bool):
            return GuardrailResult.allow() if answer else GuardrailResult.block()
        if not isinstance(answer, GuardrailResult):
            kind = 'None' if answer is None else f'a value of type {type(answer).__name__}'
            raise GuardFailure(f'the guardrail returned {kind}, not a GuardrailResult or a bool')
        return answer


def failure_of(what: str, error: Exception) -> GuardFailure:
    """What the model is told of an error in the developer's code: its type and message."""
    return GuardFailure(f'the {what} failed with {type(error).__name__}: {error}')


def _takes_context(function: Callable[..., object]) -> bool | None:
    """Whether the function has the form `(ctx, info)`; `None` when it has neither form."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin without a signature
        return None
    for arguments in (['info'], ['ctx', 'info']):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return len(arguments) > 1
    return None


__all__ = ['Guard', 'GuardFailure', 'ResultGuard', 'ToolGuard', 'failure_of']
