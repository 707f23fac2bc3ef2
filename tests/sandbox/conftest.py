"""Pools and sessions, closed at the end of each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pydantic_ai_harness.sandbox import Session, WorkerPool


@pytest.fixture(scope='module')
def pool() -> Iterator[WorkerPool]:
    """A warm pool of two workers, which tests share as runs do."""
    pool = WorkerPool(max_workers=2)
    yield pool
    pool.close()


@pytest.fixture
def lone_worker() -> Iterator[WorkerPool]:
    """A pool of one worker, of the test's own."""
    pool = WorkerPool(max_workers=1)
    yield pool
    pool.close()


@pytest.fixture
def session(pool: WorkerPool) -> Iterator[Session]:
    session = Session(pool)
    yield session
    session.close().result(30)
