"""CM-21: code mode on the real engines, while nothing goes wrong that is not in the program."""

from __future__ import annotations

import asyncio
import time

import pytest

from .conftest import NewRig
from .rigs import TemporalRig


async def test_cm21_plain_run(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(["total = await add(key='a', a=1, b=2)\nprint('so far', total)\ntotal * 10"])
    assert await rig.results() == [{'output': 'so far 3\n', 'result': 30}]
    assert rig.count('end a') == 1


GATHER = """
import asyncio
await asyncio.gather(*[overlapping(key=str(i), seconds=0.3) for i in range(4)])
"""


async def test_cm21_gathered_calls_overlap(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin([GATHER])
    (running,) = await rig.results()
    assert max(running) == 4


async def test_cm21_state_lives_over_several_calls_of_run_code(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(
        [
            "rows = [await add(key=f'row {i}', a=i) for i in range(3)]\ndef double(x):\n    return 2 * x\nlen(rows)",
            "rows.append(double(await add(key='more', a=10)))",
            'rows',
        ]
    )
    assert await rig.results() == [3, {}, [0, 1, 2, 20]]


async def test_cm21_an_error_of_a_tool_can_be_caught_by_its_type(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(["try:\n    await fail(key='f')\nexcept ValueError as error:\n    seen = str(error)\nseen"])
    assert await rig.results() == ['f is bad']
    assert rig.count('start f') == 1


async def test_cm21_an_error_that_is_not_caught_is_told_with_its_line(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(["x = 1\nawait fail(key='f')", 'x + 1'])
    text, after = await rig.results()
    assert 'The code failed with ValueError: f is bad' in text
    assert "at line 2:\n    await fail(key='f')" in text
    assert after == 2


async def test_cm21_the_engine_tries_a_tool_again(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(["await flaky(key='x')"])
    assert await rig.results() == ['x at last']
    assert rig.count('start x') == 2


@pytest.mark.parametrize('answer', [True, False])
async def test_cm21_a_call_waits_for_approval(new_rig: NewRig, answer: bool) -> None:
    rig = new_rig()
    code = "before = await add(key='a', a=1)\ntry:\n    gone = await delete(name='x')\nexcept PermissionError as error:\n    gone = str(error)\n(before, gone)"
    await rig.begin([code, 'before'], answer=answer)
    first, then = await rig.results()
    assert first == [1, 'deleted x' if answer else 'The tool call was denied.']
    assert then == 1
    assert rig.count('end a') == 1
    assert rig.count('start delete x') == int(answer)


async def test_cm21_a_snippet_that_computes_for_ever_ends_in_the_time_out(new_rig: NewRig) -> None:
    rig = new_rig(seconds=1)
    await rig.begin(["kept = await add(key='a')\nwhile True:\n    pass", '1 + 1'])
    text, after = await rig.results()
    assert 'The code was stopped: it used up the 1 s of computing' in text
    assert 'add(key="a"' in text
    assert after == 2


async def test_cm21_a_sleep_is_the_engines_and_counts_against_the_allowance(new_rig: NewRig) -> None:
    rig = new_rig(seconds=1)
    await rig.begin(
        [
            'import asyncio\nawait asyncio.gather(asyncio.sleep(0.4), asyncio.sleep(0.4))\nawait asyncio.sleep(0.3)\n1',
            'import asyncio\nawait asyncio.sleep(0.6)\nawait asyncio.sleep(0.6)',
        ]
    )
    slept, refused = await rig.results()
    assert slept == 1
    assert 'past the allowance of 1 s of sleep' in refused


async def test_cm21_lookups_and_refused_calls_need_no_tool(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(
        [
            "text = help('add')\nfound = find_functions('overlapping')\n('Add.' in text, 'overlapping' in str(found))",
            'await add(k=1)',
            "def call(function, *args):\n    return function(*args)\nawait call(add, 'a')",
        ]
    )
    looked, unchecked, refused = await rig.results()
    assert looked == [True, True]
    assert 'The code was not run' in unchecked
    assert 'takes keyword arguments only' in refused


async def test_cm21_what_is_no_data_is_refused_as_outside(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(['class Thing:\n    pass\nthing = Thing()\nthing', 'lambda: 1', 'restarted = 1'])
    thing, function, _ = await rig.results()
    assert 'its last expression is an instance of the class' in thing
    assert 'cannot be sent back' in function


async def test_cm21_cancelled_while_code_computes(new_rig: NewRig) -> None:
    rig = new_rig(seconds=5)
    await rig.begin(["open('/marks/computing.txt', 'w').write('x')\nwhile True:\n    pass", "await add(key='never')"])
    await rig.until((rig.folder / 'computing.txt').exists)
    await rig.cancel()
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r'(?i)cancel|terminat|abort'):
        await rig.results()
    assert time.monotonic() - began < 10
    assert rig.count('start never') == 0


async def test_cm21_cancelled_while_a_tool_runs(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(
        ["try:\n    await linger(key='long', seconds=3)\nexcept BaseException:\n    await add(key='after')"]
    )
    await rig.seen('start long')
    await rig.cancel()
    with pytest.raises(RuntimeError, match=r'(?i)cancel|terminat|abort'):
        await rig.results()
    await asyncio.sleep(0.1)
    assert rig.count('start after') == 0


MUCH = """
rows = [str(number) * 40 for number in range(200_000)]
small = 1
await add(key='a')
"""


async def test_cm21_a_state_too_large_to_be_recorded_is_refused_with_what_is_large(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(['small = 0', MUCH, MUCH.replace('small = 1', 'small = len(rows)\nrows = None') + 'small'])
    _, text, after = await rig.results()
    if not isinstance(rig, TemporalRig):  # the others take what is sent
        assert text == 0
        return
    assert 'assign None to names that are done with' in text
    assert 'The largest variables: `rows` (list, about ' in text
    assert 'The variables are as they were before this code.' in text
    assert after == 200_000
    assert rig.count('start a') == 1


async def test_cm21_reading_much_and_returning_little_does_not_fill_the_history(new_rig: NewRig) -> None:
    rig = new_rig()
    reads = 'total = 0\nfor i in range(7):\n    total += len(await text(size=200_000))\ntotal'
    nested = 'x = 1\nfor i in range(149):\n    x = [x]\nlen(await describe(value=x)) > 50'
    await rig.begin([reads, reads, nested])
    assert await rig.results() == [1_400_000, 1_400_000, True]


WAITS_ALONE = """
def call(function, *args):
    return function(*args)
refused = call(add, 'x')
done = erase(name='q')
try:
    await refused
except TypeError as error:
    caught = str(error)
(done, caught[:30])
"""


async def test_cm21_a_pause_at_a_call_that_runs_alone_keeps_what_is_known_of_others(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin([WAITS_ALONE, "await add(key='z', a=7)"], answer=True)
    assert await rig.results() == [['erased q', 'add() takes keyword arguments '], 7]
    assert rig.count('start erase q') == 1


async def test_cm21_too_much_after_a_pause_says_that_the_variables_are_gone(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(
        ['small = 1', f"await delete(name='q')\n{MUCH}", "try:\n    small\nexcept NameError:\n    'gone'"], answer=True
    )
    _, text, _ = await rig.results()
    if isinstance(rig, TemporalRig):
        assert 'The session was reset' in text


async def test_cm21_values_that_json_cannot_hold_do_not_end_the_run(new_rig: NewRig) -> None:
    rig = new_rig()
    data = (
        "try:\n    told = await describe(value=b'\\xff\\x00')\nexcept TypeError as error:\n    told = str(error)\ntold"
    )
    await rig.begin([data, "huge = 10**5000\nawait add(key='a')\nhuge % 1000 + 1"])
    told, after = await rig.results()
    assert told == "bytes b'\\xff\\x00'" or 'describe() was not called: its arguments cannot be recorded' in told
    assert after == 1


async def test_cm21_a_picture_reaches_the_model(new_rig: NewRig) -> None:
    rig = new_rig()
    await rig.begin(["seen = await picture()\nprint('here')\nseen", "{'again': [seen, 1]}"])
    first, again = await rig.results()
    assert first == ['here\n', 'image/png, 1008 bytes']
    assert again[0]['again'] == [{**again[0]['again'][0], 'kind': 'binary', 'media_type': 'image/png'}, 1]
    assert 'data' not in again[0]['again'][0]
    assert again[1:] == ['image/png, 1008 bytes']
    assert rig.count('start picture') == 1
