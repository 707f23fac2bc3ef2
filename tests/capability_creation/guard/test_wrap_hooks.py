"""BEYOND-4: wrap hooks that fail around their handler, which the guard never calls a second time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models.function import FunctionModel

from pydantic_ai_harness.capability_creation.hooks import HOOKS

from .driving import ADD, Bench, call, capability, only_return, outcome, text_of
from .test_every_hook import FINAL, Answer, Scenario, failing, play

HANDLER = {
    'wrap_run': 'handler()',
    'wrap_node_run': 'handler(node)',
    'wrap_model_request': 'handler(request_context)',
    'wrap_tool_validate': 'handler(args)',
    'wrap_tool_execute': 'handler(args)',
    'wrap_output_validate': 'handler(output)',
    'wrap_output_process': 'handler(output)',
}
TOOLS = ['wrap_tool_validate', 'wrap_tool_execute']
OPEN = [name for name in HANDLER if name not in TOOLS]
"""Those that are nothing when they fail."""
STRUCTURED = Scenario((ADD, FINAL), {'output_type': Answer})


def scenario(name: str) -> Scenario:
    return STRUCTURED if '_output_' in name else Scenario()


def counts(bench: Bench) -> tuple[int, int]:
    """Model requests and executions of the agent's tool."""
    return len(bench.fake.requests), len(bench.executed)


async def both(bench: Bench, played: Scenario) -> tuple[Any, Any]:
    """The outcome and the counts of a run without, and of one with the capability."""
    without = await play(bench, played, 'run', guarded=False), counts(bench)
    bench.fake.requests.clear()
    bench.executed.clear()
    return without, (await play(bench, played, 'run', guarded=True), counts(bench))


def until(is_so: Callable[[], bool]) -> None:
    """Wait for what tasks and threads do."""
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_beyond4_each_wrap_hook_is_here() -> None:
    """A wrap hook of a newer framework needs its handler's arguments in this file."""
    assert set(HANDLER) == {name for name, hook in HOOKS.items() if hook.wraps}


FAILURES = {
    'before': ["raise RuntimeError('broken')"],
    'after': ['await {handler}', "raise RuntimeError('broken')"],
    'returns nothing before': ['pass'],
    'returns nothing after': ['await {handler}'],
    'in a task, then fails': ['await asyncio.create_task({handler})', "raise RuntimeError('broken')"],
    'in a group, then fails': [
        'async with asyncio.TaskGroup() as group:',
        '    group.create_task({handler})',
        "raise RuntimeError('broken')",
    ],
    'in a task that is still under way': [
        'task = asyncio.create_task({handler})',
        'await asyncio.sleep(0)',
        "raise RuntimeError('broken')",
    ],
    'times out after': [
        'async with asyncio.timeout(None) as limit:',
        '    await {handler}',
        '    limit.reschedule(0)',
        '    await asyncio.Event().wait()',
    ],
    'system exit': ['raise SystemExit(3)'],
}
ANY_VALUE = {'wrap_output_validate', 'wrap_output_process'}
"""Their results may be anything, so a missing `return` cannot be told from a result of None."""


@pytest.mark.parametrize('how', FAILURES)
@pytest.mark.parametrize('name', OPEN)
async def test_beyond4_a_failing_wrap_hook_changes_nothing(bench: Bench, name: str, how: str) -> None:
    """Before its handler the run goes on with it, after it with its result; either way it is called once."""
    if name in ANY_VALUE and 'nothing' in how:
        pytest.skip('None is a result')
    bench.hook(name, *(line.format(handler=HANDLER[name]) for line in FAILURES[how]))
    without, guarded = await both(bench, scenario(name))
    assert guarded == without
    assert bench.entry().failing_runs == 1
    assert bench.failure()[0] == name


@pytest.mark.parametrize('how', [how for how in FAILURES if 'nothing' not in how])
@pytest.mark.parametrize('name', TOOLS)
async def test_beyond4_a_failing_wrap_hook_around_a_tool_closes(bench: Bench, name: str, how: str) -> None:
    """The model gets no result, is told whether the tool ran, and that is so."""
    bench.hook(name, *(line.format(handler=HANDLER[name]) for line in FAILURES[how]))
    part = only_return(await bench.run())
    ran = name == 'wrap_tool_execute' and how not in {'before', 'system exit'}
    assert part.outcome == 'failed'
    if ran:  # in a thread
        await asyncio.to_thread(until, lambda: bool(bench.executed))
    assert counts(bench) == (2, int(ran))
    if how != 'in a task that is still under way':
        assert ('was not run' in text_of(part)) is not ran


