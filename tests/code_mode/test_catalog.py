"""CM-4, CM-6: functions in code, their names and signatures, and what crosses when they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, NotRequired, TypeVar
from uuid import UUID

import pydantic_core
import pytest
from inline_snapshot import snapshot
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field
from pydantic_ai import FunctionToolset, Tool
from pydantic_ai.tools import ToolDefinition
from typing_extensions import TypedDict

from pydantic_ai_harness.code_mode.catalog import Catalog
from pydantic_ai_harness.errors import ToolNameConflictError
from pydantic_ai_harness.narrowing import is_list, is_mapping
from pydantic_ai_harness.sandbox import TypeChecker, WorkerPool
from tests.code_mode.schema_tools import (
    RecordingToolset,
    Schema,
    assert_valid,
    probe,
    problems,
    properties,
    run_recorded,
    validate,
)
from tests.support import ScriptedModel, make_agent, run_snippet

STRING = {'type': 'string'}
INTEGER = {'type': 'integer'}
MCP = {'meta': None, 'annotations': None, 'task': False}

pytestmark = pytest.mark.filterwarnings('ignore::pydantic_ai_harness.code_mode.toolset.MissingReturnSchemaWarning')


@pytest.fixture(scope='module')
def checker() -> Iterator[TypeChecker]:
    pool = WorkerPool()
    yield pool.type_checker
    pool.close()


def shown(*tools: ToolDefinition) -> str:
    return Catalog.build(tools).shown


# -- what the model reads ------------------------------------------------------------------------------------------


def test_cm4_a_signature_is_typed_keyword_only_and_has_its_docstring() -> None:
    weather = {
        'title': 'Weather',
        'description': 'The weather\nof one place.',
        **properties(
            ['city'],
            city=STRING,
            sky={'enum': ['clear', 'grey'], 'description': 'Above.'},
            wind={'title': 'Wind', **properties(['speed'], speed={'type': 'number'})},
        ),
    }
    tool = probe(
        properties(
            ['city', 'days'],
            unit={'enum': ['c', 'f'], 'default': 'c', 'description': 'Of the\n temperature.'},
            city={**STRING, 'description': 'The name.'},
            days={**INTEGER, 'default': 3},
            lang=STRING,
            near={'anyOf': [{'type': 'array', 'items': STRING}, {'type': 'null'}]},
        ),
        name='get-weather',
        description='Tell the weather.\n\nOf a city.',
        return_schema=weather,
    )
    other = probe({}, name='restart', description=None, return_schema=None, sequential=True)
    assert shown(tool, other) == snapshot('''\
class Wind(TypedDict):
    speed: float

class Weather(TypedDict):
    # The weather of one place.
    city: str
    sky: NotRequired[Literal['clear', 'grey']]  # Above.
    wind: NotRequired[Wind]

async def get_weather(*, city: str, days: int, unit: Literal['c', 'f'] = 'c', lang: str | None = None, near: list[str] | None = None) -> Weather:
    """Tell the weather.

    Of a city.

    Args:
        city: The name.
        unit: Of the temperature.
    """

def restart() -> Any: ...\
''')


def test_cm4_each_type_is_shown_once() -> None:
    point = {'title': 'Point', **properties(['x'], x=INTEGER)}
    other_point = {'title': 'Point', **properties(['y'], y=STRING)}
    tree = {**properties(['name'], name=STRING, children={'type': 'array', 'items': {'$ref': '#/$defs/Tree'}})}
    tools = [
        probe(
            {**properties(a=schema, tree={'$ref': '#/$defs/Tree'}), '$defs': {'Tree': tree}},
            name=f'tool_{number}',
            return_schema=schema,
        )
        for number, schema in enumerate([point, other_point, point, other_point])
    ]
    assert shown(*tools) == snapshot("""\
class Point(TypedDict):
    x: int

class Tree(TypedDict):
    name: str
    children: NotRequired[list[Tree]]

class Point_2(TypedDict):
    y: str

async def tool_0(*, a: Point | None = None, tree: Tree | None = None) -> Point: ...

