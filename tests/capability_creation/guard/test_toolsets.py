"""BEYOND-4: authored toolsets and their tools, whatever they do; the run goes on."""

from __future__ import annotations

from typing import Any, Self

import pytest
from pydantic_ai import DeferredToolRequests

from .driving import (
    ADD,
    Bench,
    call,
    only_return,
    outcome,
    returns,
    text_of,
    tools,
    toolset_class,
    transcript,
    wrapper_class,
)

WORK = call('work')


def one_tool(body: str, *, is_async: bool = False) -> str:
    """A capability with one tool."""
    return tools(f'{"async " if is_async else ""}def work(): {body}\nreturn FunctionToolset([work])')


async def ends_well(bench: Bench, code: str, *turns: Any) -> list[Any]:
    """The tool returns of a run with the capability, which must come to its end."""
    bench.author(code)
    bench.turns(*(turns or [WORK]))
    result = await bench.run()
    assert result.output == 'done'
    return returns(result)


@pytest.mark.parametrize('is_async', [False, True], ids=['sync', 'async'])
@pytest.mark.parametrize(
    ('body', 'error'),
    [
        ('raise ValueError("broken")', 'ValueError: broken'),
        ('raise SystemExit(3)', 'SystemExit: 3'),
        ('raise StopIteration', 'RuntimeError: coroutine raised StopIteration'),
        ('assert False', 'AssertionError'),
        ('return object()', 'TypeError: The result cannot be sent to the model'),
        ('return {"key": [object()]}', 'TypeError: The result cannot be sent to the model'),
        ('raise RecursionError("deep")', 'RecursionError: deep'),
    ],
)
async def test_beyond4_a_failing_tool_is_a_failed_call(bench: Bench, body: str, error: str, *, is_async: bool) -> None:
    """What would end the run is told to the model, with the line, and recorded."""
    (part,) = await ends_well(bench, one_tool(body, is_async=is_async))
    assert part.outcome == 'failed'
    assert text_of(part).startswith("work, a tool of the authored capability 'authored', failed.")
    assert error in text_of(part)
    where, recorded = bench.failure()
    assert where == 'tool work'
    assert recorded.startswith(error)
    if 'return' not in body and 'StopIteration' not in body:
        assert body in text_of(part)


async def test_beyond4_a_tool_that_always_fails_spends_no_retries(bench: Bench) -> None:
    """The model may try as often as it likes, and the run counts once."""
    parts = await ends_well(bench, one_tool('raise ValueError("broken")'), *[WORK] * 6)
    assert [part.outcome for part in parts] == ['failed'] * 6
    assert bench.entry().failing_runs == 1


async def test_beyond4_a_tool_that_always_wants_a_retry_ends_no_run(bench: Bench) -> None:
    """It is retried as often as it may be, then it has failed; that is no failure of the capability."""
    parts = await ends_well(bench, one_tool('raise ModelRetry("again")'), *[WORK] * 4)
    assert [part.outcome for part in parts] == ['retried', *['failed'] * 3]
    assert all('again' in str(part.content) for part in parts)
    assert bench.entry().failing_runs == 0


@pytest.mark.parametrize(
    'code',
    [
        tools(
            'def work(): return 1\ndef check(ctx): raise ModelRetry("again")\nreturn FunctionToolset([Tool(work, args_validator=check)])'
        ),
        pytest.param(
            tools('def work(a: int): return 1\nreturn FunctionToolset([work])'),
            marks=pytest.mark.xfail(
                strict=True, reason='documented limit: wrong arguments of the model past the retry budget end the run'
            ),
        ),
    ],
    ids=['validator', 'schema'],
)
async def test_beyond4_arguments_that_are_always_refused_end_no_run(bench: Bench, code: str) -> None:
    """Calls whose arguments fail again and again are failed calls in the end, as those of the tool itself."""
    parts = await ends_well(bench, code, *[WORK] * 4)
    assert parts[-1].outcome == 'failed'


@pytest.mark.parametrize('is_async', [False, True], ids=['sync', 'async'])
async def test_beyond4_a_failing_validator_of_arguments_is_a_failed_call(bench: Bench, *, is_async: bool) -> None:
    """The tool is not run, and no retry is spent."""
    keyword = 'async def' if is_async else 'def'
    code = tools(
        f'def work(): probe.calls.append(1)\n{keyword} check(ctx): raise ValueError("broken")\n'
        'return FunctionToolset([Tool(work, args_validator=check)])'
    )
    parts = await ends_well(bench, code, *[WORK] * 3)
    assert [part.outcome for part in parts] == ['failed'] * 3
    assert bench.probe.calls == []
    assert bench.failure() == ('tool work', 'ValueError: broken')


