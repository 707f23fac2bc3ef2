"""What the tests of the store, and the processes that they start, share."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.capabilities import AbstractCapability

from pydantic_ai_harness.capability_creation import AuthoredCapability, CapabilityStore
from pydantic_ai_harness.capability_creation.guard import LoadedCapability

ROOT = Path(__file__).parents[3]
LONG_SECS = 240
"""How long a test may take that takes ten seconds on a machine with nothing else to do."""
PATIENCE_SECS = 30
"""How long something may take that takes milliseconds."""


def code(text: str = 'one') -> str:
    """A capability that tells the model `text`."""
    return (
        'from pydantic_ai.capabilities import AbstractCapability\n\n\n'
        'class Told(AbstractCapability):\n'
        '    def get_instructions(self):\n'
        f'        return {text!r}\n'
    )


def broken(text: str = 'broken') -> str:
    """Code that is refused, with `text` in the reason."""
    return f'raise ValueError({text!r})\n'


def digest(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def unguarded(capability: AbstractCapability[object]) -> AbstractCapability[Any]:
    """The instance of the authored class."""
    assert isinstance(capability, LoadedCapability)
    return capability.authored


def told(store: CapabilityStore) -> dict[str, object]:
    """What each loaded capability tells the model, by name."""
    loaded = store.load_active()
    assert all(isinstance(each, LoadedCapability) for each in loaded)
    return {each.entry.name: each.authored.get_instructions() for each in loaded if isinstance(each, LoadedCapability)}


def entry_of(store: CapabilityStore, name: str = 'a') -> AuthoredCapability:
    (found,) = [entry for entry in store.list_all() if entry.name == name]
    return found


def raw_manifest(directory: Path) -> dict[str, Any]:
    """The manifest, without the help of the library."""
    return json.loads((directory / 'manifest.json').read_bytes())


def raw_entry(directory: Path, name: str = 'a') -> dict[str, Any]:
    (found,) = [entry for entry in raw_manifest(directory)['capabilities'] if entry['name'] == name]
    return found


def put_manifest(directory: Path, *entries: dict[str, Any], **others: Any) -> None:
    """Write a manifest as something else than this library would."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / 'manifest.json').write_text(json.dumps({'capabilities': entries, **others}))


def old_entry(name: str = 'a', **changes: Any) -> dict[str, Any]:
    """An entry as the peer's release wrote it."""
    return {
        'name': name,
        'module_file': f'{name}.py',
        'class_name': 'Told',
        'status': 'active',
        'last_error': None,
        **changes,
    }


def files(directory: Path) -> dict[str, bytes]:
    """Every file below the directory that is not the lock's."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob('*'))
        if path.is_file() and not path.name.startswith('lock')
    }


def start(module: str, *arguments: object) -> subprocess.Popen[str]:
    """Start one of the modules of this folder in a process of its own."""
    return subprocess.Popen(
        [sys.executable, '-m', f'tests.capability_creation.store.{module}', *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str]) -> str:
    """What it printed, once it has ended well."""
    try:
        printed, _ = process.communicate(timeout=LONG_SECS)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, printed
    return printed


def outputs(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """What they printed, once all have ended well; none is left if one has not."""
    try:
        return [output(process) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def run_python(source: str, *arguments: object) -> str:
    """What a fresh process prints that runs the source."""
    process = subprocess.Popen(
        [sys.executable, '-c', source, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    return output(process)


def assert_whole(directory: Path) -> None:
    """Whatever has happened to its writers, which are all gone: the directory is as one of them left it complete."""
    if (directory / 'manifest.json').exists():
        raw_manifest(directory)
    store = CapabilityStore(directory)
    listed = store.list_all()
    assert not [entry.name for entry in listed if entry.edited]
    working = {entry.name for entry in listed if entry.status == 'active' and entry.last_error is None}
    assert set(told(store)) == working
    assert store.list_all() == listed
    for entry in listed:
        _assert_entry_whole(store, entry)
    if listed:
        take_the_lock(store, listed[0])
        assert list((directory / '.store' / 'staging').iterdir()) == []
    assert not (directory / '.store' / 'commit.json').exists()


def take_the_lock(store: CapabilityStore, entry: AuthoredCapability) -> None:
    """Do something that writes, and starts no thread."""
    (store.enable if entry.status == 'active' else store.disable)(entry.name)


def _assert_entry_whole(store: CapabilityStore, entry: AuthoredCapability) -> None:
    raw = raw_entry(store.directory, entry.name)
    content = (store.directory / raw['module_file']).read_bytes()
    history = store.history(entry.name)
    numbers = [kept.version for kept in history]
    assert numbers == sorted(set(numbers))
    assert [digest(store.source(entry.name, kept.version)) for kept in history] == [kept.sha256 for kept in history]
    if raw['version'] is None:
        assert content.decode().split("'")[1] in (entry.last_error or '')  # the text that `broken` raises
    else:
        assert digest(content) == raw['sha256']
        assert (history[-1].version, history[-1].sha256) == (raw['version'], raw['sha256'])