async def tool_1(*, a: Point_2 | None = None, tree: Tree | None = None) -> Point_2: ...

async def tool_2(*, a: Point | None = None, tree: Tree | None = None) -> Point: ...

async def tool_3(*, a: Point_2 | None = None, tree: Tree | None = None) -> Point_2: ...\
""")


def test_cm4_types_that_differ_only_inside_keep_apart(checker: TypeChecker) -> None:
    def tool(name: str, kind: Schema) -> ToolDefinition:
        defs = {
            'A': properties(x={'anyOf': [{'$ref': '#/$defs/B'}, {}]}),
            'B': properties(a={'$ref': '#/$defs/A'}, k=kind),
            'C': properties(d={'$ref': '#/$defs/D'}),
            'D': properties(c={'$ref': '#/$defs/C'}, k=kind),
        }
        return probe({**properties(a={'$ref': '#/$defs/A'}, c={'$ref': '#/$defs/C'}), '$defs': defs}, name=name)

    catalog = Catalog.build([tool('one', STRING), tool('two', INTEGER), tool('three', STRING)])
    assert_valid(checker, catalog)
    assert problems(checker, catalog, "await one(c={'d': {'k': 'x'}})\nawait two(c={'d': {'k': 1}})") == []
    assert len(problems(checker, catalog, "await one(c={'d': {'k': 1}})\nawait two(c={'d': {'k': 'x'}})")) == 2


def test_cm4_recursive_open_results_may_have_other_keys_at_every_level(checker: TypeChecker) -> None:
    node = {**properties(kids={'type': 'array', 'items': {'$ref': '#/$defs/Node'}}), 'additionalProperties': True}
    catalog = Catalog.build([probe({}, return_schema={'$ref': '#/$defs/Node', '$defs': {'Node': node}})])
    assert problems(checker, catalog, "x = await probe()\n[x['other'], x['kids'][0]['other']]") == []


def test_cm4_keys_that_are_no_names_are_shown_as_they_are() -> None:
    filters = properties(**{'$and': {'type': 'array', 'items': {'$ref': '#/$defs/Filter'}}, 'from': STRING})
    assert shown(probe({**properties(where={'$ref': '#/$defs/Filter'}), '$defs': {'Filter': filters}})) == snapshot("""\
Filter = TypedDict('Filter', {
    '$and': 'NotRequired[list[Filter]]',
    'from': NotRequired[str],
})

async def probe(*, where: Filter | None = None) -> str: ...\
""")


def test_cm4_open_objects_say_so() -> None:
    schema = {**properties(['a'], a=STRING), 'additionalProperties': True}
    assert shown(probe({**properties(x=schema), 'additionalProperties': True}, return_schema=schema)) == snapshot("""\
class ProbeX(TypedDict):
    a: str
    # Other keys are allowed.

class ProbeResult(TypedDict):
    a: str
    # Other keys are allowed.

async def probe(*, x: ProbeX | None = None, **others: Any) -> ProbeResult: ...\
""")


def test_cm4_the_order_of_an_enum_is_kept() -> None:
    tool = probe(properties(x={'enum': [1.5, {'a': 1}, [1], 'a', None]}))
    assert shown(tool) == snapshot(
        'async def probe(*, x: float | dict[str, Any] | list[Any] | str | None = None) -> str: ...'
    )


DESCRIPTIONS = [
    'ends in a quote"',
    'ends in a backslash\\',
    'holds """ and \'\'\' and \\ and \\"""',
    '"""',
    '\x00\x1b[31m\r\n\u2028\ud800',
    '```python\nf()\n```',
    'very long. ' * 1_000,
    '# type: ignore',
    'a\n        indented\n\ttext',
    '',
    '   ',
]


