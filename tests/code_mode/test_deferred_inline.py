"""CM-16: calls that need approval or an outside answer, resolved inline or refused in the code."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic_ai import (
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
)
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls, Hooks
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ToolFailed
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.toolsets import ExternalToolset

from tests.support import ScriptedModel, code_returns, make_agent, run_snippet

Resolve = Callable[[DeferredToolRequests], DeferredToolResults | None]

OUTSIDE = ExternalToolset[None](
    [
        ToolDefinition(
            name='outside',
            parameters_json_schema={'type': 'object', 'properties': {'amount': {'type': 'integer'}}},
            return_schema={'type': 'string'},
        )
    ]
)


@dataclass
class Bank:
    """Tools that cannot simply run, and what ran all the same."""

    ran: list[tuple[str, int, Any]] = field(default_factory=list[tuple[str, int, Any]])

    def tools(self) -> list[Tool[None]]:
        def declared(ctx: RunContext[None], amount: int) -> str:
            self.ran.append(('declared', amount, ctx.tool_call_metadata))
            return f'paid {amount}'

        def raising(ctx: RunContext[None], amount: int) -> str:
            if not ctx.tool_call_approved:
                raise ApprovalRequired(metadata={'why': f'{amount} is a lot'})
            self.ran.append(('raising', amount, ctx.tool_call_metadata))
            return f'paid {amount}'

        def validated(ctx: RunContext[None], amount: int) -> str:
            self.ran.append(('validated', amount, ctx.tool_call_metadata))
            return f'paid {amount}'

        def ask_first(ctx: RunContext[None], amount: int) -> None:
            if not ctx.tool_call_approved:
                raise ApprovalRequired

        def later(amount: int) -> str:
            raise CallDeferred(metadata={'job': amount})

        def free(amount: int) -> str:
            return f'free {amount}'

        return [
            Tool(declared, requires_approval=True),
            Tool(raising),
            Tool(validated, args_validator=ask_first),
            Tool(later),
            Tool(free),
        ]


APPROVALS = ['declared', 'raising', 'validated']
ANSWERS = ['later', 'outside']


def handling(resolve: Resolve) -> list[AbstractCapability[None]]:
    return [HandleDeferredToolCalls[None](handler=lambda ctx, requests: resolve(requests))]


async def run(code: str, bank: Bank | None = None, resolve: Resolve | None = None, **options: Any) -> ToolReturnPart:
    capabilities = [] if resolve is None else handling(resolve)
    tools = (bank or Bank()).tools()
    return await run_snippet(code, tools=tools, toolsets=[OUTSIDE], capabilities=capabilities, **options)


def approve_all(requests: DeferredToolRequests) -> DeferredToolResults:
    return requests.build_results(approve_all=True)


def each(approval: Any = None, call: Any = None, metadata: dict[str, Any] | None = None) -> Resolve:
    """Answers every request alike."""

    def resolve(requests: DeferredToolRequests) -> DeferredToolResults:
        return DeferredToolResults(
            approvals={one.tool_call_id: approval for one in requests.approvals},
            calls={one.tool_call_id: call for one in requests.calls},
            metadata={one.tool_call_id: metadata for one in requests.approvals} if metadata else {},
        )

    return resolve


# -- nobody answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize('tool', [*APPROVALS, *ANSWERS])
async def test_cm16_without_a_handler_the_call_raises_and_says_what_is_missing(tool: str) -> None:
    bank = Bank()
    returned = await run(f'kept = 1\nawait {tool}(amount=5)', bank)
    text = str(returned.content)
    assert returned.outcome == 'retried'
    assert f'PermissionError: {tool} {"needs approval" if tool in APPROVALS else "is answered outside the run"}' in text
    assert 'HandleDeferredToolCalls' in text
    assert 'line 2' in text
    assert f'- {tool}(amount=5) was denied: {tool}' in text
    assert bank.ran == []


@pytest.mark.parametrize('tool', [*APPROVALS, *ANSWERS])
async def test_cm16_without_a_handler_the_code_may_catch_it_and_go_on(tool: str) -> None:
    code = f'try:\n    await {tool}(amount=5)\nexcept PermissionError as e:\n    r = str(e)\n[r, await free(amount=1)]'
    returned = await run(code)
    assert returned.outcome == 'success'
    assert f"'{tool} " in repr(returned.content)
    assert 'free 1' in repr(returned.content)
    (denied, succeeded) = returned.metadata['tool_returns'].values()
    assert [denied.outcome, succeeded.outcome] == ['denied', 'success']


async def test_cm16_a_handler_that_declines_is_like_none() -> None:
    bank = Bank()
    returned = await run('await declared(amount=5)', bank, resolve=lambda requests: None)
    assert 'PermissionError: declared needs approval' in str(returned.content)
    assert bank.ran == []


async def test_cm16_a_handler_that_declines_is_not_called_missing() -> None:
    returned = await run('await declared(amount=5)', resolve=lambda requests: None)
    assert 'can add `HandleDeferredToolCalls`' not in str(returned.content)


async def test_cm16_a_run_that_may_end_with_deferred_requests_does_not_execute_the_tool_either() -> None:
    bank = Bank()
    agent = make_agent(
        ScriptedModel(['await declared(amount=5)']), tools=bank.tools(), output_type=[str, DeferredToolRequests]
    )
    await agent.run('go')
    assert bank.ran == []


# -- a handler answers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize('tool', APPROVALS)
async def test_cm16_an_approved_call_runs(tool: str) -> None:
    bank = Bank()
    returned = await run(f'await {tool}(amount=5)', bank, resolve=approve_all)
    assert returned.content == 'paid 5'
    assert bank.ran == [(tool, 5, None)]


@pytest.mark.parametrize('tool', APPROVALS)
async def test_cm16_an_approval_may_change_the_arguments_and_attach_metadata(tool: str) -> None:
    bank = Bank()
    resolve = each(ToolApproved(override_args={'amount': 2}), metadata={'by': 'Ada'})
    returned = await run(f'await {tool}(amount=5)', bank, resolve=resolve)
    assert returned.content == 'paid 2'
    assert bank.ran == [(tool, 2, {'by': 'Ada'})]


async def test_cm16_changed_arguments_are_validated() -> None:
    bank = Bank()
    resolve = each(ToolApproved(override_args={'amount': 'much'}))
    returned = await run('await declared(amount=5)', bank, resolve=resolve)
    assert 'ValueError: declared() got wrong arguments: amount:' in str(returned.content)
    assert bank.ran == []


@pytest.mark.parametrize('tool', APPROVALS)
@pytest.mark.parametrize(
    ('denial', 'message'), [(ToolDenied('not today'), 'not today'), (False, 'The tool call was denied.')]
)
async def test_cm16_a_denied_call_raises_the_message(tool: str, denial: Any, message: str) -> None:
    bank = Bank()
    code = f'try:\n    await {tool}(amount=5)\nexcept PermissionError as e:\n    r = str(e)\nr'
    returned = await run(code, bank, resolve=each(denial))
    assert returned.content == message
    assert bank.ran == []
    (part,) = returned.metadata['tool_returns'].values()
    assert (part.outcome, part.content) == ('denied', message)


@pytest.mark.parametrize('tool', ANSWERS)
@pytest.mark.parametrize('answer', ['text', None, {'a': [1, 2]}, 0])
async def test_cm16_an_outside_answer_is_the_value_of_the_call(tool: str, answer: object) -> None:
    returned = await run(f'[await {tool}(amount=5)]', resolve=each(call=answer))
    assert returned.content == [answer]


@pytest.mark.parametrize('tool', ANSWERS)
async def test_cm16_an_outside_answer_may_be_a_tool_return(tool: str) -> None:
    script = ScriptedModel([f'(await {tool}(amount=5)).upper()'])
    answer = ToolReturn('done', content='for the model', metadata={'job': 7})
    options: dict[str, Any] = {
        'tools': Bank().tools(),
        'toolsets': [OUTSIDE],
        'capabilities': handling(each(call=answer)),
    }
    result = await make_agent(script, **options).run('go')
    (returned,) = code_returns(result.all_messages())
    (part,) = returned.metadata['tool_returns'].values()
    assert returned.content == 'DONE'
    assert part.metadata == {'job': 7}
    request = script.requests[-1][-1]
    assert isinstance(request, ModelRequest)
    assert [part.content for part in request.parts if isinstance(part, UserPromptPart)] == [['for the model']]


@pytest.mark.parametrize(('answer', 'text'), [(ModelRetry('again'), 'again'), (ToolFailed('no use'), 'no use')])
@pytest.mark.parametrize('tool', ANSWERS)
async def test_cm16_an_outside_answer_may_be_a_failure(tool: str, answer: Exception, text: str) -> None:
    code = f'try:\n    await {tool}(amount=5)\nexcept RuntimeError as e:\n    r = str(e)\nr'
    assert (await run(code, resolve=each(call=answer))).content == text


async def test_cm16_an_answer_that_cannot_cross_raises_in_the_code() -> None:
    returned = await run('await outside(amount=5)', resolve=each(call=object()))
    assert 'TypeError: outside() returned a value that code cannot get' in str(returned.content)


async def test_cm16_what_the_handler_raises_is_raised_in_the_code() -> None:
    def broken(requests: DeferredToolRequests) -> DeferredToolResults:
        raise LookupError('nobody there')

    returned = await run('await declared(amount=5)', resolve=broken)
    assert 'LookupError: nobody there' in str(returned.content)


async def test_cm16_the_handler_sees_the_nested_call_and_its_metadata() -> None:
    seen: list[tuple[str, Any, str, Any]] = []

    def resolve(requests: DeferredToolRequests) -> DeferredToolResults | None:
        for call in [*requests.approvals, *requests.calls]:
            metadata = requests.metadata.get(call.tool_call_id)
            seen.append((call.tool_name, call.args, call.tool_call_id, metadata))
        return each(True, 'x')(requests)

    code = 'await free(amount=0)\nawait declared(amount=1)\nawait raising(amount=2)\nawait later(amount=3)'
    await run(code, resolve=resolve)
    assert seen == [
        ('declared', {'amount': 1}, 'code_1__2', None),
        ('raising', {'amount': 2}, 'code_1__3', {'why': '2 is a lot'}),
        ('later', {'amount': 3}, 'code_1__4', {'job': 3}),
    ]


async def test_cm16_a_handler_that_waits_holds_up_only_its_own_call() -> None:
    asked = asyncio.Event()
    answered = asyncio.Event()

    async def slow(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        asked.set()
        async with asyncio.timeout(5):
            await answered.wait()
        return approve_all(requests)

    async def meanwhile() -> str:
        async with asyncio.timeout(5):
            await asked.wait()
        answered.set()
        return 'meanwhile'

    code = 'import asyncio\nawait asyncio.gather(declared(amount=1), meanwhile())'
    returned = await run_snippet(
        code,
        tools=[*Bank().tools(), Tool(meanwhile)],
        capabilities=[HandleDeferredToolCalls[None](handler=slow)],
    )
    assert returned.content == ['paid 1', 'meanwhile']


async def test_cm16_gathered_calls_are_asked_one_by_one_each_with_its_own_answer() -> None:
    def resolve(requests: DeferredToolRequests) -> DeferredToolResults:
        (call,) = requests.approvals
        allowed = isinstance(call.args, dict) and call.args['amount'] % 2 == 0
        return DeferredToolResults(approvals={call.tool_call_id: allowed})

    code = """