UNSTARTED = ['task = asyncio.create_task({handler})', "raise RuntimeError('broken')"]


class Inside(AbstractCapability[Any]):
    """A developer's capability inside of the authored one, which counts what a handler does first."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()

    async def before_run(self, ctx: Any) -> None:
        self.counted['wrap_run'] += 1

    async def before_node_run(self, ctx: Any, *, node: Any) -> Any:
        self.counted['wrap_node_run'] += 1
        return node

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        self.counted['wrap_model_request'] += 1
        return request_context

    async def before_tool_validate(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        self.counted['wrap_tool_validate'] += 1
        return args

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        self.counted['wrap_tool_execute'] += 1
        return args

    async def before_output_validate(self, ctx: Any, *, output_context: Any, output: Any) -> Any:
        self.counted['wrap_output_validate'] += 1
        return output

    async def before_output_process(self, ctx: Any, *, output_context: Any, output: Any) -> Any:
        self.counted['wrap_output_process'] += 1
        return output


async def counted(bench: Bench, name: str, authored: Sequence[AbstractCapability[Any]]) -> int:
    """How often the framework did what the hook's handler does."""
    inside = Inside()
    bench.turns(*scenario(name).turns)
    await bench.run([*authored, inside], **dict(scenario(name).agent))
    for _ in range(20):
        await asyncio.sleep(0)
    return inside.counted[name]


@pytest.mark.parametrize('name', HANDLER)
async def test_beyond4_a_handler_that_a_task_was_about_to_call_is_called_once(bench: Bench, name: str) -> None:
    """A hook that starts its handler in a task and fails at once leaves no second call behind."""
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    bench.hook(name, *(line.format(handler=HANDLER[name]) for line in UNSTARTED))
    expected = 0 if name in TOOLS else await counted(bench, name, ())
    assert await counted(bench, name, bench.load()) == expected
    assert bench.failure()[0] == name


async def test_beyond4_a_tool_does_not_run_once_its_wrap_hook_has_failed(bench: Bench) -> None:
    """What the model is told was not run does not run later either."""
    bench.hook('wrap_tool_execute', *(line.format(handler='handler(args)') for line in UNSTARTED))
    part = only_return(await bench.run())
    await asyncio.sleep(0.01)
    assert 'was not run' in text_of(part)
    assert bench.executed == []


SWALLOWING = ['try: return await {handler}', "except Exception: raise RuntimeError('another')"]
FAILING_INSIDE = {
    'wrap_run': Scenario((RuntimeError('no model'),)),
    'wrap_node_run': Scenario((RuntimeError('no model'),)),
    'wrap_model_request': Scenario((RuntimeError('no model'),)),
    'wrap_output_validate': Scenario((call('final_result', wrong=1), FINAL), {'output_type': Answer}),
}


@pytest.mark.parametrize('name', FAILING_INSIDE)
async def test_beyond4_an_error_inside_wins_over_that_of_the_hook(bench: Bench, name: str) -> None:
    """A hook that swallows its handler's error and raises another leaves the run with the handler's."""
    bench.hook(name, *(line.format(handler=HANDLER[name]) for line in SWALLOWING))
    without, guarded = await both(bench, FAILING_INSIDE[name])
    assert guarded == without
    assert bench.failure() == (name, 'RuntimeError: another')


@pytest.mark.parametrize('name', FAILING_INSIDE)
async def test_beyond4_an_error_inside_is_no_failure_of_the_hook(bench: Bench, name: str) -> None:
    """A hook that only lets its handler's error pass has not failed."""
    bench.hook(name, f'try: return await {HANDLER[name]}', 'finally: probe.calls.append(1)')
    without, guarded = await both(bench, FAILING_INSIDE[name])
    assert guarded == without
    assert bench.probe.calls
    assert bench.entry().failing_runs == 0


@pytest.mark.parametrize('name', ['wrap_run', 'wrap_node_run', 'wrap_model_request', 'wrap_tool_execute'])
async def test_beyond4_an_error_inside_keeps_its_identity(bench: Bench, name: str) -> None:
    """What the run ends with is the very object that was raised."""
    error = LookupError('mine')

    def broken() -> None:
        raise error

    bench.turns(call('broken') if name == 'wrap_tool_execute' else error)
    bench.hook(name, f'return await {HANDLER[name]}')
    with pytest.raises(LookupError) as caught:
        await bench.run(tools=[broken])
    assert caught.value is error
    assert bench.entry().failing_runs == 0