@pytest.mark.parametrize('text', DESCRIPTIONS, ids=lambda text: ascii(text)[:30])
def test_cm4_descriptions_stay_in_their_place(text: str, checker: TypeChecker) -> None:
    member = {**STRING, 'description': text}
    schema = {**properties(['a'], a=member, **{'a-b': member}), 'description': text, 'title': text}
    tool = probe(properties(a=member, b=schema), description=text, return_schema=schema)
    catalog = Catalog.build([tool, probe(properties(), name='other', description=text)])
    assert_valid(checker, catalog, allowed='Unused blanket `type: ignore`')
    names = [node.name for node in ast.parse(catalog.shown).body if isinstance(node, ast.AsyncFunctionDef)]
    assert names == ['probe', 'other']
    assert problems(checker, catalog, "await probe(a='x', b={'a': 'x', 'a-b': 'y'})") == []


# -- names ---------------------------------------------------------------------------------------------------------

NAMES = {
    'get-weather': 'get_weather',
    'a.b/c d': 'a_b_c_d',
    '2fa': '_2fa',
    'from': 'from_',
    'print': 'print_',
    'list': 'list_',
    'Any': 'Any_',
    'TypedDict': 'TypedDict_',
    'type': 'type_',
    '__debug__': '__debug___',
    'größe': 'gr_e',
    '天气': 'tool',
    'match': 'match',
    'asyncio': 'asyncio',
    'self': 'self',
    'x__in': 'x__in',
}


@pytest.mark.parametrize(('tool_name', 'name'), NAMES.items(), ids=ascii)
async def test_cm4_names_are_made_identifiers_and_mapped_back(tool_name: str, name: str, checker: TypeChecker) -> None:
    member = {'title': 'x', **properties(['a'], a=STRING)}
    toolset = RecordingToolset([probe(properties(['x'], x=member), name=tool_name, return_schema=member)])
    catalog = Catalog.build(toolset.tools)
    assert list(catalog.functions) == [name]
    assert_valid(checker, catalog)
    returned = await run_recorded(f"await {name}(x={{'a': 'b'}})", toolset)
    assert (returned.outcome, returned.content) == ('success', 'done')
    assert toolset.calls == [(tool_name, {'x': {'a': 'b'}})]


@pytest.mark.parametrize(
    ('one', 'other'), [('get-weather', 'get_weather'), ('list', 'list_'), ('a.b', 'a-b'), ('天', '气'), ('Any', 'Any_')]
)
async def test_cm4_two_tools_under_one_name_are_named(one: str, other: str) -> None:
    toolset = RecordingToolset([probe({}, name=one), probe({}, name=other)])
    with pytest.raises(ToolNameConflictError) as caught:
        await run_recorded('1', toolset)
    assert repr(one) in str(caught.value)
    assert repr(other) in str(caught.value)


async def test_cm4_a_tool_named_run_code_is_told_how_to_go_on() -> None:
    toolset = RecordingToolset([probe({}, name='run_code')])
    with pytest.raises(ToolNameConflictError, match=r"'run_code'.*CodeMode.*prefixed"):
        await run_recorded('1', toolset)
    script = ScriptedModel(['await mine_run_code()'])
    await make_agent(script, toolsets=[toolset.prefixed('mine')]).run('go')
    assert toolset.calls == [('run_code', {})]


def test_cm4_types_keep_clear_of_functions(checker: TypeChecker) -> None:
    schema = {'title': 'Item', **properties(['a'], a=STRING)}
    tools = [
        probe(properties(['x'], x=schema), name='Item', return_schema=schema),
        probe(properties(['x'], x=schema), name='Item_2__in', return_schema=schema),
    ]
    catalog = Catalog.build(tools)
    assert_valid(checker, catalog)
    code = "a = await Item(x={'a': 'x'})\nb = await Item_2__in(x=a)\nb['a']"
    assert problems(checker, catalog, code) == []
    assert problems(checker, catalog, code + "\nb['b']") != []


def test_cm4_sequential_tools_are_plain_functions() -> None:
    catalog = Catalog.build([probe({}, name='a', sequential=True), probe({}, name='b')])
    assert catalog.kinds == {'a': 'plain', 'b': 'async'}
    assert 'def a() -> str: ...\n\nasync def b()' in catalog.shown


# -- arguments -----------------------------------------------------------------------------------------------------

