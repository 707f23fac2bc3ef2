"""BEYOND-4: any number of processes share a directory."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pydantic_ai_harness.capability_creation import CapabilityStore
from pydantic_ai_harness.capability_creation.directory import Directory

from .crowd import PREFIXES
from .driving import LONG_SECS, PATIENCE_SECS, assert_whole, code, entry_of, output, start, told


def started(role: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that has imported everything."""
    process = start('crowd', role, *arguments)
    assert process.stdout is not None
    assert process.stdout.readline() == 'ready\n'
    return process


@pytest.mark.timeout(LONG_SECS)
def test_beyond4_four_processes_that_write_25_each_lose_none(directory: Path) -> None:
    """100 of 100 survive, while another looks on and never sees anything half done."""
    output(start('crowd', 'together', directory, 'write'))
    store = CapabilityStore(directory)
    names = {f'{prefix}_{number}' for prefix in PREFIXES for number in range(25)}
    assert {entry.name for entry in store.list_all()} == names
    assert told(store) == {name: f'{name} 0' for name in names}
    for prefix in PREFIXES:
        own = [entry.name for entry in store.list_all() if entry.name.startswith(prefix)]
        assert own == [f'{prefix}_{number}' for number in range(25)]
    assert_whole(directory)


@pytest.mark.timeout(LONG_SECS)
def test_beyond4_four_processes_that_write_the_same_five_names(directory: Path) -> None:
    """Each write is a version of its own, numbered without a gap, while another looks on."""
    output(start('crowd', 'together', directory, 'rewrite'))
    store = CapabilityStore(directory)
    assert len(store.list_all()) == 5
    for entry in store.list_all():
        assert entry.version == 20
        assert [kept.version for kept in store.history(entry.name)] == list(range(1, 21))
    assert_whole(directory)


@pytest.fixture
def holder(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the directory's lock."""
    process = started('hold', directory)
    assert process.stdout is not None
    assert process.stdout.readline() == 'held\n'
    yield process
    process.kill()
    process.communicate()


def test_beyond4_a_lock_holder_that_dies_does_not_block(
    store: CapabilityStore, directory: Path, holder: subprocess.Popen[str]
) -> None:
    """A write that waits for it goes on when it is killed; nobody has to clean up."""
    written = threading.Event()
    thread = threading.Thread(target=lambda: store.write('a', code()) and written.set(), daemon=True)
    thread.start()
    with pytest.raises(TimeoutError), Directory(directory).lock(timeout_seconds=0.05):
        pass
    assert not written.is_set()
    holder.send_signal(signal.SIGKILL)
    assert written.wait(PATIENCE_SECS)
    thread.join()
    assert told(store) == {'a': 'one'}
    assert_whole(directory)


def test_beyond4_reading_does_not_wait_for_the_lock(store: CapabilityStore, directory: Path) -> None:
    """A run can start while another process holds it, for however long."""
    store.write('a', code())
    process = started('hold', directory)
    assert process.stdout is not None
    assert process.stdout.readline() == 'held\n'
    try:
        assert told(store) == {'a': 'one'}
        assert entry_of(store).version == 1
        assert len(store.history('a')) == 1
        store.run_passed(entry_of(store))  # waits for a moment, and then does without
    finally:
        process.kill()
        process.communicate()


def test_beyond4_a_process_that_forks_while_it_holds_the_lock_leaves_it_to_no_child(directory: Path) -> None:
    """A child that lives on does not keep what its parent has given back."""
    reading, writing = os.pipe()
    with Directory(directory).lock():
        if (pid := os.fork()) == 0:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
    try:
        with Directory(directory).lock(timeout_seconds=PATIENCE_SECS):
            pass
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(pid, 0)