@pytest.mark.parametrize('error', ['KeyError("broken")', 'RuntimeError("broken")', 'TypeError("broken")'])
async def test_beyond4_a_validator_in_the_schema_that_fails_is_a_failed_call(bench: Bench, error: str) -> None:
    """A validator of an argument's type that raises what Pydantic does not know is the tool's failure."""
    before = f'def fail(value):\n    raise {error}\n'
    code = tools('def work(a: Annotated[int, AfterValidator(fail)]): return 1\nreturn FunctionToolset([work])', before)
    (part,) = await ends_well(bench, code, call('work', a=1))
    assert part.outcome == 'failed'
    assert bench.entry().failing_runs == 1


WITHOUT = {
    'prepare raises': tools(
        'def work(): return 1\ndef prepare(ctx, tool_def): raise ValueError("broken")\nreturn FunctionToolset([Tool(work, prepare=prepare)])'
    ),
    'prepare returns rubbish': tools(
        'def work(): return 1\nreturn FunctionToolset([Tool(work, prepare=lambda ctx, tool_def: 5)])'
    ),
    'a name with spaces': tools('def work(): return 1\nreturn FunctionToolset([Tool(work, name="my work")])'),
    'a name that is too long': tools('def work(): return 1\nreturn FunctionToolset([Tool(work, name="w" * 65)])'),
    'an empty name': tools('def work(): return 1\nreturn FunctionToolset([Tool(work, name=" ")])'),
    'get_tools raises': toolset_class('async def get_tools(self, ctx): raise ValueError("broken")'),
    'entering raises': toolset_class('async def __aenter__(self): raise ValueError("broken")'),
    'the function raises': tools('def make(ctx): raise ValueError("broken")\nreturn make'),
    'the function is async and raises': tools('async def make(ctx): raise ValueError("broken")\nreturn make'),
    'the function returns rubbish': tools('return lambda ctx: 5'),
    'the function takes too much': tools('return lambda a, b: None'),
}


@pytest.mark.parametrize('how', WITHOUT)
async def test_beyond4_a_toolset_that_fails_offers_nothing(bench: Bench, how: str) -> None:
    """The model is offered the other tools, which work, and the failure is recorded."""
    bench.author(WITHOUT[how])
    result = await bench.run()
    assert bench.fake.tool_names() == ['add']
    assert transcript(result) == transcript(await bench.run(()))
    assert bench.entry().failing_runs == 1


WITH = {
    'for_run raises': 'async def for_run(self, ctx): raise ValueError("broken")',
    'for_run_step raises': 'async def for_run_step(self, ctx): raise ValueError("broken")',
    'leaving raises': 'async def __aexit__(self, *args): raise ValueError("broken")',
    'get_instructions raises': 'async def get_instructions(self, ctx): raise ValueError("broken")',
    'get_instructions returns rubbish': 'async def get_instructions(self, ctx): return 5',
}


@pytest.mark.parametrize('how', WITH)
async def test_beyond4_a_toolset_that_fails_beside_its_tools_keeps_them(bench: Bench, how: str) -> None:
    """A failure around the tools costs no more than what it was about."""
    (part,) = await ends_well(bench, toolset_class(WITH[how]))
    assert (part.outcome, part.content) == ('success', 1)
    assert bench.entry().failing_runs == 1
    assert bench.failure()[0].endswith('of its toolset')


RUBBISH = {
    'get_tools returns nothing': 'async def get_tools(self, ctx): return None',
    'get_tools returns a list': 'async def get_tools(self, ctx): return [work]',
    'get_tools returns no tools': 'async def get_tools(self, ctx): return {"work": 5}',
    'for_run returns nothing': 'async def for_run(self, ctx): return None',
    'for_run_step returns nothing': 'async def for_run_step(self, ctx): return None',
}


@pytest.mark.parametrize('how', RUBBISH)
async def test_beyond4_a_toolset_that_returns_rubbish_offers_nothing(bench: Bench, how: str) -> None:
    """A forgotten `return` in a toolset ends no run."""
    bench.author(toolset_class(RUBBISH[how]))
    assert (await bench.run()).output == 'done'
    assert bench.entry().failing_runs == 1


@pytest.mark.parametrize(
    'kind',
    [
        'output',
        pytest.param(
            'external',
            marks=pytest.mark.xfail(strict=True, reason='an external tool is offered to an agent without deferrals'),
        ),
    ],
)
async def test_beyond4_a_tool_of_a_kind_that_the_agent_cannot_run_ends_no_run(bench: Bench, kind: str) -> None:
    """A call of it fails, instead of ending the run of an agent that did not ask for deferrals."""
    code = toolset_class(
        'async def get_tools(self, ctx):\n'
        '    found = await super().get_tools(ctx)\n'
        f'    return {{name: dataclasses.replace(tool, tool_def=dataclasses.replace(tool.tool_def, kind={kind!r})) for name, tool in found.items()}}'
    )
    await ends_well(bench, code)


