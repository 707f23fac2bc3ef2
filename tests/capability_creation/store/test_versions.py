"""BEYOND-4: every version is kept, and there is a way back; what was edited by hand is noticed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pydantic_ai_harness.capability_creation import CapabilityFailure, CapabilityStore
from pydantic_ai_harness.capability_creation.directory import Directory
from pydantic_ai_harness.errors import CapabilityRefusedError, ConfigurationError, UnknownCapabilityError

from .driving import broken, code, digest, entry_of, files, old_entry, put_manifest, raw_entry, raw_manifest, told


def kept(store: CapabilityStore, name: str = 'a') -> list[str]:
    """The code of every version, oldest first."""
    return [store.source(name, version.version) for version in store.history(name)]


def test_beyond4_history_has_every_accepted_version_oldest_first(store: CapabilityStore) -> None:
    """Number, hash, time and run of each; refused code is no version."""
    started = datetime.now(UTC)
    store.write('a', code('one'), run_id='run-1')
    store.write('a', broken())
    store.write('a', code('two'), run_id='run-2')
    store.write('b', code())
    history = store.history('a')
    assert [(each.version, each.sha256, each.run_id) for each in history] == [
        (1, digest(code('one')), 'run-1'),
        (2, digest(code('two')), 'run-2'),
    ]
    times = [each.written_at for each in history if each.written_at is not None]
    assert started <= times[0] <= times[1] <= datetime.now(UTC)
    assert [each.version for each in store.history('b')] == [1]


def test_beyond4_the_same_code_twice_is_two_versions(store: CapabilityStore) -> None:
    """A write is a version, whatever it holds."""
    store.write('a', code())
    store.write('a', code())
    assert [each.version for each in store.history('a')] == [1, 2]


def test_beyond4_source_is_that_of_the_file_or_of_a_version(store: CapabilityStore, directory: Path) -> None:
    """Without a version it is what the file holds now, also if it was edited."""
    store.write('a', code('one'))
    store.write('a', code('two'))
    assert (store.source('a'), store.source('a', 1), store.source('a', 2)) == (code('two'), code('one'), code('two'))
    (directory / 'a.py').write_text(code('edited'))
    assert (store.source('a'), store.source('a', 2)) == (code('edited'), code('two'))


def test_beyond4_what_is_not_kept_is_told_with_what_is(store: CapabilityStore, directory: Path) -> None:
    """The answer says which versions there are."""
    store.write('a', code())
    store.write('a', code())
    with pytest.raises(UnknownCapabilityError, match=r"'a' has no version 7\. Versions that are kept: 1, 2\."):
        store.source('a', 7)
    with pytest.raises(UnknownCapabilityError, match=r"No capability is named 'b'\. There are: a\."):
        store.history('b')
    (directory / 'a.py').unlink()
    with pytest.raises(UnknownCapabilityError, match="'a' has no file"):
        store.source('a')


def test_beyond4_diff_shows_what_changed(store: CapabilityStore) -> None:
    """As `diff -u` does, in the direction that was asked for."""
    store.write('a', code('one'))
    store.write('a', code('two'))
    forth, back = store.diff('a', 1, 2).splitlines(), store.diff('a', 2, 1).splitlines()
    assert forth[:2] == ['--- a version 1', '+++ a version 2']
    assert [line for line in forth[3:] if line[0] in '+-'] == ["-        return 'one'", "+        return 'two'"]
    assert [line for line in back[3:] if line[0] in '+-'] == ["-        return 'two'", "+        return 'one'"]
    assert store.diff('a', 1, 1) == ''
    with pytest.raises(UnknownCapabilityError):
        store.diff('a', 1, 3)


def test_beyond4_rollback_makes_an_old_version_the_newest(store: CapabilityStore, directory: Path) -> None:
    """What is in between stays in the history."""
    for text in ('one', 'two', 'three'):
        store.write('a', code(text))
    entry = store.rollback('a', 1)
    assert (entry.version, entry.sha256, entry.status, entry.run_id) == (4, digest(code('one')), 'active', None)
    assert (directory / 'a.py').read_text() == code('one')
    assert told(store) == {'a': 'one'}
    assert kept(store) == [code('one'), code('two'), code('three'), code('one')]


@pytest.mark.parametrize('switch_off', ['disable', 'quarantine'])
def test_beyond4_rollback_switches_on(store: CapabilityStore, switch_off: str) -> None:
    """It is the way out of a quarantine."""
    store.write('a', code('one'))
    store.write('a', code('two'))
    if switch_off == 'disable':
        store.disable('a')
    else:
        for _ in range(3):
            store.run_failed(entry_of(store), CapabilityFailure(where='x', error='y', failed_at=datetime.now(UTC)))
    assert told(store) == {}
    assert store.rollback('a', 1).failing_runs == 0
    assert told(store) == {'a': 'one'}


def test_beyond4_rollback_checks_again(
    store: CapabilityStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that does not pass today changes nothing at all."""
    monkeypatch.setenv('STORE_TEST_WORKS', '1')
    store.write('a', f'import os\nos.environ["STORE_TEST_WORKS"]\n{code("one")}')
    store.write('a', code('two'))
    monkeypatch.delenv('STORE_TEST_WORKS')
    before = files(directory)
    with pytest.raises(
        CapabilityRefusedError, match=r"'a' was not changed: its code does not pass\..*STORE_TEST_WORKS"
    ):
        store.rollback('a', 1)
    assert files(directory) == before
    assert told(store) == {'a': 'two'}
    monkeypatch.setenv('STORE_TEST_WORKS', '1')
    assert store.rollback('a', 1).version == 3


