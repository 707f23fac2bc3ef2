"""BEYOND-4: every hook and getter of the installed framework, failing in a run that really calls it."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import DeferredToolRequests, ModelRetry, PromptedOutput, TextOutput, Tool
from pydantic_ai.capabilities import AbstractCapability

from pydantic_ai_harness.capability_creation.hooks import HOOKS, RESERVED

from .driving import ADD, Bench, Drive, Turn, call, capability, drain, outcome, pass_on, returns, text_of

NOT_CALLED = frozenset({'get_serialization_name'})
"""Asked of the class by agent specs only."""

TOOL_HOOKS = [name for name, hook in HOOKS.items() if hook.around_a_tool and 'error' not in hook.signature.parameters]


class Answer(BaseModel):
    """The structured output."""

    text: str


def twice_as_long(answer: Answer) -> Answer:
    """An output function, which makes the framework process the output."""
    return Answer(text=answer.text * 2)


def failing_output(answer: Answer) -> Answer:
    """An output function that fails."""
    raise ValueError('no such output')


def shout(text: str) -> str:
    """An output function over text."""
    return text.upper()


def failing() -> str:
    """A tool that fails."""
    raise ValueError('no such luck')


def again() -> str:
    """A tool that asks for a retry."""
    raise ModelRetry('try again')


def careful() -> str:
    """A tool that wants to be approved."""
    return 'done with care'


@dataclass(frozen=True)
class Scenario:
    """A run in which one hook is called."""

    turns: tuple[Turn, ...] = (ADD,)
    agent: Mapping[str, Any] = field(default_factory=dict[str, Any])
    run: Mapping[str, Any] = field(default_factory=dict[str, Any])
    attributes: str = ''


FINAL = call('final_result', text='hi')
STRUCTURED = Scenario((call('final_result', wrong=1), FINAL), {'output_type': Answer})
EVENTS = Scenario(run={'event_stream_handler': drain})
TIMED = Scenario(run={'timeout': 50})

SPECIAL: Mapping[str, Scenario] = {
    'get_description': Scenario(
        (call('load_capability', id='authored_authored'),), attributes='defer_loading = True; id = "authored"'
    ),
    'get_run_clock': TIMED,
    'get_run_start_time': TIMED,
    'resolve_model_id': Scenario((), run={'model': 'test'}),
    'prepare_output_tools': STRUCTURED,
    'on_run_error': Scenario((RuntimeError('no model'),)),
    'on_node_run_error': Scenario((RuntimeError('no model'),)),
    'on_model_request_error': Scenario((RuntimeError('no model'),)),
    'on_event': EVENTS,
    'wrap_run_event_stream': EVENTS,
    'on_tool_validate_error': Scenario((call('add', a='one'), ADD)),
    'on_tool_execute_error': Scenario((call('failing'),), {'tools': [failing]}),
    'before_output_validate': STRUCTURED,
    'after_output_validate': STRUCTURED,
    'wrap_output_validate': STRUCTURED,
    'on_output_validate_error': STRUCTURED,
    'before_output_process': STRUCTURED,
    'after_output_process': STRUCTURED,
    'wrap_output_process': STRUCTURED,
    'on_output_process_error': Scenario((FINAL,), {'output_type': failing_output}),
    'handle_deferred_tool_calls': Scenario(
        (call('careful'),),
        {'output_type': [str, DeferredToolRequests], 'tools': [Tool(careful, requires_approval=True)]},
    ),
}

ASYNC = [name for name, hook in HOOKS.items() if hook.kind != 'sync']


def hooks_with_scenarios(*, but: Collection[str] = ()) -> list[Any]:
    """Every hook with the run in which it is called."""
    return [pytest.param(name, SPECIAL.get(name, Scenario()), id=name) for name in HOOKS if name not in but]


def raising(name: str, attributes: str = '') -> str:
    """A capability whose hook says that it was called, and fails; armed only in runs, for the checks call getters."""
    lines = [
        'if probe.armed:',
        f'    probe.calls.append({name!r})',
        f"    raise RuntimeError('{name} is broken')",
        f'async for event in {pass_on(name)}: yield event'
        if HOOKS[name].kind == 'stream'
        else f'return {pass_on(name)}',
    ]
    return capability(name, *lines, attributes=attributes)


async def play(bench: Bench, scenario: Scenario, drive: Drive, *, guarded: bool) -> Any:
    """What the scenario comes to with what is active, or without any capability."""
    bench.turns(*scenario.turns)
    capabilities = None if guarded else ()
    return await outcome(
        lambda: bench.run(capabilities, drive=drive, run_options=dict(scenario.run), **dict(scenario.agent))
    )


def test_beyond4_every_public_method_of_the_framework_is_guarded_or_reserved() -> None:
    """A method that a newer framework brings is guarded without being named, and fails here if it is not."""
    public = {
        name
        for cls in AbstractCapability.__mro__
        for name, member in vars(cls).items()
        if cls is not object
        and not name.startswith('_')
        and (inspect.isroutine(member) or isinstance(member, property))
    }
    assert public == {name for name in HOOKS.keys() | RESERVED | NOT_CALLED if not name.startswith('_')}
    assert not HOOKS.keys() & {*RESERVED, *NOT_CALLED}


def test_beyond4_every_special_scenario_belongs_to_a_hook() -> None:
    """A hook that was renamed would leave its scenario behind."""
    assert SPECIAL.keys() <= HOOKS.keys()


@pytest.mark.parametrize('drive', ['run', 'stream'])
@pytest.mark.parametrize(('name', 'scenario'), hooks_with_scenarios())
async def test_beyond4_a_failing_hook_ends_no_run(bench: Bench, name: str, scenario: Scenario, drive: Drive) -> None:
    """The hook is called and fails, the failure is recorded with its line, and the run is as without it."""
    await fails_without_effect(bench, name, scenario, drive)


@pytest.mark.parametrize(('name', 'scenario'), hooks_with_scenarios(but=ASYNC))
async def test_beyond4_a_failing_getter_ends_no_run_of_an_agent_that_has_it(
    bench: Bench, name: str, scenario: Scenario
) -> None:
    """Getters are asked at other times of a capability that was given to the agent and not to the run."""
    await fails_without_effect(bench, name, scenario, 'run on agent')


async def fails_without_effect(bench: Bench, name: str, scenario: Scenario, drive: Drive) -> None:
    bench.author(raising(name, scenario.attributes))
    without = await play(bench, scenario, drive, guarded=False)
    bench.executed.clear()
    guarded = await play(bench, scenario, drive, guarded=True)

    assert name in bench.probe.calls
    failure = bench.entry().last_failure
    assert failure is not None
    assert (failure.where, failure.error) == (name, f'RuntimeError: {name} is broken')
    assert f'in {name}' in failure.traceback
    assert f"raise RuntimeError('{name} is broken')" in failure.traceback
    if name in TOOL_HOOKS:
        assert guarded[0] == 'done'
        assert bench.executed == ([(1, 2)] if name == 'after_tool_execute' else [])
    elif name != 'get_description':
        assert guarded == without


@pytest.mark.parametrize(('name', 'scenario'), hooks_with_scenarios())
async def test_beyond4_a_hook_that_fails_in_three_runs_is_quarantined(
    bench: Bench, name: str, scenario: Scenario
) -> None:
    """Not after two, and from the next load on it is not there any more."""
    bench.author(raising(name, scenario.attributes))
    counted: list[tuple[int, str]] = []
    for _ in range(3):
        await play(bench, scenario, 'run', guarded=True)
        counted.append((bench.entry().failing_runs, bench.entry().status))
    assert counted == [(1, 'active'), (2, 'active'), (3, 'quarantined')]
    assert bench.load() == []


OUTPUTS: Mapping[str, Scenario] = {
    'tool output with a function': Scenario((call('final_result', wrong=1), FINAL), {'output_type': twice_as_long}),
    'prompted': Scenario(('{"wrong": 1}', '{"text": "hi"}'), {'output_type': PromptedOutput(Answer)}),
    'function over text': Scenario((), {'output_type': TextOutput(shout)}),
}


@pytest.mark.parametrize('drive', ['run', pytest.param('stream', marks=pytest.mark.soak)])
@pytest.mark.parametrize('scenario', list(OUTPUTS.values()), ids=list(OUTPUTS))
@pytest.mark.parametrize('name', [name for name in HOOKS if '_output_' in name])
async def test_beyond4_output_hooks_fail_without_effect_for_each_kind_of_output(
    bench: Bench, name: str, scenario: Scenario, drive: Drive
) -> None:
    """An output is validated and processed as without the hook, also after it was wrong at first."""
    bench.author(raising(name))
    without = await play(bench, scenario, drive, guarded=False)
    assert await play(bench, scenario, drive, guarded=True) == without


RETRIES = Scenario(
    (call('again'), call('nothing'), call('add', a='one'), [*ADD, *call('careful')]), {'tools': [again, careful]}
)


@pytest.mark.parametrize('name', [name for name in HOOKS if name not in {*TOOL_HOOKS, 'get_instructions'}])
async def test_beyond4_a_run_with_retries_is_as_without_the_failing_hook(bench: Bench, name: str) -> None:
    """Retries that the framework makes, unknown tools and parallel calls go through a failing hook untouched."""
    bench.author(raising(name))
    without = await play(bench, RETRIES, 'run', guarded=False)
    assert without[0] == 'done'
    assert await play(bench, RETRIES, 'run', guarded=True) == without


@pytest.mark.parametrize('name', TOOL_HOOKS)
async def test_beyond4_a_failing_tool_hook_says_what_and_where(bench: Bench, name: str) -> None:
    """The model reads which capability, which hook and which line stopped its call."""
    bench.author(raising(name))
    bench.turns(ADD)
    (part,) = returns(await bench.run())
    assert part.outcome == 'failed'
    assert all(word in text_of(part) for word in ("'authored'", name, f"raise RuntimeError('{name} is broken')"))
