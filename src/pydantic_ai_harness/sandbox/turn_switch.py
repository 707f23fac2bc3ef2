"""Ends a turn that computes, from any thread."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

_KILL = getattr(signal, 'SIGKILL', signal.SIGTERM)


class TurnSwitch:
    """Knows which process computes for a session, so that it is killed only while it does.

    Snippets are numbered by epochs: an abort ends the epoch, and with it the turn in flight and those that wait.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._epoch = 0
        self._process: int | None = None

    @property
    def epoch(self) -> int:
        """The epoch of a snippet that is fed now."""
        return self._epoch

    def begin(self, epoch: int, process: int | None) -> bool:
        """The turn starts to compute in `process`; False when it was aborted before."""
        with self._lock:
            self._process = process if epoch == self._epoch else None
            return epoch == self._epoch

    def end(self) -> None:
        """The turn no longer computes, and its process may serve another session."""
        with self._lock:
            self._process = None

    def abort(self) -> None:
        """End the epoch and the turn in flight."""
        with self._lock:
            self._epoch += 1
            self._kill()

    def stop(self) -> None:
        """End the turn in flight only."""
        with self._lock:
            self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self._process, _KILL)
