"""`CapabilityStore`: authored capabilities on disk, for any number of processes and threads."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UserError

from pydantic_ai_harness.errors import CapabilityRefusedError, ConfigurationError, UnknownCapabilityError
from pydantic_ai_harness.narrowing import is_count

from . import checks, loader, own_code, prompt
from .commits import Commits
from .directory import Directory, check_name, read_or_none
from .guard import LoadedCapability, guard
from .isolation import IsolatedValidation
from .loader import Source
from .manifest import AuthoredCapability, CapabilityFailure, CapabilityVersion, Content, Manifest
from .validation import InProcessValidation, Validation, Verdict
from .versions import Commit, Versions, sha256, unified_diff
from .workflows import refuse_in_workflow

_MAX_RUN_IDS = 50
_RECORDING_TIMEOUT_SECONDS = 2


class CapabilityStore:
    """The authored capabilities of one directory.

    Any number of stores, threads and processes may share a directory. Authored code runs outside of its lock.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        max_failures: int | None = 3,
        max_versions: int = 20,
        pin: bool = False,
        isolated_validation: bool = False,
        validation_timeout: float | None = 30,
    ) -> None:
        """Settle what is kept and how; nothing is made before something is written.

        The settings are those of `CapabilityCreation`.
        """
        if max_failures is not None and not is_count(max_failures, least=1):
            raise ConfigurationError(f'max_failures must be at least 1, or None for no guard; it is {max_failures!r}.')
        if not is_count(max_versions, least=1):
            raise ConfigurationError(f'max_versions must be at least 1; it is {max_versions!r}.')
        if validation_timeout is not None and not _is_above_zero(validation_timeout):
            raise ConfigurationError(
                f'validation_timeout is a number of seconds above 0, or None; it is {validation_timeout!r}.'
            )
        self._directory = Directory(Path(directory))
        self._manifest = Manifest(self._directory)
        self._versions = Versions(self._directory, max_versions)
        self._commits = Commits(self._directory, self._manifest, self._versions)
        validation = IsolatedValidation if isolated_validation else InProcessValidation
        self._validation: Validation = validation(validation_timeout)
        self._max_failures = max_failures
        self._pin = pin
        self._isolates = isolated_validation

    @property
    def directory(self) -> Path:
        """Where the files are, absolute."""
        return self._directory.path

    def write(self, name: str, code: str, *, run_id: str | None = None) -> AuthoredCapability:
        """Check the code and keep it: as the capability, or, if it was refused, for inspection.

        Returns:
            The new entry. If the code was refused while a working version is there, that version and its entry stay
            as they are, and what is returned is not in the manifest: its `module_file` is `<name>.rejected.py`.
            Either way `last_error` says why code was refused.

        Raises:
            CapabilityNameError: The name is none; nothing was written.
            UserError: The manifest cannot be read; nothing was written.
        """
        source = self.prepare(name, code)
        return self.commit(source, self.check(source).result(), run_id=run_id)

    def prepare(self, name: str, code: str) -> Source:
        """The first step of `write`: see whether code could be kept under this name.

        Raises:
            CapabilityNameError: The name is none.
            UserError: The manifest cannot be read.
        """
        check_name(name)
        self._manifest.read()
        # Half a surrogate pair, which models write at times, is no UTF-8; escaped it means the same in a string.
        return Source(name, self._directory.source(name), code.encode('utf-8', errors='backslashreplace'))

    def check(self, source: Source) -> Future[Verdict]:
        """The second step of `write`, which runs the code."""
        return self._validation.check(source)

    def commit(self, source: Source, verdict: Verdict, *, run_id: str | None = None) -> AuthoredCapability:
        """The last step of `write`: keep the code according to its verdict.

        Raises:
            UserError: The manifest cannot be read; nothing was written.
        """
        with self._locked():
            content = self._manifest.read()
            if verdict.error is None:
                return self._accept(source, verdict, content, run_id)
            return self._refuse(source, verdict, content, run_id)

    def disable(self, name: str) -> bool:
        """Switch a capability off from the next `load_active` on. Returns whether there is one of that name.

        Raises:
            UserError: The manifest cannot be read.
        """
        return self._change(name, lambda entry: entry.replaced(status='disabled'))

    def enable(self, name: str) -> bool:
        """Load a disabled or quarantined capability again. Returns whether there is one of that name.

        Raises:
            UserError: The manifest cannot be read.
        """
        cleared = {'status': 'active', 'failing_runs': 0, 'last_failure': None}
        return self._change(name, lambda entry: entry.replaced(**cleared))

    def list_all(self) -> list[AuthoredCapability]:
        """Every entry, in the order in which the names were first written; none if the manifest cannot be read."""
        self._finish_interrupted()
        entries = self._listed()
        if any(entry.edited for entry in entries):  # or it is just being written
            with self._read_lock():
                return self._listed()
        return entries

    def load_active(self) -> list[AbstractCapability[object]]:
        """A new instance of every active capability, guarded, for the next run.

        Each is checked as when it was written. What fails is left out, and its error is recorded; what works again
        has its error cleared. A module is run once in this process for each content that it has had, in the thread
        that calls; loads of one content take turns.

        Raises:
            UserError: This is the code of a Temporal or DBOS workflow, which knows only what the agent was built with.
        """
        refuse_in_workflow()
        self._finish_interrupted()
        loaded: list[AbstractCapability[object]] = []
        changed: list[tuple[AuthoredCapability, AuthoredCapability]] = []
        for entry in self._manifest.entries().values():
            if entry.status != 'active':
                continue
            try:
                capability = self._load(entry)
            except CapabilityRefusedError as error:
                outcome = entry.replaced(last_error=str(error))
            else:
                loaded.append(capability)
                class_name = type(_without_guard(capability)).__name__
                outcome = entry.replaced(last_error=None, class_name=class_name)
            if outcome.last_error != entry.last_error:
                changed.append((entry, outcome))
        self._record_outcomes(changed)
        return loaded

    def history(self, name: str) -> list[CapabilityVersion]:
        """The versions of a capability that are kept, oldest first.

        Raises:
            UnknownCapabilityError: There is no capability of that name.
        """
        self._known(name)
        return self._versions.history(name)

    def source(self, name: str, version: int | None = None) -> str:
        """The code of a version, or with `None` what the file holds now.

        Raises:
            UnknownCapabilityError: There is no capability of that name, or that version is not kept.
        """
        return self._kept_or_current(name, version).decode('utf-8-sig', errors='replace')

    def diff(self, name: str, a: int, b: int) -> str:
        """What changed from version `a` to version `b`, as `diff -u` shows it; empty if nothing did.

        Raises:
            UnknownCapabilityError: There is no capability of that name, or a version is not kept.
        """
        return unified_diff(name, a, self.source(name, a), b, self.source(name, b))

    def rollback(self, name: str, version: int) -> AuthoredCapability:
        """Check an old version again, and make its code the newest version.

        Raises:
            UnknownCapabilityError: There is no capability of that name, or that version is not kept.
            CapabilityRefusedError: The code does not pass today; nothing was changed.
            UserError: The manifest cannot be read.
        """
        return self._write_or_raise(name, version)

    def approve(self, name: str) -> AuthoredCapability:
        """Check what the file holds now, after it was edited by hand, and make it the newest version.

        Raises:
            UnknownCapabilityError: There is no capability of that name, or its file is gone.
            CapabilityRefusedError: The code does not pass; nothing was changed.
            UserError: The manifest cannot be read.
        """
        return self._write_or_raise(name, None)

    def close(self) -> None:
        """End the process that code is checked in, if there is one. A later check starts another."""
        self._validation.close()

    def run_failed(self, entry: AuthoredCapability, failure: CapabilityFailure) -> None:
        """Count a run in which this version failed; called by the guard. What cannot be recorded is dropped."""

        def failed(now: AuthoredCapability) -> AuthoredCapability:
            if failure.run_id in now.failed_run_ids:
                return now
            runs = now.failing_runs + 1
            is_over = self._max_failures is not None and runs >= self._max_failures and now.status == 'active'
            status = 'quarantined' if is_over else now.status
            counted = now.failed_run_ids if failure.run_id is None else (*now.failed_run_ids, failure.run_id)
            return now.replaced(
                failing_runs=runs, last_failure=failure, status=status, failed_run_ids=counted[-_MAX_RUN_IDS:]
            )

        self._record_run(entry, failed)

    def run_passed(self, entry: AuthoredCapability) -> None:
        """Note that failures of this version are no longer in a row; called by the guard."""
        self._record_run(entry, lambda now: now.replaced(failing_runs=0))

    def _accept(self, source: Source, verdict: Verdict, content: Content, run_id: str | None) -> AuthoredCapability:
        current = self._commits.keep_unknown(content.entries.get(source.name), successor_sha256=source.sha256)
        entry = AuthoredCapability(
            name=source.name,
            module_file=source.path.name,
            class_name=verdict.class_name,
            version=self._versions.number_after(current, source.name),
            sha256=source.sha256,
            written_at=datetime.now(UTC),
            run_id=run_id,
            hints=verdict.hints,
        )
        self._commits.make(Commit(entry=entry, code=source.content), content)
        return entry

    def _refuse(self, source: Source, verdict: Verdict, content: Content, run_id: str | None) -> AuthoredCapability:
        current = content.entries.get(source.name)
        entry = AuthoredCapability(
            name=source.name,
            module_file=source.path.name,
            status='active' if current is None else current.status,
            last_error=verdict.error,
            lethal_sha256=source.sha256 if verdict.is_lethal else None,
            written_at=datetime.now(UTC),
            run_id=run_id,
        )
        working = None if current is None or current.last_error is not None else current
        if working is not None and self._directory.content(working.module_file) is not None:
            rejected = self._directory.rejected(source.name)
            self._directory.write(rejected, source.content)
            return entry.replaced(module_file=rejected.name)
        self._commits.keep_unknown(current, successor_sha256=source.sha256)
        self._commits.make(Commit(entry=entry, code=source.content), content)
        return entry

    def _load(self, entry: AuthoredCapability) -> AbstractCapability[object]:
        entry, source = self._entry_and_source(entry)
        if self._pin and entry.sha256 != source.sha256:
            raise CapabilityRefusedError(prompt.not_approved(entry.name))
        if source.sha256 == entry.lethal_sha256:
            raise CapabilityRefusedError(entry.last_error or prompt.LETHAL)
        if self._isolates and source.sha256 != entry.sha256:
            verdict = self.check(source).result()
            if verdict.error is not None:
                raise CapabilityRefusedError(verdict.error)
        with own_code.refusing():
            capability = loader.load(source)
            checks.check_instance(capability)
            return capability if self._max_failures is None else guard(capability, entry, self)

    def _listed(self) -> list[AuthoredCapability]:
        return [entry.replaced(edited=self._is_edited(entry)) for entry in self._manifest.entries().values()]

    def _entry_and_source(self, entry: AuthoredCapability) -> tuple[AuthoredCapability, Source]:
        source = self._source_of(entry)
        if entry.sha256 in {None, source.sha256}:
            return entry, source
        with self._read_lock():  # edited by hand, or just being written
            now = self._manifest.entries().get(entry.name, entry)
            return now, self._source_of(now)

    def _source_of(self, entry: AuthoredCapability) -> Source:
        if (path := self._directory.holds(entry.module_file)) is None:
            raise CapabilityRefusedError(f'{entry.module_file} is outside of the directory, so it was not loaded.')
        if (content := read_or_none(path)) is None:
            raise CapabilityRefusedError(f'{entry.module_file} is missing, or cannot be read.')
        return Source(entry.name, path, content)

    def _is_edited(self, entry: AuthoredCapability) -> bool:
        content = None if entry.sha256 is None else self._directory.content(entry.module_file)
        return content is not None and sha256(content) != entry.sha256

    def _record_outcomes(self, changed: list[tuple[AuthoredCapability, AuthoredCapability]]) -> None:
        """Record what loading has shown, but not over what was written or noted meanwhile."""
        if not changed:
            return
        with suppress(UserError, OSError), self._locked():
            content = self._manifest.read()
            current = {
                outcome.name: outcome for before, outcome in changed if content.entries.get(before.name) == before
            }
            if current:
                content.entries.update(current)
                self._manifest.write(content)

    def _record_run(
        self, entry: AuthoredCapability, change: Callable[[AuthoredCapability], AuthoredCapability]
    ) -> None:
        with suppress(UserError, OSError), self._locked(timeout_seconds=_RECORDING_TIMEOUT_SECONDS):
            content = self._manifest.read()
            now = content.entries.get(entry.name)
            if now is not None and now.is_version_of(entry):
                content.entries[entry.name] = change(now)
                self._manifest.write(content)

    def _change(self, name: str, change: Callable[[AuthoredCapability], AuthoredCapability]) -> bool:
        self._finish_interrupted()
        if name not in self._manifest.read().entries:
            return False
        with self._locked():
            content = self._manifest.read()
            if name not in content.entries:
                return False
            content.entries[name] = change(content.entries[name])
            self._manifest.write(content)
            return True

    def _kept_or_current(self, name: str, version: int | None) -> bytes:
        entry = self._known(name)
        content = self._directory.content(entry.module_file) if version is None else self._versions.code(name, version)
        if content is None:
            kept = ', '.join(str(each.version) for each in self._versions.history(name)) or 'none'
            what = 'file' if version is None else f'version {version}'
            raise UnknownCapabilityError(f'{name!r} has no {what}. Versions that are kept: {kept}.')
        return content

    def _write_or_raise(self, name: str, version: int | None) -> AuthoredCapability:
        self._manifest.read()
        source = Source(name, self._directory.source(name), self._kept_or_current(name, version))
        verdict = self.check(source).result()
        if verdict.error is not None:
            raise CapabilityRefusedError(f'{name!r} was not changed: its code does not pass. {verdict.error}')
        return self.commit(source, verdict)

    def _known(self, name: str) -> AuthoredCapability:
        self._finish_interrupted()
        entries = self._manifest.entries()
        if name not in entries:
            raise UnknownCapabilityError(prompt.unknown_capability(name, list(entries)))
        return entries[name]

    def _finish_interrupted(self) -> None:
        if self._directory.journal.exists():
            with suppress(UserError, OSError), self._locked():
                pass

    @contextmanager
    def _locked(self, *, timeout_seconds: float = -1) -> Generator[None]:
        with self._directory.lock(timeout_seconds=timeout_seconds):
            self._commits.finish_interrupted()
            yield

    @contextmanager
    def _read_lock(self) -> Generator[None]:
        """Nothing is written meanwhile, unless this directory cannot be locked or mended from here."""
        with ExitStack() as stack:
            with suppress(OSError, UserError):
                stack.enter_context(self._locked())
            yield


def _without_guard(capability: AbstractCapability[object]) -> AbstractCapability[object]:
    return capability.authored if isinstance(capability, LoadedCapability) else capability


def _is_above_zero(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0
