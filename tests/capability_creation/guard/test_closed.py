"""BEYOND-4: what stands around a tool call and fails closes it, and the agent can mend it in the same run."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability, LocalWorkspace
from pydantic_ai.messages import ToolCallPart

from pydantic_ai_harness import CapabilityCreation, CodeMode

from .driving import ADD, HEAD, Bench, call, capability, only_return, outcome, returns, text_of, tools, wrapper_class
from .test_every_hook import TOOL_HOOKS, failing, raising

ALL_AROUND = 'class Authored(AbstractCapability):\n' + ''.join(
    raising(name).split('\n', 2)[2] for name in [*TOOL_HOOKS, 'on_tool_validate_error', 'on_tool_execute_error']
)
"""A capability that fails at every turn of every tool call."""

MENDED = HEAD + capability('before_tool_execute', 'return args')


def authoring(bench: Bench) -> list[AbstractCapability[Any]]:
    return [CapabilityCreation(bench.directory), LocalWorkspace(bench.directory)]


@pytest.mark.parametrize('name', TOOL_HOOKS)
async def test_beyond4_a_closed_call_tells_the_model_what_to_mend(bench: Bench, name: str) -> None:
    """It reads whether the tool ran, which hook of which capability failed, why, and on which line."""
    bench.author(raising(name), name='my_guard')
    result = await bench.run()
    text = text_of(only_return(result))
    ran = name == 'after_tool_execute'
    assert text.startswith('add ran, but its result is withheld' if ran else 'add was not run')
    assert bench.executed == ([(1, 2)] if ran else [])
    assert f"{name} of the authored capability 'my_guard' failed" in text
    assert f'RuntimeError: {name} is broken' in text
    assert f"raise RuntimeError('{name} is broken')" in text
    assert '3' not in text.split('line')[0]


@pytest.mark.parametrize('name', TOOL_HOOKS)
async def test_beyond4_closed_calls_spend_no_retries(bench: Bench, name: str) -> None:
    """A run in which a guard fails again and again goes on until the model has had enough."""
    bench.author(raising(name))
    bench.turns(*[ADD] * 8)
    result = await bench.run()
    assert result.output == 'done'
    assert [part.outcome for part in returns(result)] == ['failed'] * 8
    assert bench.entry().failing_runs == 1


async def test_beyond4_parallel_calls_are_closed_each(bench: Bench) -> None:
    """Several calls in one response all fail, and the run counts once."""
    bench.author(ALL_AROUND)
    bench.turns([ToolCallPart('add', {'a': number, 'b': 1}, tool_call_id=f'{number}') for number in range(5)])
    result = await bench.run()
    assert [part.outcome for part in returns(result)] == ['failed'] * 5
    assert (bench.executed, bench.entry().failing_runs) == ([], 1)


@pytest.mark.parametrize('name', ['on_tool_validate_error', 'on_tool_execute_error'])
@pytest.mark.parametrize('line', ["raise RuntimeError('broken')", 'raise RuntimeError from error', 'raise error'])
async def test_beyond4_a_failing_error_hook_leaves_the_error(bench: Bench, name: str, line: str) -> None:
    """The tool's or the validation's own error is what counts."""
    bench.turns(call('add', a='x') if name == 'on_tool_validate_error' else call('failing'))
    bench.hook(name, line)
    without = await outcome(lambda: bench.run((), tools=[failing]))
    assert await outcome(lambda: bench.run(tools=[failing])) == without
    assert bench.entry().failing_runs == (0 if line == 'raise error' else 1)


async def test_beyond4_a_broken_guard_can_be_mended_in_the_same_run(bench: Bench) -> None:
    """A capability that fails around every tool does not stand around the tools that mend it."""
    bench.author(ALL_AROUND)
    bench.turns(
        ADD,
        call('list_authored_capabilities'),
        call('author_capability', name='authored', code=MENDED),
        call('disable_authored_capability', name='authored'),
    )
    result = await bench.run([*bench.load(), *authoring(bench)])
    closed, listed, mended, disabled = returns(result)
    assert [part.outcome for part in (closed, listed, mended, disabled)] == ['failed', *['success'] * 3]
    assert 'wrap_tool_validate is broken' in str(listed.content)
    assert 'version 2' in text_of(mended)
    entry = bench.entry()
    assert (entry.version, entry.failing_runs, entry.status) == (2, 0, 'disabled')


async def test_beyond4_after_it_is_mended_the_next_run_has_it(bench: Bench) -> None:
    """What is authored in a run in which the old version fails is active in the next."""
    bench.author(ALL_AROUND)
    bench.turns(call('author_capability', name='authored', code=MENDED), ADD)
    await bench.run([*bench.load(), *authoring(bench)])
    bench.turns(ADD)
    assert only_return(await bench.run()).outcome == 'success'
    assert bench.entry().failing_runs == 0


async def test_beyond4_a_broken_wrapper_toolset_can_be_mended_in_the_same_run(bench: Bench) -> None:
    """A wrapper around all toolsets that fails does not stand around the tools that mend it either."""
    bench.author(wrapper_class('async def call_tool(self, name, tool_args, ctx, tool): raise RuntimeError("broken")'))
    bench.turns(call('author_capability', name='authored', code=MENDED))
    result = await bench.run([*bench.load(), *authoring(bench)])
    assert only_return(result).outcome == 'success'


async def test_beyond4_other_capabilities_are_not_mended_by_a_name(bench: Bench) -> None:
    """Only the tools of `CapabilityCreation` pass a failing guard, not one that has the name of such a tool."""

    def author_capability() -> str:
        raise AssertionError

    bench.author(ALL_AROUND)
    bench.turns(call('author_capability'))
    assert only_return(await bench.run(tools=[author_capability])).outcome == 'failed'


IN_CODE = """
try:
    await add(a=1, b=2)
except Exception as error:
    result = str(error)
result
"""


async def test_beyond4_a_closed_call_is_an_error_at_its_place_in_code(bench: Bench) -> None:
    """A program in `run_code` can catch it, and reads what the model would."""
    bench.author(raising('before_tool_execute').replace('if probe.armed', 'if call.tool_name == "add"'))
    bench.turns(call('run_code', code=IN_CODE))
    part = only_return(await bench.run([*bench.load(), CodeMode[None]()]))
    assert part.outcome == 'success'
    assert "before_tool_execute of the authored capability 'authored' failed" in str(part.content)
    assert bench.executed == []


async def test_beyond4_a_failing_tool_is_an_error_at_its_place_in_code(bench: Bench) -> None:
    """The same for a tool of an authored toolset, and the rest of the program goes on."""
    bench.author(
        tools('def work() -> int:\n    """Work."""\n    raise ValueError("broken")\nreturn FunctionToolset([work])')
    )
    code = IN_CODE.replace('add(a=1, b=2)', 'work()') + '\n[result, await add(a=1, b=2)]'
    bench.turns(call('run_code', code=code))
    part = only_return(await bench.run([*bench.load(), CodeMode[None]()]))
    assert part.outcome == 'success'
    assert 'ValueError: broken' in str(part.content)
    assert bench.executed == [(1, 2)]
    assert bench.failure() == ('tool work', 'ValueError: broken')
