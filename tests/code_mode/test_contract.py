"""CM-1 to CM-4 and CM-6 to CM-9: what stands inside, how a nested call goes, and what comes back."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import json
import re
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    AudioUrl,
    BinaryContent,
    FunctionToolset,
    ImageUrl,
    ModelRetry,
    RunContext,
    RunUsage,
    Tool,
    ToolReturn,
    UsageLimitExceeded,
    UsageLimits,
    UserError,
)
from pydantic_ai.capabilities import (
    AbstractCapability,
    Capability,
    Hooks,
    PrefixTools,
    WebSearch,
    WrapToolExecuteHandler,
)
from pydantic_ai.exceptions import SkipToolExecution, ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import ToolDefinition, ToolSelector
from pydantic_ai.toolsets import AbstractToolset

from pydantic_ai_harness import CodeMode, ToolNameConflictError, WorkerPool
from pydantic_ai_harness.code_mode import MissingReturnSchemaWarning
from pydantic_ai_harness.narrowing import is_list
from tests.support import ScriptedModel, Turn, code_returns, make_agent, run_snippet, run_snippets

PNG = BinaryContent(b'\x89PNG', media_type='image/png')


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def value_of(turn: Turn, **options: Any) -> object:
    """What the model gets for code that runs to its end."""
    returned = await run_snippet(turn, **options)
    assert returned.outcome == 'success', returned.content
    return returned.content


async def retry_of(turn: Turn, **options: Any) -> str:
    """What the model reads of code that fails."""
    returned = await run_snippet(turn, **options)
    assert returned.outcome == 'retried', returned.content
    assert isinstance(returned.content, str)
    return returned.content


def content_of(part: ToolReturnPart) -> Any:
    """What the model gets, as a value of any type."""
    return part.content


async def offered(*turns: Turn, **options: Any) -> ScriptedModel:
    """The stand-in after a run, with what it was offered."""
    script = ScriptedModel(turns)
    await make_agent(script, **options).run('go')
    return script


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread is about to do."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  the pool has no event to wait for
            await asyncio.sleep(0.001)


# -- CM-1: every eligible tool behind one ------------------------------------------------------------------------


async def test_cm1_function_tools_are_functions_of_run_code() -> None:
    script = await offered('[await add(a=1, b=2), await double(number=4)]', tools=[Tool(add), Tool(double)])
    assert script.tool_names() == ['run_code']
    assert 'async def add(*, a: int, b: int = 0) -> int:' in script.description
    assert 'async def double(*, number: int) -> int:' in script.description
    assert code_returns(script.requests[-1])[0].content == [3, 8]


async def test_cm1_run_code_takes_code_and_restart() -> None:
    script = await offered()
    schema = script.tool('run_code').parameters_json_schema
    assert list(schema['properties']) == ['code', 'restart']
    assert schema['required'] == ['code']


@pytest.mark.parametrize(
    ('toolset', 'call'),
    [
        (FunctionToolset[None]([Tool(add)]), 'add(a=1, b=2)'),
        (FunctionToolset[None]([Tool(add)]).prefixed('sums'), 'sums_add(a=1, b=2)'),
        (FunctionToolset[None]([Tool(add)]).renamed({'plus': 'add'}), 'plus(a=1, b=2)'),
        (
            FunctionToolset[None]([Tool(add), Tool(double)]).filtered(lambda ctx, tool: tool.name == 'add'),
            'add(a=1, b=2)',
        ),
        (FunctionToolset[None]([Tool(add)]).renamed({'plus': 'add'}).prefixed('my'), 'my_plus(a=1, b=2)'),
    ],
    ids=['plain', 'prefixed', 'renamed', 'filtered', 'renamed-and-prefixed'],
)
async def test_cm1_toolsets_are_functions_under_the_names_that_they_show(
    toolset: AbstractToolset[None], call: str
) -> None:
    script = await offered(f'await {call}', toolsets=[toolset])
    assert script.tool_names() == ['run_code']
    assert 'double' not in script.description
    assert code_returns(script.requests[-1])[0].content == 3


@pytest.mark.parametrize(
    ('capability', 'call'),
    [
        (Capability[None](tools=[Tool(add)]), 'add(a=1, b=2)'),
        (Capability[None](toolsets=[FunctionToolset[None]([Tool(add)])]), 'add(a=1, b=2)'),
        (PrefixTools[None](wrapped=Capability[None](tools=[Tool(add)]), prefix='sums'), 'sums_add(a=1, b=2)'),
    ],
    ids=['tools', 'toolsets', 'prefixed'],
)
async def test_cm1_tools_of_capabilities_are_functions(capability: AbstractCapability[None], call: str) -> None:
    script = await offered(f'await {call}', capabilities=[capability])
    assert script.tool_names() == ['run_code']
    assert code_returns(script.requests[-1])[0].content == 3


@pytest.mark.parametrize('first', [True, False])
async def test_cm1_tools_are_wrapped_wherever_code_mode_stands_among_the_capabilities(first: bool) -> None:
    script = ScriptedModel(['await add(a=1)'])
    others: list[AbstractCapability[None]] = [Capability[None](tools=[Tool(add)])]
    capabilities = [CodeMode[None](), *others] if first else [*others, CodeMode[None]()]
    await Agent(script.model(), deps_type=NoneType, capabilities=capabilities).run('go')
    assert script.tool_names() == ['run_code']


async def test_cm1_loops_conditions_variables_and_gather() -> None:
    code = """
import asyncio
total = 0
for n in range(4):
    if n % 2:
        total += await add(a=n, b=10)
