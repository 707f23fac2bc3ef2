"""CM-19: what the application sees of nested calls: metadata, spans and events."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Any

import pytest
from inline_snapshot import snapshot
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from pydantic import BaseModel, TypeAdapter
from pydantic_ai import RunContext, Tool, ToolReturn, UsageLimitExceeded, UsageLimits
from pydantic_ai.capabilities import Hooks, Instrumentation
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from pydantic_ai_harness.code_mode import NestedToolCallEvent, NestedToolResultEvent
from tests.support import ScriptedModel, code_returns, make_agent, run_snippet, run_snippets


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


def fail(a: int) -> int:
    """Fail."""
    raise ValueError(f'no {a}')


def noted() -> ToolReturn[str]:
    """Answer with something for the application."""
    return ToolReturn('seen', metadata={'private': [1]})


async def stall() -> int:
    """Never answer."""
    await asyncio.Event().wait()
    return 0


TOOLS: list[Tool[None]] = [Tool(add), Tool(fail), Tool(noted), Tool(stall)]
CATCH = 'try:\n    await fail(a=7)\nexcept ValueError:\n    pass\n'
GATHER_WITH_STALL = """\
import asyncio
async def both():
    await add(a=1)
    1 / 0
await asyncio.gather(stall(), both())
"""


async def run(code: str, **options: Any) -> ToolReturnPart:
    return await run_snippet(code, tools=TOOLS, **options)


# -- metadata ----------------------------------------------------------------------------------------------------


async def test_cm19_the_return_carries_each_nested_call_and_its_outcome_by_id() -> None:
    returned = await run(f'{CATCH}x = await add(a=1, b=2)\nawait add(a=x)')
    metadata: dict[str, Any] = returned.metadata
    assert list(metadata) == ['code_mode', 'tool_calls', 'tool_returns']
    assert metadata['code_mode'] is True
    calls: dict[str, ToolCallPart] = metadata['tool_calls']
    returns: dict[str, ToolReturnPart] = metadata['tool_returns']
    assert [(key, call.tool_call_id, call.tool_name, call.args) for key, call in calls.items()] == [
        ('code_1__1', 'code_1__1', 'fail', {'a': 7}),
        ('code_1__2', 'code_1__2', 'add', {'a': 1, 'b': 2}),
        ('code_1__3', 'code_1__3', 'add', {'a': 3}),
    ]
    assert [(key, part.tool_call_id, part.tool_name, part.outcome, part.content) for key, part in returns.items()] == [
        ('code_1__1', 'code_1__1', 'fail', 'failed', 'ValueError: no 7'),
        ('code_1__2', 'code_1__2', 'add', 'success', 3),
        ('code_1__3', 'code_1__3', 'add', 'success', 3),
    ]


async def test_cm19_ids_start_again_in_each_run_code_call() -> None:
    first, second = await run_snippets('await add(a=1)', 'await add(a=2)', tools=TOOLS)
    assert list(first.metadata['tool_calls']) == ['code_1__1']
    assert list(second.metadata['tool_calls']) == ['code_2__1']


async def test_cm19_without_nested_calls_the_metadata_is_there_all_the_same() -> None:
    assert (await run('1')).metadata == {'code_mode': True, 'tool_calls': {}, 'tool_returns': {}}


async def test_cm19_what_a_tool_attached_is_kept() -> None:
    (part,) = (await run('await noted()')).metadata['tool_returns'].values()
    assert (part.content, part.metadata) == ('seen', {'private': [1]})


async def test_cm19_gathered_calls_are_numbered_in_the_order_of_the_code() -> None:
    done: list[int] = []

    async def late(n: int) -> int:
        await asyncio.sleep(0.02 * (3 - n))
        done.append(n)
        return n

    code = 'import asyncio\nawait asyncio.gather(*[late(n=n) for n in range(3)])'
    metadata = (await run_snippet(code, tools=[Tool(late)])).metadata
    assert done == [2, 1, 0]
    assert [part.args for part in metadata['tool_calls'].values()] == [{'n': 0}, {'n': 1}, {'n': 2}]
    assert [part.content for part in metadata['tool_returns'].values()] == [0, 1, 2]


async def test_cm19_a_call_that_was_never_awaited_is_no_call() -> None:
    returned = await run("x = add(a=1)\n'ok'")
    assert returned.metadata['tool_calls'] == {}


async def test_cm19_a_call_that_nothing_waited_for_is_marked_interrupted() -> None:
    code = """
