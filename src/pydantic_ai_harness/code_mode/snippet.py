"""One `run_code` call, from the code to what the model gets."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

from pydantic_ai.exceptions import ApprovalRequired, ModelRetry
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import AgentDepsT

from pydantic_ai_harness.narrowing import is_collection
from pydantic_ai_harness.sandbox import CannotCrossError, Failed, Finished, Snippet, from_sandbox

from .call_metadata import call_metadata
from .catalog import Catalog
from .dispatch import Dispatcher
from .driver import Driver, Paused, SleepAllowance
from .failures import RESET, FailedSnippet, at_line, done_lines, failure_text, not_run_text, unreturnable_text
from .findings import meant_text
from .last_value import NamedCode, find_opaque, is_surely_opaque, looks_opaque, name_last_value
from .ledger import Ledger
from .lookup import CountedLookups
from .outside_answers import Denied
from .packing import plain
from .pause_record import PauseRecord, stored_answers, stored_calls, stored_requests
from .pause_trace import PauseTrace, leave_trace
from .pausing import PausedCall, PausedSnippet, request_metadata
from .python_text import with_plain_newlines
from .result import Result
from .run_state import RunState, StateStoreWarning
from .states import States
from .typecheck import SessionTypes

if TYPE_CHECKING:
    from .capability import CodeMode

_UNDEFINED = re.compile(r"name '(\w+)' is not defined")  # as the sandbox says it (Monty 1.4.0)
Start: TypeAlias = Callable[[Driver], Awaitable[Finished | Failed | Paused]]


@dataclass
class SnippetRun(Generic[AgentDepsT]):
    """Checks, runs and answers for one snippet."""

    settings: CodeMode[AgentDepsT]
    run: RunState
    catalog: Catalog
    ledger: Ledger
    dispatcher: Dispatcher[AgentDepsT]
    states: States
    sleep_allowance: SleepAllowance = field(init=False)
    pauses: int = 0
    """How often it has paused."""

    def __post_init__(self) -> None:
        """What a snippet may sleep counts over its pauses."""
        self.sleep_allowance = SleepAllowance(self.settings.limits.max_duration_secs)

    async def run_code(self, code: str, *, restart: bool = False) -> ToolReturn[Any]:
        """Run `code` to its end.

        Args:
            code: As the model wrote it.
            restart: Drop the session's variables first, once the code has been checked.

        Raises:
            ModelRetry: The code was refused, failed, or its value cannot be sent; the text is for the model.
            ApprovalRequired: The code waits for answers from outside, and is stored.
        """
        code = with_plain_newlines(code)
        named = name_last_value(code)
        snippet = self._snippet(named.code)
        types = SessionTypes() if restart else self.run.types
        then = None if restart else lambda: snippet
        if problems := await types.problems(code, self.catalog, self.run.repl, then):
            unseen = self.catalog.lookup.named_in(problems) if self.dispatcher.explains else ''
            announcer = self.run.announcer
            text = not_run_text([*problems, *(announcer.gone_from(problems) if announcer else [])], unseen)
            raise ModelRetry(f'{text}\n\n{RESET}' if self.run.has_given_away else text)
        if restart:
            await self.run.reset()
        return await self._conclude(code, named, lambda driver: driver.run(snippet))

    async def resume(self, record: PauseRecord) -> ToolReturn[Any]:
        """Run stored code on from where it waits, to its end.

        Raises:
            ModelRetry: As for `run_code`.
            ApprovalRequired: The code waits again.
        """
        self.pauses = record.pause
        self.run.take_back(record.run_code_id)
        self.run.take_up(record.session, self._snippet(record.fed_code))
        record.restore_calls(self.ledger)
        self.dispatcher.extra_content.extend(record.extra_content)
        self.dispatcher.revealed.extend(record.revealed)
        self.sleep_allowance.used = record.slept_seconds
        paused = record.paused()
        ready = {sandbox_id for sandbox_id, call in self.ledger.calls.items() if call.id in self.dispatcher.answers}
        named = NamedCode(record.fed_code, record.name)
        return await self._conclude(record.code, named, lambda driver: driver.resume(paused, ready))

    async def _conclude(self, code: str, named: NamedCode, start: Start) -> ToolReturn[Any]:
        dispatcher, run = self.dispatcher, self.run
        dispatcher.extra_content[:0], run.for_model = run.for_model, []
        dispatcher.revealed[:0], run.revealed = run.revealed, []
        try:
            result = await self._result(code, named, start)
        except ModelRetry:
            run.for_model, run.revealed = dispatcher.extra_content, dispatcher.revealed
            raise
        return ToolReturn(
            return_value=result.for_model(),
            metadata=call_metadata(self.ledger, run.metadata_room),
            content=dispatcher.extra_content or None,
            tools=dispatcher.revealed or None,
        )

    async def _result(self, code: str, named: NamedCode, start: Start) -> Result:
        ended = await self._drive(start)
        while isinstance(ended, Paused):
            await self._pause(code, named, ended)
            ready = {sandbox_id for sandbox_id, call in self.ledger.calls.items() if call.outcome == 'waiting'}
            ended = await self._drive(lambda driver, paused=ended, ready=ready: driver.resume(paused, ready))
        if isinstance(ended, Failed):
            raise ModelRetry(self._failure(code, ended))
        self.run.types.ran(code)
        printed = self.run.repl.printed
        value = await self._data(ended.value, named, printed)
        return Result(value, printed, self.run.media, self.settings.max_result_bytes, named.name)

    async def _drive(self, start: Start) -> Finished | Failed | Paused:
        if self.run.has_ended:  # a cancelled run ends before the task of its tool call does
            raise asyncio.CancelledError
        self.run.driver = driver = Driver(
            repl=self.run.repl,
            perform=lambda call: self.dispatcher.call(self.ledger.calls[call.id]),
            may_overlap=lambda call: self.dispatcher.may_overlap(self.ledger.calls[call.id]),
            sleep_allowance=self.sleep_allowance,
            round_ended=self.dispatcher.round_ended,
            engine=self.run.engine,
        )
        try:
            ended = await start(driver)
        except BaseException:
            self.run.types.reset()
            raise
        finally:
            self.ledger.close()
        self.run.driver = None
        return ended

    def _snippet(self, code: str) -> Snippet:
        return Snippet(
            code=code,
            functions=self.catalog.kinds,
            lookups=CountedLookups(self.catalog.lookup).functions,
            admit=self.ledger.admit,
            mounts=self.settings.mounts,
        )

    async def _pause(self, code: str, named: NamedCode, paused: Paused) -> None:
        """Store the snippet; where that fails, deny the calls that wait, so that it can go on.

        Raises:
            ApprovalRequired: It is stored.
        """
        self.pauses += 1
        seed = f'{self.dispatcher.ctx.run_id}\0{self.ledger.run_code_id}\0{self.pauses}'
        trace = PauseTrace(token=self.run.engine.token(seed), done=done_lines(self.ledger))
        request = PausedSnippet(
            pause=self.pauses, token=trace.token, waiting=self._waiting_calls(code), done=trace.done
        )
        try:
            await self.states.save_pause(await self._record(code, named, paused, trace.token))
        except Exception as error:  # noqa: BLE001  stores are written by others
            self._deny_what_waits(error)
            return
        leave_trace(self.dispatcher.ctx.messages, self.ledger.run_code_id, trace)
        await self.run.give_away(self.ledger.run_code_id)
        raise ApprovalRequired(metadata=request_metadata(request))

    async def _record(self, code: str, named: NamedCode, paused: Paused, token: str) -> PauseRecord:
        return PauseRecord(
            session=await self.run.record(),
            run_code_id=self.ledger.run_code_id,
            pause=self.pauses,
            token=token,
            code=code,
            fed_code=named.code,
            name=named.name,
            calls=stored_calls(self.ledger),
            refused=self.ledger.refused,
            waiting_on=sorted(paused.waiting_on),
            requests=stored_requests(paused),
            settled=stored_answers(paused),
            slept_seconds=self.sleep_allowance.used,
            extra_content=self.dispatcher.extra_content,
            revealed=self.dispatcher.revealed,
        )

    def _waiting_calls(self, code: str) -> list[PausedCall]:
        return [
            PausedCall(
                tool_call_id=call.id,
                tool_name=call.tool_name,
                args=plain(call.arguments),
                kind=call.waits_for or 'approval',
                metadata=plain(call.deferred_with),
                line=call.line,
                source=None if call.line is None else at_line(call.line, code).strip(),
            )
            for call in self.ledger.waiting
        ]

    def _deny_what_waits(self, error: Exception) -> None:
        reason = f'it could not be stored ({type(error).__name__}: {error})'
        warnings.warn(f'Code that waits for an answer goes on without it: {reason}.', StateStoreWarning, stacklevel=2)
        self.dispatcher.cannot_wait = reason
        message = f'Nobody could be asked: {reason}.'
        self.dispatcher.answers = {call.id: Denied(message=message) for call in self.ledger.waiting}

    def _failure(self, code: str, failed: Failed) -> str:
        if failed.session_lost:
            self.run.types.reset()
        elif not failed.rolled_back:
            self.run.types.failed(code)
        return failure_text(
            FailedSnippet(
                code=code,
                failed=failed,
                printed=self.run.repl.printed,
                ledger=self.ledger,
                limits=self.settings.limit_names,
                hint=self._hint(failed),
            )
        )

    def _hint(self, failed: Failed) -> str:
        """Functions like a name that the check could not know to be missing: it stands inside a function."""
        found = _UNDEFINED.fullmatch(failed.message) if failed.error_type == 'NameError' else None
        return meant_text(found[1], self.catalog) if found is not None else ''

    async def _data(self, value: object, named: NamedCode, printed: str) -> object:
        try:
            if isinstance(value, CannotCrossError):
                raise value
            if looks_opaque(value, {*self.catalog.functions, *self.catalog.lookup.functions}):
                await self._refuse_opaque(value, named)
            return from_sandbox(value)
        except CannotCrossError as error:
            what = f'{error.what}{f" at `{error.path}` of the result" if error.path else ""}'
            raise ModelRetry(unreturnable_text(what, printed, self.ledger, lost=error.reason == RESET)) from error

    async def _refuse_opaque(self, value: object, named: NamedCode) -> None:
        """Look in the sandbox whether text of a suspicious form is text, or stands for something that is no data."""
        if named.name is None:
            step = None
        else:
            code = Snippet(code=find_opaque(named.name))
            step = await self.run.repl.feed(code)
        if isinstance(step, Failed) and step.session_lost:
            self.run.types.reset()
            raise CannotCrossError('a value that is too large to be looked through', '', RESET)
        if isinstance(step, Finished) and is_collection(step.value):
            kind, path = map(str, step.value)
            raise CannotCrossError('a call that was not awaited' if kind == 'coroutine' else f'a {kind}', path)
        # It could not be looked at: it has no name, or the code gave a builtin's name to something else.
        if not isinstance(step, Finished) and is_surely_opaque(value):
            raise CannotCrossError('a function, a class or a call that was not awaited', '')
