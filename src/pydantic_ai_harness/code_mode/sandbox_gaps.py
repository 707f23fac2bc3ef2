"""What models often write and the sandbox cannot run, said before any of the code ran (Monty 1.4.0)."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .code_facts import CodeFacts, is_name

_KEYED = frozenset({'max', 'min', 'sorted', 'sort'})


def gaps(facts: CodeFacts) -> Iterable[tuple[int, str]]:
    """Line and text of each."""
    for node in facts.nodes:
        if isinstance(node, ast.Call):
            yield from _gaps_of(node)


def _gaps_of(call: ast.Call) -> Iterable[tuple[int, str]]:
    name = call.func.id if is_name(call.func) else call.func.attr if isinstance(call.func, ast.Attribute) else ''
    if name == 'next' and call.args and isinstance(call.args[0], ast.GeneratorExp):
        yield call.lineno, 'a generator expression is a list here; write `next(iter([...]), default)`'
    if name == 'gather' and any(keyword.arg == 'return_exceptions' for keyword in call.keywords):
        yield call.lineno, '`gather` takes no `return_exceptions` here; use try/except in an `async def` of your own'
    for keyword in call.keywords:
        if name in _KEYED and keyword.arg == 'key' and isinstance(keyword.value, ast.Attribute):
            method = ast.unparse(keyword.value)
            yield call.lineno, f'methods are no values here; write `key=lambda x: {method}(x)` for `key={method}`'