import asyncio
async def hurry():
    await add(a=1)
    raise KeyError
try:
    await asyncio.gather(stall(), hurry())
except KeyError:
    pass
'ok'
"""
    returned = await run(code)
    assert returned.content == 'ok'
    outcomes = {part.tool_name: part.outcome for part in returned.metadata['tool_returns'].values()}
    assert outcomes == {'stall': 'interrupted', 'add': 'success'}


@pytest.mark.filterwarnings('ignore:Tools without a return type')
async def test_cm19_arguments_are_recorded_under_the_tools_own_names() -> None:
    def odd(**values: Any) -> int:
        return len(values)

    tool = Tool.from_schema(
        odd,
        name='odd-tool',
        description='Odd.',
        json_schema={'type': 'object', 'properties': {'from-date': {'type': 'string'}}, 'required': ['from-date']},
    )
    returned = await run_snippet("await odd_tool(from_date='x')", tools=[tool])
    (call,) = returned.metadata['tool_calls'].values()
    assert (call.tool_name, call.args) == ('odd-tool', {'from-date': 'x'})


async def test_cm19_messages_with_the_metadata_can_be_stored_and_read_again() -> None:
    class Deep(BaseModel):
        data: bytes

    def deep() -> Deep:
        return Deep(data=b'ab')

    code = f'{CATCH}await noted()\nawait deep()\nx = {{1, 2}}\nawait add(a=1)'
    result = await make_agent(ScriptedModel([code]), tools=[*TOOLS, Tool(deep)]).run('go')
    stored = result.all_messages_json()
    (again,) = code_returns(ModelMessagesTypeAdapter.validate_json(stored))
    metadata: Any = json.loads(json.dumps(again.metadata))
    assert [len(metadata[key]) for key in ('tool_calls', 'tool_returns')] == [4, 4]


async def test_cm19_bytes_in_arguments_and_results_do_not_break_the_messages() -> None:
    def load() -> bytes:
        return b'ab\xff'

    def more(data: bytes) -> bytes:
        return data + b'\xfe'

    agent = make_agent(ScriptedModel(['await more(data=await load())']), tools=[Tool(load), Tool(more)])
    result = await agent.run('go')
    assert code_returns(result.all_messages())[0].content == b'ab\xff\xfe'
    assert json.loads(result.all_messages_json())


async def test_cm19_the_metadata_is_not_sent_to_the_model() -> None:
    returned = await run('await noted()')
    assert 'private' not in returned.model_response_str()


# -- spans -------------------------------------------------------------------------------------------------------


async def spans_of(code: str, **options: Any) -> list[ReadableSpan]:
    """The spans of a run, in the order in which they ended."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    traced = Instrumentation(settings=InstrumentationSettings(tracer_provider=provider))
    capabilities = [traced, *options.pop('capabilities', ())]
    await make_agent(ScriptedModel([code]), tools=TOOLS, capabilities=capabilities, **options).run('go')
    return list(exporter.get_finished_spans())


def called(span: ReadableSpan) -> str:
    return str((span.attributes or {}).get('gen_ai.tool.call.id', ''))


def parents(spans: Sequence[ReadableSpan]) -> dict[str, str]:
    """The name of each tool span's parent, by the id of the call."""
    names = {span.context.span_id: span.name for span in spans if span.context}
    return {called(span): names[span.parent.span_id] for span in spans if called(span) and span.parent}


async def test_cm19_nested_calls_have_spans_under_that_of_run_code() -> None:
    spans = await spans_of(f'import asyncio\nawait asyncio.gather(add(a=1), add(a=2))\n{CATCH}await noted()')
    assert parents(spans) == {
        'code_1': 'invoke_agent agent',
        'code_1__1': 'execute_tool run_code',
        'code_1__2': 'execute_tool run_code',
        'code_1__3': 'execute_tool run_code',
        'code_1__4': 'execute_tool run_code',
    }


async def test_cm19_spans_carry_arguments_results_and_errors_of_nested_calls() -> None:
    spans = {called(span): span for span in await spans_of(f'{CATCH}await add(a=1, b=2)')}
    failed, added = spans['code_1__1'], spans['code_1__2']
    assert failed.name == 'execute_tool fail'
    assert failed.status.status_code is StatusCode.ERROR
    attributes = added.attributes or {}
    assert attributes['gen_ai.tool.name'] == 'add'
    assert attributes['gen_ai.tool.call.arguments'] == '{"a":1,"b":2}'
    assert attributes['gen_ai.tool.call.result'] == '3'
    assert added.status.status_code is not StatusCode.ERROR


