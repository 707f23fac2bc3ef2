"""BEYOND-1: who may ask for an answer, in what kinds of runs, and what consent covers."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import copy
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field
from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    Tool,
    ToolApproved,
    ToolDenied,
    UsageLimits,
)
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls, Hooks
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed, UsageLimitExceeded, UserError
from pydantic_ai.messages import BinaryContent, ModelMessage, ToolCallPart, ToolReturn, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from pydantic_ai_harness.code_mode import (
    AnswerError,
    NestedToolCallEvent,
    NestedToolResultEvent,
    paused_calls,
    resume_with,
)
from pydantic_ai_harness.code_mode.failures import CHANGED_CODE
from pydantic_ai_harness.guardrails import GuardrailResult, ToolGuardrail

from .bank import PIXEL, SKIP, Bank, Dialogue, approve, run_through

BOTH = 'a = await free(n=1)\nb = await pay(amount=a)\n[a, b]'
PAIR = 'import asyncio\nawait asyncio.gather(pay(amount=1), ask(amount=2))'


def guarded(*names: str) -> dict[str, Any]:
    guardrail = ToolGuardrail[None](guard=lambda call: GuardrailResult.approve(), tools=list(names))
    return {'capabilities': [guardrail]}


def two_calls(*codes: str) -> list[ToolCallPart]:
    return [ToolCallPart('run_code', {'code': code}, tool_call_id=f'c{n + 1}') for n, code in enumerate(codes)]


# -- who asks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('code', 'kind', 'metadata', 'ran'),
    [
        ('await pay(amount=1)', 'approval', None, 'pay 1'),
        ('await ask(amount=1)', 'approval', {'why': '1 is a lot'}, 'ask 1'),
        ('pay_now(amount=1)', 'approval', None, 'pay_now 1'),
        ('await validated(amount=1)', 'approval', None, 'validated 1'),
        ('await later(job="x")', 'external', {'job': 'x'}, None),
        ('await outside(topic="x")', 'external', None, None),
    ],
)
async def test_beyond1_each_source_is_asked_for_with_all_that_is_known(
    code: str, kind: str, metadata: Any, ran: str | None
) -> None:
    """The nested call travels with id, tool, arguments, kind, the tool's metadata and its line; nothing ran yet."""
    dialogue = Dialogue()
    await dialogue.run(f'x = 1\nr = {code}\nr')
    (call,) = dialogue.waiting
    assert [part.tool_name for part in dialogue.requests.approvals] == ['run_code']
    assert dialogue.requests.calls == []
    assert (call.tool_call_id, call.kind, call.metadata) == ('code_1__1', kind, metadata)
    assert (call.line, call.source) == (2, f'r = {code}')
    assert call.tool_name == code.removeprefix('await ').split('(')[0]
    assert dialogue.bank.ran == []
    await dialogue.answer(approve)
    assert dialogue.bank.ran == ([] if ran is None else [ran])
    assert dialogue.returned.outcome == 'success'


async def test_beyond1_a_toolset_that_requires_approval() -> None:
    """`ApprovalRequiredToolset` pauses for the calls it names, and not for others."""
    bank = Bank()
    tools = [tool for tool in bank.tools() if tool.name == 'free']
    toolset = FunctionToolset[None](tools).approval_required(lambda ctx, tool, args: args['n'] > 10)
    dialogue = Dialogue(bank, agent_options={'tools': [], 'toolsets': [toolset]})
    await dialogue.run('[await free(n=1), await free(n=11), await free(n=2)]')
    assert [call.args for call in dialogue.waiting] == [{'n': 11}]
    assert bank.ran == ['free 1']
    await dialogue.answer(approve)
    assert dialogue.content == [10, 110, 20]
    assert bank.ran == ['free 1', 'free 11', 'free 2']


async def test_beyond1_a_guardrail_asks_for_a_nested_call() -> None:
    """`ToolGuardrail` pauses the code for a tool that knows nothing of approvals, once."""
    dialogue = await run_through('[await free(n=1), await slow(n=2)]', agent_options=guarded('free'))
    assert dialogue.content == [10, 200]
    assert dialogue.bank.ran == ['free 1', 'slow 2']


