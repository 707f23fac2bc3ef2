"""How many tokens a text takes, about, whatever the model."""

from __future__ import annotations

import itertools
import re

_PIECE = re.compile(r'_?[A-Z]?[a-z]+|_?[A-Z]+|_?\d{1,3}|\n+|[^\x00-\x7f]|[^\sA-Za-z\d]+')
_LONG_WORD = 10
_LONGEST_WORD = 14


def estimate_tokens(text: str) -> int:
    """An estimate from words, numbers and punctuation.

    Measured against the `o200k_base` encoding on the tool definitions of 18 MCP servers (414 tools; 2026-11-30), in
    sum: whole declarations are 0.5 % above, their short form 7 % above, lines of `brief` 7 % above, bare names 9 %
    below.
    """
    return sum(_tokens_of(piece.group()) for piece in _PIECE.finditer(text))


def fits(text: str, max_tokens: int) -> bool:
    """Whether a text takes no more tokens than this; of a longer one, no more than that is looked at."""
    counts = itertools.accumulate(_tokens_of(piece.group()) for piece in _PIECE.finditer(text))
    return all(count <= max_tokens for count in counts)


def _tokens_of(piece: str) -> int:
    if piece[-1].isascii() and piece[-1].isalpha():
        return 1 if len(piece) <= _LONG_WORD else 2 + max(0, len(piece) - _LONGEST_WORD + 3) // 4
    if piece[-1].isdigit() or piece.isspace() or not piece.isascii():
        return 1
    return (len(piece) + 1) // 2
