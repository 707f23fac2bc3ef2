"""Code mode in a DBOS workflow."""

from __future__ import annotations

import time

from dbos import DBOS
from dbos._error import DBOSException, DBOSMaxStepRetriesExceeded, DBOSStepTimeoutError
from pydantic_ai.tools import ToolDefinition

from pydantic_ai_harness.narrowing import is_text_mapping

from .engine import DurableEngine


class DBOSEngine(DurableEngine):
    """Steps are DBOS steps, sleeps are recorded, calls run one at a time unless each is a workflow of its own.

    DBOS numbers steps as they start. Gathered tools of several steps would start them in another order when the
    workflow is recovered, and get each other's results.
    """

    name = 'DBOS'

    def now(self) -> float:
        """The time of this process: DBOS compares no arguments."""
        return time.perf_counter()

    async def sleep(self, seconds: float, *, since: float) -> None:
        """Wait; a recovered workflow waits only for the rest."""
        await DBOS.sleep_async(max(0.0, seconds))

    def may_overlap(self, tool: ToolDefinition, *, has_hooks: bool) -> bool:
        """A child workflow is one step here, the one with which the call begins, unless hooks begin with others."""
        config: object = (tool.metadata or {}).get('dbos')
        return not has_hooks and is_text_mapping(config) and 'child_workflow' in config

    def ends_run(self, error: Exception) -> bool:
        """What DBOS itself raises, but for a step that has failed too often or taken too long."""
        is_of_step = isinstance(error, (DBOSMaxStepRetriesExceeded, DBOSStepTimeoutError))
        return isinstance(error, DBOSException) and not is_of_step