def test_beyond4_rollback_from_refused_code(store: CapabilityStore, directory: Path) -> None:
    """The versions are there also when the file is not, and its name holds refused code."""
    store.write('a', code('one'))
    (directory / 'a.py').unlink()
    store.write('a', broken())
    assert entry_of(store).version is None
    assert store.rollback('a', 1).version == 2
    assert told(store) == {'a': 'one'}
    assert kept(store) == [code('one'), code('one')]


def test_beyond4_rollback_to_what_is_not_kept(store: CapabilityStore, directory: Path) -> None:
    """It names what there is, and changes nothing."""
    store.write('a', code())
    before = files(directory)
    for version in (0, -1, 2, 999_999_999):
        with pytest.raises(UnknownCapabilityError):
            store.rollback('a', version)
    assert files(directory) == before


def test_beyond4_enable_and_disable(store: CapabilityStore, directory: Path) -> None:
    """Both change the state, and nothing else of the entry; both say whether there is such a capability."""
    store.write('a', code())
    before = entry_of(store)
    assert store.disable('a') is True
    assert raw_entry(directory)['status'] == 'disabled'
    assert told(store) == {}
    assert store.disable('a') is True
    assert store.enable('a') is True
    assert entry_of(store) == before
    assert told(store) == {'a': 'one'}
    assert store.disable('b') is False
    assert store.enable('b') is False


@pytest.mark.parametrize('max_versions', [1, 2, 5])
def test_beyond4_only_the_newest_versions_are_kept(directory: Path, max_versions: int) -> None:
    """Each write drops what is beyond, of its own name only; numbers are never used twice."""
    store = CapabilityStore(directory, max_versions=max_versions)
    store.write('b', code())
    for number in range(1, 9):
        assert store.write('a', code(str(number))).version == number
    assert [each.version for each in store.history('a')] == list(range(9 - max_versions, 9))
    assert len(list((directory / '.store' / 'versions' / 'a').iterdir())) == max_versions
    assert [each.version for each in store.history('b')] == [1]
    with pytest.raises(UnknownCapabilityError):
        store.rollback('a', 8 - max_versions)


def test_beyond4_a_smaller_max_versions_holds_from_the_next_write_on(directory: Path) -> None:
    """Another store may be stricter."""
    store = CapabilityStore(directory, max_versions=5)
    for number in range(5):
        store.write('a', code(str(number)))
    assert len(CapabilityStore(directory, max_versions=2).history('a')) == 5
    CapabilityStore(directory, max_versions=2).write('a', code('new'))
    assert [each.version for each in store.history('a')] == [5, 6]


def test_beyond4_the_default_is_twenty_versions(store: CapabilityStore) -> None:
    """As the task says."""
    for number in range(22):
        store.write('a', code(str(number)))
    assert [each.version for each in store.history('a')] == list(range(3, 23))


