"""Long tests (`make soak`) of the store of authored capabilities."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.capability_creation.store.test_kills import ROUNDS, kill_writers

pytestmark = pytest.mark.soak


@pytest.mark.parametrize('repeat', range(10))
def test_beyond4_nothing_is_torn_by_writers_that_are_killed_at_random(tmp_path: Path, repeat: int) -> None:
    """Ten times the rounds of the usual test, with other seeds each time; a failure prints its seed."""
    kill_writers(tmp_path, first_seed=random.SystemRandom().randrange(1 << 30), rounds=ROUNDS)
