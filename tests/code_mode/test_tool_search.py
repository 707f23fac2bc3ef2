"""CM-17: tools that a search finds, or that loading their capability reveals, become functions of `run_code`."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Any

import pytest
from mcp.server.fastmcp import FastMCP
from pydantic_ai import Agent, AgentRunResult, FunctionToolset, RunContext, Tool, ToolReturn, UserError
from pydantic_ai.capabilities import MCP, AbstractCapability, Capability, CombinedCapability, ToolSearch
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    NativeToolSearchCallPart,
    NativeToolSearchReturnPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.tools import ToolDefinition, ToolSelector
from pydantic_ai.toolsets import AbstractToolset

from pydantic_ai_harness import CodeMode
from tests.support import ScriptedModel, Turn, code_returns, make_agent

WIRES = {
    'local': ModelProfile(supported_native_tools=frozenset()),
    'withholds': ModelProfile(),
    'defers': ModelProfile(tool_deferral_mode='standalone', tool_addition_mode='by_reference'),
    'defines': ModelProfile(tool_deferral_mode='with_tool_search', tool_addition_mode='with_definitions'),
}
"""Providers: without tool search, so that `search_tools` does it; with one that is not sent what it searches; with one
that is, as Anthropic's; and with one that takes definitions in the conversation too, as OpenAI's."""
HIDDEN = {'local': 'withheld', 'withholds': 'withheld', 'defers': 'deferred', 'defines': 'deferred'}
"""How an undiscovered tool that can be searched for reaches them."""
on_every_wire = pytest.mark.parametrize('wire', WIRES)
on_native_wires = pytest.mark.parametrize('wire', ['withholds', 'defers', 'defines'])


@dataclass
class SearchModel(ScriptedModel):
    """A stand-in whose provider may have a tool search of its own."""

    wire: str = 'local'
    finds: Mapping[int, Sequence[str]] = field(default_factory=dict[int, Sequence[str]])
    """What the provider's own search finds, by the number of the reply that begins with it."""

    def model(self) -> FunctionModel:
        return FunctionModel(self._reply, profile=WIRES[self.wire])

    async def _reply(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        found = self.finds.get(len(self.infos))
        response = await super()._reply(messages, info)
        if found is None:
            return response
        call = NativeToolSearchCallPart(args={'queries': [*found]}, provider_name='function')
        result = NativeToolSearchReturnPart(
            content={'discovered_tools': [{'name': name} for name in found]},
            tool_call_id=call.tool_call_id,
            provider_name='function',
        )
        return ModelResponse(parts=[call, result, *response.parts])

    def functions(self, request: int) -> list[str]:
        """What code can call, as the model reads it."""
        description = self.tool('run_code', request).description
        return re.findall(r'^(?:async )?def (\w+)\(', description, re.MULTILINE)

    def sent(self, request: int) -> dict[str, str]:
        """How the tools of a request reach the model: `visible`, `deferred`, or `withheld` from it."""
        return {**(self.infos[request].model_request_parameters.tool_visibility or {})}

    def definitions(self, request: int) -> dict[str, ToolDefinition]:
        return {tool.name: tool for tool in self.infos[request].model_request_parameters.function_tools}

    def native_search(self, request: int) -> list[str | None]:
        """The strategies of the provider's own search that a request asks for: none or one."""
        native = self.infos[request].model_request_parameters.native_tools
        return [getattr(tool, 'strategy', None) for tool in native if tool.kind == 'tool_search']


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def triple(number: int) -> int:
    """Triple a number."""
    return 3 * number


TOOLS: list[Tool[None]] = [
    Tool(add, metadata={'area': 'sums'}),
    Tool(double, metadata={'area': 'sums'}, defer_loading=True),
    Tool(triple, defer_loading=True),
]
MATHS = Capability[None](id='maths', tools=[Tool(triple)], defer_loading=True)
BOTH = TOOLS[:2]
"""With `MATHS`: one tool to search for, one to load."""


def call(name: str, **arguments: Any) -> ToolCallPart:
    return ToolCallPart(name, arguments)


def search(*queries: str) -> ToolCallPart:
    return call('search_tools', queries=[*queries])


def unsearched(ctx: RunContext[None], tool: ToolDefinition) -> bool:
    """The selector of the documents that keeps what is searched native."""
    return tool.with_native is None


def finding(wire: str, names: Sequence[str], *turns: Turn) -> SearchModel:
    """A stand-in that finds `names` with its first reply, by the provider's search if it has one, and runs code."""
    if wire == 'local':
        return SearchModel([[search(*names), call('run_code', code='1')], *turns])
    return SearchModel(['1', *turns], wire=wire, finds={0: names})


async def run(script: SearchModel, tools: Sequence[Tool[None]] = TOOLS, **options: Any) -> AgentRunResult[Any]:
    """A run of an agent with `add`, and with `double` and `triple` to be found."""
    return await make_agent(script, tools=tools, **options).run('go')


def answers(result: AgentRunResult[Any]) -> list[object]:
    """What the `run_code` calls of a run returned."""
    return [part.content for part in code_returns(result.new_messages())]


def native_answers(result: AgentRunResult[Any], tool: str) -> list[object]:
    """What ordinary calls of a tool returned."""
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart) and part.tool_name == tool]


