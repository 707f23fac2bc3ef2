"""What a pause costs: its size, and the time that pausing and resuming add to an agent run.

    python benchmarks/pausing.py [--rounds N] [--out benchmarks/pausing.json]

Each program makes ten calls, then one that needs approval, and holds so many numbers in a list. `inline` is a run in
which `HandleDeferredToolCalls` approves at once; `pause` is the run that ends with the requests; `resume` the one that
goes on. Both stores are measured. There is no peer: the release has no such thing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from run import markdown, show

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.code_mode import FileStateStore, MemoryStateStore, StateStore

HERE = Path(__file__).resolve().parent
HELD = (0, 10_000, 100_000)
Output = str | DeferredToolRequests


class Measured:
    """A store that knows how large the largest state was."""

    def __init__(self, store: StateStore) -> None:
        self.store = store
        self.size = 0

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        self.size = max(self.size, len(state))
        await self.store.save(key, state, expires_at=expires_at)

    async def take(self, key: str) -> bytes:
        return await self.store.take(key)


def program(held: int) -> str:
    return f'held = list(range({held}))\nfor n in range(10):\n    x = await double(number=n)\nawait refund(order=7)'


def make_agent(held: int, store: StateStore | None) -> Agent[object, Output]:
    """The agent; without a store, calls are approved inline."""

    def reply(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        last = messages[-1]
        if isinstance(last, ModelRequest) and any(isinstance(part, ToolReturnPart) for part in last.parts):
            return ModelResponse(parts=[TextPart('done')])
        return ModelResponse(parts=[ToolCallPart('run_code', {'code': program(held)}, tool_call_id='call')])

    capabilities: list[AbstractCapability[object]] = (
        [CodeMode(), HandleDeferredToolCalls(lambda ctx, requests: requests.build_results(approve_all=True))]
        if store is None
        else [CodeMode(deferred_calls='pause', state_store=store)]
    )
    agent = Agent[object, Output](
        FunctionModel(reply), output_type=[str, DeferredToolRequests], capabilities=capabilities
    )

    @agent.tool_plain
    def double(number: int) -> int:
        return 2 * number

    @agent.tool_plain(requires_approval=True)
    def refund(order: int) -> str:
        return f'{order} refunded'

    return agent


async def timed(work: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = await work()
    return time.perf_counter() - start, result


async def measure(held: int, store: StateStore | None, rounds: int) -> dict[str, float]:
    """Medians of one program with one store."""
    measured = None if store is None else Measured(store)
    agent = make_agent(held, measured)
    seconds: dict[str, list[float]] = {}
    for number in range(rounds + 2):
        first, result = await timed(partial(agent.run, 'Go.'))
        sample = {'inline' if measured is None else 'pause': first}
        if measured is not None:
            answers = result.output.build_results(approve_all=True)
            again = partial(agent.run, message_history=result.all_messages(), deferred_tool_results=answers)
            sample['resume'], result = await timed(again)
        assert result.output == 'done', result.output
        if number > 1:  # the first two warm up
            for name, value in sample.items():
                seconds.setdefault(name, []).append(value)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return medians if measured is None else {**medians, 'stored_bytes': float(measured.size)}


async def measure_all(rounds: int) -> dict[str, dict[str, float]]:
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        for held in HELD:
            results[f'{held} numbers, inline'] = await measure(held, None, rounds)
            results[f'{held} numbers, memory'] = await measure(held, MemoryStateStore(), rounds)
            results[f'{held} numbers, files'] = await measure(held, FileStateStore(Path(directory)), rounds)
    return results


def table(results: dict[str, dict[str, float]]) -> str:
    def cell(figures: dict[str, float], name: str) -> str:
        return show('seconds', figures[name]) if name in figures else '-'

    rows = [
        [
            program_and_store,
            *(cell(figures, name) for name in ('inline', 'pause', 'resume')),
            f'{figures["stored_bytes"]:,.0f}' if 'stored_bytes' in figures else '-',
        ]
        for program_and_store, figures in results.items()
    ]
    return markdown(['', 'whole run, inline', 'run that pauses', 'run that resumes', 'bytes stored'], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description='Measure what a pause costs.')
    parser.add_argument('--rounds', type=int, default=30)
    parser.add_argument('--out', type=Path, default=HERE / 'pausing.json')
    options = parser.parse_args()
    results = asyncio.run(measure_all(options.rounds))
    about = {'date': time.strftime('%Y-%m-%d', time.gmtime()), 'cpus': os.cpu_count(), 'rounds': options.rounds}
    options.out.write_text(json.dumps({'about': about, 'results': results}, indent=1) + '\n')
    text = f'Medians of {options.rounds} rounds.\n\n{table(results)}\n'
    options.out.with_suffix('.md').write_text(text)
    print(text)


if __name__ == '__main__':
    main()
