"""BEYOND-2, CM-10: a run that is cancelled ends its snippet at once and nobody else's."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from pydantic_ai_harness.sandbox import (
    Failed,
    FailureKind,
    Finished,
    Needs,
    SandboxLimits,
    Session,
    WorkerPool,
)

from .driving import (
    FOREVER,
    PATIENCE_SECS,
    close_all,
    computing,
    feed,
    is_whole,
    left_waiting,
    lost_by,
    needs_of,
    returned,
    run,
    works,
)


def test_beyond2_abort_ends_a_computing_snippet_at_once(lone_worker: WorkerPool) -> None:
    session = Session(lone_worker, limits=SandboxLimits.parse('unlimited'))
    waits: list[float] = []
    for _ in range(10):
        future = computing(session)
        started = time.perf_counter()
        session.abort()
        lost_by(future, FailureKind.ABORTED)
        waits.append(time.perf_counter() - started)
    print(f'abort took {min(waits) * 1000:.1f} to {max(waits) * 1000:.1f} ms')
    assert max(waits) < 2
    assert works(session)
    close_all(session)
    assert is_whole(lone_worker)


def test_beyond2_close_ends_a_computing_snippet_without_blocking(lone_worker: WorkerPool) -> None:
    session = Session(lone_worker, limits=SandboxLimits.parse('unlimited'))
    future = computing(session)
    started = time.perf_counter()
    closed = session.close()
    assert time.perf_counter() - started < 0.5
    closed.result(PATIENCE_SECS)
    lost_by(future, FailureKind.ABORTED)
    assert works(session)
    close_all(session)
    assert is_whole(lone_worker)


def test_beyond2_abort_of_a_turn_that_still_queues_refuses_it(lone_worker: WorkerPool) -> None:
    busy, session = Session(lone_worker), Session(lone_worker)
    running = computing(busy)
    queued = feed(session, 'print("ran")')
    session.abort()
    busy.abort()
    lost_by(running, FailureKind.ABORTED)
    lost_by(queued, FailureKind.ABORTED)
    assert session.printed == ''
    assert works(session)
    close_all(busy, session)
    assert is_whole(lone_worker)


@pytest.mark.parametrize('aside', [False, True], ids=['on a worker', 'set aside'])
def test_beyond2_abort_while_the_snippet_waits_refuses_the_next_step(session: Session, *, aside: bool) -> None:
    needs = left_waiting(session, 'kept = 1\nawait ask()')
    if aside:
        session.set_aside()
    session.abort()
    lost_by(session.advance(returned(needs, None)), FailureKind.ABORTED)
    assert works(session)


def test_beyond2_abort_of_a_session_that_does_nothing_leaves_the_next_snippet_alone(session: Session) -> None:
    session.abort()
    run(session, 'kept = 1')
    session.abort()
    assert run(session, 'kept') == 1


@pytest.mark.parametrize('max_workers', [1, 2])
def test_beyond2_aborts_at_random_times_never_disturb_another_session(max_workers: int) -> None:
    pool = WorkerPool(max_workers=max_workers)
    session, other = Session(pool), Session(pool)
    chance = random.Random(max_workers)  # noqa: S311  times, no secrets
    pause = threading.Event()
    with counting_undisturbed(other):
        for _ in range(200):
            loops = chance.choice([10, 1_000, 100_000, 10**9])
            future = feed(session, f'for _ in range({loops}): pass\nawait ask()', awaited='ask')
            pause.wait(chance.random() * 0.004)
            session.abort()
            step = future.result(PATIENCE_SECS)
            if isinstance(step, Needs):
                step = session.advance(returned(step, None)).result(PATIENCE_SECS)
            assert isinstance(step, Failed)
            assert step.kind is FailureKind.ABORTED
            assert run(session, '6 * 7') == 42
    close_all(session, other)
    assert is_whole(pool)
    pool.close()


def test_beyond2_aborts_from_many_threads_are_one_abort(session: Session) -> None:
    for _ in range(5):
        future = computing(session)
        threads = [threading.Thread(target=session.abort) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lost_by(future, FailureKind.ABORTED)
        assert works(session)


def test_beyond2_abort_never_kills_a_worker_that_the_session_gave_back(pool: WorkerPool) -> None:
    other = Session(pool)

    class AbortedLate(Session):
        """Is aborted just when it has given its worker back, which then serves `other`."""

        def _release(self) -> None:
            super()._release()
            run(other, 'kept = 1')
            self.abort()

    killed = AbortedLate(pool, limits=SandboxLimits(max_duration_secs=0.1))
    lost_by(feed(killed, FOREVER), FailureKind.TIME)
    step = feed(other, 'kept').result(PATIENCE_SECS)
    close_all(killed, other)
    assert step == Finished(1)


@contextmanager
def counting_undisturbed(session: Session) -> Generator[None]:
    """Have another thread count in `session` meanwhile; no step may fail and no number be missed."""
    stop = threading.Event()
    steps: list[object] = []

    def count() -> None:
        run(session, 'n = 0')
        while not stop.is_set() and all(isinstance(step, Finished) for step in steps[-1:]):
            needs = needs_of(feed(session, 'n += 1\nawait ask()\nn', awaited='ask'))
            steps.append(session.advance(returned(needs, None)).result(PATIENCE_SECS))

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE_SECS)
    assert steps == [Finished(n + 1) for n in range(len(steps))]
    assert len(steps) > 10
