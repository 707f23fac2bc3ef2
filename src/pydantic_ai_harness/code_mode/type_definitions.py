"""The TypedDicts of a catalog: each shape once, under a name of its own."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .python_text import is_name
from .type_text import TypeText

TYPING_NAMES = frozenset({'Any', 'Literal', 'NotRequired', 'TypedDict'})
"""What declarations use of `typing`."""
_WORD = re.compile(r'\w+')
_TAKEN = frozenset({*dir(builtins), *keyword.kwlist, *TYPING_NAMES})


@dataclass(frozen=True, slots=True)
class Member:
    """A property of an object schema: a key of a TypedDict, or an argument of a function."""

    key: str
    type: TypeText
    required: bool
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Reserved:
    number: int
    """Behind the name."""
    after: int
    """How many definitions there were by then."""


@dataclass
class TypeDefinitions:
    """The TypedDicts of a catalog, each shape once."""

    reserved: set[str]
    """Names that are taken by functions."""
    shown: dict[str, str] = field(default_factory=dict[str, str])
    checked: dict[str, str] = field(default_factory=dict[str, str])
    _reserved: dict[str, _Reserved] = field(default_factory=dict[str, '_Reserved'])
    """Names that are taken by types."""
    _next_number: dict[str, int] = field(default_factory=dict[str, int])
    """By base, from where on a name may be free."""
    _known: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Names by base and definition, without the name itself."""
    _texts: list[str] = field(default_factory=list[str])
    """What is in `shown`, by number."""

    def reserve(self, base: str) -> str:
        """Take a free name like `base`."""
        number = self._next_number.get(base, 1)
        while self._is_taken(name := base if number == 1 else f'{base}_{number}'):
            number += 1
        self._next_number[base] = number + 1
        self._reserved[name] = _Reserved(number, len(self._texts))
        return name

    def define(self, name: str, base: str, shown: str, checked: str) -> str:
        """Keep a definition, or find the one like `base` that says the same; return the name to use."""
        key = base, _without(name, shown)
        if key in self._known and not self._is_mentioned(name):
            self._next_number[base] = self._reserved.pop(name).number
            return self._known[key]
        self._known.setdefault(key, name)
        self.shown[name] = shown
        self.checked[name] = checked
        self._texts.append(shown)
        return name

    def is_undefined_in(self, text: str) -> bool:
        """Whether a type mentions a name that is reserved and not yet defined."""
        return any(name in self._reserved and name not in self.shown for name in _WORD.findall(text))

    def _is_taken(self, name: str) -> bool:
        return name in self._reserved or name in self.reserved or name in _TAKEN

    def _is_mentioned(self, name: str) -> bool:
        """Whether definitions inside this one keep its name, as those of recursive types do."""
        return any(name in text and name in _WORD.findall(text) for text in self._texts[self._reserved[name].after :])


def _without(name: str, text: str) -> str:
    return _WORD.sub(lambda match: '' if match[0] == name else match[0], text)


def class_text(
    name: str, members: list[tuple[Member, str]], lead: str, *, is_open: bool, must_quote: Callable[[str], bool]
) -> str:
    """The definition of one TypedDict; `must_quote` tells of types that are not defined yet."""
    comments = [f'# {lead}'] if lead else []
    note = '# Other keys are allowed.'
    texts = [(member, text if member.required else f'NotRequired[{text}]') for member, text in members]
    if all(is_name(member.key) and not member.key.startswith('__') for member, _ in members):
        fields = [_field_line(f'{member.key}: {text}', member) for member, text in texts]
        lines = [f'class {name}(TypedDict):', *(f'    {line}' for line in [*comments, *fields])]
        return '\n'.join([*lines, f'    {note}'] if is_open else lines)
    fields = [
        _field_line(f'{member.key!r}: {text!r},' if must_quote(text) else f'{member.key!r}: {text},', member)
        for member, text in texts
    ]
    lines = [*comments, f'{name} = TypedDict({name!r}, {{', *(f'    {line}' for line in fields)]
    return '\n'.join([*lines, f'    {note}', '})'] if is_open else [*lines, '})'])


def _field_line(code: str, member: Member) -> str:
    return f'{code}  # {member.description}' if member.description else code
