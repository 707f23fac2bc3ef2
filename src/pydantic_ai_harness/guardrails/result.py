"""What a guard is given, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from pydantic_ai_harness.errors import ConfigurationError

Action: TypeAlias = Literal['allow', 'block', 'retry', 'replace', 'approve']


@dataclass(frozen=True, kw_only=True)
class ToolCallInfo:
    """A call that a tool is about to get."""

    name: str
    """The tool's own name, in code mode too."""
    args: Mapping[str, Any]
    """The validated arguments by name; a function tool's defaults are filled in, those of a server's tool are not.
    The mapping is a copy, its values are those that the tool gets."""
    tool_call_id: str
    """Identifies the call in the message history; a call from inside code has one of its own."""


@dataclass(frozen=True, kw_only=True)
class ToolResultInfo(ToolCallInfo):
    """A call that a tool has answered."""

    result: Any
    """What the tool returned; a `ToolReturn` is not unwrapped."""


@dataclass(frozen=True, kw_only=True)
class GuardrailResult:
    """A guard's verdict, made with one of the five constructors.

    Raises:
        ConfigurationError: There is no such action, or a retry has no message.
    """

    action: Action
    """What happens to the call, or to its result."""
    message: str | None = None
    """What the model reads, for `'block'` and `'retry'`."""
    replacement: Any = None
    """The arguments or the result that the guard wants instead, for `'replace'`."""
    metadata: dict[str, Any] | None = None
    """For the person who approves, in `DeferredToolRequests.metadata`."""

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        if self.action not in get_args(Action):
            raise ConfigurationError(
                f'`action` is one of {", ".join(map(repr, get_args(Action)))}, not {self.action!r}.'
            )
        if self.action == 'retry' and not self.message:
            raise ConfigurationError('A retry needs a message: it tells the model what to do differently.')

    @classmethod
    def allow(cls) -> GuardrailResult:
        """Run the tool, or hand on its result."""
        return cls(action='allow')

    @classmethod
    def block(cls, message: str | None = None) -> GuardrailResult:
        """Do not run the tool, or withhold its result; the model reads a failed call."""
        return cls(action='block', message=message)

    @classmethod
    def retry(cls, message: str) -> GuardrailResult:
        """Have the model try again, at the expense of the tool's retries."""
        return cls(action='retry', message=message)

    @classmethod
    def replace(cls, value: Any) -> GuardrailResult:
        """Run the tool with this mapping of arguments, or hand on this result."""
        return cls(action='replace', replacement=value)

    @classmethod
    def approve(cls, metadata: dict[str, Any] | None = None) -> GuardrailResult:
        """Run the tool only once a person has approved the call."""
        return cls(action='approve', metadata=metadata)


__all__ = ['Action', 'GuardrailResult', 'ToolCallInfo', 'ToolResultInfo']
