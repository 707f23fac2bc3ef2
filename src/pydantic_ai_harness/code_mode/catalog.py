"""The functions that a snippet may call: names, signatures, and the way back to the tools."""

from __future__ import annotations

import ast
import builtins
import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

from pydantic_ai.tools import ToolDefinition
from pydantic_core import PydanticSerializationError, to_json

from pydantic_ai_harness.errors import ToolNameConflictError
from pydantic_ai_harness.narrowing import is_list, is_text_mapping
from pydantic_ai_harness.sandbox import FunctionKind

from .catalog_view import CatalogSetting, CatalogView, view_of
from .dense_text import dense_text
from .function import Function, Parameter
from .lookup import HELP, Lookup, LookupNames
from .python_text import free_name, is_name, to_group_name, to_name
from .schema_types import SchemaTypes
from .type_definitions import TYPING_NAMES, Member, TypeDefinitions
from .type_text import ANY, TypeText, union

RUN_CODE = 'run_code'
_STUB_HEAD = 'from typing import Any, Literal, NotRequired, TypedDict\n'
_MAX_DEFAULT_LENGTH = 60


@dataclass(frozen=True)
class Catalog:
    """All functions of a step, with the types that their signatures name."""

    functions: Mapping[str, Function]
    definitions: TypeDefinitions = field(repr=False)
    lookup_names: LookupNames
    _views: dict[tuple[CatalogSetting, int], CatalogView] = field(
        default_factory=dict[tuple[CatalogSetting, int], CatalogView], init=False, repr=False, compare=False
    )

    @classmethod
    def build(
        cls,
        tools: Sequence[ToolDefinition],
        groups: Mapping[str, str] | None = None,
        hidden: Sequence[ToolDefinition] = (),
        lookup_names: LookupNames | None = None,
    ) -> Catalog:
        """Name the tools and read their schemas.

        Args:
            tools: In the order in which they are shown.
            groups: By the tools' own names, where they come from. `None` goes by `ToolDefinition.toolset_id`.
            hidden: Tools that may become functions later, and whose names are kept for them.
            lookup_names: Names that no tool gets, since the model knows our own functions by them. `None` lets tools
                have their names.

        Raises:
            ToolNameConflictError: Two tools end up under one name.
        """
        all_names = _function_names([*tools, *hidden], lookup_names)
        names = dict(itertools.islice(all_names.items(), len(tools)))
        definitions = TypeDefinitions(reserved=set(all_names))
        given = groups or {}
        origins = {name: given.get(tool.name) or tool.toolset_id or '' for name, tool in names.items()}
        group_names = _group_names(origins.values())
        functions = {
            name: _function(name, tool, definitions, group_names[origins[name]], origins[name])
            for name, tool in names.items()
        }
        return cls(functions, definitions, lookup_names or LookupNames.beside(all_names))

    def view(self, setting: CatalogSetting, max_tokens: int) -> CatalogView:
        """What the model reads of it, worked out once."""
        key = setting, max_tokens
        if key not in self._views:
            self._views[key] = view_of(self, setting, max_tokens)
        return self._views[key]

    @cached_property
    def lookup(self) -> Lookup:
        """Finds functions for code that has not seen all of them."""
        return Lookup(self.functions, self.definitions, self.lookup_names)

    @cached_property
    def kinds(self) -> Mapping[str, FunctionKind]:
        """How each function is called."""
        return {name: function.kind for name, function in self.functions.items()}

    @cached_property
    def shown(self) -> str:
        """Types and declarations as the model reads them, one after the other."""
        declarations = [function.short_declaration for function in self.functions.values()]
        return '\n\n'.join([*self.definitions.shown.values(), *declarations])

    @cached_property
    def dense(self) -> str:
        """The same with nothing said twice."""
        return dense_text(self.functions.values(), self.definitions)

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


def digest_of(
    tools: Sequence[ToolDefinition],
    groups: Mapping[str, str],
    hidden: Sequence[ToolDefinition],
    lookup_names: LookupNames | None,
) -> bytes:
    """The same for all that builds the same catalog; tools that were changed in place have another."""
    rows = [
        (
            tool.name,
            tool.description,
            tool.parameters_json_schema,
            tool.return_schema,
            tool.sequential,
            tool.toolset_id,
            _is_mcp(tool),
        )
        for tool in tools
    ]
    everything = rows, groups, [tool.name for tool in hidden], lookup_names
    try:
        text = to_json(everything, inf_nan_mode='constants')
    except PydanticSerializationError:  # not JSON: halves of surrogate pairs, or objects of Python
        text = repr(everything).encode(errors='surrogatepass')
    return hashlib.sha256(text).digest()


def _function_names(tools: Sequence[ToolDefinition], lookup_names: LookupNames | None) -> dict[str, ToolDefinition]:
    wanted = [_name_of(tool) for tool in tools]
    kept = (lookup_names.help, lookup_names.find) if lookup_names else ()
    names: dict[str, ToolDefinition] = {}
    for tool, base in zip(tools, wanted, strict=True):
        name = free_name(base, {*wanted, *kept}) if base in kept else base
        if (other := names.get(name)) is not None:
            raise ToolNameConflictError(
                f'The tools {other.name!r} and {tool.name!r} would both be called {name!r} in code. '
                'Rename one, or prefix its toolset with `toolset.prefixed(...)`.'
            )
        names[name] = tool
    return names


def _name_of(tool: ToolDefinition) -> str:
    name = to_name(tool.name) or 'tool'
    return f'{name}_' if (hasattr(builtins, name) and name != HELP) or name in TYPING_NAMES else name


def _group_names(origins: Iterable[str]) -> dict[str, str]:
    """By the ids of servers and toolsets, what they are called in code."""
    names = {'': ''}
    taken: set[str] = set()
    for origin in origins:
        if origin not in names:
            names[origin] = free_name(to_group_name(origin) or 'group', taken)
            taken.add(names[origin])
    return names


def _function(name: str, tool: ToolDefinition, definitions: TypeDefinitions, group: str, origin: str) -> Function:
    parameters, is_open = _parameters(tool, name, definitions)
    returns = _returns(tool, name, definitions)
    # A copy: the next step may change the description of the tool in place.
    return Function(name, copy(tool), parameters, is_open, returns, group, origin)


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
    return properties if _is_mcp(tool) and is_text_mapping(properties) else {}


def _is_mcp(tool: ToolDefinition) -> bool:
    return bool(tool.metadata) and {'annotations', 'meta'} <= tool.metadata.keys()
