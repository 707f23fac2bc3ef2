"""CM-10 to CM-13: time, memory, sleep, the budget of calls, what persists, and how often code may fail."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Tool, UnexpectedModelBehavior
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from pydantic_ai_harness import CodeMode, ConfigurationError, HarnessError, WorkerPool
from tests.support import ScriptedModel, Turn, code_returns, make_agent, run_snippets

MIB = 2**20
RESET = 'The session was reset'


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


async def wait(seconds: float) -> float:
    """Answer after a while."""
    await asyncio.sleep(seconds)
    return seconds


TOOLS: list[Tool[None]] = [Tool(add), Tool(wait)]


def limited(**limits: Any) -> CodeMode[None]:
    return CodeMode[None](resource_limits=limits)  # pyright: ignore[reportArgumentType]


async def run(*turns: Turn, code_mode: CodeMode[None] | None = None) -> list[ToolReturnPart]:
    return await run_snippets(*turns, tools=TOOLS, code_mode=code_mode)


def text_of(part: ToolReturnPart) -> str:
    """The text of a retry."""
    assert part.outcome == 'retried', part.content
    return str(part.content)


# -- CM-10: time -------------------------------------------------------------------------------------------------

RUNAWAYS = [
    'while True:\n    pass',
    'sum(range(10**12))',
    'def f():\n    while True:\n        pass\nf()',
    'while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass',
    'import asyncio\nasync def f():\n    while True:\n        pass\nawait asyncio.gather(f(), wait(seconds=9))',
    'x = [n for n in range(10**12) if n < 0]',
]


@pytest.mark.parametrize('runaway', RUNAWAYS)
async def test_cm10_a_runaway_is_stopped_and_the_next_snippet_works(runaway: str) -> None:
    started = time.monotonic()
    stopped, after = await run(
        f'kept = 1\nawait add(a=1)\n{runaway}', 'await add(a=2)', code_mode=limited(max_duration_secs=0.1)
    )
    assert time.monotonic() - started < 3
    assert 'used up the 0.1 s of computing' in text_of(stopped)
    assert RESET in text_of(stopped)
    assert '- add(a=1) returned 1' in text_of(stopped)
    assert after.content == 2


async def test_cm10_after_a_time_out_the_names_are_gone_also_for_the_check() -> None:
    stopped, after, fresh = await run(
        'kept = 1\nwhile True:\n    pass', 'kept', 'kept = 5\nkept', code_mode=limited(max_duration_secs=0.1)
    )
    assert RESET in text_of(stopped)
    assert '`kept` is not defined' in text_of(after)
    assert fresh.content == 5


async def test_cm10_time_outs_may_follow_each_other() -> None:
    code = 'while True:\n    pass'
    returns = await run(code, code, code, '1', code_mode=limited(max_duration_secs=0.05))
    assert [part.outcome for part in returns] == ['retried'] * 3 + ['success']


async def test_cm10_a_time_out_reports_the_call_that_was_left_running() -> None:
    code = 'import asyncio\nasync def spin():\n    await add(a=1)\n    while True:\n        pass\n'
    stopped, _ = await run(
        f'{code}await asyncio.gather(wait(seconds=30), spin())', '1', code_mode=limited(max_duration_secs=0.1)
    )
    assert '- wait(seconds=30) did not finish' in text_of(stopped)
    assert '- add(a=1) returned 1' in text_of(stopped)


async def test_cm10_waiting_for_a_tool_is_free() -> None:
    (returned,) = await run('await wait(seconds=0.4)', code_mode=limited(max_duration_secs=0.1))
    assert returned.content == 0.4


async def test_cm10_the_time_of_all_parts_of_a_snippet_adds_up() -> None:
    part = 'for _ in range(300_000):\n        pass\n    await wait(seconds=0.001)'
    (stopped,) = await run(f'for n in range(50):\n    {part}', code_mode=limited(max_duration_secs=0.1))
    assert 'used up the 0.1 s of computing' in text_of(stopped)


async def test_cm10_each_snippet_has_the_whole_time() -> None:
    code = 'n = 0\nwhile n < 600_000:\n    n += 1\nn'
    returns = await run(*[code] * 20, code_mode=limited(max_duration_secs=0.6))
    assert [part.content for part in returns] == [600_000] * 20


async def test_cm10_unlimited_lifts_time_and_memory() -> None:
    code_mode = CodeMode[None](resource_limits='unlimited')
    assert (code_mode.limits.max_duration_secs, code_mode.limits.max_memory) == (None, None)
    (returned,) = await run(f"s = 'x' * {300 * MIB}\nlen(s)", code_mode=code_mode)
    assert returned.content == 300 * MIB


def test_cm10_the_defaults() -> None:
    limits = CodeMode[None]().limits
    assert (limits.max_duration_secs, limits.max_memory) == (30, 256 * MIB)


@pytest.mark.parametrize(
    ('setting', 'expected'),
    [
        ({'max_duration_secs': 2}, (2, 256 * MIB)),
        ({'max_memory': MIB}, (30, MIB)),
        ({'max_duration_secs': None}, (None, 256 * MIB)),
        ({}, (30, 256 * MIB)),
    ],
)
def test_cm10_a_limit_that_is_left_out_keeps_its_default(setting: dict[str, Any], expected: tuple[Any, Any]) -> None:
    limits = limited(**setting).limits
    assert (limits.max_duration_secs, limits.max_memory) == expected


@pytest.mark.parametrize(
    'setting',
    [
        {'max_duration_secs': 0},
        {'max_duration_secs': -1},
        {'max_duration_secs': float('nan')},
        {'max_duration_secs': float('inf')},
        {'max_duration_secs': '5'},
        {'max_duration_secs': True},
        {'max_memory': 0},
        {'max_memory': -1},
        {'max_memory': 1.5},
        {'max_memory': False},
        {'max_seconds': 5},
        'limitless',
        [],
        5,
    ],
    ids=str,
)
def test_cm10_bad_limits_fail_when_the_capability_is_built(setting: Any) -> None:
    with pytest.raises(ConfigurationError, match=r'resource_limits|max_duration_secs|max_memory') as raised:
        CodeMode[None](resource_limits=setting)
    assert isinstance(raised.value, (HarnessError, ValueError))


@pytest.mark.parametrize('value', [5, None, [1], 'search', ''])
def test_cm3_tools_that_select_nothing_fail_when_the_capability_is_built(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="`tools` takes 'all', names"):
        CodeMode[None](value)


@pytest.mark.parametrize('name', ['keep_repl', 'dynamic_catalog'])
def test_what_is_neither_true_nor_false_fails_when_the_capability_is_built(name: str) -> None:
    wrong: dict[str, Any] = {name: 'no'}
    with pytest.raises(ConfigurationError, match=f"`{name}` is True or False, not 'no'"):
        CodeMode[None](**wrong)


@pytest.mark.parametrize('name', ['max_retries', 'max_tool_calls', 'max_result_bytes'])
@pytest.mark.parametrize('value', [-1, 1.5, '3', True])
def test_bad_counts_fail_when_the_capability_is_built(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=name):
        CodeMode[None](**{name: value})  # pyright: ignore[reportArgumentType]


# -- CM-10: memory -----------------------------------------------------------------------------------------------

HOGS = [
    f"x = 'a' * {100 * MIB}",
    "x = []\nwhile True:\n    x.append('a' * 1000 + str(len(x)))",
    f'x = [0] * {100 * MIB}',
    f'try:\n    x = [0] * {100 * MIB}\nexcept BaseException:\n    pass\n1',
    'x = 2 ** (10**9)',
]


@pytest.mark.parametrize('hog', HOGS)
async def test_cm10_memory_runs_out_and_the_next_snippet_works(hog: str) -> None:
    stopped, after = await run(
        f'kept = 1\nawait add(a=1)\n{hog}', 'await add(a=2)', code_mode=limited(max_memory=10 * MIB)
    )
    assert 'used up the 10 MiB of memory' in text_of(stopped)
    assert RESET in text_of(stopped)
    assert '- add(a=1) returned 1' in text_of(stopped)
    assert after.content == 2


async def test_cm10_memory_is_that_of_the_session() -> None:
    part = f"'a' * {4 * MIB}"
    returns = await run(f'a = {part}', f'b = {part}', f'c = {part}', '1', code_mode=limited(max_memory=10 * MIB))
    assert [part.outcome for part in returns] == ['success', 'success', 'retried', 'success']


def fill(size: int) -> str:
    """Give a long text."""
    return 'x' * size


def measure(text: str) -> int:
    """Measure a text."""
    return len(text)


@pytest.mark.parametrize(
    'code',
    ["x = 'a' * 6_000_000\nx", "x = 'a' * 6_000_000\nawait measure(text=x)", 'await fill(size=50_000_000)'],
    ids=['result', 'argument', 'tool-result'],
)
async def test_cm10_memory_that_runs_out_while_a_value_crosses(code: str) -> None:
    stopped, after = await run_snippets(
        code, '1', tools=[Tool(fill), Tool(measure)], code_mode=limited(max_memory=10 * MIB)
    )
    assert 'used up the 10 MiB of memory' in text_of(stopped)
    assert RESET in text_of(stopped)
    assert after.content == 1


async def test_cm10_after_a_tool_result_too_large_to_be_passed_in_the_next_snippet_works() -> None:
    code = f'kept = 1\ntry:\n    await fill(size={300 * MIB})\nexcept Exception:\n    pass\nkept'
    _, after = await run_snippets(code, '1', tools=[Tool(fill)])
    assert after.content == 1


async def test_cm10_the_default_memory() -> None:
    fits, too_much = await run(f"len('a' * {200 * MIB})", f"len('a' * {300 * MIB})")
    assert fits.content == 200 * MIB
    assert 'the 256 MiB of memory' in text_of(too_much)


# -- CM-10: sleep ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('sleep', ['await asyncio.sleep({})', 'time.sleep({})'])
async def test_cm10_sleep_has_an_allowance_of_the_length_of_the_time_limit(sleep: str) -> None:
    head = 'import asyncio, time\nkept = 1\n'
    short, tired, after = await run(
        head + sleep.format(0.15) + "\n'rested'",
        head + sleep.format(0.15) + '\n' + sleep.format(0.15),
        'kept',
        code_mode=limited(max_duration_secs=0.25),
    )
    assert short.content == 'rested'
    assert 'sleeping 0.15 s is past the allowance of 0.25 s of sleep' in text_of(tired)
    assert 'line 4' in text_of(tired)
    assert RESET not in text_of(tired)
    assert after.content == 1


async def test_cm10_sleep_and_computing_are_counted_apart() -> None:
    compute = 'for _ in range(7_500_000):\n    pass\n'  # 0.1 s
    code = f'import asyncio\n{compute}await asyncio.sleep(0.9)\n{compute}1'
    (returned,) = await run(code, code_mode=limited(max_duration_secs=1))
    assert returned.content == 1


async def test_cm10_gathered_sleeps_overlap_and_count_once() -> None:
    started = time.monotonic()
    code = "import asyncio\nawait asyncio.gather(*[asyncio.sleep(0.2) for _ in range(10)])\n'rested'"
    (returned,) = await run(code, code_mode=limited(max_duration_secs=0.25))
    assert returned.content == 'rested'
    assert time.monotonic() - started < 1.5


async def test_cm10_a_sleep_past_the_allowance_does_not_wait_and_can_be_caught() -> None:
    started = time.monotonic()
    code = 'import asyncio\ntry:\n    await asyncio.sleep(3600)\nexcept TimeoutError as e:\n    r = str(e)\nr'
    (returned,) = await run(code, code_mode=limited(max_duration_secs=1))
    assert 'sleeping 3600 s' in str(returned.content)
    assert time.monotonic() - started < 5


async def test_cm10_unlimited_sleep() -> None:
    (returned,) = await run(
        'import asyncio\nawait asyncio.sleep(0.05)\n1', code_mode=CodeMode[None](resource_limits='unlimited')
    )
    assert returned.content == 1


async def test_cm10_a_sleeping_snippet_frees_its_worker() -> None:
    pool = WorkerPool(max_workers=1)
    code_mode = CodeMode[None](worker_pool=pool)
    sleeper = asyncio.create_task(run('import asyncio\nx = 7\nawait asyncio.sleep(0.3)\nx', code_mode=code_mode))
    await asyncio.sleep(0.1)
    (quick,) = await run('1 + 1', code_mode=code_mode)
    assert quick.content == 2
    assert not sleeper.done()
    (slept,) = await sleeper
    assert slept.content == 7
    pool.close()


@pytest.mark.parametrize(
    'code', ['import asyncio\nawait asyncio.sleep(-1)\n1', 'import asyncio\nawait asyncio.sleep(0)\n1']
)
async def test_cm10_a_sleep_of_nothing(code: str) -> None:
    (returned,) = await run(code)
    assert returned.content == 1


async def test_cm10_sleep_gives_its_result() -> None:
    (returned,) = await run("import asyncio\nawait asyncio.sleep(0.01, 'v')")
    assert returned.content == 'v'


# -- CM-11: the budget -------------------------------------------------------------------------------------------


async def test_cm11_the_default_is_a_hundred_calls() -> None:
    code = 'n = 0\ntry:\n    while True:\n        n += await add(a=1)\nexcept RuntimeError:\n    pass\nn'
    assert CodeMode[None]().max_tool_calls == 100
    (returned,) = await run(code)
    assert returned.content == 100


async def test_cm11_a_snippet_that_catches_keeps_its_results() -> None:
    code = """