doubled = await asyncio.gather(*[double(number=n) for n in range(3)])
{'total': total, 'doubled': doubled}
"""
    assert await value_of(code, tools=[Tool(add), Tool(double)]) == {'total': 24, 'doubled': [0, 2, 4]}


async def test_cm1_no_tools_at_all_leaves_plain_python() -> None:
    script = await offered('sum(range(5))')
    assert script.tool_names() == ['run_code']
    assert 'There are no functions to call.' in script.description
    assert code_returns(script.requests[-1])[0].content == 10


async def test_cm1_toolsets_given_to_the_run_are_wrapped_too() -> None:
    script = ScriptedModel(['await add(a=1, b=1)'])
    result = await make_agent(script).run('go', toolsets=[FunctionToolset[None]([Tool(add)])])
    assert script.tool_names() == ['run_code']
    assert code_returns(result.all_messages())[0].content == 2


# -- CM-2: what stays native -------------------------------------------------------------------------------------


class Answer(BaseModel):
    text: str


async def test_cm2_output_tools_stay_native_and_end_the_run() -> None:
    script = ScriptedModel(['await add(a=1)', [ToolCallPart('final_result', {'text': 'fin'})]])
    result = await make_agent(script, tools=[Tool(add)], output_type=Answer).run('go')
    assert result.output == Answer(text='fin')
    assert script.tool_names() == ['run_code']
    assert [tool.name for tool in script.infos[0].output_tools] == ['final_result']
    assert 'final_result' not in script.description


def mark(name: str, **changes: Any) -> AbstractToolset[None]:
    """`add` and `double`, with one definition changed."""

    async def prepare(ctx: RunContext[None], tools: list[ToolDefinition]) -> list[ToolDefinition]:
        return [replace(tool, **changes) if tool.name == name else tool for tool in tools]

    return FunctionToolset[None]([Tool(add), Tool(double)]).prepared(prepare)


async def test_cm2_a_fallback_for_a_native_tool_stays_native() -> None:
    script = await offered(toolsets=[mark('add', unless_native='web_search')])
    assert script.tool_names() == ['add', 'run_code']
    assert 'def double(' in script.description
    assert 'def add(' not in script.description


async def test_cm2_the_local_side_of_a_native_capability_does_not_appear_as_a_function() -> None:
    def search(query: str) -> str:
        return query

    script = await offered(capabilities=[WebSearch[None](local=search)])
    assert script.tool_names() == ['run_code']
    assert 'search' not in script.description


async def test_cm2_a_tool_whose_argument_is_a_program_stays_native_and_its_siblings_go_inside() -> None:
    def run_command(command: str) -> str:
        """Run a shell command."""
        return f'ran {command}'

    shell = [Tool(run_command, metadata={'code_arg_name': 'command'}), Tool(add, metadata={'code_arg_name': None})]
    script = await offered([ToolCallPart('run_command', {'command': 'ls'})], 'await add(a=1)', tools=shell)
    assert script.tool_names() == ['run_command', 'run_code']
    assert 'run_command' not in script.description
    assert 'def add(' in script.description
    answered = [part for part in script.requests[1][-1].parts if isinstance(part, ToolReturnPart)]
    assert answered[0].content == 'ran ls'


async def test_cm2_deferred_tools_stay_hidden_and_tool_search_native() -> None:
    script = await offered(
        [ToolCallPart('search_tools', {'queries': ['double']})],
        'await double(number=2)',
        tools=[Tool(add), Tool(double, defer_loading=True)],
    )
    assert 'double' not in script.description
    assert script.tool_names(request=1) == ['search_tools', 'run_code']
    assert 'search_tools' not in (script.tool('run_code', request=1).description or '')
    assert code_returns(script.requests[-1])[0].content == 4


async def test_cm2_capability_loading_stays_native_and_what_it_reveals_goes_inside() -> None:
    maths = Capability[None](id='maths', description='Maths', tools=[Tool(double)], defer_loading=True)
    script = await offered(
        [ToolCallPart('load_capability', {'id': 'maths'})],
        'await double(number=2)',
        tools=[Tool(add)],
        capabilities=[maths],
    )
    assert script.tool_names() == ['load_capability', 'run_code']
    assert 'load_capability' not in script.description
    assert 'double' not in script.description
    assert 'def double(' in (script.tool('run_code', request=1).description or '')
    assert code_returns(script.requests[-1])[0].content == 4


# -- CM-3: the selector ------------------------------------------------------------------------------------------


def is_not_add(ctx: RunContext[None], tool: ToolDefinition) -> bool:
    return tool.name != 'add'


async def has_b(ctx: RunContext[None], tool: ToolDefinition) -> bool:
    await asyncio.sleep(0)
    return 'b' in tool.parameters_json_schema['properties']


SELECTORS: list[tuple[ToolSelector[None], list[str]]] = [
    ('all', []),
    (['add', 'absent'], ['double']),
    ([], ['add', 'double']),
    (is_not_add, ['add']),
    (has_b, ['double']),
    ({'area': 'sums'}, ['double']),
    ({'area': 'sums', 'cost': {'money': {'eur': 1}}}, ['double']),
    ({'cost': {'money': {'eur': 1}}}, []),
    ({'cost': {'money': {'eur': 2}}}, ['add', 'double']),
    ({'area': 'sums', 'absent': 1}, ['add', 'double']),
    ({'area': {'sums': 1}}, ['add', 'double']),
]


@pytest.mark.parametrize(
    ('selector', 'native'),
    SELECTORS,
    ids=[
        'all',
        'names',
        'no-names',
        'predicate',
        'async-predicate',
        'metadata',
        'all-pairs',
        'deep',
        'deep-other',
        'pair-missing',
        'dict-for-text',
    ],
)
async def test_cm3_the_selector_decides_what_stays_native(selector: ToolSelector[None], native: list[str]) -> None:
    cost = {'money': {'eur': 1, 'usd': 2}, 'seconds': 3}
    tools = [Tool(add, metadata={'area': 'sums', 'cost': cost}), Tool(double, metadata={'area': 'other', 'cost': cost})]
    script = await offered(tools=tools, code_mode=CodeMode[None](selector))
    assert script.tool_names() == [*native, 'run_code']
    for name in ('add', 'double'):
        assert (f'def {name}(' in script.description) == (name not in native)


async def test_cm3_a_predicate_sees_the_context_of_each_step() -> None:
    steps: list[int] = []

    def early(ctx: RunContext[None], tool: ToolDefinition) -> bool:
        steps.append(ctx.run_step)
        return ctx.run_step < 2

    script = await offered('await add(a=1)', tools=[Tool(add)], code_mode=CodeMode[None](early))
    assert script.tool_names(0) == ['run_code']
    assert script.tool_names(1) == ['add', 'run_code']
    assert sorted(set(steps)) == [1, 2]


async def test_cm3_a_native_tool_is_called_as_ever_and_is_no_function() -> None:
    turns: list[Turn] = [[ToolCallPart('add', {'a': 1, 'b': 2})], 'await add(a=1)']
    script = await offered(*turns, tools=[Tool(add), Tool(double)], code_mode=CodeMode[None](['double']))
    (native,) = [part for part in script.requests[1][-1].parts if isinstance(part, ToolReturnPart)]
    assert native.content == 3
    (refused,) = code_returns(script.requests[2])
    assert '`add` is not defined' in str(refused.content)


async def test_cm3_an_inside_tool_cannot_be_called_natively() -> None:
    calls: list[int] = []

    def touch(n: int) -> int:
        calls.append(n)
        return n

    script = await offered([ToolCallPart('touch', {'n': 1})], tools=[Tool(touch)])
    (refused,) = [part for part in script.requests[1][-1].parts if isinstance(part, ToolReturnPart)]
    assert refused.outcome == 'retried'
    assert 'run_code' in str(refused.content)
    assert calls == []


# -- CM-4: the warning, and clashes ------------------------------------------------------------------------------


def untyped(a: int):  # noqa: ANN201  # the missing annotation is what is tested
    return a


def vague(a: int):  # noqa: ANN201
    return a


async def test_cm4_one_warning_a_run_names_every_tool_without_a_return_type() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        tools = [Tool(untyped), Tool(add), Tool(vague)]
        script = await offered('await untyped(a=1)', 'await vague(a=1)', tools=tools)
    (warning,) = caught
    assert warning.category is MissingReturnSchemaWarning
    assert 'untyped, vague' in str(warning.message)
    assert 'add' not in str(warning.message)
    assert 'async def untyped(*, a: int) -> Any' in script.description


async def test_cm4_each_run_warns_again() -> None:
    agent = make_agent(ScriptedModel([]), tools=[Tool(untyped)])
    for _ in range(2):
        with pytest.warns(MissingReturnSchemaWarning, match='untyped'):
            await agent.run('go')


async def test_cm4_the_warning_can_be_filtered_by_its_category() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', MissingReturnSchemaWarning)
        assert await value_of('await untyped(a=4)', tools=[Tool(untyped)]) == 4


async def test_cm4_native_tools_are_not_warned_of() -> None:
    await offered(tools=[Tool(untyped)], code_mode=CodeMode[None]([]))


async def test_cm4_a_name_that_is_no_identifier_is_mapped_back() -> None:
    def get_weather(city: str) -> str:
        return f'sun in {city}'

    returned = await run_snippet("await get_weather(city='Rome')", tools=[Tool(get_weather, name='get-weather')])
    assert returned.content == 'sun in Rome'
    assert [call.tool_name for call in returned.metadata['tool_calls'].values()] == ['get-weather']


@pytest.mark.parametrize(
    ('tools', 'names'),
    [
        ([Tool(add, name='get-x'), Tool(double, name='get_x')], ["'get-x'", "'get_x'"]),
        ([Tool(add, name='a.b'), Tool(double, name='a b')], ["'a.b'", "'a b'"]),
        ([Tool(add, name='run_code')], ["'run_code'", 'CodeMode']),
    ],
    ids=['dash', 'dot', 'run_code'],
)
async def test_cm4_a_clash_names_both(tools: Sequence[Tool[None]], names: list[str]) -> None:
    with pytest.raises(ToolNameConflictError) as raised:
        await run_snippets('1', tools=tools)
    assert all(name in str(raised.value) for name in names)
    assert 'prefixed' in str(raised.value)


async def test_cm4_run_code_of_a_toolset_is_named_with_its_toolset() -> None:
    with pytest.raises(ToolNameConflictError, match="'run_code' of FunctionToolset 'mine' has the name"):
        await run_snippets('1', toolsets=[FunctionToolset[None]([Tool(add, name='run_code')], id='mine')])


async def test_cm4_a_second_code_mode_is_refused() -> None:
    agent = Agent(TestModel(), deps_type=type(None), capabilities=[CodeMode[None](), CodeMode[None](id='other')])
    with pytest.raises(ToolNameConflictError, match=r'two `CodeMode` capabilities.* Keep one'):
        await agent.run('go')


async def test_cm4_a_native_tool_may_share_the_python_name_of_an_inside_one() -> None:
    tools = [Tool(add, name='get-x'), Tool(double, name='get_x')]
    script = await offered('await get_x(a=1)', tools=tools, code_mode=CodeMode[None](['get-x']))
    assert script.tool_names() == ['get_x', 'run_code']
    assert code_returns(script.requests[-1])[0].content == 1


# -- CM-6: the tool path -----------------------------------------------------------------------------------------


class Order(BaseModel):
    sku: str
    count: int = 1


async def test_cm6_arguments_are_validated_into_what_the_tool_declares() -> None:
    seen: list[Order] = []

    def place(order: Order, note: str) -> str:
        seen.append(order)
        return order.sku

    code = "count = '3'\norder = {'sku': 'A', 'count': int(count) / 1}\nawait place(order=order, note='')"
    assert await value_of(code, tools=[Tool(place)]) == 'A'
    assert seen == [Order(sku='A', count=3)]


async def test_cm6_a_validation_error_is_raised_at_the_call_site_and_the_tool_does_not_run() -> None:
    calls: list[int] = []

    def touch(n: int) -> int:
        calls.append(n)
        return n

    code = """
