"""Cancelled runs, and errors that end a run: nothing goes on, and the pool is whole."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Self

import pytest
from pydantic_ai import Agent, FunctionToolset, Tool, UsageLimitExceeded, UsageLimits
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from pydantic_ai_harness import CodeMode, WorkerPool
from pydantic_ai_harness.code_mode import NestedToolCallEvent
from tests.support import ScriptedModel, code_returns, make_agent, run_snippet

MAX_SECONDS_TO_END = 2
SPIN = 'while True:\n    pass'


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    """A pool of one worker; after each test it must be whole, and no task may be left."""
    pool = WorkerPool(max_workers=1)
    await run_snippet('1', code_mode=CodeMode[None](worker_pool=pool))  # starting a process is not what is timed
    yield pool
    await until(lambda: pool.free_workers == pool.max_workers)
    assert pool.queued_turns == 0
    assert [task for task in asyncio.all_tasks() if 'TestRunner' not in repr(task.get_coro())] == []
    settings = CodeMode[None](worker_pool=pool)
    assert (await run_snippet('await add(a=40)', tools=[Tool(add)], code_mode=settings)).content == 40
    pool.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread or task is about to do."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  neither pool nor run has an event to wait for
            await asyncio.sleep(0.001)


def add(a: int) -> int:
    """Give the number back."""
    return a


@dataclass
class Stall:
    """A tool that never answers, and what happened to its calls."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    calls: int = 0
    cancelled: int = 0
    ended: int = 0
    """Cancelled calls that did what they had to do at their end."""
    cleanup_seconds: float = 0

    async def stall(self) -> int:
        """Never answer."""
        self.calls += 1
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            if self.cleanup_seconds:
                await asyncio.sleep(self.cleanup_seconds)
            self.ended += 1
            raise
        return 0

    def tools(self) -> list[Tool[None]]:
        return [Tool(self.stall), Tool(add)]


def agent_of(pool: WorkerPool, *codes: str, tools: list[Tool[None]] | None = None) -> Agent[None, Any]:
    settings = CodeMode[None](worker_pool=pool, resource_limits='unlimited', max_tool_calls=1_000_000)
    return make_agent(ScriptedModel(codes), tools=tools or [Tool(add)], code_mode=settings)


async def seconds_to_end(running: asyncio.Task[Any]) -> float:
    """How long a run takes to end once it is cancelled."""
    started = time.monotonic()
    running.cancel()
    await asyncio.wait([running], timeout=3)
    seconds = time.monotonic() - started
    assert running.cancelled() or seconds >= 3
    return seconds


def start(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.create_task(work)


# -- cancelled ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'code',
    [
        SPIN,
        'sum(range(10**15))',
        f'try:\n    while True:\n        pass\nfinally:\n    {SPIN.replace(chr(10), chr(10) + "    ")}',
        'while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass',
        'await add(a=1)\n' + SPIN,
    ],
)
async def test_a_run_that_computes_ends_at_once(code: str, pool: WorkerPool) -> None:
    running = start(agent_of(pool, code).run('go'))
    await until(lambda: pool.free_workers == 0)
    await asyncio.sleep(0.1)
    assert await seconds_to_end(running) < MAX_SECONDS_TO_END


async def test_a_run_whose_tool_runs_cancels_the_tool(pool: WorkerPool) -> None:
    stall = Stall()
    running = start(agent_of(pool, 'await stall()', tools=stall.tools()).run('go'))
    await stall.started.wait()
    assert await seconds_to_end(running) < MAX_SECONDS_TO_END
    await until(lambda: stall.cancelled == 1)


async def test_a_run_with_gathered_calls_cancels_each(pool: WorkerPool) -> None:
    stall = Stall()
    code = 'import asyncio\nawait asyncio.gather(*[stall() for _ in range(20)])'
    running = start(agent_of(pool, code, tools=stall.tools()).run('go'))
    await until(lambda: stall.calls == 20)
    assert await seconds_to_end(running) < MAX_SECONDS_TO_END
    await until(lambda: stall.cancelled == 20)


async def test_code_cannot_catch_the_cancellation_of_its_run(pool: WorkerPool) -> None:
    stall = Stall()
    code = 'while True:\n    try:\n        await stall()\n    except BaseException:\n        pass'
    running = start(agent_of(pool, code, tools=stall.tools()).run('go'))
    await stall.started.wait()
    assert await seconds_to_end(running) < MAX_SECONDS_TO_END
    await until(lambda: stall.cancelled == 1)
    await asyncio.sleep(0.05)
    assert stall.calls == 1


async def test_a_run_that_waits_for_a_worker_gives_its_place_up(pool: WorkerPool) -> None:
    first = start(agent_of(pool, SPIN).run('go'))
    await until(lambda: pool.free_workers == 0)
    second = start(agent_of(pool, 'await add(a=1)').run('go'))
    await until(lambda: pool.queued_turns == 1)
    third = start(agent_of(pool, 'await add(a=3)').run('go'))
    await until(lambda: pool.queued_turns == 2)
    seconds = await seconds_to_end(second)
    assert await seconds_to_end(first) < MAX_SECONDS_TO_END
    result = await asyncio.wait_for(third, 5)
    assert code_returns(result.all_messages())[0].content == 3
    assert seconds < MAX_SECONDS_TO_END