async def test_cm19_a_failed_snippet_closes_every_span() -> None:
    spans = await spans_of(GATHER_WITH_STALL)
    assert parents(spans) == {
        'code_1': 'invoke_agent agent',
        'code_1__1': 'execute_tool run_code',
        'code_1__2': 'execute_tool run_code',
    }


async def test_cm19_spans_that_a_tool_opens_are_under_the_span_of_its_call() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def traced() -> str:
        with provider.get_tracer('tests').start_as_current_span('inner'):
            await asyncio.sleep(0)
        return 'ok'

    settings = InstrumentationSettings(tracer_provider=provider)
    agent = make_agent(
        ScriptedModel(['await traced()']), tools=[Tool(traced)], capabilities=[Instrumentation(settings=settings)]
    )
    await agent.run('go')
    spans = {span.name: span for span in exporter.get_finished_spans()}
    inner, call = spans['inner'], spans['execute_tool traced']
    assert inner.parent is not None
    assert call.context is not None
    assert inner.parent.span_id == call.context.span_id


async def test_cm19_the_definition_of_run_code_says_that_its_argument_is_code() -> None:
    script = ScriptedModel([])
    await make_agent(script).run('go')
    assert script.tool('run_code').metadata == {'code_arg_name': 'code', 'code_arg_language': 'python'}


# -- events ------------------------------------------------------------------------------------------------------


def streaming(*codes: str) -> FunctionModel:
    """A model that streams one `run_code` call after another, then a text."""
    sent: list[str] = []

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[DeltaToolCalls | str]:
        number = len(sent)
        sent.append('')
        if number < len(codes):
            arguments = json.dumps({'code': codes[number]})
            yield {0: DeltaToolCall(name='run_code', json_args=arguments, tool_call_id=f'code_{number + 1}')}
        else:
            yield 'done'

    return FunctionModel(stream_function=stream)


def short(event: object) -> str | None:
    """One line for an event about tools."""
    if isinstance(event, NestedToolCallEvent):
        return f'{event.nested_tool_call_id} {event.nested_tool_name} {event.args} line {event.line}'
    if isinstance(event, NestedToolResultEvent):
        assert event.seconds >= 0
        return f'{event.nested_tool_call_id} {event.nested_tool_name} {event.outcome} {event.error}'
    if isinstance(event, FunctionToolCallEvent):
        return f'> {event.part.tool_name}'
    if isinstance(event, FunctionToolResultEvent):
        return f'< {event.part.tool_name} {event.part.outcome}'
    return None


async def events_of(*codes: str, **options: Any) -> list[str]:
    agent = make_agent(ScriptedModel([]), tools=TOOLS, **options)
    async with agent.run_stream_events('go', model=streaming(*codes)) as events:
        return [line async for event in events if (line := short(event)) is not None]


async def test_cm19_events_tell_of_each_nested_call_in_order() -> None:
    assert await events_of('x = await add(a=1)\n\nawait add(a=x, b=2)', 'await noted()') == snapshot(
        [
            '> run_code',
            "code_1__1 add {'a': 1} line 1",
            'code_1__1 add returned None',
            "code_1__2 add {'a': 1, 'b': 2} line 3",
            'code_1__2 add returned None',
            '< run_code success',
            '> run_code',
            'code_2__1 noted {} line 1',
            'code_2__1 noted returned None',
            '< run_code success',
        ]
    )


async def test_cm19_events_tell_of_failing_calls() -> None:
    assert await events_of(f'{CATCH}await fail(a=8)') == snapshot(
        [
            '> run_code',
            "code_1__1 fail {'a': 7} line 2",
            'code_1__1 fail raised ValueError: no 7',
            "code_1__2 fail {'a': 8} line 5",
            'code_1__2 fail raised ValueError: no 8',
            '< run_code retried',
        ]
    )


async def test_cm19_events_tell_of_calls_that_did_not_finish() -> None:
    assert await events_of(GATHER_WITH_STALL) == snapshot(
        [
            '> run_code',
            'code_1__1 stall {} line 5',
            "code_1__2 add {'a': 1} line 3",
            'code_1__2 add returned None',
            'code_1__1 stall unfinished None',
            '< run_code retried',
        ]
    )


