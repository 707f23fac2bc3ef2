"""Starts a scenario on a real engine, in processes that can be killed, and waits for its answer."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.error import URLError
from urllib.request import urlopen

from . import scenario

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHandle

Results: TypeAlias = list[Any]
_PROCESSES = multiprocessing.get_context('forkserver')
# Children are forked from a process that has these loaded, so that a new worker takes no seconds to start.
_PROCESSES.set_forkserver_preload(
    [
        'dbos',
        'pydantic_ai.durable_exec.dbos',
        'pydantic_ai.durable_exec.prefect',
        'pydantic_ai.durable_exec.temporal',
        'pydantic_ai.models.function',
        'pydantic_ai_harness.code_mode.capability',
        'prefect.flow_engine',
        'temporalio.worker',
    ]
)


def _child(settings: Mapping[str, str], module: str, function: str, arguments: tuple[Any, ...]) -> None:
    os.environ.update(settings)
    log = os.open(scenario.folder() / 'process.txt', os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    loaded = __import__(module, fromlist=[function])
    getattr(loaded, function)(*arguments)


@dataclass
class Rig(ABC):
    """One scenario on one engine."""

    folder: Path
    seconds: float = 30.0
    """Of computing that one snippet may take."""
    step_seconds: float = 60.0
    """After which a step counts as lost, where the engine has such a limit."""
    authored: str = ''
    """Where the agent keeps what it authors; empty if it cannot."""
    loads: bool = False
    """Whether the agent is built with what is authored."""
    _process: BaseProcess | None = field(default=None, init=False)
    starts: int = field(default=0, init=False)

    @abstractmethod
    async def begin(self, codes: list[str], *, answer: bool | None = None) -> None:
        """Start the scenario, with its first process.

        Args:
            codes: The programs that the model sends.
            answer: What is said to whatever waits for approval.
        """

    @abstractmethod
    def _arguments(self) -> tuple[str, str, tuple[Any, ...]]:
        """Module, function and arguments of a process."""

    @abstractmethod
    async def _outcome(self) -> str | None:
        """The answer, or `None` if there is none yet."""

    @abstractmethod
    async def cancel(self) -> None:
        """Cancel the workflow."""

    @property
    def settings(self) -> dict[str, str]:
        """The environment of the processes."""
        return {
            scenario.FOLDER: str(self.folder),
            scenario.SECONDS: str(self.seconds),
            scenario.STEP_SECONDS: str(self.step_seconds),
            scenario.AUTHORED: self.authored,
            scenario.LOADS: 'yes' if self.loads else '',
        }

    def start(self) -> None:
        """Start a process that runs the scenario, or goes on with it."""
        module, function, arguments = self._arguments()
        self.starts += 1
        self._process = _PROCESSES.Process(
            target=_child, args=(self.settings, f'tests.durable.{module}', function, arguments), daemon=True
        )
        self._process.start()

    def kill(self) -> None:
        """End the process at once, by SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._process = None

    async def results(self, *, seconds: float = 30) -> Results:
        """What the programs gave.

        Raises:
            TimeoutError: There is no answer yet.
            RuntimeError: The workflow failed.
        """
        async with asyncio.timeout(seconds):
            while (outcome := await self._outcome()) is None:  # noqa: ASYNC110  another process gives it
                await asyncio.sleep(0.01)
        return json.loads(outcome)

    async def seen(self, line: str, *, seconds: float = 20) -> None:
        """Wait until a line is in the log."""
        await self.until(lambda: self.count(line) > 0, seconds=seconds)

    async def until(self, condition: Callable[[], bool], *, seconds: float = 20) -> None:
        """Wait for something."""
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110  another process meets it
                await asyncio.sleep(0.002)

    @property
    def lines(self) -> list[str]:
        """The log."""
        path = self.folder / scenario.LOG
        return path.read_text().splitlines() if path.exists() else []

    def count(self, line: str) -> int:
        """How often a line is in the log."""
        return scenario.noted(line, self.folder)


