"""CM-5: which findings of the checker stop a snippet, rule by rule; CM-22: what the sandbox has."""

from __future__ import annotations

import builtins
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

import pytest

from pydantic_ai_harness.code_mode.catalog import Catalog
from pydantic_ai_harness.code_mode.code_facts import CodeFacts
from pydantic_ai_harness.code_mode.findings import SnippetCheck, missing_module_text
from pydantic_ai_harness.code_mode.prompt import HOST_MODULES, MODULES
from pydantic_ai_harness.code_mode.sandbox_names import BUILTINS, INSTEAD_OF_BUILTINS, INSTEAD_OF_MODULES
from pydantic_ai_harness.narrowing import is_list
from pydantic_ai_harness.sandbox import Finished, Session, Snippet, TypeChecker, WorkerPool
from tests.code_mode.schema_tools import RecordingToolset, probe, properties, run_recorded
from tests.support import ScriptedModel, code_returns, make_agent

STRING = {'type': 'string'}
INTEGER = {'type': 'integer'}
ORDER = {
    'title': 'Order',
    **properties(
        ['id', 'lines'], id=INTEGER, note={'type': ['string', 'null']}, lines={'type': 'array', 'items': INTEGER}
    ),
}
NEW_ORDER = {
    'title': 'NewOrder',
    **properties(['id'], id=INTEGER, note=STRING, lines={'type': 'array', 'items': INTEGER}),
}
TOOLS = [
    probe(properties(['id'], id=INTEGER), name='get_order', return_schema=ORDER),
    probe(properties(), name='list_orders', return_schema={'type': 'array', 'items': ORDER}),
    probe(properties(['order'], order=NEW_ORDER), name='put_order', return_schema={'type': 'integer'}),
    probe(properties(['ids'], ids={'type': 'array', 'items': INTEGER}, sort={'enum': ['up', 'down']}), name='pick'),
    probe(properties(['text'], text=STRING), name='notify', sequential=True),
    probe(properties(['ref'], ref={'title': 'Item__in_x', **properties(['a'], a=INTEGER)}), name='sign__in'),
    probe(properties(), name='anything', return_schema={'type': 'object'}),
    probe(properties(['text'], text={'enum': ['two\nlines']}), name='say'),
    probe(properties(), name='whatever', return_schema={}),
]
CATALOG = Catalog.build(TOOLS)

pytestmark = pytest.mark.filterwarnings('ignore::pydantic_ai_harness.code_mode.toolset.MissingReturnSchemaWarning')


@pytest.fixture(scope='module')
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool()
    yield pool
    pool.close()


@pytest.fixture(scope='module')
def checker(pool: WorkerPool) -> TypeChecker:
    return pool.type_checker


def problems(checker: TypeChecker, code: str, before: str = '', known: Sequence[str] = ()) -> list[str]:
    found = checker.check(code, stubs=CATALOG.stubs, before=before, known=known).result()
    return SnippetCheck(code, before, CATALOG, known).problems(found)