@pytest.mark.parametrize(
    'settings',
    [
        {'max_versions': 0},
        {'max_versions': -1},
        {'max_versions': 2.5},
        {'max_versions': '3'},
        {'max_failures': 0},
        {'max_failures': '3'},
        {'max_failures': True},
        {'validation_timeout': '10'},
    ],
)
def test_beyond4_settings_out_of_range_are_refused(directory: Path, settings: dict[str, Any]) -> None:
    """When the store is built, not later."""
    with pytest.raises(ConfigurationError):
        CapabilityStore(directory, **settings)


def test_beyond4_a_spoilt_version_is_left_out(store: CapabilityStore, directory: Path) -> None:
    """The others stay usable."""
    for text in ('one', 'two', 'three'):
        store.write('a', code(text))
    folder = directory / '.store' / 'versions' / 'a'
    (folder / '000002.json').write_text('{')
    (folder / 'README.json').write_text('{}')
    assert [each.version for each in store.history('a')] == [1, 3]
    assert store.rollback('a', 1).version == 4


# --- edited by hand


def test_beyond4_a_file_that_was_edited_is_noticed_and_loaded(store: CapabilityStore, directory: Path) -> None:
    """Without `pin` the person at the keyboard is trusted."""
    store.write('a', code('one'))
    store.write('b', code())
    assert not entry_of(store).edited
    (directory / 'a.py').write_text(code('edited'))
    assert [entry.edited for entry in store.list_all()] == [True, False]
    assert told(store)['a'] == 'edited'
    (directory / 'a.py').write_text(code('one'))
    assert not entry_of(store).edited


def test_beyond4_a_file_that_was_edited_is_kept_when_it_is_replaced(store: CapabilityStore, directory: Path) -> None:
    """By a write, and by a rollback: nothing that once worked is lost."""
    store.write('a', code('one'), run_id='run-1')
    (directory / 'a.py').write_text(code('by hand'))
    store.write('a', code('two'))
    assert [(each.version, each.run_id) for each in store.history('a')] == [(1, 'run-1'), (2, None), (3, None)]
    assert kept(store) == [code('one'), code('by hand'), code('two')]
    (directory / 'a.py').write_text(code('by hand again'))
    store.rollback('a', 2)
    assert kept(store)[3:] == [code('by hand again'), code('by hand')]


def test_beyond4_a_file_that_was_edited_stays_when_new_code_is_refused(store: CapabilityStore, directory: Path) -> None:
    """It is the working version."""
    store.write('a', code('one'))
    (directory / 'a.py').write_text(code('by hand'))
    assert store.write('a', broken()).module_file == 'a.rejected.py'
    assert (directory / 'a.py').read_text() == code('by hand')


def test_beyond4_an_edit_that_goes_back_to_a_kept_version_is_not_kept_twice(
    store: CapabilityStore, directory: Path
) -> None:
    """It is there already."""
    store.write('a', code('one'))
    store.write('a', code('two'))
    (directory / 'a.py').write_text(code('one'))
    store.write('a', code('three'))
    assert kept(store) == [code('one'), code('two'), code('three')]


