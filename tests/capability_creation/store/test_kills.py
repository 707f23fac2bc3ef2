"""BEYOND-4, CC-5, CC-6: writers that are killed at random, over and over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .driving import LONG_SECS, outputs, start

PROCESSES = 2
ROUNDS = 255
"""Of each process; each kills two writers that share a directory."""


def kill_writers(directory: Path, *, first_seed: int, rounds: int) -> None:
    """Whatever the moment: what is left behind is whole. `crashing` checks that after each round."""
    processes = [start('crashing', directory / str(number), first_seed + number, rounds) for number in range(PROCESSES)]
    reports = [json.loads(printed) for printed in outputs(processes)]
    assert sum(report['interrupted'] for report in reports) > rounds // 20  # they were killed where it matters
    assert sum(report['staged'] for report in reports) > 0
    assert all(report['versions'] > 5 for report in reports)


@pytest.mark.timeout(LONG_SECS)
def test_beyond4_nothing_is_torn_by_writers_that_are_killed_at_random(tmp_path: Path) -> None:
    """More than 500 rounds: the manifest parses, entries and files belong together, nothing is left lying."""
    kill_writers(tmp_path, first_seed=1, rounds=ROUNDS)
