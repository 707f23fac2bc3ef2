"""BEYOND-2, CM-12: workers that something outside kills, at every point of a session's life."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest

from pydantic_ai_harness.sandbox import Failed, FailureKind, Finished, Needs, Session, Step, WorkerPool

from .driving import (
    PATIENCE_SECS,
    child_processes,
    close_all,
    computing,
    failure_of,
    feed,
    is_whole,
    left_waiting,
    lost_by,
    returned,
    run,
    value_of,
    wait_until,
    works,
)


class Killer:
    """Kills the workers of the pools that were made after it."""

    def __init__(self) -> None:
        self._spared = child_processes()

    def kill(self) -> int:
        victims = child_processes() - self._spared
        for process in victims:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        wait_until(lambda: not victims & child_processes())
        return len(victims)

    @contextmanager
    def killing_all_the_time(self) -> Generator[None]:
        stop = threading.Event()

        def kill() -> None:
            while not stop.wait(0.003):
                self.kill()

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


@pytest.fixture
def killer() -> Killer:
    return Killer()


def test_beyond2_killed_between_snippets(killer: Killer, lone_worker: WorkerPool) -> None:
    session = Session(lone_worker)
    run(session, 'kept = 1')
    assert killer.kill() == 1
    lost_by(feed(session, 'kept'), FailureKind.CRASH)
    assert_whole_again(lone_worker, session)


def test_beyond2_killed_while_the_snippet_waits(killer: Killer, lone_worker: WorkerPool) -> None:
    session = Session(lone_worker)
    needs = left_waiting(session)
    assert killer.kill() == 1
    lost_by(session.advance(returned(needs, None)), FailureKind.CRASH)
    assert_whole_again(lone_worker, session)


def test_beyond2_killed_while_the_snippet_computes(killer: Killer, lone_worker: WorkerPool) -> None:
    session = Session(lone_worker)
    running = computing(session)
    assert killer.kill() == 1
    lost_by(running, FailureKind.CRASH)
    assert_whole_again(lone_worker, session)


def test_beyond2_killed_while_the_session_is_set_aside_makes_no_difference(
    killer: Killer, lone_worker: WorkerPool
) -> None:
    session, waiting = Session(lone_worker), Session(lone_worker)
    run(session, 'kept = 1')
    session.set_aside()
    needs = left_waiting(waiting, 'kept = 2\nawait ask() + kept')
    waiting.set_aside()
    assert killer.kill() == 1
    meet_the_dead_worker(lone_worker)
    assert run(session, 'kept') == 1
    assert value_of(waiting.advance(returned(needs, 40))) == 42
    assert_whole_again(lone_worker, session, waiting)


def test_beyond2_killed_while_others_queue(killer: Killer, lone_worker: WorkerPool) -> None:
    busy = Session(lone_worker)
    running = computing(busy)
    sessions = [Session(lone_worker) for _ in range(5)]
    queued = [feed(session, '6 * 7') for session in sessions]
    assert killer.kill() == 1
    lost_by(running, FailureKind.CRASH)
    assert [value_of(future) for future in queued] == [42] * 5
    assert_whole_again(lone_worker, busy, *sessions)


def test_beyond2_killed_before_another_session_takes_the_worker_of_a_waiting_one(
    killer: Killer, lone_worker: WorkerPool
) -> None:
    session, other = Session(lone_worker), Session(lone_worker)
    needs = left_waiting(session)
    assert killer.kill() == 1
    assert works(other)
    lost_by(session.advance(returned(needs, None)), FailureKind.CRASH)
    assert_whole_again(lone_worker, session, other)


def test_cm12_killed_before_another_session_takes_the_worker_of_an_idle_one(
    killer: Killer, lone_worker: WorkerPool
) -> None:
    session, other = Session(lone_worker), Session(lone_worker)
    run(session, 'kept = 1')
    assert killer.kill() == 1
    assert works(other)
    lost_by(feed(session, '1'), FailureKind.CRASH)
    assert_whole_again(lone_worker, session, other)


@pytest.mark.parametrize('code', ['kept = 1', 'await ask()'], ids=['idle', 'waiting'])
def test_beyond2_killed_before_the_session_is_closed(killer: Killer, lone_worker: WorkerPool, code: str) -> None:
    session = Session(lone_worker)
    feed(session, code, awaited='ask').result(PATIENCE_SECS)
    assert killer.kill() == 1
    close_all(session)
    assert_whole_again(lone_worker, session)


def test_beyond2_killed_before_a_snippet_that_was_left_half_way_is_given_up(
    killer: Killer, lone_worker: WorkerPool
) -> None:
    session = Session(lone_worker)
    left_waiting(session)
    assert killer.kill() == 1
    assert_whole_again(lone_worker, session)


def test_beyond2_killed_while_it_waits_for_the_next_checkout(killer: Killer, lone_worker: WorkerPool) -> None:
    session = Session(lone_worker)
    for _ in range(5):
        assert works(session)
        close_all(session)
        assert killer.kill() == 1
        meet_the_dead_worker(lone_worker)
    assert_whole_again(lone_worker, session)


def test_beyond2_killed_at_random_during_checkouts_and_hand_overs(killer: Killer) -> None:
    pool = WorkerPool(max_workers=2)
    sessions = [Session(pool) for _ in range(6)]
    ends: list[Step] = []
    with killer.killing_all_the_time():
        for round_number in range(40):
            if round_number % 2:
                close_all(*sessions[:3])
            futures = [feed(session, 'x = 40\nawait ask() + x', awaited='ask') for session in sessions]
            for session, future in zip(sessions, futures, strict=True):
                step = future.result(PATIENCE_SECS)
                if isinstance(step, Needs):
                    step = session.advance(returned(step, 2)).result(PATIENCE_SECS)
                ends.append(step)
    assert Finished(42) in ends
    lost = [step for step in ends if step != Finished(42)]
    assert all(isinstance(step, Failed) and step.kind is FailureKind.CRASH and step.session_lost for step in lost)
    for session in sessions:  # what the last kill hit is told once
        feed(session, '1').result(PATIENCE_SECS)
    assert_whole_again(pool, *sessions)
    pool.close()


def test_cm12_the_message_says_that_the_sandbox_crashed(killer: Killer, lone_worker: WorkerPool) -> None:
    session = Session(lone_worker)
    running = computing(session)
    killer.kill()
    assert 'crashed' in failure_of(running).message


def meet_the_dead_worker(pool: WorkerPool) -> None:
    """A worker that died unused may be lent once more before that is noticed."""
    session = Session(pool)
    step = feed(session, '1').result(PATIENCE_SECS)
    assert step == Finished(1) or (isinstance(step, Failed) and step.kind is FailureKind.CRASH)
    close_all(session)


def assert_whole_again(pool: WorkerPool, *sessions: Session) -> None:
    """Each session takes the next snippet, and in the end every worker is free."""
    assert all(works(session) for session in sessions)
    close_all(*sessions)
    assert is_whole(pool)
