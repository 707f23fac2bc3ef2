"""Which findings of the type checker stop a snippet: those where the code is certainly wrong."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeGuard

from pydantic_ai_harness.sandbox import Finding

from .catalog import Catalog
from .failures import at_line
from .prompt import HOST_MODULES, MODULES
from .python_text import parse
from .schema_types import INPUT_SUFFIX
from .type_names import certainly_unlike, is_plain_data

BUILTINS = frozenset(
    {
        'ArithmeticError',
        'AssertionError',
        'AttributeError',
        'BaseException',
        'Ellipsis',
        'Exception',
        'FileExistsError',
        'FileNotFoundError',
        'ImportError',
        'IndexError',
        'IsADirectoryError',
        'KeyError',
        'KeyboardInterrupt',
        'LookupError',
        'MemoryError',
        'ModuleNotFoundError',
        'NameError',
        'NotADirectoryError',
        'NotImplemented',
        'NotImplementedError',
        'OSError',
        'OverflowError',
        'PermissionError',
        'RecursionError',
        'RuntimeError',
        'StopIteration',
        'SyntaxError',
        'SystemExit',
        'TimeoutError',
        'TypeError',
        'UnboundLocalError',
        'UnicodeDecodeError',
        'UnicodeEncodeError',
        'ValueError',
        'ZeroDivisionError',
        '__name__',
        '__file__',
        'abs',
        'all',
        'any',
        'bin',
        'bool',
        'bytes',
        'chr',
        'complex',
        'dict',
        'divmod',
        'enumerate',
        'eval',
        'exec',
        'filter',
        'float',
        'format',
        'frozenset',
        'getattr',
        'hasattr',
        'hash',
        'hex',
        'id',
        'int',
        'isinstance',
        'iter',
        'len',
        'list',
        'locals',
        'map',
        'max',
        'min',
        'next',
        'object',
        'oct',
        'open',
        'ord',
        'pow',
        'print',
        'property',
        'range',
        'repr',
        'reversed',
        'round',
        'set',
        'setattr',
        'slice',
        'sorted',
        'str',
        'sum',
        'tuple',
        'type',
        'zip',
    }
)
"""Builtins of the sandbox, some of which its checker does not know; a test compares them with the sandbox."""

_NOT_DEFINED = re.compile(r'Name `(\w+)` used when not defined')
_ARGUMENT = re.compile(r'Argument to (?:function|bound method) `(\w+)` is incorrect: Expected `(.+)`, found `(.+)`')
_UNKNOWN_KEY = re.compile(r'Unknown key "(.*)" for TypedDict `\w+`(?: - did you mean .*)?')
_NO_ATTRIBUTE = re.compile(r'Object of type `(.+)` has no attribute `(\w+)`')
_VALUE_OF_KEY = re.compile(
    r'Invalid argument to key ".*" with declared type `(.+)` on TypedDict `\w+`: value of type `(.+)`'
)
_NO_MEMBER = re.compile(r'Module `(\S+)` has no member `(\w+)`')
_UNAWAITED = re.compile(r'`(?:CoroutineType|_Future)\[')
_NOT_AWAITABLE = re.compile(r'`(.+)` is not awaitable')
# The checker sees the code indented, lines inside strings too.
_INDENTED_LINE = '\\n    '
_INPUT_NAME = re.compile(rf'\b(\w+){INPUT_SUFFIX}\b')

INSTEAD_OF_MODULES = {
    'aiohttp': 'a function that fetches, if there is one: code has no network',
    'collections.abc': '`typing`',
    'contextlib': 'try/finally',
    'enum': 'plain constants',
    'heapq': '`sorted(...)[:n]`',
    'httpx': 'a function that fetches, if there is one: code has no network',
    'numpy': 'lists, `sum`, `min`, `max` and `math`',
    'operator': 'a lambda',
    'pandas': 'lists of dicts, `sorted` and comprehensions',
    'requests': 'a function that fetches, if there is one: code has no network',
    'statistics': '`sum(x) / len(x)`, and `sorted(x)` for the median',
    'string': 'the characters written out',
    'textwrap': 'slices and `str.splitlines`',
    'urllib': 'a function that fetches, if there is one: code has no network',
    'uuid': '`hashlib` over something unique',
}
INSTEAD_OF_BUILTINS = {
    'ascii': '`repr`',
    'bytearray': '`bytes`',
    'callable': "`hasattr(x, '__call__')`",
    'delattr': '`setattr(x, name, None)`',
    'dir': '`hasattr`',
    'input': 'a function that asks, if there is one',
    'issubclass': '`isinstance`',
    'vars': 'a dict of your own',
}


_DICT_UPDATES = frozenset({'update', 'setdefault'})


@dataclass
class SnippetCheck:
    """Judges the findings of one snippet."""

    code: str
    before: str
    """Earlier code that was checked with it."""
    catalog: Catalog
    known: Collection[str] = ()
    """Names that exist in the session, but not in `before`."""

    def problems(self, findings: Iterable[Finding]) -> list[str]:
        """What is certainly wrong, one text each with its line; empty when the snippet may run."""
        texts = dict.fromkeys([*self._missing_modules(), *self._unawaited_gathers(), *self._shapes_as_values()])
        last = self.code.rstrip().count('\n') + 1
        findings = [replace(one, message=one.message.replace(_INDENTED_LINE, '\\n')) for one in findings]
        for finding in findings:
            if 0 < finding.line <= last and (text := self._judge(finding)) is not None:
                texts[finding.line, _INPUT_NAME.sub(self._shown_name, text)] = None
        syntax = [finding.line for finding in findings if finding.rule == 'invalid-syntax']
        if syntax and min(syntax) > last:
            texts[self._syntax_problem(last)] = None
        return [f'line {line}: {text}{at_line(line, self.code)}' for line, text in sorted(texts)]

    def _judge(self, finding: Finding) -> str | None:
        if finding.rule in _USES_OF_A_VALUE and _UNAWAITED.search(finding.message):
            return f'the result of a call is used without `await` ({finding.message})'
        judge = _JUDGES.get(finding.rule)
        return judge(self, finding) if judge is not None else None

    def _syntax_problem(self, last: int) -> tuple[int, str]:
        """What is wrong when the checker stumbles only behind the code."""
        first = self.code.count('\n', 0, len(self.code) - len(self.code.lstrip())) + 1
        if self.code.split('\n')[first - 1][:1].isspace():
            return first, 'unexpected indentation: the first line has to start without spaces'
        return last, 'the code ends too early: a block or a bracket is not complete'

    def _shown_name(self, match: re.Match[str]) -> str:
        return match[1] if match[0] in self._typed_dicts else match[0]

    # -- one rule each -------------------------------------------------------------------------------------------

    def judge_always(self, finding: Finding) -> str | None:
        """The code cannot work."""
        return finding.message

    def judge_unknown_argument(self, finding: Finding) -> str | None:
        """A keyword that a function does not have; `update` of a result takes any."""
        place = self._place(finding)
        updates = [
            node
            for node in self._nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _DICT_UPDATES
        ]
        stored = {(keyword.lineno, keyword.col_offset) for node in updates for keyword in node.keywords}
        return None if place in stored else finding.message

    def judge_syntax(self, finding: Finding) -> str | None:
        """What cannot be parsed; the sandbox itself allows `return` at the top."""
        return None if '`return` statement outside' in finding.message else finding.message

    def judge_unawaited(self, finding: Finding) -> str | None:
        """A call as a statement."""
        return 'the call has no effect without `await`'

    def judge_undefined(self, finding: Finding) -> str | None:
        """A name that nothing binds."""
        match = _NOT_DEFINED.search(finding.message)
        if match is None or match[1] in BUILTINS or match[1] in self._bound or match[1] in self.known:
            return None
        return None if self._is_annotation(self._place(finding)) else undefined_text(match[1], self.catalog)

    def judge_member(self, finding: Finding) -> str | None:
        """A name that a module does not have."""
        match = _NO_MEMBER.search(finding.message)
        return finding.message if match is not None and finding.line not in self._guarded_lines else None

    def judge_argument(self, finding: Finding) -> str | None:
        """An argument of a tool whose type cannot fit."""
        if match := _VALUE_OF_KEY.search(finding.message):
            is_literal = self._is_literal_at(finding)
            unlike = certainly_unlike(match[1], match[2], self._typed_dicts, every_part=is_literal)
            return finding.message if unlike and self._call_around(finding) else None
        match = _ARGUMENT.search(finding.message)
        if match is None or self._source_at(finding).startswith('**'):
            return None
        if match[3].startswith('CoroutineType['):
            return f'an argument of `{match[1]}` is a call without `await`'
        if match[1] not in self.catalog.functions:
            return None
        is_literal = self._is_literal_at(finding)
        unlike = certainly_unlike(match[2], match[3], self._typed_dicts, every_part=is_literal)
        return finding.message if unlike else None

    def judge_key(self, finding: Finding) -> str | None:
        """A key that a result does not have, unless the code itself adds it; or one in a dict passed to a tool."""
        match = _UNKNOWN_KEY.fullmatch(finding.message)
        if match is None or match[1] in self._stored_keys:
            return None
        is_read = self._place(finding) in self._read_keys
        return finding.message if is_read or self._call_around(finding) else None

    def judge_missing_key(self, finding: Finding) -> str | None:
        """A key that is missing in a dict passed to a tool."""
        return finding.message if self._call_around(finding) else None

    def judge_attribute(self, finding: Finding) -> str | None:
        """An attribute that data never has."""
        if _NO_MEMBER.search(finding.message):
            return self.judge_member(finding)
        match = _NO_ATTRIBUTE.search(finding.message)
        if match is None or not is_plain_data(match[1], self._typed_dicts):
            return None
        is_result = match[1] in self._typed_dicts
        if is_result and hasattr(dict, match[2]):
            return None
        hint = f". Results are dicts: use `['{match[2]}']`" if is_result else ''
        return f'{finding.message}{hint}'

    def judge_await(self, finding: Finding) -> str | None:
        """`await` on what is a value already."""
        match = _NOT_AWAITABLE.search(finding.message)
        if match is None or not is_plain_data(match[1], self._typed_dicts):
            return None
        plain = [name for name, kind in self.catalog.kinds.items() if kind == 'plain' and name in self.code]
        hint = f'; {plain[0]}() is a plain function and called without `await`' if plain else ''
        return f'{finding.message}{hint}'

    # -- what the code itself says ---------------------------------------------------------------------------------

    @cached_property
    def _tree(self) -> ast.Module | None:
        return parse(self.code)

    @cached_property
    def _bound(self) -> frozenset[str]:
        return bound_names(self.code)

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(ast.walk(self._tree)) if self._tree is not None else []

    @cached_property
    def _annotations(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Where annotations begin and end, which the sandbox does not evaluate."""
        return [
            ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0))
            for node in self._nodes
            for one in _annotations_of(node)
        ]

    def _is_annotation(self, place: tuple[int, int]) -> bool:
        return any(start <= place < end for start, end in self._annotations)

    @cached_property
    def _read_keys(self) -> frozenset[tuple[int, int]]:
        """Where constants stand as a key that is read."""
        return frozenset(
            (node.slice.lineno, node.slice.col_offset)
            for node in self._nodes
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
        )

    @cached_property
    def _guarded_lines(self) -> frozenset[int]:
        """Lines whose errors the code catches."""
        blocks = [node for node in self._nodes if isinstance(node, ast.Try) and node.handlers]
        inside = [node for block in blocks for one in block.body for node in ast.walk(one)]
        return frozenset(node.lineno for node in inside if isinstance(node, ast.stmt))

    def _call_around(self, finding: Finding) -> bool:
        """Whether the place lies in a call of one of the catalog's functions."""
        place = self._place(finding)
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in self.catalog.functions
            and (node.lineno, node.col_offset) <= place <= (node.end_lineno or 0, node.end_col_offset or 0)
            for node in self._nodes
        )

    def _is_literal_at(self, finding: Finding) -> bool:
        """Whether the value at this place is written out, so that each part of its type is really there."""
        place = self._place(finding)
        values = [node.value if isinstance(node, ast.keyword) else node for node in self._starting_at(place)]
        return bool(values) and all(_is_literal(value) for value in values)

    def _starting_at(self, place: tuple[int, int]) -> list[ast.expr | ast.keyword]:
        return [
            node
            for node in self._nodes
            if isinstance(node, (ast.expr, ast.keyword)) and (node.lineno, node.col_offset) == place
        ]

    @cached_property
    def _typed_dicts(self) -> frozenset[str]:
        return frozenset(self.catalog.definitions.checked)

    @cached_property
    def _stored_keys(self) -> frozenset[str]:
        return frozenset(key for code in (self.before, self.code) for key in _stored_keys(parse(code)))

    def _source_at(self, finding: Finding) -> str:
        return self._line_of(finding)[finding.column - 1 :]

    def _place(self, finding: Finding) -> tuple[int, int]:
        """Line and column as the syntax tree has them: it counts bytes, the checker characters."""
        return finding.line, len(self._line_of(finding)[: finding.column - 1].encode())

    def _line_of(self, finding: Finding) -> str:
        lines = self.code.split('\n')
        return lines[finding.line - 1] if finding.line <= len(lines) else ''

    def _missing_modules(self) -> list[tuple[int, str]]:
        return [
            (node.lineno, missing_module_text(module))
            for node in self._nodes
            if isinstance(node, (ast.Import, ast.ImportFrom)) and node.lineno not in self._guarded_lines
            for module in _imported(node)
            if module not in _IMPORTABLE
        ]

    def _shapes_as_values(self) -> list[tuple[int, str]]:
        """Names of TypedDicts, which exist for reading only."""
        taken = {*self._bound, *bound_names(self.before), *self.known}
        taken |= {node.arg for node in self._nodes if isinstance(node, ast.arg)}
        names = self.catalog.definitions.shown.keys() - taken
        return [
            (node.lineno, undefined_text(node.id, self.catalog))
            for node in self._nodes
            if isinstance(node, ast.Name)
            and node.id in names
            and not self._is_annotation((node.lineno, node.col_offset))
        ]

    def _unawaited_gathers(self) -> list[tuple[int, str]]:
        """Loops over a `gather` which was never awaited, and names that are unpacked from one."""
        names = {name for node in self._nodes for name in _holds_gather(node)}
        awaited = {node.value.id for node in self._nodes if isinstance(node, ast.Await) and _is_name(node.value)}
        return [
            (one.lineno, f'{_gather_text(one)} was not awaited: put `await` before `asyncio.gather`')
            for node in self._nodes
            for one in _taken_apart(node)
            if _is_gather(one) or (_is_name(one) and one.id in names - awaited)
        ]


