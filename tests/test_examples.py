"""The examples as a user runs them, each in a process of its own.

The demo, `make demo`, proves CM-1, CM-6 and CM-7 over a real MCP server; `self_extending_agent.py` CC-1, CC-7, CC-10 and
BEYOND-4 from end to end; `many_servers.py` BEYOND-3 with three servers from their packages; `durable_temporal.py` CM-21
over a worker that is killed.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.durable.rigs import free_port

ROOT = Path(__file__).parent.parent
DATA = ROOT / 'examples' / 'data'


@pytest.fixture(scope='module')
def output() -> str:
    """What the demo prints; fails with all of it when the demo fails."""
    done = run_python('examples/demo.py')
    assert done.returncode == 0, f'the demo ended with {done.returncode}:\n{done.stderr}\n{done.stdout}'
    assert done.stderr == '', 'noise on the terminal'
    return done.stdout


def run_python(*arguments: str, timeout: float = 50) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, 'COLUMNS': '80', 'PYTHONIOENCODING': 'utf-8'}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding='utf-8',
        timeout=timeout,
        check=False,
    )


def test_the_first_line_says_that_no_model_is_asked(output: str) -> None:
    assert output.startswith('No live model: a STAND-IN replays a recorded plan.')


def test_fits_80_columns(output: str) -> None:
    assert max(map(len, output.splitlines())) <= 80


def test_shows_the_code_and_every_nested_call_with_its_time(output: str) -> None:
    assert output.count('the model calls run_code') == 2
    assert 'await asyncio.gather(*[late_orders(market) for market in markets])' in output
    calls = re.findall(r'^ *\d+\.\d ms  line +\d+  (\w+)\(.*$', output, re.MULTILINE)
    assert len(calls) == table_row(output, 'calls that reach a tool')[0] == 35
    assert set(calls) == {'list_tables', 'describe_table', 'read_query', 'working_days', 'convert'}


def test_calls_overlap(output: str) -> None:
    most_at_once = [int(number) for number in re.findall(r'up to (\d+) at once', output)]
    assert len(most_at_once) == 2
    assert min(most_at_once) > 1


def test_the_answer_is_right(output: str) -> None:
    expected = expected_report()
    late = sum(orders for orders, _ in expected.values())
    euros = sum(owed for _, owed in expected.values())
    assert f'{late} orders came late, and we owe {euros:.2f} EUR.' in output
    for market, (orders, owed) in expected.items():
        assert re.search(rf'{market} +{orders} +{owed:.2f} ', output), f'{market}: {orders} late, {owed:.2f} EUR'


def test_code_mode_takes_fewer_turns_and_tokens_for_the_same_work(output: str) -> None:
    assert table_row(output, 'model turns') == (3, 7)
    assert table_row(output, 'tool calls that the model writes') == (2, 35)
    assert table_row(output, 'calls that reach a tool') == (35, 35)
    for label in ('tokens in, all turns', 'tokens in, largest turn', 'tokens out, all turns'):
        code_mode, plain = table_row(output, label)
        assert 0 < code_mode < plain, label
    assert 'Same calls with the same arguments: yes.' in output
    assert 'Same answer, every value equal: yes.' in output
    assert 'Tokens are an estimate' in output


IN_ONE_PROCESS = """\
import asyncio, sys
from unittest.mock import patch

sys.path.insert(0, 'examples')
import demo, shop, stand_in

def attempt(*arguments):
    try:
        with patch('sys.argv', ['demo', *arguments]):
            demo.main()
    except SystemExit as end:
        print(end)

with patch('shop.SERVER', 'python'):
    attempt()
with patch('shop.SERVER', 'no-such-server'):
    attempt()
with patch('shop.DATA', shop.DATA / 'nowhere'):
    attempt()
