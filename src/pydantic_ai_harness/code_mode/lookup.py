"""`help` and `find_functions`: what code can ask about functions that it has not seen."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property

from pydantic_ai_harness.narrowing import is_sequence

from .function import Function
from .function_index import FunctionIndex
from .python_text import free_name
from .type_definitions import TypeDefinitions

HELP = 'help'
FIND = 'find_functions'
_MAX_FOUND = 50
_MAX_NAMED = 5
_MAX_NEAREST = 3


class Lookup:
    """Answers questions about the functions of one catalog, at once and on the host."""

    def __init__(self, functions: Mapping[str, Function], definitions: TypeDefinitions, taken: Container[str]) -> None:
        self._functions = functions
        self._definitions = definitions
        self.help_name = free_name(HELP, taken)
        """What `help` is called in code: a tool of the user's may have its name."""
        self.find_name = free_name(FIND, taken)
        """What `find_functions` is called in code."""

    @property
    def functions(self) -> dict[str, Callable[..., object]]:
        """By the names that code calls them."""
        return {self.help_name: self.help, self.find_name: self.find}

    @property
    def stubs(self) -> list[str]:
        """Their declarations, for the type check."""
        return [
            f'def {self.help_name}(*functions: Any) -> str: ...',
            f'def {self.find_name}(query: str, limit: int = 10, group: str | None = None) -> list[dict[str, Any]]: ...',
        ]

    def help(self, *functions: object) -> str:
        """Signatures, types and docstrings of functions, given by name or themselves; without any, of this lookup.

        Raises:
            NameError: There is no function of that name.
            TypeError: What was given is no name.
        """
        names: list[object] = []
        for given in functions:
            names += given if is_sequence(given) else [given]
        if not names:
            count = len(self._functions)
            return f'{self.help_name}(name, ...) shows functions, {self.find_name}(query) finds some of {count}.'
        declarations = [self._function(name).declaration for name in names]
        return _with_types(declarations, self._definitions.whole)

    def declared(self, *names: str) -> str:
        """What an error tells of functions that the model may not have read: as `help`, without very long texts."""
        return _with_types([self._functions[name].short_declaration for name in names], self._definitions.shown)

    def find(self, query: object, limit: object = 10, group: object = None) -> list[dict[str, object]]:
        """The functions that fit a query best, by the words of name, description and parameters.

        Raises:
            TypeError: An argument is of another type.
            ValueError: There is no such group; the text names those that there are.
        """
        if not isinstance(query, str) or isinstance(limit, bool) or not isinstance(limit, int):
            raise TypeError(f'{self.find_name}() takes a text and a whole number')
        groups = sorted({function.group for function in self._functions.values() if function.group})
        if group is not None and group not in groups:
            near = difflib.get_close_matches(str(group), groups, n=3)
            raise ValueError(f'there is no group {group!r}. Groups: {", ".join(near or groups) or "none"}')
        found = self._index.search(query, min(max(limit, 1), _MAX_FOUND), None if group is None else str(group))
        return [self._entry(function) for function in found]

    def named_in(self, texts: Sequence[str]) -> str:
        """The functions whose names stand in texts, as `declared`; empty if none does."""
        words = set(re.findall(r'\w+', '\n'.join(texts)))
        names = [name for name in self._functions if name in words][:_MAX_NAMED]
        return self.declared(*names)

    def spelt_like(self, name: str) -> list[str]:
        """Up to three names of functions that are all but the same."""
        return difflib.get_close_matches(name, self._functions, n=_MAX_NEAREST)

    def nearest(self, name: str) -> list[str]:
        """Up to three names of functions: those spelt alike, then those of the same words."""
        alike = self.spelt_like(name)
        found = self._index.search(name, _MAX_NEAREST, None) if '_' in name.strip('_') else []
        return list(dict.fromkeys([*alike, *(function.name for function in found)]))[:_MAX_NEAREST]

    def _entry(self, function: Function) -> dict[str, object]:
        entry: dict[str, object] = {'name': function.name, 'signature': function.brief, 'summary': function.summary}
        return {**entry, 'group': function.group} if function.group else entry

    def _function(self, name: object) -> Function:
        if not isinstance(name, str):
            raise TypeError(f'{self.help_name}() takes functions or their names, not {type(name).__name__}')
        if name not in self._functions:
            near = self.nearest(name)
            hint = f'Did you mean {" or ".join(near)}?' if near else f'{self.find_name}(query) finds functions.'
            raise NameError(f'there is no function {name!r}. {hint}')
        return self._functions[name]

    @cached_property
    def _index(self) -> FunctionIndex:
        return FunctionIndex(list(self._functions.values()))


def _with_types(declarations: Sequence[str], types: Mapping[str, str]) -> str:
    """Declarations after the types that they name and those that these name, in the order of their definition."""
    needed: set[str] = set()
    pending = list(declarations)
    while pending:
        new = set(re.findall(r'\w+', pending.pop())) & types.keys() - needed
        needed |= new
        pending.extend(types[name] for name in new)
    return '\n\n'.join([*(definition for name, definition in types.items() if name in needed), *declarations])
