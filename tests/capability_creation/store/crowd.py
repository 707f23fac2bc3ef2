"""One of many processes that share a directory: `crowd ROLE DIRECTORY ...`. It says `ready`, and waits to be told."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

from pydantic_ai_harness.capability_creation import CapabilityStore
from pydantic_ai_harness.capability_creation.directory import Directory
from pydantic_ai_harness.capability_creation.guard import LoadedCapability

from .driving import code, digest

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
    print(looks)


def hold(directory: Path) -> None:
    """Hold the lock for ever."""
    with Directory(directory).lock():
        print('held', flush=True)
        signal.pause()


if __name__ == '__main__':
    role = {'write': write, 'rewrite': rewrite, 'read': read, 'hold': hold}[sys.argv[1]]
    print('ready', flush=True)
    role(Path(sys.argv[2]), *sys.argv[3:])
