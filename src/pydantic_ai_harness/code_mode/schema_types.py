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
from functools import partial
from typing import Any, Literal, TypeAlias, TypeGuard
from urllib.parse import unquote

from .python_text import as_comment, is_name, to_name

JsonSchema: TypeAlias = Mapping[str, Any]
Direction: TypeAlias = Literal['in', 'out']

INPUT_SUFFIX = '__in'
"""Ends the checked name of a TypedDict that arguments have; results have the plain name."""

_SCALARS = {'string': 'str', 'integer': 'int', 'number': 'float', 'boolean': 'bool', 'null': 'None'}
_LITERAL_TYPES = (str, int, bool, type(None))
_MAX_LITERALS = 60
_MAX_DEPTH = 32
TYPING_NAMES = frozenset({'Any', 'Literal', 'NotRequired', 'TypedDict'})
"""What declarations use of `typing`."""
_TAKEN = frozenset({*dir(builtins), *keyword.kwlist, *TYPING_NAMES})
_COMBINATIONS = ('anyOf', 'oneOf', 'allOf')


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


_NOTHING: JsonSchema = {}
ANY = TypeText.of('Any')
NONE = TypeText.of('None')
# `bytes` cross as they are, except inside models, which turn them into text.
_BINARY = TypeText(('bytes', 'str'), ('bytes', 'str'))


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
    _reserved_at: dict[str, int] = field(default_factory=dict[str, int])
    """Names that are taken by types, and how many definitions there were by then."""
    _same_base: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def reserve(self, base: str) -> str:
        """Take a free name like `base`."""
        name, number = base, 2
        while self._is_taken(name):
            name, number = f'{base}_{number}', number + 1
        self._reserved_at[name] = len(self.shown)
        return name

    def define(self, name: str, base: str, shown: str, checked: str, direction: Direction) -> str:
        """Keep a definition, or find the one like `base` that says the same; return the name to use."""
        others = self._same_base.setdefault(base, [])
        if not self._is_mentioned(name):
            for other in others:
                if self._same(name, other, shown, checked, direction):
                    del self._reserved_at[name]
                    return other
        others.append(name)
        self.shown[name] = shown
        self.checked[checked_name(name, direction)] = checked
        return name

    def is_undefined_in(self, text: str) -> bool:
        """Whether a type mentions a name that is reserved and not yet defined."""
        names = {name.removesuffix(INPUT_SUFFIX) for name in re.findall(r'\w+', text)}
        return any(name in self._reserved_at and name not in self.shown for name in names)

    def _is_taken(self, name: str) -> bool:
        taken = name in self._reserved_at or name in self.reserved or name in _TAKEN
        return taken or name.endswith(INPUT_SUFFIX) or name + INPUT_SUFFIX in self.reserved

    def _is_mentioned(self, name: str) -> bool:
        """Whether definitions inside this one keep its name, as those of recursive types do."""
        since = list(self.shown.values())[self._reserved_at[name] :]
        return any(re.search(rf'\b{re.escape(name)}\b', text) for text in since)

    def _same(self, name: str, other: str, shown: str, checked: str, direction: Direction) -> bool:
        def renamed(text: str) -> str:
            return re.sub(rf'\b{re.escape(name)}(?=\b|{INPUT_SUFFIX}\b)', other, text)

        if self.shown[other] != renamed(shown):
            return False
        return self.checked.setdefault(checked_name(other, direction), renamed(checked)) == renamed(checked)


def checked_name(name: str, direction: Direction) -> str:
    """What a TypedDict is called where snippets are checked."""
    return name + INPUT_SUFFIX if direction == 'in' else name


class SchemaTypes:
    """Reads the types in one schema document."""

    def __init__(self, root: JsonSchema, definitions: TypeDefinitions, direction: Direction) -> None:
        self._root = root
        self._definitions = definitions
        self._direction: Direction = direction
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
        return text.without_checked_none() if self._direction == 'out' else text

    def members(self, schema: JsonSchema, hint: str) -> tuple[list[Member], bool]:
        """The properties of an object schema, and whether it allows others."""
        shape = self._shape(schema, set(), alternatives=True)
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
            return _literals([schema['const']])
        if _is_list(values := schema.get('enum')):
            return _literals(values)
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
            return _BINARY
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
        if _is_dict(patterns := schema.get('patternProperties')):
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
        is_open = self._shape(schema, set(), alternatives=True).is_open
        announce(self._typed_dict_text(name, is_open=is_open))
        members, _ = self.members(schema, wanted)
        text = partial(_class_text, must_quote=self._definitions.is_undefined_in)
        shown = text(name, [(m, m.type.shown) for m in members], _description(schema), is_open=is_open)
        checked_as = checked_name(name, self._direction)
        checked = text(checked_as, [(m, m.type.checked) for m in members], '', is_open=False)
        used = self._definitions.define(name, base, shown, checked, self._direction)
        return self._typed_dict_text(used, is_open=is_open)

    def _typed_dict_text(self, name: str, *, is_open: bool) -> TypeText:
        return TypeText.of(name, 'dict[str, Any]' if is_open else checked_name(name, self._direction))

    def _is_object(self, schema: JsonSchema) -> bool:
        """Whether it has properties of its own, not only in some of its alternatives."""
        return bool(self._shape(schema, set(), alternatives=False).properties)

    # -- references and combinations -----------------------------------------------------------------------------

    def _shape(self, schema: JsonSchema, seen: set[str], *, alternatives: bool) -> ObjectShape:
        shapes = [_own_shape(schema)]
        ref = schema.get('$ref')
        parts = _schemas(schema.get('allOf'))
        if isinstance(ref, str) and ref not in seen and (target := self._resolve(ref)) is not None:
            seen.add(ref)
            parts.append(target)
        shapes += [self._shape(part, seen, alternatives=alternatives) for part in parts]
        if alternatives:
            shapes += self._alternatives(schema, seen)
        return _merged(shapes)

    def _alternatives(self, schema: JsonSchema, seen: set[str]) -> list[ObjectShape]:
        dependent = schema.get('dependentSchemas')
        maybe = _schemas([schema.get('then'), schema.get('else'), *(dependent.values() if _is_dict(dependent) else ())])
        groups = [_schemas(schema.get('anyOf')), _schemas(schema.get('oneOf')), *([one, _NOTHING] for one in maybe)]
        return [_either([self._shape(branch, seen, alternatives=True) for branch in group]) for group in groups]

    def _resolve(self, ref: str) -> JsonSchema | None:
        if ref != '#' and not ref.startswith('#/'):
            return None
        node: object = self._root
        for part in unquote(ref).split('/')[1:]:
            key = part.replace('~1', '/').replace('~0', '~')
            if _is_list(node):
                node = node[int(key)] if key.isdecimal() and int(key) < len(node) else None
            else:
                node = node.get(key) if _is_dict(node) else None
        return node if _is_schema(node) else None


def _own_shape(schema: JsonSchema) -> ObjectShape:
    properties = dict(schema['properties']) if _is_dict(schema.get('properties')) else {}
    extra = schema.get('additionalProperties')
    is_open = extra is True or _is_schema(extra) or _is_dict(schema.get('patternProperties'))
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


def _class_text(
    name: str, members: list[tuple[Member, str]], lead: str, *, is_open: bool, must_quote: Callable[[str], bool]
) -> str:
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


def _literals(values: Sequence[object]) -> TypeText:
    widened = [_type_name(value) for value in values if not isinstance(value, _LITERAL_TYPES)]
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
    return isinstance(value, Mapping)


def _is_dict(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))