NULLABLE: Mapping[str, tuple[Schema, bool]] = {
    'string': (STRING, False),
    'enum': ({'enum': ['a']}, False),
    'object': (properties(a=STRING), False),
    'union': ({'anyOf': [STRING, INTEGER]}, False),
    'default_null': ({**STRING, 'default': None}, False),
    'type_list': ({'type': ['string', 'null']}, True),
    'any_of_null': ({'anyOf': [STRING, {'type': 'null'}], 'default': 'x'}, True),
    'nullable': ({**STRING, 'nullable': True}, True),
    'enum_with_null': ({'enum': ['a', None]}, True),
    'anything': ({}, True),
    'true': (True, True),
    'ref_to_nullable': ({'$ref': '#/$defs/N'}, True),
    'ref_to_object_or_null': ({'$ref': '#/$defs/O'}, True),
}


@pytest.mark.parametrize('kind', NULLABLE)
async def test_cm6_none_is_sent_only_where_the_schema_allows_it(kind: str) -> None:
    schema, is_sent = NULLABLE[kind]
    defs = {'N': {'anyOf': [STRING, {'type': 'null'}]}, 'O': {**properties(a=STRING), 'type': ['object', 'null']}}
    toolset = RecordingToolset([probe({**properties(x=schema), '$defs': defs})])
    returned = await run_recorded('x = None\nawait probe(x=None)\nawait probe(x=x)\nawait probe()', toolset)
    assert returned.outcome == 'success', returned.content
    sent = {'x': None} if is_sent else {}
    assert toolset.calls == [('probe', sent), ('probe', sent), ('probe', {})]


async def test_cm6_none_for_a_required_argument_is_refused() -> None:
    toolset = RecordingToolset([probe(properties(['x'], x=STRING))])
    returned = await run_recorded('await probe(x=None)', toolset)
    assert (returned.outcome, toolset.calls) == ('retried', [])


async def test_cm6_a_default_is_left_to_the_tool() -> None:
    schema = properties(x={**STRING, 'default': 'a'}, y={**INTEGER, 'default': 'forbidden'}, z={'default': None})
    toolset = RecordingToolset([probe(schema)])
    await run_recorded("await probe()\nawait probe(x='a')", toolset)
    assert toolset.calls == [('probe', {}), ('probe', {'x': 'a'})]


@pytest.mark.parametrize(
    ('extra', 'is_open'),
    [({}, False), ({'additionalProperties': False}, False), ({'additionalProperties': True}, True)],
)
async def test_cm6_other_arguments_only_where_the_schema_says_so(extra: dict[str, bool], is_open: bool) -> None:
    toolset = RecordingToolset([probe({**properties(a=STRING), **extra})])
    for code in ("await probe(a='x', b=1)", "more = {'b': 1}\nawait probe(a='x', **more)"):
        returned = await run_recorded(code, toolset)
        assert returned.outcome == ('success' if is_open else 'retried')
    assert toolset.calls == [('probe', {'a': 'x', 'b': 1})] * (2 if is_open else 0)


async def test_cm6_an_unexpected_argument_that_no_check_can_see_is_told_with_those_there_are() -> None:
    toolset = RecordingToolset([probe(properties(a=STRING, **{'from': STRING}))])
    returned = await run_recorded("more = {'b': 1}\nawait probe(**more)", toolset)
    assert "probe() got an unexpected keyword argument 'b'; its arguments are: a, from_" in str(returned.content)
    toolset = RecordingToolset([probe({})])
    returned = await run_recorded("more = {'b': 1}\nawait probe(**more)", toolset)
    assert 'its arguments are: none' in str(returned.content)


async def test_cm6_arguments_arrive_in_their_json_shape() -> None:
    code = """\
from datetime import date
from dataclasses import dataclass
@dataclass
class P:
    x: int
value = {1: (1, 2), 'set': {3}, 'day': date(2020, 1, 2), 'p': P(x=4)}
await probe(x=value)
"""
    toolset = RecordingToolset([probe(properties(['x'], x={}))])
    returned = await run_recorded(code, toolset)
    assert returned.outcome == 'success', returned.content
    assert toolset.calls == [('probe', {'x': {'1': [1, 2], 'set': [3], 'day': '2020-01-02', 'p': {'x': 4}}})]


