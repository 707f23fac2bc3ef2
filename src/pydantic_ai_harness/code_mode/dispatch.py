"""A nested call on Pydantic AI's own path, so that hooks, guardrails, limits and traces hold inside code as outside."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, CombinedCapability
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    RunCancelled,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.messages import ToolReturn, UserContent
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import AgentDepsT, ToolDenied

from pydantic_ai_harness.sandbox import Answer, CannotCrossError, Raised, Returned, to_sandbox, without_surrogates

from .builtin_errors import error_named
from .driver import Deferred
from .engine import PLAIN, Engine
from .events import NestedToolCallEvent, NestedToolResultEvent
from .ledger import NestedCall
from .media import Media
from .outside_answers import Answered, Denied, OutsideAnswer
from .sandbox_names import BUILTINS


@dataclass
class Dispatcher(Generic[AgentDepsT]):
    """Makes the nested calls of one snippet."""

    manager: ToolManager[AgentDepsT]
    ctx: RunContext[AgentDepsT]
    """Of the `run_code` call."""
    media: Media
    engine: Engine = PLAIN
    explains: Callable[[str], str] | None = None
    """Declares a function that the model may not have read; `None` if it has read all."""
    pauses: bool = False
    """Whether a call that nobody answers inline is deferred, and not denied."""
    cannot_wait: str = ''
    """Why calls are denied all the same; empty if they are not."""
    answers: Mapping[str, OutsideAnswer] = field(default_factory=dict[str, OutsideAnswer])
    """What was decided about deferred calls, by their id."""
    extra_content: list[UserContent] = field(default_factory=list[UserContent])
    """What tools addressed to the model beside their results."""
    revealed: list[str] = field(default_factory=list[str])
    """Names of deferred tools that calls made available."""
    _running: int = 0
    _unannounced: list[NestedCall] = field(default_factory=list[NestedCall])

    def may_overlap(self, call: NestedCall) -> bool:
        """Whether a call may be made beside others."""
        if self.manager.get_parallel_execution_mode() == 'sequential':
            return False
        hooks = self.manager.root_capability
        has_hooks = bool(hooks.capabilities) if isinstance(hooks, CombinedCapability) else hooks is not None
        tool = (self.manager.tools or {}).get(call.tool_name)
        has_hooks = has_hooks or tool is None or tool.args_validator_func is not None
        return self.engine.may_overlap(call.function.tool, has_hooks=has_hooks)

    async def call(self, call: NestedCall) -> Answer | Deferred:
        """Make one call and say what the code gets.

        A call that waits for an answer from outside is deferred again unless there is one.

        Errors of the tool become errors in the code. Errors that end a run, such as an exceeded usage limit, and
        cancellation are raised here.
        """
        answer = self.answers.get(call.id)
        if call.outcome == 'waiting' and answer is None:
            return Deferred()
        self.check_usage_limit()
        call.start()
        self._running += 1
        try:
            await self.ctx.emit(
                NestedToolCallEvent(
                    nested_tool_call_id=call.id,
                    nested_tool_name=call.tool_name,
                    args=call.arguments,
                    line=call.line,
                )
            )
            return await self._settle(call, answer)
        finally:
            self._running -= 1
            call.end('unfinished')
            if self.engine.is_durable:
                self._unannounced.append(call)
            else:
                await self._announce_end(call)

    async def round_ended(self) -> None:
        """Announce how the calls of a round ended, in the order in which they were made."""
        calls, self._unannounced = self._unannounced, []
        for call in sorted(calls, key=lambda call: int(call.id.rpartition('__')[2])):
            await self._announce_end(call)

    async def _settle(self, call: NestedCall, answer: OutsideAnswer | None) -> Answer | Deferred:
        are_arguments_valid = isinstance(answer, Answered)  # of a call that was made elsewhere

        async def validated(are_valid: bool) -> None:  # noqa: FBT001  the framework calls it so
            nonlocal are_arguments_valid
            are_arguments_valid = are_valid

        try:
            outcome = await self._outcome(call, answer, validated)
            if isinstance(outcome, ToolDenied):
                return _deny(call, outcome.message)
            returned = self._unwrap(call, outcome)
        except (ApprovalRequired, CallDeferred) as deferral:
            if self.pauses and not self.cannot_wait:
                waits_for = 'approval' if isinstance(deferral, ApprovalRequired) else 'external'
                call.wait_for(waits_for, deferral.metadata)
                return Deferred()
            needs = 'needs approval' if isinstance(deferral, ApprovalRequired) else 'is answered outside the run'
            return _deny(call, f'{call.tool_name} {needs}, and {self._why_unanswered()}.')
        except (UsageLimitExceeded, RunCancelled, UserError, asyncio.CancelledError):
            raise
        except Exception as error:
            if self.engine.ends_run(error):
                raise
            crossing = _crossing(call, self.engine.tool_error(error))
            if self.explains and isinstance(error, ValidationError):
                crossing = ValueError(f'{crossing}\n{self.explains(call.function.name)}')
            call.end('raised' if are_arguments_valid else 'refused', error=f'{type(crossing).__name__}: {crossing}')
            return Raised(crossing)
        return Returned(returned)

    async def _outcome(
        self, call: NestedCall, answer: OutsideAnswer | None, validated: Callable[[bool], Awaitable[None]]
    ) -> object:
        if isinstance(answer, Answered):
            self.media.keep_all(answer.media_inside)
            return answer.outcome()
        if isinstance(answer, Denied):
            return ToolDenied(answer.message)
        if answer is not None and answer.override_args is not None:
            call.arguments = answer.override_args
        if (problem := self.engine.why_not_sent(call.arguments)) is not None:
            raise TypeError(f'{call.function.name}() was not called: {problem}')
        return await self.manager.handle_call(
            call.call_part(),
            approved=answer is not None,
            metadata=None if answer is None else answer.metadata,
            wrap_validation_errors=False,
            on_validate=validated,
        )

    def _unwrap(self, call: NestedCall, outcome: object) -> object:
        metadata: Any = None
        if isinstance(outcome, ToolReturn):
            metadata = outcome.metadata
            self.extra_content.extend(_as_list(outcome.content))
            self.revealed.extend(outcome.tools or ())
            outcome = outcome.return_value
        value = to_sandbox(outcome, replace=self.media.keep)
        call.end('returned', result=value, metadata=metadata)
        return value

    def check_usage_limit(self) -> None:
        """Whether one more call may be made.

        Raises:
            UsageLimitExceeded: The run has made as many as it may.
        """
        limits = self.ctx.usage_limits
        if limits is not None and limits.tool_calls_limit is not None:
            usage = self.ctx.usage
            # This call, those that run, and the `run_code` call itself are counted only once they are over.
            limits.check_before_tool_call(replace(usage, tool_calls=usage.tool_calls + self._running + 2))

    def _why_unanswered(self) -> str:
        if self.cannot_wait:
            return f'nobody answered it while the code ran, and the code cannot wait: {self.cannot_wait}'
        capability = self.manager.root_capability
        if isinstance(capability, CombinedCapability) and any(map(_answers_deferred_calls, capability.capabilities)):
            return 'the application did not answer it while the code ran'
        return 'nobody can answer it while code runs. The application can add `HandleDeferredToolCalls` to the agent'

    async def _announce_end(self, call: NestedCall) -> None:
        if call.outcome in ('created', 'running'):
            return
        await self.ctx.emit(
            NestedToolResultEvent(
                nested_tool_call_id=call.id,
                nested_tool_name=call.tool_name,
                outcome=call.outcome,
                seconds=call.seconds,
                error=call.error,
            )
        )


_TOOL_HOOKS = (
    'before_tool_validate',
    'after_tool_validate',
    'wrap_tool_validate',
    'on_tool_validate_error',
    'before_tool_execute',
    'after_tool_execute',
    'wrap_tool_execute',
    'on_tool_execute_error',
    'handle_deferred_tool_calls',
)


def asked_by_tools(root: AbstractCapability[AgentDepsT] | None) -> AbstractCapability[AgentDepsT] | None:
    """The capabilities that a nested call has to ask; the framework copies its context for each one, at each hook."""
    if not isinstance(root, CombinedCapability):
        return root
    asked = [one for one in root.capabilities if _has_tool_hooks(one)]
    if len(asked) == len(root.capabilities):
        return root
    try:
        return CombinedCapability(asked)
    except UserError:  # one of them requires another that is left out
        return root


def _answers_deferred_calls(capability: AbstractCapability[Any]) -> bool:
    return type(capability).handle_deferred_tool_calls is not AbstractCapability.handle_deferred_tool_calls


def _has_tool_hooks(capability: AbstractCapability[Any]) -> bool:
    return any(getattr(type(capability), hook) is not getattr(AbstractCapability, hook) for hook in _TOOL_HOOKS)


def _deny(call: NestedCall, message: str) -> Raised:
    text = without_surrogates(message)
    call.end('denied', error=text)
    return Raised(PermissionError(text))


def _crossing(call: NestedCall, error: Exception) -> Exception:
    """The error as the code sees it: a builtin type, so that `except ValueError` works as the model expects."""
    if isinstance(error, ValidationError):
        return ValueError(_arguments_text(call, error))
    if isinstance(error, CannotCrossError):
        return TypeError(f'{call.function.name}() returned a value that code cannot get: {error}')
    if isinstance(error, (ModelRetry, ToolFailed, ToolRetryError, ToolFailedError)):
        return RuntimeError(without_surrogates(str(error)))
    # The message of a KeyError is the representation of its key.
    message = without_surrogates(str(error.args[0] if isinstance(error, KeyError) and error.args else error))
    for base in type(error).__mro__:
        is_known = base is getattr(builtins, base.__name__, None) and base.__name__ in BUILTINS
        if is_known and base is not Exception and (built := error_named(base.__name__, message)):
            return built
    return RuntimeError(f'{type(error).__name__}: {message}')


def _arguments_text(call: NestedCall, error: ValidationError) -> str:
    names = {parameter.key: parameter.name for parameter in call.function.parameters}
    problems = [
        f'{".".join([names.get(str(item["loc"][0]), str(item["loc"][0])), *map(str, item["loc"][1:])])}: {item["msg"]}'
        if item['loc']
        else item['msg']
        for item in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    return f'{call.function.name}() got wrong arguments: {"; ".join(problems)}'


def _as_list(content: str | Sequence[UserContent] | None) -> list[UserContent]:
    if content is None:
        return []
    return [content] if isinstance(content, str) else list(content)
