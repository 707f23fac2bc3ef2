"""Finds functions by words: SQLite's full-text search, with words of the same meaning, and names above descriptions."""

from __future__ import annotations

import math
import sqlite3
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .function import Function
from .search_words import words_of
from .synonyms import concepts_of, synonyms_of

_COLUMNS = 'name, origin, summary, description, parameters'
_QUERY = """
SELECT rowid - 1, bm25(functions, 6, 3, 3, 0.6, 0.3), bm25(functions, 1, 0, 0, 0, 0)
FROM functions WHERE functions MATCH ?
"""
_SATURATED = 2.2
"""What SQLite's `bm25` gives for a word that is everywhere in a text, in terms of how rare the word is."""
_SYNONYM_WEIGHT = 0.9
_NAME_WEIGHT = 0.4
_MAX_KNOWN_TERMS = 2_000
_MAX_QUERY = 1_000
_MAX_CONCEPTS = 16
_MAX_TEXT = 4_000
"""Letters of a description that are indexed."""


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
        self._name_lengths = [len(words_of(function.tool.name)) or 1 for function in functions]
        self._hits: dict[str, _Hits] = {}
        self._lock = threading.Lock()
        self._database = sqlite3.connect(':memory:', check_same_thread=False)
        weakref.finalize(self, self._database.close)
        self._database.execute(f"CREATE VIRTUAL TABLE functions USING fts5({_COLUMNS}, tokenize='porter unicode61')")
        self._database.executemany('INSERT INTO functions VALUES (?, ?, ?, ?, ?)', map(_row, functions))

    def search(self, query: str) -> list[Function]:
        """The functions that fit a query, best first; of a long query, its beginning counts."""
        fits: dict[int, float] = {}
        named: dict[int, float] = {}
        for concept in concepts_of(words_of(query[:_MAX_QUERY]))[:_MAX_CONCEPTS]:
            found, weights = self._fits(concept)
            # What fits few functions tells more.
            rarity = math.log(1 + len(self._functions) / (sum(found.values()) + 0.5))
            for number, fit in found.items():
                fits[number] = fits.get(number, 0.0) + fit * rarity
                named[number] = named.get(number, 0.0) + weights.get(number, 0.0)
        for number in fits:
            fits[number] *= 1 + _NAME_WEIGHT * named[number] / self._name_lengths[number]
        best = sorted(fits, key=lambda number: (-fits[number], number))
        return [self._functions[number] for number in best]

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
        if (known := self._hits.get(term)) is not None:
            return known
        with self._lock:
            rows = self._database.execute(_QUERY, (f'"{term.replace("_", " ")}"',)).fetchall()
        rarity = max(math.log((len(self._functions) - len(rows) + 0.5) / (len(rows) + 0.5)), 1e-6)
        hits = _Hits(
            {int(number): -float(score) / (rarity * _SATURATED) for number, score, _ in rows},
            frozenset(int(number) for number, _, in_name in rows if in_name),
        )
        if len(self._hits) >= _MAX_KNOWN_TERMS:
            self._hits.clear()
        self._hits[term] = hits
        return hits


def _row(function: Function) -> tuple[str, ...]:
    parameters = '. '.join(f'{one.name} {one.description[:_MAX_TEXT]}' for one in function.parameters)
    texts = (function.tool.name, function.group, function.summary, function.description[:_MAX_TEXT], parameters)
    return tuple(' '.join(words_of(text, with_letters=True)) for text in texts)
