"""The TypedDicts of a catalog: each shape once, under a name of its own."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .python_text import MAX_DESCRIPTION, cut, is_name
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


@dataclass(frozen=True, slots=True)
class Definition:
    """A TypedDict in the forms in which it is written down."""

    shown: str
    whole: str
    checked: str

    @classmethod
    def of(
        cls, name: str, members: Sequence[Member], lead: str, *, is_open: bool, must_quote: Callable[[str], bool]
    ) -> Definition:
        """The definition with these fields; `must_quote` tells of types that are not defined yet."""
        note = ['# Other keys are allowed.'] if is_open else []

        def text(fit: Callable[[str], str]) -> str:
            fields = [(one, one.type.shown, fit(one.description)) for one in members]
            return _class_text(name, fields, fit(lead), note, must_quote)

        whole = text(str)
        checked = [(one, one.type.checked, '') for one in members]
        return cls(
            shown=whole if len(whole) <= MAX_DESCRIPTION else text(cut),
            whole=whole,
            checked=_class_text(name, checked, '', [], must_quote),
        )


@dataclass
class TypeDefinitions:
    """The TypedDicts of a catalog, each shape once."""

    reserved: set[str]
    """Names that are taken by functions."""
    shown: dict[str, str] = field(default_factory=dict[str, str])
    """As the model reads them unasked."""
    whole: dict[str, str] = field(default_factory=dict[str, str])
    """The same with long descriptions whole."""
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

    def define(self, name: str, base: str, definition: Definition) -> str:
        """Keep a definition, or find the one like `base` that says the same; return the name to use."""
        key = base, _without(name, definition.whole)
        if key in self._known and not self._is_mentioned(name):
            self._next_number[base] = self._reserved.pop(name).number
            return self._known[key]
        self._known.setdefault(key, name)
        self.shown[name] = definition.shown
        self.whole[name] = definition.whole
        self.checked[name] = definition.checked
        self._texts.append(definition.shown)
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


def _class_text(
    name: str,
    fields: Sequence[tuple[Member, str, str]],
    lead: str,
    note: Sequence[str],
    must_quote: Callable[[str], bool],
) -> str:
    """One TypedDict; `fields` have their types and comments."""
    comments = [f'# {lead}'] if lead else []
    texts = [(one.key, text if one.required else f'NotRequired[{text}]', comment) for one, text, comment in fields]
    if all(is_name(key) and not key.startswith('__') for key, _, _ in texts):
        lines = [*comments, *(_with_comment(f'{key}: {text}', comment) for key, text, comment in texts), *note]
        return '\n'.join([f'class {name}(TypedDict):', *(f'    {line}' for line in lines)])
    entries = [
        _with_comment(f'{key!r}: {text!r},' if must_quote(text) else f'{key!r}: {text},', comment)
        for key, text, comment in texts
    ]
    inside = [f'    {line}' for line in [*entries, *note]]
    return '\n'.join([*comments, f'{name} = TypedDict({name!r}, {{', *inside, '})'])


def _with_comment(code: str, comment: str) -> str:
    return f'{code}  # {comment}' if comment else code