class FileRig(Rig):
    """Its processes write the answer to a file."""

    async def _outcome(self) -> str | None:
        path = self.folder / scenario.OUTCOME
        exit_code = self._process.exitcode if self._process is not None else None
        if not path.exists():
            if exit_code is not None:  # Prefect, told to end, may end its process like this
                raise RuntimeError(f'the process was terminated with exit code {exit_code}')
            return None
        try:
            outcome = json.loads(path.read_text())
        except ValueError:  # being written
            return None
        if 'error' in outcome:
            raise RuntimeError(outcome['error'])
        return outcome['output']


@dataclass
class TemporalRig(Rig):
    """A workflow on a Temporal server."""

    address: str = ''
    with_plugin: bool = False
    handle: WorkflowHandle[Any, str] = field(init=False)
    client: Client = field(init=False)
    _result: asyncio.Task[str] | None = field(default=None, init=False)

    async def begin(self, codes: list[str], *, answer: bool | None = None) -> None:
        """Start the workflow, and a worker."""
        from .temporal_worker import Scenario, connect

        self.queue = f'queue-{uuid.uuid4().hex}'
        self.client = await connect(self.address, with_plugin=self.with_plugin)
        self.start()
        self.handle = await self.client.start_workflow(
            Scenario.run,
            json.dumps(codes),
            id=self.queue,
            task_queue=self.queue,
            task_timeout=timedelta(seconds=1),
        )
        if answer is not None:
            while not (asked := await self.handle.query(Scenario.asked)):  # noqa: ASYNC110  a worker answers
                await asyncio.sleep(0.02)
            await self.handle.signal(Scenario.answer, dict.fromkeys(asked, answer))

    def _arguments(self) -> tuple[str, str, tuple[Any, ...]]:
        return 'temporal_worker', 'serve', (self.address, self.queue, self.with_plugin)

    async def _outcome(self) -> str | None:
        from temporalio.client import WorkflowFailureError

        if self._result is None:
            self._result = asyncio.create_task(self.handle.result())
        await asyncio.wait([self._result], timeout=0.05)
        if not self._result.done():
            return None
        try:
            return self._result.result()
        except WorkflowFailureError as error:
            raise RuntimeError(f'{type(error.cause).__name__}: {error.cause}') from error

    async def cancel(self) -> None:
        """Ask the workflow to end."""
        await self.handle.cancel()


@dataclass
class DBOSRig(FileRig):
    """A workflow in a DBOS database."""

    database_url: str = ''
    _workflow_id: str = field(default_factory=lambda: uuid.uuid4().hex, init=False)

    async def begin(self, codes: list[str], *, answer: bool | None = None) -> None:
        """Start the workflow."""
        self._codes = json.dumps(codes)
        self._answer = answer
        self.start()

    def _arguments(self) -> tuple[str, str, tuple[Any, ...]]:
        return 'dbos_worker', 'serve', (self.database_url, self._workflow_id, self._codes, self._answer)

    async def cancel(self) -> None:
        """Mark the workflow as cancelled, which it notices at its next step."""
        from dbos import DBOSClient

        client = DBOSClient(system_database_url=self.database_url)
        await client.cancel_workflow_async(self._workflow_id)
        client.destroy()


@dataclass
class PrefectRig(FileRig):
    """A flow run of a Prefect server."""

    prefect: Mapping[str, str] = field(default_factory=dict[str, str])

    async def begin(self, codes: list[str], *, answer: bool | None = None) -> None:
        """Create the flow run, and a process that runs it."""
        self._codes = json.dumps(codes)
        self._answer = answer is not False
        self.start()

    def _arguments(self) -> tuple[str, str, tuple[Any, ...]]:
        return 'prefect_worker', 'serve', (self._codes, self._answer)

    @property
    def settings(self) -> dict[str, str]:
        """With the server's address."""
        return {**super().settings, **self.prefect}

    async def cancel(self) -> None:
        """Set the flow run to cancelling, which its process is told of by a signal."""
        assert self._process is not None
        self._process.terminate()


