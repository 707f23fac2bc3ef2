"""Kills writers again and again, and looks at what they leave: `crashing DIRECTORY SEED ROUNDS`.

A warm process that never starts a thread: it forks the writers, which do.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic_ai_harness.capability_creation import CapabilityFailure, CapabilityStore

from .driving import assert_whole, broken, code, entry_of

MAX_VERSIONS = 3
WRITERS = 2
_NAMES = ('a', 'b', 'c')
_FAILURE = CapabilityFailure(where='before_run', error='ValueError: no', failed_at=datetime(2026, 1, 1, tzinfo=UTC))
_OPERATIONS = ('write',) * 6 + ('refuse',) * 3 + ('rollback', 'rollback', 'disable', 'enable', 'fail', 'approve')


def main(directory: Path, seed: int, rounds: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    gc.freeze()  # a fork costs half as much
    interrupted = staged = 0
    for number in range(rounds):
        writers = [_fork_writer(directory, chance.getrandbits(32)) for _ in range(WRITERS)]
        for writer in writers:
            time.sleep(chance.uniform(0, 0.02 / WRITERS))
            os.kill(writer, signal.SIGKILL)
            _, status = os.waitpid(writer, 0)
            assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, f'seed {seed}, round {number}: it failed'
        interrupted += (directory / '.store' / 'commit.json').exists()
        staged += any((directory / '.store' / 'staging').glob('*'))
        try:
            assert_whole(directory)
        except BaseException:
            sys.stderr.write(f'seed {seed}, round {number}\n')
            raise
    _, status = os.waitpid(_fork(lambda: _write_all(directory)), 0)
    assert status == 0
    histories = [CapabilityStore(directory).history(name) for name in _NAMES]
    assert all(len(history) <= MAX_VERSIONS for history in histories)
    versions = max(history[-1].version for history in histories)
    json.dump({'interrupted': interrupted, 'staged': staged, 'versions': versions}, sys.stdout)


def _fork_writer(directory: Path, seed: int) -> int:
    reading, writing = os.pipe()
    pid = _fork(lambda: _write_until_killed(directory, seed, writing))
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    return pid


def _fork(work: Callable[[], object]) -> int:
    if (pid := os.fork()) == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - there is no one else to tell
            traceback.print_exc()
        finally:
            os._exit(1)
    return pid


def _write_all(directory: Path) -> None:
    """Versions that outlived their turn, because writers died before they dropped them, go with the next write."""
    for name in _NAMES:
        CapabilityStore(directory, max_versions=MAX_VERSIONS).write(name, code(f'{name} last'))


def _write_until_killed(directory: Path, seed: int, ready: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    store = CapabilityStore(directory, max_versions=MAX_VERSIONS)
    os.write(ready, b'x')
    while True:
        with suppress(LookupError):  # not written yet, or dropped by the other writer
            _do_something(store, chance)


def _do_something(store: CapabilityStore, chance: random.Random) -> None:
    name = chance.choice(_NAMES)
    match chance.choice(_OPERATIONS):
        case 'write':
            store.write(name, code(f'{name} {chance.randrange(12)}'))
        case 'refuse':
            store.write(name, broken(f'{name} {chance.randrange(12)}'))
        case 'rollback':
            store.rollback(name, chance.choice(store.history(name)).version)
        case 'disable':
            store.disable(name)
        case 'enable':
            store.enable(name)
        case 'approve':
            with suppress(ValueError):  # what is there was refused
                store.approve(name)
        case _:
            if name in {entry.name for entry in store.list_all()}:
                store.run_failed(entry_of(store, name), _FAILURE)


if __name__ == '__main__':
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