# -- what is not found yet ---------------------------------------------------------------------------------------


@on_every_wire
async def test_cm17_undiscovered_tools_are_sent_as_without_code_mode(wire: str) -> None:
    script, plain = SearchModel([], wire=wire), SearchModel([], wire=wire)
    await run(script)
    await Agent(plain.model(), deps_type=NoneType, tools=TOOLS).run('go')
    for name in ('double', 'triple'):
        assert script.definitions(0)[name] == plain.definitions(0)[name]
        assert script.sent(0)[name] == plain.sent(0)[name] == HIDDEN[wire]
    assert script.native_search(0) == plain.native_search(0)
    assert script.functions(0) == ['add']


@on_every_wire
async def test_cm17_code_that_calls_an_undiscovered_tool_does_not_run(wire: str) -> None:
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)

    script = SearchModel(["await note(text='a')\nawait double(number=2)"], wire=wire)
    (refused,) = answers(await run(script, [*TOOLS, Tool(note)]))
    assert 'The code was not run' in str(refused)
    assert '`double` is not defined' in str(refused)
    assert notes == []


async def test_cm17_an_ordinary_call_of_an_undiscovered_tool_is_told_to_search_or_load_first() -> None:
    script = SearchModel([[call('double', number=2), call('triple', number=2)]])
    result = await run(script, BOTH, capabilities=[MATHS])
    assert 'search for it first' in str(native_answers(result, 'double'))
    assert 'Call `load_capability` for it first' in str(native_answers(result, 'triple'))


# -- search on our side ------------------------------------------------------------------------------------------


