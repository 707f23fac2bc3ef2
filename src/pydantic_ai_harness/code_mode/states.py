"""Which states a conversation has in the store: its paused snippets, and its session."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from pydantic_ai_harness.sandbox import SANDBOX_VERSION

from .pause_record import PauseRecord
from .python_text import with_plain_newlines
from .state_store import StateStore, StateUnavailableError
from .stored_session import FORMAT, SessionRecord

R = TypeVar('R', bound=BaseModel)
_PUT_BACK_SECONDS = 1


class _Envelope(BaseModel):
    """What tells whether the rest can be read."""

    format: int
    sandbox_version: str
    expires_at: datetime


class _Latest(BaseModel):
    """Outlives the pause itself, so that its code is not taken for code that has never run."""

    token: str
    code_sha256: str


class States(Protocol):
    """Where a conversation's paused snippets and its session are kept."""

    async def save_pause(self, record: PauseRecord) -> None:
        """Keep a snippet until it is answered."""
        ...

    async def latest_pause(self, run_code_id: str, code: str) -> str | None:
        """The token of the last pause of a `run_code` call, or `None` if nothing is known of one with this code.

        Empty if there was one, and nothing more is known.
        """
        ...

    async def take_pause(self, run_code_id: str, token: str) -> PauseRecord:
        """Take a snippet up, which only one can do.

        Raises:
            StateUnavailableError: It is not to be had.
        """
        ...

    async def save_session(self, record: SessionRecord) -> None:
        """Keep the session for the next run."""
        ...

    async def take_session(self) -> SessionRecord:
        """Take the session of the last run.

        Raises:
            StateUnavailableError: It is not to be had.
        """
        ...


@dataclass(frozen=True)
class ConversationStates:
    """The states of one conversation in a store."""

    store: StateStore
    time_to_live: timedelta
    conversation_id: str

    async def save_pause(self, record: PauseRecord) -> None:
        """Keep a snippet until it is answered."""
        await self._save(self._pause_key(record.run_code_id, record.token), record)
        latest = _Latest(token=record.token, code_sha256=_digest(record.code))
        await self._save(self._key(f'latest\0{record.run_code_id}'), latest)

    async def latest_pause(self, run_code_id: str, code: str) -> str | None:
        """The token of the last pause of a `run_code` call, or `None` if the store knows of none of this code.

        Empty if there was one, and nothing more is known.
        """
        key = self._key(f'latest\0{run_code_id}')
        try:
            latest = await self._take(key, _Latest)
        except StateUnavailableError as error:
            return None if error.reason == 'missing' else ''
        await self._save(key, latest)
        return latest.token if latest.code_sha256 == _digest(code) else None

    async def take_pause(self, run_code_id: str, token: str) -> PauseRecord:
        """Take a snippet up, which only one can do.

        Raises:
            StateUnavailableError: It is not to be had.
        """
        return await self._take(self._pause_key(run_code_id, token), PauseRecord)

    async def save_session(self, record: SessionRecord) -> None:
        """Keep the session for the next run."""
        await self._save(self._key('session'), record)

    async def take_session(self) -> SessionRecord:
        """Take the session of the last run.

        Raises:
            StateUnavailableError: It is not to be had.
        """
        return await self._take(self._key('session'), SessionRecord)

    async def _save(self, key: str, record: BaseModel) -> None:
        expires_at = datetime.now(UTC) + self.time_to_live
        await self.store.save(key, written(record, expires_at), expires_at=expires_at)

    async def _take(self, key: str, kind: type[R]) -> R:
        content = await self.store.take(key)
        try:
            return read(content, kind)
        except OtherVersionError as error:
            await self.store.save(key, content, expires_at=error.expires_at)  # for one who can read it
            raise

    def _pause_key(self, run_code_id: str, token: str) -> str:
        return self._key(f'pause\0{run_code_id}\0{token}')

    def _key(self, what: str) -> str:
        return hashlib.sha256(f'{self.conversation_id}\0{what}'.encode(errors='surrogatepass')).hexdigest()


async def taken_whole(taking: Coroutine[Any, Any, R], put_back: Callable[[R], Awaitable[None]]) -> R:
    """Take a state; whoever is cancelled meanwhile puts it back, so that it is not lost."""
    task = asyncio.ensure_future(taking)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=_PUT_BACK_SECONDS)
        if task.done() and not task.cancelled() and task.exception() is None:
            await put_back(task.result())
        task.cancel()
        raise


class OtherVersionError(StateUnavailableError):
    """The state was written by a version that this one cannot read."""

    def __init__(self, problem: str, expires_at: datetime) -> None:
        super().__init__('incompatible', problem)
        self.expires_at = expires_at


def written(record: BaseModel, expires_at: datetime) -> bytes:
    """A record as it is stored, with what tells whether it can be read."""
    envelope = _Envelope(format=FORMAT, sandbox_version=SANDBOX_VERSION, expires_at=expires_at)
    return f'{envelope.model_dump_json()}\n{record.model_dump_json()}'.encode()


def read(content: bytes, kind: type[R]) -> R:
    """The record that was written.

    Raises:
        StateUnavailableError: It cannot be read; `OtherVersionError` if another version could.
    """
    head, _, body = content.partition(b'\n')
    try:
        envelope = _Envelope.model_validate_json(head)
    except ValidationError as error:
        raise StateUnavailableError('incompatible', 'its form is unknown') from error
    if problem := _incompatible(envelope):
        raise OtherVersionError(problem, envelope.expires_at)
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise StateUnavailableError('incompatible', f'{error.error_count()} fields are not as expected') from error


def _digest(code: str) -> str:
    return hashlib.sha256(with_plain_newlines(code).encode(errors='surrogatepass')).hexdigest()


def _incompatible(envelope: _Envelope) -> str | None:
    if envelope.format > FORMAT:
        return f'it has format {envelope.format}, and this version reads up to {FORMAT}'
    if _numbers(envelope.sandbox_version) > _numbers(SANDBOX_VERSION):
        return f'sandbox {envelope.sandbox_version} wrote it, and this one is {SANDBOX_VERSION}'
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split('.') if part.isdecimal())