def free_port() -> int:
    """A port of the loopback interface that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


@contextmanager
def served(
    command: list[str], port: int, log: Path, env: Mapping[str, str], *, path: str = '', user: str | None = None
) -> Generator[None]:
    """Run a server until the end of the block; it is ready when it listens, or when `path` answers."""
    with log.open('wb') as output:
        server = subprocess.Popen(
            command,
            env={**os.environ, **env},
            stdout=output,
            stderr=output,
            start_new_session=True,
            user=user,
            cwd=log.parent,
        )
        try:
            deadline = time.monotonic() + 60
            while not _answers(port, path):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f'{command[0]} did not start: {log.read_text()[-2000:]}')
                time.sleep(0.05)
            yield
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _answers(port: int, path: str) -> bool:
    try:
        if path:
            with urlopen(f'http://127.0.0.1:{port}{path}', timeout=1):
                return True
        with socket.create_connection(('127.0.0.1', port), timeout=1):
            return True
    except (OSError, URLError):
        return False


@contextmanager
def temporal_server(folder: Path) -> Generator[str]:
    """The address of a Temporal server."""
    port, http = free_port(), free_port()
    command = [
        str(Path(sys.executable).with_name('temporal')),
        *('server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', str(port), '--http-port', str(http)),
        *('--log-level', 'error', '--dynamic-config-value', 'frontend.enableServerVersionCheck=false'),
    ]
    with served(command, port, folder / 'temporal.txt', {}):
        yield f'127.0.0.1:{port}'


@contextmanager
def prefect_server(folder: Path) -> Generator[dict[str, str]]:
    """The environment by which processes find a Prefect server."""
    port = free_port()
    env = {
        'PREFECT_HOME': str(folder / 'prefect'),
        'PREFECT_API_URL': f'http://127.0.0.1:{port}/api',
        'PREFECT_SERVER_ANALYTICS_ENABLED': 'false',
        'DO_NOT_TRACK': '1',
        'PREFECT_LOGGING_LEVEL': 'ERROR',
        'PREFECT_SERVER_EPHEMERAL_ENABLED': 'false',
    }
    command = [
        *(sys.executable, '-m', 'prefect', 'server', 'start'),
        *('--host', '127.0.0.1', '--port', str(port), '--no-ui'),
    ]
    with served(command, port, folder / 'prefect.txt', env, path='/api/health'):
        yield env


def postgresql() -> Path | None:
    """Where PostgreSQL's programs are, if it is installed."""
    found = shutil.which('initdb')
    installed = [Path(found).parent] if found else sorted(Path('/usr/lib/postgresql').glob('*/bin'))
    return next((path for path in reversed(installed) if (path / 'initdb').exists()), None)


@contextmanager
def postgresql_server(programs: Path, folder: Path) -> Generator[str]:
    """The address of a new database; PostgreSQL refuses to run as root, so root lends it another user."""
    user = 'postgres' if os.getuid() == 0 else None
    data = folder / 'data'
    if user is not None:
        for path in (folder, *folder.parents):
            if path.owner() == 'root' and path.is_relative_to(tempfile.gettempdir()):
                path.chmod(0o711)
        shutil.chown(folder, user)
    initdb = [str(programs / 'initdb'), '--auth=trust', '--username=test', '--no-sync', '--pgdata', str(data)]
    subprocess.run(initdb, user=user, check=True, capture_output=True, cwd='/')
    port = free_port()
    command = [
        *(str(programs / 'postgres'), '-D', str(data), '-p', str(port), '-h', '127.0.0.1'),
        *('-k', str(folder), '-c', 'fsync=off'),
    ]
    with served(command, port, folder.parent / 'postgresql.txt', {}, user=user):
        yield f'postgresql+psycopg://test@127.0.0.1:{port}/dbos'
