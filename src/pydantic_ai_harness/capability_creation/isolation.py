"""Checks code in a process of its own, which can be ended: the agent's side.

One process is kept warm, with everything imported. For each check it forks (see `isolated`), so that no code meets
what other code has left behind.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future
from contextlib import suppress

from pydantic_ai_harness.errors import ConfigurationError, HarnessError

from . import prompt
from .isolated import Request, read_all, send_message
from .loader import Source
from .validation import Verdict, in_thread

_BOOT = (
    'import json, sys; sys.path[:] = json.loads(sys.argv[1]); '
    'from pydantic_ai_harness.capability_creation.isolated import serve; serve(int(sys.argv[2]))'
)
_END_SECONDS = 5
_MOMENT_SECONDS = 1
_TRIES = 2
"""The process may be ended by others while it checks."""
_GRACE_SECONDS = 20
"""More than the process takes to start, and to end code whose time is up."""


class IsolatedValidation:
    """Checks code in a child of a process that is kept warm.

    What the code does to its process (end it, block it, crash it, fill its memory) becomes the reason why it is
    refused. It is no sandbox: the code may do to the machine whatever this process may.

    Raises:
        ConfigurationError: This platform cannot fork.
    """

    def __init__(self, timeout_seconds: float | None) -> None:
        if not hasattr(os, 'fork') or not hasattr(socket, 'send_fds'):
            raise ConfigurationError(
                f'isolated_validation needs processes that fork, and {sys.platform} has none. Leave it out.'
            )
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._server: _Server | None = None

    def check(self, source: Source) -> Future[Verdict]:
        """See `Validation`."""
        call = _Call()
        verdict = in_thread(lambda: self._ask(source, call), f'check {source.name}')
        verdict.add_done_callback(lambda _: call.hang_up())  # on cancellation, this ends the code
        return verdict

    def close(self) -> None:
        """See `Validation`."""
        with self._lock:
            if self._server is not None:
                self._server.close()
            self._server = None

    def _ask(self, source: Source, call: _Call) -> Verdict:
        request = Request.about(source, self._timeout_seconds).model_dump_json().encode()
        for _ in range(_TRIES):
            channel, server = self._connect(call)
            try:
                answer = self._answer(channel, request)
            except TimeoutError:
                self._replace(server)
                return Verdict(error=prompt.timed_out(self._timeout_seconds))  # for which the code may not be to blame
            if answer:
                server.has_answered = True
                return Verdict.model_validate_json(answer)
            if call.is_over or not server.has_ended():
                break
            if not server.has_answered:
                raise HarnessError('The process that checks capabilities does not start: see standard error.')
        return Verdict(error=prompt.ended_its_process('ended the process that was to report'), is_lethal=True)

    def _answer(self, channel: socket.socket, request: bytes) -> bytes:
        if self._timeout_seconds is not None:
            channel.settimeout(self._timeout_seconds + _GRACE_SECONDS)
        try:
            send_message(channel, request)
            return read_all(channel)
        except TimeoutError:
            raise
        except OSError:
            return b''

    def _connect(self, call: _Call) -> tuple[socket.socket, _Server]:
        ours, theirs = socket.socketpair()
        call.use(ours)
        with theirs, self._lock:
            if self._server is None or not self._server.is_alive():
                self._server = _Server()
            with suppress(OSError):  # it has just ended, so there will be no answer
                self._server.hand_over(theirs)
            return ours, self._server

    def _replace(self, server: _Server) -> None:
        """Give up a process that does not answer."""
        with self._lock:
            if self._server is server:
                self._server = None
        server.close()


class _Call:
    """The way to the code that is checked, which ends with it."""

    def __init__(self) -> None:
        self._channel: socket.socket | None = None
        self.is_over = False
        """Whether nobody waits any more."""

    def use(self, channel: socket.socket) -> None:
        """Go through this one from now on."""
        self._close()
        self._channel = channel
        if self.is_over:
            self._close()

    def hang_up(self) -> None:
        """End the code, if it still runs."""
        self.is_over = True
        self._close()

    def _close(self) -> None:
        if self._channel is not None:
            with suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)
            self._channel.close()


class _Server:
    """The warm process. It ends when this one does, or when it is closed."""

    def __init__(self) -> None:
        control, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, '-c', _BOOT, json.dumps(sys.path), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # an interrupt from the keyboard is for the agent
            )
        self._process = process
        self._control = control
        self.has_answered = False
        self.close = weakref.finalize(self, _end, process, control)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def has_ended(self) -> bool:
        """Whether it has ended, or does within a moment: its channels close before it is known to be gone."""
        try:
            self._process.wait(_MOMENT_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    def hand_over(self, channel: socket.socket) -> None:
        socket.send_fds(self._control, [b'x'], [channel.fileno()])


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
