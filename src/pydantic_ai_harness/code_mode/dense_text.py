"""Many functions in full, with nothing said twice.

What is left out, against one declaration after the other: arguments that functions share are declared once, on top; a
description that tells no more than the names do is dropped, and so is one that says what the declaration on top says
in other words; `Any` as a result, the `*` in front of the arguments, and `None` beside a default of `None` go without
saying. Indents and gaps are as narrow as Python allows, since each further space is a token.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from .function import Function, Parameter, cut
from .python_text import as_docstring
from .token_estimate import estimate_tokens
from .type_definitions import TypeDefinitions
from .type_text import ANY

_INDENT = ' '
_WORD = re.compile(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+')
_ASIDE = re.compile(r'\(([^()]*)\)')
_FILLERS = 'a an the of to for this that is are be in on at by from with and as it its'
_SAYS_NOTHING = frozenset(_FILLERS.split())


@dataclass(frozen=True, slots=True)
class _Shared:
    """An argument that stands on top for all functions that have it."""

    declaration: str
    description: str

    @property
    def line(self) -> str:
        return f'{self.declaration} # {self.description}' if self.description else self.declaration

    def covers(self, parameter: Parameter) -> bool:
        """Whether it says all that there is to say of an argument of its name."""
        return _declaration(parameter) == self.declaration and _says_the_same(self.description, parameter.description)


def dense_text(functions: Iterable[Function], definitions: TypeDefinitions) -> str:
    """All types and functions, shared arguments first."""
    functions = list(functions)
    shared = _shared_arguments(functions)
    types = [re.sub(r'(?m)^    ', _INDENT, text) for text in definitions.shown.values()]
    blocks = ['\n'.join(argument.line for argument in shared.values())] if shared else []
    return '\n\n'.join([*blocks, *types, *(_function_text(function, shared) for function in functions)])


def _shared_arguments(functions: Iterable[Function]) -> Mapping[str, _Shared]:
    """By name, the argument that saves most when it is declared once."""
    used: dict[tuple[str, str], Counter[str]] = {}
    for function in functions:
        for parameter in function.parameters:
            used.setdefault((parameter.name, _declaration(parameter)), Counter())[parameter.description] += 1
    best: dict[str, tuple[int, _Shared]] = {}
    for (name, declaration), descriptions in used.items():
        for description in descriptions:
            argument = _Shared(declaration, description)
            uses = sum(count for other, count in descriptions.items() if _says_the_same(description, other))
            saved = (uses - 1) * estimate_tokens(argument.line) if uses > 1 else 0
            if saved > best.get(name, (0,))[0]:
                best[name] = saved, argument
    return {name: argument for name, (_, argument) in best.items()}


def _function_text(function: Function, shared: Mapping[str, _Shared]) -> str:
    arguments = [_argument(parameter, function, shared) for parameter in function.parameters]
    if function.rest:
        arguments.append(_Argument(function.rest, '', rank=2))
    returns = '' if function.returns == ANY else f' -> {function.returns.shown}'
    keyword = 'def' if function.kind == 'plain' else 'async def'
    head = f'{keyword} {function.name}({_joined(sorted(arguments, key=lambda one: one.order))}){returns}'
    description = cut(function.description)
    return f'{head}:\n{as_docstring(description, _INDENT)}' if description else f'{head}: ...'


@dataclass(frozen=True, slots=True)
class _Argument:
    text: str
    comment: str
    rank: int
    """0 for one that is required, 1 for one that can be left out, 2 for what comes last."""

    @property
    def order(self) -> tuple[int, bool]:
        """As Python demands it, and then without comments first."""
        return self.rank, bool(self.comment)


def _argument(parameter: Parameter, function: Function, shared: Mapping[str, _Shared]) -> _Argument:
    rank = 0 if parameter.required else 1
    if parameter.name in shared and shared[parameter.name].covers(parameter):
        return _Argument(parameter.name if parameter.required else f'{parameter.name}=...', '', rank)
    says_more = _words(parameter.description) - _words(f'{parameter.name} {function.name}')
    return _Argument(_declaration(parameter), cut(parameter.description) if says_more else '', rank)


def _joined(arguments: Iterable[_Argument]) -> str:
    """What stands between the parentheses: a line for each comment, the others side by side."""
    text = ''
    for has_comment, group in groupby(arguments, key=lambda one: bool(one.comment)):
        if has_comment:
            text += ''.join(f'\n{_INDENT}{one.text}, # {one.comment}' for one in group) + '\n'
        else:
            text += (_INDENT if text else '') + ', '.join(one.text for one in group) + ','
    return text.removesuffix(',')


def _declaration(parameter: Parameter) -> str:
    text = f'{parameter.name}: {parameter.type.shown}'
    return text if parameter.required else f'{text} = {parameter.default or "None"}'


def _says_the_same(one: str, other: str) -> bool:
    """Whether two descriptions have the same words in any order, and the other no aside that this one lacks."""
    if one == other:
        return True
    has_no_more = set(_ASIDE.findall(other.lower())) <= set(_ASIDE.findall(one.lower()))
    return has_no_more and _words(_ASIDE.sub('', one)) == _words(_ASIDE.sub('', other))


def _words(text: str) -> set[str]:
    return {word.lower().rstrip('s') for word in _WORD.findall(text)} - _SAYS_NOTHING
