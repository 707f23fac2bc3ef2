"""Text of others made safe to stand in Python source."""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Callable, Container
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar('T')

_NOT_IN_NAMES = re.compile(r'[^A-Za-z0-9_]+')
# Control characters, line separators, text direction marks, and halves of surrogate pairs.
_CONTROLS = re.compile(r'[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]')
_NOT_IN_GROUPS = re.compile(r'[^A-Za-z0-9_.-]+')
_MAX_GROUP = 60
MAX_DESCRIPTION = 4_000
"""Characters; the longest of 414 real tools has 3,216."""
_SPACE = re.compile(r'\s+')
_CLOSING_QUOTE = re.compile(r'"(?=""|\Z)')
_PIECE = re.compile(rb'#[^\n]*|([A-Za-z]*)("""|\'\'\'|"|\')|\w+|.', re.DOTALL)
_ONE_LINE_STRING = re.compile(rb'[A-Za-z]*(["\']).*\1')
_ATTEMPTS = 3
_RESERVED = frozenset({*keyword.kwlist, '__debug__'})


def is_name(text: str) -> bool:
    """Whether `text` can be written as a name."""
    return text.isidentifier() and text.isascii() and text not in _RESERVED


def with_plain_newlines(text: str) -> str:
    """The text with the line ends that Python has."""
    return text.replace('\r\n', '\n').replace('\r', '\n')


def to_name(text: str) -> str:
    """The name nearest to `text`: `get-weather` is `get_weather`, `2fa` is `_2fa`, `from` is `from_`; '' if none."""
    name = _NOT_IN_NAMES.sub('_', text)
    if not name.strip('_'):
        return ''
    if name[0].isdigit():
        name = f'_{name}'
    return f'{name}_' if name in _RESERVED else name


def to_group_name(text: str) -> str:
    """What is left of the name of a server or toolset when it can hold no prose: letters, digits, `_`, `-` and `.`."""
    return _NOT_IN_GROUPS.sub('-', text).strip('-')[:_MAX_GROUP]


def free_name(base: str, taken: Container[str]) -> str:
    """`base`, or the first of `base_2`, `base_3` and so on that is not taken."""
    name, number = base, 2
    while name in taken:
        name, number = f'{base}_{number}', number + 1
    return name


def cut(description: str) -> str:
    """A description that does not crowd out others, with a mark where it ends too soon."""
    if len(description) <= MAX_DESCRIPTION:
        return description
    return f'{description[:MAX_DESCRIPTION].rstrip()}… [cut; all of it is in the help of the function]'


def as_comment(text: str) -> str:
    """One line without control characters."""
    return _SPACE.sub(' ', _without_controls(text)).strip()


def as_docstring(text: str, indent: str) -> str:
    """A docstring literal, indented, that holds `text` whatever is in it."""
    safe = _CLOSING_QUOTE.sub(r'\\"', _without_controls(text).strip().replace('\\', '\\\\'))
    lines = [line.rstrip() for line in safe.splitlines()] or ['']
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""'
    body = '\n'.join(f'{indent}{line}' if line else '' for line in lines[1:])
    return f'{indent}"""{lines[0]}\n{body}\n{indent}"""'


def _without_controls(text: str) -> str:
    return _CONTROLS.sub(' ', text.replace('\r\n', '\n'))


def undisturbed(parse: Callable[[], T]) -> T:
    """What parsing gives.

    In Python 3.11, parsing that is interrupted by other parsing fails: a collection of garbage in the middle may log an
    error, and to show where that was, `traceback` parses too. So it is tried again.
    """
    for _ in range(_ATTEMPTS):
        with suppress(SystemError):
            return parse()
    return parse()


def parse(code: str) -> ast.Module | None:
    """The syntax tree; `None` where this Python cannot parse the code, which the sandbox may well do.

    Strings in the fields of f-strings are allowed the quotes around them, as Python 3.12 does: where this Python
    does not, they are names of the same length in the tree.
    """
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # '\d' is the model's business
        for rewritten in (str, _without_inner_strings):
            try:
                return undisturbed(partial(ast.parse, rewritten(code)))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return None


def _without_inner_strings(code: str) -> str:
    text = bytearray(code.encode(errors='replace'))
    at = 0
    while at < len(text):
        at = _skip(text, at)
    return text.decode()


def _skip(text: bytearray, at: int) -> int:
    """Where the string, comment or character that begins here ends."""
    piece = _PIECE.match(text, at)
    if piece is None:
        return len(text)
    prefix, quote, at = piece[1] or b'', piece[2], piece.end()
    if not quote:
        return at
    is_format = prefix.lower() in (b'f', b'rf', b'fr')
    while at < len(text) and not text.startswith(quote, at):
        if text.startswith(b'{{', at) or (text.startswith(b'\\', at) and not text.startswith(b'\\{', at)):
            at += 2
        elif is_format and text.startswith(b'{', at):
            at = _skip_field(text, at + 1)
        else:
            at += 1
    return at + len(quote)


def _skip_field(text: bytearray, at: int) -> int:
    """Where the field of an f-string ends; strings in it become underscores."""
    depth = 1
    while at < len(text) and depth:
        end = _skip(text, at)
        piece = bytes(text[at:end])
        if _ONE_LINE_STRING.fullmatch(piece):
            text[at:end] = b'_' * len(piece)
        depth += (piece in (b'(', b'[', b'{')) - (piece in (b')', b']', b'}'))
        at = end
    return at