async def test_cm19_events_tell_of_denied_calls() -> None:
    def pay() -> int:
        return 1

    agent = make_agent(ScriptedModel([]), tools=[Tool(pay, requires_approval=True)])
    async with agent.run_stream_events('go', model=streaming('await pay()')) as events:
        lines = [line async for event in events if (line := short(event)) is not None]
    assert lines[2].startswith('code_1__1 pay denied pay needs approval')


async def test_cm19_a_call_in_a_function_of_earlier_code_has_no_line() -> None:
    lines = await events_of('async def f(n):\n    return await add(a=n)\nawait f(1)', '\n\nawait f(2)')
    assert [line for line in lines if 'line' in line] == [
        "code_1__1 add {'a': 1} line 2",
        "code_2__1 add {'a': 2} line None",
    ]


@pytest.mark.parametrize(
    ('code', 'lines'),
    [
        ('await add(a=1)', [1]),
        ("'ü'\nawait add(a=1)", [2]),
        ('# ü\r\nawait add(a=1)', [2]),
        ('(\n  1 +\n  await add(\n    a=1\n  )\n)', [3]),
        ('import asyncio\nawait asyncio.gather(\n  add(a=1),\n  add(a=2),\n)', [3, 4]),
    ],
)
async def test_cm19_the_line_is_that_of_the_call(code: str, lines: list[int]) -> None:
    found = [line for line in await events_of(code) if ' line ' in line]
    assert [int(line.rsplit(' ', 1)[1]) for line in found] == lines


async def test_cm19_events_are_attributed_to_run_code() -> None:
    seen: list[AgentStreamEvent] = []
    agent = make_agent(ScriptedModel([]), tools=TOOLS)

    async def handler(ctx: RunContext[None], events: AsyncIterable[AgentStreamEvent]) -> None:
        seen.extend([event async for event in events])

    await agent.run('go', model=streaming('await add(a=1)'), event_stream_handler=handler)
    nested = [event for event in seen if isinstance(event, (NestedToolCallEvent, NestedToolResultEvent))]
    assert [(event.tool_name, event.tool_call_id) for event in nested] == [('run_code', 'code_1')] * 2


async def test_cm19_an_event_arrives_while_its_call_still_runs() -> None:
    release = asyncio.Event()

    async def hold() -> str:
        async with asyncio.timeout(5):
            await release.wait()
        return 'released'

    agent = make_agent(ScriptedModel([]), tools=[Tool(hold)])
    async with agent.run_stream_events('go', model=streaming('await hold()')) as events:
        async for event in events:
            if isinstance(event, NestedToolCallEvent):
                release.set()
    assert release.is_set()


async def test_cm19_hooks_of_capabilities_get_the_events() -> None:
    seen: list[str] = []
    hooks = Hooks[None]()

    @hooks.on.event
    async def note(ctx: RunContext[None], event: AgentStreamEvent, /) -> None:
        if line := short(event):
            seen.append(line)

    agent = make_agent(ScriptedModel([]), tools=TOOLS, capabilities=[hooks])
    await agent.run('go', model=streaming('await add(a=1)'))
    assert seen == ['> run_code', "code_1__1 add {'a': 1} line 1", 'code_1__1 add returned None', '< run_code success']


async def test_cm19_when_a_limit_ends_the_run_each_started_call_still_has_its_end() -> None:
    lines: list[str] = []
    code = 'import asyncio\nawait asyncio.gather(stall(), add(a=1), add(a=2), add(a=3))'

    async def follow() -> None:
        agent = make_agent(ScriptedModel([]), tools=TOOLS)
        limits = UsageLimits(tool_calls_limit=2)
        async with agent.run_stream_events('go', model=streaming(code), usage_limits=limits) as events:
            async for event in events:
                lines.append(short(event) or '')  # noqa: PERF401  an error ends the iteration

    with pytest.raises(UsageLimitExceeded):
        await follow()
    starts = [line.split(' ')[0] for line in lines if ' line ' in line]
    ends = [line.split(' ')[0] for line in lines if line.startswith('code_1__') and ' line ' not in line]
    assert starts
    assert sorted(ends) == sorted(starts)


def test_cm19_the_events_can_be_stored_and_read_again() -> None:
    adapter = TypeAdapter[AgentStreamEvent](AgentStreamEvent)
    call = NestedToolCallEvent(nested_tool_call_id='c__1', nested_tool_name='add', args={'a': 1}, line=2)
    end = NestedToolResultEvent(
        nested_tool_call_id='c__1', nested_tool_name='add', outcome='raised', seconds=1.5, error='x'
    )
    assert [adapter.validate_json(adapter.dump_json(event)) for event in (call, end)] == [call, end]
