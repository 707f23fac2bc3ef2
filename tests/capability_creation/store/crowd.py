"""One of many processes that share a directory: `crowd ROLE DIRECTORY ...`. It says `ready` once it has imported everything."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from pydantic_ai_harness.capability_creation import CapabilityStore
from pydantic_ai_harness.capability_creation.directory import Directory
from pydantic_ai_harness.capability_creation.guard import LoadedCapability

from .driving import code, digest

PREFIXES = 'pqrs'
SHARED = ('a', 'b', 'c', 'd', 'e')


def write(directory: Path, prefix: str, count: str) -> None:
    """Write capabilities of its own."""
    store = CapabilityStore(directory)
    for number in range(int(count)):
        assert store.write(f'{prefix}_{number}', code(f'{prefix}_{number} 0')).last_error is None


def rewrite(directory: Path, prefix: str, count: str) -> None:
    """Write the same names as the others."""
    store = CapabilityStore(directory)
    for number in range(int(count)):
        name = SHARED[number % len(SHARED)]
        assert store.write(name, code(f'{name} {prefix} {number}')).last_error is None


WRITERS = {'write': write, 'rewrite': rewrite}


def read(directory: Path, done: str) -> None:
    """Look at everything, in every way, until a file says that it is over."""
    store = CapabilityStore(directory)
    looks = 0
    while not Path(done).exists():
        looks += 1
        time.sleep(0.005)  # leave the writers some of the machine
        if (manifest := directory / 'manifest.json').exists():
            json.loads(manifest.read_bytes())
        listed = store.list_all()
        assert not [entry.name for entry in listed if entry.edited]
        assert not [entry.last_error for entry in listed if entry.last_error is not None]
        loaded = [each for each in store.load_active() if isinstance(each, LoadedCapability)]
        assert {entry.name for entry in listed} <= {each.entry.name for each in loaded}
        for each in loaded:
            text = each.authored.get_instructions()
            assert isinstance(text, str)
            assert text.split()[0] == each.entry.name
            assert digest(code(text)) == each.entry.sha256
    assert looks > 1


def together(directory: Path, role: str) -> None:
    """Four that write at once, and one that looks on until they are done; forked from this one, which is warm."""
    done = directory.parent / 'done'
    reader = _fork(lambda: read(directory, str(done)))
    writers = [_fork(lambda prefix=prefix: WRITERS[role](directory, prefix, '25')) for prefix in PREFIXES]
    ends = [os.waitpid(writer, 0)[1] for writer in writers]
    done.touch()
    assert [*ends, os.waitpid(reader, 0)[1]] == [0] * 5


def _fork(work: Callable[[], None]) -> int:
    if (pid := os.fork()) == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - there is no one else to tell
            traceback.print_exc()
        finally:
            os._exit(1)
    return pid


def hold(directory: Path) -> None:
    """Hold the lock for ever."""
    with Directory(directory).lock():
        print('held', flush=True)
        signal.pause()


if __name__ == '__main__':
    role = {'together': together, 'hold': hold}[sys.argv[1]]
    print('ready', flush=True)
    role(Path(sys.argv[2]), *sys.argv[3:])
