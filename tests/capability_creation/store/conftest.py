"""A store of its own for each test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pydantic_ai_harness.capability_creation import CapabilityStore


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the store is; not made yet."""
    return tmp_path / 'authored'


@pytest.fixture
def store(directory: Path) -> CapabilityStore:
    return CapabilityStore(directory)


class Gate(ModuleType):
    """Authored code imports it, to say where it is and to wait: `import store_gate; store_gate.stop()`."""

    def __init__(self) -> None:
        super().__init__('store_gate')
        self.reached = threading.Semaphore(0)
        self.opened = threading.Semaphore(0)
        self.entered = 0
        self.fails = False

    def stop(self) -> None:
        """Wait until the test lets one go on."""
        self.entered += 1
        self.reached.release()
        assert self.opened.acquire(timeout=30)
        if self.fails:
            raise ValueError('not today')

    def wait_for_one(self) -> None:
        assert self.reached.acquire(timeout=30)

    def open(self, number: int = 1) -> None:
        self.opened.release(number)


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Let everyone go on at the end of the test."""
    gate = Gate()
    sys.modules['store_gate'] = gate
    yield gate
    gate.open(100)
    del sys.modules['store_gate']
