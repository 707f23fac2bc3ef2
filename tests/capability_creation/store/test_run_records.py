"""BEYOND-4: what is recorded of failing runs, and when a capability is quarantined."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pydantic_ai_harness.capability_creation import AuthoredCapability, CapabilityFailure, CapabilityStore
from pydantic_ai_harness.capability_creation import store as its
from pydantic_ai_harness.capability_creation.directory import Directory

from .driving import broken, code, entry_of, files, raw_entry, told


def failure(run: int = 1) -> CapabilityFailure:
    return CapabilityFailure(
        where='before_run',
        error=f'ValueError: {run}',
        traceback='line 1',
        failed_at=datetime(2026, 1, run, tzinfo=UTC),
        run_id=f'run-{run}',
    )


@pytest.fixture
def entry(store: CapabilityStore) -> AuthoredCapability:
    """The first version of `a`."""
    return store.write('a', code())


def test_beyond4_three_failing_runs_in_a_row_are_a_quarantine(
    store: CapabilityStore, directory: Path, entry: AuthoredCapability
) -> None:
    """It is loaded until then, and the manifest has the latest failure."""
    for run in (1, 2):
        store.run_failed(entry, failure(run))
        assert (entry_of(store).status, entry_of(store).failing_runs) == ('active', run)
        assert told(store) == {'a': 'one'}
    store.run_failed(entry, failure(3))
    assert raw_entry(directory)['status'] == 'quarantined'
    assert (entry_of(store).failing_runs, entry_of(store).last_failure) == (3, failure(3))
    assert told(store) == {}


@pytest.mark.parametrize('max_failures', [1, 2, 5])
def test_beyond4_max_failures_is_the_number_of_runs(directory: Path, max_failures: int) -> None:
    """The last of them is the one that switches it off."""
    store = CapabilityStore(directory, max_failures=max_failures)
    entry = store.write('a', code())
    for run in range(1, max_failures + 1):
        assert entry_of(store).status == 'active'
        store.run_failed(entry, failure(run))
    assert entry_of(store).status == 'quarantined'


def test_beyond4_without_max_failures_nothing_is_quarantined(directory: Path) -> None:
    """`None` switches the guard off, and with it what comes of failures."""
    store = CapabilityStore(directory, max_failures=None)
    entry = store.write('a', code())
    for run in range(1, 9):
        store.run_failed(entry, failure(run))
    assert entry_of(store).status == 'active'
    (loaded,) = store.load_active()
    assert type(loaded).__name__ == 'Told'


def test_beyond4_a_run_without_failure_ends_the_row(store: CapabilityStore, entry: AuthoredCapability) -> None:
    """Only runs in a row count; the latest failure stays to be read."""
    for run in (1, 2):
        store.run_failed(entry, failure(run))
    store.run_passed(entry)
    assert (entry_of(store).failing_runs, entry_of(store).last_failure) == (0, failure(2))
    for run in (3, 4):
        store.run_failed(entry, failure(run))
    assert entry_of(store).status == 'active'
    store.run_failed(entry, failure(5))
    assert entry_of(store).status == 'quarantined'


def test_beyond4_a_run_without_failure_after_none_changes_nothing(
    store: CapabilityStore, directory: Path, entry: AuthoredCapability
) -> None:
    """There is nothing to end."""
    before = files(directory)
    store.run_passed(entry)
    assert files(directory) == before


def test_beyond4_failures_of_another_version_do_not_count(store: CapabilityStore, entry: AuthoredCapability) -> None:
    """A run that began with the old version says nothing about the new one; also if their code is the same."""
    for text in ('two', 'one'):
        store.write('a', code(text))
        for run in range(1, 5):
            store.run_failed(entry, failure(run))
        assert (entry_of(store).failing_runs, entry_of(store).last_failure) == (0, None)
    newest = entry_of(store)
    store.run_failed(newest, failure())
    store.run_passed(entry)
    assert entry_of(store).failing_runs == 1


def test_beyond4_failures_of_what_is_gone_do_not_count(
    store: CapabilityStore, directory: Path, entry: AuthoredCapability
) -> None:
    """Neither the entry nor the directory need be there any more."""
    (directory / 'manifest.json').write_text('{"capabilities": []}')
    store.run_failed(entry, failure())
    store.run_passed(entry)
    assert store.list_all() == []


def test_beyond4_failures_are_counted_over_processes_and_stores(directory: Path, entry: AuthoredCapability) -> None:
    """Nothing is remembered but what is in the manifest."""
    for run in (1, 2, 3):
        CapabilityStore(directory).run_failed(entry, failure(run))
    assert entry_of(CapabilityStore(directory)).status == 'quarantined'


def test_beyond4_failures_of_a_disabled_one_are_noted_and_change_no_state(
    store: CapabilityStore, entry: AuthoredCapability
) -> None:
    """Whoever disabled it has decided."""
    store.disable('a')
    for run in range(1, 5):
        store.run_failed(entry, failure(run))
    assert (entry_of(store).status, entry_of(store).failing_runs) == ('disabled', 4)


def test_beyond4_enabling_ends_a_quarantine_with_a_clean_slate(
    store: CapabilityStore, entry: AuthoredCapability
) -> None:
    """The count starts again."""
    for run in (1, 2, 3):
        store.run_failed(entry, failure(run))
    assert store.enable('a')
    assert (entry_of(store).status, entry_of(store).failing_runs, entry_of(store).last_failure) == ('active', 0, None)
    assert told(store) == {'a': 'one'}
    for run in (1, 2):
        store.run_failed(entry, failure(run))
    assert entry_of(store).status == 'active'


def test_beyond4_a_run_that_passes_late_ends_no_quarantine(store: CapabilityStore, entry: AuthoredCapability) -> None:
    """A run that began before it comes to its end."""
    for run in (1, 2, 3):
        store.run_failed(entry, failure(run))
    store.run_passed(entry)
    assert entry_of(store).status == 'quarantined'


def test_beyond4_refused_code_beside_it_leaves_the_count(store: CapabilityStore, entry: AuthoredCapability) -> None:
    """The version that fails is still the one that is loaded."""
    store.run_failed(entry, failure())
    store.write('a', broken())
    assert entry_of(store).failing_runs == 1


@pytest.mark.parametrize('content', ['', '{', '[]', '{"capabilities": [{}]}'])
def test_beyond4_an_unreadable_manifest_does_not_end_the_run(
    store: CapabilityStore, directory: Path, entry: AuthoredCapability, content: str
) -> None:
    """What cannot be recorded is dropped, and the file stays to the byte."""
    store.run_failed(entry, failure())
    (directory / 'manifest.json').write_text(content)
    before = files(directory)
    store.run_failed(entry, failure())
    store.run_passed(entry)
    assert files(directory) == before


def test_beyond4_a_full_disk_does_not_end_the_run(
    store: CapabilityStore, entry: AuthoredCapability, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be recorded is dropped."""
    store.run_failed(entry, failure())

    def full(*_: object) -> None:
        raise OSError(28, 'No space left on device')

    with monkeypatch.context() as patched:
        patched.setattr(Directory, 'write', full)
        store.run_failed(entry, failure(2))
        store.run_passed(entry)
    assert entry_of(store).failing_runs == 1


