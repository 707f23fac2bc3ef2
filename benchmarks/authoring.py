"""Compare capability creation with the released package of the same name, interleaved in one run.

    python benchmarks/authoring.py [--rounds N] [--peer-python PATH] [--out benchmarks/authoring.json]

Each sample is a process of its own, of this script (`--sample`) in the contender's interpreter, and the contenders take
turns. The capabilities have one hook, one instruction and no tools. What is measured:

- `load_100`: `load_active()` of 100 unchanged capabilities, after it was called once; the median of 20.
- `write`: one `write` of new code into a store of 100; the median of 40.
- `agent_runs`: a run of an agent with 10 of them, whose model calls one tool; the median of 20.
- `four_processes`: how many of 100 capabilities are there after four processes wrote 25 each into one directory.
- `isolated_first`, `isolated`: a `write` that is checked in a process of its own, the first and the median of 20 more.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SAMPLE_SECONDS = 120
CODE = '''\
from pydantic_ai.capabilities import AbstractCapability


class Capability{number}(AbstractCapability):
    """Version {version}."""

    def get_instructions(self):
        return 'Be brief.'

    async def before_tool_execute(self, ctx, *, call, tool_def, args):
        return args
'''


def code(number: int, version: int = 1) -> str:
    return CODE.format(number=number, version=version)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_of(times: int, work: Callable[[], object]) -> float:
    return statistics.median(timed(work) for _ in range(times))


def take_sample(directory: Path) -> dict[str, float]:
    """Every figure of one contender, in this process."""
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    from pydantic_ai_harness.capability_creation import CapabilityCreation

    store = CapabilityCreation(directory=directory / 'hundred').store
    for number in range(100):
        assert store.write(f'capability_{number}', code(number)).last_error is None
    assert len(store.load_active()) == 100
    versions = iter(range(2, 1000))
    figures = {
        'load_100': median_of(20, store.load_active),
        'write': median_of(40, lambda: store.write('capability_50', code(50, next(versions)))),
    }
    agent = Agent(TestModel(call_tools=['double']))

    @agent.tool_plain
    def double(number: int) -> int:
        return number * 2

    ten = store.load_active()[:10]
    agent.run_sync('Go.', capabilities=ten)
    figures['agent_runs'] = median_of(20, lambda: agent.run_sync('Go.', capabilities=ten))
    figures['four_processes'] = four_processes(directory / 'shared')
    return figures | isolated(directory / 'isolated')


def four_processes(directory: Path) -> float:
    """How many of 100 capabilities four writers leave."""
    from pydantic_ai_harness.capability_creation import CapabilityCreation

    command = [sys.executable, __file__, '--write-into', str(directory), '--first']
    writers = [subprocess.Popen([*command, str(25 * writer)], stdout=subprocess.PIPE) for writer in range(4)]
    for writer in writers:
        assert writer.stdout
        writer.stdout.readline()  # all have imported what they need
    directory.mkdir(parents=True)
    (directory / 'go').touch()
    for writer in writers:
        writer.communicate(timeout=SAMPLE_SECONDS)
    return float(len(CapabilityCreation(directory=directory).store.load_active()))


def write_25(directory: Path, first: int) -> None:
    from pydantic_ai_harness.capability_creation import CapabilityCreation

    store = CapabilityCreation(directory=directory).store
    print('ready', flush=True)
    while not (directory / 'go').exists():
        time.sleep(0.001)
    for number in range(first, first + 25):
        store.write(f'capability_{number}', code(number))


def isolated(directory: Path) -> dict[str, float]:
    """Figures of a check in a process of its own; none where there is no such check."""
    from pydantic_ai_harness.capability_creation import CapabilityCreation

    try:
        store = CapabilityCreation(directory=directory, isolated_validation=True).store
    except TypeError:
        return {}
    first = timed(lambda: store.write('one', code(1)))
    versions = iter(range(2, 1000))
    later = median_of(20, lambda: store.write('one', code(1, next(versions))))
    store.close()
    return {'isolated_first': first, 'isolated': later}


def ask(python: str, *, is_peer: bool) -> dict[str, float]:
    environment = dict(os.environ)
    if is_peer:
        environment.pop('PYTHONPATH', None)  # it may lead to the package of this project
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [python, __file__, '--sample', directory],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
            timeout=SAMPLE_SECONDS,
        )
    return json.loads(done.stdout.splitlines()[-1])


def table(samples: dict[str, list[dict[str, float]]]) -> str:
    from run import markdown, show

    rows: list[list[str]] = []
    for figure in samples['ours'][0]:
        name = 'count' if figure == 'four_processes' else 'seconds'
        values = {who: [sample[figure] for sample in of if figure in sample] for who, of in samples.items()}
        cells = [
            f'{show(name, statistics.median(each))} ({show(name, min(each))} to {show(name, max(each))})'
            if each
            else '-'
            for each in values.values()
        ]
        both = name == 'seconds' and values['peer']
        factor = f'{statistics.median(values["peer"]) / statistics.median(values["ours"]):.2f}' if both else '-'
        rows.append([figure, *cells, factor])
    return markdown(['', *samples, 'peer/ours'], rows)


def compare(options: argparse.Namespace) -> None:
    from run import peer_python

    pythons = {'ours': sys.executable, 'peer': peer_python(options.peer_python)}
    samples: dict[str, list[dict[str, float]]] = {who: [] for who in pythons}
    for _ in range(options.rounds):
        for who, python in pythons.items():
            samples[who].append(ask(python, is_peer=who == 'peer'))
    about: dict[str, Any] = {'date': time.strftime('%Y-%m-%d', time.gmtime()), 'cpus': os.cpu_count()}
    options.out.write_text(json.dumps({'about': about, 'samples': samples}, indent=1) + '\n')
    text = f'Median (lowest to highest) of {options.rounds} processes each.\n\n{table(samples)}\n'
    options.out.with_suffix('.md').write_text(text)
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description='Compare capability creation with the released package.')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--peer-python', help='interpreter of an environment that has the peer')
    parser.add_argument('--out', type=Path, default=HERE / 'authoring.json')
    parser.add_argument('--sample', type=Path)
    parser.add_argument('--write-into', type=Path)
    parser.add_argument('--first', type=int, default=0)
    options = parser.parse_args()
    if options.write_into:
        write_25(options.write_into, options.first)
    elif options.sample:
        print(json.dumps(take_sample(options.sample)))
    else:
        compare(options)


if __name__ == '__main__':
    main()