found = []
for n in range(4):
    try:
        found.append(await add(a=n))
    except RuntimeError as e:
        found.append(str(e))
found
"""
    returned, after = await run(code, 'await add(a=9)', code_mode=CodeMode[None](max_tool_calls=2))
    text = 'the budget of 2 tool calls for one `run_code` call is used up; add() was not called'
    assert returned.content == [0, 1, text, text]
    assert len(returned.metadata['tool_calls']) == 2
    assert after.content == 9


async def test_cm11_calls_are_reserved_before_they_are_scheduled() -> None:
    calls: list[int] = []

    async def touch(n: int) -> int:
        calls.append(n)
        return n

    code = """
import asyncio
made = []
for n in range(5):
    try:
        made.append(touch(n=n))
    except RuntimeError:
        made.append(asyncio.sleep(0, 'refused'))
await asyncio.gather(*made)
"""
    (returned,) = await run_snippets(code, tools=[Tool(touch)], code_mode=CodeMode[None](max_tool_calls=3))
    assert returned.content == [0, 1, 2, 'refused', 'refused']
    assert sorted(calls) == [0, 1, 2]


async def test_cm11_uncaught_it_reports_what_started_and_how_each_call_ended() -> None:
    def fail(a: int) -> int:
        raise ValueError(f'no {a}')

    code = """
