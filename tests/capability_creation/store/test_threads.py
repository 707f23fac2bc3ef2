"""BEYOND-4, CC-5: many threads, through one store and through stores of their own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import pytest

from pydantic_ai_harness.capability_creation import CapabilityFailure, CapabilityStore

from .driving import assert_whole, broken, code, told

THREADS = 8
WRITES = 12


def one_store(directory: Path) -> Callable[[], CapabilityStore]:
    store = CapabilityStore(directory, max_versions=1000)
    return lambda: store


def own_stores(directory: Path) -> Callable[[], CapabilityStore]:
    return lambda: CapabilityStore(directory, max_versions=1000)


def in_threads(work: Callable[[int], None]) -> None:
    """Do the work with each number at the same time."""
    barrier = Barrier(THREADS)

    def start(number: int) -> None:
        barrier.wait(50)
        work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(start, range(THREADS)))


@pytest.mark.parametrize('stores', [one_store, own_stores])
def test_beyond4_threads_that_write_names_of_their_own(
    directory: Path, stores: Callable[[Path], Callable[[], CapabilityStore]]
) -> None:
    """None is lost, and readers among them see nothing half done."""
    store = stores(directory)

    def work(number: int) -> None:
        for each in range(WRITES):
            mine = store()
            assert mine.write(f't{number}_{each}', code(f't{number}_{each}')).version == 1
            assert not any(entry.edited or entry.last_error for entry in mine.list_all())
            if each % 4 == 0:
                assert told(mine)[f't{number}_{each}'] == f't{number}_{each}'

    in_threads(work)
    expected = {f't{number}_{each}' for number in range(THREADS) for each in range(WRITES)}
    assert told(store()) == {name: name for name in expected}
    assert_whole(directory)


@pytest.mark.parametrize('stores', [one_store, own_stores])
def test_beyond4_threads_that_write_one_name(
    directory: Path, stores: Callable[[Path], Callable[[], CapabilityStore]]
) -> None:
    """Each accepted write is a version, whatever is refused, switched off and rolled back at the same time."""
    store = stores(directory)
    store().write('a', code('first'))

    def work(number: int) -> None:
        for each in range(WRITES):
            mine = store()
            assert mine.write('a', code(f'{number} {each}')).last_error is None
            assert mine.write('a', broken(f'{number} {each}')).module_file == 'a.rejected.py'
            assert mine.disable('a')
            assert mine.enable('a')
            if each % 4 == 0:
                assert mine.rollback('a', 1).last_error is None

    in_threads(work)
    total = 1 + THREADS * WRITES + THREADS * (WRITES // 4)
    history = store().history('a')
    assert [each.version for each in history] == list(range(1, total + 1))
    written = {store().source('a', each.version) for each in history}
    assert written == {
        code('first'),
        *(code(f'{number} {each}') for number in range(THREADS) for each in range(WRITES)),
    }
    assert_whole(directory)


def test_beyond4_a_quarantine_counts_every_thread(directory: Path) -> None:
    """Failures that are recorded at the same time are all recorded."""
    store = CapabilityStore(directory, max_failures=THREADS * 5)
    entry = store.write('a', code())

    def work(number: int) -> None:
        for run in range(5):
            failure = CapabilityFailure(where=f'{number}', error=f'{run}', failed_at=datetime.now(UTC))
            CapabilityStore(directory, max_failures=THREADS * 5).run_failed(entry, failure)

    in_threads(work)
    (now,) = store.list_all()
    assert (now.failing_runs, now.status) == (THREADS * 5, 'quarantined')