# -- results -------------------------------------------------------------------------------------------------------

WRAPPED = properties(['result'], result={'type': 'array', 'items': INTEGER})


@pytest.mark.parametrize(
    ('schema', 'metadata', 'returns'),
    [
        (WRAPPED, MCP, 'list[int]'),
        (WRAPPED, None, 'ProbeResult'),
        (WRAPPED, {'other': 1}, 'ProbeResult'),
        ({**WRAPPED, 'x-fastmcp-wrap-result': True}, MCP, 'list[int]'),
        (properties(['result'], result={'$ref': '#/$defs/A'}) | {'$defs': {'A': INTEGER}}, MCP, 'int'),
        (properties(['result'], result={'$ref': '#/definitions/A'}) | {'definitions': {'A': STRING}}, MCP, 'str'),
        (properties(['result'], result=True), MCP, 'Any'),
        (properties(['result', 'more'], result=INTEGER, more=STRING), MCP, 'ProbeResult'),
        (properties(['result'], result=INTEGER, more=STRING), MCP, 'ProbeResult | int'),
        (properties(['a'], a=INTEGER), MCP, 'ProbeResult'),
        ({'type': 'object'}, MCP, 'dict[str, Any]'),
        ({}, MCP, 'Any'),
        (None, MCP, 'Any'),
        (None, None, 'Any'),
    ],
)
def test_cm4_results_of_mcp_tools_are_unwrapped_in_the_signature(
    schema: dict[str, Any] | None, metadata: dict[str, Any] | None, returns: str, checker: TypeChecker
) -> None:
    catalog = Catalog.build([probe({}, return_schema=schema, metadata=metadata)])
    assert catalog.functions['probe'].signature == f'async def probe() -> {returns}'
    assert_valid(checker, catalog)


def test_cm4_tools_without_a_return_schema_are_known() -> None:
    catalog = Catalog.build([probe({}, return_schema=schema, name=f'a-{schema}') for schema in (None, {}, STRING)])
    assert catalog.without_return_schema == ['a-None', 'a-{}']


class Colour(Enum):
    RED = 'red'


class Money(BaseModel):
    amount: Decimal
    at: datetime


class Person(BaseModel):
    """Somebody."""

    id: UUID
    name: str = Field(alias='fullName')
    born: date | None = None
    hidden: int = Field(default=1, exclude=True)
    paid: list[Money] = Field(default_factory=list[Money])

    @computed_field
    @property
    def initials(self) -> str:
        return self.name[0]


@dataclass
class Folder:
    name: str
    folders: list[Folder] = field(default_factory=list['Folder'])
    sizes: dict[int, Decimal] = field(default_factory=dict[int, Decimal])


class Row(TypedDict):
    at: datetime
    where: Path
    owner: NotRequired[Person]


class Point(NamedTuple):
    x: int
    label: str


ItemT = TypeVar('ItemT')


class Page(BaseModel, Generic[ItemT]):
    items: list[ItemT]
    next: str | None


class Loose(BaseModel):
    model_config = ConfigDict(extra='allow')

    a: int


class Numbers(RootModel[list[int]]):
    pass


DAY = datetime(2020, 1, 2, 3)
ADA = Person(id=UUID(int=1), fullName='Ada', born=DAY.date(), paid=[Money(amount=Decimal('1.50'), at=DAY)])
DESCRIBED: list[tuple[Any, object, str]] = [
    (datetime, DAY, 'str'),
    (timedelta, timedelta(hours=1), 'str'),
    (UUID, UUID(int=1), 'str'),
    (Decimal, Decimal('1.5'), 'str'),
    (Path, Path('/a'), 'str'),
    (Colour, Colour.RED, "Literal['red']"),
    (Literal['a', 1], 'a', "Literal['a', 1]"),
    (Person, ADA, 'Person'),
    (Person | None, ADA, 'Person | None'),
    (list[Person], [ADA], 'list[Person]'),
    (Folder, Folder('a', [Folder('b')], {1: Decimal(2)}), 'Folder'),
    (Row, {'at': DAY, 'where': Path('/a'), 'owner': ADA}, 'Row'),
    (Row, {'at': DAY, 'where': Path('/a')}, 'Row'),
    (Point, Point(1, 'a'), 'list[int | str]'),
    (tuple[int, ...], (1, 2), 'list[int]'),
    (set[int], {1}, 'list[int]'),
    (dict[UUID, Colour], {UUID(int=1): Colour.RED}, "dict[str, Literal['red']]"),
    (dict[int, list[Money]], {1: ADA.paid}, 'dict[str, list[Money]]'),
    (Page[Money], Page[Money](items=ADA.paid, next=None), 'GetResult'),
    (Loose, Loose.model_validate({'a': 1, 'b': DAY}), 'Loose'),
    (Numbers, Numbers([1]), 'list[int]'),
    (int | str, 'a', 'int | str'),
    (float, 1, 'float'),
    (bool, True, 'bool'),
]


