"""A tool as sandbox code sees it: its arguments, and the forms in which it is written down."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic_ai.tools import ToolDefinition

from pydantic_ai_harness.sandbox import FunctionKind

from .python_text import as_comment, as_docstring, cut, free_name
from .type_text import ANY, NONE, TypeText, union

_INDENT = '    '
_SENTENCE_END = re.compile(r'(?<=[.!?])\s')
_MAX_SUMMARY = 120
_LOOKED_THROUGH = 1_000
"""Letters in which the first sentence is looked for."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a function."""

    name: str
    """As the code writes it."""
    key: str
    """As the tool calls it."""
    type: TypeText
    required: bool
    default: str | None
    """Source of the default, `...` where it cannot be shown; `None` when there is none."""
    none_means_left_out: bool
    """Whether a `None` is dropped: the argument is optional and the tool does not accept `null` for it."""
    description: str

    def declare(self, *, checked: bool) -> str:
        """The parameter as it stands in a signature."""
        text = self.type
        if self.none_means_left_out and (checked or self.default in (None, 'None')):
            text = union([text, NONE])
        annotation = text.checked if checked else text.shown
        if self.required:
            return f'{self.name}: {annotation}'
        return f'{self.name}: {annotation} = {"..." if checked else self.default or "None"}'


@dataclass(frozen=True, slots=True)
class Function:
    """A tool as sandbox code sees it."""

    name: str
    tool: ToolDefinition
    parameters: tuple[Parameter, ...]
    is_open: bool
    """Whether arguments are allowed that the schema does not name."""
    returns: TypeText
    group: str = ''
    """Where the tool comes from, as it is called in code. Empty if that has no id."""
    origin: str = ''
    """The id of the server or toolset itself."""

    @property
    def kind(self) -> FunctionKind:
        """A tool that has to run alone is called without `await`."""
        return 'plain' if self.tool.sequential else 'async'

    @property
    def rest(self) -> str:
        """`**others` where arguments are allowed that the schema does not name; else empty."""
        return f'**{free_name("others", {parameter.name for parameter in self.parameters})}' if self.is_open else ''

    @property
    def signature(self) -> str:
        """The first line, without its colon."""
        return self._signature(checked=False)

    @property
    def brief(self) -> str:
        """One line: `name(required, optional=..., **others) -> Type`."""
        parameters = [
            parameter.name if parameter.required else f'{parameter.name}=...' for parameter in self.parameters
        ]
        returns = self.returns.shown
        text = f'{self.name}({", ".join([*parameters, *([self.rest] if self.rest else [])])})'
        return text if returns in (ANY.shown, NONE.shown) else f'{text} -> {returns}'

    @property
    def summary(self) -> str:
        """The first sentence of the description, on one line, cut to a length; empty if there is none."""
        sentence = _SENTENCE_END.split(as_comment(self.description[:_LOOKED_THROUGH]), maxsplit=1)[0]
        return sentence if len(sentence) <= _MAX_SUMMARY else f'{sentence[:_MAX_SUMMARY].rstrip()}…'

    @property
    def stub(self) -> str:
        """The declaration that snippets are checked against."""
        return f'{self._signature(checked=True)}: ...'

    @property
    def description(self) -> str:
        """What its server or author says of it; empty if nothing."""
        return (self.tool.description or '').strip()

    @property
    def declaration(self) -> str:
        """The signature with its docstring, whole."""
        return self._declaration(lambda text: text)

    @property
    def short_declaration(self) -> str:
        """The signature with its docstring, and no description so long that it crowds out others."""
        return self._declaration(cut)

    def _declaration(self, fit: Callable[[str], str]) -> str:
        arguments = [f'{_INDENT}{one.name}: {fit(one.description)}' for one in self.parameters if one.description]
        parts = [fit(self.description), '\n'.join(['Args:', *arguments]) if arguments else '']
        text = '\n\n'.join(part for part in parts if part)
        return f'{self.signature}:\n{as_docstring(text, _INDENT)}' if text else f'{self.signature}: ...'

    def arguments(self, kwargs: Mapping[str, object]) -> dict[str, object]:
        """The tool's arguments for a call with these keyword arguments.

        Raises:
            TypeError: An argument that the function does not have.
        """
        by_name = {parameter.name: parameter for parameter in self.parameters}
        arguments: dict[str, object] = {}
        for name, value in kwargs.items():
            parameter = by_name.get(name)
            if parameter is None:
                if not self.is_open:
                    raise TypeError(self._unexpected(name))
                arguments[name] = value
            elif value is not None or not parameter.none_means_left_out:
                arguments[parameter.key] = value
        return arguments

    def _unexpected(self, name: str) -> str:
        names = ', '.join(parameter.name for parameter in self.parameters) or 'none'
        return f'{self.name}() got an unexpected keyword argument {name!r}; its arguments are: {names}'

    def _signature(self, *, checked: bool) -> str:
        parameters = [parameter.declare(checked=checked) for parameter in self.parameters]
        if self.rest:
            parameters.append(f'{self.rest}: Any')
        starred = '*, ' if self.parameters else ''
        returns = self.returns.checked if checked else self.returns.shown
        return (
            f'{"" if self.kind == "plain" else "async "}def {self.name}({starred}{", ".join(parameters)}) -> {returns}'
        )
