"""The functions that a snippet may call: names, signatures, and the way back to the tools."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic_ai.tools import ToolDefinition

from pydantic_ai_harness.errors import ToolNameConflictError
from pydantic_ai_harness.narrowing import is_list, is_text_mapping
from pydantic_ai_harness.sandbox import FunctionKind

from .catalog_view import CatalogSetting, CatalogView, view_of
from .lookup import HELP, Lookup
from .python_text import as_docstring, free_name, is_name, to_group_name, to_name
from .schema_types import SchemaTypes
from .type_definitions import TYPING_NAMES, Member, TypeDefinitions
from .type_text import ANY, NONE, TypeText, union

RUN_CODE = 'run_code'
_STUB_HEAD = 'from typing import Any, Literal, NotRequired, TypedDict\n'
_MAX_DEFAULT_LENGTH = 60
_INDENT = '    '
_SENTENCE_END = re.compile(r'(?<=[.!?])\s')
_MAX_SUMMARY = 120


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
    """Where the tool comes from: the id of its server or toolset. Empty if it has none."""

    @property
    def kind(self) -> FunctionKind:
        """A tool that has to run alone is called without `await`."""
        return 'plain' if self.tool.sequential else 'async'

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
        text = f'{self.name}({", ".join([*parameters, *(["**others"] if self.is_open else [])])})'
        return text if returns in (ANY.shown, NONE.shown) else f'{text} -> {returns}'

    @property
    def summary(self) -> str:
        """The first sentence of the description, on one line, cut to a length; empty if there is none."""
        text = ' '.join((self.tool.description or '').split())
        sentence = _SENTENCE_END.split(text, maxsplit=1)[0]
        return sentence if len(sentence) <= _MAX_SUMMARY else f'{sentence[:_MAX_SUMMARY].rstrip()}…'

    @property
    def stub(self) -> str:
        """The declaration that snippets are checked against."""
        return f'{self._signature(checked=True)}: ...'

    @property
    def declaration(self) -> str:
        """The signature with its docstring, as the model reads it."""
        documented = [p for p in self.parameters if p.description]
        text = (self.tool.description or '').strip()
        if documented:
            arguments = '\n'.join(f'    {p.name}: {p.description}' for p in documented)
            text = f'{text}\n\nArgs:\n{arguments}'.strip()
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
        if self.is_open:
            names = {parameter.name for parameter in self.parameters}
            parameters.append(f'**{free_name("others", names)}: Any')
        starred = '*, ' if self.parameters else ''
        returns = self.returns.checked if checked else self.returns.shown
        return (
            f'{"" if self.kind == "plain" else "async "}def {self.name}({starred}{", ".join(parameters)}) -> {returns}'
        )


@dataclass(frozen=True)
class Catalog:
    """All functions of a step, with the types that their signatures name."""

    functions: Mapping[str, Function]
    definitions: TypeDefinitions = field(repr=False)
    _views: dict[tuple[CatalogSetting, int], CatalogView] = field(
        default_factory=dict[tuple[CatalogSetting, int], CatalogView], init=False, repr=False, compare=False
    )

    @classmethod
    def build(cls, tools: Sequence[ToolDefinition], groups: Mapping[str, str] | None = None) -> Catalog:
        """Name the tools and read their schemas.

        Args:
            tools: In the order in which they are shown.
            groups: By the tools' own names, where they come from. `None` goes by `ToolDefinition.toolset_id`.

        Raises:
            ToolNameConflictError: Two tools end up under one name.
        """
        names = _function_names(tools)
        definitions = TypeDefinitions(reserved=set(names))
        given = groups or {}
        functions = {
            name: _function(name, tool, definitions, given.get(tool.name) or tool.toolset_id or '')
            for name, tool in names.items()
        }
        return cls(functions, definitions)

    def view(self, setting: CatalogSetting, max_tokens: int) -> CatalogView:
        """What the model reads of it, worked out once."""
        key = setting, max_tokens
        if key not in self._views:
            self._views[key] = view_of(self.functions, self.shown, setting, max_tokens)
        return self._views[key]

    @cached_property
    def lookup(self) -> Lookup:
        """Finds functions for code that has not seen all of them."""
        return Lookup(self.functions, self.definitions.shown)

    @cached_property
    def kinds(self) -> Mapping[str, FunctionKind]:
        """How each function is called."""
        return {name: function.kind for name, function in self.functions.items()}

    @cached_property
    def shown(self) -> str:
        """Types and declarations as the model reads them."""
        declarations = [function.declaration for function in self.functions.values()]
        return '\n\n'.join([*self.definitions.shown.values(), *declarations])

    @cached_property
    def stubs(self) -> str:
        """Types and declarations as snippets are checked against them."""
        declarations = [*(function.stub for function in self.functions.values()), *self.lookup.stubs]
        # Names with an underscore in front too.
        names = f'__all__ = {[*self.functions, *self.lookup.functions, *self.definitions.checked]!r}'
        return '\n'.join([_STUB_HEAD, names, *self.definitions.checked.values(), *declarations, ''])

    @property
    def without_return_schema(self) -> list[str]:
        """Names of the tools whose results have no declared type."""
        return [function.tool.name for function in self.functions.values() if not function.tool.return_schema]


def _function_names(tools: Sequence[ToolDefinition]) -> dict[str, ToolDefinition]:
    names: dict[str, ToolDefinition] = {}
    for tool in tools:
        name = to_name(tool.name) or 'tool'
        if (hasattr(builtins, name) and name != HELP) or name in TYPING_NAMES:
            name = f'{name}_'
        if (other := names.get(name)) is not None:
            raise ToolNameConflictError(
                f'The tools {other.name!r} and {tool.name!r} would both be called {name!r} in code. '
                'Rename one, or prefix its toolset with `toolset.prefixed(...)`.'
            )
        names[name] = tool
    return names


def _function(name: str, tool: ToolDefinition, definitions: TypeDefinitions, group: str) -> Function:
    parameters, is_open = _parameters(tool, name, definitions)
    return Function(name, tool, parameters, is_open, _returns(tool, name, definitions), to_group_name(group))


def _parameters(tool: ToolDefinition, name: str, definitions: TypeDefinitions) -> tuple[tuple[Parameter, ...], bool]:
    schema = tool.parameters_json_schema
    types = SchemaTypes(schema, definitions)
    members, is_open = types.members(schema, name)
    names = _parameter_names([member.key for member in members])
    parameters = [_parameter(member, names[member.key]) for member in members]
    return tuple(sorted(parameters, key=lambda parameter: not parameter.required)), is_open


def _parameter(member: Member, name: str) -> Parameter:
    optional = not member.required
    return Parameter(
        name=name,
        key=member.key,
        type=member.type,
        required=member.required,
        default=_default_text(member) if optional else None,
        none_means_left_out=optional and not member.type.allows_none,
        description=member.description,
    )


def _parameter_names(keys: Sequence[str]) -> dict[str, str]:
    names = {key: key for key in keys if is_name(key)}
    taken = set(names)
    for key in keys:
        if key in names:
            continue
        names[key] = free_name(to_name(key) or 'argument', taken)
        taken.add(names[key])
    return names


def _default_text(member: Member) -> str | None:
    if 'default' not in member.schema:
        return None
    text = repr(member.schema['default'])
    return text if len(text) <= _MAX_DEFAULT_LENGTH and text.isprintable() and _is_literal(text) else '...'


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except ValueError:  # NaN and infinity
        return False
    return True


def returned_schema(tool: ToolDefinition) -> object:
    """The schema of what calling the tool gives; `None` when it declares none.

    Pydantic AI unwraps the result of an MCP tool that is an object with only `result` (2.68, `mcp.py`), so the
    declared schema is unwrapped alike.
    """
    properties = _mcp_properties(tool)
    return properties['result'] if list(properties) == ['result'] else tool.return_schema or None


def _returns(tool: ToolDefinition, name: str, definitions: TypeDefinitions) -> TypeText:
    schema, root = returned_schema(tool), tool.return_schema
    if schema is None or root is None:
        return ANY
    types = SchemaTypes(root, definitions)
    text = types.read(schema, f'{name}_result')
    properties = _mcp_properties(tool)
    may_be_unwrapped = 'result' in properties and all(key == 'result' for key in _keys(root.get('required')))
    if may_be_unwrapped and len(properties) > 1:
        return union([text, types.read(properties['result'], f'{name}_result')])
    return text


def _keys(required: object) -> Sequence[object]:
    return required if is_list(required) else []


def _mcp_properties(tool: ToolDefinition) -> Mapping[str, object]:
    """The properties of the results of an MCP tool."""
    properties: object = (tool.return_schema or {}).get('properties')
    is_mcp = bool(tool.metadata) and {'annotations', 'meta'} <= tool.metadata.keys()
    return properties if is_mcp and is_text_mapping(properties) else {}
