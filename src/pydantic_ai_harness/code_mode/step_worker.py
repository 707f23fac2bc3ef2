"""Runs one step of a snippet that lives in a record: takes its state up, goes on, and stores it again.

Nothing but cancellation is raised: engines run again what raises, and cannot always store the error.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from pydantic_monty import MountDir

from pydantic_ai_harness.narrowing import is_sequence
from pydantic_ai_harness.sandbox import (
    Call,
    CannotCrossError,
    Failed,
    FailureKind,
    Finding,
    Finished,
    FunctionKind,
    Needs,
    Raised,
    Session,
    Snippet,
    Step,
    StoredSession,
    TypeChecker,
)

from .recorded_step import RequestRecord, StepReport, StepRequest, megabytes, too_large_to_record
from .waiting import result_of

_MAX_UNWINDINGS = 5
_SIZES = """\
_sizes = [(len(repr(_value)), _name, type(_value).__name__) for _name, _value in list(locals().items())]
sorted(_sizes, reverse=True)[:5]
"""
_WORTH_NAMING = 10_000


@dataclass(frozen=True)
class StepWorker:
    """Runs one step."""

    session: Session
    """A new one."""
    checker: TypeChecker
    mounts: tuple[MountDir, ...]
    max_seconds: float | None
    """After that long the step is ended, before the engine gives it up and runs it again. `None` is never."""

    async def take(self, request: StepRequest) -> StepReport:
        """Go on to where the code ends or can go no further."""
        try:
            async with asyncio.timeout(self.max_seconds):
                report = await self._take(request)
        except TimeoutError:
            message = f'one step may take {self.max_seconds or 0:g} s, with the wait for a free sandbox process'
            report = StepReport.of(Failed(FailureKind.CRASH, 'TimeoutError', message, rolled_back=True))
        except Exception as error:  # noqa: BLE001  what is raised here would be run again for ever
            report = StepReport.of(Failed(FailureKind.CRASH, type(error).__name__, str(error), rolled_back=True))
        finally:
            self.session.abort()
            await asyncio.shield(asyncio.wrap_future(self.session.close()))
        report.ended_at = time.time()
        return report

    async def _take(self, request: StepRequest) -> StepReport:
        if request.check is not None and (findings := await self._findings(request)):
            return StepReport(findings=findings)
        if not (request.starts or request.answers):
            return StepReport()
        step = await self._go_on(request)
        report = StepReport.of(step, self.session.printed)
        stored = await asyncio.wrap_future(self.session.store())
        report.state, report.feeds = stored.state, stored.feeds
        if (problem := too_large_to_record(report.model_dump_json(), request.max_bytes)) is not None:
            return StepReport.of(await self._too_large(step, problem))
        return report

    async def _findings(self, request: StepRequest) -> list[Finding]:
        check = request.check
        if check is None:
            return []
        return await result_of(self.checker.check(check.code, stubs=check.stubs, before=check.before))

    async def _go_on(self, request: StepRequest) -> Step:
        functions: dict[str, FunctionKind] = {
            **dict.fromkeys(request.async_functions, 'async'),
            **dict.fromkeys(request.plain_functions, 'plain'),
        }
        snippet = Snippet(code=request.code, functions=functions, admit=_refuse_no_data, mounts=self.mounts)
        if request.state is not None:
            stored = StoredSession(
                state=request.state, is_mid_snippet=request.is_mid_snippet, feeds=request.feeds, printed=''
            )
            self.session.restore(stored, snippet)
        if request.starts:
            return await result_of(self.session.feed(snippet))
        answers = {call_id: stored.answer for call_id, stored in request.answers.items()}
        return await result_of(self.session.advance(answers))

    async def _too_large(self, step: Step, problem: str) -> Failed:
        """Say what cannot be recorded; the code is unwound, so that its variables can be looked at."""
        frames = ()
        for _ in range(_MAX_UNWINDINGS):
            if not isinstance(step, Needs):
                break
            unwinding = Raised(KeyboardInterrupt())
            step = await result_of(self.session.advance(dict.fromkeys(step.waiting_on, unwinding)))
            frames = step.frames if isinstance(step, Failed) else ()
        largest = [] if isinstance(step, Needs) else await self._largest()
        variables = f' The largest variables: {", ".join(largest)}.' if largest else ''
        message = f'{problem}.{variables}'
        return Failed(FailureKind.TOO_LARGE, 'StateTooLarge', message, frames, rolled_back=True)

    async def _largest(self) -> list[str]:
        step = await result_of(self.session.feed(Snippet(code=_SIZES)))
        rows = step.value if isinstance(step, Finished) and is_sequence(step.value) else ()
        triples = [tuple(row) for row in rows if is_sequence(row)]
        return [
            f'`{name}` ({kind}, about {megabytes(length)})'
            for length, name, kind in triples
            if isinstance(length, int) and length >= _WORTH_NAMING
        ]


def _refuse_no_data(call: Call) -> BaseException | None:
    try:
        RequestRecord.of(call)
    except CannotCrossError as error:
        return TypeError(str(error))
    return None
