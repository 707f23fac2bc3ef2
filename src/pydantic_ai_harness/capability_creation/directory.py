"""One directory of authored capabilities: where its files are, who may write, and how a file is replaced whole."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from pydantic_ai_harness.errors import CapabilityNameError

_NAME = re.compile(r'[a-z][a-z0-9_]{0,63}')
_POLL_SECONDS = 0.002


def check_name(name: str) -> None:
    """Refuse what is not a name.

    Raises:
        CapabilityNameError: It is not at most 64 lower-case letters, digits and underscores after a first letter.
    """
    if not _NAME.fullmatch(name):
        raise CapabilityNameError(
            f'{name!r} cannot name a capability: a name is at most 64 lower-case letters, digits and underscores, '
            "and starts with a letter, like 'log_slow_tools'."
        )


class Directory:
    """The files below one directory. It is made when something is first written.

    Everything is written by the holder of `lock`, each file under another name first and then moved into place:
    a reader sees the old file or the new one, and what lies in `staging` when the lock was just taken was left
    behind by a writer that died.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        """Fixed when built: a later change of the working directory does not move it."""
        self.manifest = self.path / 'manifest.json'
        internal = self.path / '.store'
        self.journal = internal / 'commit.json'
        """There while a commit is under way, and after its writer died in it."""
        self.versions = internal / 'versions'
        self._staging = internal / 'staging'
        self._lock = internal / 'lock'

    def source(self, name: str) -> Path:
        """The file of the capability's current code."""
        return self.path / f'{name}.py'

    def rejected(self, name: str) -> Path:
        """The file of the last code that failed beside a working version."""
        return self.path / f'{name}.rejected.py'

    def holds(self, module_file: str) -> Path | None:
        """The file that a manifest entry names, or `None` if that lies outside of the directory."""
        path = self.path / module_file
        try:
            if os.path.basename(module_file) == module_file and not path.is_symlink():  # noqa: PTH119 - text, no path
                return path
            resolved = path.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, a name that no file can have
            return None
        return resolved if resolved.is_relative_to(self.path.resolve()) else None

    def content(self, module_file: str) -> bytes | None:
        """What is in the file that a manifest entry names, or `None` if that cannot be read, or is none of these."""
        path = self.holds(module_file)
        return None if path is None else read_or_none(path)

    @contextmanager
    def lock(self, *, timeout_seconds: float = -1) -> Generator[None]:
        """Hold the directory, against other threads and processes. It ends with its holder, however that dies.

        Raises:
            TimeoutError: It was not free within the time. `-1` waits for ever.
        """
        self._staging.mkdir(parents=True, exist_ok=True)
        # One object for each holder: they are separate for the operating system, also between threads.
        with FileLock(self._lock).acquire(timeout=timeout_seconds, poll_interval=_POLL_SECONDS):
            for left_behind in os.listdir(self._staging):  # noqa: PTH208 - a third of the time of `iterdir`
                (self._staging / left_behind).unlink(missing_ok=True)
            yield

    def write(self, path: Path, content: bytes) -> None:
        """Replace a file as a whole. Only for the holder of the lock."""
        staged = self._staging / uuid.uuid4().hex
        staged.write_bytes(content)
        self.move(staged, path)

    def move(self, source: Path, target: Path) -> None:
        """Move a file, into a folder that may not be there yet. Only for the holder of the lock."""
        try:
            source.replace(target)
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)


def read_or_none(path: Path) -> bytes | None:
    """What is in the file, or `None` if there is none, or none that can be read."""
    try:
        return path.read_bytes()
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return None
