"""A session whose state lives in the record of a durable workflow, and whose steps run wherever the engine runs them.

What is here runs again each time that the workflow is recovered or replayed, so it must come to the same each time:
no threads, no clock, no randomness.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_ai import RunContext

from pydantic_ai_harness.sandbox import (
    Answer,
    Call,
    Failed,
    FailureKind,
    Finding,
    Needs,
    Raised,
    Request,
    Snippet,
    Step,
    StoredSession,
    looked_up,
)
from pydantic_ai_harness.sandbox.limits import MAX_PRINTED_BYTES

from .engine import Engine
from .recorded_step import StepReport, StepRequest, megabytes, too_large_to_record
from .repl import Check
from .stored_answer import StoredAnswer

if TYPE_CHECKING:
    from .capability import CodeMode

_NOTHING = StoredSession(state=None, is_mid_snippet=False, feeds=0, printed='')


@dataclass
class RecordedRepl:
    """Runs its steps as recorded operations."""

    settings: CodeMode[Any]
    engine: Engine
    ctx: RunContext[Any]
    """Of the tool call that runs code now, or of the run."""
    _session: StoredSession = _NOTHING
    _before: StoredSession | None = _NOTHING
    """Before the snippet that runs, or ran last; `None` if it began in another run."""
    _snippet: Snippet = field(default_factory=lambda: Snippet(code=''))
    _ahead: tuple[Snippet, Step] | None = None
    """A snippet that was started along with its check."""
    _known: dict[int, Answer] = field(default_factory=dict[int, Answer])
    """Answers that the code has not waited for yet."""
    _stepped_at: float = 0.0

    def enter(self, ctx: RunContext[Any]) -> None:
        """The steps that follow belong to this tool call."""
        self.ctx = ctx

    @property
    def printed(self) -> str:
        """What the current snippet printed so far."""
        return self._session.printed

    @property
    def pending(self) -> Sequence[asyncio.Future[Any]]:
        """Nothing goes on in a thread of this process."""
        return ()

    @property
    def answered(self) -> Mapping[int, Answer]:
        """What is known of calls that the code has not waited for."""
        return self._known

    @property
    def stepped_at(self) -> float:
        """When the last step ended, as recorded."""
        return self._stepped_at

    async def check(self, check: Check, then: Callable[[], Snippet | None]) -> list[Finding]:
        """Check types, and start the snippet in the same step if nothing is found."""
        snippet = then()
        if snippet is None:
            report = await self._take(StepRequest(engine=self.engine.name, code='', check=check))
        else:
            self._begin(snippet)
            report = await self._take(self._request(check=check, starts=True))
            if (step := self._outcome(report)) is not None:
                self._ahead = snippet, await self._answer_at_once(step)
        return report.findings

    async def feed(self, snippet: Snippet) -> Step:
        """Start a snippet."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] is snippet:
            return ahead[1]
        self._begin(snippet)
        report = await self._take(self._request(starts=True))
        return await self._answer_at_once(self._outcome(report) or _RAN_NOTHING)

    async def advance(self, answers: Mapping[int, Answer]) -> Step:
        """Go on with answers."""
        return await self._answer_at_once(await self._advance(answers))

    def abort(self) -> None:
        """Steps are ended by the engine."""

    def close(self) -> Awaitable[None]:
        """Drop the variables."""
        self._session = self._before = _NOTHING
        self._ahead = None
        self._known.clear()
        return _done()

    async def store(self) -> StoredSession:
        """The session as data."""
        return self._session

    def restore(self, stored: StoredSession, snippet: Snippet) -> None:
        """Become the session that was stored."""
        self._session = stored
        self._before = None if stored.is_mid_snippet else stored
        self._snippet = snippet
        self._ahead = None
        self._known.clear()

    def _begin(self, snippet: Snippet) -> None:
        self._snippet = snippet
        self._known.clear()
        # A snippet that was left half-way is given up, and the variables with it.
        last = _NOTHING if self._session.is_mid_snippet else self._session
        self._session = self._before = replace(last, printed='')

    def _request(
        self, *, check: Check | None = None, starts: bool = False, answers: dict[int, StoredAnswer] | None = None
    ) -> StepRequest:
        functions = self._snippet.functions
        return StepRequest(
            engine=self.engine.name,
            state=self._session.state,
            is_mid_snippet=self._session.is_mid_snippet,
            feeds=self._session.feeds,
            code=self._snippet.code,
            async_functions=[name for name, kind in functions.items() if kind == 'async'],
            plain_functions=[*(name for name, kind in functions.items() if kind == 'plain'), *self._snippet.lookups],
            check=check,
            starts=starts,
            answers=answers or {},
            max_bytes=self.engine.max_recorded_bytes,
        )

    async def _take(self, request: StepRequest) -> StepReport:
        text = request.model_dump_json()
        if (problem := too_large_to_record(text, self.engine.max_recorded_bytes)) is not None:
            return self._too_large(request, problem)
        try:
            report = StepReport.model_validate_json(await self.engine.take_step(self.settings, self.ctx, text))
        except ValidationError as error:
            return StepReport.unreadable(error)
        self._stepped_at = report.ended_at
        return report

    def _outcome(self, report: StepReport) -> Step | None:
        """How the step ended, with the session as it is now."""
        step = report.step
        if step is None:
            return None
        printed = self._session.printed + report.printed
        if isinstance(step, Failed) and step.rolled_back:
            self._session = replace(self._before or _NOTHING, printed=printed)
            return step if self._before else replace(step, rolled_back=False, session_lost=True)
        if len(printed.encode()) > MAX_PRINTED_BYTES:
            step = Failed(FailureKind.PRINTED, 'printed', 'too much was printed', session_lost=True)
        is_lost = isinstance(step, Failed) and step.session_lost
        self._session = StoredSession(
            state=None if is_lost else report.state,
            is_mid_snippet=isinstance(step, Needs),
            feeds=0 if is_lost else report.feeds,
            printed=printed,
        )
        return step

    async def _answer_at_once(self, step: Step) -> Step:
        """Answer what needs no tool: lookups, and calls that are refused."""
        requests: list[Request] = []
        while isinstance(step, Needs):
            for request in step.requests:
                if (answer := self._known_answer(request)) is None:
                    requests.append(request)
                else:
                    self._known[request.id] = answer
            answers = {call_id: self._known.pop(call_id) for call_id in sorted(step.waiting_on & self._known.keys())}
            if not answers:
                return Needs(tuple(requests), step.waiting_on)
            step = await self._advance(answers)
        return step

    async def _advance(self, answers: Mapping[int, Answer]) -> Step:
        stored = {call_id: StoredAnswer.of(answer) for call_id, answer in answers.items()}
        return self._outcome(await self._take(self._request(answers=stored))) or _RAN_NOTHING

    def _known_answer(self, request: Request) -> Answer | None:
        if not isinstance(request, Call):
            return None
        if (lookup := self._snippet.lookups.get(request.name)) is not None:
            return looked_up(lookup, request.args, request.kwargs)
        refused = self._snippet.admit(request)
        return None if refused is None else Raised(refused)

    def _too_large(self, request: StepRequest, problem: str) -> StepReport:
        largest = max(request.answers.values(), key=lambda stored: len(stored.model_dump_json()), default=None)
        held = len(request.state or b'')
        what = f'what the code holds ({megabytes(held)})'
        if largest is not None:
            what += f' and what its calls returned (up to {megabytes(len(largest.model_dump_json()))} each)'
        message = f'{what} come to {problem}.'
        return StepReport.of(Failed(FailureKind.TOO_LARGE, 'StateTooLarge', message, rolled_back=True))


_RAN_NOTHING = Failed(FailureKind.CRASH, 'RuntimeError', 'the recorded step ran nothing', session_lost=True)


async def _done() -> None:
    """Nothing is left to be done."""
