"""BEYOND-4: what getters contribute, and the functions in it, which the framework calls later."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.capabilities import CapabilityOrdering, LocalWorkspace
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.profiles import ModelProfile

from pydantic_ai_harness.capability_creation.guard import LoadedCapability
from pydantic_ai_harness.capability_creation.hooks import HOOKS

from .driving import HEAD, Bench, call, capability, define, outcome, pass_on

INSTRUCTIONS = {
    'sync without ctx': 'def say(): raise ValueError("broken")',
    'sync with ctx': 'def say(ctx): raise ValueError("broken")',
    'async without ctx': 'async def say(): raise ValueError("broken")',
    'async with ctx': 'async def say(ctx): raise ValueError("broken")',
    'rubbish': 'def say(): return 5',
    'async rubbish': 'async def say(ctx): return [5]',
    'too many parameters': 'def say(a, b): return "x"',
    'system exit': 'def say(): raise SystemExit',
    'endless recursion': 'def say(): return say()',
}


@pytest.mark.parametrize('drive', ['run', 'run on agent', 'stream'])
@pytest.mark.parametrize('how', INSTRUCTIONS)
async def test_beyond4_an_instruction_function_that_fails_says_nothing(bench: Bench, how: str, drive: Any) -> None:
    """The other instructions are there, and the failure is recorded as that of a function."""
    bench.hook('get_instructions', INSTRUCTIONS[how], "return ['Be kind.', say, lambda: 'Be brief.']")
    result = await bench.run(drive=drive)
    assert result.output == 'done'
    assert bench.fake.infos[0].instructions == 'Be kind.\n\nBe brief.'
    assert bench.failure()[0] == 'an instruction function'
    assert bench.entry().failing_runs == 1


@pytest.mark.parametrize(
    'how', ['def say(): return "hi"', 'async def say(ctx): return f"hi {ctx.run_step}"', 'def say(ctx): return None']
)
async def test_beyond4_an_instruction_function_that_works_is_as_without_the_guard(bench: Bench, how: str) -> None:
    """With and without a context, sync and async."""
    bench.hook('get_instructions', how, 'return say')
    guarded = await outcome(bench.run)
    bench.max_failures = None
    assert await outcome(bench.run) == guarded
    assert bench.entry().failing_runs == 0


@pytest.mark.parametrize('function', ['max', 'dict'])
async def test_beyond4_an_instruction_function_without_a_signature_ends_no_run(bench: Bench, function: str) -> None:
    """It is refused when it is written, or fails without effect."""
    entry = bench.store.write('authored', HEAD + capability('get_instructions', f'return {function}'))
    if entry.last_error is None:
        assert (await bench.run()).output == 'done'


SETTINGS = {
    'raises': 'def settings(ctx): raise ValueError("broken")',
    'rubbish': 'def settings(ctx): return 5',
    'nothing': 'def settings(ctx): return None',
    'no parameters': 'def settings(): return {}',
}


@pytest.mark.parametrize('how', SETTINGS)
async def test_beyond4_a_model_settings_function_that_fails_sets_nothing(bench: Bench, how: str) -> None:
    """The agent's own settings stay."""
    bench.hook('get_model_settings', SETTINGS[how], 'return settings')
    result = await bench.run(model_settings={'max_tokens': 7})
    assert result.output == 'done'
    assert bench.fake.infos[0].model_settings == {'max_tokens': 7}
    assert bench.failure()[0] == 'the model settings function'


def test_beyond4_an_async_function_for_model_settings_is_refused(bench: Bench) -> None:
    """The framework would not await it."""
    later = capability('get_model_settings', 'async def later(ctx): return {}', 'return later')
    assert 'a plain function' in (bench.store.write('authored', HEAD + later).last_error or '')


async def test_beyond4_an_async_function_as_clock_ends_no_run(bench: Bench) -> None:
    """It is a failure, like any other value that the agent cannot use."""
    bench.hook('get_run_clock', 'async def later(): return 1', 'return later')
    assert (await bench.run(run_options={'timeout': 50})).output == 'done'
    assert bench.entry().failing_runs == 1


@pytest.mark.parametrize('value', ['[WebSearchTool()]', '[lambda ctx: WebSearchTool()]', '[lambda ctx: None]'])
async def test_beyond4_a_native_tool_that_the_model_does_not_have_is_left_out(bench: Bench, value: str) -> None:
    """A provider's tool is no reason to refuse every request to another provider."""
    bench.hook('get_native_tools', f'return {value}')
    model = FunctionModel(bench.fake._reply, profile=ModelProfile(supported_native_tools=frozenset()))  # pyright: ignore[reportPrivateUsage]
    assert (await bench.run(model=model)).output == 'done'
    assert bench.entry().failing_runs == 0


@pytest.mark.parametrize('line', ['raise ValueError("broken")', 'return 5'])
@pytest.mark.parametrize('keyword', ['def', 'async def'])
async def test_beyond4_a_native_tool_function_that_fails_adds_nothing(bench: Bench, line: str, keyword: str) -> None:
    """The run goes on without that tool."""
    bench.hook('get_native_tools', f'{keyword} tool(ctx): {line}', 'return [tool]')
    assert (await bench.run()).output == 'done'
    assert bench.failure()[0] == 'a native tool function'


