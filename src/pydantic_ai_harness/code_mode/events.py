"""What a user interface can show while a snippet runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic_ai import CustomEvent


@dataclass(kw_only=True)
class NestedToolCallEvent(CustomEvent, name='code_mode_nested_call'):
    """A snippet called a tool. `tool_call_id` and `tool_name` (of the base class) are `run_code`'s."""

    nested_tool_call_id: str
    """`<run_code id>__<n>`, n counting from 1."""
    nested_tool_name: str
    """The tool's own name."""
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    """The arguments as the tool gets them."""
    line: int | None = None
    """1-based line of the call in the snippet; `None` when it lies in code of an earlier snippet."""


@dataclass(kw_only=True)
class NestedToolResultEvent(CustomEvent, name='code_mode_nested_result'):
    """A nested call ended, or waits for an answer from outside."""

    nested_tool_call_id: str
    nested_tool_name: str
    outcome: Literal['waiting', 'returned', 'raised', 'refused', 'denied', 'unfinished']
    seconds: float
    """How long it took."""
    error: str | None = None
    """What it raised; `None` when it returned."""
