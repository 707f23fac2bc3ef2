"""A session of code mode as data: the sandbox's state, and what is known about its names and media."""

from __future__ import annotations

from pydantic import BaseModel
from pydantic_ai.messages import MultiModalContent

from pydantic_ai_harness.sandbox import StoredSession

from .packing import PackedBytes

FORMAT = 1
"""Raised when older readers could not read what is written."""


class StoredTypes(BaseModel):
    """What the type check knows of a session's names."""

    before: list[str] = []
    too_old: list[str] = []
    untyped: list[str] = []
    stored_keys: list[str] = []


class SessionRecord(BaseModel):
    """A session, to be taken up by another run."""

    state: PackedBytes | None
    is_mid_snippet: bool
    feeds: int
    printed: str
    types: StoredTypes
    media: dict[str, MultiModalContent] = {}

    @property
    def session(self) -> StoredSession:
        """The sandbox's part."""
        return StoredSession(
            state=self.state, is_mid_snippet=self.is_mid_snippet, feeds=self.feeds, printed=self.printed
        )
