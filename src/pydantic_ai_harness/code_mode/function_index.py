"""Finds functions by words: SQLite's full-text search, with words of the same meaning, and names above descriptions."""

from __future__ import annotations

import math
import re
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .function import Function
from .synonyms import concepts_of, synonyms_of

_COLUMNS = 'name, origin, summary, description, parameters'
_QUERY = """
SELECT rowid - 1, bm25(functions, 6, 3, 3, 0.6, 0.3), bm25(functions, 1, 0, 0, 0, 0)
FROM functions WHERE functions MATCH ?
"""
_SATURATED = 2.2
"""What SQLite's `bm25` gives for a word that is everywhere in a text, in terms of how rare the word is."""
_WORD = re.compile(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+')
_SYNONYM_WEIGHT = 0.9
_NAME_WEIGHT = 0.4
_MAX_KNOWN_TERMS = 2_000


@dataclass(frozen=True, slots=True)
class _Hits:
    """Where a word stands, by the number of the function."""

    share: Mapping[int, float]
    """How much of what the function says is about it, up to 1."""
    in_name: frozenset[int]


class FunctionIndex:
    """The words of some functions."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._functions = functions
        self._name_lengths = [len(_words(function.tool.name)) or 1 for function in functions]
        self._hits: dict[str, _Hits] = {}
        self._lock = threading.Lock()
        self._database = sqlite3.connect(':memory:', check_same_thread=False)
        self._database.execute(f"CREATE VIRTUAL TABLE functions USING fts5({_COLUMNS}, tokenize='porter unicode61')")
        self._database.executemany('INSERT INTO functions VALUES (?, ?, ?, ?, ?)', map(_row, functions))

    def search(self, query: str, limit: int, group: str | None) -> list[Function]:
        """The functions that fit a query, best first."""
        fits: dict[int, float] = {}
        named: dict[int, float] = {}
        for concept in concepts_of(_words(query)):
            found, weights = self._fits(concept)
            # What fits few functions tells more.
            rarity = math.log(1 + len(self._functions) / (sum(found.values()) + 0.5))
            for number, fit in found.items():
                fits[number] = fits.get(number, 0.0) + fit * rarity
                named[number] = named.get(number, 0.0) + weights.get(number, 0.0)
        for number in fits:
            fits[number] *= 1 + _NAME_WEIGHT * named[number] / self._name_lengths[number]
        best = sorted(fits, key=lambda number: (-fits[number], number))
        found_functions = (self._functions[number] for number in best)
        return [one for one in found_functions if group is None or one.group == group][:limit]

    def _fits(self, concept: str) -> tuple[dict[int, float], dict[int, float]]:
        """How well each function fits one thing asked for, and how much of its name that explains."""
        fits: dict[int, float] = {}
        named: dict[int, float] = {}
        for term, weight in ((concept, 1.0), *((other, _SYNONYM_WEIGHT) for other in synonyms_of(concept))):
            hits = self._hits_of(term)
            for number, share in hits.share.items():
                fits[number] = max(fits.get(number, 0.0), weight * share)
            for number in hits.in_name:
                named[number] = max(named.get(number, 0.0), weight * (1 + term.count('_')))
        return fits, named

    def _hits_of(self, term: str) -> _Hits:
        if term not in self._hits:
            with self._lock:
                rows = self._database.execute(_QUERY, (f'"{term.replace("_", " ")}"',)).fetchall()
            if len(self._hits) > _MAX_KNOWN_TERMS:
                self._hits.clear()
            rarity = max(math.log((len(self._functions) - len(rows) + 0.5) / (len(rows) + 0.5)), 1e-6)
            self._hits[term] = _Hits(
                {int(number): -float(score) / (rarity * _SATURATED) for number, score, _ in rows},
                frozenset(int(number) for number, _, in_name in rows if in_name),
            )
        return self._hits[term]


def _row(function: Function) -> tuple[str, ...]:
    parameters = '. '.join(f'{parameter.name} {parameter.description}' for parameter in function.parameters)
    texts = (function.tool.name, function.group, function.summary, function.description, parameters)
    return tuple(' '.join(_words(text)) for text in texts)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
