"""BEYOND-4: hooks that return what the framework cannot go on with, and event streams that break off."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any

import pytest
from pydantic_ai.messages import AgentStreamEvent

from pydantic_ai_harness.capability_creation.hooks import HOOKS

from .driving import HEAD, Bench, capability, only_return, outcome, text_of
from .test_every_hook import SPECIAL, TOOL_HOOKS, Scenario, play

MUST_RETURN = [
    'for_agent',
    'for_run',
    'prepare_tools',
    'prepare_output_tools',
    'after_run',
    'wrap_run',
    'on_run_error',
    'before_node_run',
    'after_node_run',
    'wrap_node_run',
    'on_node_run_error',
    'before_model_request',
    'prepare_model_request',
    'after_model_request',
    'wrap_model_request',
    'on_model_request_error',
    'before_tool_validate',
    'after_tool_validate',
    'wrap_tool_validate',
    'on_tool_validate_error',
    'before_tool_execute',
    'before_output_validate',
]
"""The hooks from which nothing is no answer."""

TYPED = [
    *MUST_RETURN,
    'get_wrapper_toolset',
    'get_wrapper_model',
    'resolve_model_id',
    'get_workspace',
    'get_model',
    'get_run_clock',
    'get_default_run_id',
    'get_default_conversation_id',
    'after_tool_execute',
    'wrap_tool_execute',
    'on_tool_execute_error',
    'handle_deferred_tool_calls',
]
"""The hooks whose value is of a certain type."""


def scenario(name: str) -> Scenario:
    return SPECIAL.get(name, Scenario())


@pytest.mark.parametrize('name', MUST_RETURN)
async def test_beyond4_a_forgotten_return_is_a_failure_of_the_hook(bench: Bench, name: str) -> None:
    """The run goes on as without the hook, and the record says what it must return."""
    bench.hook(name, 'probe.calls.append(1)')
    without = await play(bench, scenario(name), 'run', guarded=False)
    bench.executed.clear()
    guarded = await play(bench, scenario(name), 'run', guarded=True)
    assert bench.probe.calls
    where, error = bench.failure()
    assert where == name
    assert f'{name} returned nothing (None). It must return' in error or name in {'for_agent', 'for_run'}
    if name in TOOL_HOOKS:
        assert (guarded[0], bench.executed) == ('done', [])
    else:
        assert guarded == without


@pytest.mark.parametrize('value', ['object()', '5'])
@pytest.mark.parametrize('name', TYPED)
async def test_beyond4_a_value_of_the_wrong_type_is_a_failure_of_the_hook(bench: Bench, name: str, value: str) -> None:
    """The run goes on as without the hook, or closed around a tool."""
    if name in {'after_tool_execute', 'wrap_tool_execute', 'on_tool_execute_error'} and value != 'object()':
        pytest.skip('a result that can be sent')
    bench.hook(name, f'return {value}')
    without = await play(bench, scenario(name), 'run', guarded=False)
    bench.executed.clear()
    guarded = await play(bench, scenario(name), 'run', guarded=True)
    assert bench.failure()[0] == name
    if name in TOOL_HOOKS:
        assert guarded[0] == 'done'
        assert bench.executed == ([(1, 2)] if name == 'after_tool_execute' else [])
    else:
        assert guarded == without


@pytest.mark.parametrize('value', ['None', '5', 'AbstractCapability'])
@pytest.mark.parametrize('name', ['for_run', 'for_agent'])
async def test_beyond4_a_capability_with_an_id_may_forget_a_return_too(bench: Bench, name: str, value: str) -> None:
    """An id of its own makes no difference to the guard."""
    bench.hook(name, f'return {value}', attributes='id = "mine"')
    assert (await bench.run()).output == 'done'
    assert bench.failure()[0] == name


OTHER = """
def other():
    class Other(AbstractCapability):
        async def before_run(self, ctx):
            probe.calls.append('other')
            raise RuntimeError('broken')
    return Other()
