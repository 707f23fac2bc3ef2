"""CM-4, CM-5 on schemas of every kind: valid Python, correct calls arrive as sent, certainly wrong ones are refused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pydantic_ai_harness.code_mode.catalog import Catalog
from pydantic_ai_harness.sandbox import TypeChecker, WorkerPool
from tests.code_mode.schema_tools import (
    RecordingToolset,
    Schema,
    assert_valid,
    call_text,
    list_text,
    probe,
    problems,
    properties,
    refused_lines,
    run_recorded,
)


@pytest.fixture(scope='module')
def checker() -> Iterator[TypeChecker]:
    pool = WorkerPool()
    yield pool.type_checker
    pool.close()


@dataclass(frozen=True)
class Case:
    """A schema of parameters, with arguments that fit it and some that certainly do not."""

    name: str
    schema: Mapping[str, Any]
    right: Sequence[dict[str, Any]]
    wrong: Sequence[dict[str, Any]] = ()
    shows: str = ''
    """Part of what the model reads."""
    allowed: str = 'never'
    """Complaints of the checker about what the model reads, which come from the schema itself."""


def of_x(
    name: str,
    schema: Schema,
    right: Sequence[Any],
    wrong: Sequence[Any] = (),
    shows: str = '',
    *,
    defs: Mapping[str, Schema] | None = None,
) -> Case:
    """A case of one parameter, `x`."""
    return Case(
        name,
        {**properties(['x'], x=schema), '$defs': defs or {}},
        [{'x': value} for value in right],
        [{'x': value} for value in wrong],
        shows and f'x: {shows}',
    )


STRING = {'type': 'string'}
INTEGER = {'type': 'integer'}
NUMBER = {'type': 'number'}
NULL = {'type': 'null'}
TREE = properties(['name'], name=STRING, children={'type': 'array', 'items': {'$ref': '#/$defs/Tree'}})

_NAMES = [
    Case(
        'parameter_is_a_keyword',
        properties(['from'], **{'from': STRING, 'class': INTEGER}),
        [{'from': 'a'}, {'from': 'a', 'class': 1}],
        [{'class': 1}, {'from': 1}],
        'from_: str',
    ),
    *(
        Case(
            f'parameter_named_{name}',
            properties([name], **{name: STRING, 'other': INTEGER}),
            [{name: 'a'}, {name: 'a', 'other': 1}],
            [{name: 1}, {'other': 1}],
        )
        for name in (
            'properties',
            'items',
            'minimum',
            'type',
            'required',
            'enum',
            'title',
            'default',
            'anyOf',
            'range',
            'input',
            'print',
            'str',
            'list',
            'Any',
            'self',
            '_',
            '__',
            '__typename',
            '__debug__',
            'others',
            'match',
            'probe',
            'code',
        )
    ),
    *(
        Case(
            f'parameter_called_{name!a}',
            properties([name], **{name: STRING, 'other': INTEGER}),
            [{name: 'a'}, {name: 'a', 'other': 1}],
            [{name: 1}, {'other': 1}],
        )
        for name in (
            '$ref',
            '$defs',
            '$filter',
            'a-b',
            'a b',
            'a.b',
            'größe',
            '天气',
            '2fa',
            '',
            ' ',
            '-',
            "a'b",
            'a"b',
            'a\\b',
            'a\nb',
            'a\x00b',
            'a\u2028b',
        )
    ),
    Case(
        'parameters_that_become_one_name',
        properties(['a-b', 'a.b'], **{'a-b': STRING, 'a.b': INTEGER, 'a_b': STRING}),
        [{'a-b': 'x', 'a.b': 1}, {'a-b': 'x', 'a.b': 1, 'a_b': 'z'}],
        [{'a-b': 1, 'a.b': 1}, {'a-b': 'x', 'a.b': 'x'}],
    ),
    Case(
        'parameters_without_a_letter',
        properties([], **{'+': STRING, '-': INTEGER, '天': STRING}),
        [{'+': 'x', '-': 1, '天': 'y'}],
        [{'-': 'x'}],
    ),
    Case(
        'open_with_parameter_named_others',
        {**properties(['others'], others=STRING), 'additionalProperties': True},
        [{'others': 'a'}, {'others': 'a', 'more': 1}],
        [{'more': 1}],
    ),
    Case(
        'required_after_optional',
        properties(['b', 'd'], a=STRING, b=INTEGER, c=STRING, d=STRING),
        [{'b': 1, 'd': 'x'}, {'a': 'x', 'b': 1, 'c': 'y', 'd': 'z'}],
        [{'a': 'x', 'b': 1}],
    ),
    Case('required_that_is_no_property', properties(['ghost', 'x'], x=STRING), [{'x': 'a'}], [{}]),
    of_x(
        'keys_with_dollar_and_dash',
        properties(['$top'], **{'$top': INTEGER, 'a-b': STRING}),
        [{'$top': 1}, {'$top': 1, 'a-b': 'x'}],
        [{}, {'$top': 'x'}, {'$top': 1, 'c': 2}],
    ),
    of_x(
        'key_is_a_keyword',
        properties(['from'], **{'from': STRING, 'None': INTEGER}),
        [{'from': 'a', 'None': 1}],
        [{}, {'from': 1}],
    ),
    of_x(
        'keys_with_two_underscores',
        properties(['__typename'], __typename=STRING, __x__=INTEGER, _y=STRING),
        [{'__typename': 'a', '__x__': 1, '_y': 'b'}],
        [{}, {'__typename': 1}],
    ),
    of_x(
        'keys_that_shadow_types',
        properties(
            [],
            str=STRING,
            int=INTEGER,
            dict={'type': 'object', 'additionalProperties': STRING},
            list={'type': 'array', 'items': INTEGER},
            Any={},
            Literal={'enum': ['a']},
            NotRequired=STRING,
            a={'type': 'array', 'items': STRING},
            b={'type': 'object'},
            c={'enum': ['b']},
            d=STRING,
        ),
        [
            {
                'str': 'a',
                'int': 1,
                'dict': {'k': 'v'},
                'list': [1],
                'Any': None,
                'Literal': 'a',
                'NotRequired': 'x',
                'a': ['b'],
                'b': {},
                'c': 'b',
                'd': 'x',
            }
        ],
        [{'a': [1]}, {'d': 1}, {'list': ['x']}],
    ),
    of_x(
        'keys_that_are_methods_of_dict',
        properties(['items'], items=STRING, keys=INTEGER, get=STRING, update=STRING),
        [{'items': 'a', 'keys': 1, 'get': 'x', 'update': 'y'}],
        [{'items': 1}],
    ),
    of_x(
        'key_with_quotes',
        properties([], **{'a"b': STRING, "a'b": STRING, 'a\\': STRING, 'a\nb': STRING, '': STRING}),
        [{'a"b': 'x', "a'b": 'y', 'a\\': 'z', 'a\nb': 'n', '': 'e'}],
        [{'a"b': 1}],
    ),
]

_DEFAULTS = [
    Case(
        'required_with_default', properties(['x'], x={'type': 'integer', 'default': 5}), [{'x': 1}], [{}], '*, x: int)'
    ),
    Case(
        'default_null_on_a_type_without_null',
        properties(x={'type': 'string', 'default': None}),
        [{}, {'x': 'a'}],
        [{'x': 1}],
        'x: str | None = None',
    ),
    Case(
        'default_that_the_schema_forbids',
        properties(x={'type': 'integer', 'default': 'many'}, y={'enum': ['a', 'b'], 'default': 'c'}),
        [{}, {'x': 1}, {'y': 'a'}],
        [{'x': 'many'}, {'y': 'c'}],
        "x: int = 'many', y: Literal['a', 'b'] = 'c'",
        allowed='Default value of type `Literal',
    ),
    Case(
        'default_with_quotes',
        properties(x={'type': 'string', 'default': '\'"\\'}, y={'type': 'string', 'default': '"""'}),
        [{}, {'x': 'a'}],
        [{'x': 1}],
    ),
    Case(
        'default_with_inf_in_a_word',
        properties(x={'type': 'string', 'default': 'info'}, y={'type': 'string', 'default': 'nano'}),
        [{}, {'x': 'a'}],
        [{'x': 1}],
        "x: str = 'info', y: str = 'nano'",
    ),
    Case(
        'default_that_is_no_number',
        properties(
            x={'type': 'number', 'default': float('nan')},
            y={'type': 'number', 'default': float('inf')},
            z={'type': 'array', 'items': NUMBER, 'default': [float('-inf')]},
        ),
        [{}, {'x': 1.5}],
        [{'x': 'a'}],
    ),
    Case(
        'default_huge',
        properties(x={'type': 'string', 'default': 'a' * 10_000}, y={'type': 'array', 'default': list(range(1000))}),
        [{}, {'x': 'a'}],
        [{'x': 1}],
        'x: str = ...',
    ),
    Case(
        'default_nested',
        properties(
            x={'type': 'object', 'default': {'a': [1, {'b': None}]}}, y={**properties(['a'], a=INTEGER), 'default': {}}
        ),
        [{}, {'x': {'b': 1}}, {'y': {'a': 1}}],
        [{'x': 1}, {'y': {}}],
        "x: dict[str, Any] = {'a': [1, {'b': None}]}",
        allowed="Missing required key 'a'",
    ),
    Case(
        'default_with_control_characters',
        properties(x={'type': 'string', 'default': 'a\x00\u2028\ud800'}),
        [{}, {'x': 'a'}],
        [{'x': 1}],
    ),
    Case(
        'default_of_a_reference',
        {**properties(x={'$ref': '#/$defs/E', 'default': 'a'}), '$defs': {'E': {'enum': ['a', 'b']}}},
        [{}, {'x': 'b'}],
        [{'x': 'c'}],
        "x: Literal['a', 'b'] = 'a'",
    ),
]

