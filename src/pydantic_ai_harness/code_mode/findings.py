"""Which findings of the type checker stop a snippet: those where the code is certainly wrong."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from pydantic_ai_harness.sandbox import Finding

from .catalog import Catalog
from .code_facts import DICT_UPDATES, CodeFacts, Place, added_items, is_called_name, is_name
from .failures import at_line
from .prompt import HOST_MODULES, MODULES
from .sandbox_gaps import gaps
from .sandbox_names import BUILTINS, INSTEAD_OF_BUILTINS, INSTEAD_OF_MODULES
from .type_names import certainly_unlike, is_no_literal_of, is_plain_data
from .unawaited import UnawaitedCalls

_NOT_DEFINED = re.compile(r'Name `(\w+)` used when not defined')
_ARGUMENT = re.compile(r'Argument to (?:function|bound method) `(\w+)` is incorrect: Expected `(.+)`, found `(.+)`')
_UNKNOWN_KEY = re.compile(
    r'Unknown key "(.*)" for TypedDict `\w+`(?: \(subscripted object has type `(.+)`\))?(?: - did you mean .*)?'
)
_NO_ATTRIBUTE = re.compile(r'Object of type `(.+)` has no attribute `(\w+)`')
_VALUE_OF_KEY = re.compile(
    r'Invalid argument to key ".*" with declared type `(.+)` on TypedDict `\w+`: value of type `(.+)`'
)
_NO_MEMBER = re.compile(r'Module `(\S+)` has no member `(\w+)`')
_UNAWAITED = re.compile(r'`(?:CoroutineType|_Future)\[')
_NOT_AWAITABLE = re.compile(r'`(.+)` is not awaitable')
# The checker sees the code indented, lines inside strings too.
_INDENTED_LINE = '\\n    '
_NO_ATTRIBUTE_IN_UNION = re.compile(r'Attribute `(\w+)` is not defined on `(.+?)`(?:, `None`)? in union `(.+)`')
# The checker goes on after a subscript of `None` with a type that it does not know.
_SUBSCRIPT_OF_NONE = 'Cannot subscript object of type `None`'
_UNKNOWN_PART = re.compile(r' \| \(?Unknown(?: & ~\w+\))?(?=`| \|)')
_OF_FUNCTION = re.compile(r'(?:function|method|class|constructor of) `(\w+)`')
_NOT_CALLABLE = re.compile(r'Object of type `(.+)` is not callable')


@dataclass
class SnippetCheck:
    """Judges the findings of one snippet."""

    code: str
    before: str
    """Earlier code that was checked with it."""
    catalog: Catalog
    known: Collection[str] = ()
    """Names that exist in the session and whose types are not known."""
    stored: Collection[str] = ()
    """Keys that code which is not in `before` has put into dicts."""

    def problems(self, findings: Iterable[Finding]) -> list[str]:
        """What is certainly wrong, one text each with its line; empty when the snippet may run."""
        unawaited = UnawaitedCalls(self.facts, self._async_names).problems()
        texts = dict.fromkeys([*self._missing_modules(), *self._shapes_as_values(), *gaps(self.facts), *unawaited])
        last = self.code.rstrip().count('\n') + 1
        findings = [replace(one, message=one.message.replace(_INDENTED_LINE, '\\n')) for one in findings]
        of_none = {one.line for one in findings if _SUBSCRIPT_OF_NONE in one.message}
        for finding in [_without_unknowns(one) if one.line in of_none else one for one in findings]:
            if 0 < finding.line <= last and (text := self._judge(finding)) is not None:
                texts[finding.line, text] = None
        syntax = [finding.line for finding in findings if finding.rule == 'invalid-syntax']
        if syntax and min(syntax) > last:
            texts[self._syntax_problem(last)] = None
        return [f'line {line}: {text}{at_line(line, self.code)}' for line, text in sorted(texts)]

    def _judge(self, finding: Finding) -> str | None:
        if finding.rule in _USES_OF_A_VALUE and _UNAWAITED.search(finding.message) and not self._replaces_calls:
            return f'the result of a call is used without `await` ({finding.message})'
        judge = _JUDGES.get(finding.rule)
        return judge(self, finding) if judge is not None else None

    def _syntax_problem(self, last: int) -> tuple[int, str]:
        """What is wrong when the checker stumbles only behind the code."""
        first = self.code.count('\n', 0, len(self.code) - len(self.code.lstrip())) + 1
        if self.code.split('\n')[first - 1][:1].isspace():
            return first, 'unexpected indentation: the first line has to start without spaces'
        return last, 'the code ends too early: a block or a bracket is not complete'

    # -- one rule each -------------------------------------------------------------------------------------------

    def judge_arguments(self, finding: Finding) -> str | None:
        """Missing, unknown or too many arguments; not judged where the code defines the function in several ways."""
        match = _OF_FUNCTION.search(finding.message)
        is_ambiguous = match is not None and self._definitions[match[1]] > 1
        return None if is_ambiguous or 'to TypedDict' in finding.message else finding.message

    def judge_unknown_argument(self, finding: Finding) -> str | None:
        """A keyword that a function does not have; `update` of a result takes any."""
        place = self._place(finding)
        calls = [node for node in self.facts.around(place) if isinstance(node, ast.Call)]
        updates = [one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr in DICT_UPDATES]
        stored = {(keyword.lineno, keyword.col_offset) for node in updates for keyword in node.keywords}
        return None if place in stored else self.judge_arguments(finding)

    def judge_syntax(self, finding: Finding) -> str | None:
        """What cannot be parsed; the sandbox itself allows `return` at the top."""
        return None if '`return` statement outside' in finding.message else finding.message

    def judge_unawaited(self, finding: Finding) -> str | None:
        """A call of a tool as a statement."""
        calls = [node for node in self.facts.starting_at(self._place(finding)) if isinstance(node, ast.Call)]
        names = [node.func.id for node in calls if is_name(node.func)]
        if calls and not names:
            is_gather = any(ast.unparse(node.func).endswith('gather') for node in calls)
            return 'the `gather` has no effect without `await`' if is_gather else None
        return 'the call has no effect without `await`'

    def judge_undefined(self, finding: Finding) -> str | None:
        """A name that nothing binds."""
        match = _NOT_DEFINED.search(finding.message)
        if match is None or match[1] in BUILTINS or match[1] in self.facts.bound or match[1] in self.known:
            return None
        if self.facts.is_annotation(self._place(finding)):
            return None
        is_known = (
            bool(bool(self.catalog.lookup.spelt_like(match[1])))
            or match[1] in INSTEAD_OF_BUILTINS
            or match[1] in MODULES
        )
        if self.facts.is_in_function(self._place(finding)) and not is_known:
            return None  # later code may define it before the function is called
        return undefined_text(match[1], self.catalog)

    def judge_member(self, finding: Finding) -> str | None:
        """A name that a module does not have."""
        match = _NO_MEMBER.search(finding.message)
        is_caught = finding.line in self.facts.lines_that_catch_import_errors
        return finding.message if match is not None and not is_caught else None

    def judge_call(self, finding: Finding) -> str | None:
        """A call of data, as after a function's name was given to its result."""
        match = _NOT_CALLABLE.search(finding.message)
        is_named = any(map(is_called_name, self.facts.starting_at(self._place(finding))))
        is_data = match is not None and is_plain_data(match[1], self._typed_dicts)
        return finding.message if is_named and is_data else None

    def judge_argument(self, finding: Finding) -> str | None:
        """An argument of a tool whose type cannot fit."""
        if match := _VALUE_OF_KEY.search(finding.message):
            literals = self.facts.literals_at(self._place(finding))
            unlike = certainly_unlike(match[1], match[2], self._typed_dicts, every_part=bool(literals))
            unlike = unlike or any(is_no_literal_of(one, match[1]) for one in literals)
            return finding.message if unlike and self._call_around(finding) else None
        match = _ARGUMENT.search(finding.message)
        if match is None or self._source_at(finding).startswith('**'):
            return None
        if match[3].startswith('CoroutineType['):
            return None if self._replaces_calls else f'an argument of `{match[1]}` is a call without `await`'
        if match[1] not in self.catalog.functions:
            return None
        literals = self.facts.literals_at(self._place(finding))
        unlike = certainly_unlike(match[2], match[3], self._typed_dicts, every_part=bool(literals))
        return finding.message if unlike or any(is_no_literal_of(one, match[2]) for one in literals) else None

    def judge_key(self, finding: Finding) -> str | None:
        """A key that a result does not have, unless the code itself adds it; or one in a dict passed to a tool."""
        match = _UNKNOWN_KEY.fullmatch(finding.message)
        if match is None or match[1] in self._stored_keys or not self._is_one_shape(match[2]) or self._mixes_calls:
            return None
        read = self.facts.read_keys.get(self._place(finding))
        if read is not None:
            is_extended = is_name(read.value) and read.value.id in self.facts.dicts_with_computed_keys
            return None if is_extended else finding.message
        return finding.message if self._call_around(finding) else None

    def judge_missing_key(self, finding: Finding) -> str | None:
        """A key that is missing in a dict passed to a tool, unless it may come from elsewhere."""
        around = list(self.facts.around(self._place(finding)))
        may_be_spread = any(isinstance(node, ast.Dict) and None in node.keys for node in around)
        is_merged = any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) for node in around)
        return finding.message if self._call_around(finding) and not may_be_spread and not is_merged else None

    def judge_attribute(self, finding: Finding) -> str | None:
        """An attribute that data never has; not judged where the code puts other values into results."""
        if _NO_MEMBER.search(finding.message):
            return self.judge_member(finding)
        match = _NO_ATTRIBUTE.search(_without_union(finding.message))
        is_result = match is not None and match[1] in self._typed_dicts
        if match is None or not is_plain_data(match[1], self._typed_dicts):
            return None
        if self._stored_keys or self.facts.dicts_with_computed_keys or (self._has_hints and not is_result):
            return None
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

    # -- where things are ------------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> CodeFacts:
        """What the code says of itself."""
        return CodeFacts(self.code)

    @cached_property
    def _earlier(self) -> CodeFacts:
        return CodeFacts(self.before)

    @cached_property
    def _typed_dicts(self) -> frozenset[str]:
        """Names of shapes, without those that the code gives to something of its own."""
        return frozenset(self.catalog.definitions.checked) - self.facts.bound - self._earlier.bound

    @cached_property
    def _stored_keys(self) -> frozenset[str]:
        return frozenset({*self.facts.stored_keys, *self._earlier.stored_keys, *self.stored})

    @cached_property
    def _async_names(self) -> frozenset[str]:
        names = {name for name, kind in self.catalog.kinds.items() if kind == 'async'}
        return frozenset(names - self._earlier.bound - set(self.known))

    @cached_property
    def _definitions(self) -> Counter[str]:
        """How often each function and class is defined."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return Counter(node.name for node in [*self.facts.nodes, *self._earlier.nodes] if isinstance(node, kinds))

    @cached_property
    def _replaces_calls(self) -> bool:
        """Whether results take the place of calls in a list or dict, which the checker does not follow."""
        return any(
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Await)
            and isinstance(node.targets[0], ast.Subscript)
            for node in self.facts.nodes
        )

    @cached_property
    def _mixes_calls(self) -> bool:
        """Whether calls of several kinds are put into one list before they are awaited."""
        added = [one for node in self.facts.nodes for one in added_items(node)]
        return any(
            isinstance(one, ast.Call) and is_name(one.func) and one.func.id in self._async_names for one in added
        )

    @cached_property
    def _has_hints(self) -> bool:
        """Whether the code declares types of its own, which need not be true."""
        return any(
            isinstance(node, (ast.AnnAssign, ast.ClassDef)) for node in [*self.facts.nodes, *self._earlier.nodes]
        ) or any(
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None
            for node in [*self.facts.nodes, *self._earlier.nodes]
        )

    def _is_one_shape(self, subscripted: str | None) -> bool:
        """Whether a type has one alternative beside `None`; of several, another may have the key."""
        return subscripted is None or len([one for one in subscripted.split(' | ') if one != 'None']) == 1

    def _call_around(self, finding: Finding) -> bool:
        """Whether the place lies in a call of one of the catalog's functions."""
        return any(
            isinstance(node, ast.Call) and is_name(node.func) and node.func.id in self.catalog.functions
            for node in self.facts.around(self._place(finding))
        )

    def _source_at(self, finding: Finding) -> str:
        return self._line_of(finding)[finding.column - 1 :]

    def _place(self, finding: Finding) -> Place:
        return finding.line, len(self._line_of(finding)[: finding.column - 1].encode())

    def _line_of(self, finding: Finding) -> str:
        lines = self.code.split('\n')
        return lines[finding.line - 1] if finding.line <= len(lines) else ''

    def _missing_modules(self) -> list[tuple[int, str]]:
        return [
            (line, missing_module_text(module))
            for line, module in self.facts.imports()
            if module not in _IMPORTABLE and line not in self.facts.lines_that_catch_import_errors
        ]

    def _shapes_as_values(self) -> list[tuple[int, str]]:
        """Names of TypedDicts, which exist for reading only."""
        parameters = {node.arg for node in self.facts.nodes if isinstance(node, ast.arg)}
        names = self._typed_dicts - set(self.known) - parameters
        return [
            (node.lineno, undefined_text(node.id, self.catalog))
            for node in self.facts.nodes
            if isinstance(node, ast.Name)
            and node.id in names
            and not self.facts.is_annotation((node.lineno, node.col_offset))
        ]