import asyncio
await add(a=1)
try:
    await fail(a=2)
except ValueError:
    pass
late = asyncio.gather(wait(seconds=30), add(a=3))
async def more():
    await add(a=4)
    await add(a=5)
    await add(a=6)
await asyncio.gather(wait(seconds=30), more())
"""
    (stopped,) = await run_snippets(code, tools=[*TOOLS, Tool(fail)], code_mode=CodeMode[None](max_tool_calls=7))
    text = text_of(stopped)
    assert 'the budget of 7 tool calls' in text
    assert 'line 12, in more' in text
    lines = [line for line in text.split('\n') if line.startswith('- ')]
    assert lines[:2] == ['- add(a=1) returned 1', '- fail(a=2) raised ValueError: no 2']
    assert '- wait(seconds=30) did not finish' in lines
    assert '- add(a=4) returned 4' in lines
    assert '- add(a=5) returned 5' in lines
    assert lines[-1] == '- 1 refused, past the budget of 7 for one `run_code` call'


async def test_cm11_the_list_is_cut_and_the_total_stays_exact() -> None:
    def store(text: str, n: int) -> str:
        return text * 5

    code = "for n in range(400):\n    await store(text='x' * 5_000, n=n)"
    (stopped,) = await run_snippets(code, tools=[Tool(store)], code_mode=CodeMode[None](max_tool_calls=300))
    text = text_of(stopped)
    assert '300 tool calls started' in text
    listed = text.count('- store(')
    assert 0 < listed < 300
    assert f'- ... and {300 - listed} more that are not listed' in text
    assert len(text) < 10_000


async def test_cm11_the_total_is_exact_after_any_failure() -> None:
    code = 'import asyncio\nawait asyncio.gather(*[add(a=n) for n in range(250)])\n1 / 0'
    (stopped,) = await run(code, code_mode=CodeMode[None](max_tool_calls=300))
    assert '250 tool calls started' in text_of(stopped)


async def test_cm11_each_run_code_call_has_its_own_budget() -> None:
    code = 'await add(a=1)\nawait add(a=2)'
    returns = await run(code, code, code, code_mode=CodeMode[None](max_tool_calls=2))
    assert [part.content for part in returns] == [2, 2, 2]


async def test_cm11_the_model_is_told_the_budget() -> None:
    script = ScriptedModel([])
    await make_agent(script, code_mode=CodeMode[None](max_tool_calls=7)).run('go')
    assert 'At most 7 function calls' in script.description


async def test_cm11_calls_that_were_never_awaited_are_told_from_refused_ones() -> None:
    code = 'import asyncio\nawait asyncio.gather(*[add(a=n) for n in range(5)])'
    (stopped,) = await run(code, code_mode=CodeMode[None](max_tool_calls=2))
    assert '0 tool calls started' in text_of(stopped)
    assert '- 2 not awaited, so not started' in text_of(stopped)
    assert '- 1 refused, past the budget of 2' in text_of(stopped)


# -- CM-12: what persists ----------------------------------------------------------------------------------------


async def test_cm12_variables_imports_and_functions_persist() -> None:
    returns = await run(
        "import math\nfrom json import dumps as d\nx = {'n': [1]}",
        "def f(k):\n    x['n'].append(k)\n    return math.pi\nclass P:\n    y = 3\np = P()",
        '[f(2), x, d(x), p.y, P.y]',
        'async def g():\n    return await add(a=len(x["n"]))\nawait g()',
        'await g()',
    )
    assert returns[2].content == [3.141592653589793, {'n': [1, 2]}, '{"n": [1, 2]}', 3, 3]
    assert [part.content for part in returns[3:]] == [2, 2]


@pytest.mark.parametrize(
    ('first', 'second'),
    [
        ('x = add(a=1)', 'await x'),
        ('import asyncio\nx = [add(a=1), add(a=2)]', 'await asyncio.gather(*x)'),
        ('import asyncio\nx = asyncio.gather(add(a=1), add(a=2))', 'await x'),
    ],
)
async def test_cm12_a_call_of_earlier_code_that_is_awaited_later_does_not_end_the_run(first: str, second: str) -> None:
    _, awaited, after = await run(first, second, '1')
    assert awaited.content in (1, [1, 2]) or awaited.outcome == 'retried'
    assert after.content == 1


async def test_cm12_what_was_assigned_before_an_error_is_kept() -> None:
    failed, after, missing = await run('x = 1\n1 / 0\ny = 2', 'x', 'y')
    assert 'Variables that were assigned before the error are kept.' in text_of(failed)
    assert after.content == 1
    assert "name 'y' is not defined" in text_of(missing)


async def test_cm12_restart_starts_afresh() -> None:
    turns: list[Turn] = ['x = 1', {'code': 'y = 2\ny', 'restart': True}, 'y', 'x']
    _, restarted, kept, gone = await run(*turns)
    assert [restarted.content, kept.content] == [2, 2]
    assert '`x` is not defined' in text_of(gone)


@pytest.mark.parametrize('restart', [False, None])
async def test_cm12_without_restart_nothing_is_dropped(restart: bool | None) -> None:
    turn: dict[str, Any] = {'code': 'x'} if restart is None else {'code': 'x', 'restart': restart}
    _, after = await run('x = 1', turn)
    assert after.content == 1


async def test_cm12_code_that_is_refused_with_restart_changes_nothing() -> None:
    turns: list[Turn] = ['x = 1', {'code': 'undefined', 'restart': True}, 'x']
    _, refused, after = await run(*turns)
    assert 'nothing changed' in text_of(refused)
    assert after.content == 1


async def test_cm12_code_that_fails_after_restart_has_dropped_the_variables() -> None:
    turns: list[Turn] = ['x = 1', {'code': 'y = 2\n1 / 0', 'restart': True}, 'y', 'x']
    _, _, kept, gone = await run(*turns)
    assert kept.content == 2
    assert 'not defined' in text_of(gone)


def monty_processes() -> set[int]:
    """Ids of this process's sandbox workers."""
    children: set[str] = set()
    for thread in Path(f'/proc/{os.getpid()}/task').iterdir():
        with suppress(OSError):  # the thread has ended meanwhile
            children.update((thread / 'children').read_text().split())
    return {int(pid) for pid in children if _name_of(pid) == 'monty'}