_ENUMS = [
    of_x(
        'enum_of_quotes_and_backslashes',
        {'enum': ["'", '"', '\\', '\'"\\', '"""', '\\n', '']},
        ["'", '"', '\\', '\'"\\', '"""', '\\n', ''],
        ['x', "''", 1],
    ),
    of_x(
        'enum_with_newline_and_unicode',
        {'enum': ['a\nb', 'é', '天', '\u2028', '😀', '\x00', '`']},
        ['a\nb', 'é', '天', '\u2028', '😀', '`'],
        ['a', 1],
    ),
    of_x('enum_with_lone_surrogates', {'enum': ['\ud800', 'a', '\udfff']}, ['a'], [1]),
    of_x('enum_of_mixed_types', {'enum': ['a', 1, True, None]}, ['a', 1, True, None], ['b', [], {}]),
    of_x('enum_with_null', {'enum': ['a', None]}, ['a', None], ['b', 1], "Literal['a'] | None"),
    of_x('enum_of_null', {'enum': [None]}, [None], ['a', 1], 'None'),
    of_x('enum_with_floats', {'enum': [0.5, 1, 'auto']}, [0.5, 1, 'auto'], [None, []]),
    of_x('enum_with_objects', {'enum': [{'a': 1}, ['b'], 'c']}, [{'a': 1}, ['b'], 'c'], [1, None]),
    of_x('enum_of_integers', {'type': 'integer', 'enum': [-1, 0, 10**30]}, [-1, 0, 10**30], ['a', None]),
    of_x('enum_of_booleans', {'enum': [True]}, [True], ['true', None]),
    of_x('enum_long', {'enum': [f'value {number}' for number in range(500)]}, ['value 0', 'value 499'], [1], 'str'),
    of_x('enum_empty', {'enum': []}, ['anything']),
    of_x('enum_with_repeated_values', {'enum': ['a', 'a', 1, 1]}, ['a', 1], ['b'], "Literal['a', 1]"),
    of_x('const', {'const': 'a'}, ['a'], ['b', 1], "Literal['a']"),
    of_x('const_null', {'const': None}, [None], ['a']),
    of_x('const_object', {'const': {'a': 1}}, [{'a': 1}], ['a']),
    of_x('const_float', {'const': 1.5}, [1.5], ['a']),
    of_x('const_false', {'const': False}, [False], ['a']),
    of_x('nullable_enum_by_type_list', {'type': ['string', 'null'], 'enum': ['a', None]}, ['a', None], ['b']),
]

