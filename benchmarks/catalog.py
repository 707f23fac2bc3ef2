"""Count what many tools cost, here and in the released package of the same name, and time what looks them up.

    python benchmarks/catalog.py [--tools DIRECTORY] [--peer-python PATH] [--out benchmarks/catalog.json]

`--tools` has files of real tool definitions, a JSON list each, as MCP servers give them to `tools/list`. Tokens are
counted with the `o200k_base` encoding; a sample is a process of this script (`--sample`) in the contender's
interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai_harness.code_mode.catalog_view import CatalogSetting

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SAMPLE_SECONDS = 120
SHOWN_ALONE = ('git', 'playwright', 'excel', 'atlassian', 'github')
MODES = ('auto', 'full', 'brief', 'search')


def read_tools(files: Sequence[Path]) -> list[tuple[str, dict[str, Any]]]:
    """Where each tool is from, and its definition."""
    return [(file.stem, tool) for file in files for tool in json.loads(file.read_text('utf-8'))]


def take_sample(files: Sequence[Path], mode: CatalogSetting | None) -> dict[str, Any]:
    """What the model reads of `run_code`, and how long the first run and the next take."""
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tools import Tool
    from pydantic_ai.toolsets import FunctionToolset

    from pydantic_ai_harness import CodeMode

    warnings.simplefilter('ignore')
    by_server: dict[str, list[Tool[object]]] = {}
    for server, tool in read_tools(files):
        made = Tool[object].from_schema(print, tool['name'], tool.get('description'), tool['inputSchema'])
        by_server.setdefault(server, []).append(made)
    toolsets = [FunctionToolset(tools, id=server) for server, tools in by_server.items()]
    model = TestModel(call_tools=[])
    code_mode = CodeMode[object](catalog=mode) if mode else CodeMode[object]()
    agent = Agent(model, deps_type=object, toolsets=toolsets, capabilities=[code_mode])
    first, second = timed(lambda: agent.run_sync('Go.', deps=None)), timed(lambda: agent.run_sync('Go.', deps=None))
    request = model.last_model_request_parameters
    assert request is not None
    tool = next(tool for tool in request.function_tools if tool.name == 'run_code')
    return {'description': tool.description, 'first': first, 'second': second}


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ask(python: str, files: Sequence[Path], mode: str | None) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    done = subprocess.run(
        [python, __file__, '--sample', *map(str, files), *(['--mode', mode] if mode else [])],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        timeout=SAMPLE_SECONDS,
    )
    return json.loads(done.stdout.splitlines()[-1])


def count_tokens(text: str) -> int:
    sys.path.insert(0, str(ROOT))
    from tests.code_mode.real_tools import count_tokens

    return count_tokens(text)


def tokens_of(files: Sequence[Path], peer: str) -> dict[str, int]:
    """What each form of the tools in some files takes."""
    definitions = [
        {'name': tool['name'], 'description': tool.get('description'), 'parameters': tool['inputSchema']}
        for _, tool in read_tools(files)
    ]
    as_json = '\n'.join(json.dumps(one, ensure_ascii=False, separators=(',', ':')) for one in definitions)
    ours = {mode: count_tokens(ask(sys.executable, files, mode)['description']) for mode in MODES}
    theirs = count_tokens(ask(peer, files, None)['description'])
    return {'tools': len(definitions), 'JSON': count_tokens(as_json), 'peer': theirs, **ours}


def times_of(files: Sequence[Path], peer: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of all the tools together."""
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for who, python in (('ours', sys.executable), ('peer', peer)):
            sample = ask(python, files, None)
            times.setdefault(f'first run, {who}', []).append(sample['first'])
            times.setdefault(f'next run, {who}', []).append(sample['second'])
    return {**times, **lookup_times(files, rounds)}


def lookup_times(files: Sequence[Path], rounds: int) -> dict[str, list[float]]:
    from pydantic_ai.tools import ToolDefinition

    from pydantic_ai_harness.code_mode.catalog import Catalog

    tools = [
        ToolDefinition(
            name=tool['name'], parameters_json_schema=tool['inputSchema'], description=tool.get('description')
        )
        for _, tool in read_tools(files)
    ]
    data = ROOT / 'tests' / 'code_mode' / 'data' / 'task_phrases.json'
    phrases: list[str] = [phrase['query'] for phrase in json.loads(data.read_text('utf-8'))]
    built: list[Catalog] = []

    def build() -> None:
        built.append(Catalog.build(tools))
        built[-1].view('auto', 4000)

    return {
        'build and choose, auto': [timed(build) for _ in range(rounds)],
        'first lookup': [timed(partial(catalog.lookup.find, 'words')) for catalog in built],
        'lookup': [timed(partial(built[-1].lookup.find, phrase)) for phrase in phrases],
    }


def compare(options: argparse.Namespace) -> None:
    from run import markdown, peer_python, show

    peer = peer_python(options.peer_python)
    files = sorted(options.tools.glob('*.json'))
    alone = [file for file in files if file.stem in SHOWN_ALONE]
    tokens = {file.stem: tokens_of([file], peer) for file in alone} | {'all': tokens_of(files, peer)}
    times = times_of(files, peer, options.rounds)
    about: dict[str, Any] = {'date': time.strftime('%Y-%m-%d', time.gmtime()), 'cpus': os.cpu_count()}
    options.out.write_text(json.dumps({'about': about, 'tokens': tokens, 'seconds': times}, indent=1) + '\n')
    rows = [[server, *(f'{count:,}' for count in counts.values())] for server, counts in tokens.items()]
    time_rows = [
        [what, *(show('seconds', pick(each)) for pick in (statistics.median, min, max))] for what, each in times.items()
    ]
    text = f'{markdown(["tokens", *tokens["all"]], rows)}\n\n{markdown(["", "median", "least", "most"], time_rows)}\n'
    options.out.with_suffix('.md').write_text(text)
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description='Count what many tools cost, and time what looks them up.')
    parser.add_argument('--tools', type=Path, default=ROOT.parent / 'shared' / 'data' / 'mcp-tools')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--peer-python', help='interpreter of an environment that has the peer')
    parser.add_argument('--out', type=Path, default=HERE / 'catalog.json')
    parser.add_argument('--sample', type=Path, nargs='+')
    parser.add_argument('--mode')
    options = parser.parse_args()
    if options.sample:
        print(json.dumps(take_sample(options.sample, options.mode)))
    elif not options.tools.is_dir():
        parser.error(f'there are no tool definitions in {options.tools}; name a directory of them with --tools')
    else:
        compare(options)


if __name__ == '__main__':
    main()