def _name_of(pid: str) -> str:
    with suppress(OSError):
        return Path(f'/proc/{pid}/comm').read_text().strip()
    return ''


@pytest.fixture
def own_pool() -> Iterator[WorkerPool]:
    """A pool whose processes can be told from those of the shared one."""
    pool = WorkerPool(max_workers=1)
    yield pool
    pool.close()


async def is_whole(pool: WorkerPool) -> None:
    """Wait until no turn and no session has a worker."""
    async with asyncio.timeout(5):
        while pool.free_workers < pool.max_workers:  # noqa: ASYNC110  the pool has no event to wait for
            await asyncio.sleep(0.001)


class Killer:
    """Tools that end the workers of one pool."""

    def __init__(self) -> None:
        self.others = monty_processes()

    def kill(self) -> int:
        """End the workers now."""
        own = monty_processes() - self.others
        for pid in own:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(own)

    def kill_soon(self) -> None:
        """End the workers in a moment."""
        threading.Timer(0.1, self.kill).start()

    def tools(self) -> list[Tool[None]]:
        return [Tool(self.kill), Tool(self.kill_soon), *TOOLS]


needs_proc = pytest.mark.skipif(not Path('/proc/self/task').exists(), reason='finds the workers under /proc')


@needs_proc
@pytest.mark.parametrize(
    'crash',
    ['await kill()', 'await kill_soon()\nwhile True:\n    pass', 'await kill_soon()\nawait wait(seconds=0.3)'],
    ids=['in-a-tool', 'while-computing', 'while-waiting'],
)
async def test_cm12_a_crash_of_the_sandbox_is_reported_with_the_reset(crash: str, own_pool: WorkerPool) -> None:
    lost, after = await run_snippets(
        f'kept = 1\nawait add(a=1)\n{crash}\nkept',
        'await add(a=2)',
        tools=Killer().tools(),
        code_mode=CodeMode[None](worker_pool=own_pool),
    )
    assert 'The sandbox failed while the code ran' in text_of(lost)
    assert RESET in text_of(lost)
    assert '- add(a=1) returned 1' in text_of(lost)
    assert after.content == 2
    await is_whole(own_pool)


