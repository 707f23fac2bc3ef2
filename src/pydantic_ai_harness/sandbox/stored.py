"""A session as data: what a session is stored as, to be taken up in another process."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from pydantic_ai_harness.errors import HarnessError

SANDBOX_VERSION = version('pydantic-monty')
"""States are only known to be read by the version that wrote them, and by newer ones (measured with 1.4.0)."""


class CannotBeStoredError(HarnessError):
    """The session has something that lives only in its process."""


@dataclass(frozen=True, kw_only=True)
class StoredSession:
    """Variables, and the snippet that waits if there is one."""

    state: bytes | None
    """`None` is a session in which nothing has run."""
    is_mid_snippet: bool
    """Whether a snippet waits half-way."""
    feeds: int
    """Snippets that were fed so far."""
    printed: str
    """By the snippet that waits, or the last one."""
