"""The type names in the checker's messages, compared by kind: enough to tell certainly wrong from maybe right."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

from .python_text import undisturbed

_SEQUENCES = frozenset({'list', 'tuple', 'set', 'frozenset', 'Sequence'})
_SCALARS = frozenset({'str', 'int', 'float', 'bool', 'bytes', 'None', 'complex'})
# The checker writes text as Rust does: a backslash with what it escapes, among them code points.
_CODE_POINT = re.compile(r'\\(?:u\{([0-9a-f]+)\}|.)')
# What a parameter takes beside its own kind; Pydantic turns one into the other.
_ALSO_TAKES = {
    'float': frozenset({'int', 'bool'}),
    'int': frozenset({'bool', 'float'}),
    'bool': frozenset({'int'}),
}


def certainly_unlike(expected: str, found: str, typed_dicts: Collection[str], *, every_part: bool = False) -> bool:
    """Whether nothing that `found` allows can be what `expected` asks for; False whenever that is not sure.

    Args:
        expected: The declared type, as the checker writes it: `Literal["c", "f"] | None`.
        found: The type of the value.
        typed_dicts: Names of TypedDicts; every other unknown name is taken to fit.
        every_part: Whether each alternative of `found` is really there, not one of them.
    """
    wanted, given = _parse(expected), _parse(found)
    if wanted is None or given is None:
        return False
    return _Comparison(typed_dicts, every_part=every_part).unlike(wanted, given)


def is_no_literal_of(value: ast.expr, expected: str) -> bool:
    """Whether a list that is written out holds text that the literals of `expected` do not have."""
    wanted = _parse(expected)
    if wanted is None or not isinstance(value, ast.List):
        return False
    lists = [part for part in _parts(wanted) if _kind(part, ()) == 'sequence']
    allowed = [_argument(one) for part in lists for element in _elements(part) for one in _parts(element)]
    if len(lists) != 1 or not allowed or not all(isinstance(one, ast.Constant) for one in allowed):
        return False
    values = {one.value for one in allowed if isinstance(one, ast.Constant)}
    return any(
        isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value not in values for one in value.elts
    )


def is_plain_data(text: str, typed_dicts: Collection[str]) -> bool:
    """Whether a type is JSON data and nothing else, so that an attribute it lacks is certainly missing."""
    node = _parse(text)
    kinds = {_kind(part, typed_dicts) for part in _parts(node)} if node is not None else {None}
    return None not in kinds and 'coroutine' not in kinds


def _parse(text: str) -> ast.expr | None:
    try:
        return undisturbed(lambda: ast.parse(_CODE_POINT.sub(_python_escape, text), mode='eval')).body
    except SyntaxError:
        return None


def _python_escape(match: re.Match[str]) -> str:
    return rf'\U{match[1]:0>8}' if match[1] else match[0]


def _parts(node: ast.expr) -> list[ast.expr]:
    """The alternatives of a union."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_parts(node.left), *_parts(node.right)]
    if isinstance(node, ast.Subscript) and _head(node) == 'Literal' and isinstance(node.slice, ast.Tuple):
        return [ast.Subscript(value=node.value, slice=one) for one in node.slice.elts]
    return [node]


@dataclass(frozen=True)
class _Comparison:
    typed_dicts: Collection[str]
    every_part: bool

    def unlike(self, wanted: ast.expr, given: ast.expr) -> bool:
        combine = any if self.every_part else all
        return combine(
            all(not self._may_fit(expected, found) for expected in _parts(wanted)) for found in _parts(given)
        )

    def _may_fit(self, expected: ast.expr, found: ast.expr) -> bool:
        wanted, given = _kind(expected, self.typed_dicts), _kind(found, self.typed_dicts)
        if wanted is None or given is None:
            return True
        if wanted != given:
            return given in _ALSO_TAKES.get(wanted, ())
        if _head(expected) == 'Literal' and _head(found) == 'Literal':
            return ast.dump(_argument(expected)) == ast.dump(_argument(found))
        if wanted == 'sequence':
            return self._elements_may_fit(_elements(expected), _elements(found))
        if wanted == 'mapping':
            return self._elements_may_fit(_elements(expected)[1:], _elements(found)[1:])
        return True

    def _elements_may_fit(self, wanted: list[ast.expr], given: list[ast.expr]) -> bool:
        if not wanted or not given:
            return True
        combine = any if self.every_part else all
        return not combine(self.unlike(wanted[0], one) for one in given)


def _elements(node: ast.expr) -> list[ast.expr]:
    """What stands in the brackets; for a mapping, key and value."""
    if not isinstance(node, ast.Subscript):
        return []
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [one for one in inner if not (isinstance(one, ast.Constant) and one.value is ...)]


def _argument(node: ast.expr) -> ast.expr:
    return node.slice if isinstance(node, ast.Subscript) else node


def _head(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _head(node.value)
    if isinstance(node, ast.Constant) and node.value is None:
        return 'None'
    return node.id if isinstance(node, ast.Name) else ''


def _kind(node: ast.expr, typed_dicts: Collection[str]) -> str | None:
    """The kind of a type that is no union; `None` for what is not known."""
    head = _head(node)
    if head == 'Literal':
        return _literal_kind(_argument(node))
    if head in _SCALARS or head == 'LiteralString':
        return 'str' if head == 'LiteralString' else head
    if head in _SEQUENCES:
        return 'sequence'
    if head in ('dict', 'Mapping') or head in typed_dicts:
        return 'mapping'
    return 'coroutine' if head == 'CoroutineType' else None


def _literal_kind(node: ast.expr) -> str | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        node = node.operand
    if not isinstance(node, ast.Constant):
        return None
    return 'None' if node.value is None else type(node.value).__name__
