"""The record of one `run_code` call: what it called, with what, and how each call ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from pydantic_ai_harness.sandbox import Call, from_sandbox

from .function import Function

Outcome: TypeAlias = Literal['created', 'running', 'waiting', 'returned', 'raised', 'refused', 'denied', 'unfinished']
"""`created`: made by the code and not yet started, as a coroutine that nothing has waited for.

`waiting`: somebody outside has to answer it. `refused`: the arguments were not valid, so the tool did not run.
`denied`: nobody approved the call.
"""

WaitsFor: TypeAlias = Literal['approval', 'external']
"""What a deferred call waits for: consent to run it, or its result."""


@dataclass(kw_only=True)
class NestedCall:
    """One call of a tool by the snippet."""

    id: str
    """`<run_code id>__<n>`, n counting from 1."""
    function: Function
    arguments: dict[str, Any]
    line: int | None
    outcome: Outcome = 'created'
    result: object = None
    """What the code got."""
    metadata: Any = None
    """What the tool attached for the application."""
    error: str | None = None
    seconds: float = 0.0
    waits_for: WaitsFor | None = None
    """Set while the call waits."""
    deferred_with: Any = None
    """What the tool told whoever answers, while the call waits."""
    now: Callable[[], float] = time.perf_counter
    _started: float = 0.0

    @property
    def tool_name(self) -> str:
        """The tool's own name."""
        return self.function.tool.name

    def start(self) -> None:
        """The call was handed to the tool."""
        self.outcome = 'running'
        self._started = self.now()

    def wait_for(self, what: WaitsFor, metadata: object) -> None:
        """The call goes on once it was answered from outside."""
        self.outcome = 'waiting'
        self.waits_for, self.deferred_with = what, metadata

    def end(self, outcome: Outcome, *, result: object = None, error: str | None = None, metadata: Any = None) -> None:
        """The call ended; the first end counts."""
        if self.outcome != 'running':
            return
        self.outcome = outcome
        self.waits_for = self.deferred_with = None
        self.result, self.error, self.metadata = result, error, metadata
        self.seconds = self.now() - self._started

    def call_part(self) -> ToolCallPart:
        """The call as a part of a message."""
        return ToolCallPart(tool_name=self.tool_name, args=self.arguments, tool_call_id=self.id)

    def return_part(self) -> ToolReturnPart:
        """The outcome as a part of a message."""
        outcomes: dict[Outcome, Literal['success', 'failed', 'denied', 'interrupted']] = {
            'returned': 'success',
            'raised': 'failed',
            'refused': 'failed',
            'denied': 'denied',
        }
        return ToolReturnPart(
            tool_name=self.tool_name,
            tool_call_id=self.id,
            content=self.result if self.outcome == 'returned' else self.error,
            metadata=self.metadata,
            outcome=outcomes.get(self.outcome, 'interrupted'),
        )


@dataclass
class Ledger:
    """All calls of one snippet, in the order in which the code made them."""

    run_code_id: str
    functions: Mapping[str, Function]
    max_calls: int
    now: Callable[[], float] = time.perf_counter
    """Seconds on a clock that only ever goes on."""
    calls: dict[int, NestedCall] = field(default_factory=dict[int, NestedCall])
    """By the sandbox's id of the call."""
    refused: int = 0
    """Calls past the budget."""

    def admit(self, call: Call) -> BaseException | None:
        """Record a call, or say why the code may not make it."""
        function = self.functions[call.name]
        if call.args:
            return TypeError(f'{call.name}() takes keyword arguments only, as in `{function.signature}`')
        try:
            kwargs = {name: from_sandbox(value) for name, value in call.kwargs.items()}
            arguments = function.arguments(kwargs)
        except TypeError as error:
            return TypeError(str(error))
        if len(self.calls) >= self.max_calls:
            self.refused += 1
            return RuntimeError(
                f'the budget of {self.max_calls} tool calls for one `run_code` call is used up; '
                f'{call.name}() was not called'
            )
        self.calls[call.id] = NestedCall(
            id=f'{self.run_code_id}__{len(self.calls) + 1}',
            function=function,
            arguments=arguments,
            line=call.line,
            now=self.now,
        )
        return None

    @property
    def waiting(self) -> list[NestedCall]:
        """The calls that somebody outside has to answer."""
        return [call for call in self.calls.values() if call.outcome == 'waiting']

    @property
    def started(self) -> list[NestedCall]:
        """The calls that reached their tool."""
        return [call for call in self.calls.values() if call.outcome != 'created']

    def close(self) -> None:
        """The snippet is over: what still runs did not finish."""
        for call in self.calls.values():
            call.end('unfinished')
