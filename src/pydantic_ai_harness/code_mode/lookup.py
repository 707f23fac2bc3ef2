"""`help` and `find_functions`: what code can ask about functions that it has not seen."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeGuard

from pydantic_ai_harness.narrowing import is_sequence

from .function import Function
from .function_index import FunctionIndex
from .python_text import free_name
from .type_definitions import TypeDefinitions

HELP = 'help'
FIND = 'find_functions'
_MAX_FOUND = 50
_MAX_HELPED = 50
_MAX_ANSWER = 200_000
"""Letters of one answer."""
_MAX_LOOKUPS = 1_000
"""In one run of code."""
_MAX_NAMED = 5
_MAX_NEAREST = 3
_MAX_NAME = 100
"""Letters of a name that are looked at when there is no such function."""

_HELP_DECLARATION = f"""\
def {{name}}(*functions: Any) -> str:
    \"\"\"Signatures, types and docstrings of functions, given by name or themselves, at most {_MAX_HELPED} at once.

    There are {{count}} functions.
    \"\"\""""
_FIND_DECLARATION = f"""\
def {{name}}(query: str, limit: int = 10, group: str | None = None, skip: int = 0) -> list[dict[str, Any]]:
    \"\"\"Functions that fit words, the best first: dicts with name, signature, summary and group.

    Without words, all in the order of their names. At most {_MAX_FOUND} at once; `skip` goes on behind them.
    \"\"\""""


@dataclass(frozen=True, slots=True)
class LookupNames:
    """What `help` and `find_functions` are called in code: a tool of the user's may have one of these names."""

    help: str
    find: str

    @classmethod
    def beside(cls, taken: Container[str]) -> LookupNames:
        """Names that no tool has."""
        return cls(free_name(HELP, taken), free_name(FIND, taken))


@dataclass(frozen=True, slots=True)
class _Helped:
    declaration: str
    types: frozenset[str]
    """Names of the types that it needs."""