_REFERENCES = [
    of_x(
        'ref_with_siblings',
        {'$ref': '#/$defs/A', 'description': 'An A.', 'default': {'a': 1}},
        [{'a': 1}],
        [{}, {'a': 'x'}],
        defs={'A': properties(['a'], a=INTEGER)},
    ),
    Case(
        'ref_to_definitions',
        {**properties(['x'], x={'$ref': '#/definitions/A'}), 'definitions': {'A': properties(['a'], a=INTEGER)}},
        [{'x': {'a': 1}}],
        [{'x': {}}, {'x': {'a': 'x'}}],
    ),
    of_x(
        'ref_with_escapes',
        {'$ref': '#/$defs/a~1b~0c'},
        [{'a': 1}],
        [{'a': 'x'}],
        defs={'a/b~c': properties(['a'], a=INTEGER)},
    ),
    of_x(
        'ref_with_percent_escapes',
        {'$ref': '#/$defs/Foo%5BBar%5D'},
        [{'a': 1}],
        [{'a': 'x'}],
        defs={'Foo[Bar]': properties(['a'], a=INTEGER)},
    ),
    of_x(
        'ref_into_a_list',
        {'anyOf': [STRING, {'$ref': '#/$defs/L/anyOf/1'}]},
        ['a', {'a': 1}],
        [{'a': 'x'}, 1],
        defs={'L': {'anyOf': [STRING, properties(['a'], a=INTEGER)]}},
    ),
    Case(
        'ref_to_the_root',
        properties(['name'], name=STRING, child={'$ref': '#'}),
        [{'name': 'a'}, {'name': 'a', 'child': {'name': 'b', 'child': {'name': 'c'}}}],
        [{'name': 'a', 'child': {}}, {'name': 'a', 'child': {'name': 1}}],
    ),
    of_x('ref_to_nothing', {'$ref': '#/$defs/Missing'}, ['anything', 1, None], shows='Any'),
    of_x(
        'ref_to_a_remote_schema',
        {'$ref': 'https://example.com/schema.json#/$defs/A'},
        ['anything', {'a': 1}],
        shows='Any',
    ),
    of_x(
        'ref_to_an_anchor',
        {'$ref': '#a'},
        [{'a': 1}, 'text'],
        shows='Any',
        defs={'A': {'$anchor': 'a', 'type': ['object', 'string']}},
    ),
    of_x('ref_to_itself', {'$ref': '#/$defs/A'}, ['anything'], shows='Any', defs={'A': {'$ref': '#/$defs/A'}}),
    of_x(
        'ref_in_a_circle',
        {'$ref': '#/$defs/A'},
        ['anything'],
        shows='Any',
        defs={'A': {'$ref': '#/$defs/B'}, 'B': {'$ref': '#/$defs/A'}},
    ),
    of_x(
        'ref_through_refs',
        {'$ref': '#/$defs/A'},
        [{'a': 1}],
        [{'a': 'x'}, 1],
        defs={'A': {'$ref': '#/$defs/B'}, 'B': properties(['a'], a=INTEGER)},
    ),
    of_x('ref_to_a_boolean', {'$ref': '#/$defs/A'}, ['anything'], defs={'A': True}),
    of_x('ref_that_is_no_text', {'$ref': 5}, ['anything']),
    of_x('defs_unused', STRING, ['a'], [1], defs={'Unused': TREE, 'Broken': {'$ref': '#/nowhere'}}),
    of_x(
        'defs_recursive',
        {'$ref': '#/$defs/Tree'},
        [{'name': 'a'}, {'name': 'a', 'children': [{'name': 'b', 'children': []}]}],
        [{'children': []}, {'name': 'a', 'children': [{'name': 1}]}, {'name': 'a', 'children': [1]}],
        defs={'Tree': TREE},
    ),
    of_x(
        'defs_mutually_recursive',
        {'$ref': '#/$defs/A'},
        [{}, {'b': {'a': {'b': {}}}}],
        [{'b': 1}, {'b': {'a': 'x'}}],
        defs={'A': properties(b={'$ref': '#/$defs/B'}), 'B': properties(a={'$ref': '#/$defs/A'})},
    ),
    of_x(
        'defs_recursive_with_keys_that_are_no_names',
        {'$ref': '#/$defs/F'},
        [{'$and': [{'$or': []}]}, {'$or': [{}]}],
        [{'$and': 1}, {'$and': [{'$or': 'x'}]}],
        defs={
            'F': properties(
                **{
                    '$and': {'type': 'array', 'items': {'$ref': '#/$defs/F'}},
                    '$or': {'type': 'array', 'items': {'$ref': '#/$defs/G'}},
                }
            ),
            'G': properties(**{'$not': {'$ref': '#/$defs/F'}}),
        },
    ),
    of_x(
        'defs_recursive_list',
        {'$ref': '#/$defs/L'},
        [[], [[]], [[[]]]],
        [1, 'a'],
        defs={'L': {'type': 'array', 'items': {'$ref': '#/$defs/L'}}},
    ),
    of_x(
        'defs_recursive_json',
        {'$ref': '#/$defs/Json'},
        [1, 'a', [1, ['a']], {'a': {'b': [1]}}],
        defs={
            'Json': {
                'anyOf': [
                    STRING,
                    INTEGER,
                    {'type': 'array', 'items': {'$ref': '#/$defs/Json'}},
                    {'type': 'object', 'additionalProperties': {'$ref': '#/$defs/Json'}},
                ]
            }
        },
    ),
    of_x(
        'defs_whose_names_are_no_identifiers',
        {'anyOf': [{'$ref': '#/$defs/Foo[Bar]'}, {'$ref': '#/$defs/a.b.C'}]},
        [{'a': 1}, {'b': 'x'}],
        [1, 'a'],
        defs={'Foo[Bar]': properties(['a'], a=INTEGER), 'a.b.C': properties(['b'], b=STRING)},
    ),
    *(
        of_x(
            f'def_named_{name}',
            {'$ref': f'#/$defs/{name}'},
            [{'a': {'b': 'x'}}],
            [{'a': 1}, {'a': {'b': 1}}, 1],
            defs={name: properties(['a'], a={'title': name, **properties(['b'], b=STRING)})},
        )
        for name in (
            'Any',
            'Literal',
            'TypedDict',
            'NotRequired',
            'str',
            'list',
            'dict',
            'print',
            'probe',
            'None',
            'class',
            'x__in',
            '__debug__',
            'properties',
        )
    ),
]