async def test_a_run_whose_code_is_being_checked(pool: WorkerPool) -> None:
    long = '\n'.join(f'x{n} = {{"a": [{n}, {{"b": ({n}, "c")}}]}}["a"][1]' for n in range(3_000))
    running = start(agent_of(pool, long).run('go'))
    await asyncio.sleep(0.03)
    assert not running.done()
    assert await seconds_to_end(running) < MAX_SECONDS_TO_END


@pytest.mark.parametrize('sleep', ['import asyncio\nawait asyncio.sleep(60)', 'import time\ntime.sleep(60)'])
async def test_a_run_whose_code_sleeps(sleep: str, pool: WorkerPool) -> None:
    running = start(agent_of(pool, sleep).run('go'))
    await asyncio.sleep(0.15)
    assert await seconds_to_end(running) < MAX_SECONDS_TO_END


async def test_a_run_that_waits_while_another_has_its_worker(pool: WorkerPool) -> None:
    stall = Stall()
    waiting = start(agent_of(pool, 'x = 1\nawait stall()', tools=stall.tools()).run('go'))
    await stall.started.wait()
    (returned,) = code_returns((await agent_of(pool, '1 + 1').run('go')).all_messages())
    assert returned.content == 2
    assert await seconds_to_end(waiting) < MAX_SECONDS_TO_END
    await until(lambda: stall.cancelled == 1)


async def test_a_tool_that_takes_a_moment_to_end_is_awaited(pool: WorkerPool) -> None:
    stall = Stall(cleanup_seconds=0.2)
    running = start(agent_of(pool, 'await stall()', tools=stall.tools()).run('go'))
    await stall.started.wait()
    assert await seconds_to_end(running) < 2
    assert stall.ended == 1


async def test_several_tools_that_take_a_moment_to_end_are_awaited(pool: WorkerPool) -> None:
    stall = Stall(cleanup_seconds=0.2)
    code = 'import asyncio\nawait asyncio.gather(stall(), stall(), stall())'
    running = start(agent_of(pool, code, tools=stall.tools()).run('go'))
    await until(lambda: stall.calls == 3)
    assert await seconds_to_end(running) < 2
    assert stall.ended == 3


class Doors(FunctionToolset[None]):
    """A toolset that tells whether it was left open, as a connection to a server would be."""

    open = 0

    async def __aenter__(self) -> Self:
        self.open += 1
        return self

    async def __aexit__(self, *args: object) -> bool | None:
        self.open -= 1
        return None


async def test_a_run_that_is_cancelled_again_while_it_ends() -> None:
    pool = WorkerPool(max_workers=1)
    stall = Stall(cleanup_seconds=0.2)
    doors = Doors(stall.tools())
    code = 'import asyncio\nawait asyncio.gather(stall(), stall())'
    settings = CodeMode[None](worker_pool=pool)
    running = start(make_agent(ScriptedModel([code]), toolsets=[doors], code_mode=settings).run('go'))
    await until(lambda: stall.calls == 2)
    running.cancel()
    await asyncio.sleep(0.05)
    running.cancel()
    await asyncio.wait([running])
    await asyncio.sleep(0.05)
    assert running.cancelled()
    assert (stall.ended, doors.open, pool.free_workers) == (2, 0, 1)
    pool.close()


async def test_a_run_within_a_time_limit_of_the_application(pool: WorkerPool) -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.15):
            await agent_of(pool, SPIN).run('go')
    assert time.monotonic() - started < 0.15 + MAX_SECONDS_TO_END


async def test_an_agent_inside_a_tool_of_a_cancelled_run(pool: WorkerPool) -> None:
    stall = Stall()

    async def ask() -> str:
        await agent_of(pool, 'await stall()', tools=stall.tools()).run('go')
        return 'never'

    running = start(agent_of(pool, 'await ask()', tools=[Tool(ask)]).run('go'))
    await stall.started.wait()
    assert await seconds_to_end(running) < MAX_SECONDS_TO_END
    await until(lambda: stall.cancelled == 1)


async def test_a_run_left_by_its_stream(pool: WorkerPool) -> None:
    stall = Stall()

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[DeltaToolCalls]:
        yield {0: DeltaToolCall(name='run_code', json_args=json.dumps({'code': 'await stall()'}), tool_call_id='c')}

    agent = agent_of(pool, tools=stall.tools())
    async with agent.run_stream_events('go', model=FunctionModel(stream_function=stream)) as events:
        async for event in events:
            if isinstance(event, NestedToolCallEvent):
                break
    await until(lambda: stall.cancelled == stall.calls)


