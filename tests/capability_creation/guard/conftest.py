"""A bench for each test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .driving import Bench, Probe


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Probe:
    probe = Probe()
    monkeypatch.setitem(sys.modules, 'guard_probe', probe)
    return probe


@pytest.fixture
def bench(tmp_path: Path, probe: Probe) -> Bench:
    return Bench(tmp_path / 'authored', probe)
