"""A snippet that waits, as it is stored: everything that is needed to go on in another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic_ai.messages import UserContent
from pydantic_ai.tools import ToolDefinition

from pydantic_ai_harness.sandbox import Call, Request, Sleep

from .driver import Paused
from .function import Function
from .ledger import Ledger, NestedCall, Outcome, WaitsFor
from .packing import pack, plain, unpack
from .stored_answer import StoredAnswer
from .stored_session import SessionRecord
from .type_text import ANY


class StoredCall(BaseModel):
    """One nested call, as far as it got."""

    sandbox_id: int
    id: str
    function: str
    tool_name: str
    arguments: Any
    line: int | None
    outcome: Outcome
    result: Any = None
    metadata: Any = None
    error: str | None = None
    seconds: float = 0.0
    waits_for: WaitsFor | None = None
    deferred_with: Any = None


class StoredRequest(BaseModel):
    """Something that the code needs and has not got."""

    id: int
    kind: Literal['call', 'sleep']
    blocking: bool
    seconds: float = 0.0


class PauseRecord(BaseModel):
    """A snippet that waits."""

    model_config = ConfigDict(ser_json_inf_nan='constants')

    session: SessionRecord
    run_code_id: str
    pause: int
    """How often the code has paused, counting this time."""
    token: str
    """Tells this pause from all others."""
    code: str
    """As the model wrote it."""
    fed_code: str
    """As it runs."""
    name: str | None
    """The variable that holds the last value."""
    calls: list[StoredCall]
    refused: int
    """Calls past the budget."""
    waiting_on: list[int]
    requests: list[StoredRequest]
    settled: dict[int, StoredAnswer]
    slept_seconds: float
    extra_content: list[UserContent]
    revealed: list[str] = []
    """Names of tools that calls made available."""

    def paused(self) -> Paused:
        """Where the driver stood."""
        by_id = {call.sandbox_id: call for call in self.calls}
        return Paused(
            waiting_on=frozenset(self.waiting_on),
            requests=tuple(_request(request, by_id) for request in self.requests),
            settled={call_id: stored.answer for call_id, stored in self.settled.items()},
        )

    def restore_calls(self, ledger: Ledger) -> None:
        """Go on with the record of the calls."""
        ledger.refused = self.refused
        ledger.calls = {call.sandbox_id: _nested_call(call, ledger) for call in self.calls}


def stored_calls(ledger: Ledger) -> list[StoredCall]:
    """All calls of a snippet."""
    return [
        StoredCall(
            sandbox_id=sandbox_id,
            id=call.id,
            function=call.function.name,
            tool_name=call.tool_name,
            arguments=pack(call.arguments),
            line=call.line,
            outcome=call.outcome,
            result=pack(call.result),
            metadata=plain(call.metadata),
            error=call.error,
            seconds=call.seconds,
            waits_for=call.waits_for,
            deferred_with=plain(call.deferred_with),
        )
        for sandbox_id, call in ledger.calls.items()
    ]


def stored_requests(paused: Paused) -> list[StoredRequest]:
    """What the code needs."""
    return [
        StoredRequest(id=request.id, kind='sleep', blocking=request.blocking, seconds=request.seconds)
        if isinstance(request, Sleep)
        else StoredRequest(id=request.id, kind='call', blocking=request.blocking)
        for request in paused.requests
    ]


def stored_answers(paused: Paused) -> dict[int, StoredAnswer]:
    """What the code could have but has not waited for."""
    return {call_id: StoredAnswer.of(answer) for call_id, answer in paused.settled.items()}


def _request(stored: StoredRequest, calls: Mapping[int, StoredCall]) -> Request:
    if stored.kind == 'sleep':
        return Sleep(stored.id, stored.seconds, blocking=stored.blocking)
    call = calls[stored.id]
    return Call(stored.id, call.function, (), {}, call.line, blocking=stored.blocking)


def _nested_call(stored: StoredCall, ledger: Ledger) -> NestedCall:
    function = ledger.functions.get(stored.function) or _bygone(stored)
    arguments: Any = unpack(stored.arguments)
    return NestedCall(
        id=stored.id,
        function=function,
        arguments=arguments,
        line=stored.line,
        outcome=stored.outcome,
        result=unpack(stored.result),
        metadata=stored.metadata,
        error=stored.error,
        seconds=stored.seconds,
        waits_for=stored.waits_for,
        deferred_with=stored.deferred_with,
        now=ledger.now,
    )


def _bygone(stored: StoredCall) -> Function:
    """Stands for a tool that the agent does not have any more."""
    return Function(
        name=stored.function, tool=ToolDefinition(name=stored.tool_name), parameters=(), is_open=True, returns=ANY
    )
