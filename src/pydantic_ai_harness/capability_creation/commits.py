"""Code and its manifest entry are replaced together: what is to be done is written down first.

A writer that dies in between leaves that record behind, and whoever holds the lock next does what it says. Doing it
twice does no harm. In the end the record is what is kept of the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from .directory import Directory, read_or_none
from .manifest import AuthoredCapability, Content, Manifest
from .versions import Commit, Versions, sha256


class Commits:
    """Only for the holder of the directory's lock."""

    def __init__(self, directory: Directory, manifest: Manifest, versions: Versions) -> None:
        self._directory = directory
        self._manifest = manifest
        self._versions = versions

    def make(self, commit: Commit, content: Content) -> None:
        """Replace code and entry, or neither.

        Raises:
            OSError: Something could not be written. What was there before is there again.
        """
        replaced = [self._directory.source(commit.entry.name), self._directory.manifest]
        before = {path: read_or_none(path) for path in replaced}
        try:
            self._directory.write(self._directory.journal, commit.model_dump_json().encode())
            self._apply(commit, content)
        except BaseException:
            self._put_back(before)
            raise

    def keep(self, commit: Commit, version: int) -> None:
        """Keep code as a version without making it the current one."""
        self._directory.write(self._versions.path(commit.entry.name, version), commit.model_dump_json().encode())

    def keep_unknown(self, entry: AuthoredCapability | None, *, successor_sha256: str) -> AuthoredCapability | None:
        """Keep what is about to be replaced, if it is no version yet: edited by hand, or by an older release.

        Returns:
            The entry, with the version that was kept.
        """
        was_accepted = entry is not None and (entry.version is not None or entry.last_error is None)
        if entry is None or not was_accepted or (code := self._directory.content(entry.module_file)) is None:
            return entry
        digest = sha256(code)
        if digest in {entry.sha256, successor_sha256} or any(
            digest == kept.sha256 for kept in self._versions.history(entry.name)
        ):
            return entry
        version = self._versions.number_after(entry, entry.name)
        edited = entry.replaced(version=version, sha256=digest, written_at=datetime.now(UTC), run_id=None)
        with suppress(ValueError):  # what is not UTF-8 was no capability
            self.keep(Commit(entry=edited, code=code), version)
        return edited

    def finish_interrupted(self) -> None:
        """Do what a writer that died had begun.

        Raises:
            UserError: The manifest cannot be read.
        """
        if (record := read_or_none(self._directory.journal)) is None:
            return
        try:
            commit = Commit.model_validate_json(record)
        except ValidationError:
            self._directory.journal.unlink()  # not one of ours, which are written whole
        else:
            self._apply(commit, self._manifest.read())

    def _apply(self, commit: Commit, content: Content) -> None:
        entry = commit.entry
        self._directory.write(self._directory.source(entry.name), commit.code)
        content.entries[entry.name] = entry
        self._manifest.write(content)
        if entry.version is None:
            self._directory.journal.unlink()
        else:
            self._directory.move(self._directory.journal, self._versions.path(entry.name, entry.version))
            with suppress(OSError):
                self._versions.prune(entry.name, entry.version)

    def _put_back(self, before: Mapping[Path, bytes | None]) -> None:
        for path, content in before.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                self._directory.write(path, content)
        self._directory.journal.unlink(missing_ok=True)  # last: until then, whoever comes next would still finish