_COMBINATIONS = [
    of_x('type_list', {'type': ['string', 'integer']}, ['a', 1], [[], None], 'str | int'),
    of_x(
        'type_list_of_object_and_null',
        {
            'type': ['object', 'null'],
            **{key: value for key, value in properties(['a'], a=INTEGER).items() if key != 'type'},
        },
        [{'a': 1}, None],
        [{}, {'a': 'x'}, 1],
    ),
    of_x(
        'type_list_of_array_and_null',
        {'type': ['array', 'null'], 'items': STRING},
        [['a'], [], None],
        [[1], 'a'],
        'list[str] | None',
    ),
    of_x(
        'type_list_of_everything',
        {'type': ['string', 'number', 'boolean', 'object', 'array', 'null']},
        ['a', 1.5, True, {'a': 1}, [1], None],
    ),
    of_x('type_list_empty', {'type': []}, ['a', 1]),
    of_x('any_of_with_null', {'anyOf': [STRING, NULL]}, ['a', None], [1], 'str | None'),
    of_x('any_of_with_null_and_default', {'anyOf': [INTEGER, NULL], 'default': None}, [1, None], ['a']),
    of_x('any_of_with_anything', {'anyOf': [STRING, {}]}, ['a', 1, None]),
    of_x('any_of_with_true', {'anyOf': [STRING, True]}, ['a', 1, None]),
    of_x('any_of_of_nothing', {'anyOf': []}, ['a', 1]),
    of_x(
        'any_of_nested',
        {'anyOf': [{'anyOf': [STRING, INTEGER]}, {'oneOf': [NULL, {'type': 'boolean'}]}]},
        ['a', 1, True, None],
        [[], {}],
    ),
    of_x('any_of_beside_type', {'type': 'string', 'anyOf': [{'minLength': 1}, {'pattern': '^a'}]}, ['a'], [1], 'str'),
    of_x(
        'any_of_with_only_required',
        {**properties([], a=STRING, b=INTEGER), 'anyOf': [{'required': ['a']}, {'required': ['b']}]},
        [{'a': 'x'}, {'b': 1}, {'a': 'x', 'b': 1}],
        [{'a': 1}, {'c': 1}],
    ),
    of_x(
        'any_of_beside_properties',
        {**properties(['kind'], kind=STRING), 'anyOf': [properties(['a'], a=STRING), properties(['b'], b=INTEGER)]},
        [{'kind': 'k', 'a': 'x'}, {'kind': 'k', 'b': 1}],
        [1, {'kind': 1, 'a': 'x'}],
    ),
    of_x(
        'any_of_with_typed_required_beside_properties',
        {
            **properties([], a=STRING, b=INTEGER),
            'oneOf': [{'type': 'object', 'required': ['a']}, {'type': 'object', 'required': ['b']}],
        },
        [{'a': 'x'}, {'b': 1}],
        [1, {'a': 1}],
    ),
    of_x(
        'one_of_variants_in_an_array',
        {
            'type': 'array',
            'items': {
                'oneOf': [
                    properties(['kind', 'a'], kind={'const': 'a'}, a=STRING),
                    properties(['kind', 'b'], kind={'const': 'b'}, b=INTEGER),
                ]
            },
        },
        [[{'kind': 'a', 'a': 'x'}, {'kind': 'b', 'b': 1}], []],
        ['a', [1]],
    ),
    of_x(
        'one_of_with_discriminator',
        {
            'oneOf': [{'$ref': '#/$defs/Cat'}, {'$ref': '#/$defs/Dog'}],
            'discriminator': {'propertyName': 'kind', 'mapping': {'cat': '#/$defs/Cat', 'dog': '#/$defs/Dog'}},
        },
        [{'kind': 'cat', 'meow': 1}, {'kind': 'dog', 'bark': 'x'}],
        [1, 'a'],
        defs={
            'Cat': properties(['kind'], kind={'const': 'cat'}, meow=INTEGER),
            'Dog': properties(['kind'], kind={'const': 'dog'}, bark=STRING),
        },
    ),
    of_x(
        'all_of_one_ref',
        {'allOf': [{'$ref': '#/$defs/E'}], 'description': 'An E.'},
        ['a'],
        ['b', 1],
        "Literal['a']",
        defs={'E': {'enum': ['a']}},
    ),
    of_x(
        'all_of_merges_properties',
        {'allOf': [{'$ref': '#/$defs/A'}, properties(['b'], b=STRING)]},
        [{'a': 1, 'b': 'x'}],
        [{'a': 1}, {'b': 'x'}, {'a': 'x', 'b': 'x'}],
        defs={'A': properties(['a'], a=INTEGER)},
    ),
    of_x(
        'all_of_beside_properties',
        {
            **properties(['c'], c=STRING),
            'allOf': [properties(['a'], a=INTEGER), {'required': ['b'], 'properties': {'b': STRING}}],
        },
        [{'a': 1, 'b': 'x', 'c': 'y'}],
        [{'a': 1, 'b': 'x'}, {'a': 1, 'c': 'y'}],
    ),
    of_x(
        'all_of_with_alternatives',
        {
            'allOf': [
                properties(['a'], a=INTEGER),
                {'anyOf': [properties(['b'], b=STRING), properties(['c'], c=STRING)]},
            ]
        },
        [{'a': 1, 'b': 'x'}, {'a': 1, 'c': 'x'}],
        [1, {'a': 'x', 'b': 'x'}],
    ),
    of_x('all_of_beside_type', {'type': 'string', 'allOf': [{'minLength': 1}]}, ['a'], [1], 'str'),
    of_x(
        'all_of_beside_type_list',
        {'type': ['object', 'null'], 'allOf': [{'properties': {'a': INTEGER}}]},
        [{'a': 1}, None],
        [{'a': 'x'}],
    ),
    of_x('all_of_of_nothing', {'allOf': []}, ['a', 1]),
    of_x(
        'all_of_in_a_circle',
        {'$ref': '#/$defs/A'},
        [{'a': 1}],
        [{'a': 'x'}],
        defs={'A': {'allOf': [{'$ref': '#/$defs/A'}], **properties(['a'], a=INTEGER)}},
    ),
    of_x('not', {'not': STRING}, [1, None, []]),
    of_x(
        'if_then_else',
        {
            **properties(['kind'], kind=STRING),
            'if': {'properties': {'kind': {'const': 'a'}}},
            'then': properties(['a'], a=INTEGER),
            'else': properties(b=STRING),
        },
        [{'kind': 'a', 'a': 1}, {'kind': 'b', 'b': 'x'}],
        [{'a': 1}, 1],
    ),
    of_x(
        'dependent_schemas',
        {**properties(card=STRING), 'dependentSchemas': {'card': properties(['address'], address=STRING)}},
        [{}, {'card': 'c', 'address': 'x'}],
        [{'card': 1}],
    ),
    of_x('nullable', {'type': 'string', 'nullable': True}, ['a', None], [1], 'str | None'),
    of_x(
        'nullable_object',
        {**properties(['a'], a={'$ref': '#/$defs/A', 'nullable': True}), 'nullable': True},
        [None, {'a': None}, {'a': {'b': 1}}],
        [{}, {'a': 1}],
        defs={'A': properties(['b'], b=INTEGER)},
    ),
    of_x('nullable_false', {'type': 'string', 'nullable': False}, ['a'], [None, 1]),
]

