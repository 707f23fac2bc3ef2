"""Where each tool stands: beside `run_code`, inside it, or hidden as before."""

from __future__ import annotations

from enum import Enum

from pydantic_ai import RunContext
from pydantic_ai.tools import AgentDepsT, ToolDefinition, ToolSelector, matches_tool_selector

# Tools that steer the framework itself, by their kinds (pydantic-ai-slim 2.68).
_CONTROL_KINDS = frozenset({'tool-search', 'capability-load'})


class Place(Enum):
    """Where the model finds a tool."""

    NATIVE = 'native'
    """An ordinary tool call."""
    INSIDE = 'inside'
    """A function for the code."""
    HIDDEN = 'hidden'
    """Deferred and not yet discovered: left to tool search."""


async def place(tool: ToolDefinition, ctx: RunContext[AgentDepsT], selector: ToolSelector[AgentDepsT]) -> Place:
    """Decide for one tool."""
    if tool.kind == 'output' or tool.tool_kind in _CONTROL_KINDS or tool.unless_native or _takes_program(tool):
        return Place.NATIVE
    if not ctx.is_tool_available(tool):
        return Place.HIDDEN
    return Place.INSIDE if await matches_tool_selector(selector, ctx, tool) else Place.NATIVE


def _takes_program(tool: ToolDefinition) -> bool:
    """Whether an argument is itself a program: quoting one inside another is how models go wrong."""
    return bool(tool.metadata and tool.metadata.get('code_arg_name'))
