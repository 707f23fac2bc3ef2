"""The versions that were kept of each authored capability."""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from .directory import Directory, read_or_none
from .manifest import AuthoredCapability, CapabilityVersion


def sha256(content: bytes) -> str:
    """The hash by which code is told from other code."""
    return hashlib.sha256(content).hexdigest()


class Commit(BaseModel):
    """Code, and the manifest entry that is about it."""

    model_config = ConfigDict(frozen=True)

    entry: AuthoredCapability
    code: bytes
    """UTF-8."""


class Versions:
    """One file for each version. Changed only by the holder of the directory's lock."""

    def __init__(self, directory: Directory, max_versions: int) -> None:
        self._directory = directory
        self._max_versions = max_versions

    def path(self, name: str, version: int) -> Path:
        """The file of one version: a `Commit` as JSON."""
        return self._directory.versions / name / f'{version:06}.json'

    def number_after(self, entry: AuthoredCapability | None, name: str) -> int:
        """The number of the next version."""
        current = 0 if entry is None else entry.version or 0
        return max([current, *self._numbers(name)]) + 1

    def prune(self, name: str, newest: int) -> None:
        """Drop the oldest beyond what is kept."""
        if newest > self._max_versions:
            for outdated in self._numbers(name)[: -self._max_versions]:
                self.path(name, outdated).unlink(missing_ok=True)

    def history(self, name: str) -> list[CapabilityVersion]:
        """What is kept of one capability, oldest first."""
        found = [(number, self._read(name, number)) for number in self._numbers(name)]
        return [_summary(number, commit) for number, commit in found if commit is not None]

    def code(self, name: str, version: int) -> bytes | None:
        """The code of one version, or `None` if it is not kept."""
        commit = self._read(name, version)
        return None if commit is None else commit.code

    def _numbers(self, name: str) -> list[int]:
        folder = self._directory.versions / name
        if not folder.is_dir():
            return []
        return sorted(int(path.stem) for path in folder.glob('*.json') if path.stem.isdecimal())

    def _read(self, name: str, version: int) -> Commit | None:
        try:
            return Commit.model_validate_json(read_or_none(self.path(name, version)) or b'')
        except ValidationError:
            return None


def _summary(number: int, commit: Commit) -> CapabilityVersion:
    return CapabilityVersion(
        version=number, sha256=sha256(commit.code), written_at=commit.entry.written_at, run_id=commit.entry.run_id
    )


def unified_diff(name: str, a: int, a_code: str, b: int, b_code: str) -> str:
    """What changed from one version to the other, as `diff -u` shows it; empty if nothing did."""
    lines = difflib.unified_diff(
        a_code.splitlines(), b_code.splitlines(), f'{name} version {a}', f'{name} version {b}', lineterm=''
    )
    return '\n'.join(lines)