args = {'n': 'many'}
try:
    await touch(**args)
except ValueError as e:
    caught = str(e)
[caught, await touch(n=2)]
"""
    caught, value = json.loads(json.dumps(await value_of(code, tools=[Tool(touch)])))
    assert caught.startswith('touch() got wrong arguments: n: Input should be a valid integer')
    assert value == 2
    assert calls == [2]


async def test_cm6_an_args_validator_may_refuse() -> None:
    def only_small(ctx: RunContext[None], n: int) -> None:
        if n > 9:
            raise ModelRetry('too big')

    def touch(n: int) -> int:
        return n

    tool = Tool(touch, args_validator=only_small)
    code = 'try:\n    await touch(n=10)\nexcept RuntimeError as e:\n    r = str(e)\n[r, await touch(n=1)]'
    assert await value_of(code, tools=[tool]) == ['too big', 1]


@dataclass
class Recorder(AbstractCapability[None]):
    """Writes down each tool hook with the name and id that it sees."""

    label: str
    log: list[tuple[str, ...]]

    def note(self, hook: str, ctx: RunContext[None], call: ToolCallPart) -> None:
        assert (ctx.tool_name, ctx.tool_call_id) == (call.tool_name, call.tool_call_id)
        self.log.append((self.label, hook, call.tool_name, call.tool_call_id))

    async def before_tool_validate(self, ctx: RunContext[None], **others: Any) -> Any:
        self.note('before_validate', ctx, others['call'])
        return others['args']

    async def after_tool_validate(self, ctx: RunContext[None], **others: Any) -> dict[str, Any]:
        self.note('after_validate', ctx, others['call'])
        return others['args']

    async def before_tool_execute(self, ctx: RunContext[None], **others: Any) -> dict[str, Any]:
        self.note('before_execute', ctx, others['call'])
        return others['args']

    async def after_tool_execute(self, ctx: RunContext[None], **others: Any) -> Any:
        self.note('after_execute', ctx, others['call'])
        return others['result']

    async def wrap_tool_execute(self, ctx: RunContext[None], *, handler: WrapToolExecuteHandler, **others: Any) -> Any:
        self.note('wrap_in', ctx, others['call'])
        result = await handler(others['args'])
        self.note('wrap_out', ctx, others['call'])
        return result


async def test_cm6_hooks_run_around_a_nested_call_as_around_any_in_their_order() -> None:
    log: list[tuple[str, ...]] = []
    recorders = [Recorder('outer', log), Recorder('inner', log)]
    native = [ToolCallPart('add', {'a': 1}, tool_call_id='native')]
    options: dict[str, Any] = {'tools': [Tool(add)], 'capabilities': recorders}
    await offered(native, code_mode=CodeMode[None]([]), **options)
    as_native = [(label, hook) for label, hook, *_ in log]
    log.clear()
    await offered('await add(a=1)', **options)
    nested = [(label, hook) for label, hook, name, call_id in log if (name, call_id) == ('add', 'code_1__1')]
    assert nested == as_native
    assert nested[:2] == [('outer', 'before_validate'), ('inner', 'before_validate')]
    assert [entry[2:] for entry in log if entry[1] == 'wrap_in'] == [
        ('run_code', 'code_1'),
        ('run_code', 'code_1'),
        ('add', 'code_1__1'),
        ('add', 'code_1__1'),
    ]


async def test_cm6_the_hooks_capability_changes_arguments_and_results_of_nested_calls() -> None:
    hooks = Hooks[None]()

    @hooks.on.before_tool_execute(tools=['add'])
    async def more(ctx: RunContext[None], /, *, args: dict[str, Any], **others: Any) -> dict[str, Any]:
        return {**args, 'b': 100}

    @hooks.on.after_tool_execute(tools=['add'])
    async def negate(ctx: RunContext[None], /, *, result: Any, **others: Any) -> Any:
        return -result

    assert await value_of('await add(a=1)', tools=[Tool(add)], capabilities=[hooks]) == -101


async def test_cm6_a_hook_may_skip_refuse_or_mend_a_nested_call() -> None:
    hooks = Hooks[None]()

    @hooks.on.before_tool_execute(tools=['add'])
    async def gate(ctx: RunContext[None], /, *, args: dict[str, Any], **others: Any) -> dict[str, Any]:
        if args['a'] == 1:
            raise SkipToolExecution('skipped')
        if args['a'] == 2:
            raise ModelRetry('refused')
        return args

    @hooks.on.tool_execute_error(tools=['fail'])
    async def mend(ctx: RunContext[None], /, *, error: Exception, **others: Any) -> Any:
        return f'mended {error}'

    def fail() -> str:
        raise ValueError('broken')

    code = """
found = [await add(a=1), await fail(), await add(a=3)]
try:
    await add(a=2)
except RuntimeError as e:
    found.append(str(e))
found
"""
    value = await value_of(code, tools=[Tool(add), Tool(fail)], capabilities=[hooks])
    assert value == ['skipped', 'mended broken', 3, 'refused']


async def test_cm6_a_hook_of_a_capability_without_other_tool_hooks_is_asked() -> None:
    asked: list[str] = []

    @dataclass
    class OnlyWraps(AbstractCapability[None]):
        async def wrap_tool_execute(
            self, ctx: RunContext[None], *, handler: WrapToolExecuteHandler, **others: Any
        ) -> Any:
            asked.append(others['call'].tool_name)
            return await handler(others['args'])

    plain = [Capability[None](instructions='Be kind.'), Capability[None](tools=[Tool(double)])]
    await value_of('await add(a=1)', tools=[Tool(add)], capabilities=[*plain, OnlyWraps()])
    assert asked == ['run_code', 'add']


async def test_cm6_hooks_set_on_an_instance_or_passed_to_the_run_are_asked() -> None:
    asked: list[str] = []
    hooks = Hooks[None]()

    @hooks.on.before_tool_execute
    async def note(
        ctx: RunContext[None], /, *, call: ToolCallPart, args: dict[str, Any], **others: Any
    ) -> dict[str, Any]:
        asked.append(call.tool_name)
        return args

    await make_agent(ScriptedModel(['await add(a=1)']), tools=[Tool(add)]).run('go', capabilities=[hooks])
    assert asked == ['run_code', 'add']


class CustomError(ValueError):
    """An application's own error."""


class StrangeError(Exception):
    """An error of no builtin kind."""


RAISED: list[tuple[Exception, str, str]] = [
    (ValueError('bad'), 'ValueError', 'bad'),
    (CustomError('mine'), 'ValueError', 'mine'),
    (IndexError('far'), 'LookupError', 'far'),
    (ZeroDivisionError('zero'), 'ArithmeticError', 'zero'),
    (FileNotFoundError('gone'), 'OSError', 'gone'),
    (PermissionError('no'), 'PermissionError', 'no'),
    (TimeoutError('late'), 'TimeoutError', 'late'),
    (json.JSONDecodeError('odd', 'doc', 0), 'ValueError', 'odd: line 1 column 1 (char 0)'),
    (StrangeError('odd'), 'RuntimeError', 'StrangeError: odd'),
    (ModelRetry('again'), 'RuntimeError', 'again'),
    (ToolFailed('no use'), 'RuntimeError', 'no use'),
    (AssertionError(), 'AssertionError', ''),
    (ExceptionGroup('both', [ValueError('a')]), 'Exception', 'ExceptionGroup: both (1 sub-exception)'),
]


def failing(error: BaseException) -> Tool[None]:
    def fail() -> str:
        raise error

    return Tool(fail)


@pytest.mark.parametrize(('error', 'caught_as', 'text'), RAISED, ids=lambda value: type(value).__name__)
async def test_cm6_what_a_tool_raises_is_caught_as_its_builtin_type(
    error: Exception, caught_as: str, text: str
) -> None:
    code = f"""
try:
    await fail()
    r = 'nothing'
except {caught_as} as e:
    r = str(e)
except Exception as e:
    r = 'other: ' + type(e).__name__
r
"""
    assert await value_of(code, tools=[failing(error)]) == text


