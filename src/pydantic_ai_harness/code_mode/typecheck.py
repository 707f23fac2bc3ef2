"""Checks each snippet of a session against the catalog before any of it runs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from pydantic_ai_harness.sandbox import TypeChecker

from .catalog import Catalog
from .findings import SnippetCheck, bound_names
from .last_value import LAST_RESULT

_MAX_BEFORE = 30_000


@dataclass
class SessionTypes:
    """What is known of the names in a session: the code that bound them."""

    checker: TypeChecker
    _ran: list[str] = field(default_factory=list[str])
    _untyped: set[str] = field(default_factory=set[str])
    """Names that may exist, of code that failed half-way or is too old to be checked again."""

    async def problems(self, code: str, catalog: Catalog) -> list[str]:
        """What is certainly wrong with `code`; empty when it may run."""
        before = ''.join(self._ran)
        known = frozenset({*self._untyped, LAST_RESULT} if self._ran else self._untyped)
        future = self.checker.check(_checkable(code), stubs=catalog.stubs, before=before, known=sorted(known))
        findings = await asyncio.wrap_future(future)
        return SnippetCheck(code, before, catalog, known).problems(findings)

    def ran(self, code: str) -> None:
        """The code ran to its end."""
        self._ran.append(_checkable(code) + '\n')
        while sum(map(len, self._ran)) > _MAX_BEFORE:
            self._untyped |= bound_names(self._ran.pop(0))

    def failed(self, code: str) -> None:
        """The code failed half-way: its names may exist."""
        self._untyped |= bound_names(code)

    def reset(self) -> None:
        """Nothing exists any more."""
        self._ran.clear()
        self._untyped.clear()


def _checkable(code: str) -> str:
    """The code without `__future__` imports, which are allowed only where the checker does not see them."""
    return '\n'.join('' if line.startswith('from __future__ ') else line for line in code.split('\n'))