def by_ending(ctx: RunContext[None], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
    """A search of the user's; keywords would find nothing for 'ouble'."""
    return [tool.name for tool in tools if tool.name.endswith(tuple(queries))]


async def by_ending_later(ctx: RunContext[None], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
    return by_ending(ctx, queries, tools)


STRATEGIES: dict[str, tuple[str, list[ToolSearch[None]]]] = {
    'none given': ('double', []),
    'default': ('double', [ToolSearch()]),
    'keywords': ('double', [ToolSearch('keywords')]),
    'function': ('ouble', [ToolSearch(by_ending)]),
    'async function': ('ouble', [ToolSearch(by_ending_later)]),
}


@pytest.mark.parametrize(('query', 'capabilities'), STRATEGIES.values(), ids=STRATEGIES)
async def test_cm17_what_a_search_finds_is_a_function_from_the_next_step_on(
    query: str, capabilities: list[ToolSearch[None]]
) -> None:
    script = SearchModel([[search(query)], 'await double(number=2)', 'await double(number=await add(a=3))'])
    assert answers(await run(script, capabilities=capabilities)) == [4, 6]
    assert [script.functions(request) for request in range(3)] == [['add'], ['add', 'double'], ['add', 'double']]
    control = {'search_tools': 'visible', 'run_code': 'visible'}
    assert script.sent(0) == {'double': 'withheld', 'triple': 'withheld', **control}
    assert script.sent(1) == script.sent(2) == {'triple': 'withheld', **control}


@pytest.mark.parametrize('step', [1, -1])
async def test_cm17_it_does_not_matter_where_tool_search_stands_among_the_capabilities(step: int) -> None:
    script = SearchModel([[search('double')], [call('double', number=2)]])
    capabilities: list[AbstractCapability[None]] = [CodeMode[None](unsearched), ToolSearch[None]()]
    agent = Agent(script.model(), deps_type=NoneType, tools=TOOLS, capabilities=capabilities[::step])
    assert native_answers(await agent.run('go'), 'double') == [4]
    assert script.functions(1) == ['add']


TWO: list[list[Turn]] = [
    [[search('double'), search('triple')]],
    [[search('double', 'triple')]],
    [[search('double')], [search('triple')]],
]


@pytest.mark.parametrize('turns', TWO, ids=['in one step', 'in one search', 'one after the other'])
async def test_cm17_several_are_found(turns: list[Turn]) -> None:
    script = SearchModel([*turns, 'await double(number=await triple(number=1))'])
    assert answers(await run(script)) == [6]
    assert script.functions(-1) == ['add', 'double', 'triple']


async def test_cm17_what_is_found_beside_code_is_not_a_function_of_that_code_yet() -> None:
    text = 'await double(number=2)'
    local = SearchModel([[search('double'), call('run_code', code=text)], text])
    for script in (local, SearchModel([text, text], wire='defers', finds={0: ['double']})):
        refused, found = answers(await run(script))
        assert '`double` is not defined' in str(refused)
        assert found == 4


# -- search on the provider's side -------------------------------------------------------------------------------


@on_native_wires
@pytest.mark.parametrize('strategy', [None, 'bm25', 'regex'])
async def test_cm17_what_the_provider_finds_is_a_function_and_the_rest_stays_deferred(wire: str, strategy: Any) -> None:
    script = finding(wire, ['double'], 'await double(number=2)')
    assert answers(await run(script, capabilities=[ToolSearch[None](strategy)])) == [1, 4]
    assert [script.functions(request) for request in range(3)] == [['add'], ['add', 'double'], ['add', 'double']]
    assert script.sent(0) == {'double': HIDDEN[wire], 'triple': HIDDEN[wire], 'run_code': 'visible'}
    assert script.sent(1) == script.sent(2) == {'triple': HIDDEN[wire], 'run_code': 'visible'}
    assert [script.native_search(request) for request in range(3)] == [[strategy]] * 3


@on_native_wires
@pytest.mark.parametrize(('query', 'strategy'), [('double', 'keywords'), ('ouble', by_ending)])
async def test_cm17_what_our_search_finds_for_the_provider_is_a_function(wire: str, query: str, strategy: Any) -> None:
    script = SearchModel([[search(query)], 'await double(number=2)'], wire=wire)
    assert answers(await run(script, capabilities=[ToolSearch[None](strategy)])) == [4]
    assert script.functions(1) == ['add', 'double']
    assert script.sent(1) == {'triple': HIDDEN[wire], 'search_tools': 'visible', 'run_code': 'visible'}
    assert script.native_search(0) == script.native_search(1) == ['custom']


@on_native_wires
async def test_cm17_a_call_in_the_response_that_found_the_tool_is_an_ordinary_one(wire: str) -> None:
    turns: list[Turn] = [[call('double', number=2)], 'await double(number=3)']
    result = await run(SearchModel(turns, wire=wire, finds={0: ['double']}))
    assert native_answers(result, 'double') == [4]
    assert answers(result) == [6]


@pytest.mark.parametrize('strategy', ['bm25', 'regex'])
async def test_cm17_a_strategy_that_the_provider_does_not_have_ends_the_run(strategy: Any) -> None:
    with pytest.raises(UserError, match='ToolSearchTool'):
        await run(SearchModel([]), capabilities=[ToolSearch[None](strategy)])


@pytest.mark.xfail(reason='BUG: once all is found, `search_tools` takes the place of the search of the provider')
@on_native_wires
async def test_cm17_no_other_search_is_offered_once_the_provider_has_found_everything(wire: str) -> None:
    script = finding(wire, ['double', 'triple'], 'await double(number=await triple(number=1))')
    assert answers(await run(script)) == [1, 6]
    assert script.sent(1) == {'run_code': 'visible'}


# -- whole toolsets ----------------------------------------------------------------------------------------------


def server() -> FastMCP:
    """A server with `double`, in this process."""
    mcp = FastMCP('maths', log_level='ERROR')
    mcp.add_tool(double)
    return mcp


def functions() -> FunctionToolset[None]:
    return FunctionToolset[None]([double])


TOOLSETS: dict[str, tuple[Callable[[], AbstractToolset[None]], str]] = {
    'built so': (lambda: FunctionToolset[None]([double], defer_loading=True), 'double'),
    'wrapped': (lambda: functions().defer_loading(), 'double'),
    'by names': (lambda: FunctionToolset[None]([add, double]).defer_loading(['double']), 'double'),
    'prefixed after': (lambda: functions().defer_loading().prefixed('my'), 'my_double'),
    'prefixed before': (lambda: functions().prefixed('my').defer_loading(), 'my_double'),
    'MCP': (lambda: MCPToolset[None](server()).defer_loading(), 'double'),
    'one tool of it': (lambda: FunctionToolset[None]([TOOLS[1]]), 'double'),
}


@pytest.mark.parametrize('at', ['agent', 'run', 'capability'])
@pytest.mark.parametrize(('toolset', 'name'), TOOLSETS.values(), ids=TOOLSETS)
async def test_cm17_a_deferred_toolset(toolset: Callable[[], AbstractToolset[None]], name: str, at: str) -> None:
    script = SearchModel([[search('double')], f'await {name}(number=2)'])
    given = {at: [toolset()]}
    capability = Capability[None](toolsets=given.get('capability', []))
    agent = make_agent(script, toolsets=given.get('agent', []), capabilities=[capability])
    assert answers(await agent.run('go', toolsets=given.get('run', []))) == [4]
    assert script.sent(0)[name] == 'withheld'
    assert name not in script.functions(0)
    assert name in script.functions(1)


# -- deferred capabilities, and tools that reveal others -----------------------------------------------------------

CAPABILITIES: dict[str, Callable[[], AbstractCapability[None]]] = {
    'tools': lambda: Capability(id='maths', tools=[Tool(double)], defer_loading=True),
    'toolset': lambda: Capability(id='maths', toolsets=[functions()], defer_loading=True),
    'deferred tools': lambda: Capability(id='maths', tools=[TOOLS[1]], defer_loading=True),
    'group': lambda: CombinedCapability([Capability(tools=[Tool(double)])], id='maths', defer_loading=True),
    'MCP': lambda: MCP(local=server(), id='maths', defer_loading=True),
}


@on_every_wire
@pytest.mark.parametrize('capability', CAPABILITIES.values(), ids=CAPABILITIES)
async def test_cm17_what_a_loaded_capability_reveals_are_functions(
    capability: Callable[[], AbstractCapability[None]], wire: str
) -> None:
    script = SearchModel([[call('load_capability', id='maths')], 'await double(number=2)'], wire=wire)
    assert answers(await run(script, TOOLS[:1], capabilities=[capability()])) == [4]
    assert [script.functions(request) for request in range(3)] == [['add'], ['add', 'double'], ['add', 'double']]
    hidden = 'deferred' if wire == 'defers' else 'withheld'
    assert script.sent(0) == {'load_capability': 'visible', 'double': hidden, 'run_code': 'visible'}
    assert script.sent(1) == {'load_capability': 'visible', 'run_code': 'visible'}


@pytest.mark.parametrize(
    ('selector', 'inside'), [('all', ['add', 'double', 'triple']), (unsearched, ['add', 'triple'])]
)
async def test_cm17_a_search_and_a_load_in_one_step(selector: ToolSelector[None], inside: list[str]) -> None:
    both = [search('double'), call('load_capability', id='maths')]
    script = SearchModel([both, 'await triple(number=2)'])
    assert answers(await run(script, BOTH, capabilities=[MATHS], code_mode=CodeMode[None](selector))) == [6]
    assert script.functions(1) == inside


def show() -> ToolReturn[str]:
    return ToolReturn('shown', tools=['double'])


def open_maths(ctx: RunContext[None]) -> bool:
    return ctx.load_capability('maths')


@pytest.mark.parametrize('is_inside', [False, True], ids=['ordinary call', 'in code'])
@pytest.mark.parametrize(('tool', 'name', 'value'), [(show, 'double', 4), (open_maths, 'triple', 6)])
async def test_cm17_what_another_tool_reveals_is_a_function(
    tool: Callable[..., Any], name: str, value: int, is_inside: bool
) -> None:
    key = tool.__name__
    script = SearchModel([f'await {key}()' if is_inside else [call(key)], f'await {name}(number=2)'])
    code_mode = CodeMode[None](['double', 'triple', *([key] if is_inside else [])])
    result = await run(script, [*BOTH, Tool(tool)], capabilities=[MATHS], code_mode=code_mode)
    assert answers(result)[-1] == value


# -- later runs --------------------------------------------------------------------------------------------------


def through_json(messages: list[ModelMessage]) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))