async def test_beyond4_the_id_of_an_authored_toolset_is_not_asked(bench: Bench) -> None:
    """It may be a property that fails."""
    (part,) = await ends_well(
        bench,
        toolset_class(
            '@property\ndef id(self):\n    if probe.armed: raise ValueError("broken")\n@id.setter\ndef id(self, value): pass'
        ),
    )
    assert (part.content, bench.entry().failing_runs) == (1, 0)


async def test_beyond4_a_tool_may_ask_for_an_approval(bench: Bench) -> None:
    """Deferrals of an authored tool are the framework's own, for an agent that knows them."""
    bench.author(tools('def work(): return 1\nreturn FunctionToolset([Tool(work, requires_approval=True)])'))
    bench.turns(WORK)
    result = await bench.run(output_type=[str, DeferredToolRequests])
    assert isinstance(result.output, DeferredToolRequests)
    assert bench.entry().failing_runs == 0


async def test_beyond4_a_metadata_of_any_kind_goes_with_a_result(bench: Bench) -> None:
    """What a tool returns beside its value, for the application, need not be sent to the model."""
    (part,) = await ends_well(bench, one_tool('return ToolReturn(return_value="x", metadata={"rows": 3})'))
    assert (part.content, part.metadata) == ('x', {'rows': 3})


SAME_RESULTS = [
    'return ToolReturn(return_value="x", content=["more"])',
    'return BinaryContent(b"abc", media_type="image/png")',
    'return [1, {"a": None}, "x"]',
    'return None',
]


@pytest.mark.parametrize('body', SAME_RESULTS)
async def test_beyond4_results_are_as_without_the_guard(bench: Bench, body: str) -> None:
    """The check of a result leaves it as it is."""
    await same_as_unguarded(bench, body)


async def test_beyond4_a_metadata_that_cannot_be_sent_is_no_failure(bench: Bench) -> None:
    """The framework keeps metadata for the application, as it is."""
    (part,) = await ends_well(bench, one_tool('return ToolReturn(return_value="x", metadata={"rows": object()})'))
    assert part.content == 'x'


async def same_as_unguarded(bench: Bench, body: str) -> None:
    bench.author(one_tool(body))
    bench.turns(WORK)
    guarded = await outcome(bench.run)
    bench.max_failures = None
    assert await outcome(bench.run) == guarded
    assert bench.entry().failing_runs == 0


SHADOWING = tools('def add(): return "mine"\nreturn FunctionToolset([add])')
SHARED = tools('def work(): return 1\nreturn FunctionToolset([work])')


async def test_beyond4_a_tool_named_as_one_of_the_agents_is_left_out(bench: Bench) -> None:
    """The agent's own tool stays, and the authored capability has failed."""
    (part,) = await ends_well(bench, SHADOWING, ADD)
    assert (part.content, bench.executed) == (3, [(1, 2)])
    assert bench.failure()[0] == 'its tools'


async def test_beyond4_of_two_authored_tools_of_a_name_the_first_stays(bench: Bench) -> None:
    """The second capability is without tools and has failed; the first has not."""
    bench.author(SHARED, name='first')
    bench.author(SHARED.replace('return 1', 'return 2'), name='second')
    bench.turns(WORK)
    assert only_return(await bench.run()).content == 1
    assert (bench.entry('first').failing_runs, bench.entry('second').failing_runs) == (0, 1)


async def test_beyond4_several_conflicts_at_once(bench: Bench) -> None:
    """Two that shadow the agent's tool and two that share a name leave one tool of each name."""
    for name in ('one', 'two'):
        bench.author(SHADOWING, name=f'shadow_{name}')
        bench.author(SHARED, name=f'shared_{name}')
    bench.turns(ADD, WORK)
    result = await bench.run()
    assert [part.content for part in returns(result)] == [3, 1]
    failed = {entry.name for entry in bench.store.list_all() if entry.failing_runs}
    assert failed == {'shadow_one', 'shadow_two', 'shared_two'}
    assert sorted(bench.fake.tool_names()) == ['add', 'work']


async def test_beyond4_a_conflict_of_the_developers_own_is_not_hidden(bench: Bench) -> None:
    """Two tools of a name that nobody authored are an error as ever."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.toolsets import FunctionToolset

    def add() -> int:
        return 1

    bench.author(SHARED)
    with pytest.raises(UserError, match='add'):
        await bench.run(toolsets=[FunctionToolset[Any]([add])])
    assert bench.entry().failing_runs == 0


LAZY = """
class Authored(AbstractCapability):
    id = 'lazy'
    description = 'Works.'
    defer_loading = True
    def get_toolset(self):
        def work(): raise ValueError('broken')
        return FunctionToolset([work])
