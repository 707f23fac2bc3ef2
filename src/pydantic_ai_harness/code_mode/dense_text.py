"""Many functions in full, with nothing said twice.

What is left out, against one declaration after the other: arguments that functions share are declared once, on top; a
description that only repeats the names is dropped; `Any` as a result, the `*` in front of the arguments, and `None`
beside a default of `None` go without saying. Indents and gaps are as narrow as Python allows, since each further space
is a token.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from .function import Function, Parameter
from .python_text import as_docstring, cut
from .token_estimate import estimate_tokens
from .type_definitions import TypeDefinitions
from .type_text import ANY

_INDENT = ' '
_NAME_PART = re.compile(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+')
_WORD_OR_SYMBOL = re.compile(r'\w+|[^\w\s]')
_ARTICLES = frozenset({'a', 'an', 'the'})


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument as it is written down: the same for all that are declared and described alike."""

    name: str
    declaration: str
    """What stands after the name."""
    comment: str = field(compare=False)
    plain_comment: str
    """Without what may differ: spaces, the case of the first letter, and a full stop at the end."""

    @classmethod
    def of(cls, parameter: Parameter, function: Function) -> _Argument:
        """Without a description that says no more than the names do."""
        default = '' if parameter.required else f'={parameter.default or "None"}'
        comment = '' if _only_names(parameter, function) else cut(parameter.description)
        return cls(parameter.name, f': {parameter.type.shown}{default}', comment, _plain(comment))

    def line(self, name: str) -> str:
        """Its declaration on top."""
        return f'{name}{self.declaration} # {self.comment}' if self.comment else f'{name}{self.declaration}'


_Shared: TypeAlias = Mapping[_Argument, str]
"""The arguments that are declared on top, and their names there."""


def dense_text(functions: Iterable[Function], definitions: TypeDefinitions) -> str:
    """All types and functions, shared arguments first."""
    functions = list(functions)
    shared = _shared_arguments(functions, definitions.shown)
    types = [re.sub(r'(?m)^    ', _INDENT, text) for text in definitions.shown.values()]
    blocks = ['\n'.join(argument.line(name) for argument, name in shared.items())] if shared else []
    return '\n\n'.join([*blocks, *types, *(_function_text(function, shared) for function in functions)])


def _shared_arguments(functions: Sequence[Function], types: Iterable[str]) -> _Shared:
    """What saves tokens when it is declared once; the most used of a name keeps it, others get a number."""
    uses = Counter(_Argument.of(parameter, function) for function in functions for parameter in function.parameters)
    taken = {*types, *(function.name for function in functions), *(argument.name for argument in uses)}
    shared: dict[_Argument, str] = {}
    on_top: set[str] = set()
    for argument, count in itertools.takewhile(lambda item: item[1] > 1, uses.most_common()):
        name = _numbered(argument.name, taken) if argument.name in on_top else argument.name
        mark = '' if name == argument.name else f': {name}'
        saved_each = estimate_tokens(argument.line('')) - estimate_tokens(mark)
        if count * saved_each > estimate_tokens(argument.line(name)):
            on_top.add(name)
            taken.add(name)
            shared[argument] = name
    return shared


def _numbered(name: str, taken: Container[str]) -> str:
    """Closer than `free_name`, for a token less."""
    return next(text for number in itertools.count(2) if (text := f'{name}{number}') not in taken)


def _function_text(function: Function, shared: _Shared) -> str:
    arguments = [_written(parameter, function, shared) for parameter in function.parameters]
    if function.rest:
        arguments.append(_Written(function.rest, '', rank=2))
    returns = '' if function.returns == ANY else f' -> {function.returns.shown}'
    keyword = 'def' if function.kind == 'plain' else 'async def'
    head = f'{keyword} {function.name}({_joined(sorted(arguments, key=lambda one: one.order))}){returns}'
    description = cut(function.description)
    return f'{head}:\n{as_docstring(description, _INDENT)}' if description else f'{head}: ...'


@dataclass(frozen=True, slots=True)
class _Written:
    text: str
    comment: str
    rank: int
    """0 for one that is required, 1 for one that can be left out, 2 for what comes last."""

    @property
    def order(self) -> tuple[int, bool]:
        """As Python demands it, and then without comments first."""
        return self.rank, bool(self.comment)


def _written(parameter: Parameter, function: Function, shared: _Shared) -> _Written:
    rank = 0 if parameter.required else 1
    argument = _Argument.of(parameter, function)
    if (name := shared.get(argument)) is None:
        return _Written(f'{parameter.name}{argument.declaration}', argument.comment, rank)
    text = name if name == parameter.name else f'{parameter.name}: {name}'
    return _Written(text if parameter.required else f'{text}=...', '', rank)


def _joined(arguments: Iterable[_Written]) -> str:
    """What stands between the parentheses: a line for each comment, the others side by side."""
    text = ''
    for has_comment, group in groupby(arguments, key=lambda one: bool(one.comment)):
        if has_comment:
            text += ''.join(f'\n{_INDENT}{one.text}, # {one.comment}' for one in group) + '\n'
        else:
            text += (_INDENT if text else '') + ', '.join(one.text for one in group) + ','
    return text.removesuffix(',')


def _plain(description: str) -> str:
    text = ' '.join(description.split()).removesuffix('.')
    return f'{text[:1].casefold()}{text[1:]}'


def _only_names(parameter: Parameter, function: Function) -> bool:
    """Whether a description has the words of the argument's name alone, maybe after some of the function's.

    `The ID of the gist` is that of `gist_id`, and of `id` in `get_gist`.
    """
    words = [
        word for word in _WORD_OR_SYMBOL.findall(_plain(parameter.description).casefold()) if word not in _ARTICLES
    ]
    said = f' {" ".join(reversed(" ".join(words).split(" of ")))} '
    name = f' {_name_words(parameter.name)} '
    return said.endswith(name) and f'{said.removesuffix(name)} ' in f' {_name_words(function.name)} '


def _name_words(name: str) -> str:
    return ' '.join(_NAME_PART.findall(name)).lower()
