"""JSON schemas as Python types: what the model reads, and the more lenient form that snippets are checked against.

Pydantic AI's `FunctionSignature` renders schemas for reading only; one walk here gives both forms, tells which
arguments may be left out, and stays valid Python for whatever a server sends.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeGuard

from .python_text import as_comment, is_name, to_name

JsonSchema: TypeAlias = Mapping[str, Any]
Direction: TypeAlias = Literal['in', 'out']

INPUT_SUFFIX = '__in'
"""Ends the checked name of a TypedDict that arguments have; results have the plain name."""

_SCALARS = {'string': 'str', 'integer': 'int', 'number': 'float', 'boolean': 'bool', 'null': 'None'}
_LITERAL_TYPES = (str, int, bool, type(None))
_MAX_LITERALS = 60
_TAKEN = frozenset({*dir(builtins), *keyword.kwlist, 'Any', 'Literal', 'NotRequired', 'TypedDict'})


@dataclass(frozen=True, slots=True)
class TypeText:
    """One type, twice; each as the alternatives of a union."""

    shown_parts: tuple[str, ...]
    checked_parts: tuple[str, ...]

    @classmethod
    def of(cls, shown: str, checked: str | None = None) -> TypeText:
        """A type that is no union."""
        return cls((shown,), (checked or shown,))

    @property
    def shown(self) -> str:
        """What the model reads."""
        return _joined(self.shown_parts)

    @property
    def checked(self) -> str:
        """What snippets are checked against."""
        return _joined(self.checked_parts)

    def without_checked_none(self) -> TypeText:
        """The same for a result, which code may use without a test for `None`: at run time it mostly is none."""
        return TypeText(self.shown_parts, tuple(one for one in self.checked_parts if one != 'None') or ('None',))

    @property
    def allows_none(self) -> bool:
        """Whether `None` is among the values."""
        return not {'Any', 'None'}.isdisjoint(self.shown_parts)


ANY = TypeText.of('Any')
NONE = TypeText.of('None')


@dataclass(frozen=True, slots=True)
class Member:
    """A property of an object schema."""

    key: str
    type: TypeText
    required: bool
    description: str
    schema: JsonSchema


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """An object schema, with its references and combinations resolved one level deep."""

    properties: Mapping[str, Any]
    required: frozenset[str]
    is_open: bool
    """Whether other keys are allowed in so many words."""


@dataclass
class TypeDefinitions:
    """The TypedDicts of a catalog, each shape once."""

    reserved: set[str]
    """Names that are taken by functions."""
    shown: dict[str, str] = field(default_factory=dict[str, str])
    checked: dict[str, str] = field(default_factory=dict[str, str])
    _names: set[str] = field(default_factory=set[str])

    def reserve(self, wanted: str) -> str:
        """Take a free name like `wanted`."""
        base = name = to_name(wanted) or 'Object'
        number = 2
        while name in self._names or name in self.reserved or name in _TAKEN:
            name, number = f'{base}_{number}', number + 1
        self._names.add(name)
        return name

    def define(self, name: str, base: str, shown: str, checked: str, direction: Direction) -> str:
        """Keep a definition, or find the one that says the same under `base`; return the name to use."""
        checked_name = name + INPUT_SUFFIX if direction == 'in' else name
        if name != base and self._same(name, base, shown, checked, direction):
            self._names.discard(name)
            return base
        self.shown[name] = shown
        self.checked[checked_name] = checked
        return name

    def _same(self, name: str, base: str, shown: str, checked: str, direction: Direction) -> bool:
        def renamed(text: str) -> str:
            return re.sub(rf'\b{re.escape(name)}(?=\b|__in\b)', base, text)

        if self.shown.get(base) != renamed(shown):
            return False
        checked_base = base + INPUT_SUFFIX if direction == 'in' else base
        return self.checked.setdefault(checked_base, renamed(checked)) == renamed(checked)


class SchemaTypes:
    """Reads the types in one schema document."""

    def __init__(self, root: JsonSchema, definitions: TypeDefinitions, direction: Direction) -> None:
        self._root = root
        self._definitions = definitions
        self._direction: Direction = direction
        self._by_ref: dict[str, TypeText] = {}
        self._open_refs: set[str] = set()

    def read(self, schema: object, hint: str) -> TypeText:
        """The type of the values that `schema` describes; `hint` names a TypedDict that has no title."""
        if not _is_schema(schema):
            return ANY
        text = self._read(schema, hint)
        if schema.get('nullable') is True:
            text = union([text, NONE])
        return text.without_checked_none() if self._direction == 'out' else text

    def members(self, schema: JsonSchema, hint: str) -> tuple[list[Member], bool]:
        """The properties of an object schema, and whether it allows others."""
        shape = self.shape(schema)
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

    def shape(self, schema: JsonSchema) -> ObjectShape:
        """Merge what references and combinations say of an object."""
        return self._shape(schema, frozenset())

    # -- one node ------------------------------------------------------------------------------------------------

    def _read(self, schema: JsonSchema, hint: str) -> TypeText:
        if '$ref' in schema:
            return self._read_ref(str(schema['$ref']), hint)
        if 'const' in schema:
            return _literals([schema['const']])
        if _is_list(values := schema.get('enum')):
            return _literals(values)
        for combination in ('anyOf', 'oneOf'):
            if _is_list(branches := schema.get(combination)) and any(_says_type(branch) for branch in branches):
                return union([self.read(branch, hint) for branch in branches])
        if _is_list(parts := schema.get('allOf')) and parts:
            return self._read_all_of(schema, parts, hint)
        return self._read_by_type(schema, hint)

    def _read_by_type(self, schema: JsonSchema, hint: str) -> TypeText:
        kind = schema.get('type') or _implied_type(schema)
        if _is_list(kind):
            return union([self._read_by_type({**schema, 'type': one}, hint) for one in kind if isinstance(one, str)])
        if kind == 'array':
            return self._read_array(schema, hint)
        if kind == 'object':
            return self._read_object(schema, hint)
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

    def _read_all_of(self, schema: JsonSchema, parts: Sequence[object], hint: str) -> TypeText:
        if self._is_object(schema):
            return self._typed_dict(schema, hint, lambda name: None)
        texts = [self.read(part, hint) for part in parts if _is_schema(part)]
        return next((text for text in texts if text != ANY), ANY)

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
            return self._typed_dict(schema, hint, lambda name: None)
        values: list[object] = []
        if _is_dict(patterns := schema.get('patternProperties')):
            values.extend(patterns.values())
        if _is_schema(extra := schema.get('additionalProperties')):
            values.append(extra)
        value = union([self.read(one, f'{hint}_value') for one in values]) if values else ANY
        return TypeText.of(f'dict[str, {value.shown}]', f'dict[str, {value.checked}]')

    # -- TypedDicts ----------------------------------------------------------------------------------------------

    def _read_named(self, ref: str, target: JsonSchema) -> TypeText:
        def announce(name: str) -> None:
            self._by_ref[ref] = TypeText.of(name, self._checked_name(name))

        return self._typed_dict(target, ref.rsplit('/', 1)[-1], announce, prefer_title=False)

    def _typed_dict(
        self, schema: JsonSchema, hint: str, announce: Callable[[str], None], *, prefer_title: bool = True
    ) -> TypeText:
        title = schema.get('title')
        wanted = title if prefer_title and isinstance(title, str) and is_name(title) else _pascal(hint)
        base = to_name(wanted) or 'Object'
        name = self._definitions.reserve(wanted)
        announce(name)
        members, is_open = self.members(schema, wanted)
        checked_name = self._checked_name(name)
        shown = _class_text(name, [(m, m.type.shown) for m in members], _description(schema), is_open=is_open)
        checked = _class_text(checked_name, [(m, m.type.checked) for m in members], '', is_open=False)
        used = self._definitions.define(name, base, shown, checked, self._direction)
        if is_open:
            return TypeText.of(used, 'dict[str, Any]')
        return TypeText.of(used, self._checked_name(used))

    def _checked_name(self, name: str) -> str:
        return name + INPUT_SUFFIX if self._direction == 'in' else name

    def _is_object(self, schema: JsonSchema) -> bool:
        return bool(self.shape(schema).properties)

    # -- references and combinations -----------------------------------------------------------------------------

    def _shape(self, schema: JsonSchema, seen: frozenset[str]) -> ObjectShape:
        ref = schema.get('$ref')
        if isinstance(ref, str):
            target = self._resolve(ref)
            if target is not None and ref not in seen:
                return self._shape(target, seen | {ref})
        properties = dict(schema['properties']) if _is_dict(schema.get('properties')) else {}
        required = _texts(schema.get('required'))
        extra = schema.get('additionalProperties')
        is_open = extra is True or _is_schema(extra) or _is_dict(schema.get('patternProperties'))
        for part in _schemas(schema.get('allOf')):
            shape = self._shape(part, seen)
            properties = {**shape.properties, **properties}
            required |= shape.required
            is_open = is_open or shape.is_open
        return ObjectShape(properties, required, is_open)

    def variants(self, schema: JsonSchema) -> list[ObjectShape]:
        """The alternatives of a top-level `anyOf` or `oneOf` of objects."""
        return [
            self._shape(branch, frozenset())
            for combination in ('anyOf', 'oneOf')
            for branch in _schemas(schema.get(combination))
        ]

    def _resolve(self, ref: str) -> JsonSchema | None:
        if not ref.startswith('#'):
            return None
        node: object = self._root
        for part in ref.lstrip('#').split('/')[1:]:
            key = part.replace('~1', '/').replace('~0', '~')
            node = node.get(key) if _is_dict(node) else None
        return node if _is_schema(node) else None


def _class_text(name: str, members: list[tuple[Member, str]], description: str, *, is_open: bool) -> str:
    comments = [f'# {description}'] if description else []
    note = '# Other keys are allowed.'
    if all(is_name(member.key) and not member.key.startswith('__') for member, _ in members):
        fields = [_field_line(f'{member.key}: {_required(member, text)}', member) for member, text in members]
        lines = [f'class {name}(TypedDict):', *(f'    {line}' for line in [*comments, *fields])]
        return '\n'.join([*lines, f'    {note}'] if is_open else lines)
    fields = [_field_line(f'{member.key!r}: {_required(member, text)},', member) for member, text in members]
    lines = [*comments, f'{name} = TypedDict({name!r}, {{', *(f'    {line}' for line in fields)]
    return '\n'.join([*lines, f'    {note}', '})'] if is_open else [*lines, '})'])


def _field_line(code: str, member: Member) -> str:
    return f'{code}  # {member.description}' if member.description else code


def _required(member: Member, text: str) -> str:
    return text if member.required else f'NotRequired[{text}]'


def _literals(values: Sequence[object]) -> TypeText:
    widened = {_type_name(value) for value in values if not isinstance(value, _LITERAL_TYPES)}
    named = [value for value in values if isinstance(value, _LITERAL_TYPES)]
    if widened or len(named) > _MAX_LITERALS:
        return union([TypeText.of(name) for name in [*widened, *(_type_name(value) for value in named)]])
    texts = list(dict.fromkeys(repr(value) for value in named if value is not None))
    parts = [TypeText.of(f'Literal[{", ".join(texts)}]')] if texts else []
    return union([*parts, NONE] if None in named else parts)


def _type_name(value: object) -> str:
    names: dict[type, str] = {dict: 'dict[str, Any]', list: 'list[Any]', type(None): 'None'}
    return names.get(type(value), type(value).__name__)


def union(parts: Iterable[TypeText]) -> TypeText:
    """One type that allows what any of `parts` does."""
    shown: dict[str, None] = {}
    checked: dict[str, None] = {}
    for part in parts:
        shown.update(dict.fromkeys(part.shown_parts))
        checked.update(dict.fromkeys(part.checked_parts))
    return TypeText(tuple(shown), tuple(checked)) if shown else ANY


def _joined(parts: tuple[str, ...]) -> str:
    if 'Any' in parts:
        return 'Any'
    ordered = [text for text in parts if text != 'None']
    return ' | '.join([*ordered, 'None'] if 'None' in parts else ordered)


def _says_type(branch: object) -> bool:
    if not _is_schema(branch):
        return False
    return any(key in branch for key in ('type', '$ref', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'properties'))


def _implied_type(schema: JsonSchema) -> str | None:
    if any(key in schema for key in ('properties', 'additionalProperties', 'patternProperties')):
        return 'object'
    return 'array' if 'items' in schema or 'prefixItems' in schema else None


def _description(schema: object) -> str:
    text = schema.get('description') if _is_schema(schema) else None
    return as_comment(text) if isinstance(text, str) else ''


def _pascal(text: str) -> str:
    return ''.join(part[:1].upper() + part[1:] for part in re.split(r'\W|_', text) if part)


def _texts(value: object) -> frozenset[str]:
    return frozenset(one for one in value if isinstance(one, str)) if _is_list(value) else frozenset()


def _schemas(value: object) -> list[JsonSchema]:
    return [one for one in value if _is_schema(one)] if _is_list(value) else []


def _is_schema(value: object) -> TypeGuard[JsonSchema]:
    return isinstance(value, Mapping)


def _is_dict(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))
