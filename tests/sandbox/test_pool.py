"""BEYOND-2: one pool of workers serves any number of sessions."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic_monty import MountDir, OSAccess

from pydantic_ai_harness.errors import ConfigurationError
from pydantic_ai_harness.sandbox import (
    Call,
    Failed,
    FailureKind,
    Finished,
    Needs,
    PoolClosedError,
    Returned,
    SandboxLimits,
    Session,
    Snippet,
    Step,
    WorkerPool,
    shared_pool,
)
from pydantic_ai_harness.sandbox import snippet as snippet_module

from .driving import (
    FOREVER,
    PATIENCE_SECS,
    child_processes,
    close_all,
    computing,
    failure_of,
    feed,
    is_whole,
    left_waiting,
    lost_by,
    needs_of,
    returned,
    run,
    value_of,
    wait_until,
    works,
)

DOUBLING = 'total = {}\nfor _ in range(3): total += await ask(total)\ntotal'
"""Asks three times; whoever answers with its argument makes the value eight times the start."""
CLOSED = 'This WorkerPool was closed. Build another one, or pass none to use the shared pool.'


@pytest.mark.parametrize('max_workers', [1, 2])
def test_beyond2_fifty_sessions_interleave_on_few_workers(max_workers: int) -> None:
    others = child_processes()
    pool = WorkerPool(max_workers=max_workers)
    sessions = [Session(pool) for _ in range(50)]
    chance = random.Random(max_workers)  # noqa: S311  an order, no secret
    steps = {n: feed(session, DOUBLING.format(n), awaited='ask') for n, session in enumerate(sessions)}
    for _ in range(3):
        order = list(steps)
        chance.shuffle(order)
        steps = {n: sessions[n].advance(echoed(needs_of(steps[n]))) for n in order}
    assert {n: value_of(step) for n, step in steps.items()} == {n: 8 * n for n in range(50)}
    assert [run(session, 'total') for session in sessions] == [8 * n for n in range(50)]
    assert len(child_processes() - others) <= max_workers
    close_all(*sessions)
    assert is_whole(pool)
    pool.close()


def test_beyond2_a_pool_holds_no_more_processes_than_workers() -> None:
    others = child_processes()
    pool = WorkerPool(max_workers=2)
    sessions = [Session(pool) for _ in range(10)]
    for session in sessions:
        left_waiting(session)
    assert len(child_processes() - others) == 2
    assert sum(session.holds_worker for session in sessions) == 2
    close_all(*sessions)
    pool.close()
    assert wait_until(lambda: child_processes() <= others)


def test_beyond2_the_session_that_waits_longest_loses_its_worker_first() -> None:
    pool = WorkerPool(max_workers=3)
    first, second, third, fourth, fifth = sessions = [Session(pool) for _ in range(5)]
    for session in (first, second, third):
        left_waiting(session, 'await ask()\nawait ask()')
        wait_until_lendable(pool, session)
    needs_of(first.advance({0: Returned(None)}))
    wait_until_lendable(pool, first)
    run(fourth, '1')
    assert [session.holds_worker for session in sessions] == [True, False, True, True, False]
    wait_until_lendable(pool, fourth)
    run(fifth, '1')
    assert [session.holds_worker for session in sessions] == [True, False, False, True, True]
    close_all(*sessions)
    assert is_whole(pool)
    pool.close()


def test_beyond2_a_session_with_a_worker_keeps_it_while_workers_are_free(lone_worker: WorkerPool) -> None:
    session = Session(lone_worker)
    for _ in range(10):
        left_waiting(session)
        assert (session.stored_state, lone_worker.free_workers) == (None, 0)
    close_all(session)
    assert is_whole(lone_worker)


def test_beyond2_turns_are_served_first_come_first_served(lone_worker: WorkerPool) -> None:
    busy = Session(lone_worker)
    running = computing(busy)
    served: list[int] = []
    sessions = [Session(lone_worker) for _ in range(10)]
    futures = [feed(session, '1') for session in sessions]
    for n, future in enumerate(futures):
        future.add_done_callback(lambda _, n=n: served.append(n))
    assert (lone_worker.free_workers, lone_worker.queued_turns) == (0, 10)
    busy.abort()
    lost_by(running, FailureKind.ABORTED)
    assert [value_of(future) for future in futures] == [1] * 10
    assert served == list(range(10))
    close_all(busy, *sessions)
    assert is_whole(lone_worker)


def test_beyond2_sessions_nested_in_answers_never_lock_up(lone_worker: WorkerPool) -> None:
    def nested(depth: int) -> object:
        session = Session(lone_worker)
        needs = left_waiting(session, 'answer = await ask()\nanswer + 1')
        value = value_of(session.advance(returned(needs, nested(depth - 1) if depth else 0)))
        close_all(session)
        return value

    assert nested(10) == 11
    assert is_whole(lone_worker)


FAILING = {
    'error': '1 / 0',
    'syntax': 'def (',
    'time': FOREVER,
    'memory': 'kept = "x" * 10**12',
    'recursion': 'def deeper(): return deeper()\ndeeper()',
    'no host form': 'from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Key:\n  n: int\n{Key(1): 2}',
}


@pytest.mark.parametrize('code', FAILING.values(), ids=FAILING)
def test_beyond2_a_snippet_that_fails_costs_the_pool_nothing(lone_worker: WorkerPool, code: str) -> None:
    session = Session(lone_worker, limits=SandboxLimits(max_duration_secs=0.1, max_memory=10_000_000))
    other = Session(lone_worker)
    for _ in range(3):
        feed(session, code).exception(PATIENCE_SECS)
        assert works(other)
    close_all(session, other)
    assert is_whole(lone_worker)


def test_beyond2_a_snippet_that_printed_too_much_never_blocks_another_session(
    lone_worker: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snippet_module, 'MAX_PRINTED_BYTES', 1_000)
    session, other = Session(lone_worker), Session(lone_worker)
    assert failure_of(feed(session, 'print("x" * 2_000)\nask()', plain='ask')).kind is FailureKind.PRINTED
    assert feed(other, '1').result(2) == Finished(1)


def test_beyond2_a_cancelled_turn_is_left_out(lone_worker: WorkerPool) -> None:
    busy, session, other = (Session(lone_worker) for _ in range(3))
    running = computing(busy)
    run_never, run_next = feed(session, 'kept = 1'), feed(other, '1')
    assert run_never.cancel()
    busy.abort()
    lost_by(running, FailureKind.ABORTED)
    assert value_of(run_next) == 1
    assert failure_of(feed(session, 'kept')).error_type == 'NameError'
    close_all(busy, session, other)
    assert is_whole(lone_worker)


def test_beyond2_feeding_again_from_a_done_callback_leaves_the_pool_whole() -> None:
    pool = WorkerPool(max_workers=2)
    session = Session(pool)
    fed_again: Future[Future[Step]] = Future()
    first = feed(session, 'for _ in range(200_000): pass')
    first.add_done_callback(lambda _: fed_again.set_result(feed(session, '2')))
    assert value_of(fed_again.result(PATIENCE_SECS)) == 2
    close_all(session)
    assert is_whole(pool)


def test_beyond2_feeding_again_from_another_thread_leaves_the_pool_whole() -> None:
    pool = WorkerPool(max_workers=3)
    sessions = [Session(pool) for _ in range(3)]
    for _ in range(300):
        assert [value_of(feed(session, '1')) for session in sessions] == [1, 1, 1]
    close_all(*sessions)
    assert is_whole(pool)
    pool.close()


# What one session does to its worker, and what the next one on that worker would see of it.
TRACES = {
    'variable': ('trace = 1', 'try:\n  trace\nexcept NameError:\n  trace = None\ntrace is None'),
    'function': ('def len(x): return 99', 'len([1])== 1'),
    'module': ('import math\ntry:\n  math.pi = 3\nexcept Exception:\n  pass', 'import math\nmath.pi > 3.1'),
    'import': ('import math', 'try:\n  math\nexcept NameError:\n  clean = True\nclean'),
    'sys': ('import sys\ntry:\n  sys.trace = 1\nexcept Exception:\n  pass', 'import sys\nnot hasattr(sys, "trace")'),
    'environment': ('import os\ntry:\n  os.environ["TRACE"] = "1"\nexcept Exception:\n  pass', 'import os\nos.getenv("TRACE") is None'),
    'directory': ('import os\nos.chdir("/data")', 'import os\nos.getcwd() == "/"'),
    'random': ('import random\nrandom.seed(1)\nrandom.random()', 'import random\na = random.random()\nrandom.seed(1)\nrandom.random()\na != random.random()'),
    'asyncio': ('import asyncio\npending = ask()\nawait asyncio.sleep(1)', 'import asyncio\nawait asyncio.gather()'),
}  # fmt: skip


@pytest.mark.parametrize(('leave', 'clean'), TRACES.values(), ids=TRACES)
@pytest.mark.parametrize('how', ['closed', 'set aside', 'left half-way'])
def test_beyond2_a_worker_is_clean_for_the_next_session(
    lone_worker: WorkerPool, tmp_path: Path, leave: str, clean: str, how: str
) -> None:
    others = child_processes()
    mount = MountDir(host_path=tmp_path, virtual_path='/data', mode='read-write')
    first = Session(lone_worker, os_handler=OSAccess(environ={}))
    code = f'{leave}\nawait ask()' if how == 'left half-way' else leave
    step = feed(first, code, awaited='ask', mounts=[mount]).result(PATIENCE_SECS)
    assert not isinstance(step, Failed)
    (worker,) = child_processes() - others
    if how == 'closed':
        close_all(first)
    second = Session(lone_worker, os_handler=OSAccess(environ={}))
    assert run(second, clean) in (True, [])
    assert child_processes() - others == {worker}
    close_all(first, second)


@pytest.mark.parametrize('max_workers', [0, -1, True, False])
def test_beyond2_a_size_that_is_no_positive_number_is_refused(max_workers: int) -> None:
    with pytest.raises(ConfigurationError) as refused:
        WorkerPool(max_workers=max_workers)
    assert str(refused.value) == f'`max_workers` must be a positive whole number or None, not {max_workers!r}.'


@pytest.mark.parametrize('max_workers', [1.5, 2.0, '2', float('nan')])
def test_beyond2_a_size_that_is_no_whole_number_is_refused(max_workers: int) -> None:
    with pytest.raises(ConfigurationError, match='must be a positive whole number'):
        WorkerPool(max_workers=max_workers)


def test_beyond2_by_default_there_is_a_worker_for_each_processor_and_at_least_two() -> None:
    assert WorkerPool().max_workers == max(2, os.cpu_count() or 1)


def test_beyond2_no_process_starts_before_the_first_turn() -> None:
    others = child_processes()
    pool = WorkerPool(max_workers=1)
    session = Session(pool)
    assert child_processes() == others
    assert works(session)
    pool.close()


def test_beyond2_a_process_has_one_shared_pool() -> None:
    with ThreadPoolExecutor(16) as threads:
        pools = [threads.submit(shared_pool) for _ in range(64)]
    assert {id(pool.result()) for pool in pools} == {id(shared_pool())}


def test_beyond2_a_closed_pool_refuses_turns_with_a_clear_message() -> None:
    pool = WorkerPool(max_workers=1)
    idle, waiting = Session(pool), Session(pool)
    run(idle, 'x = 1')
    needs = left_waiting(waiting)
    pool.close()
    pool.close()
    assert pool.is_closed
    for use in (
        lambda: feed(idle, 'x'),
        lambda: waiting.advance(returned(needs, None)),
        lambda: feed(Session(pool), '1'),
    ):
        with pytest.raises(PoolClosedError) as refused:
            use()
        assert str(refused.value) == CLOSED
    close_all(idle, waiting)


def test_beyond2_turns_that_queue_are_settled_when_the_pool_is_closed() -> None:
    pool = WorkerPool(max_workers=1)
    busy = Session(pool)
    running = computing(busy)
    queued = [feed(Session(pool), '1') for _ in range(5)]
    pool.close()
    for future in queued:
        error = future.exception(PATIENCE_SECS)
        assert isinstance(error, PoolClosedError)
        assert str(error) == CLOSED
    busy.abort()
    lost_by(running, FailureKind.ABORTED)


def test_beyond2_closing_the_pool_ends_a_turn_that_computes() -> None:
    pool = WorkerPool(max_workers=1)
    session = Session(pool)
    running = computing(session)
    pool.close()
    try:
        assert running.result(2)
    finally:
        session.abort()


def test_beyond2_a_pool_that_was_never_used_can_be_closed() -> None:
    pool = WorkerPool()
    pool.close()
    with pytest.raises(PoolClosedError):
        feed(Session(pool), '1')


def test_beyond2_event_loops_and_threads_share_a_pool(pool: WorkerPool) -> None:
    async def answer(call: Call) -> object:
        await asyncio.sleep(0)
        return call.args[0]

    async def drive(start: int) -> object:
        session = Session(pool)
        step = await asyncio.wrap_future(feed(session, DOUBLING.format(start), awaited='ask'))
        while isinstance(step, Needs):
            values = [await answer(call) for call in step.requests if isinstance(call, Call)]
            step = await asyncio.wrap_future(session.advance(returned(step, *values)))
        await asyncio.wrap_future(session.close())
        return step

    async def drive_many(start: int) -> list[object]:
        return await asyncio.gather(*[drive(start + n) for n in range(5)])

    def drive_in_a_loop(start: int) -> list[object]:
        return asyncio.run(drive_many(start))

    def drive_plainly(start: int) -> list[object]:
        return [drive_without_loop(pool, start + n) for n in range(5)]

    ways: list[Callable[[int], list[object]]] = [drive_in_a_loop, drive_plainly]
    with ThreadPoolExecutor(16) as threads:
        futures = {start: threads.submit(ways[start % 2], start) for start in range(16)}
        for start, future in futures.items():
            assert future.result(PATIENCE_SECS) == [Finished(8 * (start + n)) for n in range(5)]
    assert is_whole(pool)


async def test_beyond2_an_event_loop_is_not_blocked_while_a_snippet_computes(lone_worker: WorkerPool) -> None:
    session = Session(lone_worker)
    future = asyncio.wrap_future(session.feed(Snippet(code=FOREVER)))
    ticks = 0
    async with asyncio.timeout(0.2):
        while ticks < 50:
            await asyncio.sleep(0.001)
            ticks += 1
    assert not future.done()
    session.abort()
    assert isinstance(await future, Failed)


def drive_without_loop(pool: WorkerPool, start: int) -> object:
    session = Session(pool)
    step = feed(session, DOUBLING.format(start), awaited='ask').result(PATIENCE_SECS)
    while isinstance(step, Needs):
        step = session.advance(echoed(step)).result(PATIENCE_SECS)
    close_all(session)
    return step


def echoed(needs: Needs) -> dict[int, Returned]:
    return {call.id: Returned(call.args[0]) for call in needs.requests if isinstance(call, Call)}


def wait_until_lendable(pool: WorkerPool, session: Session) -> None:
    """A step is told to its caller just before the pool counts the session among those that wait."""
    assert wait_until(lambda: session in pool._lendable)  # pyright: ignore[reportPrivateUsage]
