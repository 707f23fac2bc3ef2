"""Checks each snippet of a session against the catalog before any of it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pydantic_ai_harness.sandbox import UNTYPED, Snippet

from .catalog import Catalog
from .code_facts import CodeFacts
from .findings import SnippetCheck
from .last_value import LAST_RESULT
from .repl import Check, Repl
from .stored_session import StoredTypes

_MAX_BEFORE = 30_000


@dataclass
class SessionTypes:
    """What is known of the names in a session: the code that bound them."""

    _before: list[str] = field(default_factory=list[str])
    """Code that ran, and in place of code that failed half-way, names that may exist."""
    _too_old: set[str] = field(default_factory=set[str])
    """Names of code that is too much to be checked again each time."""
    _untyped: set[str] = field(default_factory=set[str])
    _stored_keys: set[str] = field(default_factory=set[str])
    """Names and keys of code that is not in `_before`."""

    async def problems(
        self, code: str, catalog: Catalog, repl: Repl, then: Callable[[], Snippet] | None = None
    ) -> list[str]:
        """What is certainly wrong with `code`; empty when it may run.

        Args:
            code: As the model wrote it.
            catalog: What it may call.
            repl: Checks types.
            then: Gives what to start if nothing is wrong; `None` starts nothing here.
        """
        before = ''.join([_untyped_names(self._too_old), *self._before])
        known = {*self._untyped, LAST_RESULT} if self._before else self._untyped
        check = SnippetCheck(code, before, catalog, known, self._stored_keys)
        findings = await repl.check(
            Check(_checkable(code), catalog.stubs, before),
            lambda: None if then is None or check.problems(()) else then(),
        )
        return check.problems(findings)

    def ran(self, code: str) -> None:
        """The code ran to its end."""
        self._before.append(f'{_checkable(code)}\n')
        while sum(map(len, self._before)) > _MAX_BEFORE:
            oldest = self._before.pop(0)
            self._too_old |= CodeFacts(oldest).bound
            self._forget(oldest)

    def failed(self, code: str) -> None:
        """The code failed half-way: its names may exist, and may be others than before."""
        self._forget(code)
        self._before.append(_untyped_names(CodeFacts(code).bound))

    def reset(self) -> None:
        """Nothing exists any more."""
        self._before.clear()
        self._too_old.clear()
        self._untyped.clear()
        self._stored_keys.clear()

    def stored(self) -> StoredTypes:
        """As data."""
        return StoredTypes(
            before=self._before,
            too_old=sorted(self._too_old),
            untyped=sorted(self._untyped),
            stored_keys=sorted(self._stored_keys),
        )

    def restore(self, stored: StoredTypes) -> None:
        """Become what was stored."""
        self._before = list(stored.before)
        self._too_old = set(stored.too_old)
        self._untyped = set(stored.untyped)
        self._stored_keys = set(stored.stored_keys)

    def _forget(self, code: str) -> None:
        facts = CodeFacts(code)
        self._untyped |= facts.bound
        self._stored_keys |= facts.stored_keys


def _untyped_names(names: Iterable[str]) -> str:
    return ''.join(f'{name} = {UNTYPED}\n' for name in sorted(names))


def _checkable(code: str) -> str:
    """The code without `__future__` imports, which are allowed only where the checker does not see them."""
    return '\n'.join('' if line.startswith('from __future__ ') else line for line in code.split('\n'))
