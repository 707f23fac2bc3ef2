"""Calls without `await` that the type checker has nothing against: a coroutine is a value like any other to it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from .code_facts import CodeFacts, is_name

# Builtins that look into their arguments, or turn them into something else.
_CONSUMERS = frozenset(
    {
        'abs',
        'all',
        'any',
        'bool',
        'enumerate',
        'filter',
        'float',
        'frozenset',
        'int',
        'len',
        'list',
        'max',
        'min',
        'print',
        'repr',
        'reversed',
        'round',
        'set',
        'sorted',
        'str',
        'sum',
        'tuple',
        'zip',
    }
)
_CONSUMING_METHODS = frozenset({'dumps', 'extend', 'join', 'update'})


@dataclass(frozen=True)
class UnawaitedCalls:
    """Finds where the result of a call is used, but the call was not awaited."""

    facts: CodeFacts
    functions: Collection[str]
    """Names that are called with `await`."""

    def problems(self) -> Iterable[tuple[int, str]]:
        """Line and text of each."""
        for node in self.facts.nodes:
            for value in _used_values(node):
                if self._is_call(value):
                    yield value.lineno, 'the result of a call is used without `await`'
        yield from (
            (one.lineno, 'a call in the result has no `await`') for one in self._results() if self._is_call(one)
        )
        for node in self.facts.nodes:
            for one in _taken_apart(node):
                if _is_gather(one) or (is_name(one) and one.id in self._gathers):
                    text = f'`{one.id}` is a `gather` that' if is_name(one) else 'the `gather`'
                    yield one.lineno, f'{text} was not awaited: put `await` before `asyncio.gather`'

    def _is_call(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call):
            return False
        is_tool = is_name(node.func) and node.func.id in self.functions and node.func.id not in self.facts.bound
        return is_tool or _is_gather(node)

    def _results(self) -> Iterable[ast.expr]:
        """What the last expression is made of, where it is written out."""
        body = self.facts.tree.body if self.facts.tree is not None else []
        # A call that stands alone is the checker's to find.
        if body and isinstance(body[-1], ast.Expr) and not isinstance(body[-1].value, ast.Call):
            yield from _elements(body[-1].value)

    @cached_property
    def _gathers(self) -> frozenset[str]:
        """Names that hold a `gather` and are never awaited."""
        nodes = self.facts.nodes
        assigned = [node for node in nodes if isinstance(node, ast.Assign) and _is_gather(node.value)]
        names = {target.id for node in assigned for target in node.targets if is_name(target)}
        return frozenset(
            names - {node.value.id for node in nodes if isinstance(node, ast.Await) and is_name(node.value)}
        )


def _used_values(node: ast.AST) -> list[ast.expr]:  # noqa: PLR0911  one return for each kind of node
    """Expressions whose value is looked at, where a coroutine is certainly not what was meant."""
    match node:
        case ast.If() | ast.While() | ast.IfExp() | ast.Assert():
            return [node.test]
        case ast.UnaryOp():
            return [node.operand]
        case ast.BoolOp():
            return node.values[:-1]
        case ast.Compare():
            return [node.left, *node.comparators]
        case ast.comprehension():
            return node.ifs
        case ast.FormattedValue():
            return [node.value]
        case ast.Dict():
            return [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
        case ast.Call():
            return _consumed_arguments(node)
        case _:
            return []


def _consumed_arguments(call: ast.Call) -> list[ast.expr]:
    function = call.func
    if is_name(function) and function.id in _CONSUMERS:
        return call.args
    return call.args if isinstance(function, ast.Attribute) and function.attr in _CONSUMING_METHODS else []


def _elements(node: ast.expr) -> Iterable[ast.expr]:
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for one in node.elts:
            yield from _elements(one)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _elements(value)
    elif isinstance(node, (ast.ListComp, ast.SetComp)):
        yield from _elements(node.elt)
    elif isinstance(node, ast.DictComp):
        yield from _elements(node.value)
    else:
        yield node


def _taken_apart(node: ast.AST) -> list[ast.expr]:
    """What is looped over, or unpacked into several names."""
    if isinstance(node, (ast.For, ast.comprehension)):
        return [node.iter]
    if isinstance(node, ast.Assign) and any(isinstance(one, (ast.Tuple, ast.List)) for one in node.targets):
        return [node.value]
    return []


def _is_gather(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ('asyncio.gather', 'aio.gather', 'gather')
