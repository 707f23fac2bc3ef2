"""CM-21: processes that are killed by SIGKILL; another one goes on, and nothing that had finished is done again."""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from .conftest import NewRig
from .rigs import Rig

_STEP_SECONDS = 1.0


async def _kill_and_start_again(rig: Rig) -> None:
    rig.kill()
    rig.start()


async def test_cm21_killed_in_a_nested_call(new_rig: NewRig) -> None:
    rig = new_rig(step_seconds=_STEP_SECONDS)
    await rig.begin(["first = await add(key='a', a=1)\nslow = await linger(key='b', seconds=20)\n(first, slow)"])
    await rig.seen('start b')
    await _kill_and_start_again(rig)
    assert await rig.results() == [[1, 'b done']]
    assert rig.count('start a') == 1
    assert rig.count('start b') == 2


async def test_cm21_killed_between_two_nested_calls(new_rig: NewRig) -> None:
    rig = new_rig(step_seconds=_STEP_SECONDS)
    await rig.begin(["total = 0\nfor i in range(8):\n    total = await add(key=f'k{i}', a=total, b=i)\ntotal"])
    await rig.seen('end k2')
    await _kill_and_start_again(rig)
    assert await rig.results() == [28]
    assert_once(rig, [f'k{i}' for i in range(8)], in_flight=1)


COMPUTES = """
total = await add(key='a', a=1)
if True:
    open('/marks/computing.txt', 'w').write('x')
    for i in range(3_000_000):
        total += i % 2
await add(key='b', a=total)
"""


async def test_cm21_killed_while_the_sandbox_computes(new_rig: NewRig) -> None:
    rig = new_rig(step_seconds=5)
    await rig.begin([COMPUTES])
    await rig.until((rig.folder / 'computing.txt').exists)
    await _kill_and_start_again(rig)
    assert await rig.results() == [1_500_001]
    assert (rig.count('end a'), rig.count('end b')) == (1, 1)


async def test_cm21_killed_between_two_calls_of_run_code(new_rig: NewRig) -> None:
    rig = new_rig(step_seconds=_STEP_SECONDS)
    await rig.begin(["kept = await add(key='a', a=5)", "await add(key='b', a=kept)"])
    await rig.seen('request 1')
    await _kill_and_start_again(rig)
    assert await rig.results() == [{}, 5]
    assert rig.count('end a') == 1


CODES = [
    """
import asyncio
total = 0
for i in range(5):
    total = await add(key=f'one {i}', a=total, b=i)
gathered = await asyncio.gather(*[add(key=f'two {i}', a=total, b=i) for i in range(5)])
(total, gathered)
""",
    """
try:
    await fail(key='caught')
except ValueError:
    total += 1
await asyncio.sleep(0.05)
for i in range(5):
    total = await add(key=f'three {i}', a=total, b=gathered[i])
total
""",
]
KEYS = [f'{part} {i}' for part in ('one', 'two', 'three') for i in range(5)]
EXPECTED = [[10, [10, 11, 12, 13, 14]], 71]


async def killed_at_random(rig: Rig, kills: int, seed: int) -> None:
    """Kill whatever runs the scenario so often, at random moments, and see that its answer is right all the same."""
    moments = random.Random(seed)  # noqa: S311  no secret
    await rig.begin(CODES)
    may_be_repeated: set[str] = set()
    for _ in range(kills):
        await asyncio.sleep(moments.uniform(0.05, 0.6))
        rig.kill()
        may_be_repeated |= in_flight(rig.lines)
        rig.start()
    assert await rig.results(seconds=50) == EXPECTED
    repeated = {key for key in KEYS if rig.count(f'end {key}') != 1}
    assert repeated <= may_be_repeated, sorted(repeated - may_be_repeated)
    assert all(rig.count(f'end {key}') >= 1 for key in KEYS)


def in_flight(lines: list[str]) -> set[str]:
    """The calls that may not have been recorded as done when the process was killed: the last, and those beside it."""
    started = [line.removeprefix('start ') for line in lines if line.startswith('start ')]
    if started and started[-1].startswith('two'):  # the ones that are gathered
        return {key for key in started if key.startswith('two')}
    return set(started[-1:])


def assert_once(rig: Rig, keys: list[str], *, in_flight: int) -> None:
    """Each call has finished once, but for those that were in flight at a kill, of which each started again once."""
    again = {key: rig.count(f'end {key}') for key in keys if rig.count(f'end {key}') != 1}
    assert all(count == 2 for count in again.values()), json.dumps(again)
    assert len(again) <= in_flight
    assert all(rig.count(f'start {key}') >= 1 for key in keys)


@pytest.mark.parametrize('seed', range(2))
async def test_cm21_killed_at_random(new_rig: NewRig, seed: int) -> None:
    await killed_at_random(new_rig(step_seconds=_STEP_SECONDS), 3, seed)


@pytest.mark.soak
@pytest.mark.parametrize('seed', range(25))
async def test_cm21_killed_at_random_very_often(new_rig: NewRig, seed: int) -> None:
    await killed_at_random(new_rig(step_seconds=_STEP_SECONDS), 2, 100 + seed)