@pytest.mark.parametrize('name', HANDLER)
async def test_beyond4_a_handler_may_run_in_a_task_of_the_hook(bench: Bench, name: str) -> None:
    """A hook that works is left alone, however it calls its handler."""
    bench.hook(name, f'return await asyncio.create_task({HANDLER[name]})')
    without, guarded = await both(bench, scenario(name))
    assert guarded == without
    assert bench.entry().failing_runs == 0


@pytest.mark.parametrize(
    'name', ['wrap_tool_validate', 'wrap_tool_execute', 'wrap_output_validate', 'wrap_output_process']
)
async def test_beyond4_a_hook_may_call_its_handler_twice_itself(bench: Bench, name: str) -> None:
    """Where the framework allows it, the guard does not get in the way."""
    bench.hook(name, f'await {HANDLER[name]}', f'return await {HANDLER[name]}')
    guarded = await play(bench, scenario(name), 'run', guarded=True), counts(bench)
    assert bench.entry().failing_runs == 0
    bench.fake.requests.clear()
    bench.executed.clear()
    bench.max_failures = None
    assert (await play(bench, scenario(name), 'run', guarded=True), counts(bench)) == guarded
    assert len(bench.executed) == (2 if name == 'wrap_tool_execute' else 1)


@pytest.mark.parametrize('name', ['wrap_model_request', 'wrap_node_run'])
async def test_beyond4_a_second_call_that_fails_ends_with_that_error(bench: Bench, name: str) -> None:
    """A retry of the hook's own that fails as well is the handler's error, not the hook's."""
    bench.hook(name, f'try: return await {HANDLER[name]}', f'except RuntimeError: return await {HANDLER[name]}')
    bench.turns(RuntimeError('no model'))
    guarded = await outcome(bench.run)
    bench.max_failures = None
    assert await outcome(bench.run) == guarded
    assert bench.entry().failing_runs == 0


@pytest.mark.xfail(strict=True, reason='documented limit: a wrap hook that cancels its handler ends the run')
@pytest.mark.parametrize('name', ['wrap_run', 'wrap_node_run', 'wrap_model_request'])
async def test_beyond4_a_time_limit_in_a_hook_ends_no_run(bench: Bench, name: str) -> None:
    """A hook that gives up on its handler has failed, so the run goes on with the handler."""

    async def slow() -> str:
        await asyncio.sleep(0.1)
        return 'slow'

    async def reply(messages: Any, info: Any) -> Any:
        await asyncio.sleep(0.1)
        return bench.fake._reply(messages, info)  # pyright: ignore[reportPrivateUsage]

    options: dict[str, Any] = {'model': FunctionModel(reply)} if name == 'wrap_model_request' else {}
    bench.turns(call('slow'))
    bench.hook(name, f'return await asyncio.wait_for({HANDLER[name]}, 0.02)')
    assert (await bench.run(tools=[slow], **options)).output == 'done'
    assert bench.failure()[0] == name


async def test_beyond4_a_time_limit_around_a_tool_closes(bench: Bench) -> None:
    """A tool that a hook cancelled has failed, and the run goes on."""
    started: list[int] = []

    async def slow() -> str:
        started.append(1)
        await asyncio.sleep(5)
        return 'slow'

    bench.turns(call('slow'))
    bench.hook('wrap_tool_execute', 'return await asyncio.wait_for(handler(args), 0.02)')
    result = await bench.run(tools=[slow])
    assert (only_return(result).outcome, started, result.output) == ('failed', [1], 'done')


async def test_beyond4_a_tool_that_was_cancelled_is_not_said_not_to_have_run(bench: Bench) -> None:
    """The model must not be told that something did not happen which may have happened by half."""

    async def slow() -> str:
        await asyncio.sleep(5)
        return 'slow'

    bench.turns(call('slow'))
    bench.hook('wrap_tool_execute', 'return await asyncio.wait_for(handler(args), 0.02)')
    assert 'was not run' not in text_of(only_return(await bench.run(tools=[slow])))


async def test_beyond4_a_tool_that_failed_inside_a_failing_hook_is_closed(bench: Bench) -> None:
    """A hook that turns a tool's error into one of its own closes the call rather than ending the run."""
    bench.turns(call('failing'))
    bench.author(capability('wrap_tool_execute', *(line.format(handler='handler(args)') for line in SWALLOWING)))
    result = await bench.run(tools=[failing])
    assert (only_return(result).outcome, result.output) == ('failed', 'done')