@pytest.mark.parametrize(('annotation', 'value', 'returns'), DESCRIBED, ids=lambda one: str(one)[:40])
async def test_cm6_a_result_has_the_shape_that_the_signature_promises(
    annotation: Any, value: object, returns: str, checker: TypeChecker
) -> None:
    def get() -> Any:
        return value

    get.__annotations__['return'] = annotation
    tool = Tool[None](get)
    schema = tool.tool_def.return_schema
    assert schema is not None
    catalog = Catalog.build([tool.tool_def])
    assert_valid(checker, catalog)
    assert catalog.functions['get'].signature == f'async def get() -> {returns}'
    returned = await run_snippet('await get()', tools=[tool])
    assert returned.outcome == 'success', returned.content
    validate(returned.content, schema)
    assert returned.content == pydantic_core.to_jsonable_python(value)
    for path in paths(returned.content):
        assert problems(checker, catalog, f'(await get()){path}') == []


def paths(value: object) -> list[str]:
    """How code reads every part of a value."""
    items = list(value.items()) if is_mapping(value) else list(enumerate(value)) if is_list(value) else []
    return ['', *(f'[{key!r}]{path}' for key, item in items for path in paths(item))]


async def test_cm6_bytes_cross_as_they_are_and_the_signature_says_so(checker: TypeChecker) -> None:
    received: list[bytes] = []

    def put(data: bytes) -> bytes:
        received.append(data)
        return data + b'\xff'

    tool = Tool[None](put)
    catalog = Catalog.build([tool.tool_def])
    assert catalog.functions['put'].signature == 'async def put(*, data: bytes | str) -> bytes | str'
    code = "x = await put(data=b'a')\ny = await put(data=x)\n[y.hex(), len(await put(data='é'))]"
    assert problems(checker, catalog, code) == []
    returned = await run_snippet(code, tools=[tool])
    assert returned.content == ['61ffff', 3]
    assert received == [b'a', b'a\xff', 'é'.encode()]


async def test_cm4_tools_of_a_function_toolset_are_called_as_shown() -> None:
    toolset = FunctionToolset[None]()

    @toolset.tool_plain(name='find-people')
    def find(name: str, *, limit: int = 3, tags: list[str] | None = None) -> list[Person]:
        """Find people.

        Args:
            name: Part of the name.
            limit: How many at most.
            tags: All of which they have.
        """
        return [ADA][:limit] if name == 'Ada' and tags is None else []

    script = ScriptedModel(["[p['fullName'] for p in await find_people(name='Ada', tags=None)]"])
    result = await make_agent(script, toolsets=[toolset]).run('go')
    assert result.output == 'done'
    assert script.description.split('```python\n')[1] == snapshot('''\
class Money(TypedDict):
    amount: str
    at: str  # (format: date-time)

class Person(TypedDict):
    # Somebody.
    id: str  # (format: uuid)
    fullName: str
    born: NotRequired[str | None]
    paid: NotRequired[list[Money]]
    initials: str

async def find_people(*, name: str, limit: int = 3, tags: list[str] | None = None) -> list[Person]:
    """Find people.

    Args:
        name: Part of the name.
        limit: How many at most.
        tags: All of which they have.
    """
```\
''')
