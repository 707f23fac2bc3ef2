"""What a snippet says of itself: the names that it binds, the keys that it stores, where its pieces stand."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeGuard

from .python_text import parse

Place: TypeAlias = tuple[int, int]
"""1-based line and 0-based column, in bytes, as the syntax tree counts them."""

DICT_UPDATES = frozenset({'update', 'setdefault'})
# Of a missing module, or a missing part of one.
_IMPORT_ERRORS = frozenset({'ImportError', 'ModuleNotFoundError', 'AttributeError', 'Exception', 'BaseException'})


@dataclass(frozen=True)
class CodeFacts:
    """Questions about one piece of code. All are answered with nothing where this Python cannot parse it."""

    code: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the syntax tree."""
        return list(ast.walk(self.tree)) if self.tree is not None else []

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree."""
        return parse(self.code)

    @cached_property
    def bound(self) -> frozenset[str]:
        """Every name that the code binds anywhere, but for parameters."""
        return frozenset(name for node in self.nodes for name in _binds(node))

    @cached_property
    def stored_keys(self) -> frozenset[str]:
        """Keys that the code itself puts into some dict."""
        return frozenset(key for node in self.nodes for key in _stored_keys(node))

    @cached_property
    def dicts_with_computed_keys(self) -> frozenset[str]:
        """Names of dicts into which the code puts keys that are not written out."""
        return frozenset(
            node.value.id
            for node in self.nodes
            if isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and is_name(node.value)
            and not isinstance(node.slice, ast.Constant)
        )

    @cached_property
    def read_keys(self) -> dict[Place, ast.Subscript]:
        """Subscripts that are read, by the place of what stands in the brackets."""
        return {
            (node.slice.lineno, node.slice.col_offset): node
            for node in self.nodes
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
        }

    @cached_property
    def lines_that_catch_import_errors(self) -> frozenset[int]:
        """Lines of a `try` that handles what a missing module raises."""
        blocks = [
            node for node in self.nodes if isinstance(node, ast.Try) and any(map(_catches_imports, node.handlers))
        ]
        inside = [node for block in blocks for one in block.body for node in ast.walk(one)]
        return frozenset(node.lineno for node in inside if isinstance(node, ast.stmt))

    def is_annotation(self, place: Place) -> bool:
        """Whether the place lies in an annotation, which the sandbox does not evaluate."""
        return any(start <= place < end for start, end in self._annotations)

    def imports(self) -> Iterable[tuple[int, str]]:
        """Line and name of each module that is imported."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.lineno, node.module

    def starting_at(self, place: Place) -> list[ast.expr | ast.keyword]:
        """Expressions and keyword arguments that begin at the place."""
        return [
            node
            for node in self.nodes
            if isinstance(node, (ast.expr, ast.keyword)) and (node.lineno, node.col_offset) == place
        ]

    def around(self, place: Place) -> Iterable[ast.expr]:
        """Expressions that the place lies in."""
        for node in self.nodes:
            if isinstance(node, ast.expr):
                end = (node.end_lineno or 0, node.end_col_offset or 0)
                if (node.lineno, node.col_offset) <= place <= end:
                    yield node

    def is_in_function(self, place: Place) -> bool:
        """Whether the place lies in a function, which runs when it is called."""
        return any(
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            and (node.lineno, node.col_offset) <= place <= (node.end_lineno or 0, node.end_col_offset or 0)
            for node in self.nodes
        )

    def literals_at(self, place: Place) -> list[ast.expr]:
        """The value at this place when it is written out, so that each part of its type is really there."""
        values = [node.value if isinstance(node, ast.keyword) else node for node in self.starting_at(place)]
        return values if all(map(is_literal, values)) else []

    @cached_property
    def _annotations(self) -> list[tuple[Place, Place]]:
        return [
            ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0))
            for node in self.nodes
            for one in _annotations_of(node)
        ]


def is_name(node: ast.expr) -> TypeGuard[ast.Name]:
    """Whether an expression is a plain name."""
    return isinstance(node, ast.Name)


def added_items(node: ast.AST) -> list[ast.expr]:
    """What a statement adds to a list that is there."""
    if isinstance(node, ast.AugAssign) and isinstance(node.value, (ast.List, ast.Tuple)):
        return node.value.elts
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.List):
        return node.right.elts
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return []
    items = node.args if node.func.attr in ('append', 'insert', 'extend') else []
    return [one for item in items for one in (item.elts if isinstance(item, (ast.List, ast.Tuple)) else [item])]


def is_called_name(node: ast.AST) -> bool:
    """Whether a node is a call of a plain name."""
    return isinstance(node, ast.Call) and is_name(node.func)


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is written out, with nothing computed in it."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(
        is_name(node) and node.id in _IMPORT_ERRORS for node in ast.walk(handler.type) if isinstance(node, ast.expr)
    )


def _binds(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split('.')[0] for alias in node.names]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    return [node.rest] if isinstance(node, ast.MatchMapping) and node.rest else []


def _stored_keys(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _text_of(node.slice)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DICT_UPDATES:
        keys = [keyword.arg for keyword in node.keywords if keyword.arg]
        return [*keys, *(text for argument in node.args for text in _keys_of(argument))]
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr):
        return _keys_of(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_keys_of(node.left), *_keys_of(node.right)]
    return []


def _keys_of(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Dict):
        return [text for key in node.keys if key is not None for text in _text_of(key)]
    return _text_of(node)


def _text_of(node: ast.expr) -> list[str]:
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _annotations_of(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node.returns] if node.returns is not None else []
    annotation = node.annotation if isinstance(node, (ast.arg, ast.AnnAssign)) else None
    return [annotation] if annotation is not None else []