REFUSED = {
    # -- syntax
    'x = (': ['line 1: the code ends too early: a block or a bracket is not complete\n    x = ('],
    'x = 1\ny = [1,': ['line 2: Expected `]`'],
    'def f():\n': ['line 1: the code ends too early'],
    'x = (\n\n': ['line 1: the code ends too early'],
    'x = 1\nfor y in x\n    pass': ['line 2:'],
    '\n  x = 1\n  x': ['line 2: unexpected indentation: the first line has to start without spaces'],
    '\tx = 1': ['line 1: unexpected indentation'],
    'if 1:\n  x = 1\n y = 2': ['line 3: unindent does not match'],
    # -- calls
    'await get_order(idd=1)': ['`idd`', '`id`'],
    'await get_order()': ['`id`'],
    'await get_order(1)': ['line 1: Too many positional arguments'],
    'def f(a):\n    return a\n\nf(b=1)': ['line 4: Argument `b`', 'line 4: No argument provided'],
    'get_order(id=1)': ['the call has no effect without `await`'],
    'x = 1\nget_order(id=1)\nx': ['line 2: the call has no effect without `await`'],
    # -- names
    'undefined_name': ['`undefined_name` is not defined'],
    'await get_oder(id=1)': ['`get_oder` is not defined. Did you mean `get_order`'],
    'json.dumps(1)': ['`json` is not defined'],
    'input()': ['the sandbox has no `input`; use a function that asks'],
    'dir(1)': ['the sandbox has no `dir`; use `hasattr`'],
    'vars()': ['the sandbox has no `vars`'],
    'await put_order(order=NewOrder(id=1))': ['`NewOrder` is only the shape of a dict'],
    'o = await get_order(id=1)\nisinstance(o, Order)': ['line 2: `Order` is only the shape of a dict'],
    # -- modules
    'import numpy as np': ['there is no module `numpy` in the sandbox. Use lists', 'It has: asyncio, '],
    'import requests': ['Use a function that fetches'],
    'import urllib.request': ['there is no module `urllib.request`', 'Use a function that fetches'],
    'from statistics import mean': ['`sum(x) / len(x)`'],
    'import os, foo, bar': ['`foo`', '`bar`'],
    'from foo.bar import baz': ['there is no module `foo.bar`'],
    'from collections.abc import Iterable': ['there is no module `collections.abc`', '`typing`'],
    'import json.decoder': ['there is no module `json.decoder`'],
    'from math import foo': ['Module `math` has no member `foo`'],
    'import math\nmath.foo': ['line 2:', '`math` has no member `foo`'],
    'def f():\n    import numpy\n': ['line 2: there is no module `numpy`'],
    'import numpy\ntry:\n    import pandas\nexcept ImportError:\n    pass': ['line 1:'],
    'try:\n    pass\nexcept ValueError:\n    import numpy': ['line 4:'],
    'try:\n    import numpy\nfinally:\n    pass': ['line 2:'],
    # -- arguments
    "await get_order(id='1')": ['Expected `int`, found `Literal["1"]`'],
    'await get_order(id=None)': ['found `None`'],
    "x = '1'\nawait get_order(id=x)": ['line 2:'],
    "await pick(ids=['a'])": ['Expected `list[int]`'],
    "await pick(ids=[1, 'a'])": ['Expected `list[int]`'],
    'await pick(ids=[1, None])': ['Expected `list[int]`'],
    'await pick(ids=1)': ['Expected `list[int]`'],
    "await pick(ids=[1], sort='upp')": ['Literal["up", "down"]'],
    "await pick(ids=[1], sort='天')": ['Literal["up", "down"]'],
    "x = '天天天'; await pick(ids=[1, x and 'a', 'a'])": [],
    "x = '天天天'; await pick(ids=[1, 'a'])": ['Expected `list[int]`'],
    'await put_order(order=get_order(id=1))': ['an argument of `put_order` is a call without `await`'],
    'print(len(get_order(id=1)))': ['an argument of `len` is a call without `await`'],
    "await put_order(order={'id': 'a'})": ['line 1: Invalid argument to key "id"', 'TypedDict `NewOrder`'],
    "await put_order(order={'id': 1, 'lines': [1, 'a']})": ['key "lines"'],
    "await put_order(order={'id': 1, 'linez': []})": ['Unknown key "linez" for TypedDict `NewOrder`'],
    "await put_order(order={'note': 'x'})": ["Missing required key 'id' in TypedDict `NewOrder`"],
    "'天'; await put_order(order={'note': '天', 'linez': []})": ['Unknown key "linez"', "'id'"],
    'notify(text=1)': ['Expected `str`'],
    # -- results
    "o = await get_order(id=1)\no['idd']": ['line 2: Unknown key "idd" for TypedDict `Order`'],
    "o = await get_order(id=1)\n'天' + str(o['idd'])": ['line 2: Unknown key "idd"'],
    "o = await get_order(id=1)\nf'{o['idd']}'": ['line 2: Unknown key "idd"'],
    "[o['total'] for o in await list_orders()]": ['Unknown key "total"'],
    'o = await get_order(id=1)\no.id': ["no attribute `id`. Results are dicts: use `['id']`"],
    'n = await put_order(order={"id": 1})\nn.id': ['Object of type `int` has no attribute `id`'],
    "'a'.foo()": ['no attribute `foo`'],
    'for o in await list_orders():\n    o.lines': ["use `['lines']`"],
    # -- await
    "await notify(text='x')": ['`str` is not awaitable; notify() is a plain function and called without `await`'],
    'await 1': ['is not awaitable'],
    "get_order(id=1)['id']": ['the result of a call is used without `await`'],
    'o = get_order(id=1)\no["id"]': ['line 2: the result of a call is used without `await`'],
    'get_order(id=1).id': ['the result of a call is used without `await`'],
    'for o in list_orders():\n    print(o)': ['the result of a call is used without `await`'],
    '[o for o in list_orders()]': ['the result of a call is used without `await`'],
    'put_order(order={"id": 1}) + 1': ['the result of a call is used without `await`'],
    'x: int = put_order(order={"id": 1})': ['the result of a call is used without `await`'],
    'import asyncio\na, b = asyncio.gather(list_orders(), list_orders())': [
        'line 2: the `gather` was not awaited: put `await` before `asyncio.gather`'
    ],
    'import asyncio\nfor x in asyncio.gather(list_orders()):\n    x': ['line 2: the `gather` was not awaited'],
    'import asyncio\nx = asyncio.gather(list_orders())\na, b = x': ['line 3: `x` is a `gather`'],
    'import asyncio\nx = asyncio.gather(list_orders())\nfor y in x:\n    print(y)': [
        'line 3: `x` is a `gather` that was not awaited'
    ],
    'import asyncio\nx = asyncio.gather(list_orders())\n[y for y in x]': ['line 3: `x` is a `gather`'],
}