async def test_runs_cancelled_at_any_moment() -> None:
    pool = WorkerPool(max_workers=1)
    moments = random.Random(7)  # noqa: S311
    code = 'import asyncio\nwhile True:\n    await asyncio.gather(*[add(a=n) for n in range(8)])'
    for _ in range(80):
        running = start(agent_of(pool, code).run('go'))
        await asyncio.sleep(0.01 + moments.random() * 0.03)
        running.cancel()
        await asyncio.wait([running], timeout=5)
        assert running.cancelled()
        await until(lambda: pool.free_workers == 1)
    pool.close()


async def test_many_runs_cancelled_together(pool: WorkerPool) -> None:
    code = 'import asyncio\nwhile True:\n    await asyncio.gather(add(a=2), add(a=1))'
    runs = [start(agent_of(pool, code).run('go')) for _ in range(12)]
    await asyncio.sleep(0.1)
    started = time.monotonic()
    for running in runs:
        running.cancel()
    await asyncio.wait(runs, timeout=5)
    assert all(running.cancelled() for running in runs)
    assert time.monotonic() - started < 2


# -- ended by an error -------------------------------------------------------------------------------------------


class Quit(BaseException):
    """Ends a program, as KeyboardInterrupt does."""


@pytest.mark.parametrize('code', ['await leave()', 'import asyncio\nawait asyncio.gather(stall(), stall(), leave())'])
async def test_an_error_that_ends_programs_ends_the_run(code: str, pool: WorkerPool) -> None:
    stall = Stall()

    async def leave() -> int:
        await asyncio.sleep(0.02)
        raise Quit

    agent = agent_of(pool, f'try:\n    pass\nfinally:\n    pass\n{code}', tools=[Tool(leave), *stall.tools()])
    with pytest.raises(Quit):
        await agent.run('go')
    await until(lambda: stall.cancelled == stall.calls)


async def test_an_exceeded_limit_cancels_the_other_calls(pool: WorkerPool) -> None:
    stall = Stall()
    code = 'import asyncio\nawait asyncio.gather(stall(), stall(), add(a=1), add(a=2), add(a=3))'
    agent = agent_of(pool, code, tools=stall.tools())
    async with asyncio.timeout(5):
        with pytest.raises(UsageLimitExceeded):
            await agent.run('go', usage_limits=UsageLimits(tool_calls_limit=3))
    await until(lambda: stall.cancelled == stall.calls)
    assert stall.calls > 0


async def test_a_failed_snippet_cancels_the_calls_that_it_left(pool: WorkerPool) -> None:
    stall = Stall()
    code = 'import asyncio\nasync def bad():\n    await add(a=1)\n    1 / 0\nawait asyncio.gather(stall(), bad())'
    result = await agent_of(pool, code, 'await add(a=5)', tools=stall.tools()).run('go')
    failed, after = code_returns(result.all_messages())
    assert '- stall() did not finish' in str(failed.content)
    assert (stall.calls, stall.cancelled) == (1, 1)
    assert after.content == 5


async def test_a_snippet_that_ends_without_waiting_cancels_its_calls(pool: WorkerPool) -> None:
    stall = Stall()
    code = """
import asyncio
async def hurry():
    await add(a=1)
    raise KeyError
try:
    await asyncio.gather(stall(), hurry())
except KeyError:
    pass
'over'
"""
    (returned,) = code_returns((await agent_of(pool, code, tools=stall.tools()).run('go')).all_messages())
    assert returned.content == 'over'
    assert (stall.calls, stall.cancelled) == (1, 1)


async def test_a_tool_past_its_own_time_limit_raises_in_the_code(pool: WorkerPool) -> None:
    stall = Stall()
    code = 'try:\n    await stall()\nexcept Exception as e:\n    r = type(e).__name__\n[r, await add(a=1)]'
    agent = agent_of(pool, code, tools=[Tool(stall.stall, timeout=0.05), Tool(add)])
    (returned,) = code_returns((await agent.run('go')).all_messages())
    assert returned.content == ['RuntimeError', 1]
    assert stall.cancelled == 1


async def test_a_run_that_is_cancelled_closes_its_toolsets(pool: WorkerPool) -> None:
    stall = Stall()
    doors = Doors(stall.tools())
    settings = CodeMode[None](worker_pool=pool)
    running = start(make_agent(ScriptedModel(['await stall()']), toolsets=[doors], code_mode=settings).run('go'))
    await stall.started.wait()
    assert doors.open == 1
    assert await seconds_to_end(running) < MAX_SECONDS_TO_END
    assert doors.open == 0


async def test_a_tool_that_cancels_itself_does_not_hang_the_run(pool: WorkerPool) -> None:
    async def cancel() -> int:
        raise asyncio.CancelledError

    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await agent_of(pool, 'await cancel()', tools=[Tool(cancel)]).run('go')


async def test_a_pool_closed_while_a_run_waits_ends_the_run() -> None:
    pool = WorkerPool(max_workers=1)
    stall = Stall()
    running = start(agent_of(pool, 'await stall()', tools=stall.tools()).run('go'))
    await stall.started.wait()
    pool.close()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 5)
