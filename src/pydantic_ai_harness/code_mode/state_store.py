"""Where snippets that wait for somebody, and sessions between runs, are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Literal, Protocol, TypeAlias

from pydantic_ai_harness.errors import ConfigurationError, HarnessError

Reason: TypeAlias = Literal['missing', 'not_in_history', 'taken', 'expired', 'altered', 'incompatible']
"""Why a state is not to be had: there is none of that key, or it was taken before, or it is too old, or it is not
what was saved, or another version wrote it. In a workflow, the message history may not have it."""

_WORDS: dict[Reason, str] = {
    'missing': 'it is not in the store',
    'not_in_history': 'the message history does not have it',
    'taken': 'it was taken up before',
    'expired': 'it has expired',
    'altered': 'it was altered since it was saved, or saved with another key',
    'incompatible': 'this version cannot read it',
}


class StateUnavailableError(HarnessError):
    """A stored state cannot be had."""

    def __init__(self, reason: Reason, detail: str = '') -> None:
        self.reason: Reason = reason
        """Which of the reasons it is."""
        self.detail = detail
        super().__init__(f'{_WORDS[reason]}{f" ({detail})" if detail else ""}')


class StateStore(Protocol):
    """Keeps states by their keys: letters and digits, at most 64."""

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        """Keep a state, in place of what was kept or taken under that key."""
        ...

    async def take(self, key: str) -> bytes:
        """Give a state out, once: of any number of callers, in any number of processes, one gets it.

        Raises:
            StateUnavailableError: There is none, or it was taken before, has expired or was altered.
        """
        ...


_ENTRIES = 2
"""What a snippet that waits takes: its state, and a note of which pause was its last."""


class MemoryStateStore:
    """Keeps the newest states in this process; those that were taken go first."""

    def __init__(self, *, max_states: int = 1000) -> None:
        """Settle how many snippets may wait.

        Raises:
            ConfigurationError: `max_states` is not at least 1.
        """
        if max_states < 1:
            raise ConfigurationError(f'`max_states` must be at least 1, not {max_states!r}.')
        self._max_states = max_states
        self._lock = threading.Lock()
        self._states: OrderedDict[str, tuple[bytes | None, datetime]] = OrderedDict()

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        """See `StateStore`."""
        with self._lock:
            self._states[key] = state, expires_at
            self._states.move_to_end(key)
            while len(self._states) > self._max_states * _ENTRIES:
                taken = next((known for known, (content, _) in self._states.items() if content is None), None)
                self._states.pop(next(iter(self._states)) if taken is None else taken)

    async def take(self, key: str) -> bytes:
        """See `StateStore`."""
        with self._lock:
            if key not in self._states:
                raise StateUnavailableError('missing')
            state, expires_at = self._states[key]
            if state is None:
                raise StateUnavailableError('taken')
            if expires_at <= datetime.now(UTC):
                raise StateUnavailableError('expired', f'on {expires_at:%Y-%m-%d %H:%M} UTC')
            self._states[key] = None, expires_at
            return state