async def test_beyond1_a_guardrail_asks_first_for_run_code_and_the_code_waits_inside() -> None:
    """Consent to the code is not consent to what it calls: both are asked for, one after the other."""
    dialogue = Dialogue(agent_options=guarded('run_code'))
    await dialogue.run(BOTH)
    assert paused_calls(dialogue.requests) == []
    assert dialogue.bank.ran == []
    await dialogue.resume(resume_with(dialogue.requests, {'code_1': True}))
    assert [call.tool_call_id for call in dialogue.waiting] == ['code_1__2']
    assert dialogue.bank.ran == ['free 1']
    await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']
    assert dialogue.bank.ran == ['free 1', 'pay 10']


async def test_beyond1_a_hook_asks_before_execution() -> None:
    """A hook may defer a nested call as well as a tool may."""
    hooks = Hooks[None]()

    @hooks.on.before_tool_execute(tools=['free'])
    async def gate(ctx: RunContext[None], /, *, args: dict[str, Any], **others: Any) -> dict[str, Any]:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={'by': 'hook'})
        return args

    dialogue = Dialogue(agent_options={'capabilities': [hooks]})
    await dialogue.run('await free(n=4)')
    assert [call.metadata for call in dialogue.waiting] == [{'by': 'hook'}]
    await dialogue.answer(approve)
    assert (dialogue.content, dialogue.bank.ran) == (40, ['free 4'])


