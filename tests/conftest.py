"""Fixtures which every test can use."""

import pytest


@pytest.fixture(scope='session')
def anyio_backend() -> str:
    """Run async tests and fixtures on asyncio only: Pydantic AI's agents are used there."""
    return 'asyncio'
