"""Benchmark workloads, the same file for every contender, each contender in a process of its own.

    python benchmarks/workloads.py NAME MODE [--repeats N]   # run one workload and print JSON lines
    python benchmarks/workloads.py --serve MODE              # take JSON requests on stdin, answer with JSON lines
    python benchmarks/workloads.py --list

Modes: `code` is an agent with `CodeMode()`, from whichever `pydantic_ai_harness` this interpreter imports; `plain`
is the same agent and tools without it, where the model makes the tool calls itself; `raw` is the sandbox alone, a
synchronous session on a warm pool, whose tools are answered by direct function calls. Only public APIs are used.

The model is a `FunctionModel`, a stand-in, since a hosted model needs a key. Every reply it is sent is checked
against the expected result, so a contender that fails is reported as failed and never as fast.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, cast

import procs
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext, ToolDefinition
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits
from typing_extensions import TypedDict

Mode = Literal['code', 'plain', 'raw']
Extra = Literal['none', 'instructions', 'hooks']
Kind = Literal['time', 'wait', 'cancel']
Sample = dict[str, float]
Call = tuple[str, dict[str, Any]]

MODES: tuple[Mode, ...] = ('code', 'plain', 'raw')
CAP_SECONDS = 40.0
CANCEL_AFTER_SECONDS = 0.5
POLL_SECONDS = 0.02
QUIET_LOOKS = 25
WAIT_SECONDS = 2.0
NO_LIMITS = UsageLimits(request_limit=None)


class Catalog(BaseModel):
    """A list of the items of one category."""

    category: str
    item_ids: list[int]


class Item(TypedDict):
    """An item for sale."""

    id: int
    name: str
    group: str
    price: float
    stock: int
    tags: list[str]


def make_catalog(category: str) -> Catalog:
    return Catalog(category=category, item_ids=list(range(20)))


def dump_catalog(category: str) -> dict[str, Any]:
    return make_catalog(category).model_dump()


def make_item(item_id: int) -> Item:
    group = f'group-{item_id % 4}'
    return Item(
        id=item_id, name=f'Item {item_id}', group=group, price=1.5 * item_id, stock=item_id % 7, tags=[group, 'sale']
    )


def add_numbers(a: int, b: int) -> int:
    return a + b


async def list_items(category: str) -> Catalog:
    """List the items of a category."""
    return make_catalog(category)


async def get_item(item_id: int) -> Item:
    """Get one item."""
    return make_item(item_id)


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return add_numbers(a, b)


async def wait(seconds: float) -> float:
    """Wait for a while."""
    await asyncio.sleep(seconds)
    return seconds


TOOLS = [list_items, get_item, add, wait]
RAW_TOOLS: dict[str, Callable[..., Any]] = {'list_items': dump_catalog, 'get_item': make_item, 'add': add_numbers}


@dataclass
class Notes(AbstractCapability[object]):
    """A capability that only adds instructions."""

    text: str = ''

    def get_instructions(self) -> str:
        return self.text


@dataclass
class PassThrough(Notes):
    """A capability that also overrides a tool hook, and changes nothing in it."""

    async def before_tool_execute(
        self, ctx: RunContext[object], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        return args


TYPICAL_CODE = """\
import asyncio

catalog = await list_items(category='tools')
items = await asyncio.gather(*[get_item(item_id=item_id) for item_id in catalog['item_ids']])
totals: dict[str, float] = {}
for item in items:
    totals[item['group']] = totals.get(item['group'], 0.0) + item['price'] * item['stock']
[{'group': group, 'total': total} for group, total in sorted(totals.items(), key=lambda pair: pair[1], reverse=True)]
"""
TYPICAL_RESULT = [
    {'group': 'group-1', 'total': 259.5},
    {'group': 'group-3', 'total': 244.5},
    {'group': 'group-2', 'total': 213.0},
    {'group': 'group-0', 'total': 174.0},
]
SEQUENCE_CODE = """\
total = 0
for i in range({calls}):
    total += await add(a=i, b=1)
total
"""
GATHER_CODE = """\
import asyncio