attempt('--model', 'nonsense')
asyncio.run(demo.demo(demo.Console(), stand_in.StandIn(stand_in.code_mode_plan()).model()))
"""


def test_says_why_it_cannot_start_and_runs_with_another_model() -> None:
    done = run_python('-c', IN_ONE_PROCESS)
    assert (done.returncode, done.stderr) == (0, '')
    messages = [
        'The demo failed: mcp-server-sqlite did not start: Connection closed\nunknown option --db-path',
        'The demo failed: no-such-server is not installed beside ',
        'The demo failed: The database could not be made from ',
        'The demo failed: Unknown model: nonsense',
        '12 orders came late',
        '3 model turns, 35 calls that reached a tool, ',
    ]
    places = [done.stdout.find(message) for message in messages]
    assert -1 not in places, done.stdout
    assert places == sorted(places)
    assert 'STAND-IN' not in done.stdout


EXTENDING = 'examples/self_extending_agent.py'
RUN_TITLE = re.compile(r'^((?:Run|The versions)[^─]*) ─+$', re.MULTILINE)


@pytest.fixture(scope='module')
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the self-extending agent leaves its files."""
    return tmp_path_factory.mktemp('self_extending')


@pytest.fixture(scope='module')
def runs(kept: Path) -> dict[str, str]:
    """What the self-extending agent prints, by the title of the run."""
    return extending_runs(str(kept))


def extending_runs(*arguments: str) -> dict[str, str]:
    done = run_python(EXTENDING, *arguments)
    assert done.returncode == 0, f'the example ended with {done.returncode}:\n{done.stderr}\n{done.stdout}'
    assert done.stderr == '', 'noise on the terminal'
    assert max(map(len, done.stdout.splitlines())) <= 80
    first, *titles_and_texts = RUN_TITLE.split(done.stdout)
    assert first.startswith('No live model: a STAND-IN replays a recorded plan.')
    texts = [re.sub(r'\s+', ' ', text) for text in titles_and_texts[1::2]]
    return dict(zip((title.partition(':')[0] for title in titles_and_texts[::2]), texts, strict=True))


def test_extending_goes_through_its_runs_in_order(runs: dict[str, str]) -> None:
    """Each run loads what the ones before it have made of the capabilities."""
    names = ('Run 1', 'Run 2', 'Run 3', 'Run 3.1', 'Run 3.2', 'Run 3.3', 'Run 4', 'Run 5')
    loaded = {name: text.partition(' user: ')[0].strip() for name, text in runs.items() if name in names}
    both = 'loaded: keep_databases, folder_size'
    mending = 'loaded: folder_size NOT loaded until it is mended, so it guards nothing: keep_databases'
    assert list(loaded) == list(names)
    assert list(loaded.values()) == ['loaded: nothing yet', *[both] * 5, mending, both]


def test_extending_uses_what_it_wrote_one_run_later(runs: dict[str, str]) -> None:
    """The authored guardrail stops a call, and the authored tool answers."""
    assert runs['Run 1'].count('passed its checks and is saved as version 1') == 2
    assert "delete_file(name='orders.db') Databases are kept." in runs['Run 2']
    assert 'folder_size() 96000 model:' in runs['Run 2']


def test_extending_keeps_running_while_its_guardrail_fails(runs: dict[str, str]) -> None:
    """The guarded call fails closed, the model reads the line of its own code, and the run comes to its end."""
    assert 'saved as version 2' in runs['Run 3']
    for name in ('Run 3.1', 'Run 3.2', 'Run 3.3'):
        assert "delete_file was not run: before_tool_execute of the authored capability 'keep_databases'" in runs[name]
        assert "KeyError: 'path' line 10, in before_tool_execute: if args['path'].endswith(KEEP):" in runs[name]
        assert 'model: I could not delete week1.log. There are 4 files.' in runs[name]