_IMPORTABLE = frozenset({*MODULES, *HOST_MODULES, '__future__', 'os.path', 'posixpath'})
_USES_OF_A_VALUE = frozenset(
    {'not-subscriptable', 'not-iterable', 'unresolved-attribute', 'unsupported-operator', 'invalid-assignment'}
)
_Judge: TypeAlias = Callable[[SnippetCheck, Finding], 'str | None']
_JUDGES: dict[str, _Judge] = {
    'invalid-syntax': SnippetCheck.judge_syntax,
    'unknown-argument': SnippetCheck.judge_unknown_argument,
    'missing-argument': SnippetCheck.judge_arguments,
    'too-many-positional-arguments': SnippetCheck.judge_arguments,
    'unused-awaitable': SnippetCheck.judge_unawaited,
    'missing-typed-dict-key': SnippetCheck.judge_missing_key,
    'unresolved-reference': SnippetCheck.judge_undefined,
    'unresolved-import': SnippetCheck.judge_member,
    'invalid-argument-type': SnippetCheck.judge_argument,
    'invalid-key': SnippetCheck.judge_key,
    'unresolved-attribute': SnippetCheck.judge_attribute,
    'invalid-await': SnippetCheck.judge_await,
    'call-non-callable': SnippetCheck.judge_call,
}