@pytest.mark.parametrize('line', ['raise ValueError("broken")', 'return 5'])
@pytest.mark.parametrize('keyword', ['def', 'async def'])
async def test_beyond4_a_description_function_that_fails_describes_nothing(
    bench: Bench, line: str, keyword: str
) -> None:
    """The model can load the capability all the same."""
    bench.hook(
        'get_description', f'{keyword} text(ctx): {line}', 'return text', attributes='id = "lazy"; defer_loading = True'
    )
    bench.turns(call('load_capability', id='authored_authored'))
    assert (await bench.run()).output == 'done'
    assert bench.failure()[0] == 'the description function'


SELECTORS = [
    'def select(ctx): raise ValueError("broken")',
    'async def select(ctx): raise ValueError("broken")',
    'def select(ctx): return 5',
    'def select(): return ctx',
    'def select(ctx): return "nonsense:model"',
]


@pytest.mark.parametrize('how', SELECTORS)
async def test_beyond4_a_model_selector_that_fails_selects_the_agents_model(bench: Bench, how: str) -> None:
    """Every step goes to the model that the agent has."""
    bench.hook('get_model', how, 'return select')
    assert (await bench.run()).output == 'done'
    assert len(bench.fake.requests) == 2
    assert bench.failure()[0] == 'the model selector'


async def test_beyond4_a_model_selector_that_works_selects(bench: Bench) -> None:
    """Sync or async, it has its effect."""
    bench.hook(
        'get_model',
        'async def select(ctx): return FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("theirs")]))',
        'return select',
    )
    assert (await bench.run()).output == 'theirs'
    assert bench.entry().failing_runs == 0


MODELS = {
    'a wrapper model': (
        'class Broken(WrapperModel):\n    async def request(self, *args, **kwargs): raise RuntimeError("broken")\n',
        'get_wrapper_model',
        'return Broken(model)',
    ),
    'a wrapper model that is entered': (
        'class Broken(WrapperModel):\n    async def __aenter__(self): raise RuntimeError("broken")\n',
        'get_wrapper_model',
        'return Broken(model)',
    ),
    'a model': (
        'def broken(messages, info): raise RuntimeError("broken")\n',
        'get_model',
        'return FunctionModel(broken)',
    ),
}


@pytest.mark.xfail(strict=True, reason="documented limit: a capability's own model is not guarded")
@pytest.mark.parametrize('how', MODELS)
async def test_beyond4_a_model_of_a_capability_that_fails_ends_no_run(bench: Bench, how: str) -> None:
    """The request goes to the agent's own model, and the failure is recorded."""
    before, name, line = MODELS[how]
    bench.author(before + capability(name, line))
    assert (await bench.run()).output == 'done'
    assert bench.entry().failing_runs == 1


@pytest.mark.parametrize('value', ['nonsense:model', 'no model at all'])
async def test_beyond4_a_model_name_that_is_none_selects_the_agents_model(bench: Bench, value: str) -> None:
    """A name that no provider knows is a failure of the getter."""
    bench.hook('get_model', f'return {value!r}')
    assert (await bench.run()).output == 'done'
    assert bench.failure()[0] == 'get_model'


ELSEWHERE = {
    'nothing to work in': 'from pydantic_ai.workspaces import UnavailableWorkspace; return UnavailableWorkspace()',
    'rubbish': 'return 5',
    'a read-only one': (
        'from pydantic_ai.workspaces import LocalWorkspaceBackend, ReadOnlyWorkspace, Workspace; '
        'return ReadOnlyWorkspace(Workspace(LocalWorkspaceBackend(".")))'
    ),
}


@pytest.mark.parametrize('how', ELSEWHERE)
async def test_beyond4_a_run_is_not_moved_to_where_nothing_can_be_authored(bench: Bench, how: str) -> None:
    """The workspace that the agent has stays, so that the capability can be mended."""
    bench.hook('get_workspace', 'if not probe.armed: return None', ELSEWHERE[how])
    seen: list[Any] = []

    def look(ctx: RunContext[Any]) -> str:
        seen.append((type(ctx.workspace.backend).__name__, ctx.workspace.read_only))
        return 'ok'

    bench.turns(call('look'))
    loaded = [*bench.load(), LocalWorkspace(bench.directory)]
    result = await bench.run(loaded, tools=[look])
    assert (result.output, seen) == ('done', [('LocalWorkspaceBackend', False)])
    assert bench.failure()[0] == 'get_workspace'


ORDERINGS = {
    'requires what is not there': 'CapabilityOrdering(requires=[Missing])',
    'a cycle': 'CapabilityOrdering(wraps=[AbstractCapability], wrapped_by=[AbstractCapability])',
    'innermost': "CapabilityOrdering(position='innermost')",
}