def test_extending_mends_its_guardrail(runs: dict[str, str], kept: Path) -> None:
    """It reads what failed from the list, and the mended version works, on the real files too."""
    assert 'name: keep_databases status: quarantined' in runs['Run 4']
    assert "failing_runs: 3 last_failure: before_tool_execute: KeyError: 'path' line 10" in runs['Run 4']
    assert 'saved as version 3' in runs['Run 4']
    assert "delete_file(name='orders.bak') Databases are kept." in runs['Run 5']
    assert "delete_file(name='week1.log') week1.log is deleted." in runs['Run 5']
    assert 'folder_size() 87000 model:' in runs['Run 5']
    assert sorted(path.name for path in (kept / 'files').iterdir()) == ['orders.bak', 'orders.db', 'week2.log']


def test_extending_shows_the_versions(runs: dict[str, str]) -> None:
    """Three versions by three runs, and the line in which the last two differ."""
    text = runs['The versions of keep_databases']
    assert re.findall(r'version (\d), sha256 \w{12}, by run [\w-]{36}', text) == ['1', '2', '3']
    assert "- if args['path'].endswith(KEEP): + if args['name'].endswith(KEEP):" in text


def test_extending_goes_on_from_what_another_process_left(runs: dict[str, str], kept: Path) -> None:
    """A second start over the same directory loads what the first one made, and counts its versions on."""
    again = extending_runs(str(kept))
    assert again['Run 1'].startswith(' loaded: keep_databases, folder_size user:')
    assert 'version 6, sha256' in again['The versions of keep_databases']
    assert again.keys() == runs.keys()


def test_extending_needs_no_directory() -> None:
    """Without one it runs in a temporary directory."""
    assert extending_runs()['Run 5'].strip().endswith('The files take 87,000 bytes.')


def approving(directory: Path, *decision: str) -> str:
    """What the example of code that waits prints, in a process of its own."""
    done = run_python('examples/approve_from_another_process.py', *decision, '--directory', str(directory))
    assert (done.returncode, done.stderr) == (0, ''), done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ('decision', 'refunded'),
    [
        ('approve', ['order 7, 20 euros', 'order 8, 350 euros']),
        ('deny', []),
        ('edit', ['order 7, 10 euros', 'order 8, 10 euros']),
    ],
)
def test_beyond1_code_waits_for_another_process(tmp_path: Path, decision: str, refunded: list[str]) -> None:
    """The first process makes the calls that need nobody, the second only those that were decided, each once."""
    first, second = approving(tmp_path), approving(tmp_path, decision)
    assert re.findall(r'\((\w+) runs', first) == ['late_orders']
    assert first.count('line 8: return await refund(') == 2
    # The two calls overlap, so either may come first, and before the end of the other's line.
    assert sorted(re.findall(r'\((\w+) runs(?:: ([^)]*))?\)', second)) == [('refund', call) for call in refunded]
    assert '2 orders were late' in second
    assert second.count('over the limit') == (2 if decision == 'deny' else 0)
    assert 'it was taken up before' in approving(tmp_path, decision)


@pytest.mark.timeout(180)
def test_beyond3_one_program_finds_and_calls_functions_of_many_servers() -> None:
    """The first run on a machine downloads one of the servers."""
    done = run_python('examples/many_servers.py', timeout=170)
    assert (done.returncode, done.stderr) == (0, ''), f'{done.stderr}\n{done.stdout}'
    assert done.stdout.startswith('No live model: a STAND-IN ')
    assert max(map(len, done.stdout.splitlines())) <= 80
    text = re.sub(r'\s+', ' ', done.stdout)

    size = re.search(r'(\d+) servers, (\d+) tools, ([\d,]+) tokens .* reads ([\d,]+) tokens .* estimates', text)
    assert size, text
    servers, tools, as_json, read = (int(figure.replace(',', '')) for figure in size.groups())
    assert (servers, tools) == (3, 12 + 6 + 46)
    assert 0 < read < as_json / 4

    returned = re.search(r'{"found": .*?]]}', text)
    assert returned, text
    result = json.loads(returned.group())
    assert result['found'] == {
        'git_log': 'git',
        'create_table': 'database',
        'write_query': 'database',
        'read_query': 'database',
        'create_workbook': 'excel',
        'write_range': 'excel',
        'read_range': 'excel',
    }
    for name in result['found']:
        assert f'async def {name}(*, ' in text, 'help() of what was found'

    calls = re.findall(r'^ *\d+\.\d ms  line +\d+  (\w+)\(', done.stdout, re.MULTILINE)
    assert sorted(calls) == sorted(result['found'])
    assert calls[3:] == ['write_query', 'read_query', 'write_range', 'read_range']
    assert done.stdout.count('the model calls run_code') == 1
    assert 'Calls of run_code: 1. Calls that its code made: 7.' in text

    assert result['cells'] == [
        ['Author', 'Commits', 'Last'],
        ['Ada Lovelace', 3, '2026-02-20'],
        ["Siobhan O'Neill", 2, '2026-03-03'],
        ['Grace Hopper', 1, '2026-02-17'],
        ['Together', 6],
    ]