"""


@pytest.mark.parametrize('name', ['for_run', 'for_agent'])
async def test_beyond4_the_hooks_of_a_replacement_are_guarded(bench: Bench, name: str) -> None:
    """A capability that returns an instance of another class for a run is guarded as a whole."""
    bench.author(OTHER + capability(name, 'return other()'))
    assert (await bench.run()).output == 'done'
    assert bench.probe.calls == ['other']
    assert bench.failure()[0] == 'before_run'


async def test_beyond4_a_replacement_of_the_same_class_is_guarded(bench: Bench) -> None:
    """A fresh instance for each run, which is what `for_run` is for, is guarded and is used."""
    bench.author(
        capability('for_run', "fresh = Authored(); fresh.mark = 'fresh'; return fresh")
        + '    async def before_run(self, ctx):\n        probe.calls.append(self.mark)\n        raise RuntimeError("broken")\n'
    )
    assert (await bench.run()).output == 'done'
    assert bench.probe.calls == ['fresh']
    assert bench.failure() == ('before_run', 'RuntimeError: broken')


@pytest.mark.xfail(strict=True, reason='a hook that is put on the instance during a run has no guarded method')
async def test_beyond4_a_hook_that_appears_during_a_run_is_guarded(bench: Bench) -> None:
    """An attribute by the name of a hook is called by the framework like the hook."""
    bench.hook('before_run', 'self.before_model_request = None')
    assert (await bench.run()).output == 'done'


UNUSABLE = [
    ('prepare_tools', 'return [dataclasses.replace(each, name="other") for each in tool_defs]'),
    ('prepare_output_tools', 'return [dataclasses.replace(each, name="other") for each in tool_defs]'),
    ('before_model_request', 'request_context.messages = []; return request_context'),
    ('after_node_run', 'from pydantic_graph import End; return End(5)'),
    ('wrap_node_run', 'from pydantic_graph import End; return End(5)'),
    ('get_run_start_time', 'return 5'),
    ('get_run_start_time', 'import datetime; return datetime.datetime.now()'),
    ('handle_deferred_tool_calls', 'return DeferredToolResults(approvals={"call_careful": object()})'),
]


@pytest.mark.parametrize(('name', 'line'), UNUSABLE)
async def test_beyond4_a_value_that_the_framework_refuses_is_a_failure(bench: Bench, name: str, line: str) -> None:
    """What the framework would raise over is the hook's failure, so the run goes on as without it."""
    bench.hook(name, line)
    without = await play(bench, scenario(name), 'run', guarded=False)
    assert await play(bench, scenario(name), 'run', guarded=True) == without


async def test_beyond4_a_hook_that_fails_half_way_is_as_if_it_did_nothing(bench: Bench) -> None:
    """A hook that has emptied the messages and then fails does not leave the model without them."""
    bench.hook('before_model_request', 'request_context.messages.clear()', 'raise RuntimeError("broken")')
    assert (await bench.run()).output == 'done'


@pytest.mark.parametrize('name', [name for name, hook in HOOKS.items() if hook.kind == 'async'])
def test_beyond4_a_hook_that_is_no_coroutine_function_is_refused(bench: Bench, name: str) -> None:
    """The checks say at once that it must be `async def`."""
    entry = bench.store.write('authored', HEAD + capability(name, 'pass').replace(f'async def {name}', f'def {name}'))
    assert entry.last_error is not None
    assert '`async def`' in entry.last_error


@pytest.mark.parametrize('name', [name for name, hook in HOOKS.items() if hook.kind == 'sync'])
def test_beyond4_a_getter_that_is_a_coroutine_function_is_refused(bench: Bench, name: str) -> None:
    """The checks say at once that it must be a plain `def`."""
    entry = bench.store.write('authored', HEAD + capability(name, 'pass').replace(f'def {name}', f'async def {name}'))
    assert entry.last_error is not None
    assert 'plain `def`' in entry.last_error


def test_beyond4_an_inherited_hook_that_is_no_coroutine_function_is_refused(bench: Bench) -> None:
    """A base that the module defines is looked at as well."""
    code = 'class Base:\n    def before_run(self, ctx): return 5\nclass Authored(Base, AbstractCapability): pass\n'
    assert '`async def`' in (bench.store.write('authored', HEAD + code).last_error or '')


LISTENER = """
class Authored(AbstractCapability):
    @on_event(FunctionToolCallEvent)
    async def seen(self, ctx, event):
        probe.calls.append(type(event).__name__)
        raise RuntimeError('broken')
"""


@pytest.mark.parametrize('drive', ['run', 'run on agent', 'stream'])
async def test_beyond4_a_marked_listener_that_fails_is_contained(bench: Bench, drive: Any) -> None:
    """It gets only its events, and its failure is recorded as one of `on_event`."""
    bench.author(LISTENER)
    result = await bench.run(drive=drive)
    assert (result.output, bench.executed, bench.probe.calls) == ('done', [(1, 2)], ['FunctionToolCallEvent'])
    assert bench.failure() == ('on_event', 'RuntimeError: broken')