def test_beyond4_a_lock_that_is_not_free_does_not_hold_the_run_up(
    store: CapabilityStore, directory: Path, entry: AuthoredCapability, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be recorded in time is dropped."""
    store.run_failed(entry, failure())
    monkeypatch.setattr(its, '_RECORDING_TIMEOUT_SECONDS', 0.01)
    with Directory(directory).lock():
        store.run_failed(entry, failure(2))
        store.run_passed(entry)
    assert entry_of(store).failing_runs == 1


def test_beyond4_an_edited_file_counts_as_the_version_that_it_was_loaded_as(
    store: CapabilityStore, directory: Path, entry: AuthoredCapability
) -> None:
    """Whoever edits it by hand is not exempt from the quarantine."""
    (directory / 'a.py').write_text(code('edited'))
    for run in (1, 2, 3):
        store.run_failed(entry, failure(run))
    assert entry_of(store).status == 'quarantined'


def test_cc11_runs_that_fail_again_in_a_replay_are_counted_once(
    store: CapabilityStore, entry: AuthoredCapability
) -> None:
    """A workflow with two runs is replayed: each fails again, in turns, and also after a run that passed."""
    for _ in range(5):
        for run in (1, 2):
            store.run_failed(entry, failure(run))
    assert (entry_of(store).status, entry_of(store).failing_runs) == ('active', 2)
    store.run_passed(entry)
    for run in (1, 2):
        store.run_failed(entry, failure(run))
    assert entry_of(store).failing_runs == 0
    store.run_failed(entry, failure(3))
    assert entry_of(store).failing_runs == 1