_TOP = [
    Case('no_parameters', {'type': 'object', 'properties': {}}, [{}], [{'a': 1}], 'def probe() -> str'),
    Case('empty_schema', {}, [{}], [{'a': 1}]),
    Case('only_type', {'type': 'object'}, [{}], [{'a': 1}]),
    Case('no_type', {'properties': {'a': STRING}, 'required': ['a']}, [{'a': 'x'}], [{}, {'a': 1}]),
    Case('closed', {**properties(['a'], a=STRING), 'additionalProperties': False}, [{'a': 'x'}], [{'a': 'x', 'b': 1}]),
    Case(
        'open',
        {**properties(['a'], a=STRING), 'additionalProperties': True},
        [{'a': 'x'}, {'a': 'x', 'b': 1, 'c': None}],
        [{'b': 1}, {'a': 1}],
    ),
    Case('open_without_properties', {'type': 'object', 'additionalProperties': True}, [{}, {'b': 1}]),
    Case('open_by_an_empty_schema', {**properties(a=STRING), 'additionalProperties': {}}, [{}, {'b': 1}], [{'a': 1}]),
    Case('open_by_a_schema', {**properties(a=STRING), 'additionalProperties': INTEGER}, [{}, {'b': 1}], [{'a': 1}]),
    Case(
        'open_by_patterns',
        {**properties(a=STRING), 'patternProperties': {'^x_': INTEGER}},
        [{}, {'x_b': 1}],
        [{'a': 1}],
    ),
    Case(
        'ref_at_the_top',
        {'$ref': '#/$defs/A', '$defs': {'A': properties(['a'], a=STRING)}},
        [{'a': 'x'}],
        [{}, {'a': 1}],
    ),
    Case(
        'ref_at_the_top_beside_properties',
        {**properties(['b'], b=INTEGER), '$ref': '#/$defs/A', '$defs': {'A': properties(['a'], a=STRING)}},
        [{'a': 'x', 'b': 1}],
        [{'b': 1}, {'a': 'x'}],
    ),
    Case(
        'all_of_at_the_top',
        {
            'type': 'object',
            'allOf': [{'$ref': '#/$defs/A'}, properties(b=INTEGER)],
            '$defs': {'A': properties(['a'], a=STRING)},
        },
        [{'a': 'x'}, {'a': 'x', 'b': 1}],
        [{}, {'a': 'x', 'b': 'y'}],
    ),
    Case(
        'any_of_at_the_top',
        {'anyOf': [properties(['a'], a=STRING), properties(['b', 'c'], b=INTEGER, c=STRING)]},
        [{'a': 'x'}, {'b': 1, 'c': 'x'}],
        [{'a': 1}, {'d': 1}],
    ),
    Case(
        'one_of_with_a_common_parameter',
        {'oneOf': [properties(['id', 'a'], id=STRING, a=STRING), properties(['id', 'b'], id=STRING, b=STRING)]},
        [{'id': 'x', 'a': 'x'}, {'id': 'x', 'b': 'x'}],
        [{'a': 'x'}, {'id': 1, 'a': 'x'}],
    ),
    Case(
        'one_of_with_different_types_of_one_parameter',
        {
            'oneOf': [
                properties(['kind', 'value'], kind={'const': 'text'}, value=STRING),
                properties(['kind', 'value'], kind={'const': 'number'}, value=NUMBER),
            ]
        },
        [{'kind': 'text', 'value': 'x'}, {'kind': 'number', 'value': 1.5}],
        [{'kind': 'other', 'value': 1}, {'kind': 'text', 'value': []}],
    ),
    Case(
        'any_of_of_refs_at_the_top',
        {
            'anyOf': [{'$ref': '#/$defs/A'}, {'$ref': '#/$defs/B'}],
            '$defs': {'A': properties(['a'], a=STRING), 'B': properties(['b'], b=INTEGER)},
        },
        [{'a': 'x'}, {'b': 1}],
        [{'a': 1}],
    ),
    Case(
        'one_of_whose_branches_have_the_same_ref',
        {
            'oneOf': [{'$ref': '#/$defs/A'}, {'allOf': [{'$ref': '#/$defs/A'}, properties(y=INTEGER)]}],
            '$defs': {'A': properties(['x'], x=STRING)},
        },
        [{'x': 'x'}, {'x': 'x', 'y': 1}],
        [{}, {'y': 1}],
    ),
    Case(
        'any_of_beside_properties_at_the_top',
        {**properties(['kind'], kind=STRING), 'anyOf': [properties(['a'], a=STRING), properties(['b'], b=INTEGER)]},
        [{'kind': 'k', 'a': 'x'}, {'kind': 'k', 'b': 1}],
        [{'a': 'x'}, {'kind': 'k', 'b': 'x'}, {'kind': 'k', 'c': 1}],
    ),
    Case(
        'any_of_with_only_required_at_the_top',
        {**properties([], a=STRING, b=INTEGER), 'anyOf': [{'required': ['a']}, {'required': ['b']}]},
        [{'a': 'x'}, {'b': 1}],
        [{'a': 1}],
    ),
    Case(
        'if_then_at_the_top',
        {**properties(['kind'], kind=STRING), 'if': {}, 'then': properties(a=INTEGER)},
        [{'kind': 'x'}, {'kind': 'x', 'a': 1}],
        [{'kind': 'x', 'a': 'y'}, {'a': 1}],
    ),
    Case(
        'open_variant_at_the_top',
        {'anyOf': [{**properties(['a'], a=STRING), 'additionalProperties': True}, properties(['b'], b=INTEGER)]},
        [{'a': 'x', 'more': 1}, {'b': 1}],
        [{'a': 1}],
    ),
    Case(
        'properties_that_are_booleans',
        {'type': 'object', 'properties': {'a': True, 'b': False}, 'required': ['a']},
        [{'a': 1}, {'a': None}],
        [{}],
    ),
    Case(
        'malformed',
        {'type': 'object', 'properties': ['a'], 'required': 'a', 'anyOf': {'a': 1}, 'allOf': 5, '$defs': []},
        [{}],
        [{'a': 1}],
    ),
    Case(
        'malformed_parameters',
        {
            'type': 'object',
            'properties': {
                'a': None,
                'b': 5,
                'c': 'string',
                'd': ['x'],
                'e': {'type': {'a': 1}},
                'f': {'enum': 'abc'},
                'g': {'items': 'x', 'type': 'array'},
                'h': {'type': 'any'},
                'i': {'description': 5},
            },
        },
        [{}, {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': [7], 'h': 8, 'i': 9}],
    ),
    Case(
        'many_properties',
        properties(**{f'property_{number}': STRING for number in range(2_000)}),
        [{}, {'property_0': 'a', 'property_1999': 'b'}],
        [{'property_0': 1}, {'property_2000': 'x'}],
    ),
]

_OBJECTS = [
    of_x('object', {'type': 'object'}, [{}, {'a': 1}], [1, [], 'a'], 'dict[str, Any]'),
    of_x(
        'object_of_a_schema',
        {'type': 'object', 'additionalProperties': INTEGER},
        [{}, {'a': 1}],
        [{'a': 'x'}, 1],
        'dict[str, int]',
    ),
    of_x('object_open_by_true', {'type': 'object', 'additionalProperties': True}, [{}, {'a': None}], [1]),
    of_x('object_closed_without_properties', {'type': 'object', 'additionalProperties': False}, [{}], [1]),
    of_x(
        'object_open_with_properties',
        {**properties(['a'], a=INTEGER), 'additionalProperties': True},
        [{'a': 1}, {'a': 1, 'b': 'x'}],
        [1],
    ),
    of_x(
        'object_of_a_schema_with_properties',
        {**properties(['a'], a=INTEGER), 'additionalProperties': STRING},
        [{'a': 1}, {'a': 1, 'b': 'x'}],
        [1],
    ),
    of_x(
        'object_closed_with_properties',
        {**properties(['a'], a=INTEGER), 'additionalProperties': False},
        [{'a': 1}],
        [{'a': 1, 'b': 'x'}, {}],
    ),
    of_x(
        'object_of_patterns',
        {'type': 'object', 'patternProperties': {'^a': INTEGER, '^b': STRING}},
        [{'a1': 1, 'b1': 'x'}],
        [1, {'a': []}],
        'dict[str, int | str]',
    ),
    of_x(
        'object_of_patterns_with_properties',
        {**properties(['a'], a=INTEGER), 'patternProperties': {'^b': STRING}},
        [{'a': 1, 'b1': 'x'}],
        [1],
    ),
    of_x('object_of_anything', {'type': 'object', 'additionalProperties': {}}, [{'a': 1}], [1]),
    of_x(
        'object_of_objects',
        {'type': 'object', 'additionalProperties': properties(['a'], a=INTEGER)},
        [{'k': {'a': 1}}],
        [{'k': {}}, {'k': {'a': 'x'}}, 1],
    ),
    of_x(
        'object_of_nullable',
        {'type': 'object', 'additionalProperties': {'type': ['string', 'null']}},
        [{'k': None, 'l': 'x'}],
        [{'k': 1}],
    ),
    of_x(
        'property_names',
        {'type': 'object', 'propertyNames': {'pattern': '^a'}, 'additionalProperties': STRING},
        [{'a': 'x'}],
        [{'a': 1}],
    ),
]

_ARRAYS = [
    of_x('array_without_items', {'type': 'array'}, [[], [1, 'a', None]], [1, 'a'], 'list[Any]'),
    of_x('array_of_anything', {'type': 'array', 'items': True}, [[], [1, 'a']], [1]),
    of_x('array_of_nothing', {'type': 'array', 'items': False}, [[]], [1]),
    of_x('array_by_items_only', {'items': INTEGER}, [[], [1]], [['a']]),
    of_x(
        'array_of_arrays',
        {'type': 'array', 'items': {'type': 'array', 'items': INTEGER}},
        [[[1], []]],
        [[1], [['a']]],
        'list[list[int]]',
    ),
    of_x(
        'tuple_by_prefix_items',
        {'type': 'array', 'prefixItems': [STRING, INTEGER]},
        [['a', 1]],
        [1, [None, []]],
        'list[str | int]',
    ),
    of_x('tuple_with_a_rest', {'type': 'array', 'prefixItems': [STRING], 'items': INTEGER}, [['a', 1, 2]], [[None]]),
    of_x('tuple_without_a_rest', {'type': 'array', 'prefixItems': [STRING], 'items': False}, [['a']], [[1]]),
    of_x(
        'tuple_by_a_list_of_items', {'type': 'array', 'items': [STRING, {'type': 'boolean'}]}, [['a', True]], [[None]]
    ),
    of_x('tuple_of_nothing', {'type': 'array', 'prefixItems': []}, [[], [1]], [1]),
    of_x('tuple_of_booleans', {'type': 'array', 'prefixItems': [True, False]}, [[1]], [1]),
]

_SCALARS = [
    of_x('no_type', {}, ['a', 1, None, [], {}], shows='Any'),
    of_x('true', True, ['a', 1, None, [], {}], shows='Any'),
    of_x('false', False, ['a'], shows='Any'),
    of_x('string', STRING, ['a', '', 'a\nb'], [1, None, [], {}], 'str'),
    of_x('integer', INTEGER, [1, -1, 10**20], ['a', None, []], 'int'),
    of_x('number', NUMBER, [1, 1.5, -2.5], ['a', None, []], 'float'),
    of_x('boolean', {'type': 'boolean'}, [True, False], ['a', None, []], 'bool'),
    of_x('null', NULL, [None], ['a', 1], 'None'),
    of_x('unknown_type', {'type': 'file'}, ['a', 1]),
]

_TITLES = [
    Case(
        'titles_that_repeat_with_different_shapes',
        properties(
            a={'title': 'Item', **properties(['p'], p=STRING)},
            b={'title': 'Item', **properties(['q'], q=INTEGER)},
            c={'title': 'Item', **properties(['p'], p=STRING)},
        ),
        [{'a': {'p': 'x'}, 'b': {'q': 1}, 'c': {'p': 'y'}}],
        [{'a': {'q': 1}}, {'b': {'p': 'x'}}, {'c': {'q': 1}}],
    ),
    *(
        of_x(
            f'title_{title!a}',
            {'title': title, **properties(['a'], a=STRING, b={'title': 'Any', **properties(c=STRING)})},
            [{'a': 'x', 'b': {'c': 'y'}}],
            [{}, {'a': 1}, {'a': 'x', 'b': {'c': 1}}],
        )
        for title in (
            'Any',
            'TypedDict',
            'str',
            'print',
            'probe',
            'A Title',
            'class',
            '',
            '天',
            'Foo[Bar]',
            'x__in',
            'Item__in',
            '__Item',
        )
    ),
    Case(
        'title_that_ends_like_a_checked_name',
        properties(
            a={'title': 'Item', **properties(['p'], p=STRING)}, b={'title': 'Item__in', **properties(['q'], q=INTEGER)}
        ),
        [{'a': {'p': 'x'}, 'b': {'q': 1}}],
        [{'a': {'q': 1}}, {'b': {'p': 'x'}}],
    ),
]


def nested(depth: int, innermost: Schema) -> dict[str, Any]:
    schema: Any = innermost
    for _ in range(depth):
        schema = properties(['a'], a=schema)
    return schema


def nested_value(depth: int, innermost: object) -> dict[str, Any]:
    value: Any = innermost
    for _ in range(depth):
        value = {'a': value}
    return value


def nested_list(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {'type': 'integer'}
    for _ in range(depth):
        schema = {'type': 'array', 'items': schema}
    return schema


_DEEP = [
    of_x('deep_objects', nested(100, STRING), [nested_value(100, 'x')], [{'b': 1}, {'a': 1}]),
    of_x('deep_lists', nested_list(100), [[[[]]]], [1]),
    of_x('deep_unions', {'anyOf': [STRING, nested(30, {'anyOf': [STRING, NULL]})]}, ['a', nested_value(30, None)], [1]),
]

CASES = [
    *_NAMES,
    *_DEFAULTS,
    *_ENUMS,
    *_REFERENCES,
    *_COMBINATIONS,
    *_TOP,
    *_OBJECTS,
    *_ARRAYS,
    *_SCALARS,
    *_TITLES,
    *_DEEP,
]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case.name)
async def test_cm4_any_schema_gives_python_and_calls_arrive_as_sent(case: Case, checker: TypeChecker) -> None:
    toolset = RecordingToolset([probe(case.schema)])
    catalog = Catalog.build(toolset.tools)
    function = catalog.functions['probe']
    assert_valid(checker, catalog, allowed=case.allowed)
    assert case.shows in catalog.shown
    right = list_text([call_text(function, arguments) for arguments in case.right])
    assert problems(checker, catalog, right) == []
    wrong = list_text([call_text(function, arguments) for arguments in case.wrong])
    assert refused_lines(checker, catalog, wrong) == set(range(2, len(case.wrong) + 2))
    returned = await run_recorded(right, toolset)
    assert returned.outcome == 'success', returned.content
    assert toolset.calls == [('probe', arguments) for arguments in case.right]


# -- any schema at all ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Described:
    """A schema with a value that it describes."""

    schema: Any
    value: Any
    defs: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def wrapped(self, schema: Any, value: Any) -> Described:
        return Described(schema, value, self.defs)


KEYS = st.sampled_from(['a', 'b', 'from', 'a-b', '$ref', '__x', 'str', 'dict', 'properties', 'type', 'items', 'é', ''])
TITLES = st.sampled_from(['Item', 'Any', 'str', 'probe', 'A B', 'Foo[Bar]', 'Item__in', 'a.b', 'class', ''])
TEXTS = st.text(max_size=8) | st.sampled_from(['"', "'", '\\', '"""', '\\"', '# x', '`a`', '| None', 'nan', 'inf'])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(KEYS | TEXTS, children, max_size=3),
    max_leaves=4,
)
LEAVES = st.one_of(
    TEXTS.map(lambda value: Described(STRING, value)),
    st.integers().map(lambda value: Described(INTEGER, value)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: Described(NUMBER, value)),
    st.booleans().map(lambda value: Described({'type': 'boolean'}, value)),
    st.just(Described(NULL, None)),
    JSON_VALUES.map(lambda value: Described({}, value)),
    JSON_VALUES.map(lambda value: Described(True, value)),
    JSON_VALUES.map(lambda value: Described({'const': value}, value)),
    st.lists(JSON_VALUES, min_size=1, max_size=4).map(lambda values: Described({'enum': values}, values[-1])),
    st.lists(TEXTS, min_size=1, max_size=4).map(lambda values: Described({'enum': values}, values[0])),
)


def joined(parts: Sequence[Described]) -> dict[str, Any]:
    return {name: schema for part in parts for name, schema in part.defs.items()}


@st.composite
def objects(draw: st.DrawFn, children: st.SearchStrategy[Described]) -> Described:
    members = draw(st.dictionaries(KEYS, children, max_size=3))
    required = [key for key in members if draw(st.booleans())]
    sent = [key for key in members if key in required or draw(st.booleans())]
    schema: dict[str, Any] = {
        'type': 'object',
        'properties': {key: member.schema for key, member in members.items()},
        'required': required,
    }
    value = {key: members[key].value for key in sent}
    if draw(st.booleans()):
        schema['additionalProperties'] = draw(st.booleans())
    if draw(st.booleans()):
        schema = {'allOf': [schema, {'required': required[:1]}]}
    return Described(schema, value, joined(list(members.values())))


@st.composite
def combinations(draw: st.DrawFn, children: st.SearchStrategy[Described]) -> Described:
    parts = draw(st.lists(children, min_size=1, max_size=3))
    chosen = draw(st.sampled_from(parts))
    schema = {draw(st.sampled_from(['anyOf', 'oneOf'])): [part.schema for part in parts]}
    return Described(schema, chosen.value, joined(parts))


@st.composite
def arrays(draw: st.DrawFn, children: st.SearchStrategy[Described]) -> Described:
    parts = draw(st.lists(children, max_size=3))
    schemas = [part.schema for part in parts]
    items: dict[str, Any] = draw(st.sampled_from([{'prefixItems': schemas}, {'items': {'anyOf': schemas}}]))
    return Described({'type': 'array', **items}, [part.value for part in parts], joined(parts))


@st.composite
def references(draw: st.DrawFn, children: st.SearchStrategy[Described]) -> Described:
    target = draw(children)
    name = f'{draw(TITLES)}{hashlib.sha256(repr(target.schema).encode()).hexdigest()[:4]}'
    return Described({'$ref': f'#/$defs/{name}'}, target.value, {**target.defs, name: target.schema})


@st.composite
def decorated(draw: st.DrawFn, children: st.SearchStrategy[Described]) -> Described:
    inner = draw(children)
    if isinstance(inner.schema, bool):
        return inner
    extra: dict[str, Any] = draw(
        st.fixed_dictionaries({}, optional={'title': TITLES, 'description': TEXTS, 'default': JSON_VALUES})
    )
    nullable = inner.schema.get('nullable', False) or draw(st.booleans())
    value = None if nullable and draw(st.booleans()) else inner.value
    return inner.wrapped({**inner.schema, **extra, 'nullable': nullable}, value)


def maps(children: st.SearchStrategy[Described]) -> st.SearchStrategy[Described]:
    return children.map(
        lambda inner: inner.wrapped({'type': 'object', 'additionalProperties': inner.schema}, {'k': inner.value})
    )


DESCRIBED = st.recursive(
    LEAVES,
    lambda children: st.one_of(
        objects(children),
        combinations(children),
        arrays(children),
        references(children),
        decorated(children),
        maps(children),
    ),
    max_leaves=10,
)


@given(one=objects(DESCRIBED))
@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_cm5_no_value_that_a_schema_describes_is_refused(one: Described, checker: TypeChecker) -> None:
    catalog = Catalog.build([probe({**one.schema, '$defs': one.defs})])
    assert_valid(checker, catalog, allowed='Default value|Missing required key|Invalid argument to key|Unknown key')
    function = catalog.functions['probe']
    assert problems(checker, catalog, call_text(function, one.value)) == []
    names = {parameter.key: parameter.name for parameter in function.parameters}
    arguments = function.arguments({names[key]: value for key, value in one.value.items()})
    left_out = {parameter.key for parameter in function.parameters if parameter.none_means_left_out}
    assert arguments == {key: value for key, value in one.value.items() if value is not None or key not in left_out}


JUNK_KEYS = st.sampled_from(
    [
        *('type', 'properties', 'required', 'items', 'prefixItems', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'not'),
        *('if', 'then', 'else', '$ref', '$defs', 'definitions', 'title', 'description', 'default', 'nullable', 'a'),
        *('additionalProperties', 'patternProperties', 'dependentSchemas', 'result'),
    ]
)
JUNK = st.recursive(
    JSON_VALUES | TITLES | st.sampled_from(['object', 'array', 'string', 'null', '#', '#/$defs/a', '#/properties/a']),
    lambda children: st.dictionaries(JUNK_KEYS, children, max_size=5) | st.lists(children, max_size=3),
    max_leaves=25,
)


@given(schema=st.dictionaries(JUNK_KEYS, JUNK, max_size=6), returned=st.dictionaries(JUNK_KEYS, JUNK, max_size=4))
@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_cm4_whatever_is_in_a_schema_the_catalog_is_python(
    schema: dict[str, Any], returned: dict[str, Any], checker: TypeChecker
) -> None:
    tool = probe(schema, return_schema=returned, metadata={'meta': None, 'annotations': None, 'task': False})
    other = probe(schema, name='other', return_schema=None, description=repr(schema))
    assert_valid(
        checker,
        Catalog.build([tool, other]),
        allowed='Default value|Missing required key|Invalid argument to key|Unknown key',
    )