async def test_beyond1_an_approved_call_may_wait_for_its_result_next() -> None:
    """A tool that was approved and then defers its result waits again, as an external call."""

    def both(ctx: RunContext[None], n: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        raise CallDeferred(metadata={'job': n})

    dialogue = Dialogue(agent_options={'tools': [Tool(both)]})
    await dialogue.run('await both(n=1)')
    kinds = [call.kind for call in dialogue.waiting]
    await dialogue.answer(approve)
    kinds += [call.kind for call in dialogue.waiting]
    await dialogue.answer({'code_1__1': 'from outside'})
    assert kinds == ['approval', 'external']
    assert dialogue.content == 'from outside'


async def test_beyond1_other_arguments_stay_when_the_call_waits_again() -> None:
    """A call that was approved with other arguments and waits again is asked for with those."""
    asked: list[int] = []

    def twice(ctx: RunContext[None], n: int) -> int:
        asked.append(n)
        if not ctx.tool_call_approved or len(asked) < 3:
            raise ApprovalRequired
        return n

    dialogue = Dialogue(agent_options={'tools': [Tool(twice)]})
    await dialogue.run('await twice(n=1)')
    await dialogue.answer({'code_1__1': ToolApproved(override_args={'n': 2})})
    assert [call.args for call in dialogue.waiting] == [{'n': 2}]
    await dialogue.answer(approve)
    assert (dialogue.content, asked) == (2, [1, 2, 2])


# -- answered inline -----------------------------------------------------------------------------------------------


def handler(*, answers: tuple[str, ...]) -> list[AbstractCapability[None]]:
    """Approves the calls of these tools inline and leaves all others."""

    def resolve(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        approvals = [call for call in requests.approvals if call.tool_name in answers]
        return DeferredToolResults(approvals={call.tool_call_id: True for call in approvals})

    return [HandleDeferredToolCalls[None](handler=resolve)]


async def test_beyond1_what_a_handler_answers_inline_does_not_wait() -> None:
    """Calls that `HandleDeferredToolCalls` answers go on, those that it leaves are asked for."""
    dialogue = Dialogue(agent_options={'capabilities': handler(answers=('ask',))})
    await dialogue.run(PAIR)
    assert [call.tool_name for call in dialogue.waiting] == ['pay']
    assert dialogue.bank.ran == ['ask 2']
    await dialogue.answer(approve)
    assert dialogue.content == ['paid 1', 'asked 2']
    assert dialogue.bank.ran == ['ask 2', 'pay 1']


async def test_beyond1_a_handler_that_leaves_one_tool_open_does_not_approve_it_by_approving_run_code() -> None:
    """A handler that consents to everything but `pay` was never asked to consent to `pay`, so it waits."""

    def resolve(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        approvals = [call for call in requests.approvals if call.tool_name != 'pay']
        return DeferredToolResults(approvals={call.tool_call_id: True for call in approvals})

    dialogue = Dialogue(agent_options={'capabilities': [HandleDeferredToolCalls[None](handler=resolve)]})
    await dialogue.run(PAIR)
    assert dialogue.bank.ran == ['ask 2']
    assert [call.tool_name for call in dialogue.waiting] == ['pay']


# -- answers without the helpers -----------------------------------------------------------------------------------


@pytest.mark.parametrize('how', ['approve_all', 'approvals'])
async def test_beyond1_approval_of_run_code_approves_what_waits_for_approval(how: str) -> None:
    """Without the helpers, approving `run_code` approves its pending approvals, with their own metadata."""
    dialogue = Dialogue()
    await dialogue.run(PAIR)
    if how == 'approve_all':
        results = dialogue.requests.build_results(approve_all=True)
    else:
        results = DeferredToolResults(approvals={'code_1': True})
    await dialogue.resume(results)
    assert dialogue.content == ['paid 1', 'asked 2']
    assert sorted(dialogue.bank.ran) == ['ask 2', 'pay 1']
    assert sorted(dialogue.bank.metadata, key=str) == [None, {'why': '2 is a lot'}]


async def test_beyond1_approval_of_run_code_does_not_make_up_external_results() -> None:
    """Approving everything leaves calls that wait for a result waiting."""
    dialogue = Dialogue()
    await dialogue.run('import asyncio\nawait asyncio.gather(pay(amount=1), later(job="x"))')
    await dialogue.resume(dialogue.requests.build_results(approve_all=True))
    assert [call.tool_name for call in dialogue.waiting] == ['later']
    assert dialogue.bank.ran == ['pay 1']
    await dialogue.answer(approve)
    assert dialogue.content == ['paid 1', 'answer to x']


@pytest.mark.parametrize('denial', [False, ToolDenied('no such code')])
@pytest.mark.parametrize('helper', [True, False])
async def test_beyond1_denial_of_run_code_discards_the_code(denial: Any, helper: bool) -> None:
    """The code never goes on, the model reads the denial, and its next code works."""
    dialogue = Dialogue()
    await dialogue.run(BOTH)
    answers = {'code_1': denial}
    results = resume_with(dialogue.requests, answers) if helper else DeferredToolResults(approvals=answers)
    await dialogue.resume(results, 'await free(n=2)')
    denied, following = dialogue.returns
    assert denied.outcome == 'denied'
    assert following.content == 20
    assert dialogue.bank.ran == ['free 1', 'free 2']


async def test_beyond1_approving_the_code_and_denying_a_call_in_it_does_not_run_that_call() -> None:
    """A denial is never overruled: such answers are refused."""
    dialogue = Dialogue()
    await dialogue.run(PAIR)
    with pytest.raises(AnswerError, match=r"Answer either the code 'code_1' as a whole or the calls in it, not both\."):
        resume_with(dialogue.requests, {'code_1': True, 'code_1__1': False})


@pytest.mark.parametrize('code', ['await free(n=7)', BOTH + '\nawait free(n=9)'])
async def test_beyond1_code_that_waits_cannot_be_changed(code: str) -> None:
    """Other code in the approval of `run_code` is refused: nothing runs, and the pause can be answered still."""
    dialogue = Dialogue()
    await dialogue.run(BOTH)
    again = copy.copy(dialogue)
    changed = ToolApproved(override_args={'code': code})
    await dialogue.resume(DeferredToolResults(approvals={'code_1': changed}))
    assert dialogue.text == CHANGED_CODE
    assert dialogue.bank.ran == ['free 1']
    await again.answer(approve)
    assert again.content == [10, 'paid 10']
    assert dialogue.bank.ran == ['free 1', 'pay 10']


async def test_beyond1_the_same_code_in_the_approval_goes_on() -> None:
    """Approving `run_code` with the arguments that it had changes nothing."""
    dialogue = Dialogue()
    await dialogue.run(BOTH)
    same = ToolApproved(override_args={'code': BOTH, 'restart': True})
    await dialogue.resume(DeferredToolResults(approvals={'code_1': same}))
    assert dialogue.content == [10, 'paid 10']
    assert dialogue.bank.ran == ['free 1', 'pay 10']


# -- kinds of runs -------------------------------------------------------------------------------------------------


def streamed(*codes: str) -> FunctionModel:
    """A model that streams."""
    asked = 0

    async def reply(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        nonlocal asked
        asked += 1
        if asked > len(codes):
            yield 'done'
            return
        call = DeltaToolCall('run_code', tool_call_id=f'code_{asked}')
        yield {0: call}
        text = ToolCallPart('run_code', {'code': codes[asked - 1]}).args_as_json_str()
        deltas: DeltaToolCalls = {0: DeltaToolCall(json_args=text)}
        yield deltas

    return FunctionModel(stream_function=reply)


async def test_beyond1_a_streamed_run_pauses_and_goes_on_in_another() -> None:
    """`run_stream` ends with the requests, and another one takes the code up."""
    dialogue = Dialogue()
    async with dialogue.agent().run_stream('go', model=streamed(BOTH)) as result:
        dialogue.take(result.all_messages(), await result.get_output())
    assert [call.tool_name for call in dialogue.waiting] == ['pay']
    results = resume_with(dialogue.requests, dialogue.answers(approve))
    resumed = dialogue.agent().run_stream(
        message_history=dialogue.history, deferred_tool_results=results, model=streamed()
    )
    async with resumed as result:
        dialogue.take(result.all_messages(), await result.get_output())
    assert dialogue.content == [10, 'paid 10']
    assert dialogue.bank.ran == ['free 1', 'pay 10']


async def test_beyond1_events_tell_of_the_pause_and_of_what_came_after() -> None:
    """An event handler sees the call wait, and in the resumed run its end."""
    seen: list[tuple[str, str]] = []

    async def handle(ctx: RunContext[None], events: AsyncIterable[Any]) -> None:
        async for event in events:
            if isinstance(event, NestedToolCallEvent):
                seen.append((event.nested_tool_call_id, 'starts'))
            if isinstance(event, NestedToolResultEvent):
                seen.append((event.nested_tool_call_id, event.outcome))

    dialogue = Dialogue()
    result = await dialogue.agent().run('go', model=streamed(BOTH), event_stream_handler=handle)
    dialogue.take(result.all_messages(), result.output)
    before, seen = seen, []
    results = resume_with(dialogue.requests, dialogue.answers(approve))
    await dialogue.resume(results, model=streamed(), event_stream_handler=handle)
    assert dialogue.content == [10, 'paid 10']
    first, second = 'code_1__1', 'code_1__2'
    assert before == [(first, 'starts'), (first, 'returned'), (second, 'starts'), (second, 'waiting')]
    assert seen == [(second, 'starts'), (second, 'returned')]


async def test_beyond1_a_run_that_is_stepped_through_pauses_and_goes_on() -> None:
    """`iter()` works at both ends."""
    dialogue = Dialogue()
    async with dialogue.agent(BOTH).iter('go') as run:
        async for _ in run:
            pass
    assert run.result is not None
    dialogue.take(run.result.all_messages(), run.result.output)
    results = resume_with(dialogue.requests, dialogue.answers(approve))
    async with dialogue.agent().iter(message_history=dialogue.history, deferred_tool_results=results) as run:
        async for _ in run:
            pass
    assert run.result is not None
    dialogue.take(run.result.all_messages(), run.result.output)
    assert dialogue.content == [10, 'paid 10']
    assert dialogue.bank.ran == ['free 1', 'pay 10']


async def test_beyond1_a_new_prompt_may_come_with_the_answers() -> None:
    """The user may say something with the answers."""
    dialogue = Dialogue()
    await dialogue.run(BOTH)
    results = resume_with(dialogue.requests, dialogue.answers(approve))
    result = await dialogue.agent().run('and hurry', message_history=dialogue.history, deferred_tool_results=results)
    dialogue.take(result.all_messages(), result.output)
    assert dialogue.content == [10, 'paid 10']


# -- several of them -----------------------------------------------------------------------------------------------


async def test_beyond1_two_run_code_calls_of_one_response_both_pause() -> None:
    """Each is asked for under its own id, and each gets its own answers."""
    dialogue = Dialogue()
    await dialogue.run(two_calls('[await pay(amount=1), await free(n=1)]', '[await pay(amount=2), await free(n=2)]'))
    assert [call.tool_call_id for call in dialogue.waiting] == ['c1__1', 'c2__1']
    await dialogue.answer({'c1__1': True, 'c2__1': ToolDenied('only one')})
    one, other = dialogue.returns
    assert one.content == ['paid 1', 10]
    assert 'PermissionError: only one' in str(other.content)
    assert dialogue.bank.ran == ['pay 1', 'free 1']


async def test_beyond1_of_two_run_code_calls_one_may_be_answered_first() -> None:
    """The one without answers waits on, the other one goes on."""
    dialogue = Dialogue()
    await dialogue.run(two_calls('[await pay(amount=1), await free(n=1)]', '[await pay(amount=2), await free(n=2)]'))
    await dialogue.answer({'c2__1': True})
    assert [call.tool_call_id for call in dialogue.waiting] == ['c1__1']
    assert dialogue.bank.ran == ['pay 2', 'free 2']
    await dialogue.answer({'c1__1': True})
    assert [part.content for part in dialogue.returns] == [['paid 2', 20], ['paid 1', 10]]
    assert dialogue.bank.ran == ['pay 2', 'free 2', 'pay 1', 'free 1']


async def test_beyond1_code_beside_code_that_waits_has_the_variables_or_is_told() -> None:
    """Code of the same response uses the run's variables, or the model reads why they are not there."""
    dialogue = Dialogue()
    await dialogue.run('x = 5', two_calls('y = await pay(amount=x)\ny', 'z = await free(n=x)\nz'))
    beside = next(part for part in dialogue.returns if part.tool_call_id == 'c2')
    assert beside.content == 50 or 'reset' in str(beside.content)


async def test_beyond1_several_pauses_over_one_long_history() -> None:
    """Answered, denied and discarded code in one history do not disturb what comes later."""
    dialogue = Dialogue()
    await dialogue.run('await pay(amount=1)')
    await dialogue.answer(approve, [ToolCallPart('run_code', {'code': 'await pay(amount=2)'}, tool_call_id='second')])
    assert [call.tool_call_id for call in dialogue.waiting] == ['second__1']
    await dialogue.answer({'second': False})
    await dialogue.run([ToolCallPart('run_code', {'code': 'await pay(amount=3)'}, tool_call_id='third')])
    await dialogue.answer(approve, [ToolCallPart('run_code', {'code': 'await later(job="4")'}, tool_call_id='fourth')])
    await dialogue.answer(approve)
    assert [part.outcome for part in dialogue.returns] == ['success', 'denied', 'success', 'success']
    assert dialogue.content == 'answer to 4'
    assert dialogue.bank.ran == ['pay 1', 'pay 3']


async def test_beyond1_one_id_may_come_back_in_a_later_response() -> None:
    """A provider that counts its ids anew gets the code of the last response, not of an earlier one."""
    dialogue = Dialogue()
    for amount in (1, 2, 3):
        await dialogue.run(f'await pay(amount={amount})')
        assert [call.tool_call_id for call in dialogue.waiting] == ['code_1__1']
        await dialogue.answer(approve)
        assert dialogue.content == f'paid {amount}'
    assert dialogue.bank.ran == ['pay 1', 'pay 2', 'pay 3']


async def test_beyond1_native_calls_wait_beside_code() -> None:
    """An ordinary deferred tool and code that waits are asked for together, and answered together."""
    dialogue = Dialogue(options={'tools': ['pay', 'free', 'later']})
    calls = [
        ToolCallPart('ask', {'amount': 9}, tool_call_id='native'),
        ToolCallPart('run_code', {'code': BOTH}, tool_call_id='code'),
        ToolCallPart('outside', {'topic': 'x'}, tool_call_id='external'),
        ToolCallPart('slow', {'n': 3}, tool_call_id='plain'),
    ]
    await dialogue.run(calls)
    assert sorted(part.tool_call_id for part in dialogue.requests.approvals) == ['code', 'native']
    assert [part.tool_call_id for part in dialogue.requests.calls] == ['external']
    assert [call.tool_call_id for call in dialogue.waiting] == ['code__2']
    await dialogue.answer({'code__2': True, 'native': True, 'external': 'from outside'})
    assert sorted(dialogue.bank.ran) == ['ask 9', 'free 1', 'pay 10', 'slow 3']
    parts = [part for message in dialogue.history for part in message.parts if isinstance(part, ToolReturnPart)]
    contents = {part.tool_call_id: part.content for part in parts}
    assert contents == {'native': 'asked 9', 'code': [10, 'paid 10'], 'external': 'from outside', 'plain': 300}


async def test_beyond1_code_mode_in_an_agent_that_a_tool_runs() -> None:
    """An inner agent's code pauses; the tool defers what it waits for, and goes on with the answer."""
    inner, bank = Dialogue(), Bank()

    async def delegate(ctx: RunContext[None], task: str) -> str:
        if not ctx.tool_call_approved:
            await inner.run(BOTH)
            raise ApprovalRequired(metadata={'waiting': [call.tool_name for call in inner.waiting]})
        await inner.answer(approve)
        return str(inner.content)

    outer = Dialogue(bank, agent_options={'tools': [Tool(delegate)], 'toolsets': []})
    await outer.run('r = await delegate(task="x")\nr')
    assert [call.metadata for call in outer.waiting] == [{'waiting': ['pay']}]
    await outer.answer(approve)
    assert outer.content == "[10, 'paid 10']"
    assert inner.bank.ran == ['free 1', 'pay 10']


async def test_beyond1_an_agent_that_cannot_end_with_requests_says_so() -> None:
    """Without `DeferredToolRequests` among the output types the run fails with the framework's advice."""
    agent = Dialogue(agent_options={'output_type': str}).agent('await pay(amount=1)')
    with pytest.raises(UserError, match='`DeferredToolRequests` is not among output types'):
        await agent.run('go')


class Aliased(BaseModel):
    number: int = Field(alias='theNumber')


@pytest.mark.parametrize('answer', [ModelRetry('no use'), ToolFailed('no use'), ValueError('no use')], ids=repr)
async def test_beyond1_a_failure_from_outside_is_no_refusal(answer: Exception) -> None:
    """The model reads that the call raised, not that it was refused before the tool ran."""
    dialogue = Dialogue()
    await dialogue.run('await later(job="x")')
    await dialogue.answer({'code_1__1': answer})
    assert '- later(job="x") raised RuntimeError: ' in dialogue.text
    assert 'before the tool ran' not in dialogue.text


@pytest.mark.parametrize(
    'answer',
    [
        BinaryContent(PIXEL, media_type='image/png', identifier='i'),
        ToolReturn(BinaryContent(PIXEL, media_type='image/png', identifier='i'), metadata={'m': 1}),
        [BinaryContent(PIXEL, media_type='image/png', identifier='i'), 1],
        {'image': BinaryContent(PIXEL, media_type='image/png', identifier='i')},
        b'\xff',
        (1, {2}),
        Path('/x'),
        float('inf'),
        Aliased(theNumber=1),
    ],
    ids=repr,
)
async def test_beyond1_a_result_from_outside_is_what_it_would_be_inline(answer: object) -> None:
    """Whatever the application answers, the code gets what it gets from an answer during the run."""

    def resolve(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        return DeferredToolResults(calls={call.tool_call_id: answer for call in requests.calls})

    code = 'r = await later(job="x")\nr'
    capabilities = [HandleDeferredToolCalls[None](handler=resolve)]
    inline = Dialogue(options={'deferred_calls': 'inline'}, agent_options={'capabilities': capabilities})
    await inline.run(code)
    dialogue = Dialogue()
    await dialogue.run(code)
    await dialogue.answer({'code_1__1': answer})
    assert dialogue.returned.content == inline.returned.content
    assert dialogue.returned.outcome == inline.returned.outcome


# -- what travels --------------------------------------------------------------------------------------------------


async def test_beyond1_the_requests_say_what_is_done_and_hold_no_state() -> None:
    """A user interface gets the calls that ended, and nothing of the code's variables."""
    dialogue = Dialogue()
    await dialogue.run('hidden = "s3cr" + "et"\nawait free(n=1)\nawait pay(amount=2)')
    travels = str(dialogue.requests.metadata)
    assert '- free(n=1) returned 10' in travels
    assert 's3cret' not in travels
    assert 's3cret' not in str(dialogue.history)


async def test_beyond1_calls_of_earlier_code_have_no_line() -> None:
    """A call in a function of an earlier snippet says that its line is elsewhere."""
    dialogue = Dialogue()
    await dialogue.run('async def helper(n):\n    return await pay(amount=n)', '\n\nawait helper(2)')
    (call,) = dialogue.waiting
    assert (call.line, call.source) == (None, None)


async def test_beyond1_no_answers_at_all_ask_again_for_the_same() -> None:
    """Answering none of the calls pauses once more, with nothing run."""
    dialogue = Dialogue()
    await dialogue.run(PAIR)
    first = dialogue.waiting
    await dialogue.answer(lambda call: SKIP)
    assert dialogue.waiting == first
    assert dialogue.bank.ran == []
    await dialogue.answer(approve)
    assert dialogue.content == ['paid 1', 'asked 2']


async def test_beyond1_an_answer_counts_although_the_code_waits_for_another_first() -> None:
    """Answered calls are not asked for again, also when a plain function holds the code up."""
    dialogue = Dialogue()
    code = """import asyncio
async def plain():
    await slow(n=1)
    return pay_now(amount=2)
await asyncio.gather(pay(amount=1), later(job="x"), plain())"""
    await dialogue.run(code)
    assert [call.tool_name for call in dialogue.waiting] == ['pay', 'later', 'pay_now']
    await dialogue.answer({'code_1__1': True, 'code_1__2': 'result'})
    assert [call.tool_name for call in dialogue.waiting] == ['pay_now']
    await dialogue.answer(approve)
    assert dialogue.content == ['paid 1', 'result', 'paid now 2']


async def test_beyond1_an_error_that_the_code_has_not_got_yet_is_the_same_after_a_pause() -> None:
    """A call that failed while a plain call waited raises the same error as it would without the pause."""
    bank = Bank()

    async def slow_missing(name: str) -> int:
        await asyncio.sleep(0.05)
        raise KeyError(name)

    dialogue = Dialogue(bank, agent_options={'tools': [*bank.tools(), Tool(slow_missing)]})
    code = """import asyncio
async def failing():
    try:
        return await slow_missing(name="k")
    except KeyError as e:
        return [str(e), e.args[0]]
async def plain():
    await free(n=1)
    return pay_now(amount=2)
await asyncio.gather(failing(), plain())"""
    await dialogue.run(code)
    await dialogue.answer(approve)
    assert dialogue.content == [["'k'", 'k'], 'paid now 2']


async def test_beyond1_a_budget_of_the_runs_still_counts() -> None:
    """Waiting for an answer costs nothing of the usage limit, and the resumed call is counted once."""
    dialogue = Dialogue()
    await dialogue.run(BOTH)
    result = await dialogue.agent().run(
        message_history=dialogue.history,
        deferred_tool_results=resume_with(dialogue.requests, dialogue.answers(approve)),
    )
    assert result.usage.tool_calls == 2


async def test_beyond1_calls_one_at_a_time_all_wait_together() -> None:
    """In the sequential mode gathered calls are made one by one, and those that wait are asked for together."""
    dialogue = Dialogue()
    code = 'import asyncio\nawait asyncio.gather(pay(amount=1), slow(n=1), ask(amount=2), free(n=2))'
    with dialogue.agent().parallel_tool_call_execution_mode('sequential'):
        await dialogue.run(code)
        assert [call.tool_name for call in dialogue.waiting] == ['pay', 'ask']
        assert dialogue.bank.ran == ['slow 1', 'free 2']
        await dialogue.answer(approve)
    assert dialogue.content == ['paid 1', 100, 'asked 2', 20]
    assert dialogue.bank.ran == ['slow 1', 'free 2', 'pay 1', 'ask 2']


async def test_beyond1_a_usage_limit_holds_after_a_pause() -> None:
    """An exceeded limit ends the resumed run, and the pause is used up, unless no call could be made at all."""
    dialogue = Dialogue()
    await dialogue.run('await pay(amount=1)\nawait free(n=1)\nawait free(n=2)')
    results = resume_with(dialogue.requests, dialogue.answers(approve))
    with pytest.raises(UsageLimitExceeded):
        await dialogue.resume(results, usage_limits=UsageLimits(tool_calls_limit=1))
    assert dialogue.bank.ran == []
    with pytest.raises(UsageLimitExceeded):
        await dialogue.resume(results, usage_limits=UsageLimits(tool_calls_limit=2))
    assert dialogue.bank.ran == ['pay 1']
    await dialogue.resume(results)
    assert 'it was taken up before' in dialogue.text
    assert dialogue.bank.ran == ['pay 1']