async def test_cm6_the_message_of_a_key_error_is_as_in_python() -> None:
    code = 'try:\n    await fail()\nexcept KeyError as e:\n    r = [str(e), e.args[0]]\nr'
    assert await value_of(code, tools=[failing(KeyError('k'))]) == ["'k'", 'k']


async def test_cm6_an_error_that_needs_more_arguments_is_caught_as_its_base() -> None:
    error = UnicodeDecodeError('utf-8', b'x', 0, 1, 'odd')
    code = "try:\n    await fail()\nexcept ValueError as e:\n    r = 'caught'\nr"
    assert await value_of(code, tools=[failing(error)]) == 'caught'


@pytest.mark.parametrize('text', ['memory limit exceeded: 1 > 0', 'feed time limit exceeded'])
async def test_cm6_a_tool_error_that_reads_like_a_limit_is_no_limit(text: str) -> None:
    error = MemoryError(text) if text.startswith('memory') else TimeoutError(text)
    assert 'was reset' not in await retry_of('await fail()', tools=[failing(error)])


async def test_cm6_the_retry_budget_of_a_nested_tool_is_left_alone() -> None:
    retries: list[int] = []

    def flaky(ctx: RunContext[None]) -> str:
        retries.append(ctx.retry)
        raise ModelRetry('again')

    code = 'for _ in range(5):\n    try:\n        await flaky()\n    except RuntimeError:\n        pass\n"ok"'
    tools = [Tool(flaky, max_retries=1)]
    first, second = await run_snippets(code, code, tools=tools)
    assert [first.content, second.content] == ['ok', 'ok']
    assert retries == [0] * 10


async def test_cm6_usage_counts_nested_calls_and_run_code() -> None:
    agent = make_agent(ScriptedModel(['for n in range(4):\n    await add(a=n)\n"ok"']), tools=[Tool(add)])
    result = await agent.run('go')
    assert result.usage.tool_calls == 5


async def test_cm6_a_call_that_raised_is_not_counted_as_a_success() -> None:
    code = 'try:\n    await fail()\nexcept ValueError:\n    pass\n"ok"'
    result = await make_agent(ScriptedModel([code]), tools=[failing(ValueError('x'))]).run('go')
    assert result.usage.tool_calls == 1


@pytest.mark.parametrize(
    'code',
    [
        'for n in range(10):\n    await touch(n=n)',
        'import asyncio\nawait asyncio.gather(*[touch(n=n) for n in range(10)])',
        'for n in range(10):\n    try:\n        await touch(n=n)\n    except BaseException:\n        pass',
    ],
    ids=['one-by-one', 'gathered', 'caught'],
)
async def test_cm6_the_tool_call_limit_ends_the_run(code: str) -> None:
    calls: list[int] = []

    async def touch(n: int) -> int:
        calls.append(n)
        await asyncio.sleep(0)
        return n

    agent = make_agent(ScriptedModel([code]), tools=[Tool(touch)])
    with pytest.raises(UsageLimitExceeded, match='tool_calls_limit of 3'):
        await agent.run('go', usage_limits=UsageLimits(tool_calls_limit=3))
    assert len(calls) <= 3


@pytest.mark.parametrize('limit', [1, 2, 3])
async def test_cm6_a_run_never_has_more_successes_than_the_limit(limit: int) -> None:
    agent = make_agent(ScriptedModel(['await add(a=1)\nawait add(a=2)']), tools=[Tool(add)])
    usage = RunUsage()
    with suppress(UsageLimitExceeded):
        await agent.run('go', usage_limits=UsageLimits(tool_calls_limit=limit), usage=usage)
    assert usage.tool_calls <= limit


async def test_cm6_the_context_reaches_the_tool() -> None:
    seen: list[tuple[Any, ...]] = []

    def look(ctx: RunContext[str], n: int) -> int:
        seen.append((ctx.deps, ctx.tool_name, ctx.tool_call_id, ctx.run_step, ctx.usage.requests, ctx.prompt))
        return n

    script = ScriptedModel(['await look(n=1)\nawait look(n=2)'])
    agent = Agent(script.model(), deps_type=str, tools=[Tool(look)], capabilities=[CodeMode[str]()])
    await agent.run('go', deps='the deps')
    assert seen == [
        ('the deps', 'look', 'code_1__1', 1, 1, 'go'),
        ('the deps', 'look', 'code_1__2', 1, 1, 'go'),
    ]


async def test_cm6_plain_functions_do_not_block_each_other() -> None:
    barrier = threading.Barrier(3)

    def meet() -> int:
        return barrier.wait(timeout=5)

    code = 'import asyncio\nsorted(await asyncio.gather(meet(), meet(), meet()))'
    assert await value_of(code, tools=[Tool(meet)]) == [0, 1, 2]


@pytest.mark.parametrize('depth', [1, 3])
async def test_cm6_tools_may_run_agents_with_code_mode_on_one_worker(depth: int) -> None:
    pool = WorkerPool(max_workers=1)

    def agent_at(level: int) -> Agent[None, Any]:
        async def ask(question: str) -> str:
            inner = agent_at(level - 1)
            result = await inner.run(question)
            return f'{code_returns(result.all_messages())[0].content}'

        tools = [Tool(ask)] if level else [Tool(add)]
        code = "x = 'kept'\n[await ask(question='why?'), x]" if level else 'await add(a=40, b=2)'
        return make_agent(ScriptedModel([code]), tools=tools, code_mode=CodeMode[None](worker_pool=pool))

    try:
        result = await agent_at(depth).run('go')
    finally:
        pool.close()
    assert '42' in str(code_returns(result.all_messages())[0].content)


async def test_cm6_a_tool_may_run_code_in_parallel_agents_on_one_worker() -> None:
    pool = WorkerPool(max_workers=1)

    async def ask(n: int) -> int:
        inner = make_agent(ScriptedModel([f'{n} * {n}']), code_mode=CodeMode[None](worker_pool=pool))
        (returned,) = code_returns((await inner.run('go')).all_messages())
        assert isinstance(returned.content, int)
        return returned.content

    code = 'import asyncio\nawait asyncio.gather(*[ask(n=n) for n in range(8)])'
    try:
        value = await value_of(code, tools=[Tool(ask)], code_mode=CodeMode[None](worker_pool=pool))
    finally:
        pool.close()
    assert value == [n * n for n in range(8)]


async def test_cm6_the_failure_of_an_agent_that_a_tool_runs_is_raised_at_the_call_site() -> None:
    async def ask() -> str:
        await make_agent(ScriptedModel(['1 / 0'] * 9)).run('go')
        return 'never'

    code = "try:\n    await ask()\nexcept RuntimeError as e:\n    r = 'caught'\nr"
    assert await value_of(code, tools=[Tool(ask)]) == 'caught'


async def test_cm6_a_user_error_of_a_tool_ends_the_run() -> None:
    with pytest.raises(UserError, match='misused'):
        await run_snippet('await fail()', tools=[failing(UserError('misused'))])


async def test_cm6_positional_arguments_are_refused_before_anything_runs() -> None:
    text = await retry_of('await add(1, 2)', tools=[Tool(add)])
    assert 'The code was not run' in text
    assert 'line 1' in text


async def test_cm6_positional_arguments_that_the_check_cannot_see_are_refused_at_the_call() -> None:
    code = 'async def call(f):\n    return await f(1, 2)\nawait call(add)'
    text = await retry_of(code, tools=[Tool(add)])
    assert 'add() takes keyword arguments only, as in `async def add(*, a: int, b: int = 0) -> int`' in text
    assert 'No tool was called' in text


# -- CM-7: together, alone, one by one ---------------------------------------------------------------------------


async def test_cm7_gathered_calls_are_all_inside_at_once() -> None:
    barrier = asyncio.Barrier(20)

    async def meet(n: int) -> int:
        async with asyncio.timeout(5):
            await barrier.wait()
        return n

    code = 'import asyncio\nawait asyncio.gather(*[meet(n=n) for n in range(20)])'
    assert await value_of(code, tools=[Tool(meet)]) == list(range(20))