async def events_of(bench: Bench, *lines: str) -> tuple[list[str], Any]:
    """The events that the consumer of a run gets, and what the run came to."""
    seen: list[str] = []

    async def handler(_ctx: Any, events: AsyncIterable[AgentStreamEvent]) -> None:
        async for event in events:
            seen.append(type(event).__name__)  # noqa: PERF401 - what was seen counts also if the run breaks off

    if lines:
        bench.hook('wrap_run_event_stream', *lines)
    ended = await outcome(lambda: bench.run(None if lines else (), run_options={'event_stream_handler': handler}))
    return seen, ended


STREAMS = {
    'at once': ['raise RuntimeError', 'yield'],
    'after the first': ['async for event in stream:', '    yield event', '    raise RuntimeError'],
    'before the first is passed on': [
        'async for event in stream:',
        '    if event: raise RuntimeError',
        '    yield event',
    ],
    'before the second is passed on': [
        'count = 0',
        'async for event in stream:',
        '    count += 1',
        '    if count == 2: raise RuntimeError',
        '    yield event',
    ],
    'after the last': ['async for event in stream:', '    yield event', 'raise RuntimeError'],
    'no event at all': ['return', 'yield'],
    'ends early': ['async for event in stream:', '    yield event', '    break'],
    'stops the iteration': ['async for event in stream:', '    yield event', '    raise StopAsyncIteration'],
    'closes the stream': ['async for event in stream:', '    yield event', 'raise SystemExit'],
}
BUFFERS = {
    'looks one ahead': [
        'held = None',
        'count = 0',
        'async for event in stream:',
        '    if held is not None: yield held',
        '    held = event',
        '    count += 1',
        '    if count == 2: raise RuntimeError',
        'if held is not None: yield held',
    ],
    'looks one ahead and has passed one on': [
        'held = None',
        'async for event in stream:',
        '    if held is not None:',
        '        yield held',
        '        raise RuntimeError',
        '    held = event',
        'if held is not None: yield held',
    ],
    'holds two back': [
        'held = []',
        'async for event in stream:',
        '    held.append(event)',
        '    if len(held) == 2: raise RuntimeError',
        'for event in held: yield event',
    ],
}


@pytest.mark.parametrize('how', STREAMS)
async def test_beyond4_a_broken_event_stream_loses_and_doubles_nothing(bench: Bench, how: str) -> None:
    """The consumer gets each event once and in order, whenever the hook fails."""
    expected = await events_of(bench)
    bench.executed.clear()
    assert await events_of(bench, *STREAMS[how]) == expected
    assert bench.executed == [(1, 2)]


@pytest.mark.parametrize('how', BUFFERS)
async def test_beyond4_events_that_a_broken_stream_held_back_are_not_lost(bench: Bench, how: str) -> None:
    """Of a hook that reads ahead, what it has not passed on follows when it fails."""
    expected = await events_of(bench)
    assert (await events_of(bench, *BUFFERS[how]))[0] == expected[0]


async def test_beyond4_events_that_a_hook_left_out_stay_out(bench: Bench) -> None:
    """What was swallowed before a failure was meant to be; only the one it failed on follows."""
    expected, _ = await events_of(bench)
    lines = [
        'async for event in stream:',
        '    if isinstance(event, PartStartEvent): continue',
        '    if isinstance(event, FunctionToolCallEvent): raise RuntimeError',
        '    yield event',
    ]
    seen, ended = await events_of(bench, *lines)
    kept = expected.index('FunctionToolCallEvent')
    assert seen[-len(expected[kept:]) :][0] in {'FunctionToolCallEvent', 'PartEndEvent'}
    assert 'FunctionToolCallEvent' in seen
    assert seen.count('PartStartEvent') < expected.count('PartStartEvent')
    assert ended[0] == 'done'


@pytest.mark.parametrize('value', ['None', '5'])
async def test_beyond4_a_stream_that_yields_no_events_is_a_failure(bench: Bench, value: str) -> None:
    """A `yield` without the event is a forgotten value like a forgotten return."""
    expected = await events_of(bench)
    seen, ended = await events_of(bench, f'async for event in stream: yield {value}')
    assert (seen, ended[0]) == (expected[0], 'done')
    assert bench.failure()[0] == 'wrap_run_event_stream'


@pytest.mark.parametrize('name', ['after_tool_execute', 'wrap_tool_execute'])
async def test_beyond4_a_result_that_cannot_be_sent_is_withheld(bench: Bench, name: str) -> None:
    """It would end the run when the messages are written down, so the call is closed."""
    before = 'await handler(args); ' if name == 'wrap_tool_execute' else ''
    bench.hook(name, f'{before}return object()')
    part = only_return(await bench.run())
    assert part.outcome == 'failed'
    assert 'withheld' in text_of(part)
    assert bench.executed == [(1, 2)]
