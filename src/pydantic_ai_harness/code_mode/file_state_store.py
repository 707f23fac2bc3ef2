"""`FileStateStore`: states in files, for any number of processes."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pydantic_ai_harness.errors import ConfigurationError

from .state_store import StateUnavailableError

_KEY_BYTES = 32
_MIN_KEY_BYTES = 16
_KEEP_SECONDS = {'.part': 3600, '.state': 7 * 86_400, '.taken': 7 * 86_400}
"""How long a file stays that is written, or expired: until then, whoever asks learns why there is no state."""


class _File(BaseModel):
    """What is in a file, signed."""

    model_config = ConfigDict(ser_json_bytes='base64', val_json_bytes='base64')

    key: str
    expires_at: datetime
    state: bytes
    signature: bytes = b''

    def signed_with(self, secret: bytes) -> bytes:
        content = b'\0'.join([self.key.encode(), self.expires_at.isoformat().encode(), self.state])
        return hmac.digest(secret, content, 'sha256')


class FileStateStore:
    """Keeps each state in a file that only its owner may read, signed, not encrypted.

    A state is taken by renaming its file, which only one process can do.
    """

    def __init__(self, directory: Path | str, *, key: bytes | None = None) -> None:
        """Settle where the files are; nothing is made before the first `save`.

        Args:
            directory: For this purpose alone. Relative paths are fixed now.
            key: Signs the files, at least 16 bytes. `None` makes one, in a file beside them.

        Raises:
            ConfigurationError: The key is too short.
        """
        if key is not None and len(key) < _MIN_KEY_BYTES:
            raise ConfigurationError(f'`key` must have at least {_MIN_KEY_BYTES} bytes; it has {len(key)}.')
        self._directory = Path(directory).absolute()
        self._key = key

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        """See `StateStore`."""
        await asyncio.to_thread(self._save, key, state, expires_at.astimezone(UTC))

    async def take(self, key: str) -> bytes:
        """See `StateStore`."""
        return await asyncio.to_thread(self._take, key)

    def _save(self, key: str, state: bytes, expires_at: datetime) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep()
        file = _File(key=key, expires_at=expires_at, state=state)
        file.signature = file.signed_with(self._secret())
        self._write(self._waiting(key), file.model_dump_json().encode(), expires_at)

    def _take(self, key: str) -> bytes:
        waiting, taken = self._waiting(key), self._taken(key)
        try:
            waiting.rename(taken)
        except FileNotFoundError:
            raise StateUnavailableError('taken' if taken.exists() else 'missing') from None
        try:
            file = self._read(taken, key)
        except BaseException:
            with suppress(OSError):
                taken.rename(waiting)  # the next who asks gets the same reason
            raise
        self._write(taken, b'', file.expires_at)  # that it was taken is all that has to be kept
        return file.state

    def _read(self, path: Path, key: str) -> _File:
        try:
            file = _File.model_validate_json(path.read_bytes())
        except ValidationError as error:
            raise StateUnavailableError('altered') from error
        if file.key != key or not hmac.compare_digest(file.signature, file.signed_with(self._secret())):
            raise StateUnavailableError('altered')
        if file.expires_at <= datetime.now(UTC):
            raise StateUnavailableError('expired', f'on {file.expires_at:%Y-%m-%d %H:%M} UTC')
        return file

    def _secret(self) -> bytes:
        if self._key is None:
            self._key = self._made_key()
        return self._key

    def _made_key(self) -> bytes:
        path = self._directory / 'key'
        with suppress(FileExistsError):
            made = self._staged(secrets.token_bytes(_KEY_BYTES))
            try:
                os.link(made, path)  # whole from the start, and only if there is none
            finally:
                made.unlink()
        return path.read_bytes()

    def _write(self, path: Path, content: bytes, expires_at: datetime) -> None:
        staged = self._staged(content)
        os.utime(staged, (expires_at.timestamp(), expires_at.timestamp()))  # what `_sweep` goes by
        staged.replace(path)

    def _staged(self, content: bytes) -> Path:
        staged = self._directory / f'{secrets.token_hex(8)}.part'
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, 'wb') as file:
            file.write(content)
        return staged

    def _sweep(self) -> None:
        """Remove what expired long ago, and what a writer that died has left behind."""
        now = time.time()
        for path in self._directory.iterdir():
            keep_seconds = _KEEP_SECONDS.get(path.suffix)
            with suppress(OSError):
                if keep_seconds is not None and now - path.stat().st_mtime > keep_seconds:
                    path.unlink()

    def _waiting(self, key: str) -> Path:
        return self._directory / f'{key}.state'

    def _taken(self, key: str) -> Path:
        return self._directory / f'{key}.taken'