@pytest.mark.parametrize('then', ['local', 'defers'])
@pytest.mark.parametrize('store', [list[ModelMessage], through_json], ids=['in memory', 'through JSON'])
@pytest.mark.parametrize('how', ['local', 'defers', 'loaded'])
async def test_cm17_what_an_earlier_run_found_is_a_function_at_once(
    how: str, store: Callable[[list[ModelMessage]], list[ModelMessage]], then: str
) -> None:
    name, value = ('triple', 18) if how == 'loaded' else ('double', 12)
    first = SearchModel([[call('load_capability', id='maths')]]) if how == 'loaded' else finding(how, ['double'])
    second, unrelated = SearchModel([f'await {name}(number=6)'], wire=then), SearchModel([])
    agent = make_agent(first, tools=BOTH, capabilities=[MATHS])
    messages = store((await agent.run('go')).all_messages())
    result = await agent.run('go on', model=second.model(), message_history=messages)
    await agent.run('go', model=unrelated.model())
    assert answers(result) == [value]
    assert second.functions(0) == ['add', name]
    assert unrelated.functions(0) == ['add']


async def test_cm17_what_was_found_before_a_compaction_has_to_be_found_again() -> None:
    messages = (await run(finding('local', ['double']))).all_messages()
    messages.append(ModelResponse(parts=[CompactionPart(content='So far.', provider_name='function')]))
    again = SearchModel(['await double(number=2)', [search('double')], 'await double(number=2)'])
    result = await make_agent(again, tools=TOOLS).run('go on', message_history=messages)
    refused, found = answers(result)
    assert '`double` is not defined' in str(refused)
    assert found == 4