"""


async def test_beyond4_a_tool_of_a_deferred_capability_fails_as_any_other(bench: Bench) -> None:
    """It is loaded by its authored id, and its tool's failure is told and recorded."""
    loading = call('load_capability', id='authored_authored')
    loaded, part = await ends_well(bench, LAZY, loading, WORK)
    assert (loaded.outcome, part.outcome) == ('success', 'failed')
    assert bench.failure() == ('tool work', 'ValueError: broken')


WRAPPERS = {
    'get_tools raises': 'async def get_tools(self, ctx): raise ValueError("broken")',
    'entering raises': 'async def __aenter__(self): raise ValueError("broken")',
    'raises once entered': 'async def __aenter__(self):\n    await super().__aenter__()\n    raise ValueError("broken")',
    'leaving raises': 'async def __aexit__(self, *args): raise ValueError("broken")',
    'raises once left': 'async def __aexit__(self, *args):\n    await super().__aexit__(*args)\n    raise ValueError("broken")',
    'for_run raises': 'async def for_run(self, ctx): raise ValueError("broken")',
    'for_run_step raises': 'async def for_run_step(self, ctx): raise ValueError("broken")',
    'get_instructions raises': 'async def get_instructions(self, ctx): raise ValueError("broken")',
    'get_instructions returns rubbish': 'async def get_instructions(self, ctx): return 5',
}
WRAPPER_RUBBISH = {
    'get_tools returns nothing': 'async def get_tools(self, ctx): return None',
    'get_tools returns no tools': 'async def get_tools(self, ctx): return {"add": 5}',
    'for_run returns nothing': 'async def for_run(self, ctx): return None',
    'for_run_step returns nothing': 'async def for_run_step(self, ctx): return None',
    'a result that cannot be sent': 'async def call_tool(self, name, tool_args, ctx, tool): return object()',
}


@pytest.mark.parametrize('how', WRAPPERS)
async def test_beyond4_a_wrapper_toolset_that_fails_is_left_out(bench: Bench, how: str) -> None:
    """The run goes on with what it wraps, entered and left once."""
    from pydantic_ai.toolsets import FunctionToolset

    log: list[str] = []

    class Watched(FunctionToolset[Any]):
        async def __aenter__(self) -> Self:
            log.append('entered')
            return self

        async def __aexit__(self, *args: object) -> None:
            log.append('left')

    bench.author(wrapper_class(WRAPPERS[how]))
    result = await bench.run(toolsets=[Watched()])
    assert (only_return(result).content, bench.executed, log) == (3, [(1, 2)], ['entered', 'left'])
    assert bench.failure()[0].endswith('of its wrapper toolset')
    assert bench.entry().failing_runs == 1


@pytest.mark.parametrize('how', WRAPPER_RUBBISH)
async def test_beyond4_a_wrapper_toolset_that_returns_rubbish_ends_no_run(bench: Bench, how: str) -> None:
    """A forgotten `return` in a wrapper is its failure."""
    bench.author(wrapper_class(WRAPPER_RUBBISH[how]))
    assert (await bench.run()).output == 'done'
    assert bench.entry().failing_runs == 1


async def test_beyond4_a_wrapper_toolset_that_fails_around_a_call_closes_it(bench: Bench) -> None:
    """It may be a guard as well."""
    bench.author(wrapper_class('async def call_tool(self, name, tool_args, ctx, tool): raise ValueError("broken")'))
    bench.turns(*[ADD] * 4)
    result = await bench.run()
    assert [part.outcome for part in returns(result)] == ['failed'] * 4
    assert (bench.executed, bench.failure()) == ([], ('its wrapper toolset', 'ValueError: broken'))


async def test_beyond4_a_wrapper_toolset_that_fails_after_a_call_says_that_it_ran(bench: Bench) -> None:
    """The model must not be told to try again what was done."""
    bench.author(
        wrapper_class(
            'async def call_tool(self, name, tool_args, ctx, tool):\n'
            '    await super().call_tool(name, tool_args, ctx, tool)\n'
            '    raise ValueError("broken")'
        )
    )
    part = only_return(await bench.run())
    assert bench.executed == [(1, 2)]
    assert 'was not run' not in text_of(part)


@pytest.mark.parametrize('error', [LookupError('mine'), OSError('theirs')])
async def test_beyond4_an_error_inside_of_a_wrapper_toolset_passes(bench: Bench, error: Exception) -> None:
    """What an own tool of the agent raises ends the run with that very object, and is no failure."""

    def broken() -> None:
        raise error

    bench.author(wrapper_class('pass'))
    bench.turns(call('broken'))
    with pytest.raises(type(error)) as caught:
        await bench.run(tools=[broken])
    assert caught.value is error
    assert bench.entry().failing_runs == 0
