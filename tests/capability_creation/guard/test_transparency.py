"""BEYOND-4: a guard around what works cannot be told from no guard."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability

from pydantic_ai_harness.capability_creation.hooks import HOOKS

from .driving import ADD, Bench, Drive, call, capability, define, outcome, pass_on, the_guard, tools, wrapper_class
from .test_every_hook import SPECIAL, Scenario, play

QUESTIONS = [
    'has_wrap_run_event_stream',
    'has_on_event',
    'has_resolve_model_id',
    '_has_wrap_node_run',
    '_has_on_node_run_error',
    '_has_wrap_model_request',
    '_has_on_model_request_error',
    '_has_prepare_model_request',
    '_can_supply_model',
    '_has_get_workspace',
    '_emits_app_events',
    'defer_loading',
    'description',
]
"""What the framework asks a capability before it pays for something."""


def passing(name: str) -> str:
    """A hook that notes its call, and does what the framework would."""
    last = (
        f'async for event in {pass_on(name)}: yield event'
        if HOOKS[name].kind == 'stream'
        else f'return {pass_on(name)}'
    )
    return define(name, f'probe.calls.append({name!r})', last)


EVERYTHING = 'class Authored(AbstractCapability):\n' + ''.join(map(passing, HOOKS))


def test_beyond4_the_questions_are_those_of_the_framework() -> None:
    """A property that a newer framework asks is compared below."""
    asked = {
        name
        for name, member in vars(AbstractCapability).items()
        if isinstance(member, property) and name not in {'has_wrap_node_run', '_cancellation_error_types'}
    }
    assert asked <= set(QUESTIONS)


@pytest.mark.parametrize('name', [*HOOKS, 'nothing'])
def test_beyond4_a_guard_costs_nothing_that_the_capability_does_not(bench: Bench, name: str) -> None:
    """An agent does not become a streaming one, nor lose its laziness, by a guard."""
    body = '    pass\n' if name == 'nothing' else passing(name)
    bench.author('class Authored(AbstractCapability):\n' + body)
    loaded = the_guard(bench.load())
    asked: dict[str, Any] = {question: getattr(loaded, question) for question in QUESTIONS}
    assert asked == {question: getattr(loaded.authored, question) for question in QUESTIONS}


@pytest.mark.parametrize(('listens', 'expected'), [('PartStartEvent', True), ('FunctionToolCallEvent', False)])
def test_beyond4_a_guard_listens_to_the_events_of_its_capability(bench: Bench, listens: str, *, expected: bool) -> None:
    """Other events are not even dispatched to it."""
    from pydantic_ai.messages import PartStartEvent, TextPart

    bench.author(
        f'class Authored(AbstractCapability):\n    @on_event({listens})\n    async def seen(self, ctx, event): pass\n'
    )
    event = PartStartEvent(index=0, part=TextPart('x'))
    assert the_guard(bench.load()).listens_to(event) is expected


@pytest.mark.parametrize('drive', ['run', 'stream'])
@pytest.mark.parametrize('name', HOOKS)
async def test_beyond4_a_hook_that_works_is_called_as_without_the_guard(bench: Bench, name: str, drive: Drive) -> None:
    """As often, with the same run, and with nothing recorded."""
    scenario = SPECIAL.get(name, Scenario())
    bench.author(f'class Authored(AbstractCapability):\n    {scenario.attributes or "pass"}\n{passing(name)}')
    guarded = await play(bench, scenario, drive, guarded=True), list(bench.probe.calls)
    bench.probe.calls.clear()
    bench.max_failures = None
    unguarded = await play(bench, scenario, drive, guarded=True), list(bench.probe.calls)
    if name == 'get_description':  # it is loaded by its id, which the guard makes of its name
        assert guarded[0][0] == unguarded[0][0]
    else:
        assert guarded[0] == unguarded[0]
    called = [set(run[1]) for run in (guarded, unguarded)]
    assert called[0] == called[1]
    if HOOKS[name].kind != 'sync':
        assert guarded[1] == unguarded[1]
    assert bench.entry().failing_runs == 0


TWENTY = {
    **{
        f'hook_{name}': 'class Authored(AbstractCapability):\n' + passing(name)
        for name in [
            'before_run',
            'after_run',
            'wrap_run',
            'before_node_run',
            'after_node_run',
            'wrap_node_run',
            'before_model_request',
            'after_model_request',
            'wrap_model_request',
            'before_tool_validate',
            'after_tool_validate',
            'wrap_tool_validate',
            'before_tool_execute',
            'after_tool_execute',
            'wrap_tool_execute',
        ]
    },
    'says': capability('get_instructions', "return ['Be kind.', lambda ctx: f'Step {ctx.run_step}.']"),
    'sets': capability('get_model_settings', "return lambda ctx: {'max_tokens': 5}"),
    'offers': tools('def double(number: int) -> int: return number * 2\nreturn FunctionToolset([double])'),
    'wraps': wrapper_class(
        'async def call_tool(self, name, tool_args, ctx, tool):\n    probe.calls.append(name)\n    return await super().call_tool(name, tool_args, ctx, tool)'
    ),
    'prepares': capability(
        'prepare_tools', 'return [dataclasses.replace(each, description="Prepared.") for each in tool_defs]'
    ),
}


@pytest.mark.parametrize('drive', ['run', 'run on agent', 'stream'])
async def test_beyond4_twenty_guarded_capabilities_behave_as_unguarded(bench: Bench, drive: Drive) -> None:
    """Messages, instructions, settings, tools and the order of all hooks are the same."""
    assert len(TWENTY) == 20
    for name, code in TWENTY.items():
        bench.author(code, name=name)
    bench.turns(ADD, call('double', number=4), [*ADD, *call('double', number='wrong')])
    runs: list[Any] = []
    for max_failures in (3, None):
        bench.max_failures = max_failures
        bench.probe.calls.clear()
        bench.fake.infos.clear()
        ended = await outcome(lambda: bench.run(drive=drive))
        offered = [(info.instructions, info.model_settings, info.function_tools) for info in bench.fake.infos]
        runs.append((ended, offered, list(bench.probe.calls)))
    guarded, unguarded = runs
    assert guarded[0] == unguarded[0]
    assert [each[:2] for each in guarded[1]] == [each[:2] for each in unguarded[1]]
    assert guarded[2] == unguarded[2]
    assert all(entry.failing_runs == 0 for entry in bench.store.list_all())


async def test_beyond4_a_capability_with_every_hook_works_guarded(bench: Bench) -> None:
    """All hooks at once, each doing what the framework would."""
    bench.author(EVERYTHING)
    without = await play(
        bench,
        Scenario((ADD, *SPECIAL['prepare_output_tools'].turns), dict(SPECIAL['prepare_output_tools'].agent)),
        'run',
        guarded=False,
    )
    guarded = await play(
        bench,
        Scenario((ADD, *SPECIAL['prepare_output_tools'].turns), dict(SPECIAL['prepare_output_tools'].agent)),
        'run',
        guarded=True,
    )
    assert guarded == without
    assert bench.entry().failing_runs == 0
    assert len(set(bench.probe.calls)) > 30


@pytest.mark.xfail(strict=True, reason='documented limit: `get_model` with an alias that only the agent resolves')
async def test_beyond4_a_model_name_that_the_agent_resolves_is_as_without_the_guard(bench: Bench) -> None:
    """An alias is for `resolve_model_id` of whoever knows it."""
    from pydantic_ai.models.function import FunctionModel

    class Resolver(AbstractCapability[Any]):
        async def resolve_model_id(self, ctx: Any, *, model_id: str) -> FunctionModel | None:
            return bench.fake.model() if model_id == 'our-best' else None

    bench.hook('get_model', "return 'our-best'")
    assert (await bench.run([*bench.load(), Resolver()], model=None)).output == 'done'
