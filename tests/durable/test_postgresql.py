"""CM-21: DBOS on PostgreSQL, where one is installed; the same tests as on SQLite, those that count most."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from .conftest import NewRig, rigs_of
from .test_kills import killed_at_random
from .test_scenarios import GATHER


@pytest.fixture
def new_rig(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[NewRig]:
    """Builds a scenario on DBOS over PostgreSQL."""
    yield from rigs_of(request, tmp_path, 'dbos on postgresql')


async def test_cm21_a_run_on_postgresql_that_is_killed(new_rig: NewRig) -> None:
    await killed_at_random(new_rig(), 3, 7)


async def test_cm21_gathered_calls_overlap_on_postgresql(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin([GATHER])
    (running,) = await rig.results()
    assert max(running) == 4