async def test_cm7_results_of_gather_keep_the_order_of_the_calls() -> None:
    events = [asyncio.Event() for _ in range(3)]
    done: list[int] = []

    async def wait(n: int) -> int:
        if n < 2:
            await events[n + 1].wait()
        done.append(n)
        events[n].set()
        return n

    code = 'import asyncio\nawait asyncio.gather(*[wait(n=n) for n in range(3)])'
    assert await value_of(code, tools=[Tool(wait)]) == [0, 1, 2]
    assert done == [2, 1, 0]


async def test_cm7_code_goes_on_with_the_first_answer_while_others_still_run() -> None:
    release = asyncio.Event()

    async def slow() -> str:
        async with asyncio.timeout(5):
            await release.wait()
        return 'slow'

    async def quick() -> str:
        return 'quick'

    async def free() -> str:
        release.set()
        return 'freed'

    code = """
import asyncio
async def two():
    first = await quick()
    return [first, await free()]
await asyncio.gather(slow(), two())
"""
    tools = [Tool(slow), Tool(quick), Tool(free)]
    assert await value_of(code, tools=tools) == ['slow', ['quick', 'freed']]


@dataclass
class Watch:
    """Two tools that tell how many calls are inside at once."""

    inside: int = 0
    most: int = 0
    order: list[str] = field(default_factory=list[str])
    overlapped: list[str] = field(default_factory=list[str])

    async def visit(self, name: str) -> str:
        self.order.append(name)
        self.inside += 1
        self.most = max(self.most, self.inside)
        for _ in range(500 if name.startswith('long') else 5):
            await asyncio.sleep(0)
            if self.inside > 1:
                self.overlapped.append(name)
        self.inside -= 1
        return name

    def tools(self) -> list[Tool[None]]:
        async def work(name: str) -> str:
            return await self.visit(name)

        async def alone(name: str) -> str:
            return await self.visit(name)

        return [Tool(work), Tool(alone, sequential=True)]


async def test_cm7_a_sequential_tool_is_a_plain_function_and_runs_alone() -> None:
    watch = Watch()
    code = """
import asyncio
async def lonely():
    await work(name='before')
    return alone(name='alone')
await asyncio.gather(work(name='long x'), lonely(), work(name='long y'))
"""
    script = await offered(code, tools=watch.tools())
    assert code_returns(script.requests[-1])[0].content == ['long x', 'alone', 'long y']
    assert '\ndef alone(*, name: str) -> str' in script.description
    assert watch.most > 1
    assert 'alone' not in watch.overlapped


async def test_cm7_calls_made_before_a_sequential_one_and_not_awaited_wait_for_it() -> None:
    watch = Watch()
    code = "import asyncio\np = work(name='p')\nfirst = alone(name='a')\n[first, await p]"
    assert await value_of(code, tools=watch.tools()) == ['a', 'p']
    assert watch.order == ['a', 'p']
    assert watch.most == 1


async def test_cm7_the_sequential_mode_runs_calls_one_at_a_time_in_their_order() -> None:
    watch = Watch()
    code = "import asyncio\nawait asyncio.gather(*[work(name=f'{n:02}') for n in range(12)])"
    names = [f'{n:02}' for n in range(12)]
    with ToolManager[None].parallel_execution_mode('sequential'):
        assert await value_of(code, tools=watch.tools()) == names
    assert watch.most == 1
    assert watch.order == names


@pytest.mark.parametrize('mode', ['parallel', 'parallel_ordered_events'])
async def test_cm7_the_other_modes_overlap(mode: Any) -> None:
    watch = Watch()
    code = "import asyncio\nawait asyncio.gather(work(name='a'), work(name='b'))"
    with ToolManager[None].parallel_execution_mode(mode):
        await value_of(code, tools=watch.tools())
    assert watch.most == 2


async def test_cm7_the_sequential_mode_set_on_the_agent_holds_inside() -> None:
    watch = Watch()
    code = "import asyncio\nawait asyncio.gather(work(name='a'), work(name='b'))"
    agent = make_agent(ScriptedModel([code]), tools=watch.tools())
    with agent.parallel_tool_call_execution_mode('sequential'):
        await agent.run('go')
    assert watch.most == 1


# -- CM-8: what comes back ---------------------------------------------------------------------------------------

VALUES: list[tuple[str, object]] = [
    ('1 + 1', 2),
    ("'text'", 'text'),
    ('1.5', 1.5),
    ('True', True),
    ('[1, [2]]', [1, [2]]),
    ("{'a': {'b': None}}", {'a': {'b': None}}),
    ("''", ''),
    ('[]', []),
    ('{}', {}),
    ('0', 0),
    ('False', False),
    ('(1, 2)', [1, 2]),
    ('{3}', [3]),
    ("b'ab'", b'ab'),
    ('import datetime\ndatetime.date(2024, 5, 6)', '2024-05-06'),
    ('from datetime import datetime\ndatetime(2024, 5, 6, 7, 8)', '2024-05-06T07:08:00'),
    ("from decimal import Decimal\nDecimal('1.50')", '1.50'),
    ('{1: 2}', {'1': 2}),
    ('2 ** 80', 2**80),
    ("'<function x>'", '<function x>'),
    ("['[...]', '{...}']", ['[...]', '{...}']),
    ("'<class A>'", '<class A>'),
    ("'<coroutine f>'", '<coroutine f>'),
    ('x = 5\nx', 5),
    ('x = 5; x', 5),
    ("f'{1 + 1}'", '2'),
    ('(\n  1 +\n  2\n)', 3),
    ('1 # a remark', 1),
    ("'ü' + 'ß'", 'üß'),
    ('[x * 2 for x in range(3)]', [0, 2, 4]),
    ('from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(x=1)', {'x': 1}),
    (
        'from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n[P(x=1), {"p": P(x=2)}]',
        [{'x': 1}, {'p': {'x': 2}}],
    ),
    ('a = [1]\n[a, a]', [[1], [1]]),
    ('await add(a=2, b=3)', 5),
    ('return 7', 7),
]
NOTHING = [
    '',
    '   \n',
    '# only a remark',
    'x = 1',
    'None',
    'def f():\n    return 1',
    'import json',
    'x = 1\nNone',
    'pass',
]


@pytest.mark.parametrize(('code', 'value'), VALUES)
async def test_cm8_the_last_value_is_the_result_as_it_is(code: str, value: object) -> None:
    found = await value_of(code, tools=[Tool(add)])
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize('code', NOTHING)
async def test_cm8_no_value_and_nothing_printed_is_an_empty_object(code: str) -> None:
    assert await value_of(code) == {}


@pytest.mark.parametrize('code', NOTHING)
async def test_cm8_printed_only_is_the_output(code: str) -> None:
    assert await value_of(f"print('a', 1)\nprint('b')\n{code}") == {'output': 'a 1\nb\n'}


@pytest.mark.parametrize(('code', 'value'), VALUES)
async def test_cm8_printed_and_a_value_are_both_there(code: str, value: object) -> None:
    assert await value_of(f"print('hi')\n{code}", tools=[Tool(add)]) == {'output': 'hi\n', 'result': value}


async def test_cm8_printing_stays_with_its_snippet() -> None:
    first, second = await run_snippets("print('one')\n1", '2')
    assert first.content == {'output': 'one\n', 'result': 1}
    assert second.content == 2


async def test_cm8_what_is_printed_to_stderr_and_without_a_newline_is_output() -> None:
    assert await value_of("import sys\nprint('e', file=sys.stderr)\nprint('x', end='')") == {'output': 'e\nx'}


def picture() -> BinaryContent:
    """Draw a picture."""
    return PNG


def pictures() -> list[str | BinaryContent]:
    """Draw with a caption."""
    return ['caption', PNG]


def link() -> ImageUrl:
    """Where a picture is."""
    return ImageUrl('https://example.com/a.png')


def sound() -> AudioUrl:
    """Where a sound is."""
    return AudioUrl('https://example.com/a.mp3')


MEDIA_TOOLS: list[Tool[None]] = [Tool(picture), Tool(pictures), Tool(link), Tool(sound)]


@pytest.mark.parametrize(
    ('code', 'value'),
    [
        ('await picture()', PNG),
        ('await link()', ImageUrl('https://example.com/a.png')),
        ('await sound()', AudioUrl('https://example.com/a.mp3')),
        ('await pictures()', ['caption', PNG]),
        ('p = await picture()\nq = p\n[q][0]', PNG),
        (
            "p = await picture()\n['first', p, 3, await link()]",
            ['first', PNG, 3, ImageUrl('https://example.com/a.png')],
        ),
        ("print('look')\nawait picture()", ['look\n', PNG]),
        ("print('look')\nawait pictures()", ['look\n', 'caption', PNG]),
        ('p = await picture()\n[p, p]', [PNG, PNG]),
        ("def f(x):\n    return {'a': [x]}\nf(await picture())['a'][0]", PNG),
    ],
)
async def test_cm8_media_as_the_last_value_reach_the_model_as_media(code: str, value: object) -> None:
    assert await value_of(code, tools=MEDIA_TOOLS) == value