@pytest.mark.parametrize(('code', 'texts'), REFUSED.items(), ids=REFUSED)
def test_cm5_what_is_certainly_wrong_is_refused(code: str, texts: list[str], checker: TypeChecker) -> None:
    found = problems(checker, code)
    assert bool(found) == bool(texts)
    assert [text for text in texts if text not in '\n'.join(found)] == []


PASSED = [
    'return 1',
    '__name__, __doc__, __file__, __package__, __spec__',
    'list(map(str, filter(None, [1])))',
    'import os.path, posixpath, time, random',
    'import asyncio, base64, collections, json as j, sys',
    # names that something binds, though not for the checker
    'if False:\n    x = 1\nx',
    'try:\n    x = 1\nexcept ValueError as e:\n    pass\ne',
    'for x in []:\n    pass\nx',
    'def f():\n    return later\n\nlater = 1\nf()',
    '[y := 1]\ny',
    'match 1:\n    case [a, *b]:\n        a, b\n    case {"k": c, **d}:\n        c\n    case e:\n        e',
    # annotations are not evaluated
    'def f(a: List[int], *b: Foo, **c: Bar) -> Optional[Baz]:\n    return a\nx: Missing = 1\nx',
    "def f(a='天', b: Missing = 1): return a\nf()",
    'async def f(a: "Missing") -> Missing:\n    return a\nawait f(1)',
    "def f(a: Missing): return f'{a['b']}'",
    'def f(o: Order) -> list[Order]:\n    return [o]\nx: Order = await get_order(id=1)\nx',
    'Order = 1\nOrder',
    'def f(Order):\n    return Order\n(lambda NewOrder: NewOrder)(1)',
    # guarded
    'try:\n    import numpy\nexcept ImportError:\n    numpy = None\nnumpy',
    'try:\n    from math import foo\nexcept ImportError:\n    foo = 1',
    'import math\ntry:\n    math.foo\nexcept AttributeError:\n    pass',
    'def later():\n    return defined_by_later_code',
    # arguments that may fit
    "d = {'id': '1'}\nawait get_order(**d)",
    'o = await anything()\nawait get_order(id=o["id"])',
    'o = await get_order(id=1)\nawait put_order(order=o)',
    "xs = [1, 'a']\nawait pick(ids=xs)",
    'await say(text="""two\nlines""")',
    'o = await get_order(id=1)\nnotify(text=o["note"])',
    "s = 'up' if await anything() else 'x'\nawait pick(ids=[1], sort=s)",
    'await get_order(id=1.0)',
    'await get_order(id=True)',
    'await pick(ids=(1, 2))',
    'await pick(ids=None or [1])',
    'await pick(ids=[1], sort=None)',
    'def f(a: int): return a\nf("x")',
    "import json\nawait put_order(order=json.loads('{}'))",
    # keys that the code itself adds
    "o = await get_order(id=1)\no['total'] = 1\no['total']",
    "o = await get_order(id=1)\no.update(total=1)\no['total']",
    "o = await get_order(id=1)\no.update({'total': 1})\no['total']",
    "o = await get_order(id=1)\no.setdefault('total', 0)\no['total']",
    'o = await get_order(id=1)\nfor k in o:\n    o[k]',
    "o = await get_order(id=1)\no.get('total')",
    "o: dict = await get_order(id=1)\no['total']",
    "o = {'a': 1}\no['b'] = 2\no['b']",
    'o = await get_order(id=1)\no["note"].upper()',
    'o = await get_order(id=1)\nfor line in o["lines"]:\n    line + 1',
    'o = await whatever()\no.foo, o["x"], o()',
    'o = await get_order(id=1)\no.popitem(), o.clear(), o.copy(), o.items(), o.get("a")',
    'class Crew:\n    def gather(self):\n        return [1, 2]\na, b = Crew().gather()',
    # await
    'import asyncio\nx = asyncio.gather(list_orders())\nx = await x\n[y for y in x]',
    'import asyncio\nx = await asyncio.gather(list_orders())\nfor y in x:\n    y',
    'c = get_order(id=1)\n(await c)["id"]',
    'cs = [get_order(id=i) for i in range(3)]\nimport asyncio\nawait asyncio.gather(*cs)',
    "notify(text='x')",
    'print("it runs")',
    "d = {'a': 1}\nf'{d['a']} {f'{d['a']:>{d['a']}}'}'",
    "import re\nre.findall('\\d', 'a1')",
]


