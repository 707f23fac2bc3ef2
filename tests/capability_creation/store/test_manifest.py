"""CC-6: the manifest is written whole, and one that cannot be read is never replaced."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic_ai.exceptions import UserError

from pydantic_ai_harness.capability_creation import CapabilityFailure, CapabilityStore

from .driving import broken, code, entry_of, files, old_entry, put_manifest, raw_entry, raw_manifest, told

UNREADABLE = {
    'half': '{"capabilities": [{"name": "a", "module_f',
    'empty': '',
    'white space': ' \n',
    'null': 'null',
    'a list': '[]',
    'no list': '{"capabilities": {"a": {}}}',
    'null for the list': '{"capabilities": null}',
    'an entry that is none': '{"capabilities": ["a"]}',
    'an entry without a file': '{"capabilities": [{"name": "a"}]}',
    'a status that is none': json.dumps({'capabilities': [old_entry(status='broken')]}),
    'a version that is none': json.dumps({'capabilities': [old_entry(version='one')]}),
    'a time that is none': json.dumps({'capabilities': [old_entry(written_at='yesterday')]}),
    'not UTF-8': b'{"capabilities": [], "note": "\xff"}',
    'a conflict': '<<<<<<< HEAD\n{"capabilities": []}\n=======\n{}\n>>>>>>> other\n',
}
CHANGES: dict[str, Callable[[CapabilityStore], object]] = {
    'write': lambda store: store.write('a', code('new')),
    'write of broken code': lambda store: store.write('a', broken()),
    'write of another': lambda store: store.write('b', code()),
    'disable': lambda store: store.disable('a'),
    'enable': lambda store: store.enable('a'),
    'rollback': lambda store: store.rollback('a', 1),
    'approve': lambda store: store.approve('a'),
}


@pytest.fixture(params=UNREADABLE.values(), ids=list(UNREADABLE))
def unreadable(request: pytest.FixtureRequest, store: CapabilityStore, directory: Path) -> CapabilityStore:
    """A store with a capability, whose manifest was spoilt afterwards."""
    store.write('a', code())
    content: str | bytes = request.param
    (directory / 'manifest.json').write_bytes(content.encode() if isinstance(content, str) else content)
    return store


def test_cc6_an_unreadable_manifest_counts_as_empty_for_reading(unreadable: CapabilityStore) -> None:
    """A run starts without authored capabilities rather than not at all."""
    before = files(unreadable.directory)
    assert unreadable.list_all() == []
    assert unreadable.load_active() == []
    assert files(unreadable.directory) == before


@pytest.mark.parametrize('change', CHANGES.values(), ids=CHANGES.keys())
def test_cc6_an_unreadable_manifest_is_not_replaced(
    unreadable: CapabilityStore, change: Callable[[CapabilityStore], object]
) -> None:
    """Whatever would change it says so instead, and every file stays to the byte."""
    before = files(unreadable.directory)
    with pytest.raises(UserError, match=r'manifest\.json cannot be read, so nothing in it was changed'):
        change(unreadable)
    assert files(unreadable.directory) == before


def test_cc6_a_manifest_that_is_spoilt_during_the_check_is_not_replaced(
    store: CapabilityStore, directory: Path
) -> None:
    """It is read again when the verdict is kept."""
    store.write('a', code())
    source = store.prepare('a', code('new'))
    verdict = store.check(source).result()
    (directory / 'manifest.json').write_text('{')
    before = files(directory)
    with pytest.raises(UserError):
        store.commit(source, verdict)
    assert files(directory) == before


def test_cc6_a_manifest_that_is_a_folder_is_not_replaced(store: CapabilityStore, directory: Path) -> None:
    """It cannot be read, so it counts as any other."""
    (directory / 'manifest.json').mkdir(parents=True)
    assert store.list_all() == []
    with pytest.raises(UserError):
        store.write('a', code())
    assert not (directory / 'a.py').exists()


def test_cc6_a_mended_manifest_works_again(store: CapabilityStore, directory: Path) -> None:
    """Nothing is remembered of the time in which it could not be read."""
    store.write('a', code())
    good = (directory / 'manifest.json').read_bytes()
    (directory / 'manifest.json').write_text('{')
    assert store.load_active() == []
    (directory / 'manifest.json').write_bytes(good)
    assert told(store) == {'a': 'one'}
    assert store.write('a', code('two')).version == 2


def test_cc6_a_manifest_that_another_process_just_made_can_be_read(
    store: CapabilityStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing there when it is read, the first manifest there a moment later: that is no unreadable manifest."""

    def read_just_before_it_is_made(path: Path) -> bytes:
        put_manifest(directory, old_entry('b'))
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, 'read_bytes', read_just_before_it_is_made)
    store.prepare('a', code())


