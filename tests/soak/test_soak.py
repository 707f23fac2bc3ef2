"""Long tests (`make soak`): nothing is left behind, however runs end."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
from pathlib import Path

import pytest
from pydantic_ai.tools import Tool

from pydantic_ai_harness import CodeMode, WorkerPool
from tests.support import ScriptedModel, make_agent

pytestmark = pytest.mark.soak

RUNS = 1_000
AT_ONCE = 20
SNIPPETS = (
    '1 + 1',
    'while True: pass',
    'x = await wait(ms=5)\nx',
    'import asyncio\nawait asyncio.gather(*[wait(ms=i) for i in range(10)])',
    'import asyncio\nawait asyncio.sleep(0.01)',
    'await fail(ms=1)',
    "data = ['x' * 100 for i in range(20_000)]\nawait wait(ms=3)\nlen(data)",
    '1 / 0',
    'await wiat(ms=1)',
)


async def wait(ms: int) -> int:
    """Wait."""
    await asyncio.sleep(ms / 1000)
    return ms


async def fail(ms: int) -> int:
    """Fail after a while."""
    await asyncio.sleep(ms / 1000)
    raise ValueError('no')


def children() -> set[int]:
    """Processes of the sandbox that this process started."""
    found: set[int] = set()
    for entry in Path('/proc').iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / 'stat').read_text().rsplit(')', 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and fields[0] != 'Z':
                found.add(int(entry.name))
    return found


def left_tasks() -> set[str]:
    """Tasks beside this one.

    Without the `wrap_run` tasks that Pydantic AI 2.68 itself now and then leaves behind a cancelled run, with any tool.
    """
    names = {str(task.get_coro()) for task in asyncio.all_tasks() - {asyncio.current_task()}}
    return {name for name in names if 'ScopedTask.__init__.<locals>.run' not in name}


def open_files() -> int:
    return len(list(Path('/proc/self/fd').iterdir()))


async def one_run(pool: WorkerPool, chance: random.Random) -> None:
    """A run that is cancelled at a random moment, or not at all."""
    script = ScriptedModel([chance.choice(SNIPPETS) for _ in range(2)])
    code_mode = CodeMode[None](worker_pool=pool, resource_limits={'max_duration_secs': 0.1})
    agent = make_agent(script, code_mode=code_mode, tools=[Tool(wait), Tool(fail)])
    task = asyncio.create_task(agent.run('go'))
    await asyncio.wait([task], timeout=chance.choice([0.0, 0.002, 0.01, 0.05, None]))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.timeout(1200)
def test_nothing_is_left_after_a_thousand_runs_with_random_cancellation() -> None:
    """No task, thread, process or file handle."""
    chance = random.Random(7)  # noqa: S311  repeatable, not secret

    async def many_runs(rounds: int) -> None:
        pool = WorkerPool(max_workers=2)
        for _ in range(rounds):
            await asyncio.gather(*[one_run(pool, chance) for _ in range(AT_ONCE)])
            assert not left_tasks(), left_tasks()
            assert pool.queued_turns == 0
        await asyncio.to_thread(pool.close)

    asyncio.run(many_runs(1))  # what is opened once for the whole process is open now
    before = (children(), threading.active_count(), open_files())
    asyncio.run(many_runs(RUNS // AT_ONCE))
    gc.collect()
    deadline = 100
    while (children(), threading.active_count(), open_files()) != before and deadline:
        deadline -= 1
        threading.Event().wait(0.05)
    assert (children(), threading.active_count(), open_files()) == before
