"""Where each tool stands: beside `run_code`, inside it, or hidden as before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Generic

from pydantic_ai import RunContext
from pydantic_ai.tools import AgentDepsT, ToolDefinition, ToolSelector, matches_tool_selector
from pydantic_ai.toolsets import ToolsetTool

from .prompt import FOUND_COMES_INSIDE

# Tools that steer the framework itself, by their kinds (pydantic-ai-slim 2.68).
_SEARCH_KIND = 'tool-search'
_CONTROL_KINDS = frozenset({_SEARCH_KIND, 'capability-load'})


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
    if not _is_always_native(tool) and not ctx.is_tool_available(tool):
        return Place.HIDDEN
    return Place.INSIDE if await _fits(tool, ctx, selector) else Place.NATIVE


@dataclass(frozen=True)
class PlacedTools(Generic[AgentDepsT]):
    """The tools of a step, by where they stand."""

    native: dict[str, ToolsetTool[AgentDepsT]]
    """What the model calls, and what is hidden from it as before."""
    inside: dict[str, ToolsetTool[AgentDepsT]]
    """What code calls."""
    later: list[ToolDefinition]
    """Deferred tools that are functions from when they are found or loaded on; the same in all steps of a run."""

    @property
    def hidden(self) -> list[ToolDefinition]:
        """Those of them that are no functions yet."""
        return [tool for tool in self.later if tool.name not in self.inside]

    @property
    def groups(self) -> dict[str, str]:
        """Where the functions come from, by the names of their tools."""
        return {name: tool.tool_def.toolset_id or tool.toolset.id or '' for name, tool in self.inside.items()}


async def place_all(
    tools: Mapping[str, ToolsetTool[AgentDepsT]], ctx: RunContext[AgentDepsT], selector: ToolSelector[AgentDepsT]
) -> PlacedTools[AgentDepsT]:
    """Decide for all tools."""
    inside = {name: tool for name, tool in tools.items() if await place(tool.tool_def, ctx, selector) is Place.INSIDE}
    later = [
        tool.tool_def
        for tool in tools.values()
        if tool.tool_def.defer_loading and await _fits(tool.tool_def, ctx, selector)
    ]
    native = {name: tool for name, tool in tools.items() if name not in inside}
    if any(tool.with_native for tool in later):
        native = {name: _with_search_note(tool) for name, tool in native.items()}
    return PlacedTools(native, inside, later)


def _with_search_note(tool: ToolsetTool[AgentDepsT]) -> ToolsetTool[AgentDepsT]:
    """The tool, and if it is the search, what becomes of what it finds."""
    if tool.tool_def.tool_kind != _SEARCH_KIND:
        return tool
    description = f'{tool.tool_def.description or ""} {FOUND_COMES_INSIDE}'.strip()
    return replace(tool, tool_def=replace(tool.tool_def, description=description))


async def _fits(tool: ToolDefinition, ctx: RunContext[AgentDepsT], selector: ToolSelector[AgentDepsT]) -> bool:
    return not _is_always_native(tool) and await matches_tool_selector(selector, ctx, tool)


def _is_always_native(tool: ToolDefinition) -> bool:
    is_control = tool.kind == 'output' or tool.tool_kind in _CONTROL_KINDS
    return is_control or bool(tool.unless_native) or _takes_program(tool)


def _takes_program(tool: ToolDefinition) -> bool:
    """Whether an argument is itself a program: quoting one inside another is how models go wrong."""
    return bool(tool.metadata and tool.metadata.get('code_arg_name'))