@needs_proc
async def test_cm12_a_crash_between_two_snippets_is_reported_by_the_second(own_pool: WorkerPool) -> None:
    killer = Killer()
    native = CodeMode[None](['add'], worker_pool=own_pool)
    turns: list[Turn] = ['kept = 1', [ToolCallPart('kill', {})], 'kept', 'await add(a=2)']
    _, lost, after = await run_snippets(*turns, tools=[Tool(killer.kill), Tool(add)], code_mode=native)
    assert RESET in text_of(lost)
    assert after.content == 2


@needs_proc
async def test_cm12_state_that_was_set_aside_survives_the_end_of_its_worker(own_pool: WorkerPool) -> None:
    killer = Killer()
    code_mode = CodeMode[None](worker_pool=own_pool)

    async def take_over() -> None:
        await run_snippets('1', code_mode=code_mode)
        killer.kill()
        await asyncio.sleep(0.3)  # until the end of the process has been noticed

    (returned,) = await run_snippets('kept = 5\nawait take_over()\nkept', tools=[Tool(take_over)], code_mode=code_mode)
    assert returned.content == 5


@needs_proc
async def test_cm5_the_check_works_again_after_its_process_ended(own_pool: WorkerPool) -> None:
    killer = Killer()
    code_mode = CodeMode[None](worker_pool=own_pool)
    _, refused = await run_snippets('await kill()', 'await add(a=[])', tools=killer.tools(), code_mode=code_mode)
    assert 'The code was not run' in text_of(refused)


