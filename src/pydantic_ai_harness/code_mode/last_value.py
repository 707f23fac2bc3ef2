"""Keeps the value of a snippet's last expression under a name, so that it can be looked at and used again."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

from pydantic_ai_harness.narrowing import is_collection, is_mapping

from .python_text import parse

LAST_RESULT = '_'
"""As at Python's prompt."""

_MAX_DEPTH = 250
# What the sandbox turns into text on its way out (Monty 1.4.0): objects, and where a value refers to itself.
_TEXT_OF_AN_OBJECT = re.compile(
    r'<.*>|(?:range|slice|dict_keys|dict_values|dict_items|functools\.partial)\(.*\)|\[\.\.\.\]|\{\.\.\.\}|\(\.\.\.\)',
    re.DOTALL,
)
_SURELY_AN_OBJECT = re.compile(r"<function '.*' at 0x[0-9a-f]+>|<coroutine external_future\(\d+\)>|<class '\w+'>")


@dataclass(frozen=True, slots=True)
class NamedCode:
    """Code whose last expression has a name."""

    code: str
    name: str | None
    """Holds the last value after the code has run; `None` when there is none, or it could not be told."""


def name_last_value(code: str) -> NamedCode:
    """Bind the last expression to `_`, unless it is a name already. Lines stay where they are."""
    tree = parse(code)
    last = tree.body[-1] if tree is not None and tree.body else None
    if not isinstance(last, ast.Expr):
        return NamedCode(code, None)
    if isinstance(last.value, ast.Name):
        return NamedCode(code, last.value.id)
    lines = code.encode().splitlines(keepends=True)
    before = b''.join(lines[: last.lineno - 1]) + lines[last.lineno - 1][: last.col_offset]
    end = last.end_lineno or last.lineno
    end_offset = last.end_col_offset or 0
    through = b''.join(lines[: end - 1]) + lines[end - 1][:end_offset]
    expression = through[len(before) :].decode()
    rest = code.encode()[len(through) :].decode()
    named = f'{before.decode()}{LAST_RESULT} = ({expression}){rest}'
    return NamedCode(f'{named}\n{LAST_RESULT}', LAST_RESULT)


def looks_opaque(value: object, functions: Collection[str], depth: int = 0) -> bool:
    """Whether a value may hold something that is no data, and came as text: an object, a cycle, one of `functions`."""
    if isinstance(value, str):
        return value in functions or _TEXT_OF_AN_OBJECT.fullmatch(value) is not None
    if depth > _MAX_DEPTH:
        return False  # refused for its depth
    if is_mapping(value):
        return any(looks_opaque(item, functions, depth + 1) for item in value.values())
    return is_collection(value) and any(looks_opaque(item, functions, depth + 1) for item in value)


def is_surely_opaque(value: object, depth: int = 0) -> bool:
    """Whether a value holds what cannot be text that somebody wrote: `<function 'f' at 0x2c>`."""
    if isinstance(value, str):
        return _SURELY_AN_OBJECT.fullmatch(value) is not None
    items = list(value.values()) if is_mapping(value) else value if is_collection(value) else ()
    return depth <= _MAX_DEPTH and any(is_surely_opaque(item, depth + 1) for item in items)


def find_opaque(name: str) -> str:
    """Code that finds in the value of `name` what is not data; its value is (what, where) or `None`."""
    return _FIND_OPAQUE.replace('VALUE', name)


_FIND_OPAQUE = """\
def _find_opaque(value, path, parents):
    kind = type(value).__name__
    if kind == 'str':
        return None
    if kind in (
        'function', 'builtin_function_or_method', 'method', 'coroutine', 'generator', 'type', 'module', 'range',
        'slice', 'dict_keys', 'dict_values', 'dict_items', 'Match', 'Pattern', 'partial', 'Field',
    ) or kind.endswith('iterator'):
        return (kind, path)
    if kind not in ('dict', 'list', 'tuple', 'set', 'frozenset'):
        return None
    if any([parent is value for parent in parents]):
        return ('cycle', path)
    items = list(value.items()) if kind == 'dict' else list(enumerate(value))
    for key, item in items:
        found = _find_opaque(item, path + '[' + repr(key) + ']', parents + [value])
        if found is not None:
            return found
    return None
_find_opaque(VALUE, '', [])
"""
