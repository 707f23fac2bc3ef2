"""`ToolGuardrail`: what becomes of a call or a result that a guard has judged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, SkipToolExecution, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, ToolDefinition, ToolSelector, matches_tool_selector

from pydantic_ai_harness.errors import ConfigurationError
from pydantic_ai_harness.narrowing import is_collection, is_text_mapping, selects_tools

from .guard import Guard, GuardFailure, ResultGuard, ToolGuard, failure_of
from .names import Unseen
from .result import GuardrailResult, ToolCallInfo, ToolResultInfo


@dataclass
class ToolGuardrail(AbstractCapability[AgentDepsT]):
    """Asks a function of yours before a tool runs, and about its result before the model reads it.

    ```python
    from pydantic_ai import Agent
    from pydantic_ai_harness.guardrails import GuardrailResult, ToolGuardrail


    def guard(call):
        return GuardrailResult.block('Only small refunds.') if call.args['amount'] > 100 else True


    agent = Agent('anthropic:claude-sonnet-4-6', capabilities=[ToolGuardrail(guard, tools=['refund'])])
    ```

    A guard that fails, or returns no verdict, blocks the call or withholds the result; the run goes on.

    Raises:
        ConfigurationError: There is no guard, a guard takes other arguments, `tools` selects nothing that a tool
            could match, or `defer_loading` is set.
    """

    guard: ToolGuard[AgentDepsT] | None = None
    """Judges a call with validated arguments, before the tool runs. A sync one holds up the event loop."""
    result_guard: ResultGuard[AgentDepsT] | None = None
    """Judges a result. It cannot ask for approval: the tool has run."""
    tools: ToolSelector[AgentDepsT] | None = None
    """Which tools are guarded: names, a predicate `(ctx, tool_def)`, or a metadata dict. `None` is all of them."""

    _unseen: Unseen = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Validate every setting."""
        if self.guard is None and self.result_guard is None:
            raise ConfigurationError('A ToolGuardrail needs `guard`, `result_guard`, or both.')
        if self.defer_loading:
            raise ConfigurationError('`defer_loading` would leave tools unguarded until the model loads the guardrail.')
        _check_tools(self.tools)
        _ = self._call_guard, self._result_guard
        self._unseen = Unseen(_listed_names(self.tools))

    @cached_property
    def _call_guard(self) -> Guard[ToolCallInfo, AgentDepsT] | None:
        return None if self.guard is None else Guard[ToolCallInfo, AgentDepsT].of('guard', self.guard)

    @cached_property
    def _result_guard(self) -> Guard[ToolResultInfo, AgentDepsT] | None:
        if self.result_guard is None:
            return None
        return Guard[ToolResultInfo, AgentDepsT].of('result_guard', self.result_guard)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """No part of agent specs: a guard is a function."""
        return None

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
        """A copy that keeps track of the listed names for one run; itself where none are listed."""
        return replace(self) if self._unseen.names else self

    async def prepare_tools(self, ctx: RunContext[AgentDepsT], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """Look at the tools before code mode or tool search hide them."""
        self._unseen.see(tool.name for tool in tool_defs)
        return tool_defs

    async def after_run(self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Warn of listed names that no tool had."""
        self._unseen.warn()
        return result

    async def after_tool_validate(
        self, ctx: RunContext[AgentDepsT], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Judge a call that leaves the run, for approval or for an answer, before it does."""
        self._unseen.see_call(ctx.tool_manager)
        if not tool_def.defer or ctx.tool_call_approved:
            return args
        try:
            await self._judge_call(ctx, call, tool_def, args)
        except SkipToolExecution as skip:
            raise _blocked(
                tool_def, GuardFailure('the guardrail skips a tool that this run does not execute')
            ) from skip
        return args  # replaced arguments would not reach the person: the guard is asked again after the approval

    async def before_tool_execute(
        self, ctx: RunContext[AgentDepsT], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Judge a call that is about to run."""
        return await self._judge_call(ctx, call, tool_def, args)

    async def after_tool_execute(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        result: Any,
    ) -> Any:
        """Judge a result."""
        if self._result_guard is None:
            return result
        try:
            if not await self._is_guarded(ctx, tool_def):
                return result
            info = ToolResultInfo(name=tool_def.name, args=dict(args), tool_call_id=call.tool_call_id, result=result)
            verdict = await self._result_guard.judge(ctx, info)
        except GuardFailure as failure:
            raise _withheld(tool_def, str(failure)) from failure
        except CallDeferred as deferred:
            raise _withheld(tool_def, 'a result guard cannot defer a call that has run') from deferred
        match verdict.action:
            case 'allow':
                return result
            case 'replace':
                return verdict.replacement
            case 'retry':
                raise ModelRetry(verdict.message or '')
            case 'approve':
                raise _withheld(tool_def, 'a result guard cannot ask for approval, since the tool has run')
            case 'block':
                raise _withheld(tool_def, verdict.message)

    async def _judge_call(
        self, ctx: RunContext[AgentDepsT], call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        if self._call_guard is None:
            return args
        try:
            if not await self._is_guarded(ctx, tool_def):
                return args
            info = ToolCallInfo(name=tool_def.name, args=dict(args), tool_call_id=call.tool_call_id)
            verdict = await self._call_guard.judge(ctx, info)
            return _arguments_after(verdict, ctx, tool_def, args)
        except GuardFailure as failure:
            raise _blocked(tool_def, failure) from failure

    async def _is_guarded(self, ctx: RunContext[AgentDepsT], tool_def: ToolDefinition) -> bool:
        if self.tools is None:
            return True
        try:
            return await matches_tool_selector(self.tools, ctx, tool_def)
        except Exception as error:
            raise failure_of('guardrail', error) from error


def _arguments_after(
    verdict: GuardrailResult, ctx: RunContext[AgentDepsT], tool_def: ToolDefinition, args: dict[str, Any]
) -> dict[str, Any]:
    """The arguments that the tool runs with.

    Raises:
        ToolFailed: The call is blocked.
        ModelRetry: The model is to try again.
        ApprovalRequired: The call waits for a person.
        GuardFailure: The verdict cannot be carried out.
    """
    is_outside = tool_def.kind == 'external'
    match verdict.action:
        case 'allow':
            return args
        case 'block':
            raise ToolFailed(
                verdict.message or f'The call of {tool_def.name!r} was blocked by a guardrail. The tool did not run.'
            )
        case 'retry':
            raise ModelRetry(verdict.message or '')
        case 'approve' if is_outside:
            raise GuardFailure('the guardrail asks for approval of a call that is answered outside the run')
        case 'approve' if ctx.tool_call_approved:
            return args
        case 'approve':
            raise ApprovalRequired(metadata=verdict.metadata)
        case 'replace' if is_outside:
            raise GuardFailure('the guardrail replaces arguments of a call that is answered outside the run')
        case 'replace':
            return _replaced_arguments(verdict.replacement, ctx, tool_def, args)


def _replaced_arguments(
    replacement: object, ctx: RunContext[AgentDepsT], tool_def: ToolDefinition, args: dict[str, Any]
) -> dict[str, Any]:
    """The guard's arguments, checked against the tool's schema like those of a model."""
    if not is_text_mapping(replacement):
        kind = type(replacement).__name__
        raise GuardFailure(f'the guardrail replaced the arguments with a value of type {kind}, not a mapping of them')
    tools = ctx.tool_manager.tools if ctx.tool_manager else None
    if not tools or tool_def.name not in tools:
        raise GuardFailure('the guardrail replaced the arguments, and the schema to check them is not there')
    given = dict(replacement)
    try:
        checked = tools[tool_def.name].args_validator.validate_python(given, context=ctx.validation_context)
    except ValidationError as error:
        raise GuardFailure(f'the guardrail replaced the arguments with wrong ones: {_problems(error)}') from error
    # A value that the guard left alone is validated already, and validating twice may change it (base64).
    return {name: args[name] if name in args and given.get(name) is args[name] else checked[name] for name in checked}


def _problems(error: ValidationError) -> str:
    return '; '.join(
        f'{".".join(map(str, problem["loc"]))}: {problem["msg"]}'
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    )


def _blocked(tool_def: ToolDefinition, failure: GuardFailure) -> ToolFailed:
    return ToolFailed(f'The call of {tool_def.name!r} was blocked, and the tool did not run: {failure}')


def _withheld(tool_def: ToolDefinition, reason: str | None) -> ToolFailed:
    text = f'{tool_def.name!r} ran, but a guardrail withheld its result'
    return ToolFailed(f'{text}: {reason}' if reason else f'{text}.')


def _listed_names(selector: object) -> set[str]:
    if isinstance(selector, str):
        return {selector} - {'all'}
    return {str(name) for name in selector} if is_collection(selector) else set()


def _check_tools(selector: object) -> None:
    if not (selector is None or isinstance(selector, str) or selects_tools(selector)):
        raise ConfigurationError(
            f"`tools` takes names, 'all', a predicate `(ctx, tool_def)` or a metadata dict, not {selector!r}."
        )
    if is_collection(selector) and not selector:
        raise ConfigurationError('`tools` is empty, so no tool would be guarded; leave it out to guard all of them.')


__all__ = ['ToolGuardrail']