async def test_cm8_media_pass_from_snippet_to_snippet() -> None:
    _, second = await run_snippets('p = await picture()', 'p', tools=MEDIA_TOOLS)
    assert second.content == PNG


REFERENCE = {'media_type': 'image/png', 'vendor_metadata': None, 'kind': 'binary', 'identifier': PNG.identifier}


@pytest.mark.parametrize(
    ('code', 'value'),
    [
        ("{'image': await picture(), 'n': 1}", [{'image': REFERENCE, 'n': 1}, PNG]),
        ("[{'image': await picture()}, 1]", [{'image': REFERENCE}, PNG, 1]),
        ("p = await picture()\n{'a': [[p]], 'b': {'c': p}}", [{'a': [[REFERENCE]], 'b': {'c': REFERENCE}}, PNG]),
        ("print('look')\n{'image': await picture()}", ['look\n', {'image': REFERENCE}, PNG]),
        ("p = await picture()\n[{'n': 1}]", [{'n': 1}]),
    ],
)
async def test_cm8_media_inside_a_dict_come_after_it(code: str, value: object) -> None:
    """The model would have to read their data as text else."""
    assert await value_of(code, tools=MEDIA_TOOLS) == value


async def test_cm8_media_of_one_identifier_are_told_apart() -> None:
    """In the result; what the code sees is the same in whatever order calls end."""

    async def chart(text: str, seconds: float) -> BinaryContent:
        await asyncio.sleep(seconds)
        return BinaryContent(text.encode(), media_type='image/png', identifier='chart')

    code = (
        "import asyncio\na, b, again = await asyncio.gather(\n    chart(text='a', seconds=0.1),"
        " chart(text='b', seconds=0.0), chart(text='a', seconds=0.0))\n"
        "assert a['identifier'] == b['identifier'] == 'chart'\n[a, {'b': b, 'again': again}]"
    )
    value = await value_of(code, tools=[Tool(chart)])
    assert is_list(value)
    media = [item for item in value if isinstance(item, BinaryContent)]
    assert [(each.data, each.identifier) for each in media] == [(b'a', 'chart'), (b'b', 'chart-2')]
    assert value[1] == {
        'b': {**REFERENCE, 'identifier': 'chart-2'},
        'again': {**REFERENCE, 'identifier': 'chart'},
    }


async def test_cm8_an_image_in_many_rows_is_sent_once() -> None:
    value = await value_of("p = await picture()\n[{'row': i, 'logo': p} for i in range(3)]", tools=MEDIA_TOOLS)
    assert value == [{'row': 0, 'logo': REFERENCE}, PNG, {'row': 1, 'logo': REFERENCE}, {'row': 2, 'logo': REFERENCE}]


async def test_cm8_the_limit_holds_for_what_stands_beside_media() -> None:
    code_mode = CodeMode[None](max_result_bytes=1000)
    value = await value_of('[await picture(), *range(1000)]', tools=MEDIA_TOOLS, code_mode=code_mode)
    assert is_list(value)
    assert 'over the limit of 1,000' in str(value[0])
    assert value[1:] == [PNG]


async def test_cm8_what_code_adds_to_media_is_kept() -> None:
    value = await value_of("{**await picture(), 'caption': 'Sales'}", tools=MEDIA_TOOLS)
    assert value == [{**REFERENCE, 'caption': 'Sales'}, PNG]


async def test_cm8_data_that_code_has_changed_are_no_media() -> None:
    value = await value_of("p = await picture()\np['data'] = 'zz'\np", tools=MEDIA_TOOLS)
    assert value == {**REFERENCE, 'data': 'zz'}


async def test_cm8_data_that_only_looks_like_media_stay_data() -> None:
    fake = "{'kind': 'binary', 'identifier': 'abc', 'data': 'x', 'media_type': 'image/png'}"
    assert await value_of(f'await picture()\n{fake}', tools=MEDIA_TOOLS) == {
        'kind': 'binary',
        'identifier': 'abc',
        'data': 'x',
        'media_type': 'image/png',
    }


async def test_cm8_media_may_be_passed_to_another_tool_as_data() -> None:
    def size(picture: dict[str, Any]) -> int:
        return len(picture['data'])

    assert await value_of('await size(picture=await picture())', tools=[*MEDIA_TOOLS, Tool(size)]) == 8


async def test_cm8_what_a_tool_addresses_to_the_model_outlives_code_that_fails() -> None:
    def look() -> ToolReturn[str]:
        return ToolReturn('seen', content=['for the model', PNG])

    script = await offered('await look()\n1 / 0', "'fixed'", "'more'", tools=[Tool(look)])
    prompts = [
        [part.content for part in turn[-1].parts if isinstance(part, UserPromptPart)] for turn in script.requests
    ]
    assert prompts[1:] == [[], [['for the model', PNG]], []]


@pytest.mark.parametrize(
    'code', ['await parse()', 'try:\n    await parse()\nexcept ValueError as e:\n    r = str(e)\nr', 'await sizes()']
)
async def test_cm6_halves_of_surrogate_pairs_do_not_end_the_run(code: str) -> None:
    """Python puts them into the names of files that are no text."""

    def parse() -> str:
        raise ValueError('cannot parse caf\udce9.txt')

    def sizes() -> dict[str, int]:
        return {'caf\udce9.txt': 100}

    result = await make_agent(ScriptedModel([code]), tools=[Tool(parse), Tool(sizes)]).run('go')
    assert 'caf?.txt' in result.all_messages_json().decode()


async def test_cm6_the_list_of_calls_names_the_error_that_code_can_catch() -> None:
    def connect() -> str:
        raise ConnectionResetError('down')

    text = await retry_of('await connect()', tools=[Tool(connect)])
    assert 'The code failed with OSError: down' in text
    assert 'connect() raised OSError: down' in text


async def test_cm8_what_a_tool_addresses_to_the_model_is_passed_on() -> None:
    def look() -> ToolReturn[str]:
        return ToolReturn('seen', content=['for the model', PNG], metadata={'private': 1})

    script = await offered('x = await look()\nx.upper()', tools=[Tool(look)])
    request = script.requests[-1][-1]
    assert isinstance(request, ModelRequest)
    returned, prompt = request.parts
    assert isinstance(returned, ToolReturnPart)
    assert isinstance(prompt, UserPromptPart)
    assert returned.content == 'SEEN'
    assert prompt.content == ['for the model', PNG]


UNRETURNABLE: list[tuple[str, str]] = [
    ('class A:\n    pass\nA', 'a type'),
    ('int', "the class 'int'"),
    ('def f():\n    return 1\nf', 'a function'),
    ('lambda: 1', 'a function'),
    ('len', "the function 'len'"),
    ('x = []\nx.append(x)\nx', 'a cycle at `[0]`'),
    ("x = {}\nx['me'] = x\nx", "a cycle at `['me']`"),
    ("x = {'a': []}\nx['a'].append(x)\n[1, x]", "a cycle at `[1]['a'][0]`"),
    ('x = add(a=1)\n(x,)', 'a call that was not awaited at `[0]`'),
    ('x = add(a=1)\n[1, {"x": x}]', "a call that was not awaited at `[1]['x']`"),
    ('class A:\n    pass\nA()', "an instance of the class 'A'"),
    ("ValueError('x')", 'an exception (ValueError: x)'),
    ('[1, lambda: 2]', 'a function at `[1]`'),
    ("{'a': [int]}", "the class 'int' at `['a'][0]`"),
    ("{1: 'a', '1': 'b'}", "two keys that both become '1'"),
    ('...', 'an object of type ellipsis'),
]


@pytest.mark.parametrize(('code', 'what'), UNRETURNABLE)
async def test_cm8_a_value_that_cannot_be_sent_gives_a_retry_that_says_what_it_was(code: str, what: str) -> None:
    refused, after = await run_snippets(f'kept = 1\n{code}', 'kept', tools=[Tool(add)])
    assert refused.outcome == 'retried'
    assert what in str(refused.content)
    assert 'Return data instead' in str(refused.content)
    assert 'Variables are kept' in str(refused.content)
    assert after.content == 1


