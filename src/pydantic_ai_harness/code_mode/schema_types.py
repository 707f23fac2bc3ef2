"""JSON schemas as Python types: what the model reads, and what snippets are checked against.

Pydantic AI's `FunctionSignature` renders schemas for reading only; one walk here gives both forms, tells which
arguments may be left out, and stays valid Python for whatever a server sends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard
from urllib.parse import unquote

from .python_text import as_comment, is_name, to_name
from .type_definitions import Definition, Member, TypeDefinitions
from .type_text import ANY, BINARY, NONE, TypeText, literals, union

JsonSchema: TypeAlias = Mapping[str, Any]
_SCALARS = {'string': 'str', 'integer': 'int', 'number': 'float', 'boolean': 'bool', 'null': 'None'}
_MAX_DEPTH = 32
_COMBINATIONS = ('anyOf', 'oneOf', 'allOf')
_MAKE_OBJECTS = frozenset({'properties', '$ref', 'allOf'})


_NOTHING: JsonSchema = {}


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """An object schema, with its references and combinations resolved one level deep."""

    properties: Mapping[str, Any]
    required: frozenset[str]
    is_open: bool
    """Whether other keys are allowed in so many words."""


_NO_SHAPE = ObjectShape({}, frozenset(), is_open=False)


class SchemaTypes:
    """Reads the types in one schema document."""

    def __init__(self, root: JsonSchema, definitions: TypeDefinitions) -> None:
        self._root = root
        self._definitions = definitions
        self._by_ref: dict[str, TypeText] = {}
        self._open_refs: set[str] = set()
        self._depth = 0

    def read(self, schema: object, hint: str) -> TypeText:
        """The type of the values that `schema` describes; `hint` names a TypedDict that has no title."""
        if not _is_schema(schema) or self._depth >= _MAX_DEPTH:
            return ANY
        self._depth += 1
        try:
            text = self._read(schema, hint)
        finally:
            self._depth -= 1
        if schema.get('nullable') is True:
            text = union([text, NONE])
        return text

    def members(self, schema: JsonSchema, hint: str) -> tuple[list[Member], bool]:
        """The properties of an object schema, and whether it allows others."""
        shape = self._shape(schema, {}, alternatives=True)
        members = [
            Member(
                key=key,
                type=self.read(value, f'{hint}_{key}'),
                required=key in shape.required,
                description=_description(value),
                schema=value if _is_schema(value) else {},
            )
            for key, value in shape.properties.items()
        ]
        return members, shape.is_open

    # -- one node ------------------------------------------------------------------------------------------------

    def _read(self, schema: JsonSchema, hint: str) -> TypeText:
        if '$ref' in schema and 'properties' not in schema:
            return self._read_ref(str(schema['$ref']), hint)
        if 'const' in schema:
            return literals([schema['const']])
        if _is_list(values := schema.get('enum')):
            return literals(values)
        if self._is_object(schema):
            return self._read_by_type({'type': 'object', **schema}, hint)
        rest = {key: value for key, value in schema.items() if key not in _COMBINATIONS}
        for combination in ('anyOf', 'oneOf'):
            if _is_list(branches := schema.get(combination)) and any(_says_type(branch) for branch in branches):
                return union([self.read(branch if _says_type(branch) else rest, hint) for branch in branches])
        parts = [rest, *_schemas(schema.get('allOf'))] if 'allOf' in schema else []
        texts = (self.read(part, hint) for part in parts)
        return next((text for text in texts if text != ANY), None) or self._read_by_type(schema, hint)

    def _read_by_type(self, schema: JsonSchema, hint: str) -> TypeText:
        kind = schema.get('type') or _implied_type(schema)
        if _is_list(kind):
            return union([self._read_by_type({**schema, 'type': one}, hint) for one in kind if isinstance(one, str)])
        if kind == 'array':
            return self._read_array(schema, hint)
        if kind == 'object':
            return self._read_object(schema, hint)
        if kind == 'string' and schema.get('format') == 'binary':
            return BINARY
        scalar = _SCALARS.get(str(kind))
        return TypeText.of(scalar) if scalar else ANY

    def _read_ref(self, ref: str, hint: str) -> TypeText:
        if ref in self._by_ref:
            return self._by_ref[ref]
        target = self._resolve(ref)
        if target is None or ref in self._open_refs:
            return ANY
        self._open_refs.add(ref)
        try:
            text = self._read_named(ref, target) if self._is_object(target) else self.read(target, hint)
        finally:
            self._open_refs.discard(ref)
        self._by_ref[ref] = text
        return text

    def _read_array(self, schema: JsonSchema, hint: str) -> TypeText:
        items = schema.get('prefixItems', schema.get('items'))
        if _is_list(items):
            rest = [schema['items']] if 'prefixItems' in schema and _is_schema(schema.get('items')) else []
            item = union([self.read(one, f'{hint}_item') for one in [*items, *rest]])
        else:
            item = self.read(items, f'{hint}_item')
        return TypeText.of(f'list[{item.shown}]', f'list[{item.checked}]')

    def _read_object(self, schema: JsonSchema, hint: str) -> TypeText:
        if self._is_object(schema):
            return self._typed_dict(schema, _title(schema) or _pascal(hint))
        values: list[object] = []
        if _is_schema(patterns := schema.get('patternProperties')):
            values.extend(patterns.values())
        if _is_schema(extra := schema.get('additionalProperties')):
            values.append(extra)
        value = union([self.read(one, f'{hint}_value') for one in values]) if values else ANY
        return TypeText.of(f'dict[str, {value.shown}]', f'dict[str, {value.checked}]')

    # -- TypedDicts ----------------------------------------------------------------------------------------------

    def _read_named(self, ref: str, target: JsonSchema) -> TypeText:
        kinds = target.get('type')
        others = [self._read_by_type({**target, 'type': kind}, ref) for kind in _texts(kinds) if kind != 'object']
        if target.get('nullable') is True:
            others.append(NONE)

        def announce(text: TypeText) -> None:
            self._by_ref[ref] = union([text, *others])

        return union([self._typed_dict(target, _pascal(ref.rsplit('/', 1)[-1]), announce), *others])

    def _typed_dict(
        self, schema: JsonSchema, wanted: str, announce: Callable[[TypeText], None] = lambda text: None
    ) -> TypeText:
        base = to_name(wanted) or 'Object'
        name = self._definitions.reserve(base)
        is_open = self._shape(schema, {}, alternatives=True).is_open
        announce(self._typed_dict_text(name, is_open=is_open))
        members, _ = self.members(schema, wanted)
        must_quote = self._definitions.is_undefined_in
        definition = Definition.of(name, members, _description(schema), is_open=is_open, must_quote=must_quote)
        return self._typed_dict_text(self._definitions.define(name, base, definition), is_open=is_open)

    def _typed_dict_text(self, name: str, *, is_open: bool) -> TypeText:
        return TypeText.of(name, 'dict[str, Any]' if is_open else name)

    def _is_object(self, schema: JsonSchema) -> bool:
        """Whether it has properties of its own, not only in some of its alternatives."""
        return not _MAKE_OBJECTS.isdisjoint(schema) and bool(self._shape(schema, {}, alternatives=False).properties)

    # -- references and combinations -----------------------------------------------------------------------------

    def _shape(self, schema: JsonSchema, known: dict[str, ObjectShape], *, alternatives: bool) -> ObjectShape:
        """The shape of a schema; `known` has those of references that were met on the way."""
        parts = _schemas(schema.get('allOf'))
        shapes = [_own_shape(schema), *(self._shape(part, known, alternatives=alternatives) for part in parts)]
        if isinstance(ref := schema.get('$ref'), str):
            if ref not in known:
                known[ref] = _NO_SHAPE  # for what refers to itself
                known[ref] = self._shape(self._resolve(ref) or _NOTHING, known, alternatives=alternatives)
            shapes.append(known[ref])
        if alternatives:
            shapes += self._alternatives(schema, known)
        return _merged(shapes)

    def _alternatives(self, schema: JsonSchema, known: dict[str, ObjectShape]) -> list[ObjectShape]:
        dependent = schema.get('dependentSchemas')
        maybe = _schemas(
            [schema.get('then'), schema.get('else'), *(dependent.values() if _is_schema(dependent) else ())]
        )
        groups = [_schemas(schema.get('anyOf')), _schemas(schema.get('oneOf')), *([one, _NOTHING] for one in maybe)]
        return [_either([self._shape(branch, known, alternatives=True) for branch in group]) for group in groups]

    def _resolve(self, ref: str) -> JsonSchema | None:
        if ref != '#' and not ref.startswith('#/'):
            return None
        node: object = self._root
        for part in unquote(ref).split('/')[1:]:
            key = part.replace('~1', '/').replace('~0', '~')
            if _is_list(node):
                node = node[int(key)] if key.isdecimal() and int(key) < len(node) else None
            else:
                node = node.get(key) if _is_schema(node) else None
        return node if _is_schema(node) else None


def _own_shape(schema: JsonSchema) -> ObjectShape:
    properties = dict(schema['properties']) if _is_schema(schema.get('properties')) else {}
    extra = schema.get('additionalProperties')
    is_open = extra is True or _is_schema(extra) or _is_schema(schema.get('patternProperties'))
    return ObjectShape(properties, frozenset(_texts(schema.get('required'))), is_open)


def _merged(shapes: Sequence[ObjectShape]) -> ObjectShape:
    """What all of them say together."""
    properties: dict[str, Any] = {}
    for shape in shapes:
        for key, value in shape.properties.items():
            if key not in properties or not _says_type(properties[key]):
                properties[key] = value
    required = frozenset(key for shape in shapes for key in shape.required)
    return ObjectShape(properties, required, any(shape.is_open for shape in shapes))


def _either(shapes: Sequence[ObjectShape]) -> ObjectShape:
    """What holds when one of them does."""
    properties: dict[str, Any] = {}
    for shape in shapes:
        for key, value in shape.properties.items():
            known = properties.setdefault(key, value)
            if known != value:
                properties[key] = {'description': _description(known), 'anyOf': [known, value]}
    required = frozenset[str].intersection(*(shape.required for shape in shapes)) if shapes else frozenset[str]()
    return ObjectShape(properties, required, any(shape.is_open for shape in shapes))


def _says_type(branch: object) -> bool:
    if not _is_schema(branch):
        return False
    return any(key in branch for key in ('type', '$ref', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'properties'))


def _implied_type(schema: JsonSchema) -> str | None:
    if any(key in schema for key in ('properties', 'additionalProperties', 'patternProperties')):
        return 'object'
    return 'array' if 'items' in schema or 'prefixItems' in schema else None


def _description(schema: object) -> str:
    if not _is_schema(schema):
        return ''
    text, form = schema.get('description'), schema.get('format')
    parts = [text if isinstance(text, str) else '', f'(format: {form})' if isinstance(form, str) else '']
    return as_comment(' '.join(parts))


def _title(schema: JsonSchema) -> str:
    title = schema.get('title')
    return title if isinstance(title, str) and is_name(title) else ''


def _pascal(text: str) -> str:
    return ''.join(part[:1].upper() + part[1:] for part in re.split(r'\W|_', text) if part)


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if _is_list(value) else []


def _schemas(value: object) -> list[JsonSchema]:
    return [one for one in value if _is_schema(one)] if _is_list(value) else []


def _is_schema(value: object) -> TypeGuard[JsonSchema]:
    return isinstance(value, (dict, Mapping))  # `dict` first: it is all that is met, and quicker told


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))
