"""Places to author in, with and without a process for the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from pydantic_ai_harness import CapabilityCreation

Mode: TypeAlias = Literal['in_process', 'isolated']
Check: TypeAlias = Callable[[str], str | None]
"""Checks code; why it was refused, or `None` if it passed."""


@pytest.fixture
def creation(tmp_path: Path) -> CapabilityCreation[None]:
    """Authoring with checks in this process."""
    return CapabilityCreation[None](tmp_path / 'authored')


@pytest.fixture(scope='session')
def isolated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CapabilityCreation[None]]:
    """Authoring with checks in one warm process, which tests share as runs do."""
    creation = CapabilityCreation[None](
        tmp_path_factory.mktemp('isolated'), isolated_validation=True, validation_timeout=60
    )
    yield creation
    creation.store.close()


@pytest.fixture(scope='session')
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CapabilityCreation[None]]:
    """The same, for code that never comes to an end."""
    creation = CapabilityCreation[None](
        tmp_path_factory.mktemp('impatient'), isolated_validation=True, validation_timeout=0.4
    )
    yield creation
    creation.store.close()


@pytest.fixture
def stores(creation: CapabilityCreation[None], isolated: CapabilityCreation[None]) -> dict[Mode, Check]:
    """Checks by where the code runs."""

    def check_with(creation: CapabilityCreation[None]) -> Check:
        def check(code: str) -> str | None:
            raised = ''
            try:
                return creation.store.write('subject', code).last_error
            except BaseException as error:  # noqa: BLE001 - authored ones, some of which pytest cannot show
                raised = type(error).__name__
            return pytest.fail(f'There was no verdict: {raised} was raised.')

        return check

    return {'in_process': check_with(creation), 'isolated': check_with(isolated)}
