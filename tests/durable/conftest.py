"""The engines."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from . import rigs
from .rigs import DBOSRig, PrefectRig, Rig, TemporalRig, prefect_server, temporal_server


@pytest.fixture(scope='session')
def temporal(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The address of a Temporal server."""
    with temporal_server(tmp_path_factory.mktemp('temporal')) as address:
        yield address


@pytest.fixture(scope='session')
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, str]]:
    """The environment by which a Prefect server is found."""
    with prefect_server(tmp_path_factory.mktemp('prefect')) as env:
        yield env


@pytest.fixture(scope='session')
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The address of a PostgreSQL server."""
    programs = rigs.postgresql()
    if programs is None:
        pytest.skip('PostgreSQL is not installed')
    with rigs.postgresql_server(programs, tmp_path_factory.mktemp('postgresql')) as address:
        yield address


NewRig = Callable[..., Rig]
ENGINES = ['temporal', 'temporal with the plugin', 'dbos', 'prefect']


@pytest.fixture(params=ENGINES)
def new_rig(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[NewRig]:
    """Builds a scenario on each engine in turn; takes `seconds` and `step_seconds`."""
    yield from rigs_of(request, tmp_path, request.param)


def rigs_of(request: pytest.FixtureRequest, folder: Path, engine: str) -> Generator[NewRig]:
    """Builds scenarios on an engine, and ends their processes."""
    built: list[Rig] = []

    def new(**settings: Any) -> Rig:
        if engine.startswith('temporal'):
            address = request.getfixturevalue('temporal')
            rig: Rig = TemporalRig(folder, **settings, address=address, with_plugin=engine != 'temporal')
        elif engine == 'dbos on postgresql':
            rig = DBOSRig(folder, **settings, database_url=request.getfixturevalue('postgresql'))
        elif engine == 'dbos':
            rig = DBOSRig(folder, **settings, database_url=f'sqlite:///{folder / "dbos.sqlite"}')
        else:
            rig = PrefectRig(folder, **settings, prefect=request.getfixturevalue('prefect'))
        built.append(rig)
        return rig

    yield new
    for rig in built:
        rig.kill()
