"""The session of one agent run as code mode uses it, wherever its steps are run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic_ai import RunContext

from pydantic_ai_harness.sandbox import (
    Answer,
    Failed,
    FailureKind,
    Finding,
    Session,
    Snippet,
    Step,
    StoredSession,
    TypeChecker,
)

from .waiting import result_of


@dataclass(frozen=True)
class Check:
    """What is to be checked before it runs."""

    code: str
    stubs: str
    """Declarations of the functions that it may call."""
    before: str
    """Earlier code of the same session."""


class Repl(Protocol):
    """Runs one snippet after the other, step by step; its variables live from snippet to snippet."""

    def enter(self, ctx: RunContext[Any]) -> None:
        """The steps that follow belong to this tool call."""
        ...

    @property
    def printed(self) -> str:
        """What the current snippet printed so far."""
        ...

    @property
    def pending(self) -> Sequence[asyncio.Future[Any]]:
        """What still goes on in another thread, to be awaited after `abort`."""
        ...

    @property
    def answered(self) -> Mapping[int, Answer]:
        """Answers to calls that the code has made and not waited for, which only this session knows."""
        ...

    @property
    def stepped_at(self) -> float:
        """When the last step ended, in seconds since 1970, as recorded; 0 where nothing is."""
        ...

    async def check(self, check: Check, then: Callable[[], Snippet | None]) -> list[Finding]:
        """Check types.

        Args:
            check: What to check.
            then: Asked by a session that can do both at once for the snippet to start if nothing is found; the step
                is then given by `feed` of that snippet. `None` starts nothing.
        """
        ...

    async def feed(self, snippet: Snippet) -> Step:
        """Start a snippet, and say what it needs, or how it ended."""
        ...

    async def advance(self, answers: Mapping[int, Answer]) -> Step:
        """Go on with answers to some of what the code is blocked on."""
        ...

    def abort(self) -> None:
        """End the snippet at once."""
        ...

    def close(self) -> Awaitable[None]:
        """Give up the variables, also if nobody waits for it; the next feed starts afresh."""
        ...

    async def store(self) -> StoredSession:
        """The session as data.

        Raises:
            CannotBeStoredError: A part of it lives only in its process.
        """
        ...

    def restore(self, stored: StoredSession, snippet: Snippet) -> None:
        """Become the session that was stored."""
        ...


class LocalRepl:
    """Runs its steps on this process's pool."""

    def __init__(self, session: Session, checker: TypeChecker) -> None:
        self._session = session
        self._checker = checker
        self._turn: Future[Step] | None = None

    def enter(self, ctx: RunContext[Any]) -> None:
        """Steps do not depend on whose they are."""

    @property
    def printed(self) -> str:
        """What the current snippet printed so far."""
        return self._session.printed

    @property
    def pending(self) -> Sequence[asyncio.Future[Any]]:
        """The turn in flight."""
        return [] if self._turn is None or self._turn.done() else [asyncio.wrap_future(self._turn)]

    @property
    def answered(self) -> Mapping[int, Answer]:
        """None: the sandbox has them."""
        return {}

    @property
    def stepped_at(self) -> float:
        """Nothing is recorded."""
        return 0

    async def check(self, check: Check, then: Callable[[], Snippet | None]) -> list[Finding]:
        """Check types, and start nothing."""
        return await result_of(self._checker.check(check.code, stubs=check.stubs, before=check.before))

    async def feed(self, snippet: Snippet) -> Step:
        """Start a snippet."""
        return await self._step(self._session.feed(snippet))

    async def advance(self, answers: Mapping[int, Answer]) -> Step:
        """Go on with answers."""
        return await self._step(self._session.advance(answers))

    async def _step(self, turn: Future[Step]) -> Step:
        self._turn = turn
        try:
            return await result_of(turn)
        except Exception as error:  # noqa: BLE001  a fault of the host must not end the run
            return Failed(FailureKind.CRASH, type(error).__name__, str(error), session_lost=True)

    def abort(self) -> None:
        """End the computing, by killing its process."""
        self._session.abort()
        if self._turn is not None:
            self._turn.cancel()

    def close(self) -> Awaitable[None]:
        """Give the worker back."""
        return asyncio.wrap_future(self._session.close())

    async def store(self) -> StoredSession:
        """The session as data."""
        return await asyncio.wrap_future(self._session.store())

    def restore(self, stored: StoredSession, snippet: Snippet) -> None:
        """Become the session that was stored."""
        self._session.restore(stored, snippet)
