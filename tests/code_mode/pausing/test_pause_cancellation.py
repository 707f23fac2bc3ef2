"""BEYOND-1: runs that are cancelled around a pause leave nothing behind, and nothing runs twice."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import RunContext, Tool
from pydantic_ai.exceptions import ApprovalRequired

from pydantic_ai_harness import CodeMode, WorkerPool
from pydantic_ai_harness.code_mode import FileStateStore, MemoryStateStore
from tests.support import run_snippet

from .bank import Bank, Dialogue, approve

BOTH = 'a = await free(n=1)\nb = await pay(amount=a)\nawait free(n=2)'


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread or task is about to do."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  neither pool nor run has an event to wait for
            await asyncio.sleep(0.001)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    """A pool of one worker; after each test it must be whole, and no task may be left."""
    pool = WorkerPool(max_workers=1)
    settings = CodeMode[None](worker_pool=pool)
    await run_snippet('1', code_mode=settings)
    yield pool
    await until(lambda: pool.free_workers == pool.max_workers)
    assert pool.queued_turns == 0
    await until(lambda: not [task for task in asyncio.all_tasks() if 'TestRunner' not in repr(task.get_coro())])
    assert (await run_snippet('40 + 2', code_mode=settings)).content == 42
    pool.close()


@dataclass
class Stall:
    """A tool that does not answer before it is told to."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0
    calls: int = 0

    def tools(self, bank: Bank) -> dict[str, Any]:
        async def stall() -> int:
            self.calls += 1
            self.started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return 0

        async def approved_stall(ctx: RunContext[None]) -> int:
            if not ctx.tool_call_approved:
                raise ApprovalRequired
            return await stall()

        return {'tools': [*bank.tools(), Tool(stall), Tool(approved_stall)]}


def dialogue_on(pool: WorkerPool, store: Any = None, stall: Stall | None = None) -> Dialogue:
    bank = Bank()
    agent_options = {} if stall is None else stall.tools(bank)
    store = MemoryStateStore() if store is None else store
    return Dialogue(bank, store, options={'worker_pool': pool}, agent_options=agent_options)


