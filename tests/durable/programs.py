"""Programs of many shapes, with what they give; the histories in `histories/` are recordings of them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Shape(NamedTuple):
    """What the model sends, and what comes back."""

    codes: list[str]
    results: list[Any]
    """A text is found in what came back; anything else is equal to it."""
    answer: bool | None = None


_BOTH = """
import asyncio
async def chain(start):
    value = await add(key=f'{start} first', a=start, b=1)
    await asyncio.sleep(0.01)
    return await add(key=f'{start} second', a=value, b=1)
await asyncio.gather(chain(1), chain(10), asyncio.sleep(0.02))
"""
_NOT_AWAITED_AT_ONCE = """
first = add(key='first', a=1)
second = add(key='second', a=2)
(await second, await first)
"""
_CAUGHT = """
import asyncio
try:
    await asyncio.gather(add(key='a', a=1), fail(key='f'))
except ValueError as error:
    seen = str(error)
seen
"""
_APPROVAL = """
before = await add(key='a', a=1)
(before, await delete(name='x'), await add(key='b', a=2))
"""
_MUCH = """
rows = [str(number) * 40 for number in range(200_000)]
await add(key='a')
"""

SHAPES: dict[str, Shape] = {
    'no call': Shape(["print('so far')\n6 * 7"], [{'output': 'so far\n', 'result': 42}]),
    'in sequence': Shape(['x = 0\nfor i in range(4):\n    x = await add(key=str(i), a=x, b=i)\nx'], [6]),
    'gathered': Shape(
        ['import asyncio\nawait asyncio.gather(*[add(key=str(i), a=i) for i in range(4)])'], [[0, 1, 2, 3]]
    ),
    'gathered chains and a sleep': Shape([_BOTH], [[3, 12, None]]),
    'made before it is awaited': Shape([_NOT_AWAITED_AT_ONCE], [[2, 1]]),
    'sleeps': Shape(['import asyncio, time\nawait asyncio.sleep(0.05)\ntime.sleep(0.05)\n1'], [1]),
    'an error that is caught': Shape([_CAUGHT], ['f is bad']),
    'an error that is not, and the code after it': Shape(["x = 5\nawait fail(key='f')", 'x'], ['f is bad', 5]),
    'a tool that is tried again': Shape(["await flaky(key='x')"], ['x at last']),
    'variables and functions of earlier code': Shape(
        ["def double(x):\n    return 2 * x\nx = await add(key='a', a=4)", 'x = double(x)', 'x'], [{}, {}, 8]
    ),
    'a lookup': Shape(["('Add.' in help('add'), await add(key='a', a=3))"], [[True, 3]]),
    'a call that is refused': Shape(
        ["def call(function, *args):\n    return function(*args)\nawait call(add, 'a')", '1'],
        ['takes keyword arguments only', 1],
    ),
    'code that does not pass its check': Shape(['await add(k=1)', "await add(key='a', a=1)"], ['was not run', 1]),
    'approved': Shape([_APPROVAL, 'before'], [[1, 'deleted x', 2], 1], answer=True),
    'denied': Shape([_APPROVAL, 'before'], ['PermissionError', 1], answer=False),
    'too much to be recorded': Shape(['small = 1', _MUCH, 'small'], [{}, 'The largest variables: `rows`', 1]),
}


def is_expected(shape: Shape, results: list[Any]) -> bool:
    """Whether the programs gave what they should."""
    return len(results) == len(shape.results) and all(
        expected == given or (isinstance(expected, str) and expected in str(given))
        for expected, given in zip(shape.results, results, strict=True)
    )
