"""Code mode in a Prefect flow."""

from __future__ import annotations

import asyncio
import time

from prefect.context import TaskRunContext
from prefect.exceptions import PrefectException
from pydantic_ai.tools import ToolDefinition

from .engine import DurableEngine


class PrefectEngine(DurableEngine):
    """Steps are tasks, calls overlap, and a flow that is run again sleeps only for what is left."""

    name = 'Prefect'

    def is_in_workflow(self) -> bool:
        """Not in a task, inside of which nothing is recorded apart."""
        return TaskRunContext.get() is None

    def may_overlap(self, tool: ToolDefinition, *, has_hooks: bool) -> bool:
        """Tasks are known by what goes into them, whatever their order."""
        return True

    async def sleep(self, seconds: float, *, since: float) -> None:
        """Wait for what is left since the code began to sleep."""
        await asyncio.sleep(max(0.0, since + seconds - time.time()))

    def ends_run(self, error: Exception) -> bool:
        """What Prefect itself raises."""
        return isinstance(error, PrefectException)