def start(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.create_task(work)


async def cancel(running: asyncio.Task[Any]) -> None:
    running.cancel()
    await asyncio.wait([running], timeout=5)
    assert running.cancelled()


# -- before the pause ----------------------------------------------------------------------------------------------


async def test_beyond1_cancelled_while_a_call_runs_beside_one_that_waits(pool: WorkerPool) -> None:
    """The running call is cancelled, nothing is stored, and nothing can be resumed."""
    saved: list[str] = []

    class Telling(MemoryStateStore):
        async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
            saved.append(key)

    stall = Stall()
    dialogue = dialogue_on(pool, Telling(), stall)
    running = start(dialogue.run('import asyncio\nawait asyncio.gather(pay(amount=1), stall(), free(n=1))'))
    await until(lambda: stall.started.is_set() and dialogue.bank.ran == ['free 1'])
    await cancel(running)
    await until(lambda: stall.cancelled == 1)
    assert dialogue.bank.ran == ['free 1']
    assert saved == []


@dataclass
class Door(MemoryStateStore):
    """Keeps a save or a take waiting until it is let through."""

    stage: str
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    late: bool = False
    """Wait once it is done, not before."""

    def __post_init__(self) -> None:
        super().__init__()

    async def wait(self, stage: str) -> None:
        if stage == self.stage:
            self.arrived.set()
            await self.opened.wait()

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        if not self.late:
            await self.wait('save')
        await super().save(key, state, expires_at=expires_at)
        if self.late:
            await self.wait('save')

    async def take(self, key: str) -> bytes:
        if not self.late:
            await self.wait('take')
        state = await super().take(key)
        if self.late:
            await self.wait('take')
        return state


@pytest.mark.parametrize('late', [False, True])
async def test_beyond1_cancelled_while_the_pause_is_saved(late: bool, pool: WorkerPool) -> None:
    """The run ends at once; whether the state was written or not, nobody has requests to resume it with."""
    door = Door('save', late=late)
    dialogue = dialogue_on(pool, door)
    running = start(dialogue.run(BOTH))
    await door.arrived.wait()
    await cancel(running)
    assert dialogue.bank.ran == ['free 1']
    door.stage = ''
    await dialogue.run(BOTH)  # the same ids again
    await dialogue.answer(approve)
    assert dialogue.content == 20
    assert dialogue.bank.ran == ['free 1', 'free 1', 'pay 10', 'free 2']


# -- after it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('late', [False, True])
async def test_beyond1_cancelled_while_the_pause_is_taken(late: bool, pool: WorkerPool) -> None:
    """Cancelled before the state was taken, it can be resumed; cancelled after, the next one is told so."""
    door = Door('take', late=late)
    dialogue = dialogue_on(pool, door)
    await dialogue.run(BOTH)
    running = start(dialogue.answer(approve))
    await door.arrived.wait()
    await cancel(running)
    assert dialogue.bank.ran == ['free 1']
    door.stage = ''
    await dialogue.answer(approve)
    if late:
        assert 'it was taken up before' in dialogue.text
        assert 'may have run' in dialogue.text
        assert dialogue.bank.ran == ['free 1']
    else:
        assert dialogue.content == 20
        assert dialogue.bank.ran == ['free 1', 'pay 10', 'free 2']


class SlowStore(MemoryStateStore):
    """Gives a state some time after it was taken, as one over a network does."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = asyncio.Event()

    async def take(self, key: str) -> bytes:
        state = await super().take(key)
        self.taken.set()
        await asyncio.sleep(0.1)
        return state


async def test_beyond1_what_was_taken_for_a_cancelled_run_is_put_back(pool: WorkerPool) -> None:
    store = SlowStore()
    dialogue = dialogue_on(pool, store)
    await dialogue.run(BOTH)
    store.taken.clear()
    running = start(dialogue.answer(approve))
    await store.taken.wait()
    await cancel(running)
    await dialogue.answer(approve)
    assert dialogue.content == 20
    assert dialogue.bank.ran == ['free 1', 'pay 10', 'free 2']


async def test_beyond1_cancelled_while_the_approved_call_runs(pool: WorkerPool) -> None:
    """The call is cancelled once, and a second resume runs nothing of it."""
    stall = Stall()
    dialogue = dialogue_on(pool, stall=stall)
    await dialogue.run('await free(n=1)\nawait approved_stall()')
    running = start(dialogue.answer(approve))
    await stall.started.wait()
    await cancel(running)
    await until(lambda: stall.cancelled == 1)
    await dialogue.answer(approve)
    assert 'it was taken up before' in dialogue.text
    assert 'The calls that waited may have run' in dialogue.text
    assert stall.calls == 1
    assert dialogue.bank.ran == ['free 1']


async def test_beyond1_cancelled_while_resumed_code_computes(pool: WorkerPool) -> None:
    """A loop after the pause ends with the run, and its worker is whole again."""
    dialogue = dialogue_on(pool)
    dialogue.options['resource_limits'] = 'unlimited'
    await dialogue.run('await pay(amount=1)\nwhile True:\n    pass')
    running = start(dialogue.answer(approve))
    await until(lambda: dialogue.bank.ran == ['pay 1'] and pool.free_workers == 0)
    await cancel(running)
    await dialogue.answer(approve)
    assert 'it was taken up before' in dialogue.text
    assert dialogue.bank.ran == ['pay 1']


async def test_beyond1_cancelled_while_resumed_code_sleeps(pool: WorkerPool) -> None:
    """A sleep after the pause ends with the run."""
    dialogue = dialogue_on(pool)
    await dialogue.run('import asyncio\nawait asyncio.gather(pay(amount=1), asyncio.sleep(0))\nawait asyncio.sleep(20)')
    running = start(dialogue.answer(approve))
    await until(lambda: dialogue.bank.ran == ['pay 1'])
    await asyncio.sleep(0.02)
    await cancel(running)


async def test_beyond1_a_pause_gives_its_worker_up(pool: WorkerPool) -> None:
    """Any number of programs wait, without worker, task or place in the queue."""
    dialogues = [dialogue_on(pool) for _ in range(5)]
    for dialogue in dialogues:
        await dialogue.run(BOTH)
        await until(lambda: pool.free_workers == pool.max_workers)
    assert len(asyncio.all_tasks()) <= 2
    for dialogue in reversed(dialogues):
        await dialogue.answer(approve)
        assert dialogue.content == 20


async def test_beyond1_many_resumes_at_once_on_one_worker(pool: WorkerPool) -> None:
    """Programs that are resumed together share the worker, and do not mix."""
    dialogues = [dialogue_on(pool) for _ in range(8)]
    await asyncio.gather(*[dialogue.run(f'x = {n}\nawait pay(amount=x)\nx') for n, dialogue in enumerate(dialogues)])
    await asyncio.gather(*[dialogue.answer(approve) for dialogue in dialogues])
    assert [dialogue.content for dialogue in dialogues] == [*range(8)]
    assert [dialogue.bank.ran for dialogue in dialogues] == [[f'pay {n}'] for n in range(8)]


@pytest.mark.parametrize('seed', range(3))
async def test_beyond1_cancelled_at_any_moment_nothing_runs_twice(seed: int, pool: WorkerPool, tmp_path: Path) -> None:
    """Resumed, cancelled at some moment, and resumed again: each call was made at most once."""
    moments = random.Random(seed)  # noqa: S311  no secrets
    code = 'for n in range(3):\n    await free(n=n)\nawait pay(amount=1)\nfor n in range(3, 6):\n    await slow(n=n)\n1'
    outcomes: set[str] = set()
    for number in range(8):
        dialogue = dialogue_on(pool, FileStateStore(tmp_path / str(number)))
        await dialogue.run(code)
        running = start(dialogue.answer(approve))
        await asyncio.sleep(moments.random() * 0.05)
        running.cancel()
        await asyncio.wait([running], timeout=5)
        if running.cancelled():
            await dialogue.answer(approve)
        outcomes.add(dialogue.returned.outcome)
        assert len(dialogue.bank.ran) == len(set(dialogue.bank.ran))
        assert dialogue.bank.ran[:3] == ['free 0', 'free 1', 'free 2']
        if dialogue.returned.outcome == 'success':
            assert len(dialogue.bank.ran) == 7
    assert outcomes <= {'success', 'failed'}
