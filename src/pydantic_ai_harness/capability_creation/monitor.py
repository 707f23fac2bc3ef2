"""What goes wrong in one loaded capability during one run, and what is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic_ai.capabilities import AbstractCapability

from . import own_code
from .hooks import ENDS_RUNS, Errors
from .manifest import AuthoredCapability, CapabilityFailure


class FailureLog(Protocol):
    """Where the failures of runs are recorded."""

    def run_failed(self, entry: AuthoredCapability, failure: CapabilityFailure) -> None:
        """A run of this version has failed for the first time."""

    def run_passed(self, entry: AuthoredCapability) -> None:
        """A run of this version has come to its end without a failure, after one that failed."""


@dataclass
class Streak:
    """What the runs of one loaded capability know of each other."""

    is_on: bool
    """Whether the last run that is known of has failed."""
    counted_run: str | None = None
    """The last run that was counted as failed."""
    toolset: tuple[object, object] | None = None
    """The capability whose toolset was asked for, and what it gave."""


class Monitor:
    """The failures of one capability in one run.

    The first of a run is recorded at once, so that the model can read of it in the same run, and so that a process
    which is killed has not forgotten it.
    """

    def __init__(self, entry: AuthoredCapability, log: FailureLog, streak: Streak | None = None) -> None:
        self.entry = entry
        """What the manifest said of the capability when it was loaded."""
        self.run_id: str | None = None
        """Set when the run starts."""
        self._log = log
        self._streak = streak or Streak(is_on=entry.failing_runs > 0)
        self._has_failed = False

    def for_run(self, run_id: str | None) -> Monitor:
        """The monitor of one run of what was loaded; what failed while the run was prepared counts as its own."""
        monitor = Monitor(self.entry, self._log, self._streak)
        monitor.run_id = self.run_id = run_id
        if self._has_failed:
            self._streak.counted_run = run_id
        monitor._has_failed, self._has_failed = self._has_failed, False
        return monitor

    def toolset_of(self, capability: AbstractCapability[Any]) -> object:
        """Its toolset, asked for once: durable engines know only what the agent was built with."""
        if self._streak.toolset is None or self._streak.toolset[0] is not capability:
            self._streak.toolset = capability, capability.get_toolset()
        return self._streak.toolset[1]

    @property
    def name(self) -> str:
        """The capability's name."""
        return self.entry.name

    def contain(self, where: str, error: BaseException, control: Errors = ENDS_RUNS) -> CapabilityFailure:
        """Record the error, unless it is the framework's own.

        Raises:
            BaseException: The error itself, if it is one of `control`.
        """
        if isinstance(error, control):
            raise error
        failure = CapabilityFailure(
            where=where,
            error=own_code.describe(error),
            traceback=own_code.own_lines(error),
            failed_at=datetime.now(UTC),
            run_id=self.run_id,
        )
        if not self._has_failed:
            self._has_failed = self._streak.is_on = True
            if self.run_id is None or self.run_id != self._streak.counted_run:
                self._streak.counted_run = self.run_id
                self._log.run_failed(self.entry, failure)
        return failure

    def run_ended(self) -> None:
        """The run is over. Most runs follow one without failures, and have nothing to record."""
        if self._streak.is_on and not self._has_failed:
            self._log.run_passed(self.entry)
            self._streak.is_on = False