@pytest.mark.parametrize('drive', ['run', 'run on agent'])
@pytest.mark.parametrize('how', ORDERINGS)
async def test_beyond4_an_ordering_that_cannot_be_met_is_ignored(bench: Bench, how: str, drive: Any) -> None:
    """No run may fail over what other capabilities there are; the checks say so with a hint."""
    before = 'from pydantic_ai.capabilities import WebSearch as Missing\n'
    entry = bench.author(before + capability('get_ordering', f'return {ORDERINGS[how]}'))
    bench.author(before + capability('get_ordering', f'return {ORDERINGS[how]}'), name='second')
    assert any('get_ordering' in hint for hint in entry.hints)
    assert (await bench.run(drive=drive)).output == 'done'
    assert bench.entry().failing_runs == 0


async def test_beyond4_outermost_is_kept(bench: Bench) -> None:
    """The one ordering that can always be met has its effect."""
    bench.author(capability('before_run', 'probe.calls.append("inner")'), name='a_inner')
    bench.author(
        capability('get_ordering', "return CapabilityOrdering(position='outermost')")
        + define('before_run', 'probe.calls.append("outer")'),
        name='b_outer',
    )
    first, second = bench.load()
    assert isinstance(first, LoadedCapability)
    assert second.get_ordering() == CapabilityOrdering(position='outermost')
    await bench.run([first, second])
    assert bench.probe.calls == ['outer', 'inner']


@pytest.mark.parametrize('name', ['get_toolset', 'get_ordering'])
def test_beyond4_a_getter_that_fails_the_second_time_it_is_asked_is_refused(bench: Bench, name: str) -> None:
    """Writing never raises over what the code does."""
    code = capability(
        name, 'self.asked += 1', 'if self.asked > 1: raise RuntimeError("broken")', attributes='asked = 0'
    )
    entry = bench.store.write('authored', HEAD + code)
    assert entry.last_error is None or 'broken' in entry.last_error


@pytest.mark.parametrize(
    'name', [name for name, hook in HOOKS.items() if hook.kind == 'sync' and len(hook.signature.parameters) == 1]
)
async def test_beyond4_a_getter_that_fails_at_once_is_not_loaded(bench: Bench, name: str) -> None:
    """What is asked when it is loaded and fails there is left out, or loaded and contained; no run ends."""
    bench.hook(name, 'if probe.given: raise RuntimeError("broken")', f'return {pass_on(name)}')
    bench.probe.given = 'fail'
    assert (await bench.run()).output == 'done'


ATTRIBUTES = [
    'id',
    'description',
    'defer_loading',
    'has_on_event',
    'has_resolve_model_id',
    'has_wrap_run_event_stream',
    '_has_wrap_node_run',
]


@pytest.mark.parametrize('name', ATTRIBUTES)
async def test_beyond4_an_attribute_that_fails_ends_no_run(bench: Bench, name: str) -> None:
    """A property in place of an attribute is refused, left out or contained."""
    value = 'False' if name == 'defer_loading' or 'has' in name else 'None'
    code = f'class Authored(AbstractCapability):\n    @property\n    def {name}(self):\n        if probe.given: raise RuntimeError("broken")\n        return {value}\n'
    bench.store.write('authored', HEAD + code)
    bench.probe.given = 'fail'
    assert (await bench.run()).output == 'done'


@pytest.mark.parametrize(
    ('name', 'parameter'), [('listens_to', 'event'), ('apply', 'visitor'), ('visit_and_replace', 'visitor')]
)
async def test_beyond4_reserved_methods_of_a_base_end_no_run(bench: Bench, name: str, parameter: str) -> None:
    """What belongs to the framework is refused in a base of the class too."""
    code = (
        f'class Base:\n    def {name}(self, {parameter}): raise RuntimeError("broken")\n'
        'class Authored(Base, AbstractCapability):\n    async def on_event(self, ctx, *, event): pass\n'
    )
    assert bench.store.write('authored', HEAD + code).last_error is not None


ERRORS = {
    'half a surrogate pair': 'raise ValueError("\\ud800")',
    'very long': 'raise ValueError("x" * 1_000_000)',
    'text that fails': 'class Odd(Exception):\n    def __str__(self): raise ValueError("again")\nraise Odd',
    'text that is none': 'class Odd(Exception):\n    def __str__(self): return 5\nraise Odd',
    'text that exits': 'class Odd(Exception):\n    def __str__(self): raise SystemExit\nraise Odd',
    'a group': 'raise ExceptionGroup("all", [ValueError("a"), KeyError("b")])',
    'a name of another alphabet': 'class Ошибка(Exception): pass\nraise Ошибка("да")',
    'not an error': 'raise BaseException("base")',
}


@pytest.mark.parametrize('how', ERRORS)
async def test_beyond4_errors_of_any_text_can_be_recorded(bench: Bench, how: str) -> None:
    """Recording a failure never is what ends the run."""
    bench.hook('before_tool_execute', *ERRORS[how].splitlines())
    try:
        result = await bench.run()
    except SystemExit as error:  # it would end the test run
        raise AssertionError('the run has ended') from error
    assert result.output == 'done'
    assert bench.entry().failing_runs == 1
    assert len(bench.directory.joinpath('manifest.json').read_bytes()) < 10_000
