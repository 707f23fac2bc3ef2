"""The two kinds of program in the corpus."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A correct program: the type check must let every snippet pass."""

    name: str
    snippets: tuple[str, ...]
    """Snippets which run one after another in one REPL session."""
    expected: object
    """The value of the last expression of the last snippet."""


@dataclass(frozen=True)
class WrongProgram:
    """A wrong program: the type check must refuse the last snippet, and only that one."""

    name: str
    snippets: tuple[str, ...]
    line: int
    """The line of the mistake in the last snippet, counted from 1."""
    mentions: str
    """A word which a helpful message contains."""