# -- CM-13: how often code may fail ------------------------------------------------------------------------------

FAILURES = ['1 / 0', 'undefined', 'def', 'len', "'x' + 1"]


@pytest.mark.parametrize('bad', FAILURES)
async def test_cm13_the_run_ends_after_three_retries(bad: str) -> None:
    script = ScriptedModel([bad] * 9)
    with pytest.raises(UnexpectedModelBehavior, match="'run_code' exceeded max retries count of 3"):
        await make_agent(script).run('go')
    assert len(script.infos) == 4


@pytest.mark.parametrize('retries', [0, 1, 5])
async def test_cm13_max_retries_bounds_them(retries: int) -> None:
    script = ScriptedModel(['1 / 0'] * 9)
    with pytest.raises(UnexpectedModelBehavior, match=f'max retries count of {retries}'):
        await make_agent(script, code_mode=CodeMode[None](max_retries=retries)).run('go')
    assert len(script.infos) == retries + 1


async def test_cm13_a_success_starts_the_count_again() -> None:
    returns = await run(*['1 / 0'] * 3, '1', *['1 / 0'] * 3, '2')
    assert [part.outcome for part in returns].count('retried') == 6
    assert returns[-1].content == 2


async def test_cm13_after_the_last_retry_the_worker_is_free(own_pool: WorkerPool) -> None:
    agent = make_agent(ScriptedModel(['1 / 0'] * 9), code_mode=CodeMode[None](worker_pool=own_pool))
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run('go')
    await is_whole(own_pool)
    result = await agent.run('go', model=ScriptedModel(['1']).model())
    assert code_returns(result.all_messages())[0].content == 1
