"""Type checking in sessions that check and never run anything."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import pydantic_monty

_MAX_CHECKERS = 4
# Memory of a checking session grows by about 2 KB a check.
_CHECKS_PER_SESSION = 2_000
# A process that ends from outside is replaced; code is let through unchecked rather than kept from running.
_ATTEMPTS = 3
UNTYPED = '_untyped()'
"""Stands in code before a snippet for a value whose type is not known."""
_HEAD = 'from typing import TYPE_CHECKING as _checking, Any as _Any\ndef _untyped() -> _Any: ...\nif _checking:\n'
_INDENT = '    '
# The feed fails here after it was checked, so that none of its names stay behind.
_IGNORE = re.compile(r'#\s*(type|ty)\s*:\s*ignore')
_TAIL = 'raise RuntimeError\n'


@dataclass(frozen=True, slots=True)
class Finding:
    """What the checker says about one place."""

    rule: str
    """The checker's name for the rule: 'invalid-argument-type'."""
    line: int
    """1-based, in the checked snippet; below 1 it lies in the code before it."""
    column: int
    """1-based."""
    message: str


class CheckoutPool(Protocol):
    """Where checking sessions come from."""

    def checkout(self, *, type_check_stubs: str) -> pydantic_monty.MontySession:
        """Prepare a session that checks against these stubs."""
        ...


class TypeChecker:
    """Checks snippets against stubs; keeps a warm session for each of the last few sets of stubs.

    The first check of a session reads the standard library's types (about 20 ms), the next take about 1 ms
    (Monty 1.4.0). Safe to use from any thread.
    """

    def __init__(self, pool: CheckoutPool) -> None:
        self._pool = pool
        self._lanes: OrderedDict[str, _Lane] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, code: str, *, stubs: str, before: str = '', known: Iterable[str] = ()) -> Future[list[Finding]]:
        """Check `code`.

        Args:
            code: The snippet.
            stubs: Declarations of the functions that it may call.
            before: Earlier code of the same session, checked with it so that its names have types.
            known: Names that exist, but whose types are not known.
        """
        with self._lock:
            lane = self._lanes.pop(stubs, None) or _Lane(self._pool, stubs)
            self._lanes[stubs] = lane
            while len(self._lanes) > _MAX_CHECKERS:
                self._lanes.popitem(last=False)[1].close()
            return lane.submit(code, before, tuple(known))

    def close(self) -> None:
        """End every checking session."""
        with self._lock:
            lanes = list(self._lanes.values())
            self._lanes.clear()
        for lane in lanes:
            lane.close()


class _Lane:
    """One checking session and the thread that feeds it, one check after another."""

    def __init__(self, pool: CheckoutPool, stubs: str) -> None:
        self._pool = pool
        self._stubs = stubs
        self._thread = ThreadPoolExecutor(1, thread_name_prefix='sandbox-checker')
        self._session: pydantic_monty.MontySession | None = None
        self._checks = 0

    def submit(self, code: str, before: str, known: tuple[str, ...]) -> Future[list[Finding]]:
        return self._thread.submit(self._check, code, before, known)

    def close(self) -> None:
        with suppress(RuntimeError):  # at the interpreter's end no thread takes work; the pool ends the process
            self._thread.submit(self._renew)
        self._thread.shutdown(wait=False)

    def _check(self, code: str, before: str, known: tuple[str, ...]) -> list[Finding]:
        lines = [*(f'{name} = {UNTYPED}' for name in known), *_lines(before)]
        text = _HEAD + _indented(lines) + _indented(_lines(code)) + f'{_INDENT}pass\n' + _TAIL
        report = ''
        for _ in range(_ATTEMPTS):
            try:
                report = self._report(text)
                break
            except pydantic_monty.MontyCrashedError:
                self._session = None
        return _findings(report, line_offset=_HEAD.count('\n') + len(lines)) if report else []

    def _report(self, text: str) -> str:
        """The checker's report; empty when it finds nothing."""
        try:
            self._ready().feed_run(text, print_callback=lambda stream, text: None)
        except pydantic_monty.MontyTypingError as error:
            return error.display()
        except pydantic_monty.MontyCrashedError:
            raise
        except pydantic_monty.MontyError:
            pass
        return ''

    def _ready(self) -> pydantic_monty.MontySession:
        if self._checks >= _CHECKS_PER_SESSION:
            self._renew()
        self._checks += 1
        if self._session is None:
            self._checks = 0
            self._session = self._pool.checkout(type_check_stubs=self._stubs).__enter__()
        return self._session

    def _renew(self) -> None:
        if self._session is not None:
            with suppress(pydantic_monty.MontyError, RuntimeError):
                self._session.__exit__(None, None, None)
        self._session = None


def _indented(lines: list[str]) -> str:
    return ''.join(f'{_INDENT}{_without_form_feeds(line)}\n' if line.strip() else '\n' for line in lines)


def _without_form_feeds(line: str) -> str:
    """One among the indentation starts it anew, which would let the line leave the `if` and run."""
    code = line.lstrip(' \t\f')
    indentation = line[: len(line) - len(code)].rpartition('\f')[2]
    # And no comment of the model's may silence the checker.
    return indentation + _IGNORE.sub(r'# \1', code.replace('\f', ' '))


def _lines(code: str) -> list[str]:
    return code.replace('\r\n', '\n').replace('\r', '\n').split('\n')


def _findings(text: str, *, line_offset: int) -> list[Finding]:
    return [
        Finding(
            rule=item['code'],
            line=item['location']['row'] - line_offset,
            column=item['location']['column'] - len(_INDENT),
            message=item['message'],
        )
        for item in json.loads(text)
    ]
