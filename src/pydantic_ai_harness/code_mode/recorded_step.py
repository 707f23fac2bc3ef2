"""One step of a snippet as data, on its way into a record and out of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, TypeAdapter, ValidationError

from pydantic_ai_harness.sandbox import (
    Call,
    CannotCrossError,
    Failed,
    FailureKind,
    Finding,
    Finished,
    Needs,
    Request,
    Sleep,
    Step,
    from_sandbox,
)

from .packing import PackedBytes, compressed, decompressed, pack, unpack
from .repl import Check
from .stored_answer import StoredAnswer

_CHECK = TypeAdapter(Check)
PackedCheck = Annotated[
    Check,
    BeforeValidator(lambda value: _CHECK.validate_json(decompressed(value)) if isinstance(value, str) else value),
    PlainSerializer(lambda value: compressed(_CHECK.dump_json(value)), when_used='json'),
]
"""Compressed in JSON: the declarations of a hundred functions are 30 KB, and 8 KB so."""


class StepRequest(BaseModel):
    """What a step starts from."""

    model_config = ConfigDict(ser_json_inf_nan='constants')

    engine: str
    """The name of the engine that records it."""
    state: PackedBytes | None = None
    """`None` is a session in which nothing has run."""
    is_mid_snippet: bool = False
    feeds: int = 0
    code: str
    async_functions: list[str] = []
    plain_functions: list[str] = []
    check: PackedCheck | None = None
    """To be checked first; anything found ends the step before code runs."""
    starts: bool = False
    """Whether `code` is started, if nothing is found."""
    answers: dict[int, StoredAnswer] = {}
    """Given to the code that waits."""
    max_bytes: int | None = None
    """What the report may take. `None` is no limit."""


class RequestRecord(BaseModel):
    """Something that the code needs."""

    model_config = ConfigDict(ser_json_inf_nan='constants')

    id: int
    blocking: bool
    seconds: float | None = None
    """Of a sleep; `None` is a call."""
    name: str = ''
    args: Any = ()
    """Packed, as `kwargs`."""
    kwargs: Any = {}
    line: int | None = None

    @classmethod
    def of(cls, request: Request) -> RequestRecord:
        """Record a request.

        Raises:
            CannotCrossError: An argument is no data.
        """
        if isinstance(request, Sleep):
            return cls(id=request.id, blocking=request.blocking, seconds=request.seconds)
        return cls(
            id=request.id,
            blocking=request.blocking,
            name=request.name,
            args=[pack(from_sandbox(value)) for value in request.args],
            kwargs={name: pack(from_sandbox(value)) for name, value in request.kwargs.items()},
            line=request.line,
        )

    @property
    def request(self) -> Request:
        """What was recorded."""
        if self.seconds is not None:
            return Sleep(self.id, self.seconds, blocking=self.blocking)
        args = tuple(unpack(value) for value in self.args)
        kwargs = {name: unpack(value) for name, value in self.kwargs.items()}
        return Call(self.id, self.name, args, kwargs, self.line, blocking=self.blocking)


class StepReport(BaseModel):
    """How a step ended."""

    model_config = ConfigDict(ser_json_inf_nan='constants')

    ended_at: float = 0.0
    """Seconds since 1970."""
    findings: list[Finding] = []
    state: PackedBytes | None = None
    feeds: int = 0
    printed: str = ''
    """In this step."""
    outcome: Literal['checked', 'needs', 'finished', 'failed'] = 'checked'
    requests: list[RequestRecord] = []
    waiting_on: list[int] = []
    value: Any = None
    """Packed."""
    uncrossable: tuple[str, str, str] | None = None
    """What of the value is no data, where, and why."""
    failed: Failed | None = None

    @classmethod
    def of(cls, step: Step, printed: str = '') -> StepReport:
        """Report how a step ended, without the state."""
        report = cls(printed=printed)
        report._record(step)
        return report

    def _record(self, step: Step) -> None:
        if isinstance(step, Needs):
            self.outcome = 'needs'
            self.requests = [RequestRecord.of(request) for request in step.requests]
            self.waiting_on = sorted(step.waiting_on)
        elif isinstance(step, Failed):
            self.outcome, self.failed = 'failed', step
        else:
            self.outcome = 'finished'
            try:
                self.value = pack(from_sandbox(step.value))
            except CannotCrossError as error:
                self.uncrossable = error.what, error.path, error.reason

    @classmethod
    def unreadable(cls, error: ValidationError) -> StepReport:
        """Report that a request, or a report, could not be read."""
        first = error.errors(include_url=False, include_input=False)[0]
        message = f'what was recorded cannot be read ({first["msg"]})'
        return cls.of(Failed(FailureKind.CRASH, 'ValidationError', message, rolled_back=True))

    @property
    def step(self) -> Step | None:
        """How the step ended; `None` if nothing ran. A value that is no data is a `CannotCrossError`."""
        if self.outcome == 'needs':
            return Needs(tuple(request.request for request in self.requests), frozenset(self.waiting_on))
        if self.failed is not None:
            return self.failed
        if self.outcome == 'checked':
            return None
        return Finished(unpack(self.value) if self.uncrossable is None else CannotCrossError(*self.uncrossable))


def recorded_size(text: str) -> int:
    """Bytes that a text takes where it is itself a string in JSON, as engines record it."""
    return len(text.encode()) + text.count('"') + text.count('\\')


def too_large_to_record(text: str, max_bytes: int | None) -> str | None:
    """How large a text is that cannot be recorded, and what can be; `None` if it can."""
    if max_bytes is None or (size := recorded_size(text)) <= max_bytes:
        return None
    return f'{megabytes(size)}, and at most {megabytes(max_bytes)} can be recorded'


def megabytes(size: int) -> str:
    """A size for a message."""
    return f'{size / 1_000_000:.1f} MB'