@pytest.mark.parametrize('code', PASSED)
def test_cm5_what_may_work_is_let_pass(code: str, checker: TypeChecker) -> None:
    assert problems(checker, code) == []


def test_cm5_each_problem_is_told_once_in_order_with_its_line(checker: TypeChecker) -> None:
    code = "o = await get_order(id=1)\n\nx = [o['b'], o['b'],\n     o['a']]\nmissing"
    assert problems(checker, code) == [
        "line 3: Unknown key \"b\" for TypedDict `Order`\n    x = [o['b'], o['b'],",
        'line 4: Unknown key "a" for TypedDict `Order`\n    o[\'a\']]',
        'line 5: `missing` is not defined\n    missing',
    ]


def test_cm5_types_are_told_by_the_names_that_the_model_reads(checker: TypeChecker) -> None:
    (text,) = problems(checker, 'await put_order(order=[1])')
    assert 'Expected `NewOrder`, found `list[int]`' in text
    (text,) = problems(checker, 'await sign__in(reff={"a": 1}, ref={"a": 1})')
    assert '`sign__in`' in text


def test_cm5_findings_in_earlier_code_are_not_told_again(checker: TypeChecker) -> None:
    assert problems(checker, '1', before="await get_order(id='x')\nmissing\n") == []


def test_cm5_keys_that_earlier_code_added_are_there(checker: TypeChecker) -> None:
    before = "o = await get_order(id=1)\no['total'] = 1\n"
    assert problems(checker, "o['total']", before) == []
    assert 'Unknown key "totl"' in problems(checker, "o['totl']", before)[0]


def test_cm5_earlier_code_may_take_the_name_of_a_shape(checker: TypeChecker) -> None:
    assert problems(checker, 'Order()', before='class Order: pass\n') == []
    assert problems(checker, 'Order()', known=['Order']) == []


def test_cm5_known_names_are_defined(checker: TypeChecker) -> None:
    assert problems(checker, 'x.anything(y["z"])', known=['x', 'y']) == []
    assert '`z` is not defined' in problems(checker, 'x + z', known=['x'])[0]


@pytest.mark.parametrize(
    ('code', 'names'),
    [
        ('a = b = 1\n(c, [d, *e]) = x\nf: int = 1\ng += 1', 'abcdefg'),
        ('for a in x:\n    pass\nwith x as b:\n    pass\n[c for c in x]\n(d := 1)', 'abcd'),
        ('def a(z):\n    b = 1\nasync def c(): pass\nclass d: pass', 'abcd'),
        ('import a, b.z, z as c\nfrom z import d, z as e', 'abcde'),
        ('try:\n    pass\nexcept E as a:\n    pass\nexcept E:\n    pass', 'a'),
        ('match x:\n    case [a, *b]: pass\n    case c: pass\n    case _: pass', 'abc'),
        ("a = f'{x['y']}'\nb = 1", 'ab'),
        ('x.a = 1\nx["b"] = 2\nprint(x)', ''),
        ('def (', ''),
    ],
)
def test_cm5_bound_names(code: str, names: str) -> None:
    assert CodeFacts(code).bound == set(names)


# -- through an agent ----------------------------------------------------------------------------------------------


async def run_all(*snippets: str) -> tuple[list[tuple[str | None, object]], RecordingToolset]:
    toolset = RecordingToolset(TOOLS, {'get_order': {'id': 1, 'lines': []}})
    script = ScriptedModel(snippets)
    result = await make_agent(script, toolsets=[toolset]).run('go')
    return [(part.outcome, part.content) for part in code_returns(result.all_messages())], toolset