_IMPORTABLE = frozenset({*MODULES, *HOST_MODULES, '__future__', 'os.path', 'posixpath'})
_USES_OF_A_VALUE = frozenset(
    {'not-subscriptable', 'not-iterable', 'unresolved-attribute', 'unsupported-operator', 'invalid-assignment'}
)
_Judge: TypeAlias = Callable[[SnippetCheck, Finding], 'str | None']
_JUDGES: dict[str, _Judge] = {
    'invalid-syntax': SnippetCheck.judge_syntax,
    'unknown-argument': SnippetCheck.judge_unknown_argument,
    'missing-argument': SnippetCheck.judge_always,
    'too-many-positional-arguments': SnippetCheck.judge_always,
    'unused-awaitable': SnippetCheck.judge_unawaited,
    'missing-typed-dict-key': SnippetCheck.judge_missing_key,
    'unresolved-reference': SnippetCheck.judge_undefined,
    'unresolved-import': SnippetCheck.judge_member,
    'invalid-argument-type': SnippetCheck.judge_argument,
    'invalid-key': SnippetCheck.judge_key,
    'unresolved-attribute': SnippetCheck.judge_attribute,
    'invalid-await': SnippetCheck.judge_await,
}


def undefined_text(name: str, catalog: Catalog) -> str:
    """What to say of a name that nothing defines."""
    if (instead := INSTEAD_OF_BUILTINS.get(name)) is not None:
        return f'the sandbox has no `{name}`; use {instead}'
    if name in catalog.definitions.shown:
        return f'`{name}` is only the shape of a dict: write a dict, `{{...}}`'
    near = difflib.get_close_matches(name, catalog.functions, n=3)
    return f'`{name}` is not defined' + (f'. Did you mean {" or ".join(f"`{one}`" for one in near)}?' if near else '')


