"""One `run_code` call, from the code to what the model gets."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import AgentDepsT

from pydantic_ai_harness.narrowing import is_collection
from pydantic_ai_harness.sandbox import CannotCrossError, Failed, Finished, Session, Snippet, from_sandbox

from .catalog import Catalog
from .dispatch import Dispatcher, Media
from .driver import Driver, SleepAllowance
from .failures import RESET, FailedSnippet, failure_text, not_run_text, unreturnable_text
from .last_value import NamedCode, find_opaque, is_surely_opaque, looks_opaque, name_last_value
from .ledger import Ledger
from .result import Result
from .typecheck import SessionTypes

if TYPE_CHECKING:
    from .capability import CodeMode


@dataclass
class RunState:
    """What one agent run keeps from `run_code` call to `run_code` call."""

    session: Session
    types: SessionTypes
    media: Media = field(default_factory=Media)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    driver: Driver | None = None
    """Of the snippet that ran last; it may still be ending when the snippet was cancelled."""
    has_warned: bool = False
    has_ended: bool = False

    async def end(self) -> None:
        """Give everything back; what was asked for is done also when this is cancelled meanwhile."""
        self.has_ended = True
        self.types.reset()
        closing = asyncio.wrap_future(self.session.close())
        try:
            await self.settle()
        finally:
            await closing

    async def settle(self) -> None:
        """End what a cancelled snippet may have left."""
        if self.driver is not None:
            self.driver.cancel()
            await self.driver.finished()
            self.driver = None

    async def reset(self) -> None:
        """Drop the session's variables."""
        self.types.reset()
        await asyncio.wrap_future(self.session.close())


@dataclass
class SnippetRun(Generic[AgentDepsT]):
    """Checks, runs and answers for one snippet."""

    settings: CodeMode[AgentDepsT]
    run: RunState
    catalog: Catalog
    ledger: Ledger
    dispatcher: Dispatcher[AgentDepsT]

    async def run_code(self, code: str, *, restart: bool = False) -> ToolReturn[Any]:
        """Run `code` to its end.

        Args:
            code: As the model wrote it.
            restart: Drop the session's variables first, once the code has been checked.

        Raises:
            ModelRetry: The code was refused, failed, or its value cannot be sent; the text is for the model.
        """
        code = code.replace('\r\n', '\n').replace('\r', '\n')
        types = SessionTypes(self.run.types.checker) if restart else self.run.types
        if problems := await types.problems(code, self.catalog):
            raise ModelRetry(not_run_text(problems))
        if restart:
            await self.run.reset()
        named = name_last_value(code)
        ended = await self._drive(named.code)
        if isinstance(ended, Failed):
            raise ModelRetry(self._failure(code, ended))
        self.run.types.ran(code)
        printed = self.run.session.printed
        value = await self._data(ended.value, named, printed)
        result = Result(value, printed, self.run.media, self.settings.max_result_bytes, named.name)
        return ToolReturn(
            return_value=result.for_model(),
            metadata=self.ledger.metadata(),
            content=self.dispatcher.extra_content or None,
        )

    async def _drive(self, code: str) -> Finished | Failed:
        if self.run.has_ended:  # a cancelled run ends before the task of its tool call does
            raise asyncio.CancelledError
        self.run.driver = driver = Driver(
            session=self.run.session,
            perform=lambda call: self.dispatcher.call(self.ledger.calls[call.id]),
            sleep_allowance=SleepAllowance(self.settings.limits.max_duration_secs),
            one_at_a_time=self.dispatcher.manager.get_parallel_execution_mode() == 'sequential',
        )
        snippet = Snippet(code=code, functions=self.catalog.kinds, admit=self.ledger.admit, mounts=self.settings.mounts)
        try:
            ended = await driver.run(snippet)
        except BaseException:
            self.run.types.reset()
            raise
        finally:
            self.ledger.close()
        self.run.driver = None
        return ended

    def _failure(self, code: str, failed: Failed) -> str:
        if failed.session_lost:
            self.run.types.reset()
        else:
            self.run.types.failed(code)
        return failure_text(
            FailedSnippet(
                code=code,
                failed=failed,
                printed=self.run.session.printed,
                ledger=self.ledger,
                limits=self.settings.limit_names,
            )
        )

    async def _data(self, value: object, named: NamedCode, printed: str) -> object:
        try:
            if looks_opaque(value, self.catalog.functions):
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
            step = await asyncio.wrap_future(self.run.session.feed(code))
        if isinstance(step, Failed) and step.session_lost:
            self.run.types.reset()
            raise CannotCrossError('a value that is too large to be looked through', '', RESET)
        if isinstance(step, Finished) and is_collection(step.value):
            kind, path = map(str, step.value)
            raise CannotCrossError('a call that was not awaited' if kind == 'coroutine' else f'a {kind}', path)
        # It could not be looked at: it has no name, or the code gave a builtin's name to something else.
        if not isinstance(step, Finished) and is_surely_opaque(value):
            raise CannotCrossError('a function, a class or a call that was not awaited', '')