sum(await asyncio.gather(*[add(a=i, b=1) for i in range({calls})]))
"""


@dataclass(frozen=True)
class Workload:
    """What is run in one sample, how often, and what must come out.

    `turns` holds the tool calls that the model of the plain agent makes, turn by turn.
    """

    name: str
    code: str
    expected: Any
    turns: Sequence[Sequence[Call]]
    units: int = 1
    runs: int = 1
    kind: Kind = 'time'
    extra: Extra = 'none'
    max_tool_calls: int | None = None
    rounds: int = 21
    quick_rounds: int = 21
    modes: tuple[Mode, ...] = MODES


def add_calls(calls: int) -> list[Call]:
    return [('add', {'a': i, 'b': 1}) for i in range(calls)]


def add_sum(calls: int) -> int:
    return sum(i + 1 for i in range(calls))


def typical() -> Workload:
    gets: list[Call] = [('get_item', {'item_id': item_id}) for item_id in range(20)]
    return Workload('typical', TYPICAL_CODE, TYPICAL_RESULT, [[('list_items', {'category': 'tools'})], gets], units=21)


def sequence(calls: int) -> Workload:
    turns = [[call] for call in add_calls(calls)]
    return Workload(f'seq_{calls}', SEQUENCE_CODE.format(calls=calls), add_sum(calls), turns, units=calls)


def gathered(calls: int) -> Workload:
    code = GATHER_CODE.format(calls=calls)
    return Workload(f'gather_{calls}', code, add_sum(calls), [add_calls(calls)], units=calls)


def concurrent(runs: int, rounds: int, quick_rounds: int) -> Workload:
    base = gathered(10)
    return replace(base, name=f'runs_{runs}', runs=runs, units=runs, rounds=rounds, quick_rounds=quick_rounds)


def waiting(runs: int) -> Workload:
    turns: list[list[Call]] = [[('wait', {'seconds': WAIT_SECONDS})]]
    code = f'await wait(seconds={WAIT_SECONDS})'
    base = Workload(f'wait_{runs}', code, WAIT_SECONDS, turns, units=runs, runs=runs, kind='wait')
    return replace(base, rounds=3, quick_rounds=1, modes=('code', 'plain'))


def cancelled() -> Workload:
    base = Workload('cancel', 'while True: pass', None, [], kind='cancel', modes=('code',))
    return replace(base, rounds=3, quick_rounds=1)


def with_extra(base: Workload, extra: Extra) -> Workload:
    return replace(base, name=f'{base.name}_{extra}', extra=extra, modes=('code', 'plain'), quick_rounds=7)


def growing(base: Workload) -> Workload:
    return replace(base, name=f'grow_{base.name}', max_tool_calls=1000, rounds=7, quick_rounds=2)


def all_workloads() -> list[Workload]:
    """Every workload, in the order in which the driver runs them: the two that start or spoil workers come last."""
    bases = [typical(), sequence(100), gathered(100)]
    extras: tuple[Extra, ...] = ('instructions', 'hooks')
    return [
        Workload('one_plus_one', '1+1', 2, [[('add', {'a': 1, 'b': 1})]]),
        bases[0],
        sequence(10),
        *bases[1:],
        *(with_extra(base, extra) for base in bases for extra in extras),
        *(growing(sequence(calls)) for calls in (100, 200, 400)),
        *(growing(gathered(calls)) for calls in (100, 200, 400)),
        concurrent(50, rounds=7, quick_rounds=2),
        concurrent(100, rounds=5, quick_rounds=1),
        concurrent(200, rounds=5, quick_rounds=1),
        concurrent(400, rounds=3, quick_rounds=1),
        waiting(600),
        cancelled(),
    ]


WORKLOADS = {workload.name: workload for workload in all_workloads()}


def tool_calls(workload: Workload, mode: Mode, turn: int) -> list[ToolCallPart]:
    """The tool calls of one model turn, none when it is the last."""
    if mode == 'code':
        return [ToolCallPart('run_code', {'code': workload.code})] if turn == 0 else []
    if turn >= len(workload.turns):
        return []
    return [ToolCallPart(name, dict(args)) for name, args in workload.turns[turn]]


def check_tools(mode: Mode, info: AgentInfo) -> None:
    names = {tool.name for tool in info.function_tools}
    if (names == {'run_code'}) is not (mode == 'code'):
        raise RuntimeError(f'unexpected tools for the mode {mode}: {sorted(names)}')


def check_reply(workload: Workload, mode: Mode, turn: int, message: ModelMessage) -> None:
    """Raise unless the tools answered the calls of the turn before, and code mode with the expected value."""
    wanted = 1 if mode == 'code' else len(workload.turns[turn - 1])
    contents = [part.content for part in message.parts if isinstance(part, ToolReturnPart)]
    if len(contents) != wanted or len(message.parts) != wanted:
        raise RuntimeError(f'expected {wanted} tool returns: {str(message.parts)[:500]}')
    if mode == 'code' and contents[0] != workload.expected:
        raise RuntimeError(f'expected {workload.expected!r}: {str(contents[0])[:500]}')


def make_model(workload: Workload, mode: Mode) -> FunctionModel:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = len(messages) // 2
        if turn == 0:
            check_tools(mode, info)
        else:
            check_reply(workload, mode, turn, messages[-1])
        parts = tool_calls(workload, mode, turn) or [TextPart('done')]
        return ModelResponse(parts=parts, usage=RequestUsage(input_tokens=1, output_tokens=1))

    return FunctionModel(reply)


def make_code_mode(workload: Workload) -> AbstractCapability[object]:
    from pydantic_ai_harness import CodeMode

    if workload.max_tool_calls is None:
        return CodeMode()
    return CodeMode(max_tool_calls=workload.max_tool_calls)


def extra_capabilities(extra: Extra) -> list[AbstractCapability[object]]:
    if extra == 'none':
        return []
    kind = PassThrough if extra == 'hooks' else Notes
    return [kind(text=f'Rule {number}: be brief.', id=f'notes-{number}') for number in range(5)]


@cache
def make_agent(workload_name: str, mode: Mode) -> Agent[object, str]:
    workload = WORKLOADS[workload_name]
    capabilities = extra_capabilities(workload.extra)
    if mode == 'code':
        capabilities.append(make_code_mode(workload))
    return Agent(make_model(workload, mode), tools=TOOLS, capabilities=capabilities)


async def run_agent(workload: Workload, mode: Mode) -> None:
    result = await make_agent(workload.name, mode).run('Go.', usage_limits=NO_LIMITS)
    if result.output != 'done':
        raise RuntimeError(f'unexpected output: {result.output!r}')


async def run_agents(workload: Workload, mode: Mode) -> None:
    """All the runs of one sample at once; the first failure is raised after every run has ended."""
    if workload.runs == 1:
        await run_agent(workload, mode)
        return
    runs = [run_agent(workload, mode) for _ in range(workload.runs)]
    for outcome in await asyncio.gather(*runs, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


@cache
def raw_pool() -> Any:
    """The warm pool of the raw sandbox; it is never closed: its worker ends with this process."""
    from pydantic_monty import Monty

    return Monty(min_processes=1).__enter__()


def run_raw(workload: Workload) -> None:
    """The code of the runs of one sample, one after the other, each in a session of its own."""
    for _ in range(workload.runs):
        with raw_pool().checkout() as session:
            output = drive_raw(session, workload.code)
        if output != workload.expected:
            raise RuntimeError(f'expected {workload.expected!r}: {output!r}')


def drive_raw(session: Any, code: str) -> Any:
    """Run code in a session: calls become futures, resolved at once when the sandbox waits for them."""
    from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete

    results: dict[int, Any] = {}
    snapshot = session.feed_start(code, external_lookup=RAW_TOOLS)
    while not isinstance(snapshot, MontyComplete):
        if isinstance(snapshot, FunctionSnapshot) and not snapshot.is_os_function:
            value = RAW_TOOLS[snapshot.function_name](**snapshot.kwargs)
            results[snapshot.call_id] = {'return_value': value}
            snapshot = snapshot.resume({'future': ...})
        elif isinstance(snapshot, FutureSnapshot):
            resolved, results = results, {}
            snapshot = snapshot.resume(resolved)
        else:
            snapshot = snapshot.resume_auto()
    return snapshot.output


async def run_once(workload: Workload, mode: Mode) -> None:
    if mode == 'raw':
        run_raw(workload)
    else:
        await run_agents(workload, mode)


async def time_sample(workload: Workload, mode: Mode) -> Sample:
    gc.collect()
    start = time.perf_counter()
    await run_once(workload, mode)
    return {'seconds': time.perf_counter() - start}


def start_sampler() -> subprocess.Popen[str]:
    command = [sys.executable, '-I', str(Path(procs.__file__)), str(os.getpid())]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


async def wait_sample(workload: Workload, mode: Mode) -> Sample:
    """Time the runs while a sampler in a process of its own watches the sandbox workers."""
    with start_sampler() as sampler:
        assert sampler.stdin
        assert sampler.stdout
        sampler.stdout.readline()
        sample = await time_sample(workload, mode)
        sampler.stdin.close()
        peaks: Sample = json.loads(sampler.stdout.readline())
        peaks.pop('root')
        return sample | peaks


def look_at(pids: Sequence[int]) -> dict[int, procs.Stat]:
    """The state of those workers that are still there."""
    return {pid: stat for pid in pids if (stat := procs.read_stat(pid))}


async def seconds_until_idle(pids: Sequence[int], start: float) -> float:
    """When the workers were last seen to use the processor or to want it, in seconds after the start; at most the cap.

    On a machine with much else to do a worker that never stops may get no time for a while, so how many looks found
    it at rest counts, and not how long ago the last one was.
    """
    seen, busy, quiet = look_at(pids), start, 0
    while quiet < QUIET_LOOKS:
        if time.perf_counter() - start > CAP_SECONDS:
            return CAP_SECONDS
        await asyncio.sleep(POLL_SECONDS)
        now = look_at(pids)
        if now != seen or any(stat.running for stat in now.values()):
            seen, busy, quiet = now, time.perf_counter(), 0
        else:
            quiet += 1
    return busy - start


async def start_spinning(workload: Workload, mode: Mode) -> tuple[asyncio.Task[None], list[int]]:
    """Start the run and return it once its code uses the processor, with the workers that do."""
    task = asyncio.create_task(run_agents(workload, mode))
    await asyncio.sleep(CANCEL_AFTER_SECONDS * 0.8)
    before = look_at(procs.Tree(os.getpid()).workers())
    await asyncio.sleep(CANCEL_AFTER_SECONDS * 0.2)
    busy = [pid for pid, now in look_at(list(before)).items() if now.cpu_seconds > before[pid].cpu_seconds]
    if task.done() or not busy:
        raise RuntimeError('the code was not running when it was to be cancelled')
    return task, busy


async def cancel_sample(workload: Workload, mode: Mode) -> Sample:
    """Cancel a run whose code never ends, then see when it is over, when its worker is, and that a run still works."""
    task, busy = await start_spinning(workload, mode)
    start = time.perf_counter()
    task.cancel()
    idle = asyncio.create_task(seconds_until_idle(busy, start))
    await asyncio.wait({task}, timeout=CAP_SECONDS)
    sample = {'task_done_s': time.perf_counter() - start, 'worker_idle_s': await idle}
    if max(sample.values()) >= CAP_SECONDS:
        end_workers(busy)
    await asyncio.wait({task}, timeout=1)
    sample['was_cancelled'] = float(task.done() and task.cancelled())
    after = await asyncio.wait_for(time_sample(WORKLOADS['one_plus_one'], mode), CAP_SECONDS)
    return sample | {'next_run_s': after['seconds']}


def end_workers(pids: Sequence[int]) -> None:
    """End workers of this process that did not stop by themselves, so that they do not slow what is measured next."""
    for pid in pids:
        if procs.read_stat(pid):
            os.kill(pid, signal.SIGKILL)


async def lead_in(workload: Workload, mode: Mode, times: int) -> None:
    """Run something unmeasured first: the workload itself, or a small one where the start is what is measured."""
    for _ in range(times):
        await run_once(workload if workload.kind == 'time' else WORKLOADS['one_plus_one'], mode)


async def take_sample(workload: Workload, mode: Mode, leads: int) -> Sample:
    await lead_in(workload, mode, leads)
    if workload.kind == 'wait':
        return await wait_sample(workload, mode)
    if workload.kind == 'cancel':
        return await cancel_sample(workload, mode)
    return await time_sample(workload, mode)


async def answer(name: str, mode: Mode, leads: int) -> dict[str, Any]:
    workload = WORKLOADS[name]
    reply: dict[str, Any] = {'workload': name, 'mode': mode}
    if mode not in workload.modes:
        return reply | {'error': f'{name} has no mode {mode}'}
    try:
        return reply | {'sample': await take_sample(workload, mode, leads)}
    except Exception as error:  # noqa: BLE001 - whatever it is, the driver goes on and reports it
        return reply | {'error': f'{type(error).__name__}: {error}'[:500]}


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def hello(mode: Mode) -> dict[str, Any]:
    """What is about to be measured; an error when code mode cannot be imported."""
    packages = ('pydantic-ai-harness', 'pydantic-ai-slim', 'pydantic-monty', 'pydantic')
    reply: dict[str, Any] = {'mode': mode, 'python': platform.python_version()}
    reply['versions'] = {package: installed(package) for package in packages}
    try:
        if mode == 'code':
            make_code_mode(WORKLOADS['one_plus_one'])
            reply['package'] = str(Path(cast(str, sys.modules['pydantic_ai_harness'].__file__)).parent)
    except ImportError as error:
        reply['error'] = f'{type(error).__name__}: {error}'
    return reply


def emit(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


async def serve(mode: Mode) -> None:
    emit(hello(mode))
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        emit(await answer(request['workload'], mode, request['leads']))


async def repeat(name: str, mode: Mode, repeats: int) -> None:
    for number in range(repeats):
        emit(await answer(name, mode, leads=0 if number else 1))


def main() -> None:
    parser = argparse.ArgumentParser(description='Run benchmark workloads.')
    parser.add_argument('name', nargs='?', choices=[*WORKLOADS])
    parser.add_argument('mode', nargs='?', choices=MODES)
    parser.add_argument('--repeats', type=int, default=1)
    parser.add_argument('--serve', choices=MODES)
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    if options.list:
        print(*WORKLOADS, sep='\n')
    elif options.serve:
        asyncio.run(serve(options.serve))
    elif options.name and options.mode:
        asyncio.run(repeat(options.name, options.mode, options.repeats))
    else:
        parser.error('give a workload and a mode, --serve MODE, or --list')


if __name__ == '__main__':
    main()
