"""Driving real sessions in tests, without an event loop."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from pydantic_monty import MountDir

from pydantic_ai_harness.sandbox import (
    Answer,
    Failed,
    FailureKind,
    Finished,
    FunctionKind,
    Needs,
    Returned,
    Session,
    Snippet,
    Step,
    WorkerPool,
)

PATIENCE_SECS = 30.0
"""What no step of a test takes, even on a busy machine."""
FOREVER = 'while True: pass'
_marks = itertools.count()


def feed(
    session: Session, code: str, *, plain: str = '', awaited: str = '', mounts: Sequence[MountDir] = ()
) -> Future[Step]:
    """Feed `code`, which may call the host functions whose names `plain` and `awaited` list."""
    functions: dict[str, FunctionKind] = dict.fromkeys(plain.split(), 'plain')
    functions.update(dict.fromkeys(awaited.split(), 'async'))
    return session.feed(Snippet(code=code, functions=functions, mounts=mounts))


def value_of(future: Future[Step]) -> object:
    """The value of the snippet that must have ended with this step."""
    step = future.result(PATIENCE_SECS)
    assert isinstance(step, Finished), step
    return step.value


def needs_of(future: Future[Step]) -> Needs:
    """What the snippet needs that must have blocked with this step."""
    step = future.result(PATIENCE_SECS)
    assert isinstance(step, Needs), step
    return step


def failure_of(future: Future[Step], *, patience_secs: float = PATIENCE_SECS) -> Failed:
    """How the snippet failed that must have failed with this step."""
    step = future.result(patience_secs)
    assert isinstance(step, Failed), step
    return step


def lost_by(future: Future[Step], kind: FailureKind) -> None:
    """The snippet failed in this way, and the session with it."""
    failed = failure_of(future)
    assert (failed.kind, failed.session_lost) == (kind, True), failed


def run(session: Session, code: str) -> object:
    """The value of a snippet that calls nothing."""
    return value_of(feed(session, code))


def works(session: Session) -> bool:
    """Whether the session takes the next snippet, computes it, and keeps what it binds."""
    return run(session, 'probe = 6 * 7') is None and run(session, 'probe') == 42


def returned(needs: Needs, *values: object) -> dict[int, Answer]:
    """Answers to the first requests of `needs`, in their order."""
    return {request.id: Returned(value) for request, value in zip(needs.requests, values, strict=False)}


def left_waiting(session: Session, code: str = 'await ask()') -> Needs:
    """Feed a snippet that blocks on `ask`, which is a plain function if it is not awaited."""
    kind: FunctionKind = 'async' if 'await ask' in code else 'plain'
    return needs_of(session.feed(Snippet(code=code, functions={'ask': kind})))


def computing(session: Session, code: str = FOREVER) -> Future[Step]:
    """Feed a snippet, and come back when it computes."""
    mark = f'computing {next(_marks)}'
    future = feed(session, f'print({mark!r})\n{code}')
    assert wait_until(lambda: mark in session.printed)
    return future


def close_all(*sessions: Session) -> None:
    for future in [session.close() for session in sessions]:
        future.result(PATIENCE_SECS)


def is_whole(pool: WorkerPool) -> bool:
    """Whether every worker is free again soon, and nothing queues."""
    return wait_until(lambda: (pool.free_workers, pool.queued_turns) == (pool.max_workers, 0), timeout_secs=5)


def wait_until(condition: Callable[[], bool], *, timeout_secs: float = PATIENCE_SECS) -> bool:
    """For what tells nobody when it has happened."""
    pause = threading.Event()
    for _ in range(int(timeout_secs / 0.001)):
        if condition():
            return True
        pause.wait(0.001)
    return condition()


def child_processes() -> set[int]:
    """The living processes that this one started."""
    return {int(entry.name) for entry in Path('/proc').iterdir() if entry.name.isdigit() and _is_child(entry)}


def _is_child(entry: Path) -> bool:
    try:
        state, parent = (entry / 'stat').read_text().rpartition(')')[2].split()[:2]
    except OSError:  # it has ended meanwhile
        return False
    return int(parent) == os.getpid() and state not in 'ZX'