def table_row(output: str, label: str) -> tuple[int, int]:
    """The two figures of a row of the comparison."""
    found = re.search(rf'^│ {label}[^│]*│ +([\d,]+) │ +([\d,]+) │$', output, re.MULTILINE)
    assert found, f'no row {label!r} in:\n{output}'
    code_mode, plain = (int(figure.replace(',', '')) for figure in found.groups())
    return code_mode, plain


def expected_report() -> dict[str, tuple[int, float]]:
    """Late orders and euros owed of each market, worked out from the files without SQL."""
    holidays = {(row['country'], row['day']) for row in read('holidays')}
    rates = {row['currency']: float(row['units_per_euro']) for row in read('rates')}
    delivered = {row['order_id']: row['delivered_on'] for row in read('shipments')}
    report: dict[str, tuple[int, float]] = {}
    for market in read('markets'):
        country = market['country']
        prices = [
            float(order['price'])
            for order in read('orders')
            if order['country'] == country
            and '2026-01-01' <= order['ordered_on'] <= '2026-03-31'
            and working_days(country, order['ordered_on'], delivered[order['id']], holidays)
            > int(market['promise_days'])
        ]
        report[market['name']] = len(prices), round(round(sum(prices) / 10, 2) / rates[market['currency']], 2)
    return report


def working_days(country: str, start: str, end: str, holidays: set[tuple[str, str]]) -> int:
    day, last = date.fromisoformat(start), date.fromisoformat(end)
    count = 0
    while day < last:
        day += timedelta(days=1)
        count += day.weekday() < 5 and (country, str(day)) not in holidays
    return count


def read(name: str) -> list[dict[str, str]]:
    with (DATA / f'{name}.csv').open(encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


@pytest.mark.timeout(120)
def test_cm21_a_worker_is_killed_and_the_answer_comes_all_the_same(tmp_path: Path) -> None:
    """As in two terminals: one waits for the answer, and in the other the worker is killed while it charges."""
    address = f'127.0.0.1:{free_port()}'
    command = [sys.executable, str(ROOT / 'examples' / 'durable_temporal.py')]
    early = run_python('examples/durable_temporal.py', 'worker', '--address', address)
    assert (early.returncode, early.stdout) == (1, '')
    assert 'start this in another terminal first' in early.stderr

    def start(*role: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command, *role, '--address', address],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    with start() as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline().startswith('Asked.')
        with start('worker') as worker:
            assert worker.stdout is not None
            while 'charged order 3' not in (line := worker.stdout.readline()):
                assert line
            worker.kill()
        with start('worker') as worker:
            said, errors = asking.communicate(timeout=60)
            worker.kill()
    assert (asking.returncode, errors) == (0, '')
    assert 'The code returned: {"output":"10 orders\\n","result":145}' in said
    charges = (tmp_path / 'charges.txt').read_text().split()
    assert set(charges) == {str(order) for order in range(10)}
    assert len(charges) <= 11