async def test_cm5_f_strings_with_the_same_quotes_inside_run() -> None:
    toolset = RecordingToolset(TOOLS, {'get_order': {'id': 7, 'lines': []}})
    returned = await run_recorded("o = await get_order(id=1)\nf'{o['id']} {f'{o['id']:>{len('ab')}}'}'", toolset)
    assert (returned.outcome, returned.content) == ('success', '7  7')


async def test_cm5_names_of_a_snippet_that_failed_exist() -> None:
    failing = "d = {'a': 1}\ntext = f'{d['a']}'\n1 / 0\nlate = 2"
    (_, (outcome, content)), _ = await run_all(failing, 'text + str(d["a"])')
    assert (outcome, content) == ('success', '11')


async def test_cm5_a_name_that_a_failed_snippet_did_not_reach_raises_in_the_code() -> None:
    (_, (outcome, content)), _ = await run_all('1 / 0\nlate = 2', 'late')
    assert outcome == 'retried'
    assert 'NameError' in str(content)


async def test_cm5_a_refused_snippet_calls_nothing_and_leaves_no_names() -> None:
    returns, toolset = await run_all("x = await get_order(id=1)\nx['idd']", 'x')
    assert [outcome for outcome, _ in returns] == ['retried', 'retried']
    assert '`x` is not defined' in str(returns[1][1])
    assert toolset.calls == []


# -- CM-22: the sandbox that is installed --------------------------------------------------------------------------


def found_in_sandbox(pool: WorkerPool, names: Sequence[str], use: str, error: str) -> set[str]:
    """Those of `names` whose use raises no `error`."""
    tries = [f'try:\n    {use.format(name)}\n    found.append({name!r})\nexcept {error}:\n    pass' for name in names]
    session = Session(pool)
    step = session.feed(Snippet(code='\n'.join(['found = []', *tries, 'found']))).result()
    session.close()
    assert isinstance(step, Finished), step
    assert is_list(step.value)
    return {str(name) for name in step.value}


def test_cm22_the_builtins_are_those_of_the_sandbox(pool: WorkerPool) -> None:
    keywords = {'True', 'False', 'None', '__debug__'}
    names = sorted({*dir(builtins), *BUILTINS, *INSTEAD_OF_BUILTINS} - keywords)
    found = found_in_sandbox(pool, names, '{}', 'NameError')
    known_to_the_checker = {'__doc__', '__package__', '__spec__'}
    assert found - known_to_the_checker == BUILTINS
    assert found.isdisjoint(INSTEAD_OF_BUILTINS)


def test_cm22_the_modules_are_those_of_the_sandbox(pool: WorkerPool) -> None:
    names = sorted({*sys.stdlib_module_names, *MODULES, *HOST_MODULES, *INSTEAD_OF_MODULES} - {'antigravity', 'this'})
    inside = [
        f'{name}.{sub.name}'
        for name in (*MODULES, *HOST_MODULES)
        for sub in pkgutil.iter_modules(getattr(import_module(name), '__path__', []))
    ]
    found = found_in_sandbox(pool, [*names, *inside, 'os.path'], 'import {}', 'ImportError')
    assert found == {*MODULES, *HOST_MODULES, 'os.path', 'posixpath'}


def test_cm22_every_listed_module_is_known_to_the_checker(checker: TypeChecker) -> None:
    assert problems(checker, '\n'.join(f'import {name}' for name in (*MODULES, *HOST_MODULES))) == []


@pytest.mark.parametrize('code', ['import time\ntime.time()', 'import random\nrandom.random()'])
def test_cm22_host_modules_give_nothing_that_is_not_granted(code: str, pool: WorkerPool) -> None:
    step = Session(pool).feed(Snippet(code=code)).result()
    assert not isinstance(step, Finished)


@pytest.mark.parametrize(
    ('module', 'text'),
    [
        ('numpy', 'Use lists'),
        ('numpy.linalg', 'Use lists'),
        ('collections.abc', 'Use `typing`'),
        ('foo', 'in the sandbox. It has: asyncio, base64'),
    ],
)
def test_cm22_a_missing_module_is_told_with_what_there_is_instead(module: str, text: str) -> None:
    assert f'there is no module `{module}`' in missing_module_text(module)
    assert text in missing_module_text(module)
