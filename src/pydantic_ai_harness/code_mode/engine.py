"""What a run's surroundings decide: how time passes, what may overlap, which errors are whose."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition

if TYPE_CHECKING:
    from .capability import CodeMode


class Engine:
    """A plain process, where nothing is recorded. The durable engines differ from it."""

    name = ''
    is_durable = False
    """Whether each step is recorded, so that all around it has to be the same when it is run again."""
    max_recorded_bytes: int | None = None
    """What one recorded step may take or give. `None` is no limit."""
    max_metadata_bytes: int | None = None
    """What the metadata of a run's results may take. `None` is no limit."""

    def is_in_workflow(self) -> bool:
        """Whether this is a workflow's own code, where the durability capability says that it is in one."""
        return True

    def now(self) -> float:
        """Seconds on a clock that only ever goes on."""
        return time.perf_counter()

    def token(self, seed: str) -> str:
        """What tells one thing from all others.

        Args:
            seed: Is never the same twice in one workflow.
        """
        return secrets.token_hex(8)

    async def sleep(self, seconds: float, *, since: float) -> None:
        """Wait.

        Args:
            seconds: How long.
            since: When the code began to sleep, in seconds since 1970, as recorded; 0 where nothing is.
        """
        await asyncio.sleep(seconds)

    def may_overlap(self, tool: ToolDefinition, *, has_hooks: bool) -> bool:
        """Whether a call of the tool may run beside others.

        Args:
            tool: The tool.
            has_hooks: Whether capabilities, or a validator of the tool's own, do something before it.
        """
        return True

    def why_not_sent(self, arguments: dict[str, Any]) -> str | None:
        """Why arguments cannot be sent to a tool; `None` if they can."""
        return None

    def ends_run(self, error: Exception) -> bool:
        """Whether an error that came out of a nested call is the engine's own, which code must not catch."""
        return False

    def tool_error(self, error: Exception) -> Exception:
        """The error of a tool, without what the engine has put around it."""
        return error

    def step_seconds(self) -> float | None:
        """How long the step that runs now may take, on the worker that runs it. `None` is no limit."""
        return None

    async def take_step(self, settings: CodeMode[Any], ctx: RunContext[Any], request: str) -> str:
        """Run one step of a snippet, and record it."""
        return await settings.take_step(ctx, request)


PLAIN = Engine()


class DurableEngine(Engine):
    """Any engine that records; those that are known go by their own rules."""

    is_durable = True

    def __init__(self, name: str = '') -> None:
        self.name = name or self.name

    def now(self) -> float:
        """No time passes: what is measured again would differ."""
        return 0.0

    def token(self, seed: str) -> str:
        """The same each time."""
        return hashlib.sha256(seed.encode(errors='surrogatepass')).hexdigest()[:16]

    def may_overlap(self, tool: ToolDefinition, *, has_hooks: bool) -> bool:
        """Nothing is known about what it can run again."""
        return False
