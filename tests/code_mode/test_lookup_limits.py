"""BEYOND-3: what code may look up, and how much at once: it is the host that computes the answers."""

from __future__ import annotations

import gc
import sqlite3
import time

import pytest
from pydantic_ai.tools import Tool, ToolDefinition

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.code_mode.catalog import Catalog
from pydantic_ai_harness.code_mode.function_index import FunctionIndex
from pydantic_ai_harness.code_mode.lookup import CountedLookups
from tests.support import run_snippet


def get_weather(city: str) -> float:
    """Temperature of a city."""
    return 20.0


TOOLS = [Tool(get_weather)]


def catalog_of(number: int, description: str = 'Do it.') -> Catalog:
    return Catalog.build([ToolDefinition(name=f'act_{one:03}', description=description) for one in range(number)])


def test_beyond3_a_name_that_is_given_often_is_answered_once() -> None:
    """However long the list is."""
    lookup = catalog_of(3).lookup
    assert lookup.help(['act_000'] * 100_000) == lookup.help('act_000')


def test_beyond3_help_says_how_many_it_left_out() -> None:
    """Past 50 functions, and past what one answer may have."""
    few, long = catalog_of(60).lookup, catalog_of(60, 'word ' * 20_000).lookup
    names = [f'act_{one:03}' for one in range(60)]
    assert few.help(names).endswith('# 10 more are left out: ask for fewer at once.')
    assert few.help(names).count('async def') == 50
    assert long.help(names).endswith('# 58 more are left out: ask for fewer at once.')
    assert len(long.help(names)) < 201_000


@pytest.mark.parametrize(
    'query',
    ['word ' * 1_000_000, 'a' * 5_000_000, '削除' * 1_000_000, ' '.join(f'word{one}' for one in range(100_000))],
)
def test_beyond3_a_query_without_end_takes_no_time(query: str) -> None:
    """Its beginning is looked at; a word of it too, and what was looked up is kept within bounds."""
    index = FunctionIndex(list(catalog_of(400).functions.values()))
    index.search('first')
    started = time.perf_counter()
    for _ in range(10):
        index.search(query)
    assert time.perf_counter() - started < 3
    assert sum(map(len, index._hits)) < 2_000  # pyright: ignore[reportPrivateUsage]


def test_beyond3_an_unknown_name_without_end_is_quoted_in_part() -> None:
    """In the error of `help`, and for a group."""
    lookup = catalog_of(3).lookup
    for look_up in (lambda: lookup.help('act_' * 1_000_000), lambda: lookup.find('x', group='act_' * 1_000_000)):
        with pytest.raises((NameError, ValueError)) as raised:
            look_up()
        assert len(str(raised.value)) < 300


async def test_beyond3_code_can_look_up_a_thousand_times() -> None:
    """Whatever it looks up; the next time raises in the code, and a loop without end fails soon."""
    loop = 'times = 0\nwhile True:\n    find_functions("weather of city")\n    times += 1'
    started = time.perf_counter()
    returned = await run_snippet(loop, tools=TOOLS, code_mode=CodeMode(resource_limits={'max_duration_secs': 5}))
    assert time.perf_counter() - started < 10
    assert 'help and find_functions can be called 1000 times in one run of code, and were.' in str(returned.content)


async def test_beyond3_each_run_of_code_may_look_up_anew() -> None:
    """The count is that of a snippet, and of both lookups together."""
    code = 'for _ in range(500):\n    help(get_weather)\n    find_functions("weather")\n"done"'
    assert (await run_snippet(code, tools=TOOLS)).content == 'done'
    lookup = Catalog.build([tool.tool_def for tool in TOOLS]).lookup
    first, second = CountedLookups(lookup), CountedLookups(lookup)
    for _ in range(1_000):
        first.functions['help']()
    with pytest.raises(RuntimeError, match='1000 times'):
        first.functions['find_functions']('x')
    assert second.functions['find_functions']('weather')


def test_beyond3_an_index_closes_its_database() -> None:
    """Once nothing refers to it any more."""
    index = FunctionIndex([])
    database = index._database  # pyright: ignore[reportPrivateUsage]
    del index
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match='closed'):
        database.execute('SELECT 1')