import asyncio
async def attempt(n):
    try:
        return await declared(amount=n)
    except PermissionError:
        return 'denied'
await asyncio.gather(*[attempt(n) for n in range(4)])
"""
    bank = Bank()
    assert (await run(code, bank, resolve=resolve)).content == ['paid 0', 'denied', 'paid 2', 'denied']
    assert sorted(amount for _, amount, _ in bank.ran) == [0, 2]


async def test_cm16_the_first_handler_may_leave_calls_to_the_next() -> None:
    capabilities = [*handling(lambda requests: None), *handling(approve_all)]
    returned = await run_snippet('await declared(amount=5)', tools=Bank().tools(), capabilities=capabilities)
    assert returned.content == 'paid 5'


async def test_cm16_the_hooks_capability_may_answer() -> None:
    hooks = Hooks[None]()

    @hooks.on.deferred_tool_calls
    async def answer(ctx: RunContext[None], /, *, requests: DeferredToolRequests) -> DeferredToolResults:
        return approve_all(requests)

    returned = await run_snippet('await declared(amount=5)', tools=Bank().tools(), capabilities=[hooks])
    assert returned.content == 'paid 5'


async def test_run_code_itself_may_need_approval_and_runs_after_it() -> None:
    hooks = Hooks[None]()

    @hooks.on.before_tool_execute(tools=['run_code'])
    async def gate(ctx: RunContext[None], /, *, args: dict[str, Any], **others: Any) -> dict[str, Any]:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return args

    options: dict[str, Any] = {'tools': Bank().tools(), 'output_type': [str, DeferredToolRequests]}
    agent = make_agent(ScriptedModel(['x = 1\nawait free(amount=x)']), capabilities=[hooks], **options)
    paused = await agent.run('go')
    assert isinstance(paused.output, DeferredToolRequests)
    results = paused.output.build_results(approve_all=True)
    resumed = await agent.run(
        message_history=paused.all_messages(), deferred_tool_results=results, model=ScriptedModel([]).model()
    )
    assert [part.content for part in code_returns(resumed.all_messages())] == ['free 1']


async def test_cm16_a_toolset_that_requires_approval() -> None:
    bank = Bank()
    toolset = FunctionToolset[None](bank.tools()[4:]).approval_required(lambda ctx, tool, args: args['amount'] > 10)
    code = "try:\n    await free(amount=11)\nexcept PermissionError:\n    r = 'denied'\n[await free(amount=1), r]"
    assert (await run_snippet(code, toolsets=[toolset])).content == ['free 1', 'denied']
    approved = await run_snippet('await free(amount=11)', toolsets=[toolset], capabilities=handling(approve_all))
    assert approved.content == 'free 11'


async def test_cm16_a_hook_that_asks_for_approval_before_execution() -> None:
    hooks = Hooks[None]()

    @hooks.on.before_tool_execute(tools=['free'])
    async def gate(ctx: RunContext[None], /, *, args: dict[str, Any], **others: Any) -> dict[str, Any]:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return args

    denied = await run_snippet('await free(amount=1)', tools=Bank().tools(), capabilities=[hooks])
    assert 'free needs approval' in str(denied.content)
    approved = await run_snippet(
        'await free(amount=1)', tools=Bank().tools(), capabilities=[hooks, *handling(approve_all)]
    )
    assert approved.content == 'free 1'