def test_cc6_unknown_fields_survive(store: CapabilityStore, directory: Path) -> None:
    """What a newer release has put into the file is there after each kind of rewrite."""
    later = {'trust': {'level': 3}, 'tags': ['x', None], 'last_failure': None}
    put_manifest(directory, old_entry('a', **later), old_entry('b'), schema='7', settings={'deep': [1, {'er': None}]})
    for name in 'ab':
        (directory / f'{name}.py').write_text(code(name))
    store.write('c', code())
    store.disable('a')
    store.enable('a')
    store.run_failed(entry_of(store), CapabilityFailure(where='x', error='y', failed_at=datetime.now(UTC)))
    (directory / 'a.py').write_text(broken())
    store.load_active()
    assert raw_entry(directory)['last_error'] is not None
    store.write('b', code('new'))
    raw = raw_manifest(directory)
    assert (raw['schema'], raw['settings']) == ('7', {'deep': [1, {'er': None}]})
    assert (raw_entry(directory)['trust'], raw_entry(directory)['tags']) == ({'level': 3}, ['x', None])


def test_cc6_unknown_fields_of_a_failure_survive(store: CapabilityStore, directory: Path) -> None:
    """Also what is nested in an entry may be of a newer release."""
    failure = {'where': 'x', 'error': 'y', 'failed_at': '2026-01-01T00:00:00Z', 'span': 'abc'}
    put_manifest(directory, old_entry('a', last_failure=failure))
    (directory / 'a.py').write_text(code())
    store.disable('a')
    assert raw_entry(directory)['last_failure']['span'] == 'abc'


def test_cc6_what_is_looked_up_is_not_stored(store: CapabilityStore, directory: Path) -> None:
    """`edited` is an answer, not a field of the file."""
    store.write('a', code())
    assert 'edited' not in raw_entry(directory)


def test_cc6_the_manifest_is_never_seen_half_written(
    store: CapabilityStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is only ever moved into place: nothing writes into the file itself."""
    opened: list[Path] = []
    original = Path.write_bytes

    def write_bytes(path: Path, data: bytes) -> int:
        opened.append(path)
        return original(path, data)

    monkeypatch.setattr(Path, 'write_bytes', write_bytes)
    store.write('a', code())
    store.write('a', broken())
    store.disable('a')
    assert len(opened) == 5
    assert all(path.parent.name == 'staging' for path in opened)


@pytest.mark.parametrize('manifest_text', ['{}', '{"capabilities": []}', '{"version": 2}'])
def test_cc6_a_manifest_without_entries_is_empty_and_not_unreadable(
    store: CapabilityStore, directory: Path, manifest_text: str
) -> None:
    """There is nothing in it that a write could lose."""
    directory.mkdir()
    (directory / 'manifest.json').write_text(manifest_text)
    assert store.list_all() == []
    assert store.write('a', code()).version == 1


def test_cc6_a_directory_that_is_not_there_is_made_by_the_first_write_only(
    store: CapabilityStore, directory: Path
) -> None:
    """Reading makes no files."""
    assert store.list_all() == []
    assert store.load_active() == []
    assert not store.disable('a')
    with pytest.raises(LookupError):
        store.history('a')
    assert not directory.exists()
    store.write('a', code())
    assert directory.exists()
