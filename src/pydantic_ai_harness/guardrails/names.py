"""Noticing a name in `tools=[...]` that no tool has: a typo there leaves a tool unguarded."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset


class UnknownToolNameWarning(UserWarning):
    """A guardrail names a tool that was not among the tools of the run."""


@dataclass
class Unseen:
    """The names that a guardrail lists and no tool of the run has had so far."""

    names: set[str]
    has_seen_calls: bool = False

    def see(self, names: Iterable[str]) -> None:
        """These tools exist."""
        self.names.difference_update(names)

    def see_call(self, manager: ToolManager[Any] | None) -> None:
        """A tool is called, beside these others."""
        self.has_seen_calls = True
        if self.names and manager is not None:
            self.see(manager.tools or ())
            manager.toolset.apply(self._see_registered)

    def warn(self) -> None:
        """Tell the developer what is left at the end of a run that called tools."""
        if not self.names or not self.has_seen_calls:
            return
        warnings.warn(
            f'A ToolGuardrail names tools that this run did not have: {", ".join(sorted(self.names))}. A tool that is '
            'spelt differently was not guarded. Where a tool is only there in some runs, filter this category.',
            UnknownToolNameWarning,
            stacklevel=2,
        )

    def _see_registered(self, leaf: AbstractToolset[Any]) -> None:
        """Count functions that their `prepare` may leave out."""
        if isinstance(leaf, FunctionToolset):
            self.see(leaf.tools)


__all__ = ['UnknownToolNameWarning', 'Unseen']
