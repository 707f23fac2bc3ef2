"""CM-14, CM-15: clock, randomness, environment and files."""

from __future__ import annotations

import threading
from pathlib import Path

import pydantic_monty
import pytest
from pydantic_monty import MountDir, OSAccess

from pydantic_ai_harness.sandbox import (
    FailureKind,
    Session,
    WorkerPool,
)

from .driving import (
    close_all,
    failure_of,
    feed,
    is_whole,
    left_waiting,
    needs_of,
    returned,
    run,
    value_of,
    works,
)

OS_CALLS = {
    'clock': 'import datetime\nisinstance(datetime.datetime.now().year, int)',
    'date': 'import datetime\nisinstance(datetime.date.today().year, int)',
    'time': 'import time\ntime.time() > 0',
    'randomness': 'import random\n0 <= random.random() < 1',
    'environment': 'import os\nos.getenv("HOME") == "/sandbox"',
    'environ': 'import os\nos.environ["HOME"] == "/sandbox"',
}


@pytest.mark.parametrize('code', OS_CALLS.values(), ids=OS_CALLS)
def test_cm14_without_a_handler_clock_randomness_and_environment_are_refused(session: Session, code: str) -> None:
    failed = failure_of(feed(session, code))
    assert (failed.kind, failed.error_type) == (FailureKind.ERROR, 'RuntimeError')
    assert 'is not supported in this environment' in failed.message
    assert works(session)


@pytest.mark.parametrize('code', ['open("/etc/passwd").read()', 'from pathlib import Path\nPath("/").exists()'])
def test_cm14_without_mounts_there_are_no_files(session: Session, code: str) -> None:
    assert failure_of(feed(session, code)).error_type == 'PermissionError'


@pytest.mark.parametrize('aside', [False, True], ids=['kept', 'set aside'])
@pytest.mark.parametrize('code', OS_CALLS.values(), ids=OS_CALLS)
def test_cm14_a_handler_answers_clock_randomness_and_environment(pool: WorkerPool, code: str, *, aside: bool) -> None:
    session = Session(pool, os_handler=OSAccess(environ={'HOME': '/sandbox'}))
    needs = left_waiting(session, f'await ask()\n{code}')
    if aside:
        session.set_aside()
    assert value_of(session.advance(returned(needs, None))) is True
    close_all(session)


def test_cm14_a_handler_is_asked_by_name_in_a_thread_of_the_pool(pool: WorkerPool) -> None:
    asked: list[tuple[object, str]] = []

    def handler(*, name: str, **details: object) -> object:
        asked.append((name, threading.current_thread().name))
        return None

    session = Session(pool, os_handler=handler)
    assert run(session, 'import os\nos.getenv("A", "default")') is None
    ((name, thread),) = asked
    assert (name, thread.startswith('sandbox-worker')) == ('os.getenv', True)
    close_all(session)


def test_cm14_not_handled_refuses_and_an_error_is_raised_in_the_code(pool: WorkerPool) -> None:
    def handler(*, name: str, **details: object) -> object:
        if name == 'os.getenv':
            raise LookupError('no such variable')
        return pydantic_monty.NOT_HANDLED

    session = Session(pool, os_handler=handler)
    assert failure_of(feed(session, OS_CALLS['time'])).error_type == 'RuntimeError'
    code = 'import os\ntry:\n  os.getenv("A")\nexcept LookupError as error:\n  caught = str(error)\ncaught'
    assert run(session, code) == 'no such variable'
    close_all(session)


WRITE = 'with open("/data/new.txt", "w") as file: file.write("new")\n'
READ_BACK = WRITE + 'await ask()\nopen("/data/new.txt").read()'


def test_cm15_all_mounts_read(session: Session, tmp_path: Path) -> None:
    (tmp_path / 'old.txt').write_text('old')
    for mode in ('overlay', 'read-write', 'read-only'):
        mount = MountDir(host_path=tmp_path, virtual_path='/data', mode=mode)
        assert value_of(feed(session, 'open("/data/old.txt").read()', mounts=[mount])) == 'old'
        assert failure_of(feed(session, 'open("/data/old.txt").read()')).error_type == 'PermissionError'


def test_cm15_read_only_refuses_writes(session: Session, tmp_path: Path) -> None:
    mount = MountDir(host_path=tmp_path, virtual_path='/data', mode='read-only')
    assert failure_of(feed(session, WRITE, mounts=[mount])).error_type == 'PermissionError'
    assert list(tmp_path.iterdir()) == []


def test_cm15_read_write_reaches_the_host_and_survives_being_set_aside(session: Session, tmp_path: Path) -> None:
    mount = MountDir(host_path=tmp_path, virtual_path='/data', mode='read-write')
    needs = needs_of(feed(session, READ_BACK, awaited='ask', mounts=[mount]))
    session.set_aside()
    assert session.stored_state is not None
    assert value_of(session.advance(returned(needs, None))) == 'new'
    assert (tmp_path / 'new.txt').read_text() == 'new'


def test_cm15_overlay_writes_last_for_one_snippet_and_never_reach_the_host(session: Session, tmp_path: Path) -> None:
    mount = MountDir(host_path=tmp_path, virtual_path='/data', mode='overlay')
    needs = needs_of(feed(session, READ_BACK, awaited='ask', mounts=[mount]))
    assert value_of(session.advance(returned(needs, None))) == 'new'
    assert list(tmp_path.iterdir()) == []
    assert failure_of(feed(session, 'open("/data/new.txt").read()', mounts=[mount])).error_type == 'FileNotFoundError'


def test_cm15_a_snippet_with_an_overlay_keeps_its_worker_while_others_go_on(
    lone_worker: WorkerPool, tmp_path: Path
) -> None:
    mount = MountDir(host_path=tmp_path, virtual_path='/data', mode='overlay')
    session, other = Session(lone_worker), Session(lone_worker)
    needs = needs_of(feed(session, READ_BACK, awaited='ask', mounts=[mount]))
    assert works(other)
    session.set_aside()
    assert session.stored_state is None
    assert value_of(session.advance(returned(needs, None))) == 'new'
    assert works(other)
    assert session.stored_state is not None
    close_all(session, other)
    assert is_whole(lone_worker)


def test_cm15_a_snippet_with_an_overlay_can_be_left_half_way(lone_worker: WorkerPool, tmp_path: Path) -> None:
    mount = MountDir(host_path=tmp_path, virtual_path='/data', mode='overlay')
    session = Session(lone_worker)
    for _ in range(3):
        needs_of(feed(session, READ_BACK, awaited='ask', mounts=[mount]))
    assert works(session)
    needs_of(feed(session, READ_BACK, awaited='ask', mounts=[mount]))
    close_all(session)
    assert is_whole(lone_worker)
