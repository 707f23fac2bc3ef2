"""Compare code mode with the released package of the same name, interleaved in one run.

    python benchmarks/run.py [--quick] [--peer-python PATH] [--out benchmarks/results.json]
        [--contenders ours,peer,plain,raw] [--workloads NAME,...]

Contenders, each a long-lived process of `workloads.py` that is told over its standard input what to run next:

- `ours`: code mode of this project, in the interpreter that runs the driver.
- `peer`: code mode of the release, in an environment of its own, which is made in `.venv-peer` unless
  `--peer-python` names one. It brings the version of Pydantic AI that it asks for.
- `plain`: the same agent and tools without code mode, in the driver's interpreter.
- `plain-peer` (only if asked for): the same in the peer's interpreter, to tell apart what a newer Pydantic AI does.
- `raw`: the sandbox without a framework, concurrent runs one after the other: what no code mode can go below.

The contenders take turns, one sample each, so that what else the machine does meets them all. The results are
printed and written as JSON, and as Markdown beside it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import procs
from workloads import WORKLOADS, Mode, Sample, Workload

HERE = Path(__file__).resolve().parent
PEER_VERSION = '0.62.0'
PEER_REQUIREMENT = f'pydantic-ai-harness[codemode]=={PEER_VERSION}'
DEFAULT_CONTENDERS = 'ours,peer,plain,raw'
START_SECONDS = 60.0
SAMPLE_SECONDS = 240.0
FAMILIES = {
    'sequential calls': [f'grow_seq_{calls}' for calls in (100, 200, 400)],
    'gathered calls': [f'grow_gather_{calls}' for calls in (100, 200, 400)],
    'concurrent runs': [f'runs_{runs}' for runs in (50, 100, 200, 400)],
}

Series = list[Sample]
Results = dict[str, dict[str, 'Outcome']]


@dataclass(frozen=True)
class Contender:
    """Who is measured: a mode of the workloads in an interpreter."""

    name: str
    mode: Mode
    python: str
    is_peer: bool = False


@dataclass
class Outcome:
    """The samples of one contender in one workload, or why there are none."""

    samples: Series = field(default_factory=list[Sample])
    error: str | None = None

    def values(self, metric: str) -> list[float]:
        return [sample[metric] for sample in self.samples if metric in sample]


class Child:
    """A contender's process. It is started again when it had to be ended."""

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        self.process = self._start()
        self.hello = self._read(START_SECONDS)

    def _start(self) -> subprocess.Popen[str]:
        environment = dict(os.environ)
        if self.contender.is_peer:
            environment.pop('PYTHONPATH', None)  # it may lead to the package of this project
        return subprocess.Popen(
            [self.contender.python, str(HERE / 'workloads.py'), '--serve', self.contender.mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A traceback would quote the peer's source, which this project does not read.
            stderr=subprocess.DEVNULL if self.contender.is_peer else None,
            text=True,
            env=environment,
        )

    def _read(self, seconds: float) -> dict[str, Any]:
        """The next message; an error in place of it when the process ends, or has to be ended, before that."""
        assert self.process.stdout
        timer = threading.Timer(seconds, self.end)
        timer.start()
        try:
            for line in self.process.stdout:
                if line.startswith('{'):
                    return json.loads(line)
        finally:
            timer.cancel()
            timer.join()
        self.process.wait()
        return {'error': f'the process ended, or gave no answer within {seconds:.0f} s'}

    def ask(self, workload: Workload, leads: int) -> dict[str, Any]:
        if self.process.poll() is not None:
            self.process = self._start()
            self._read(START_SECONDS)
        assert self.process.stdin
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({'workload': workload.name, 'leads': leads}) + '\n')
            self.process.stdin.flush()
        return self._read(SAMPLE_SECONDS)

    def end(self) -> None:
        """Kill the process and the sandbox workers it leaves behind."""
        workers = procs.Tree(self.process.pid).workers()
        self.process.kill()
        self.process.wait()
        end_leftovers(workers)

    def close(self) -> None:
        """Let the process end by itself, if it does so soon."""
        workers = procs.Tree(self.process.pid).workers()
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.end()
        end_leftovers(workers)


def end_leftovers(workers: Sequence[int]) -> None:
    time.sleep(0.1)
    for pid in workers:
        stat = procs.read_stat(pid)
        if stat and stat.name == procs.WORKER:
            os.kill(pid, signal.SIGKILL)


def peer_python(given: str | None) -> str:
    """The interpreter of the peer's environment, which is made if need be."""
    if given:
        return given
    python = HERE.parent / '.venv-peer' / 'bin' / 'python'
    if installed_peer(python) != PEER_VERSION:
        print(f'Installing {PEER_REQUIREMENT} in .venv-peer', flush=True)
        subprocess.run([sys.executable, '-m', 'venv', '--clear', str(python.parent.parent)], check=True)
        subprocess.run([*installer(str(python)), '--quiet', PEER_REQUIREMENT], check=True)
    return str(python)