class Lookup:
    """Answers questions about the functions of one catalog, at once and on the host."""

    def __init__(self, functions: Mapping[str, Function], definitions: TypeDefinitions, names: LookupNames) -> None:
        self._functions = functions
        self._definitions = definitions
        self._helped: dict[str, _Helped] = {}
        self.names = names

    @property
    def functions(self) -> dict[str, Callable[..., object]]:
        """By the names that code calls them."""
        return {self.names.help: self.help, self.names.find: self.find}

    @property
    def stubs(self) -> list[str]:
        """Their declarations, for the type check."""
        return [f'{declaration.splitlines()[0]} ...' for declaration in self._own.values()]

    def help(self, *functions: object) -> str:
        """Signatures, types and docstrings of functions, given by name or themselves; without any, of this lookup.

        Raises:
            NameError: There is no function of that name.
            TypeError: What was given is no name.
        """
        names = self._names(functions) or list(self._own)
        helped: list[_Helped] = []
        size = 0
        for name in names[:_MAX_HELPED]:
            helped.append(self._help_of(name))
            size += len(helped[-1].declaration)
            if size > _MAX_ANSWER:
                break
        needed = frozenset[str]().union(*(one.types for one in helped))
        types = [definition for name, definition in self._definitions.whole.items() if name in needed]
        text = '\n\n'.join([*types, *(one.declaration for one in helped)])
        if len(text) > _MAX_ANSWER:
            text = f'{text[:_MAX_ANSWER]}… [cut]'
        left_out = len(names) - len(helped)
        return f'{text}\n\n# {left_out} more are left out: ask for fewer at once.' if left_out else text

    def find(
        self, query: object, limit: object = 10, group: object = None, skip: object = 0
    ) -> list[dict[str, object]]:
        """The functions that fit a query best, by the words of name, description and parameters.

        Without words, all in the order of their names.

        Raises:
            TypeError: An argument is of another type.
            ValueError: There is no such group; the text names those that there are.
        """
        if not isinstance(query, str) or not _is_number(limit) or not _is_number(skip):
            raise TypeError(f'{self.names.find}() takes a text and whole numbers')
        if group is not None:
            self._check_group(str(group))
        found = self._index.search(query) if query.strip() else sorted(self._functions.values(), key=lambda f: f.name)
        fitting = [one for one in found if group in (None, one.group, one.origin)]
        first = max(skip, 0)
        return [self._entry(one) for one in fitting[first : first + min(max(limit, 1), _MAX_FOUND)]]

    def declared(self, *names: str) -> str:
        """What an error tells of functions that the model may not have read: as `help`, without very long texts."""
        declarations = [self._functions[name].short_declaration for name in names]
        types = self._definitions.shown
        needed = _needed('\n'.join(declarations), types)
        return '\n\n'.join([*(definition for name, definition in types.items() if name in needed), *declarations])

    def named_in(self, texts: Sequence[str]) -> str:
        """The functions whose names stand in texts, as `declared`; empty if none does."""
        words = set(re.findall(r'\w+', '\n'.join(texts)))
        names = [name for name in self._functions if name in words][:_MAX_NAMED]
        return self.declared(*names)

    def spelt_like(self, name: str) -> list[str]:
        """Up to three names of functions that are all but the same."""
        return difflib.get_close_matches(name[:_MAX_NAME], self._functions, n=_MAX_NEAREST)

    def nearest(self, name: str) -> list[str]:
        """Up to three names of functions: those spelt alike, then those of the same words."""
        alike = self.spelt_like(name)
        found = self._index.search(name) if '_' in name.strip('_') else []
        return list(dict.fromkeys([*alike, *(function.name for function in found)]))[:_MAX_NEAREST]

    @cached_property
    def _own(self) -> Mapping[str, str]:
        """The declarations of `help` and `find_functions` themselves."""
        count = len(self._functions)
        texts = {self.names.help: _HELP_DECLARATION, self.names.find: _FIND_DECLARATION}
        return {name: text.format(name=name, count=count) for name, text in texts.items()}

    def _names(self, functions: Iterable[object]) -> list[str]:
        """What was asked for, each once."""
        names: dict[str, None] = {}
        for one in (one for given in functions for one in (given if is_sequence(given) else [given])):
            if not isinstance(one, str):
                raise TypeError(f'{self.names.help}() takes functions or their names, not {type(one).__name__}')
            names[one] = None
        return list(names)

    def _help_of(self, name: str) -> _Helped:
        if name not in self._helped:
            declaration = self._own.get(name) or self._function(name).declaration
            needed = _needed(declaration, self._definitions.whole)
            self._helped[name] = _Helped(declaration[: _MAX_ANSWER + 1], needed)
        return self._helped[name]

    def _check_group(self, group: str) -> None:
        if group not in self._groups:
            groups = sorted({one.group for one in self._functions.values() if one.group})
            near = difflib.get_close_matches(group[:_MAX_NAME], groups, n=_MAX_NEAREST)
            raise ValueError(f'there is no group {group[:_MAX_NAME]!r}. Groups: {", ".join(near or groups) or "none"}')

    @cached_property
    def _groups(self) -> frozenset[str]:
        """What a group may be called: as the model reads it, or by the id itself."""
        return frozenset(
            name for function in self._functions.values() for name in (function.group, function.origin) if name
        )

    def _entry(self, function: Function) -> dict[str, object]:
        signature = function.brief if function.kind == 'async' else f'{function.brief}  # without await'
        entry: dict[str, object] = {'name': function.name, 'signature': signature, 'summary': function.summary}
        return {**entry, 'group': function.group} if function.group else entry

    def _function(self, name: str) -> Function:
        if name not in self._functions:
            near = self.nearest(name)
            hint = f'Did you mean {" or ".join(near)}?' if near else f'{self.names.find}(query) finds functions.'
            raise NameError(f'there is no function {name[:_MAX_NAME]!r}. {hint}')
        return self._functions[name]

    @cached_property
    def _index(self) -> FunctionIndex:
        return FunctionIndex(list(self._functions.values()))


class CountedLookups:
    """The lookups of one run of code: they are the host's computing, which no limit of the sandbox ends."""

    def __init__(self, lookup: Lookup) -> None:
        self.functions: Mapping[str, Callable[..., object]] = {
            name: partial(self._count, function) for name, function in lookup.functions.items()
        }
        self._used = 0

    def _count(self, function: Callable[..., object], /, *args: object, **kwargs: object) -> object:
        if self._used >= _MAX_LOOKUPS:
            raise RuntimeError(
                f'{" and ".join(self.functions)} can be called {_MAX_LOOKUPS} times in one run of code, and were. '
                'Keep what they return in a variable.'
            )
        self._used += 1
        return function(*args, **kwargs)


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _needed(text: str, types: Mapping[str, str]) -> frozenset[str]:
    """The types that a text names, and those that they name."""
    needed: set[str] = set()
    pending = [text]
    while pending:
        new = (set(re.findall(r'\w+', pending.pop())) & types.keys()) - needed
        needed |= new
        pending.extend(types[name] for name in new)
    return frozenset(needed)