# -- what the selector keeps native ------------------------------------------------------------------------------


@on_every_wire
async def test_cm17_the_selector_keeps_what_is_searched_native_for_good(wire: str) -> None:
    script = finding(wire, ['double'], [call('double', number=2)], 'await double(number=2)')
    later = SearchModel([[call('double', number=3)]], wire=wire)
    agent = make_agent(script, tools=TOOLS, code_mode=CodeMode[None](unsearched))
    result = await agent.run('go')
    then = await agent.run('go on', model=later.model(), message_history=result.all_messages())
    assert native_answers(then, 'double') == [4, 6]
    assert '`double` is not defined' in str(answers(result)[1])
    assert [model.functions(0) for model in (script, later)] == [['add'], ['add']]
    assert script.functions(2) == ['add']
    assert script.sent(1)['double'] == later.sent(0)['double'] == HIDDEN[wire].replace('withheld', 'visible')


SOME: dict[str, ToolSelector[None]] = {
    'names': ['add', 'double'],
    'metadata': {'area': 'sums'},
    'predicate': lambda ctx, tool: tool.with_native is None or tool.name == 'double',
}


@on_every_wire
@pytest.mark.parametrize('selector', SOME.values(), ids=SOME)
async def test_cm17_a_selector_keeps_some_of_what_is_found_native(selector: ToolSelector[None], wire: str) -> None:
    turns: list[Turn] = [[call('triple', number=2)], 'await double(number=2)', 'await triple(number=2)']
    script = finding(wire, ['double', 'triple'], *turns)
    result = await run(script, code_mode=CodeMode[None](selector))
    assert native_answers(result, 'triple') == [6]
    assert answers(result)[:2] == [1, 4]
    assert '`triple` is not defined' in str(answers(result)[2])
    assert script.functions(1) == ['add', 'double']
    assert 'double' not in script.sent(1)


async def test_cm17_a_found_tool_whose_argument_is_a_program_is_native() -> None:
    script = SearchModel([[search('shell')], [call('shell', a=1)]])
    shell = Tool[None](add, name='shell', metadata={'code_arg_name': 'a'}, defer_loading=True)
    assert native_answers(await run(script, [shell]), 'shell') == [1]
    assert (script.sent(1)['shell'], script.functions(1)) == ('visible', [])


# -- what `search_tools` says ------------------------------------------------------------------------------------

SAID: dict[str, tuple[str, ToolSearch[None]]] = {
    'local': ('local', ToolSearch()),
    'local function': ('local', ToolSearch(by_ending)),
    'described by the user': ('local', ToolSearch(tool_description='Look for more tools.')),
    'for the provider': ('defers', ToolSearch('keywords')),
}


@pytest.mark.parametrize(('wire', 'capability'), SAID.values(), ids=SAID)
async def test_cm17_search_tools_says_that_what_it_finds_becomes_callable_in_run_code(
    wire: str, capability: ToolSearch[None]
) -> None:
    script, plain = SearchModel([[search('double')], '1'], wire=wire), SearchModel([], wire=wire)
    await run(script, capabilities=[capability])
    await Agent(plain.model(), deps_type=NoneType, tools=TOOLS, capabilities=[capability]).run('go')
    ours, theirs = script.definitions(0)['search_tools'], plain.definitions(0)['search_tools']
    assert '`run_code`' in str(ours.description)
    assert str(theirs.description) in str(ours.description)
    assert replace(ours, description=theirs.description) == theirs
    assert script.definitions(1)['search_tools'] == script.definitions(2)['search_tools'] == ours


async def test_cm17_search_tools_does_not_say_so_when_all_that_it_finds_stays_native() -> None:
    script = SearchModel([])
    await run(script, code_mode=CodeMode[None](unsearched))
    assert 'run_code' not in str(script.definitions(0)['search_tools'].description)
