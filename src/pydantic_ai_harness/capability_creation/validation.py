"""Checks code before it is kept, in this process or in one of its own."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from pydantic_ai_harness.errors import CapabilityRefusedError

from . import checks, loader, own_code, prompt
from .loader import Source

T = TypeVar('T')


class Verdict(BaseModel):
    """What became of the checks."""

    model_config = ConfigDict(frozen=True)

    error: str | None = None
    """Why the code was refused, or `None` if it passed."""
    is_lethal: bool = False
    """Whether the code hung, or ended the process that checked it: it must not be run again elsewhere."""
    class_name: str = ''
    """The capability's class; empty if the code was refused."""
    hints: tuple[str, ...] = ()
    """What is allowed but probably not meant."""
    tool_names: tuple[str, ...] = ()
    """The tools that are known without a run."""


class Validation(Protocol):
    """Where authored code is tried out."""

    def check(self, source: Source) -> Future[Verdict]:
        """Start to check the code. The future ends in time; cancelling it ends the code too, where that is possible."""
        ...

    def close(self) -> None:
        """End what is kept for it."""


def judge(source: Source) -> Verdict:
    """Run the code, construct its capability and ask its getters, here and now.

    Raises:
        KeyboardInterrupt: The code was interrupted. Whatever else it raises is in the verdict.
    """
    try:
        with own_code.refusing():
            capability = loader.try_out(source)
            checks.check_instance(capability)
            return Verdict(
                class_name=type(capability).__name__,
                hints=checks.hints(capability),
                tool_names=tuple(checks.static_tool_names(capability)),
            )
    except CapabilityRefusedError as refused:
        return Verdict(error=str(refused))
    finally:
        own_code.forget_lines(source.label)


class InProcessValidation:
    """Checks code in a thread of this process. Code that blocks keeps that thread, which ends with the process."""

    def __init__(self, timeout_seconds: float | None) -> None:
        self._timeout_seconds = timeout_seconds

    def check(self, source: Source) -> Future[Verdict]:
        """See `Validation`."""
        future = in_thread(lambda: judge(source), f'check {source.name}')
        if self._timeout_seconds is not None:
            timer = threading.Timer(self._timeout_seconds, self._time_out, [future])
            timer.daemon = True
            timer.start()
            future.add_done_callback(lambda _: timer.cancel())
        return future

    def close(self) -> None:
        """Nothing is kept."""

    def _time_out(self, future: Future[Verdict]) -> None:
        with suppress(InvalidStateError):
            future.set_result(Verdict(error=prompt.timed_out(self._timeout_seconds), is_lethal=True))


def in_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Do the work in a thread that no one has to wait for, with the caller's context."""
    future = Future[T]()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(work)
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            with suppress(InvalidStateError):
                future.set_exception(error)
        else:
            with suppress(InvalidStateError):  # nobody waits any more
                future.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