@pytest.mark.parametrize('code', ['import math\nmath', 'iter([1])', "import re\nre.match('a', 'a')"])
async def test_cm8_other_objects_that_are_no_data_give_a_retry(code: str) -> None:
    assert 'cannot be sent back' in await retry_of(code)


async def test_cm8_a_tool_as_the_last_value_gives_a_retry() -> None:
    assert 'function' in await retry_of('add', tools=[Tool(add)])


@pytest.mark.parametrize('name', ['type', 'list', 'any', 'repr', 'enumerate'])
async def test_cm8_a_variable_named_like_a_builtin_does_not_hide_what_cannot_be_sent(name: str) -> None:
    assert 'cannot be sent back' in await retry_of(f"{name} = 'mine'\n{{'f': [lambda: 1]}}")


@pytest.mark.xfail(
    reason='looking through a large value may use up the limits; the model is told that the session is gone'
)
async def test_cm8_a_large_value_with_suspicious_text_is_still_in_its_variable() -> None:
    code_mode = CodeMode[None](resource_limits={'max_memory': 12 * 2**20}, max_result_bytes=1_000)
    large, after = await run_snippets("x = ['[...]'] + ['a'] * 100_000\nx", 'len(x)', code_mode=code_mode)
    assert '`x`' in content_of(large)['too_large']
    assert after.content == 100_001


@pytest.mark.parametrize(
    'depth',
    [149, 300, 5_000],
)
async def test_cm8_a_deeply_nested_value_never_ends_the_run(depth: int) -> None:
    returned = await run_snippet(f'x = []\nfor _ in range({depth}):\n    x = [x]\nx')
    assert returned.outcome == ('success' if depth < 150 else 'retried')


async def test_cm8_an_unreturnable_value_reports_what_was_called_and_printed() -> None:
    text = await retry_of("print('hi')\nawait add(a=1)\nlen", tools=[Tool(add)])
    assert 'Printed until then:\nhi' in text
    assert '- add(a=1) returned 1' in text


# -- CM-8: results over the limit --------------------------------------------------------------------------------


async def test_cm8_a_large_result_is_replaced_by_its_shape_and_its_variable_still_holds_it() -> None:
    code = "rows = [{'id': n, 'name': 'n' * 50} for n in range(5000)]\nrows"
    large, after = await run_snippets(code, '[len(rows), rows[-1]["id"]]')
    assert large.outcome == 'success'
    stand_in = content_of(large)
    assert stand_in['shape'] == ['list of 5000', {'id': 'int', 'name': 'str of 50'}]
    assert stand_in['beginning'].startswith('[{"id":0,"name":"nnn')
    assert len(stand_in['beginning']) == 2000
    assert 'over the limit of 262,144' in stand_in['too_large']
    assert '`rows`' in stand_in['too_large']
    assert after.content == [5000, 4999]


@pytest.mark.parametrize(
    'code',
    [
        "'x' * 1000",
        "(\n'x' *\n 1000\n)",
        "s = 'x'; s * 1000",
        "if True:\n    pass\n'x' * 1000  # ü",
        pytest.param(
            "return 'x' * 1000", marks=pytest.mark.xfail(reason='BUG: what `return` at the top gives has no name')
        ),
    ],
)
async def test_cm8_a_large_expression_is_held_by_a_name_that_the_model_is_told(code: str) -> None:
    settings = CodeMode[None](max_result_bytes=100)
    large = await run_snippet(code, code_mode=settings)
    named = re.search(r'in the variable `(\w+)`', content_of(large)['too_large'])
    assert named is not None
    _, after = await run_snippets(code, f'len({named[1]})', code_mode=settings)
    assert after.content == 1000


async def test_cm8_a_large_result_keeps_what_was_printed() -> None:
    returned = await run_snippet("print('hi')\n'x' * 1000", code_mode=CodeMode[None](max_result_bytes=100))
    value = content_of(returned)
    assert value['output'] == 'hi\n'
    assert value['result']['shape'] == 'str of 1000'


@pytest.mark.parametrize(
    ('limit', 'is_sent'),
    [(None, True), (12, True), (11, False)],
)
async def test_cm8_the_limit_counts_bytes_of_json(limit: int | None, is_sent: bool) -> None:
    value = await value_of("'ü' * 5", code_mode=CodeMode[None](max_result_bytes=limit))
    assert (value == 'üüüüü') is is_sent


async def test_cm8_none_lifts_the_limit() -> None:
    value = await value_of("'x' * 1_000_000", code_mode=CodeMode[None](max_result_bytes=None))
    assert isinstance(value, str)
    assert len(value) == 1_000_000


async def test_cm8_a_picture_is_not_held_back_by_the_limit_on_json() -> None:
    big = BinaryContent(bytes(300_000), media_type='image/png')

    def draw() -> BinaryContent:
        return big

    assert await value_of('await draw()', tools=[Tool(draw)]) == big


async def test_cm8_a_variable_of_the_code_is_not_overwritten() -> None:
    _, _, kept = await run_snippets('result = [1, 2, 3]', 'len(result)', 'result')
    assert kept.content == [1, 2, 3]


async def test_cm8_a_tool_may_be_called_last() -> None:
    tool = Tool(add, name='last')
    returns = await run_snippets('await last(a=1)', '1 + 1', 'await last(a=2)', tools=[tool])
    assert [part.content for part in returns] == [1, 2, 2]


# -- CM-9: the printing cap --------------------------------------------------------------------------------------


