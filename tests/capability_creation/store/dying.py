"""Lets writers die, or fail, at each step of each operation, and tells what is found afterwards: `dying DIRECTORY SHARE`.

A warm process that never starts a thread: it forks the writers, which do.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pydantic_ai_harness.capability_creation import CapabilityStore

from .driving import broken, code, digest, put_manifest

Operation = Callable[[CapabilityStore], object]

SHARES = 2
"""Processes that have the operations in turns."""

_DEAD = 77
_MAX_VERSIONS = 4


def _working(store: CapabilityStore) -> None:
    store.write('a', code('one'))
    store.write('b', code('other'))
    store.write('a', code('two'))


def _nothing(_: CapabilityStore) -> None:
    pass


def _refused(store: CapabilityStore) -> None:
    store.write('a', broken())


def _of_the_peer(store: CapabilityStore) -> None:
    put_manifest(store.directory, {'name': 'a', 'module_file': 'a.py', 'class_name': 'Told', 'status': 'active'})
    (store.directory / 'a.py').write_text(code('of the peer'))


def _full(store: CapabilityStore) -> None:
    for number in range(_MAX_VERSIONS):
        store.write('a', code(str(number)))


def _write(store: CapabilityStore) -> None:
    store.write('a', code('new'))


OPERATIONS: dict[str, tuple[Operation, Operation]] = {
    'first write': (_nothing, _write),
    'write': (_working, _write),
    'write over refused code': (_refused, _write),
    'write over an old manifest': (_of_the_peer, _write),
    'write that drops the oldest': (_full, _write),
    'refused, nothing there': (_nothing, lambda store: store.write('a', broken('again'))),
    'refused, working version': (_working, lambda store: store.write('a', broken('again'))),
    'refused, refused before': (_refused, lambda store: store.write('a', broken('again'))),
    'rollback': (_working, lambda store: store.rollback('a', 1)),
    'disable': (_working, lambda store: store.disable('a')),
}
"""What was there before, and what is done."""


@dataclass
class _Faults:
    """Counts the changes to files, and dies or fails at some of them."""

    fails_at: int | None = None
    dies_at: int | None = None
    half: bool = False
    """Whether it dies in the middle of a change rather than before it."""
    steps: int = 0
    originals: dict[str, Any] = field(default_factory=dict[str, Any])

    @contextmanager
    def installed(self) -> Generator[None]:
        self.originals = {name: getattr(Path, name) for name in ('write_bytes', 'replace', 'unlink')}
        with (
            patch.object(Path, 'write_bytes', self._changed('write_bytes')),
            patch.object(Path, 'replace', self._changed('replace')),
            patch.object(Path, 'unlink', self._changed('unlink')),
        ):
            yield

    def _changed(self, name: str) -> Callable[..., object]:
        def change(path: Path, *arguments: Any, **options: Any) -> object:
            self.steps += 1
            if self.steps == self.dies_at:
                if name == 'write_bytes' and self.half:
                    self.originals[name](path, arguments[0][: len(arguments[0]) // 2])
                os._exit(_DEAD)
            if self.steps == self.fails_at:
                raise OSError(28, 'No space left on device', str(path))
            return self.originals[name](path, *arguments, **options)

        return change


def main(directory: Path, share: int) -> None:
    gc.freeze()  # a fork costs half as much
    report = {
        name: _examine(directory / str(number), *each)
        for number, (name, each) in enumerate(OPERATIONS.items())
        if number % SHARES == share
    }
    json.dump(report, sys.stdout)


def _examine(directory: Path, prepare: Operation, operation: Operation) -> dict[str, Any]:
    old = directory / 'old'
    _in_child(lambda: prepare(CapabilityStore(old, max_versions=_MAX_VERSIONS)))
    steps = _tried(directory, 'new', operation, _Faults())['steps']
    before, after = _state(old), _state(directory / 'new')
    tries = {
        **{f'dies before {at}': _Faults(dies_at=at) for at in range(1, steps + 1)},
        **{f'dies within {at}': _Faults(dies_at=at, half=True) for at in range(1, steps + 1)},
        **{f'fails at {at}': _Faults(fails_at=at) for at in range(1, steps + 1)},
        **{
            f'fails at {failed}, dies before {at}': _Faults(fails_at=failed, dies_at=at)
            for failed in range(1, steps + 1)
            for at in range(failed + 1, failed + 4)
        },
    }
    found: dict[str, Any] = {}
    for number, (name, faults) in enumerate(tries.items()):
        ended = _tried(directory, str(number), operation, faults)
        state = _state(directory / str(number))
        which = 'old' if state == before else 'new' if state == after else state
        found[name] = {'end': ended['end'], 'state': which}
    return {'before': before, 'after': after, 'tries': found}


def _tried(directory: Path, name: str, operation: Operation, faults: _Faults) -> dict[str, Any]:
    """Do it once, in a copy of the directory; how that ended and how many steps it took."""
    copy = directory / name
    with suppress(FileNotFoundError):
        shutil.copytree(directory / 'old', copy)
    report = directory / f'{name}.json'

    def attempt() -> None:
        with faults.installed():
            end = 'done'
            try:
                operation(CapabilityStore(copy, max_versions=_MAX_VERSIONS))
            except OSError:
                end = 'raised'
        report.write_text(json.dumps({'end': end, 'steps': faults.steps}))

    if _in_child(attempt) == _DEAD:
        return {'end': 'died'}
    return json.loads(report.read_bytes())


def _in_child(work: Callable[[], object]) -> int:
    if (pid := os.fork()) == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - there is no one else to tell
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, _DEAD}
    return code


def _state(directory: Path) -> dict[str, Any]:
    """All that counts, as a fresh store finds it; without what is another each time."""
    store = CapabilityStore(directory)
    listed = store.list_all()
    for entry in listed:
        store.enable(entry.name) if entry.status == 'active' else store.disable(entry.name)
    internal = directory / '.store'
    return {
        'entries': [[e.name, e.status, e.version, e.sha256, e.class_name, e.last_error, e.edited] for e in listed],
        'code': {path.name: digest(path.read_bytes()) for path in sorted(directory.glob('*.py'))},
        'kept': [[v.version, v.sha256] for e in listed for v in store.history(e.name) if v.version == e.version],
        'left': [path.name for path in (internal / 'staging').glob('*')] if listed else [],
        'journal': (internal / 'commit.json').exists(),
        'loads': len(store.load_active()),
    }


if __name__ == '__main__':
    main(Path(sys.argv[1]), int(sys.argv[2]))
