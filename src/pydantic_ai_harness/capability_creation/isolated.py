"""Checks code in a process of its own: the other side.

`serve` is the warm process. For each request it forks a supervisor, which forks the process that runs the code,
waits for it, ends it when its time is up or nobody waits any more, and says what became of it.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from . import own_code, prompt
from .loader import Source
from .validation import Verdict, judge

MEMORY_HEADROOM_BYTES = 2 * 1024**3
"""What the code may take beyond what the process has already; address space, which is more than what is used."""

_LENGTH = struct.Struct('!Q')
_LOOK_SECONDS = 0.01
_CHUNK_BYTES = 65536
_PR_SET_PDEATHSIG = 1  # of Linux, in sys/prctl.h


class Request(BaseModel):
    """What is to be checked, and the surroundings that the agent has."""

    model_config = ConfigDict(frozen=True, ser_json_bytes='base64', val_json_bytes='base64')

    name: str
    path: bytes
    code: bytes
    timeout_seconds: float | None
    working_directory: bytes | None
    """`None` if it is gone."""
    import_path: list[str]
    environment: list[tuple[bytes, bytes]]

    @classmethod
    def about(cls, source: Source, timeout_seconds: float | None) -> Request:
        """The code, in the surroundings of this process."""
        try:
            working_directory = os.getcwdb()  # noqa: PTH109 - as bytes
        except OSError:
            working_directory = None
        return cls(
            name=source.name,
            path=os.fsencode(source.path),
            code=source.content,
            timeout_seconds=timeout_seconds,
            working_directory=working_directory,
            import_path=[entry for entry in map(_as_text, sys.path) if entry is not None],
            environment=list(os.environb.items()),
        )

    def take_up(self) -> Source:
        """Make the surroundings those of the agent."""
        if self.working_directory is not None:
            os.chdir(self.working_directory)
        sys.path[:] = self.import_path
        os.environ.clear()
        os.environb.update(self.environment)
        return Source(self.name, Path(os.fsdecode(self.path)), self.code)


def _as_text(entry: object) -> str | None:
    """An entry of the import path, which people also make of other things."""
    text = os.fspath(entry) if isinstance(entry, (str, Path)) else None
    return text if text is not None and text.isprintable() else None


def send_message(channel: socket.socket, message: bytes) -> None:
    """Send one message; the other side uses `read_message`."""
    channel.sendall(_LENGTH.pack(len(message)) + message)


def read_message(channel: socket.socket) -> bytes:
    """Read what was sent as one message; shorter if the other side has gone."""
    length = _LENGTH.unpack(_read(channel, _LENGTH.size))[0]
    return _read(channel, length)


def read_all(channel: socket.socket) -> bytes:
    """Read until the other side closes."""
    return b''.join(iter(lambda: channel.recv(_CHUNK_BYTES), b''))


def serve(control_fd: int) -> None:
    """Check code until the agent is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are waited for by no one
    with socket.socket(fileno=control_fd) as control:
        while True:
            data, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not data:
                return
            with socket.socket(fileno=descriptors[0]) as channel:
                if os.fork() == 0:
                    _in_child(control, channel)


def _in_child(control: socket.socket, channel: socket.socket) -> None:
    try:
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        request = Request.model_validate_json(read_message(channel))
        channel.sendall(_supervise(request, channel).model_dump_json().encode())
    finally:
        os._exit(0)


def _supervise(request: Request, channel: socket.socket) -> Verdict:
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        channel.close()
        os.close(reading)
        _run_code(request, writing)
    os.close(writing)
    subject = _Subject(pid, reading)
    try:
        return _wait_for_verdict(subject, channel, request.timeout_seconds)
    finally:
        subject.end()


def _run_code(request: Request, writing: int) -> None:
    """Check the code in this process, which ends with it."""
    try:
        os.setsid()
        _end_with_parent()
        _silence()
        _limit_memory()
        os.write(writing, _line(judge(request.take_up())))
    except MemoryError:
        os.write(writing, _OUT_OF_MEMORY)
    except BaseException as error:  # noqa: BLE001 - there is no one else to tell
        os.write(writing, _line(Verdict(error=own_code.describe(error))))
    finally:
        os._exit(0)


def _line(verdict: Verdict) -> bytes:
    return verdict.model_dump_json().encode() + b'\n'


# Made beforehand: when it is needed, there is no memory to make it.
_OUT_OF_MEMORY = _line(
    Verdict(error=f'The code took more than {MEMORY_HEADROOM_BYTES // 1024**2} MiB of memory.', is_lethal=True)
)


class _Subject:
    """The process that runs the code."""

    def __init__(self, pid: int, reading: int) -> None:
        self._pid = pid
        self._reading = reading
        self._written = b''
        self._status: int | None = None

    def verdict(self) -> Verdict | None:
        """What it has reported, or how it ended without a report; `None` if neither yet."""
        has_ended = self._has_ended()  # asked first: what it wrote before it ended is there to read
        while select.select([self._reading], [], [], 0)[0] and (chunk := os.read(self._reading, _CHUNK_BYTES)):
            self._written += chunk
        if self._written.endswith(b'\n'):
            return Verdict.model_validate_json(self._written)
        return Verdict(error=prompt.ended_its_process(self._how_it_ended()), is_lethal=True) if has_ended else None

    def end(self) -> None:
        """End it, with all that it has started and not moved to a session of their own."""
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)  # it may not have come to lead its group yet
            os.waitpid(self._pid, 0)
        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        os.close(self._reading)

    def _has_ended(self) -> bool:
        if self._status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status is not None

    def _how_it_ended(self) -> str:
        code = os.waitstatus_to_exitcode(self._status or 0)
        if code >= 0:
            return f'ended the process with exit code {code}'
        name = signal.Signals(-code).name
        return f'crashed the process ({name}{", perhaps for lack of memory" if name == "SIGKILL" else ""})'


def _wait_for_verdict(subject: _Subject, channel: socket.socket, timeout_seconds: float | None) -> Verdict:
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    while (verdict := subject.verdict()) is None:
        if deadline is not None and time.monotonic() > deadline:
            return Verdict(error=prompt.timed_out(timeout_seconds), is_lethal=True)
        if select.select([channel], [], [], _LOOK_SECONDS)[0]:
            return Verdict(error='Nobody waits any more.')
    return verdict


def _end_with_parent() -> None:
    """Where the platform can, Linux: code that kills its supervisor does not outlive it."""
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


def _limit_memory() -> None:
    """Where the platform can: Linux. Elsewhere the time limit has to do."""
    try:
        import resource  # noqa: PLC0415 - not on every platform

        pages = int(Path('/proc/self/statm').read_text('ascii').split()[0])
    except (ImportError, OSError):
        return
    limit = pages * resource.getpagesize() + MEMORY_HEADROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _read(channel: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length and (chunk := channel.recv(min(length - len(parts), _CHUNK_BYTES))):
        parts += chunk
    return bytes(parts)