@pytest.fixture
def small_cap(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr('pydantic_ai_harness.sandbox.snippet.MAX_PRINTED_BYTES', 1000)
    return 1000


async def test_cm9_printing_past_the_cap_ends_in_a_retry(small_cap: int) -> None:
    returned, after = await run_snippets("print('y' * 900)\nprint('z' * 900)", '1')
    assert returned.outcome == 'retried'
    assert 'may print' in str(returned.content)
    assert 'zzz' not in str(returned.content)
    assert after.content == 1


async def test_cm9_after_the_cap_the_text_says_what_became_of_the_variables(small_cap: int) -> None:
    returned, after = await run_snippets("kept = 1\nprint('x' * 2000)", 'kept')
    is_kept = after.content == 1
    assert ('are kept' in str(returned.content)) is is_kept
    assert ('was reset' in str(returned.content)) is not is_kept


async def test_cm9_the_cap_counts_bytes_and_each_snippet_anew(small_cap: int) -> None:
    returns = await run_snippets("print('ü' * 499)", "print('ü' * 499)", "print('ü' * 500)")
    assert [part.outcome for part in returns] == ['success', 'success', 'retried']


async def test_cm9_the_default_cap_is_ten_mebibytes() -> None:
    from pydantic_ai_harness.sandbox.limits import MAX_PRINTED_BYTES

    assert MAX_PRINTED_BYTES == 10 * 2**20
    returns = await run_snippets("print('x' * (10 * 2**20 - 1))\n1", "print('x' * 10 * 2**20)\n1")
    assert [part.outcome for part in returns] == ['success', 'retried']


async def test_cm9_no_tool_is_called_after_the_cap(small_cap: int) -> None:
    calls: list[int] = []

    def touch(n: int) -> int:
        calls.append(n)
        return n

    await retry_of("print('x' * 2000)\nawait touch(n=1)", tools=[Tool(touch)])
    assert calls == []


@pytest.mark.parametrize('text', ["'x' * 100_000", "'x'"])
async def test_cm9_a_loop_that_prints_ends_at_the_cap_whatever_its_time_limit(text: str) -> None:
    started = time.monotonic()
    code_mode = CodeMode[None](resource_limits='unlimited')
    returned = await run_snippet(f'while True:\n    print({text})', code_mode=code_mode)
    assert 'may print' in str(returned.content)
    assert time.monotonic() - started < 10


# -- odd ways to run ---------------------------------------------------------------------------------------------


async def test_runs_of_one_agent_at_once_do_not_see_each_other() -> None:
    def model_for(n: int) -> ScriptedModel:
        return ScriptedModel([f'x = {n}\nawait add(a=x)', 'x * 10'])

    agent = make_agent(ScriptedModel([]), tools=[Tool(add)])

    async def run(n: int) -> list[object]:
        result = await agent.run('go', model=model_for(n).model())
        return [part.content for part in code_returns(result.all_messages())]

    found = await asyncio.gather(*[run(n) for n in range(20)])
    assert found == [[n, n * 10] for n in range(20)]


async def test_two_run_code_calls_in_one_response_run_in_order_in_one_session() -> None:
    calls = [
        ToolCallPart('run_code', {'code': 'x = 1\nawait add(a=x)'}, tool_call_id='first'),
        ToolCallPart('run_code', {'code': 'x += 1\nawait add(a=x)'}, tool_call_id='second'),
    ]
    first, second = await run_snippets(calls, tools=[Tool(add)])
    assert [first.content, second.content] == [1, 2]
    assert list(first.metadata['tool_calls']) == ['first__1']
    assert list(second.metadata['tool_calls']) == ['second__1']


async def test_run_code_beside_native_calls_in_one_response() -> None:
    watch = Watch()
    calls = [
        ToolCallPart('alone', {'name': 'native'}, tool_call_id='n1'),
        ToolCallPart('run_code', {'code': "await work(name='nested')"}, tool_call_id='c'),
        ToolCallPart('alone', {'name': 'last'}, tool_call_id='n2'),
    ]
    await run_snippets(calls, tools=watch.tools(), code_mode=CodeMode[None](['work']))
    assert watch.order == ['native', 'nested', 'last']
    assert watch.most == 1


async def test_run_code_does_not_overlap_native_calls_of_the_same_response() -> None:
    watch = Watch()
    calls = [
        ToolCallPart('work', {'name': 'long first'}),
        ToolCallPart('run_code', {'code': "await nested(name='nested')"}),
        ToolCallPart('work', {'name': 'long last'}),
    ]
    work, _ = watch.tools()

    async def nested(name: str) -> str:
        return await watch.visit(name)

    await run_snippets(calls, tools=[work, Tool(nested)], code_mode=CodeMode[None](['nested']))
    assert watch.order == ['long first', 'nested', 'long last']
    assert watch.most == 1


async def test_the_variables_of_a_run_are_gone_in_the_next_also_with_its_history() -> None:
    script = ScriptedModel(['x = 1', 'x'])
    agent = make_agent(script)
    first = await agent.run('go', model=ScriptedModel(['x = 1']).model())
    second = await agent.run('again', message_history=first.all_messages(), model=ScriptedModel(['x']).model())
    (refused,) = code_returns(second.new_messages())
    assert '`x` is not defined' in str(refused.content)


async def test_iter_step_by_step() -> None:
    script = ScriptedModel(['await add(a=1)', 'await add(a=2)'])
    async with make_agent(script, tools=[Tool(add)]).iter('go') as run:
        nodes = [type(node).__name__ async for node in run]
    assert nodes.count('CallToolsNode') == 3
    assert run.result is not None
    assert [part.content for part in code_returns(run.result.all_messages())] == [1, 2]


async def test_iter_left_early_gives_the_worker_back() -> None:
    pool = WorkerPool(max_workers=1)
    agent = make_agent(
        ScriptedModel(['await add(a=1)'] * 3), tools=[Tool(add)], code_mode=CodeMode[None](worker_pool=pool)
    )
    async with agent.iter('go') as run:
        async for _ in run:
            if pool.free_workers == 0:
                break
    await until(lambda: pool.free_workers == 1)
    pool.close()


async def test_run_stream_with_code_before_the_text() -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[DeltaToolCalls | str]:
        if len(messages) == 1:
            yield {0: DeltaToolCall(name='run_code', json_args='{"code": "await add(a=1)"}', tool_call_id='c')}
        else:
            yield 'do'
            yield 'ne'

    agent = make_agent(ScriptedModel([]), tools=[Tool(add)])
    async with agent.run_stream('go', model=FunctionModel(stream_function=stream)) as result:
        assert await result.get_output() == 'done'
    assert code_returns(result.all_messages())[0].content == 1


async def test_override_of_tools_and_toolsets() -> None:
    script = ScriptedModel(['await double(number=3)'])
    agent = make_agent(script, tools=[Tool(add)])
    with agent.override(tools=[Tool(double)]):
        result = await agent.run('go')
    assert 'def add(' not in script.description
    assert code_returns(result.all_messages())[0].content == 6


def test_runs_in_several_threads_and_event_loops_at_once() -> None:
    agent = make_agent(ScriptedModel([]), tools=[Tool(add)])

    def run(n: int) -> object:
        result = asyncio.run(agent.run('go', model=ScriptedModel([f'await add(a={n})']).model()))
        return code_returns(result.all_messages())[0].content

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(run, range(12))) == list(range(12))


async def test_code_of_one_megabyte() -> None:
    code = '# ' + 'x' * 1_000_000 + '\ny = 1\ny + 1'
    assert await value_of(code) == 2
    assert await value_of(f"s = '{'x' * 1_000_000}'\nlen(s)") == 1_000_000


@pytest.mark.parametrize('code', ['größe = 3\ngröße * 2', "ключ = {'ä': 1}\nключ['ä']", "'🎉' * 2", 'a = "\u2028"\na'])
async def test_unicode_names_and_text(code: str) -> None:
    assert (await run_snippet(code)).outcome == 'success'


async def test_windows_line_ends() -> None:
    assert await value_of('x = 1\r\nif x:\r\n    x += 1\r\nx') == 2


async def test_tools_that_appear_and_go_between_steps() -> None:
    def changing(ctx: RunContext[None]) -> AbstractToolset[None]:
        return FunctionToolset[None]([Tool(add)] if ctx.run_step == 1 else [Tool(double)])

    script = ScriptedModel(['await add(a=1)', 'await double(number=2)', 'await add(a=1)'])
    agent = make_agent(script)
    agent.toolset(per_run_step=True)(changing)
    result = await agent.run('go')
    first, second, third = code_returns(result.all_messages())
    assert [first.content, second.content] == [1, 4]
    assert '`add` is not defined' in str(third.content)


async def test_a_function_of_earlier_code_that_calls_a_tool_which_went_says_that_it_is_not_defined() -> None:
    def changing(ctx: RunContext[None]) -> AbstractToolset[None]:
        return FunctionToolset[None]([Tool(add)] if ctx.run_step == 1 else [Tool(double)])

    script = ScriptedModel(['async def f():\n    return await add(a=1)\nawait f()', 'await f()'])
    agent = make_agent(script)
    agent.toolset(per_run_step=True)(changing)
    first, second = code_returns((await agent.run('go')).all_messages())
    assert first.content == 1
    assert second.outcome == 'retried'
    assert 'add' in str(second.content)


async def test_a_tool_that_changes_its_schema_between_steps_is_checked_against_the_new_one() -> None:
    def one(a: int) -> int:
        return a

    def two(a: int, b: int) -> int:
        return a + b

    def changing(ctx: RunContext[None]) -> AbstractToolset[None]:
        return FunctionToolset[None]([Tool(one, name='f') if ctx.run_step == 1 else Tool(two, name='f')])

    script = ScriptedModel(['await f(a=1)', 'await f(a=1)', 'await f(a=1, b=2)'])
    agent = make_agent(script)
    agent.toolset(per_run_step=True)(changing)
    first, second, third = code_returns((await agent.run('go')).all_messages())
    assert [first.content, third.content] == [1, 3]
    assert 'The code was not run' in str(second.content)
    assert '`b`' in str(second.content)


async def test_a_variable_may_hide_a_tool() -> None:
    first, second = await run_snippets('add = 5\nadd + 1', 'add', tools=[Tool(add)])
    assert [first.content, second.content] == [6, 5]


async def test_a_tool_may_be_kept_in_a_variable_and_passed_around() -> None:
    code = "tools = {'plus': add}\nasync def call(f, **args):\n    return await f(**args)\nawait call(tools['plus'], a=1, b=2)"
    assert await value_of(code, tools=[Tool(add)]) == 3


async def test_code_mode_stated_twice_is_one() -> None:
    script = ScriptedModel(['1', 'while True:\n    pass'])
    twice = [CodeMode[None](resource_limits={'max_duration_secs': 0.1}), CodeMode[None](max_result_bytes=5)]
    result = await Agent(script.model(), deps_type=NoneType, capabilities=twice).run('go')
    assert script.tool_names() == ['run_code']
    first, second = code_returns(result.all_messages())
    assert first.content == 1
    assert '0.1 s of computing' in str(second.content)


@pytest.mark.parametrize('args', [{}, {'code': 1}, {'code': 'x', 'restart': 'maybe'}, {'code': 'x', 'other': 1}])
async def test_wrong_arguments_of_run_code_are_a_retry(args: dict[str, Any]) -> None:
    (returned,) = await run_snippets(args)
    assert returned.outcome == 'retried'
