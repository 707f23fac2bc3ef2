"""What one agent run keeps from `run_code` call to `run_code` call, and for the next run."""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import dataclass, field

from pydantic_ai.messages import UserContent

from pydantic_ai_harness.sandbox import Failed, Snippet

from .announcing import Announcer
from .call_metadata import Room
from .driver import Driver
from .engine import PLAIN, Engine
from .media import Media
from .repl import Repl
from .state_store import StateUnavailableError
from .states import States, taken_whole
from .stored_session import SessionRecord
from .typecheck import SessionTypes


class StateStoreWarning(UserWarning):
    """A state could not be saved or taken up; what happens in its place is in the text."""


@dataclass
class RunState:
    """What one agent run keeps from `run_code` call to `run_code` call."""

    repl: Repl
    engine: Engine = PLAIN
    metadata_room: Room | None = None
    """For what the results tell the application of nested calls. `None` is no limit."""
    types: SessionTypes = field(default_factory=SessionTypes)
    media: Media = field(default_factory=Media)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    driver: Driver | None = None
    """Of the snippet that ran last; it may still be ending when the snippet was cancelled."""
    kept: KeptSession | None = None
    """Set once code has run, when the session is kept for the next run."""
    announcer: Announcer | None = None
    """Set in the first step, when functions are listed apart from `run_code`."""
    paused: set[str] = field(default_factory=set[str])
    """Ids of the `run_code` calls that have paused in this run."""
    _given_away: set[str] = field(default_factory=set[str])
    """Those of them that wait, and have taken the session with them."""
    for_model: list[UserContent] = field(default_factory=list[UserContent])
    """What tools addressed to the model in code that failed; it goes with the next result."""
    revealed: list[str] = field(default_factory=list[str])
    """Names of deferred tools that calls in such code made available."""
    has_warned: bool = False
    has_ended: bool = False

    async def end(self) -> None:
        """Give everything back; what was asked for is done also when this is cancelled meanwhile."""
        self.has_ended = True
        try:
            if self.kept is not None:
                await self.kept.save(self)
        finally:
            await self._close()

    async def _close(self) -> None:
        self.types.reset()
        closing = self.repl.close()
        try:
            await self.settle()
        finally:
            await closing

    async def settle(self) -> None:
        """End what a cancelled snippet may have left."""
        if self.driver is not None:
            self.driver.cancel()
            await self.driver.finished()
            self.driver = None

    async def reset(self) -> None:
        """Drop the session's variables."""
        self.types.reset()
        await self.repl.close()

    @property
    def has_given_away(self) -> bool:
        """Whether variables went away with code that waits."""
        return bool(self._given_away)

    async def give_away(self, run_code_id: str) -> None:
        """The session is stored with code that waits, and this run starts afresh."""
        self.paused.add(run_code_id)
        self._given_away.add(run_code_id)
        await self.reset()

    def take_back(self, run_code_id: str) -> None:
        """Code that waited goes on in this run."""
        self._given_away.discard(run_code_id)

    async def keep(self, states: States, *, brings_its_own: bool) -> None:
        """From now on keep the session for the conversation's next run, and first go on with that of the last one.

        Args:
            states: Of the conversation.
            brings_its_own: Whether a session is taken up anyway.
        """
        if self.kept is not None:
            return
        kept = KeptSession(states)
        record = None if brings_its_own else await kept.take()
        self.kept = kept
        if record is None:
            return
        self.take_up(record, Snippet(code=''))
        probe = await self.repl.feed(Snippet(code='None'))
        if isinstance(probe, Failed):
            await self.reset()
            kept.drop(probe.message)

    async def record(self) -> SessionRecord:
        """The session as data.

        Raises:
            CannotBeStoredError: A part of it lives only in its process.
        """
        stored = await self.repl.store()
        return SessionRecord(
            state=stored.state,
            is_mid_snippet=stored.is_mid_snippet,
            feeds=stored.feeds,
            printed=stored.printed,
            types=self.types.stored(),
            media=self.media.kept,
        )

    def take_up(self, record: SessionRecord, snippet: Snippet) -> None:
        """Go on with a session that was stored, in place of this one."""
        self.repl.restore(record.session, snippet)
        self.types.restore(record.types)
        self.media.keep_all(record.media.values())


class KeptSession:
    """The session that the conversation's last run has left, and that this one leaves."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._taken: SessionRecord | None = None

    async def take(self) -> SessionRecord | None:
        """What the last run left, or `None` to start afresh."""
        try:
            self._taken = await taken_whole(self._states.take_session(), self._states.save_session)
        except Exception as error:  # noqa: BLE001  stores are written by others
            if not (isinstance(error, StateUnavailableError) and error.reason == 'missing'):
                _warn(f'The variables of the last run are not there, the session starts afresh: {_text(error)}')
        return self._taken if self._taken is not None and self._taken.state is not None else None

    def drop(self, reason: str) -> None:
        """What the last run left cannot be used."""
        self._taken = None
        _warn(f'The variables of the last run are not there, the session starts afresh: {reason}')

    async def save(self, run: RunState) -> None:
        """Keep the run's session; or what was taken, if the run was interrupted or its session waits with code."""
        try:
            record = None if run.driver is not None or run.has_given_away else await run.record()
            if record is None or record.is_mid_snippet:
                record = self._taken
            if record is not None:
                await self._states.save_session(record)
        except Exception as error:  # noqa: BLE001  stores are written by others
            _warn(f'The variables of this run are not kept for the next one: {_text(error)}')


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, StateUnavailableError) else f'{type(error).__name__}: {error}'


def _warn(text: str) -> None:
    warnings.warn(text, StateStoreWarning, stacklevel=2)
