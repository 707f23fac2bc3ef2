"""BEYOND-4: a run that is cancelled while authored code is busy ends cancelled, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from pydantic_ai_harness.capability_creation.hooks import HOOKS

from .driving import Bench, call, capability, pass_on, tools, toolset_class, wrapper_class
from .test_every_hook import SPECIAL, Scenario

WAIT = 'probe.entered.set(); await asyncio.Event().wait()'
ASYNC = [name for name, hook in HOOKS.items() if hook.kind != 'sync' and name != 'on_run_error']
"""In `on_run_error` the framework itself ends the run with the error that it had."""


async def cancelled_inside(bench: Bench, run: Awaitable[Any]) -> None:
    """Start the run, wait until authored code is reached, cancel it there, and look for what is left."""
    bench.probe.entered = asyncio.Event()
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(run)
    entered = asyncio.ensure_future(bench.probe.entered.wait())
    await asyncio.wait({task, entered}, return_when=asyncio.FIRST_COMPLETED, timeout=10)
    assert entered.done()
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    for _ in range(10):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert bench.entry().failing_runs == 0


@pytest.mark.parametrize('name', ASYNC)
async def test_beyond4_a_run_can_be_cancelled_in_a_hook(bench: Bench, name: str) -> None:
    """The cancellation passes the guard at once, and is no failure."""
    scenario = SPECIAL.get(name, Scenario())
    end = [] if HOOKS[name].kind != 'stream' else [f'async for event in {pass_on(name)}: yield event']
    bench.hook(name, WAIT, *end, attributes=scenario.attributes)
    bench.turns(*scenario.turns)
    await cancelled_inside(bench, bench.run(run_options=dict(scenario.run), **dict(scenario.agent)))


HANDLERS = {
    'wrap_run': 'handler()',
    'wrap_node_run': 'handler(node)',
    'wrap_model_request': 'handler(request_context)',
    'wrap_tool_validate': 'handler(args)',
    'wrap_tool_execute': 'handler(args)',
}


@pytest.mark.parametrize('name', HANDLERS)
async def test_beyond4_a_run_can_be_cancelled_after_the_handler(bench: Bench, name: str) -> None:
    """The result that the guard has kept does not keep the run alive."""
    bench.hook(name, f'await {HANDLERS[name]}', WAIT)
    await cancelled_inside(bench, bench.run())


@pytest.mark.parametrize('name', HANDLERS)
async def test_beyond4_a_hook_that_turns_a_cancellation_into_an_error_keeps_no_run(bench: Bench, name: str) -> None:
    """A `finally` that fails while the run is cancelled ends it too, in whatever way, without a task left over."""
    bench.hook(
        name, 'probe.entered.set()', f'try: return await {HANDLERS[name]}', 'finally: probe.calls.append("left")'
    )

    async def slow() -> str:
        bench.probe.entered.set()
        await asyncio.Event().wait()
        return 'never'

    bench.turns(call('slow'))
    await cancelled_inside_of_tool(bench, bench.run(tools=[slow]))
    assert 'left' in bench.probe.calls or name == 'wrap_tool_validate'


async def cancelled_inside_of_tool(bench: Bench, run: Awaitable[Any]) -> None:
    bench.probe.entered = asyncio.Event()
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(run)
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(10):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


BUSY = {
    'a tool': tools(f'async def work(): {WAIT}\nreturn FunctionToolset([work])'),
    'a validator': tools(
        f'def work(): return 1\nasync def check(ctx): {WAIT}\nreturn FunctionToolset([Tool(work, args_validator=check)])'
    ),
    'prepare': tools(
        f'def work(): return 1\nasync def prepare(ctx, tool_def): {WAIT}\nreturn FunctionToolset([Tool(work, prepare=prepare)])'
    ),
    'get_tools': toolset_class(f'async def get_tools(self, ctx): {WAIT}'),
    'entering': toolset_class(f'async def __aenter__(self): {WAIT}'),
    'leaving': toolset_class(f'async def __aexit__(self, *args): {WAIT}'),
    'for_run_step': toolset_class(f'async def for_run_step(self, ctx): {WAIT}'),
    'get_instructions': toolset_class(f'async def get_instructions(self, ctx): {WAIT}'),
    'a toolset function': tools(f'async def make(ctx): {WAIT}\nreturn make'),
    'a wrapper around a call': wrapper_class(f'async def call_tool(self, name, tool_args, ctx, tool): {WAIT}'),
    'a wrapper around get_tools': wrapper_class(f'async def get_tools(self, ctx): {WAIT}'),
    'an instruction function': capability('get_instructions', f'async def say(): {WAIT}', 'return say'),
    'a model selector': capability('get_model', f'async def select(ctx): {WAIT}', 'return select'),
}


@pytest.mark.parametrize('where', BUSY)
async def test_beyond4_a_run_can_be_cancelled_in_what_a_capability_contributes(bench: Bench, where: str) -> None:
    """Toolsets, tools and functions as well as hooks."""
    bench.author(BUSY[where])
    bench.turns(call('add', a=1, b=2) if 'wrapper' in where else call('work'))
    await cancelled_inside(bench, bench.run())
