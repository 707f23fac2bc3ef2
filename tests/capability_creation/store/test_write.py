"""CC-5: code and its entry are replaced together, and code that fails never costs a working version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pydantic_ai_harness.capability_creation import AuthoredCapability, CapabilityFailure, CapabilityStore

from .driving import broken, code, digest, entry_of, files, raw_entry, raw_manifest, told


def test_cc5_accepted_code_is_the_file_and_the_entry(store: CapabilityStore, directory: Path) -> None:
    """File, manifest and what is returned say the same."""
    written = store.write('a', code(), run_id='run-1')
    assert (directory / 'a.py').read_bytes() == code().encode()
    assert written == entry_of(store)
    raw = raw_entry(directory)
    assert (raw['name'], raw['module_file'], raw['class_name'], raw['status']) == ('a', 'a.py', 'Told', 'active')
    assert (raw['last_error'], raw['version'], raw['sha256'], raw['run_id']) == (None, 1, digest(code()), 'run-1')
    assert written.written_at is not None
    assert written.written_at.tzinfo is not None


def test_cc5_accepted_code_replaces_the_version_before(store: CapabilityStore, directory: Path) -> None:
    """The second write of a name is what loads."""
    store.write('a', code('one'))
    assert store.write('a', code('two')).version == 2
    assert (directory / 'a.py').read_text() == code('two')
    assert [entry['version'] for entry in raw_manifest(directory)['capabilities']] == [2]
    assert told(store) == {'a': 'two'}


def test_cc5_refused_beside_a_working_version(store: CapabilityStore, directory: Path) -> None:
    """The working file and its entry stay to the byte; the refused code lies beside them."""
    store.write('a', code())
    manifest = (directory / 'manifest.json').read_bytes()
    refused = store.write('a', broken('nope'))
    assert refused.module_file == 'a.rejected.py'
    assert 'nope' in (refused.last_error or '')
    assert (directory / 'a.rejected.py').read_text() == broken('nope')
    assert (directory / 'a.py').read_text() == code()
    assert (directory / 'manifest.json').read_bytes() == manifest
    assert told(store) == {'a': 'one'}
    assert [kept.version for kept in store.history('a')] == [1]


def test_cc5_the_last_refused_code_is_the_one_that_is_kept(store: CapabilityStore, directory: Path) -> None:
    """A second refusal replaces the code of the first."""
    store.write('a', code())
    store.write('a', broken('first'))
    store.write('a', broken('second'))
    assert (directory / 'a.rejected.py').read_text() == broken('second')


def test_cc5_refused_without_a_working_version(store: CapabilityStore, directory: Path) -> None:
    """Code that fails is kept as the file, with the reason in its entry, and is not loaded."""
    refused = store.write('a', broken('nope'))
    assert refused.module_file == 'a.py'
    assert (directory / 'a.py').read_text() == broken('nope')
    assert not (directory / 'a.rejected.py').exists()
    assert 'nope' in raw_entry(directory)['last_error']
    assert (raw_entry(directory)['version'], raw_entry(directory)['class_name']) == (None, '')
    assert told(store) == {}
    assert store.history('a') == []


def test_cc5_refused_when_the_file_of_the_working_version_is_gone(store: CapabilityStore, directory: Path) -> None:
    """An entry without its file is no working version."""
    store.write('a', code())
    (directory / 'a.py').unlink()
    assert store.write('a', broken('nope')).module_file == 'a.py'
    assert (directory / 'a.py').read_text() == broken('nope')
    assert 'nope' in raw_entry(directory)['last_error']
    assert [kept.version for kept in store.history('a')] == [1]


def test_cc5_refused_and_then_mended(store: CapabilityStore, directory: Path) -> None:
    """A success clears the error, whether something worked before or not."""
    store.write('a', broken())
    assert store.write('a', code('one')).version == 1
    assert raw_entry(directory)['last_error'] is None
    store.write('a', broken())
    assert store.write('a', code('two')).version == 2
    assert told(store) == {'a': 'two'}


def test_cc5_refused_twice_and_then_mended(store: CapabilityStore, directory: Path) -> None:
    """Without a working version the newest refused code is the file."""
    store.write('a', broken('first'))
    store.write('a', broken('second'))
    assert (directory / 'a.py').read_text() == broken('second')
    assert 'second' in raw_entry(directory)['last_error']
    assert not (directory / 'a.rejected.py').exists()
    store.write('a', code())
    assert told(store) == {'a': 'one'}


def disabled(store: CapabilityStore) -> None:
    assert store.disable('a')


def quarantined(store: CapabilityStore) -> None:
    entry = entry_of(store)
    for run in ('1', '2', '3'):
        assert entry.written_at is not None
        store.run_failed(
            entry, CapabilityFailure(where='x', error='E: no', failed_at=entry.written_at, run_id=f'run {run}')
        )


@pytest.mark.parametrize('state', [disabled, quarantined])
def test_cc5_refused_beside_a_version_that_is_switched_off(store: CapabilityStore, directory: Path, state: Any) -> None:
    """A refusal neither replaces it nor switches it on."""
    store.write('a', code())
    state(store)
    before = entry_of(store)
    assert before.status == state.__name__
    assert store.write('a', broken('nope')).module_file == 'a.rejected.py'
    assert entry_of(store) == before
    assert (directory / 'a.py').read_text() == code()
    assert told(store) == {}


@pytest.mark.parametrize('state', [disabled, quarantined])
def test_cc5_accepted_over_a_version_that_is_switched_off(store: CapabilityStore, state: Any) -> None:
    """Authoring again switches it on, with nothing of its old failures."""
    store.write('a', code())
    state(store)
    written = store.write('a', code('mended'))
    assert (written.status, written.failing_runs, written.last_failure) == ('active', 0, None)
    assert told(store) == {'a': 'mended'}


def test_cc5_lone_surrogates_are_kept_as_escapes(store: CapabilityStore, directory: Path) -> None:
    """Half a character, which models write at times, is no reason to fail."""
    written = store.write('a', code('x').replace("'x'", "'\ud83d'"))
    assert written.last_error is None
    assert b'\\ud83d' in (directory / 'a.py').read_bytes()
    assert told(store) == {'a': '\ud83d'}


@pytest.mark.parametrize('text', ['', '\x00', '\r\n', '\ufeff', '(' * 5000, 'def', '# only a comment', '\x0c'])
def test_cc5_text_that_is_no_capability_is_refused_and_kept(store: CapabilityStore, directory: Path, text: str) -> None:
    """Whatever a model sends as code gets an answer, and the file holds what was sent."""
    assert store.write('a', text).last_error
    assert (directory / 'a.py').read_bytes() == text.encode()
    assert store.load_active() == []


def test_cc5_line_ends_are_kept(store: CapabilityStore, directory: Path) -> None:
    """The file holds the bytes that were accepted."""
    windows = code().replace('\n', '\r\n')
    entry = store.write('a', windows)
    assert (directory / 'a.py').read_bytes() == windows.encode()
    assert entry.sha256 == digest(windows)
    assert told(store) == {'a': 'one'}


class Failing:
    """Makes the nth change of a file fail, and notes the targets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, target: str, *, at: str) -> None:
        original = getattr(Path, at)

        def change(path: Path, *arguments: Any, **options: Any) -> object:
            touched = arguments[0] if at == 'replace' else path
            if Path(touched).name == target:
                monkeypatch.setattr(Path, at, original)
                raise OSError(28, 'No space left on device', target)
            return original(path, *arguments, **options)

        monkeypatch.setattr(Path, at, change)


