"""The demo as a user runs it: `make demo`, in a process of its own. Proves CM-1, CM-6 and CM-7 over a real MCP server."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DATA = ROOT / 'examples' / 'data'


@pytest.fixture(scope='module')
def output() -> str:
    """What the demo prints; fails with all of it when the demo fails."""
    done = run_python('examples/demo.py')
    assert done.returncode == 0, f'the demo ended with {done.returncode}:\n{done.stderr}\n{done.stdout}'
    assert done.stderr == '', 'noise on the terminal'
    return done.stdout


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, 'COLUMNS': '80', 'PYTHONIOENCODING': 'utf-8'}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding='utf-8',
        timeout=50,
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
