"""NB-1: functions that judge a tool's calls and results; CC-13: approval of an authored capability."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pydantic
import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    ModelRetry,
    RunContext,
    Tool,
    ToolApproved,
    ToolDefinition,
    ToolDenied,
    ToolReturn,
    UsageLimitExceeded,
)
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, RunCancelled, SkipToolExecution, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolCallPart, ToolReturnPart
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import ExternalToolset

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.errors import ConfigurationError
from pydantic_ai_harness.guardrails import (
    GuardrailResult,
    ToolCallInfo,
    ToolGuardrail,
    ToolResultInfo,
    UnknownToolNameWarning,
)
from tests.support import ScriptedModel, code_returns, make_agent, run_snippet

Capabilities = Sequence[AbstractCapability[None]]

OUTSIDE = ExternalToolset[None](
    [ToolDefinition(name='outside', parameters_json_schema={'type': 'object'}, return_schema={'type': 'string'})]
)


@dataclass
class Bank:
    """Tools, and what ran."""

    ran: list[Any] = field(default_factory=list[Any])

    def tools(self) -> list[Tool[None]]:
        def pay(amount: int, note: str = 'none') -> str:
            self.ran.append((amount, note))
            return f'paid {amount}'

        def free(amount: int) -> str:
            self.ran.append(('free', amount))
            return f'free {amount}'

        def declared(amount: int) -> str:
            self.ran.append(('declared', amount))
            return f'declared {amount}'

        return [
            Tool(pay, max_retries=1),
            Tool(free, metadata={'risk': {'level': 'low', 'since': 1}}),
            Tool(declared, requires_approval=True),
        ]


def call(tool: str = 'pay', call_id: str = 'call_1', **args: Any) -> ToolCallPart:
    return ToolCallPart(tool, args or {'amount': 5}, tool_call_id=call_id)


def returns(messages: Sequence[ModelMessage], tool: str = 'pay') -> list[ToolReturnPart]:
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart) and part.tool_name == tool
    ]


def native_agent(
    capabilities: Capabilities, *calls: ToolCallPart, bank: Bank | None = None, **options: Any
) -> Agent[None, Any]:
    script = ScriptedModel([[one] for one in calls or [call()]])
    return Agent(
        script.model(),
        tools=(bank or Bank()).tools(),
        capabilities=capabilities,
        output_type=[str, DeferredToolRequests],
        **options,
    )


async def run(
    capabilities: Capabilities, *calls: ToolCallPart, bank: Bank | None = None, **options: Any
) -> AgentRunResult[Any]:
    return await native_agent(capabilities, *calls, bank=bank, **options).run('go')


async def outcome(capabilities: Capabilities, bank: Bank | None = None, **options: Any) -> ToolReturnPart:
    """What the model reads of one native call, `pay(amount=5)`."""
    (part,) = returns((await run(capabilities, bank=bank, **options)).all_messages())
    return part


def guarding(guard: Any, **options: Any) -> Capabilities:
    return [ToolGuardrail[None](guard, **options)]


def guarding_results(guard: Any, **options: Any) -> Capabilities:
    return [ToolGuardrail[None](result_guard=guard, **options)]


def always(answer: Any) -> Callable[[ToolCallInfo], Any]:
    return lambda info: answer


def replacing(**changes: Any) -> Callable[[ToolCallInfo], GuardrailResult]:
    return lambda info: GuardrailResult.replace({**info.args, **changes})


def raising(error: BaseException) -> Callable[[ToolCallInfo], bool]:
    def guard(info: ToolCallInfo) -> bool:
        raise error

    return guard


# -- verdicts on arguments ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('answer', [True, GuardrailResult.allow()])
async def test_nb1_allow_runs_the_tool(answer: Any) -> None:
    bank = Bank()
    part = await outcome(guarding(always(answer)), bank)
    assert (part.outcome, part.content) == ('success', 'paid 5')
    assert bank.ran == [(5, 'none')]


@pytest.mark.parametrize(
    ('answer', 'text'),
    [
        (GuardrailResult.block('too much'), 'too much'),
        (GuardrailResult.block(), "The call of 'pay' was blocked by a guardrail. The tool did not run."),
        (False, "The call of 'pay' was blocked by a guardrail. The tool did not run."),
    ],
)
async def test_nb1_block_does_not_run_the_tool(answer: Any, text: str) -> None:
    bank = Bank()
    part = await outcome(guarding(always(answer)), bank)
    assert (part.outcome, part.content) == ('failed', text)
    assert bank.ran == []


async def test_nb1_block_spends_no_retries() -> None:
    calls = [call(call_id=f'call_{n}') for n in range(4)]
    result = await run(guarding(always(False)), *calls)
    assert [part.outcome for part in returns(result.all_messages())] == ['failed'] * 4
    assert result.output == 'done'


async def test_nb1_retry_asks_the_model_to_try_again() -> None:
    def guard(info: ToolCallInfo) -> GuardrailResult:
        return GuardrailResult.retry('pay less') if info.args['amount'] > 3 else GuardrailResult.allow()

    bank = Bank()
    result = await run(guarding(guard), call(), call(call_id='call_2', amount=2), bank=bank)
    first, second = returns(result.all_messages())
    assert (first.outcome, second.outcome) == ('retried', 'success')
    assert 'pay less' in str(first.content)
    assert bank.ran == [(2, 'none')]


async def test_nb1_replace_runs_the_tool_with_other_arguments() -> None:
    bank = Bank()
    part = await outcome(guarding(replacing(amount=2)), bank)
    assert part.content == 'paid 2'
    assert bank.ran == [(2, 'none')]


async def test_nb1_replaced_arguments_are_validated() -> None:
    bank = Bank()
    part = await outcome(guarding(always(GuardrailResult.replace({'amount': '7'}))), bank)
    assert part.content == 'paid 7'
    assert bank.ran == [(7, 'none')]


@pytest.mark.parametrize(
    ('replacement', 'text'),
    [
        ({'amount': 'much'}, 'replaced the arguments with wrong ones: amount: '),
        ({}, 'replaced the arguments with wrong ones: amount: '),
        ({'amount': 1, 'amuont': 2}, 'replaced the arguments with wrong ones: amuont: '),
        ('amount=2', 'replaced the arguments with a value of type str, not a mapping of them'),
        (None, 'replaced the arguments with a value of type NoneType, not a mapping of them'),
    ],
)
async def test_nb1_arguments_that_do_not_fit_block_the_call(replacement: Any, text: str) -> None:
    bank = Bank()
    part = await outcome(guarding(always(GuardrailResult.replace(replacement))), bank)
    assert part.outcome == 'failed'
    assert f"The call of 'pay' was blocked, and the tool did not run: the guardrail {text}" in str(part.content)
    assert bank.ran == []


async def test_nb1_arguments_that_a_guard_leaves_alone_are_not_validated_twice() -> None:
    got: list[tuple[bytes, int]] = []

    def store(data: pydantic.Base64Bytes, times: int) -> str:
        got.append((data, times))
        return 'stored'

    capabilities = guarding(replacing(times=1))
    await run(capabilities, call('store', data='YWJjZA==', times=9), toolsets=[FunctionToolset[None]([store])])
    assert got == [(b'abcd', 1)]


async def test_nb1_a_guard_that_changes_its_mapping_does_not_change_the_call() -> None:
    def guard(info: ToolCallInfo) -> bool:
        assert isinstance(info.args, dict)
        info.args['amount'] = 1_000
        return True

    bank = Bank()
    await outcome(guarding(guard), bank)
    assert bank.ran == [(5, 'none')]


async def test_nb1_a_guard_gets_name_id_and_validated_arguments_and_only_of_valid_calls() -> None:
    seen: list[ToolCallInfo] = []

    def guard(info: ToolCallInfo) -> bool:
        seen.append(info)
        return True

    await run(guarding(guard), call(amount='much'), call(call_id='call_2', amount='6'))
    assert seen == [ToolCallInfo(name='pay', args={'amount': 6, 'note': 'none'}, tool_call_id='call_2')]


# -- approval ----------------------------------------------------------------------------------------------------


async def test_cc13_authoring_waits_for_approval_and_resumes() -> None:
    authored: list[str] = []

    def author_capability(name: str, code: str) -> str:
        authored.append(name)
        return f'{name} is active'

    script = ScriptedModel([[call('author_capability', name='Reverse', code='class Reverse: ...')]])
    agent = Agent(
        script.model(),
        tools=[author_capability],
        capabilities=[ToolGuardrail(guard=lambda call: GuardrailResult.approve(), tools=['author_capability'])],
        output_type=[str, DeferredToolRequests],
    )
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    (request,) = paused.output.approvals
    assert (request.tool_name, request.tool_call_id) == ('author_capability', 'call_1')
    assert authored == []

    results = DeferredToolResults(approvals={'call_1': True})
    resumed = await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
    assert [part.content for part in returns(resumed.all_messages(), 'author_capability')] == ['Reverse is active']
    assert authored == ['Reverse']
    assert resumed.output == 'done'


async def test_cc13_a_denied_call_does_not_run() -> None:
    bank = Bank()
    agent = native_agent(guarding(always(GuardrailResult.approve())), bank=bank)
    paused = await agent.run('go')
    results = DeferredToolResults(approvals={'call_1': ToolDenied('not today')})
    resumed = await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
    (part,) = returns(resumed.all_messages())
    assert (part.outcome, part.content) == ('denied', 'not today')
    assert bank.ran == []


@pytest.mark.parametrize(
    'guard', [always(GuardrailResult.approve({'why': 'a lot'})), raising(ApprovalRequired({'why': 'a lot'}))]
)
async def test_nb1_approval_carries_metadata_and_is_asked_for_once(guard: Any) -> None:
    bank = Bank()
    agent = native_agent(guarding(guard), bank=bank)
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    assert paused.output.metadata == {'call_1': {'why': 'a lot'}}
    resumed = await agent.run(
        message_history=paused.all_messages(), deferred_tool_results=paused.output.build_results(approve_all=True)
    )
    assert resumed.output == 'done'
    assert bank.ran == [(5, 'none')]


async def test_nb1_arguments_that_the_approver_changed_are_judged() -> None:
    def guard(info: ToolCallInfo) -> GuardrailResult:
        return GuardrailResult.block('never') if info.args['amount'] > 10 else GuardrailResult.approve()

    bank = Bank()
    agent = native_agent(guarding(guard), bank=bank)
    paused = await agent.run('go')
    results = DeferredToolResults(approvals={'call_1': ToolApproved(override_args={'amount': 50})})
    resumed = await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
    assert [part.content for part in returns(resumed.all_messages())] == ['never']
    assert bank.ran == []


async def test_nb1_an_inline_handler_may_approve() -> None:
    handler = HandleDeferredToolCalls[None](handler=lambda ctx, requests: requests.build_results(approve_all=True))
    part = await outcome([*guarding(always(GuardrailResult.approve())), handler])
    assert part.content == 'paid 5'


# -- calls that leave the run ------------------------------------------------------------------------------------


async def test_nb1_a_blocked_call_is_not_put_before_a_person() -> None:
    result = await run(guarding(always(False)), call('declared'))
    assert result.output == 'done'
    assert [part.outcome for part in returns(result.all_messages(), 'declared')] == ['failed']


async def test_nb1_the_guards_metadata_reaches_the_person_who_is_asked_anyway() -> None:
    result = await run(guarding(always(GuardrailResult.approve({'why': 'a lot'}))), call('declared'))
    assert isinstance(result.output, DeferredToolRequests)
    assert result.output.metadata == {'call_1': {'why': 'a lot'}}


async def test_nb1_arguments_are_replaced_once_the_call_is_approved() -> None:
    bank = Bank()
    agent = native_agent(guarding(always(GuardrailResult.replace({'amount': 1}))), call('declared'), bank=bank)
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    await agent.run(
        message_history=paused.all_messages(), deferred_tool_results=paused.output.build_results(approve_all=True)
    )
    assert bank.ran == [('declared', 1)]


async def test_nb1_a_tool_that_needs_approval_is_judged_before_the_person_and_before_it_runs() -> None:
    seen: list[bool] = []

    def guard(ctx: RunContext[None], info: ToolCallInfo) -> bool:
        seen.append(ctx.tool_call_approved)
        return True

    agent = native_agent(guarding(guard), call('declared'))
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    assert seen == [False]
    await agent.run(
        message_history=paused.all_messages(), deferred_tool_results=paused.output.build_results(approve_all=True)
    )
    assert seen == [False, True]


@pytest.mark.parametrize(
    ('answer', 'text'),
    [
        (GuardrailResult.block('no'), 'no'),
        (GuardrailResult.approve(), 'asks for approval of a call that is answered outside the run'),
        (GuardrailResult.replace({'a': 1}), 'replaces arguments of a call that is answered outside the run'),
    ],
)
async def test_nb1_a_call_that_is_answered_outside_is_judged_before_it_leaves(answer: Any, text: str) -> None:
    result = await run(guarding(always(answer)), call('outside'), toolsets=[OUTSIDE])
    (part,) = returns(result.all_messages(), 'outside')
    assert part.outcome == 'failed'
    assert text in str(part.content)
    assert result.output == 'done'


async def test_nb1_an_allowed_call_leaves_the_run() -> None:
    result = await run(guarding(always(True)), call('outside'), toolsets=[OUTSIDE])
    assert isinstance(result.output, DeferredToolRequests)
    assert [one.tool_name for one in result.output.calls] == ['outside']


async def test_nb1_a_guard_cannot_skip_a_call_that_this_run_does_not_execute() -> None:
    result = await run(guarding(raising(SkipToolExecution('cached'))), call('declared'))
    (part,) = returns(result.all_messages(), 'declared')
    assert part.outcome == 'failed'
    assert 'skips a tool that this run does not execute' in str(part.content)


# -- verdicts on results -----------------------------------------------------------------------------------------


@pytest.mark.parametrize('answer', [True, GuardrailResult.allow()])
async def test_nb1_an_allowed_result_is_handed_on(answer: Any) -> None:
    assert (await outcome(guarding_results(always(answer)))).content == 'paid 5'


@pytest.mark.parametrize(
    ('answer', 'text'),
    [
        (GuardrailResult.block('it holds a secret'), ': it holds a secret'),
        (GuardrailResult.block(), '.'),
        (False, '.'),
        (GuardrailResult.approve(), ': a result guard cannot ask for approval, since the tool has run'),
    ],
)
async def test_nb1_a_blocked_result_is_withheld_and_the_model_knows_that_the_tool_ran(answer: Any, text: str) -> None:
    bank = Bank()
    part = await outcome(guarding_results(always(answer)), bank)
    assert (part.outcome, part.content) == ('failed', f"'pay' ran, but a guardrail withheld its result{text}")
    assert bank.ran == [(5, 'none')]


async def test_nb1_a_result_may_ask_for_a_retry() -> None:
    def guard(info: ToolResultInfo) -> GuardrailResult:
        return GuardrailResult.retry('pay less') if '5' in info.result else GuardrailResult.allow()

    result = await run(guarding_results(guard), call(), call(call_id='call_2', amount=2))
    first, second = returns(result.all_messages())
    assert (first.outcome, second.outcome) == ('retried', 'success')
    assert 'pay less' in str(first.content)


@pytest.mark.parametrize('value', ['[redacted]', None, 0, ToolReturn('x', metadata={'by': 'guard'})])
async def test_nb1_a_result_is_replaced_by_any_value(value: Any) -> None:
    part = await outcome(guarding_results(always(GuardrailResult.replace(value))))
    assert part.outcome == 'success'
    assert part.content == (value.return_value if isinstance(value, ToolReturn) else value)


async def test_nb1_a_result_guard_gets_arguments_and_result() -> None:
    seen: list[ToolResultInfo] = []

    def guard(info: ToolResultInfo) -> bool:
        seen.append(info)
        return True

    await outcome(guarding_results(guard))
    args = {'amount': 5, 'note': 'none'}
    assert seen == [ToolResultInfo(name='pay', args=args, tool_call_id='call_1', result='paid 5')]


async def test_nb1_both_guards_of_one_guardrail() -> None:
    guardrail = ToolGuardrail[None](
        lambda info: GuardrailResult.replace({'amount': 2}),
        lambda info: GuardrailResult.replace(f'{info.result} of {info.args["amount"]}'),
    )
    assert (await outcome([guardrail])).content == 'paid 2 of 2'


@pytest.mark.parametrize('error', [ApprovalRequired(), CallDeferred()])
async def test_nb1_a_result_guard_cannot_have_the_tool_run_twice(error: Exception) -> None:
    bank = Bank()
    part = await outcome(guarding_results(raising(error)), bank)
    assert part.outcome == 'failed'
    assert "'pay' ran, but a guardrail withheld its result: a result guard cannot" in str(part.content)
    assert bank.ran == [(5, 'none')]


# -- forms of a guard --------------------------------------------------------------------------------------------


class Forms:
    """Every way to write a guard that blocks; each says what it got."""

    @staticmethod
    def with_info(info: Any) -> GuardrailResult:
        return GuardrailResult.block(f'{type(info).__name__}')

    @staticmethod
    def with_context(ctx: Any, info: Any) -> GuardrailResult:
        return GuardrailResult.block(f'{type(ctx).__name__} {type(info).__name__}')

    @staticmethod
    async def async_with_info(info: Any) -> GuardrailResult:
        await asyncio.sleep(0)
        return Forms.with_info(info)

    @staticmethod
    async def async_with_context(ctx: Any, info: Any) -> GuardrailResult:
        await asyncio.sleep(0)
        return Forms.with_context(ctx, info)

    @staticmethod
    def with_option(info: Any, strict: bool = True) -> GuardrailResult:
        assert strict is True
        return Forms.with_info(info)

    @staticmethod
    def with_any(*arguments: Any) -> GuardrailResult:
        (info,) = arguments
        return Forms.with_info(info)

    def __call__(self, ctx: Any, info: Any, *, strict: bool = True) -> GuardrailResult:
        return Forms.with_context(ctx, info)


FORMS = [
    (Forms.with_info, False),
    (Forms.with_context, True),
    (Forms.async_with_info, False),
    (Forms.async_with_context, True),
    (Forms.with_option, False),
    (Forms.with_any, False),
    (Forms(), True),
]


@pytest.mark.parametrize(('form', 'takes_context'), FORMS)
async def test_nb1_forms_of_a_guard(form: Any, takes_context: bool) -> None:
    expected = 'RunContext ToolCallInfo' if takes_context else 'ToolCallInfo'
    assert (await outcome(guarding(form))).content == expected


@pytest.mark.parametrize(('form', 'takes_context'), FORMS)
async def test_nb1_forms_of_a_result_guard(form: Any, takes_context: bool) -> None:
    expected = 'RunContext ToolResultInfo' if takes_context else 'ToolResultInfo'
    assert str((await outcome(guarding_results(form))).content).endswith(f': {expected}')


async def test_nb1_an_async_guard_may_answer_with_a_bool() -> None:
    async def guard(ctx: RunContext[None], info: ToolCallInfo) -> bool:
        return info.args['amount'] < 3

    assert (await outcome(guarding(guard))).outcome == 'failed'


def _nothing() -> bool:
    return True


def _three(one: object, two: object, three: object) -> bool:
    return True


def _keyword(*, info: object) -> bool:
    return True


@pytest.mark.parametrize('setting', ['guard', 'result_guard'])
@pytest.mark.parametrize('function', [_nothing, _three, _keyword, bool, 'allow', 3])
def test_nb1_a_function_of_another_form_is_refused_when_it_is_built(setting: str, function: Any) -> None:
    with pytest.raises(ConfigurationError, match=f'`{setting}` (must take|takes a function)'):
        ToolGuardrail(**{setting: function})


def test_nb1_a_guardrail_without_a_guard_is_refused() -> None:
    with pytest.raises(ConfigurationError, match='needs `guard`, `result_guard`, or both'):
        ToolGuardrail(tools=['pay'])


@pytest.mark.parametrize(('tools', 'text'), [([], 'is empty'), ([1], 'takes names'), (7, 'takes names')])
def test_nb1_selectors_that_match_nothing_are_refused(tools: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=f'`tools` {text}'):
        ToolGuardrail(always(True), tools=tools)


def test_nb1_a_guardrail_cannot_wait_for_the_model_to_load_it() -> None:
    with pytest.raises(ConfigurationError, match='defer_loading'):
        ToolGuardrail(always(True), id='g', defer_loading=True)


@pytest.mark.parametrize(('verdict', 'text'), [({'action': 'retry'}, 'message'), ({'action': 'deny'}, "not 'deny'")])
def test_nb1_verdicts_without_a_meaning_are_refused(verdict: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        GuardrailResult(**verdict)


def test_nb1_the_constructors_fill_the_attributes() -> None:
    verdicts = [
        GuardrailResult.allow(),
        GuardrailResult.block('b'),
        GuardrailResult.retry('r'),
        GuardrailResult.replace(1),
        GuardrailResult.approve({'k': 1}),
    ]
    assert [(one.action, one.message, one.replacement, one.metadata) for one in verdicts] == [
        ('allow', None, None, None),
        ('block', 'b', None, None),
        ('retry', 'r', None, None),
        ('replace', None, 1, None),
        ('approve', None, None, {'k': 1}),
    ]


def test_nb1_guardrails_are_no_part_of_agent_specs() -> None:
    assert ToolGuardrail.get_serialization_name() is None


# -- guards that fail --------------------------------------------------------------------------------------------


def misspelt(info: ToolCallInfo) -> bool:
    return info.args['amuont'] < 10


FAILURES = [
    (raising(ValueError('no rates')), 'failed with ValueError: no rates'),
    (raising(TimeoutError('slow')), 'failed with TimeoutError: slow'),
    (raising(ExceptionGroup('both', [ValueError('a')])), 'failed with ExceptionGroup: both (1 sub-exception)'),
    (always(None), 'returned None, not a GuardrailResult or a bool'),
    (always('allow'), 'returned a value of type str, not a GuardrailResult or a bool'),
    (always(1), 'returned a value of type int, not a GuardrailResult or a bool'),
    (misspelt, "failed with KeyError: 'amuont'"),
]


@pytest.mark.parametrize(('guard', 'text'), FAILURES)
async def test_nb1_a_guard_that_fails_blocks_the_call(guard: Any, text: str) -> None:
    bank = Bank()
    part = await outcome(guarding(guard), bank)
    assert part.outcome == 'failed'
    assert str(part.content).startswith(
        f"The call of 'pay' was blocked, and the tool did not run: the guardrail {text}"
    )
    assert 'Traceback' not in str(part.content)
    assert __file__ not in str(part.content)
    assert bank.ran == []


@pytest.mark.parametrize(('guard', 'text'), FAILURES)
async def test_nb1_a_result_guard_that_fails_withholds_the_result(guard: Any, text: str) -> None:
    part = await outcome(guarding_results(guard))
    assert part.outcome == 'failed'
    assert str(part.content).startswith(f"'pay' ran, but a guardrail withheld its result: the guardrail {text}")
    assert 'paid 5' not in str(part.content)


async def test_nb1_an_async_guard_that_fails_blocks_too() -> None:
    async def guard(info: ToolCallInfo) -> bool:
        await asyncio.sleep(0)
        raise ValueError('no rates')

    assert 'failed with ValueError: no rates' in str((await outcome(guarding(guard))).content)


@pytest.mark.parametrize('guards', [guarding, guarding_results])
async def test_nb1_a_selector_that_fails_is_closed(guards: Any) -> None:
    def selector(ctx: RunContext[None], tool_def: ToolDefinition) -> bool:
        raise LookupError('no list')

    part = await outcome(guards(always(True), tools=selector))
    assert part.outcome == 'failed'
    assert 'the guardrail failed with LookupError: no list' in str(part.content)


# -- what passes through -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('error', 'expected', 'text'),
    [
        (ModelRetry('again'), 'retried', 'again'),
        (ToolFailed('no use'), 'failed', 'no use'),
        (SkipToolExecution('cached'), 'success', 'cached'),
    ],
)
@pytest.mark.parametrize('guards', [guarding, guarding_results])
async def test_nb1_control_flow_of_the_framework_passes(
    guards: Any, error: Exception, expected: str, text: str
) -> None:
    part = await outcome(guards(raising(error)))
    assert part.outcome == expected
    assert text in str(part.content)
    assert 'guardrail' not in str(part.content)


async def test_nb1_a_guard_may_defer_a_call() -> None:
    result = await run(guarding(raising(CallDeferred({'job': 1}))))
    assert isinstance(result.output, DeferredToolRequests)
    assert [one.tool_name for one in result.output.calls] == ['pay']


@pytest.mark.parametrize('guards', [guarding, guarding_results])
async def test_nb1_usage_limits_pass_through(guards: Any) -> None:
    with pytest.raises(UsageLimitExceeded, match='spent'):
        await run(guards(raising(UsageLimitExceeded('spent'))))


async def test_nb1_a_cancelled_run_inside_a_guard_is_no_failure_of_the_guard() -> None:
    bank = Bank()
    part = await outcome(guarding(raising(RunCancelled('stopped'))), bank)
    assert 'guardrail' not in str(part.content)
    assert bank.ran == []


@pytest.mark.parametrize('guards', [guarding, guarding_results])
async def test_nb1_cancellation_passes_through(guards: Any) -> None:
    asked = asyncio.Event()

    async def guard(info: ToolCallInfo) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    bank = Bank()
    task = asyncio.create_task(run(guards(guard), bank=bank))
    async with asyncio.timeout(5):
        await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bank.ran == ([] if guards is guarding else [(5, 'none')])


# -- which tools -------------------------------------------------------------------------------------------------


def is_pay(ctx: RunContext[None], tool_def: ToolDefinition) -> bool:
    return tool_def.name == 'pay'


@pytest.mark.parametrize(
    ('tools', 'blocked'),
    [
        (None, ['pay', 'free']),
        ('all', ['pay', 'free']),
        (['free'], ['free']),
        ('free', ['free']),
        ({'risk': {'level': 'low'}}, ['free']),
        ({'risk': {'level': 'high'}}, []),
        (is_pay, ['pay']),
    ],
)
@pytest.mark.parametrize('guards', [guarding, guarding_results])
async def test_nb1_selectors(guards: Any, tools: Any, blocked: list[str]) -> None:
    result = await run(guards(always(False), tools=tools), call(), call('free', call_id='call_2'))
    parts = [*returns(result.all_messages()), *returns(result.all_messages(), 'free')]
    assert [part.tool_name for part in parts if part.outcome == 'failed'] == blocked


async def test_nb1_a_selector_may_be_async() -> None:
    async def selector(ctx: RunContext[None], tool_def: ToolDefinition) -> bool:
        await asyncio.sleep(0)
        return tool_def.name == 'pay'

    assert (await outcome(guarding(always(False), tools=selector))).outcome == 'failed'


async def test_nb1_a_name_that_no_tool_has_is_told_to_the_developer() -> None:
    with pytest.warns(UnknownToolNameWarning, match='did not have: piy, rfund. ') as caught:
        await run(guarding(always(True), tools=['rfund', 'pay', 'piy']))
    assert len(caught) == 1


async def test_nb1_each_run_is_told_anew() -> None:
    agent = native_agent(guarding(always(True), tools=['piy']))
    for _ in range(2):
        with pytest.warns(UnknownToolNameWarning):
            await agent.run('go', model=ScriptedModel([[call()]]).model())


async def test_nb1_what_one_run_has_seen_does_not_count_for_another() -> None:
    def only_here() -> str:
        return 'x'

    shared = guarding(always(True), tools=['only_here'])
    await run(shared, toolsets=[FunctionToolset[None]([only_here])])
    with pytest.warns(UnknownToolNameWarning, match='only_here'):
        await run(shared)


async def test_nb1_a_run_that_calls_no_tool_is_told_nothing() -> None:
    await native_agent(guarding(always(True), tools=['piy'])).run('go', model=ScriptedModel([]).model())


@pytest.mark.parametrize(
    'name', ['inside', 'run_code', 'load_capability', 'deferred', 'unprepared', 'search_tools', 'outside']
)
async def test_nb1_tools_that_are_nested_deferred_or_left_out_are_known(name: str) -> None:
    def inside() -> str:
        return 'x'

    def deferred() -> str:
        return 'x'

    def unprepared() -> str:
        return 'x'

    async def leave_out(ctx: RunContext[None], tool_def: ToolDefinition) -> None:
        return None

    class Later(AbstractCapability[None]):
        pass

    tools = [Tool(inside), Tool(deferred, defer_loading=True), Tool(unprepared, prepare=leave_out)]
    later = Later()
    later.id, later.defer_loading, later.description = 'later', True, 'More.'
    returned = await run_snippet(
        '1 + 1',
        tools=tools,
        toolsets=[OUTSIDE],
        capabilities=[*guarding(always(True), tools=[name]), later],
    )
    assert returned.content == 2


# -- calls from inside code --------------------------------------------------------------------------------------


async def nested(code: str, capabilities: Capabilities, bank: Bank | None = None, **options: Any) -> ToolReturnPart:
    return await run_snippet(code, tools=(bank or Bank()).tools(), capabilities=capabilities, **options)


def inside(guard: Any, **options: Any) -> Capabilities:
    return guarding(guard, tools=['pay'], **options)


BLOCKED = "The call of 'pay' was blocked, and the tool did not run: the guardrail"
WITHHELD = "'pay' ran, but a guardrail withheld its result:"
NO_INTEGER = 'Input should be a valid integer, unable to parse string as an integer'
CATCH = 'try:\n    r = await pay(amount=5)\nexcept Exception as e:\n    r = [type(e).__name__, str(e)]\nr'


@pytest.mark.parametrize(
    ('guard', 'expected'),
    [
        (always(True), 'paid 5'),
        (always(GuardrailResult.block('too much')), ['RuntimeError', 'too much']),
        (always(GuardrailResult.retry('pay less')), ['RuntimeError', 'pay less']),
        (always(GuardrailResult.replace({'amount': 2})), 'paid 2'),
        (
            always(GuardrailResult.replace({'amount': 'x'})),
            ['RuntimeError', f'{BLOCKED} replaced the arguments with wrong ones: amount: {NO_INTEGER}'],
        ),
        (
            raising(ValueError('no rates')),
            ['RuntimeError', f'{BLOCKED} failed with ValueError: no rates'],
        ),
    ],
)
async def test_nb1_verdicts_on_a_nested_call_arrive_in_the_code(guard: Any, expected: Any) -> None:
    assert (await nested(CATCH, inside(guard))).content == expected


@pytest.mark.parametrize(
    ('guard', 'expected'),
    [
        (always(True), 'paid 5'),
        (
            always(GuardrailResult.block('a secret')),
            ['RuntimeError', f'{WITHHELD} a secret'],
        ),
        (always(GuardrailResult.replace('[redacted]')), '[redacted]'),
        (
            always(None),
            ['RuntimeError', f'{WITHHELD} the guardrail returned None, not a GuardrailResult or a bool'],
        ),
    ],
)
async def test_nb1_verdicts_on_a_nested_result_arrive_in_the_code(guard: Any, expected: Any) -> None:
    assert (await nested(CATCH, guarding_results(guard, tools=['pay']))).content == expected


async def test_nb1_a_nested_block_that_the_code_does_not_catch_ends_the_snippet() -> None:
    bank = Bank()
    returned = await nested('x = 1\nawait pay(amount=5)', inside(always(GuardrailResult.block('too much'))), bank)
    assert returned.outcome == 'retried'
    assert 'too much' in str(returned.content)
    assert 'line 2' in str(returned.content)
    assert bank.ran == []


async def test_nb1_without_selection_run_code_and_the_nested_calls_are_judged() -> None:
    seen: list[str] = []

    def guard(info: ToolCallInfo) -> bool:
        seen.append(f'{info.name} {info.tool_call_id}')
        return True

    await nested('await pay(amount=1)\nawait free(amount=1)', guarding(guard))
    assert seen == ['run_code code_1', 'pay code_1__1', 'free code_1__2']


@pytest.mark.parametrize('tool', ['pay', 'declared'])
async def test_nb1_a_nested_call_that_needs_approval_says_what_is_missing(tool: str) -> None:
    bank = Bank()
    capabilities = guarding(always(GuardrailResult.approve()), tools=[tool])
    returned = await nested(CATCH.replace('pay', tool), capabilities, bank)
    text = str(returned.content)
    assert f"['PermissionError', '{tool} needs approval" in text
    assert 'HandleDeferredToolCalls' in text
    assert bank.ran == []


async def test_nb1_a_nested_call_is_approved_inline_with_the_guards_metadata() -> None:
    seen: list[Any] = []

    def approve(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        seen.append(requests.metadata)
        return requests.build_results(approve_all=True)

    handler = HandleDeferredToolCalls[None](handler=approve)
    returned = await nested(CATCH, [*inside(always(GuardrailResult.approve({'why': 'a lot'}))), handler])
    assert returned.content == 'paid 5'
    assert seen == [{'code_1__1': {'why': 'a lot'}}]


@pytest.mark.parametrize('answer', [GuardrailResult.approve(), GuardrailResult.replace({}), GuardrailResult.block()])
async def test_nb1_a_nested_call_that_is_answered_outside_is_judged(answer: Any) -> None:
    asked: list[Any] = []

    def handle(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults | None:
        asked.append(requests)
        return None

    capabilities = [*guarding(always(answer), tools=['outside']), HandleDeferredToolCalls[None](handler=handle)]
    returned = await run_snippet('await outside()', toolsets=[OUTSIDE], capabilities=capabilities)
    assert "The call of 'outside' was blocked" in str(returned.content)
    assert asked == []


async def test_nb1_usage_limits_inside_code_end_the_run() -> None:
    with pytest.raises(UsageLimitExceeded, match='spent'):
        await nested(CATCH, inside(raising(UsageLimitExceeded('spent'))))


async def test_nb1_run_code_itself_may_need_approval() -> None:
    agent = make_agent(
        ScriptedModel(['1 + 1']),
        capabilities=guarding(always(GuardrailResult.approve()), tools=['run_code']),
        output_type=[str, DeferredToolRequests],
    )
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    resumed = await agent.run(
        message_history=paused.all_messages(), deferred_tool_results=paused.output.build_results(approve_all=True)
    )
    assert [part.content for part in code_returns(resumed.all_messages())] == [2]


async def test_nb1_a_guardrail_may_stand_before_code_mode() -> None:
    capabilities = [*inside(always(GuardrailResult.block('no'))), CodeMode[None]()]
    result = await run(capabilities, ToolCallPart('run_code', {'code': CATCH}, tool_call_id='code_1'))
    (returned,) = code_returns(result.all_messages())
    assert returned.content == ['RuntimeError', 'no']


# -- several guardrails ------------------------------------------------------------------------------------------


async def test_nb1_the_first_block_wins_and_the_others_are_not_asked() -> None:
    asked: list[str] = []

    def saying(name: str, answer: bool | GuardrailResult) -> AbstractCapability[None]:
        def guard(info: ToolCallInfo) -> bool | GuardrailResult:
            asked.append(name)
            return answer

        return ToolGuardrail[None](guard)

    guardrails = [saying('a', True), saying('b', GuardrailResult.block('b says no')), saying('c', False)]
    assert (await outcome(guardrails)).content == 'b says no'
    assert asked == ['a', 'b']


async def test_nb1_replacements_are_handed_on_inwards_and_results_outwards() -> None:
    def adding(n: int) -> AbstractCapability[None]:
        return ToolGuardrail[None](
            lambda info: GuardrailResult.replace({'amount': info.args['amount'] * 10 + n}),
            lambda info: GuardrailResult.replace(f'{info.result} {n}'),
        )

    assert (await outcome([adding(1), adding(2)])).content == 'paid 512 2 1'


async def test_nb1_one_approval_is_enough_for_several_guardrails() -> None:
    bank = Bank()
    guards = [*guarding(always(GuardrailResult.approve())), *guarding(always(GuardrailResult.approve()))]
    agent = native_agent(guards, bank=bank)
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    await agent.run(
        message_history=paused.all_messages(), deferred_tool_results=paused.output.build_results(approve_all=True)
    )
    assert bank.ran == [(5, 'none')]


async def test_nb1_an_approved_call_can_still_be_blocked_by_another_guardrail() -> None:
    bank = Bank()
    agent = native_agent([*guarding(always(GuardrailResult.approve())), *guarding(always(False))], bank=bank)
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    resumed = await agent.run(
        message_history=paused.all_messages(), deferred_tool_results=paused.output.build_results(approve_all=True)
    )
    assert [part.outcome for part in returns(resumed.all_messages())] == ['failed']
    assert bank.ran == []


async def test_nb1_guardrails_with_names_of_their_own() -> None:
    guards = [*guarding(always(True), tools=['pay'], id='one'), *guarding(always(False), tools=['free'], id='two')]
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert (await outcome(guards)).content == 'paid 5'
