"""What is recorded of authored capabilities, and the file that holds it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_ai.exceptions import UserError

from .directory import Directory

Status = Literal['active', 'disabled', 'quarantined']


class CapabilityFailure(BaseModel):
    """One failure of a loaded capability during a run."""

    model_config = ConfigDict(frozen=True, extra='allow')

    where: str
    """What failed: a hook, `'tool search_docs'`, `'an instruction function'`."""
    error: str
    """The exception, as `'ZeroDivisionError: division by zero'`."""
    traceback: str = ''
    """The lines of the capability's own code that led there, innermost last. Empty if none of its lines did."""
    failed_at: datetime
    """With time zone."""
    run_id: str | None = None
    """The run, or `None` if it had not started yet."""


class AuthoredCapability(BaseModel):
    """One entry of the manifest."""

    model_config = ConfigDict(frozen=True, extra='allow')

    name: str
    """The name it was authored under."""
    module_file: str
    """The file of its code, relative to the directory."""
    class_name: str = ''
    """The capability's class; empty if the code has failed."""
    status: Status = 'active'
    """`active` is loaded, `disabled` was switched off, `quarantined` failed in several runs in a row."""
    last_error: str | None = None
    """Why the code failed its checks, or `None` if it passed when it was last checked."""
    version: int | None = None
    """Counts the accepted versions from 1. `None`: none was accepted, or by a release that did not count."""
    sha256: str | None = None
    """Of the accepted code's bytes, in hexadecimal. `None` where `version` is."""
    lethal_sha256: str | None = None
    """Of code that has hung or ended the process that checked it, and is not run again."""
    written_at: datetime | None = None
    """When the entry's code was written, with time zone."""
    run_id: str | None = None
    """The run that wrote it, or `None` if it was not written by a run."""
    hints: tuple[str, ...] = ()
    """What is allowed but probably not meant, such as a capability which overrides nothing."""
    failing_runs: int = 0
    """Runs in a row, up to now, in which it failed."""
    failed_run_ids: tuple[str, ...] = ()
    """The last runs that were counted: a workflow that is replayed fails again where it has failed before."""
    last_failure: CapabilityFailure | None = None
    """Its latest failure in a run, or `None` if there was none since it was written or enabled."""
    edited: bool = Field(default=False, exclude=True)
    """Whether the file no longer holds the code that was accepted. Looked up, not stored."""

    def replaced(self, **changes: object) -> AuthoredCapability:
        """A copy with other values."""
        return self.model_copy(update=changes)

    def is_version_of(self, other: AuthoredCapability) -> bool:
        """Whether both are about the same code of the same write."""
        return (self.version, self.sha256, self.written_at) == (other.version, other.sha256, other.written_at)


class CapabilityVersion(BaseModel):
    """One version that was kept."""

    model_config = ConfigDict(frozen=True, extra='allow')

    version: int
    """Counts from 1 for each name."""
    sha256: str
    """Of its code's bytes, in hexadecimal."""
    written_at: datetime | None = None
    """When it was written, with time zone; `None` if that is not known."""
    run_id: str | None = None
    """The run that wrote it; `None` if it was written by hand, rolled back to, or not by a run."""


class _File(BaseModel):
    model_config = ConfigDict(extra='allow')

    capabilities: list[AuthoredCapability] = []


class Content:
    """What the manifest holds, to be changed and written again."""

    def __init__(self, file: _File) -> None:
        self.entries = {entry.name: entry for entry in file.capabilities}
        """By name, in insertion order."""
        self._file = file

    def to_json(self) -> str:
        """The file, with what a newer release may have put there besides."""
        return self._file.model_copy(update={'capabilities': list(self.entries.values())}).model_dump_json(indent=2)


class Manifest:
    """`manifest.json`. Written only by the holder of the directory's lock."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def entries(self) -> dict[str, AuthoredCapability]:
        """All entries by name, for reading; none if there is no manifest, or none that can be read."""
        try:
            return self.read().entries
        except UserError:
            return {}

    def read(self) -> Content:
        """What it holds, to be changed.

        Raises:
            UserError: There is a manifest that cannot be read. Replacing it would lose what is in it.
        """
        path = self._directory.manifest
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return Content(_File())
        except OSError:
            content = b''
        try:
            return Content(_File.model_validate_json(content))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = '.'.join(map(str, first['loc'])) or 'the file'
            raise UserError(
                f'{path} cannot be read, so nothing in it was changed ({place}: {first["msg"]}). '
                'Repair it, or remove it to start with an empty one.'
            ) from error

    def write(self, content: Content) -> None:
        """Replace the file."""
        self._directory.write(self._directory.manifest, content.to_json().encode())