def installed_peer(python: Path) -> str | None:
    if not python.exists():
        return None
    code = "from importlib.metadata import version; print(version('pydantic-ai-harness'))"
    done = subprocess.run([str(python), '-I', '-c', code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def installer(python: str) -> list[str]:
    if importlib.util.find_spec('uv'):
        return [sys.executable, '-m', 'uv', 'pip', 'install', '--python', python]
    if uv := shutil.which('uv'):
        return [uv, 'pip', 'install', '--python', python]
    return [python, '-m', 'pip', 'install', '--disable-pip-version-check']


def make_contenders(names: Sequence[str], given_peer: str | None) -> list[Contender]:
    peer = peer_python(given_peer) if any('peer' in name for name in names) else ''
    known = {
        'ours': Contender('ours', 'code', sys.executable),
        'peer': Contender('peer', 'code', peer, is_peer=True),
        'plain': Contender('plain', 'plain', sys.executable),
        'plain-peer': Contender('plain-peer', 'plain', peer, is_peer=True),
        'raw': Contender('raw', 'raw', sys.executable),
    }
    if unknown := [name for name in names if name not in known]:
        sys.exit(f'Unknown contenders: {", ".join(unknown)}. Known: {", ".join(known)}.')
    return [known[name] for name in names]


def check_children(children: Sequence[Child]) -> None:
    """Exit with a clear message unless every contender has started as what it is meant to be."""
    packages = {child.contender.name: child.hello.get('package') for child in children}
    for child in children:
        name, hello = child.contender.name, child.hello
        if error := hello.get('error'):
            advice = 'Install the project first, or leave it out with --contenders.' if name == 'ours' else ''
            sys.exit(f'The contender {name} cannot start: {error}. {advice}'.strip())
        if name == 'peer' and hello['versions']['pydantic-ai-harness'] != PEER_VERSION:
            sys.exit(f'The peer is not {PEER_REQUIREMENT} but {hello["versions"]["pydantic-ai-harness"]}.')
    if 'ours' in packages and packages['ours'] == packages.get('peer'):
        sys.exit('The contenders ours and peer import the same package.')


def leads(workload: Workload, number: int, *, quick: bool) -> int:
    """How many unmeasured runs come before a sample: small workloads get one each time, large ones one at first."""
    small = workload.kind == 'time' and workload.runs == 1 and workload.max_tool_calls is None
    if number:
        return 1 if small and not quick else 0
    if small:
        return 3
    return 0 if quick and workload.runs > 100 and workload.kind == 'time' else 1


def measure(workload: Workload, children: Sequence[Child], *, quick: bool) -> dict[str, Outcome]:
    """All samples of one workload, in turns. A contender that fails once is not asked again."""
    taking_part = [child for child in children if child.contender.mode in workload.modes]
    outcomes = {child.contender.name: Outcome() for child in taking_part}
    for number in range(workload.quick_rounds if quick else workload.rounds):
        for child in taking_part:
            outcome = outcomes[child.contender.name]
            if outcome.error:
                continue
            reply = child.ask(workload, leads(workload, number, quick=quick))
            outcome.error = reply.get('error')
            if 'sample' in reply:
                outcome.samples.append(reply['sample'])
    return outcomes


def run_all(workloads: Sequence[Workload], children: Sequence[Child], *, quick: bool) -> Results:
    results: Results = {}
    for workload in workloads:
        start = time.monotonic()
        results[workload.name] = measure(workload, children, quick=quick)
        print(f'{workload.name}: {time.monotonic() - start:.0f} s', file=sys.stderr, flush=True)
    return results


def show(metric: str, value: float) -> str:
    if metric == 'seconds' or metric.endswith('_s'):
        return f'{value:.2f} s' if value >= 1 else f'{value * 1000:.1f} ms' if value < 0.1 else f'{value * 1000:.0f} ms'
    return f'{value:.0f} MB' if metric.endswith('_mb') else f'{value:.0f}'


def cell(outcome: Outcome | None, metric: str) -> str:
    values = outcome.values(metric) if outcome else []
    if not values:
        return 'failed' if outcome and outcome.error else '-'
    text = show(metric, statistics.median(values))
    return text if len(values) == 1 else f'{text} ({show(metric, min(values))} to {show(metric, max(values))})'


def ratio(outcomes: dict[str, Outcome], metric: str) -> float | None:
    """The peer's median over ours: above one, the peer takes more."""
    medians = [statistics.median(outcomes[name].values(metric) or [0]) for name in ('ours', 'peer') if name in outcomes]
    if len(medians) != 2 or not medians[0] or metric == 'was_cancelled':
        return None
    return medians[1] / medians[0]


def metrics(outcomes: dict[str, Outcome]) -> list[str]:
    names = dict.fromkeys(name for outcome in outcomes.values() for sample in outcome.samples for name in sample)
    return [*names] or ['seconds']


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns are aligned, so that it reads well unrendered too."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [[text.ljust(width) for text, width in zip(row, widths, strict=True)] for row in [header, *rows]]
    lines.insert(1, ['-' * width for width in widths])
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def main_table(results: Results, names: Sequence[str]) -> str:
    rows: list[list[str]] = []
    for workload, outcomes in results.items():
        for metric in metrics(outcomes):
            label = workload if metric == 'seconds' else f'{workload}: {metric}'
            factor = ratio(outcomes, metric)
            cells = [cell(outcomes.get(name), metric) for name in names]
            rows.append([label, *cells, f'{factor:.2f}' if factor else '-'])
    return markdown(['workload', *names, 'peer/ours'], rows)


def per_unit(workload: str, outcome: Outcome | None) -> float | None:
    """Milliseconds for each call or run."""
    values = outcome.values('seconds') if outcome else []
    return statistics.median(values) * 1000 / WORKLOADS[workload].units if values else None


def growth_table(results: Results, names: Sequence[str]) -> str:
    """Time per unit as the number of units grows: level when the work grows no faster than its size."""
    rows: list[list[str]] = []
    for family, members in FAMILIES.items():
        for workload in members:
            if workload not in results:
                continue
            units = [per_unit(workload, results[workload].get(name)) for name in names]
            cells = ['-' if value is None else f'{value:.3f} ms' for value in units]
            rows.append([f'{WORKLOADS[workload].units} {family}', *cells])
    return markdown(['time per unit', *names], rows) if rows else ''


def failures(results: Results) -> list[str]:
    return [
        f'- {workload}, {name}: {outcome.error}'
        for workload, outcomes in results.items()
        for name, outcome in outcomes.items()
        if outcome.error
    ]


def report(results: Results, names: Sequence[str]) -> str:
    parts = ['Median (lowest to highest).', main_table(results, names), growth_table(results, names)]
    if lines := failures(results):
        parts.append('\n'.join(['Failures:', *lines]))
    return '\n\n'.join(filter(None, parts)) + '\n'


def as_json(results: Results) -> dict[str, Any]:
    return {workload: entry(workload, outcomes) for workload, outcomes in results.items()}


def entry(workload: str, outcomes: dict[str, Outcome]) -> dict[str, Any]:
    ratios = {metric: factor for metric in metrics(outcomes) if (factor := ratio(outcomes, metric))}
    contenders = {name: summary(outcome) for name, outcome in outcomes.items()}
    return {'units': WORKLOADS[workload].units, 'peer_over_ours': ratios, 'contenders': contenders}


def summary(outcome: Outcome) -> dict[str, Any]:
    medians = {
        metric: statistics.median(outcome.values(metric)) for metric in metrics({'': outcome}) if outcome.samples
    }
    return {'median': medians, 'samples': outcome.samples, 'error': outcome.error}


def about(children: Sequence[Child], options: argparse.Namespace) -> dict[str, Any]:
    """What was measured, and on what; no paths and no names of machines."""
    return {
        'quick': options.quick,
        'date': time.strftime('%Y-%m-%d', time.gmtime()),
        'cpus': os.cpu_count(),
        'load_at_start': os.getloadavg()[0],
        'contenders': {child.contender.name: {**child.hello, 'package': None} for child in children},
    }


def chosen_workloads(names: str | None) -> list[Workload]:
    if not names:
        return [*WORKLOADS.values()]
    if unknown := [name for name in names.split(',') if name not in WORKLOADS]:
        sys.exit(f'Unknown workloads: {", ".join(unknown)}. Known: {", ".join(WORKLOADS)}.')
    return [WORKLOADS[name] for name in names.split(',')]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Compare code mode with the released package of the same name.')
    parser.add_argument('--quick', action='store_true', help='fewer samples of the large workloads')
    parser.add_argument('--peer-python', help='interpreter of an environment that has the peer')
    parser.add_argument('--out', type=Path, default=HERE / 'results.json')
    parser.add_argument('--contenders', default=DEFAULT_CONTENDERS)
    parser.add_argument('--workloads', help='only these, separated by commas')
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    workloads = chosen_workloads(options.workloads)
    children: list[Child] = []
    try:
        contenders = make_contenders(options.contenders.split(','), options.peer_python)
        children.extend(map(Child, contenders))
        check_children(children)
        facts, start = about(children, options), time.monotonic()
        results = run_all(workloads, children, quick=options.quick)
    finally:
        for child in children:
            child.close()
    facts |= {'load_at_end': os.getloadavg()[0], 'seconds': round(time.monotonic() - start)}
    text = report(results, options.contenders.split(','))
    options.out.write_text(json.dumps({'about': facts, 'workloads': as_json(results)}, indent=1) + '\n')
    options.out.with_suffix('.md').write_text(text)
    print(text)


if __name__ == '__main__':
    main()