def missing_module_text(module: str) -> str:
    """What to say of a module that the sandbox lacks."""
    instead = INSTEAD_OF_MODULES.get(module) or INSTEAD_OF_MODULES.get(module.split('.', maxsplit=1)[0])
    use = f'Use {instead}. ' if instead else ''
    return f'there is no module `{module}` in the sandbox. {use}It has: {", ".join(MODULES)}'


def bound_names(code: str) -> frozenset[str]:
    """Every name that the code binds anywhere."""
    tree = parse(code)
    if tree is None:
        return frozenset()
    return frozenset(name for node in ast.walk(tree) for name in _binds(node))


def _binds(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split('.')[0] for alias in node.names]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    return []


def _stored_keys(tree: ast.Module | None) -> list[str]:
    """Keys that the code itself puts into some dict."""
    keys: list[str] = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys.extend(_text_of(node.slice))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _DICT_UPDATES:
            keys.extend(keyword.arg for keyword in node.keywords if keyword.arg)
            keys.extend(text for argument in node.args for text in _keys_of(argument))
    return keys


def _keys_of(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Dict):
        return [text for key in node.keys if key is not None for text in _text_of(key)]
    return _text_of(node)


def _text_of(node: ast.expr) -> list[str]:
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def _annotations_of(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [node.returns] if node.returns is not None else []
    annotation = node.annotation if isinstance(node, (ast.arg, ast.AnnAssign)) else None
    return [annotation] if annotation is not None else []


def _holds_gather(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Assign) and _is_gather(node.value):
        return [target.id for target in node.targets if _is_name(target)]
    return []


def _is_gather(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ('asyncio.gather', 'aio.gather')


def _gather_text(node: ast.expr) -> str:
    return f'`{node.id}` is a `gather` that' if _is_name(node) else 'the `gather`'


def _taken_apart(node: ast.AST) -> list[ast.expr]:
    """What is looped over, or unpacked into several names."""
    if isinstance(node, (ast.For, ast.comprehension)):
        return [node.iter]
    if isinstance(node, ast.Assign) and any(isinstance(one, (ast.Tuple, ast.List)) for one in node.targets):
        return [node.value]
    return []


def _is_name(node: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True