@pytest.mark.parametrize(
    ('query', 'found'),
    [
        ('削除', '削除'),
        ('ユーザーを削除したい', '削除'),
        ('удалить', 'удалить'),
        ('УДАЛИТЬ', 'удалить'),
        ('cafe', 'café'),
        ('Café', 'café'),
        ('größe', 'größe'),
        ('GROSSE', None),
        ('사용자', '사용자'),
        ('木', '木'),
        ('ลบผู้ใช้', 'ลบ'),
    ],
)
def test_beyond3_functions_are_found_in_any_script(query: str, found: str | None) -> None:
    """With and without spaces between words, case and accents; a lone letter too, where it is a word."""
    texts = {
        '削除': 'ユーザーを削除する',
        'удалить': 'Удалить пользователя',
        'café': 'Find a café nearby',
        'größe': 'Die Größe einer Datei',
        '사용자': '사용자 삭제',
        '木': '大きな木を植える',
        'ลบ': 'ลบผู้ใช้',
    }
    tools = [ToolDefinition(name=f'act_{number}', description=text) for number, text in enumerate(texts.values())]
    names = [str(entry['name']) for entry in Catalog.build(tools).lookup.find(query)]
    assert names[:1] == ([] if found is None else [f'act_{list(texts).index(found)}'])


GROUPED = [ToolDefinition(name=f'act_{one:03}', parameters_json_schema={}) for one in reversed(range(120))]


@pytest.mark.parametrize('group', ['my-server', 'my server'])
def test_beyond3_a_group_is_listed_in_the_order_of_names(group: str) -> None:
    """At most 50 at once; `skip` goes on. The group is called as the model reads it, or by its id."""
    groups = {tool.name: 'my server' if number else '@org/other' for number, tool in enumerate(GROUPED)}
    lookup = Catalog.build(GROUPED, groups).lookup
    pages = [lookup.find('', limit=99, group=group, skip=skip) for skip in (0, 50, 100, 150)]
    assert [len(page) for page in pages] == [50, 50, 19, 0]
    assert [entry['name'] for page in pages for entry in page] == [f'act_{one:03}' for one in range(119)]
    assert [entry['name'] for entry in lookup.find('', group='@org/other')] == ['act_119']


def test_beyond3_each_origin_has_a_group_of_its_own() -> None:
    """Also those whose ids are no names in Latin letters, or become the same."""
    groups = {'act_000': 'サーバー', 'act_001': 'a b', 'act_002': 'a-b', 'act_003': '服务器', 'act_004': ''}
    catalog = Catalog.build([tool for tool in reversed(GROUPED) if tool.name in groups], groups)
    assert [function.group for function in catalog.functions.values()] == ['group', 'a-b', 'a-b_2', 'group_2', '']
    assert [entry['name'] for entry in catalog.lookup.find('act', group='服务器')] == ['act_003']


async def test_beyond3_the_lookups_describe_themselves() -> None:
    """`help` of them, by name or themselves, and without arguments."""
    code = '[help(help) + "\\n\\n" + help("find_functions") == help(help, find_functions) == help(), help()]'
    text = str((await run_snippet(code, tools=TOOLS)).content).replace('\\n', '\n')
    assert text.startswith('[True, ')
    assert 'def help(*functions: Any) -> str:\n    """' in text
    assert 'def find_functions(query: str, limit: int = 10, group: str | None = None, skip: int = 0)' in text
    assert 'At most 50 at once' in text


@pytest.mark.parametrize('code', ['find_functions', '[help]', 'await get_weather(city="x")\nfind_functions'])
async def test_beyond3_a_lookup_is_no_result(code: str) -> None:
    """It is refused as any function; its name as a text is not."""
    refused = await run_snippet(code, tools=TOOLS)
    assert 'is a function' in str(refused.content)
    assert (await run_snippet('"help"', tools=TOOLS)).content == 'help'


async def test_beyond3_a_signature_says_who_is_called_without_await() -> None:
    """As a line of the catalog does."""

    def note() -> str:
        """Note it."""
        return 'x'

    tools = [*TOOLS, Tool(note, sequential=True)]
    found = await run_snippet('[f["signature"] for f in find_functions("")]', tools=tools)
    assert found.content == ['get_weather(city) -> float', 'note() -> str  # without await']
