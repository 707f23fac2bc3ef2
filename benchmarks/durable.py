"""What code mode costs on the durable engines, beside plain tool calling on the same engine.

    python benchmarks/durable.py [--rounds N] [--out benchmarks/durable.json]

One workflow makes 1 call, 20 in sequence, or 20 at once; plain tool calling takes a request of the model for each of
those in sequence, code mode one for the program. The model is scripted and answers at once, so what a real one takes
comes on top, for each request. Temporal runs on its development server, DBOS on SQLite, Prefect on its own server.
There is no peer: the documents of release 0.62.0 have snippets run again in workflow code.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
PROMPTS = ('1 sequential', '20 sequential', '20 gathered')
WARMING_UP = 15
Sample = dict[str, float]
Measure = Callable[[str], Awaitable[Sample]]
Results = dict[str, dict[str, list[Sample]]]


async def rounds_of(measure: Measure, rounds: int) -> dict[str, list[Sample]]:
    """Samples by prompt; the first rounds do not count.

    Temporal's development server hands out workflow tasks at once at first, and about 25 in a second after a while.
    """
    samples: dict[str, list[Sample]] = {}
    for _ in range(WARMING_UP):
        await measure(PROMPTS[0])
    for prompt in PROMPTS:
        await measure(prompt)
        samples[prompt] = [await measure(prompt) for _ in range(rounds)]
    return samples


async def temporal(folder: Path, rounds: int) -> Results:
    from durable_temporal import CODE, Code, Plain
    from pydantic_ai.durable_exec.temporal import PydanticAIPlugin
    from temporalio.client import Client
    from temporalio.worker import Worker
    from tests.durable.rigs import temporal_server

    from pydantic_ai_harness.temporal import CodeModePlugin

    async def measured(client: Client, workflow: Any, prompt: str) -> Sample:
        began = time.perf_counter()
        handle = await client.start_workflow(workflow.run, prompt, id=uuid.uuid4().hex, task_queue=queue)
        assert await handle.result() == str(2 * (int(prompt.split(maxsplit=1)[0]) - 1))
        seconds = time.perf_counter() - began
        events = (await handle.fetch_history()).events
        return {'seconds': seconds, 'recorded': len(events), 'bytes': sum(event.ByteSize() for event in events)}

    results: Results = {}
    with temporal_server(folder) as address:
        for name, workflow, plugins in (
            ('Temporal, plain', Plain, [PydanticAIPlugin()]),
            ('Temporal, code mode', Code, [PydanticAIPlugin()]),
            ('Temporal, code mode with the plugin', Code, [PydanticAIPlugin(), CodeModePlugin(CODE)]),
        ):
            client = await Client.connect(address, plugins=plugins)
            queue = uuid.uuid4().hex
            async with Worker(client, task_queue=queue, workflows=[workflow], build_id='benchmark'):
                results[name] = await rounds_of(
                    lambda prompt, client=client, workflow=workflow: measured(client, workflow, prompt), rounds
                )
    return results


async def dbos(folder: Path, rounds: int) -> Results:
    from dbos import DBOS, DBOSConfig
    from durable_agents import agent, double
    from pydantic_ai.durable_exec.dbos import DBOSDurability
    from pydantic_ai.tools import Tool

    step: Any = DBOS.step()(double)
    agents = {
        'DBOS, plain': agent('plain', Tool(step), [DBOSDurability()], code=False),
        'DBOS, code mode': agent('code', Tool(step), [DBOSDurability()], code=True),
    }

    @DBOS.workflow()
    async def run(name: str, prompt: str) -> str:
        return (await agents[name].run(prompt)).output

    database = folder / 'dbos.sqlite'
    DBOS(config=DBOSConfig(name='benchmark', system_database_url=f'sqlite:///{database}', log_level='ERROR'))
    DBOS.launch()

    async def measured(name: str, prompt: str) -> Sample:
        began = time.perf_counter()
        handle = await DBOS.start_workflow_async(run, name, prompt)
        assert await handle.get_result(polling_interval_sec=0.005) == str(2 * (int(prompt.split(maxsplit=1)[0]) - 1))
        seconds = time.perf_counter() - began
        with sqlite3.connect(database) as connection:
            steps, size = connection.execute(
                'select count(*), sum(length(output)) from operation_outputs where workflow_uuid = ?',
                [handle.workflow_id],
            ).fetchone()
        return {'seconds': seconds, 'recorded': steps, 'bytes': size}

    results = {name: await rounds_of(lambda prompt, name=name: measured(name, prompt), rounds) for name in agents}
    DBOS.destroy()
    return results


async def prefect(folder: Path, rounds: int) -> Results:
    from tests.durable.rigs import prefect_server

    with prefect_server(folder) as env:
        os.environ.update(env)
        from durable_agents import agent, double
        from prefect import flow
        from pydantic_ai.durable_exec.prefect import PrefectDurability
        from pydantic_ai.tools import Tool

        agents = {
            'Prefect, plain': agent('plain', Tool(double), [PrefectDurability()], code=False),
            'Prefect, code mode': agent('code', Tool(double), [PrefectDurability()], code=True),
        }
        storage = Path(env['PREFECT_HOME']) / 'storage'

        @flow
        async def run(name: str, prompt: str) -> str:
            return (await agents[name].run(prompt)).output

        async def measured(name: str, prompt: str) -> Sample:
            shutil.rmtree(storage, ignore_errors=True)
            began = time.perf_counter()
            assert await run(name, prompt) == str(2 * (int(prompt.split(maxsplit=1)[0]) - 1))
            seconds = time.perf_counter() - began
            files = [path for path in storage.rglob('*') if path.is_file()]
            return {'seconds': seconds, 'recorded': len(files), 'bytes': sum(path.stat().st_size for path in files)}

        return {name: await rounds_of(lambda prompt, name=name: measured(name, prompt), rounds) for name in agents}


def table(results: Results) -> str:
    from run import markdown, show

    def cells(name: str, metric: str) -> list[str]:
        medians = [statistics.median(sample[metric] for sample in results[name][prompt]) for prompt in PROMPTS]
        return [show('seconds', value) if metric == 'seconds' else f'{value:,.0f}' for value in medians]

    header = ['', *(f'{prompt}: {metric}' for metric in ('time', 'recorded', 'bytes') for prompt in PROMPTS)]
    rows = [
        [name, *(text for metric in ('seconds', 'recorded', 'bytes') for text in cells(name, metric))]
        for name in results
    ]
    return markdown(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--out', type=Path, default=HERE / 'durable.json')
    parser.add_argument('--engine', choices=['temporal', 'dbos', 'prefect'], help='only this one')
    arguments = parser.parse_args()
    results: Results = {}
    for engine in (temporal, dbos, prefect):
        if arguments.engine in (None, engine.__name__):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                results |= asyncio.run(engine(Path(folder), arguments.rounds))
    text = f'Medians of {arguments.rounds} rounds.\n\n{table(results)}\n'
    arguments.out.write_text(json.dumps(results, indent=1) + '\n')
    arguments.out.with_suffix('.md').write_text(text)
    print(text)


if __name__ == '__main__':
    main()
