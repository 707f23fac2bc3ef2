"""Drives one snippet on an event loop: nested calls and sleeps as tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai_harness.sandbox import (
    Answer,
    Call,
    Failed,
    Finished,
    Needs,
    Raised,
    Request,
    Returned,
    Sleep,
    Snippet,
    Step,
)

from .engine import PLAIN, Engine
from .repl import Repl


@dataclass(frozen=True)
class Deferred:
    """A call that somebody outside has to answer first."""


@dataclass(frozen=True)
class Paused:
    """Nothing of the snippet goes on any more without answers from outside."""

    waiting_on: frozenset[int]
    """Ids of the deferred calls that the code is blocked on."""
    requests: tuple[Request, ...]
    """Those calls, and what the code has made and not waited for."""
    settled: Mapping[int, Answer]
    """Answers that the code has not waited for yet."""


Perform = Callable[[Call], Awaitable[Answer | Deferred]]


@dataclass
class SleepAllowance:
    """Seconds that a snippet may sleep; sleeps that overlap count once."""

    seconds: float | None
    """`None` is no limit."""
    used: float = 0.0
    until: float = 0.0
    """When the last of them ends."""

    def take(self, seconds: float, now: float) -> bool:
        """Count a sleep that starts now; False when the allowance does not cover it."""
        end = now + max(seconds, 0.0)
        added = max(0.0, end - max(now, self.until))
        if self.seconds is not None and self.used + added > self.seconds:
            return False
        self.used += added
        self.until = max(self.until, end)
        return True


@dataclass
class Driver:
    """Runs one snippet to its end."""

    repl: Repl
    perform: Perform
    """Makes one nested call, or defers it. What it raises ends the run."""
    may_overlap: Callable[[Call], bool]
    """Whether a call may run beside others; one that may not is made alone, in the order in which the code made it."""
    sleep_allowance: SleepAllowance
    round_ended: Callable[[], Awaitable[None]]
    """Called when what the code waited for has ended, before it goes on."""
    engine: Engine = PLAIN
    _queued: dict[int, Request] = field(default_factory=dict[int, Request])
    _tasks: dict[int, asyncio.Task[Answer | Deferred]] = field(
        default_factory=dict[int, 'asyncio.Task[Answer | Deferred]']
    )
    _deferred: dict[int, Request] = field(default_factory=dict[int, Request])
    _round_began: float = 0.0
    _is_cancelled: bool = False

    async def run(self, snippet: Snippet) -> Finished | Failed | Paused:
        """Feed `snippet` and answer what it needs.

        Cancellation ends the sandbox's computing at once and does not wait here: Pydantic AI 2.68 loses its `wrap_run`
        task when a cancelled tool call takes a moment to end. Whoever owns the driver awaits `finished` later.
        """
        return await self._drive(lambda: self.repl.feed(snippet))

    async def resume(self, paused: Paused, ready: Collection[int]) -> Finished | Failed | Paused:
        """Go on with a snippet that was paused; the session holds it. Cancellation as for `run`.

        Args:
            paused: Where it stood.
            ready: Ids of the calls that have been answered, and are made also if the code is blocked on another.
        """
        for call_id, answer in paused.settled.items():
            self._tasks[call_id] = asyncio.create_task(_known(answer))
        first = [request for request in paused.requests if request.id in ready and not request.blocking]

        async def where_it_stood() -> Step:
            for request in first:
                await self._start_in_turn(request)
            others = tuple(request for request in paused.requests if request not in first)
            return Needs(others, paused.waiting_on)

        return await self._drive(where_it_stood)

    async def _drive(self, first: Callable[[], Awaitable[Step]]) -> Finished | Failed | Paused:
        try:
            step = await first()
            while isinstance(step, Needs):
                self._stop_if_cancelled()
                answers = await self._answer(step)
                await self.round_ended()
                if not answers:
                    return self._paused(step)
                step = await self.repl.advance(answers)
        except asyncio.CancelledError:
            self.cancel()
            raise
        except BaseException:
            self.cancel()
            await self.finished()
            raise
        self._cancel_tasks()
        await self.finished()
        return step

    def cancel(self) -> None:
        """Ask everything to end: the turn in flight, nested calls, sleeps."""
        self._is_cancelled = True
        self.repl.abort()
        self._cancel_tasks()

    async def finished(self) -> None:
        """Wait until nothing of the snippet goes on any more, also when this is cancelled meanwhile."""
        cancelled: asyncio.CancelledError | None = None
        while pending := self._unfinished():
            try:
                await asyncio.wait(pending)
            except asyncio.CancelledError as error:
                cancelled = error
        for task in self._tasks.values():
            if not task.cancelled():
                task.exception()
        self._tasks.clear()
        if cancelled is not None:
            raise cancelled

    def _unfinished(self) -> list[asyncio.Future[Any]]:
        return [*(task for task in self._tasks.values() if not task.done()), *self.repl.pending]

    async def _answer(self, needs: Needs) -> dict[int, Answer]:
        """Answers to some of what the code is blocked on; none when all of it is deferred."""
        self._round_began = self.sleep_allowance.until
        for request in needs.requests:
            self._queued[request.id] = request
        if len(needs.waiting_on) == 1 and not self._tasks:
            (only,) = needs.waiting_on
            return await self._answer_in_place(only)
        blocking = next((request for request in needs.requests if request.blocking), None)
        if blocking is not None:
            return await self._answer_alone(blocking)
        for call_id in sorted(needs.waiting_on & self._queued.keys()):
            await self._start_in_turn(self._queued.pop(call_id))
        return await self._first_settled(needs.waiting_on)

    async def _answer_in_place(self, call_id: int) -> dict[int, Answer]:
        if call_id in self._deferred:
            return {}
        return _answers({call_id: await self._work(self._queued.pop(call_id))})

    async def _answer_alone(self, request: Request) -> dict[int, Answer]:
        """A call that must not overlap: what runs finishes first, what has not started waits."""
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        del self._queued[request.id]
        self._start(request)
        return await self._first_settled({request.id})

    async def _first_settled(self, waiting_on: Iterable[int]) -> dict[int, Answer]:
        """Everything that is settled, once something is; nothing when all of it is deferred."""
        while awaited := {call_id: self._tasks[call_id] for call_id in waiting_on if call_id in self._tasks}:
            await asyncio.wait(awaited.values(), return_when=self._until)
            settled = {call_id: self._tasks.pop(call_id).result() for call_id, task in awaited.items() if task.done()}
            if answers := _answers(settled):
                return answers
        return {}

    def _paused(self, needs: Needs) -> Paused:
        settled = _answers({call_id: task.result() for call_id, task in self._tasks.items()})
        waiting_on = needs.waiting_on & self._deferred.keys()
        return Paused(waiting_on, tuple({**self._deferred, **self._queued}.values()), {**settled, **self.repl.answered})

    @property
    def _until(self) -> str:
        """What runs again from a record must not depend on which of several calls ends first."""
        return asyncio.ALL_COMPLETED if self.engine.is_durable else asyncio.FIRST_COMPLETED

    async def _start_in_turn(self, request: Request) -> None:
        runs_alone = isinstance(request, Call) and not self.may_overlap(request)
        if runs_alone and self._tasks:
            await asyncio.wait(self._tasks.values())
        self._start(request)
        if runs_alone:
            await asyncio.wait([self._tasks[request.id]])
            self._tasks[request.id].result()

    def _start(self, request: Request) -> None:
        self._tasks[request.id] = asyncio.create_task(self._work(request))

    async def _work(self, request: Request) -> Answer | Deferred:
        if isinstance(request, Sleep):
            return await self._sleep(request)
        outcome = await self.perform(request)
        if isinstance(outcome, Deferred):
            self._deferred[request.id] = request
        return outcome

    async def _sleep(self, sleep: Sleep) -> Answer:
        # In the time that a record knows of, a round begins when all sleeps before it have ended.
        now = self._round_began if self.engine.is_durable else self.engine.now()
        if not self.sleep_allowance.take(sleep.seconds, now):
            return Raised(
                TimeoutError(
                    f'sleeping {sleep.seconds:g} s is past the allowance of '
                    f'{self.sleep_allowance.seconds:g} s of sleep for one snippet'
                )
            )
        await self.engine.sleep(sleep.seconds, since=self.repl.stepped_at)
        return Returned(None)

    def _stop_if_cancelled(self) -> None:
        """The end of a run cancels the driver before the framework cancels the task that runs it."""
        if self._is_cancelled:
            raise asyncio.CancelledError

    def _cancel_tasks(self) -> None:
        for task in self._tasks.values():
            task.cancel()


def _answers(settled: Mapping[int, Answer | Deferred]) -> dict[int, Answer]:
    return {call_id: outcome for call_id, outcome in settled.items() if not isinstance(outcome, Deferred)}


async def _known(answer: Answer) -> Answer:
    return answer