def test_beyond4_a_kept_edit_survives_a_write_that_fails(
    store: CapabilityStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code that was edited by hand is kept first; that the write then fails costs it nothing."""
    store.write('a', code('one'))
    (directory / 'a.py').write_text(code('by hand'))
    original = Directory.write

    def full_for_the_journal(self: Directory, path: Path, content: bytes) -> None:
        if path == self.journal:
            raise OSError(28, 'No space left on device')
        original(self, path, content)

    with monkeypatch.context() as patched:
        patched.setattr(Directory, 'write', full_for_the_journal)
        with pytest.raises(OSError, match='No space left'):
            store.write('a', code('two'))
    store.write('a', code('two'))
    assert code('by hand') in kept(store)


def test_beyond4_approve_makes_an_edit_the_newest_version(store: CapabilityStore, directory: Path) -> None:
    """From then on it counts as accepted."""
    store.write('a', code('one'))
    (directory / 'a.py').write_text(code('edited'))
    entry = store.approve('a')
    assert (entry.sha256, entry.last_error) == (digest(code('edited')), None)
    assert not entry_of(store).edited
    assert store.source('a', entry.version) == code('edited')
    assert code('one') in kept(store)


def test_beyond4_approve_makes_one_version(store: CapabilityStore, directory: Path) -> None:
    """What is approved is not kept twice, which would push an older version out."""
    store.write('a', code('one'))
    (directory / 'a.py').write_text(code('edited'))
    assert store.approve('a').version == 2
    assert kept(store) == [code('one'), code('edited')]


def test_beyond4_approve_checks(store: CapabilityStore, directory: Path) -> None:
    """What does not pass changes nothing."""
    store.write('a', code('one'))
    (directory / 'a.py').write_text(broken('edited badly'))
    before = files(directory)
    with pytest.raises(CapabilityRefusedError, match='edited badly'):
        store.approve('a')
    assert files(directory) == before
    (directory / 'a.py').unlink()
    with pytest.raises(UnknownCapabilityError, match="'a' has no file"):
        store.approve('a')


def test_beyond4_approve_takes_the_file_as_it_is(store: CapabilityStore, directory: Path) -> None:
    """A file that is not UTF-8 does not pass, and its bytes are not replaced by others."""
    store.write('a', code('one'))
    (directory / 'a.py').write_bytes(code('caf\xe9').encode('latin-1'))
    before = files(directory)
    with pytest.raises(CapabilityRefusedError):
        store.approve('a')
    assert files(directory) == before


# --- pinned


@pytest.fixture
def pinned(directory: Path) -> CapabilityStore:
    return CapabilityStore(directory, pin=True)


def test_beyond4_pinned_what_was_accepted_is_loaded(pinned: CapabilityStore) -> None:
    """Written, replaced, rolled back to."""
    pinned.write('a', code('one'))
    assert told(pinned) == {'a': 'one'}
    pinned.write('a', code('two'))
    assert told(pinned) == {'a': 'two'}
    pinned.rollback('a', 1)
    assert told(pinned) == {'a': 'one'}
    pinned.disable('a')
    pinned.enable('a')
    assert told(pinned) == {'a': 'one'}


def test_beyond4_pinned_an_edit_is_refused_until_it_is_approved(
    pinned: CapabilityStore, store: CapabilityStore, directory: Path, tmp_path: Path
) -> None:
    """None of its code runs before; a store that is not pinned loads it."""
    trace = tmp_path / 'ran'
    pinned.write('a', code('one'))
    (directory / 'a.py').write_text(f'open({str(trace)!r}, "w").close()\n{code("edited")}')
    assert told(pinned) == {}
    assert not trace.exists()
    assert 'pinned' in raw_entry(directory)['last_error']
    assert told(store) == {'a': 'edited'}
    assert told(pinned) == {}
    pinned.approve('a')
    assert told(pinned) == {'a': 'edited'}


def test_beyond4_pinned_an_edit_that_is_undone_is_loaded(pinned: CapabilityStore, directory: Path) -> None:
    """The hash counts, not the history of the file."""
    pinned.write('a', code('one'))
    (directory / 'a.py').write_text(code('edited'))
    assert told(pinned) == {}
    (directory / 'a.py').write_text(code('one'))
    assert told(pinned) == {'a': 'one'}
    assert entry_of(pinned).last_error is None


def test_beyond4_pinned_an_edit_can_be_replaced_or_rolled_back(pinned: CapabilityStore, directory: Path) -> None:
    """Both go through the store."""
    pinned.write('a', code('one'))
    (directory / 'a.py').write_text(code('edited'))
    pinned.rollback('a', 1)
    assert told(pinned) == {'a': 'one'}
    (directory / 'a.py').write_text(code('edited again'))
    pinned.write('a', code('two'))
    assert told(pinned) == {'a': 'two'}


def test_beyond4_pinned_what_an_older_release_wrote_waits_for_approval(
    pinned: CapabilityStore, directory: Path
) -> None:
    """Nobody knows what was accepted then."""
    put_manifest(directory, old_entry())
    (directory / 'a.py').write_text(code('old'))
    assert told(pinned) == {}
    pinned.approve('a')
    assert told(pinned) == {'a': 'old'}


def test_beyond4_pinned_refused_code_is_not_loaded_when_it_works_again(
    pinned: CapabilityStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was never accepted."""
    monkeypatch.delenv('STORE_TEST_WORKS', raising=False)
    pinned.write('a', f'import os\nos.environ["STORE_TEST_WORKS"]\n{code()}')
    monkeypatch.setenv('STORE_TEST_WORKS', '1')
    assert told(pinned) == {}
    pinned.approve('a')
    assert told(pinned) == {'a': 'one'}


def test_beyond4_pinned_a_hash_in_the_manifest_is_what_counts(pinned: CapabilityStore, directory: Path) -> None:
    """Code that someone put into the place of another capability's is refused."""
    pinned.write('a', code('one'))
    pinned.write('b', code('two'))
    (directory / 'b.py').write_text(code('one'))
    assert told(pinned) == {'a': 'one'}


# --- of older releases


def test_beyond4_a_manifest_of_an_older_release_loads(store: CapabilityStore, directory: Path) -> None:
    """Entries with five fields: all that the store does works with them."""
    put_manifest(
        directory,
        old_entry('a'),
        old_entry('b', status='disabled'),
        old_entry('c', class_name='', last_error='ValueError: it was so'),
    )
    for name in 'ab':
        (directory / f'{name}.py').write_text(code(name))
    (directory / 'c.py').write_text(broken('still'))
    before = (directory / 'manifest.json').read_bytes()
    assert [(e.name, e.status, e.version, e.sha256, e.edited) for e in store.list_all()] == [
        ('a', 'active', None, None, False),
        ('b', 'disabled', None, None, False),
        ('c', 'active', None, None, False),
    ]
    assert (directory / 'manifest.json').read_bytes() == before
    assert told(store) == {'a': 'a'}
    assert 'still' in raw_entry(directory, 'c')['last_error']
    assert store.history('a') == []
    assert store.source('a') == code('a')
    assert store.enable('b')
    assert told(store) == {'a': 'a', 'b': 'b'}


def test_beyond4_the_first_write_over_an_older_release_keeps_its_code(store: CapabilityStore, directory: Path) -> None:
    """It becomes version 1."""
    put_manifest(directory, old_entry())
    (directory / 'a.py').write_text(code('old'))
    assert store.write('a', code('new')).version == 2
    assert kept(store) == [code('old'), code('new')]
    assert store.rollback('a', 1).version == 3
    assert told(store) == {'a': 'old'}


def test_beyond4_refused_over_an_older_release(store: CapabilityStore, directory: Path) -> None:
    """Its code is a working version like any other."""
    put_manifest(directory, old_entry())
    (directory / 'a.py').write_text(code('old'))
    before = (directory / 'manifest.json').read_bytes()
    assert store.write('a', broken()).module_file == 'a.rejected.py'
    assert (directory / 'manifest.json').read_bytes() == before
    assert told(store) == {'a': 'old'}


def test_beyond4_failures_of_what_an_older_release_wrote_are_counted(store: CapabilityStore, directory: Path) -> None:
    """Also without a version the entry is about that code."""
    put_manifest(directory, old_entry())
    (directory / 'a.py').write_text(code('old'))
    for _ in range(3):
        store.run_failed(entry_of(store), CapabilityFailure(where='x', error='y', failed_at=datetime.now(UTC)))
    assert entry_of(store).status == 'quarantined'


def test_beyond4_a_module_file_of_another_name_is_loaded_and_then_replaced(
    store: CapabilityStore, directory: Path
) -> None:
    """An older release may have named it otherwise."""
    put_manifest(directory, old_entry(module_file='sub/thing.py'))
    (directory / 'sub').mkdir()
    (directory / 'sub' / 'thing.py').write_text(code('old'))
    assert told(store) == {'a': 'old'}
    assert store.write('a', code('new')).module_file == 'a.py'
    assert kept(store) == [code('old'), code('new')]
    assert told(store) == {'a': 'new'}


def test_beyond4_an_older_release_can_read_the_manifest(store: CapabilityStore, directory: Path) -> None:
    """Its five fields are there with the meanings that they had."""
    store.write('a', code())
    store.write('b', broken())
    raw = raw_manifest(directory)
    assert list(raw) == ['capabilities']
    assert [{key: entry[key] for key in old_entry()} for entry in raw['capabilities']] == [
        old_entry(),
        old_entry('b', class_name='', last_error=entry_of(store, 'b').last_error),
    ]
    json.dumps(raw)