@pytest.mark.parametrize('target', ['commit.json', 'a.py', 'manifest.json'])
@pytest.mark.parametrize('first', [True, False], ids=['first', 'replacing'])
def test_cc5_what_was_there_is_there_again_when_a_file_cannot_be_replaced(
    store: CapabilityStore, directory: Path, monkeypatch: pytest.MonkeyPatch, target: str, *, first: bool
) -> None:
    """Both or neither: code and entry are as before, and the next write works."""
    store.write('b', code('other'))
    if not first:
        store.write('a', code('old'))
    before = files(directory)
    Failing(monkeypatch, target, at='replace')
    with pytest.raises(OSError, match='No space left'):
        store.write('a', code('new'))
    CapabilityStore(directory).enable('b')
    assert {name: content for name, content in files(directory).items() if name != 'manifest.json'} == {
        name: content for name, content in before.items() if name != 'manifest.json'
    }
    assert told(store) == ({'b': 'other'} if first else {'b': 'other', 'a': 'old'})
    assert store.write('a', code('new')).version == (1 if first else 2)
    assert told(store) == {'b': 'other', 'a': 'new'}


def test_cc5_what_was_there_is_there_again_when_the_version_cannot_be_kept(
    store: CapabilityStore, directory: Path
) -> None:
    """A file in place of the folder of versions: the write fails as a whole."""
    store.write('a', code('old'))
    before = entry_of(store)
    folder = directory / '.store' / 'versions' / 'a'
    (folder / '000001.json').unlink()
    folder.rmdir()
    folder.write_text('no folder')
    with pytest.raises(OSError, match=r'versions'):
        store.write('a', code('new'))
    assert entry_of(store) == before
    assert told(store) == {'a': 'old'}


def test_cc5_a_failed_disable_leaves_the_manifest(
    store: CapabilityStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest is replaced or not touched."""
    store.write('a', code())
    before = (directory / 'manifest.json').read_bytes()
    Failing(monkeypatch, 'manifest.json', at='replace')
    with pytest.raises(OSError, match='No space left'):
        store.disable('a')
    assert (directory / 'manifest.json').read_bytes() == before
    assert store.disable('a')


def test_cc5_a_refused_entry_is_not_what_another_writer_wrote_meanwhile(
    store: CapabilityStore, directory: Path
) -> None:
    """Whether there is a working version is asked when the verdict is kept, not before the check."""
    source = store.prepare('a', broken('slow'))
    verdict = store.check(source).result()
    store.write('a', code('fast'))
    refused: AuthoredCapability = store.commit(source, verdict)
    assert refused.module_file == 'a.rejected.py'
    assert told(store) == {'a': 'fast'}
    assert (directory / 'a.rejected.py').read_text() == broken('slow')