def _without_unknowns(finding: Finding) -> Finding:
    return replace(finding, message=_UNKNOWN_PART.sub('', finding.message))


def _without_union(message: str) -> str:
    """The message on an attribute, as for the one alternative beside `None`; unchanged where there are several."""
    match = _NO_ATTRIBUTE_IN_UNION.search(message)
    if match is None or {*match[3].split(' | ')} - {'None'} != {match[2]}:
        return message
    return f'Object of type `{match[2]}` has no attribute `{match[1]}`'


def undefined_text(name: str, catalog: Catalog) -> str:
    """What to say of a name that nothing defines."""
    if (instead := INSTEAD_OF_BUILTINS.get(name)) is not None:
        return f'the sandbox has no `{name}`; use {instead}'
    if name in catalog.definitions.shown:
        return f'`{name}` is only the shape of a dict: write a dict, `{{...}}`'
    return f'`{name}` is not defined{meant_text(name, catalog)}'


def meant_text(name: str, catalog: Catalog) -> str:
    """Which functions whoever wrote an unknown name may have meant; empty if there is none like it."""
    near = catalog.lookup.nearest(name)
    return f'. Did you mean {" or ".join(f"`{one}`" for one in near)}?' if near else ''


def missing_module_text(module: str) -> str:
    """What to say of a module that the sandbox lacks."""
    instead = INSTEAD_OF_MODULES.get(module) or INSTEAD_OF_MODULES.get(module.split('.', maxsplit=1)[0])
    use = f'Use {instead}. ' if instead else ''
    return f'there is no module `{module}` in the sandbox. {use}It has: {", ".join(MODULES)}'
