"""BEYOND-5: programs that check code in a process of its own end as if there was none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .support import FINE, is_running, number_in, wait_until, writes_pid

HEAD = """
import os, sys, threading
from pathlib import Path
from pydantic_ai_harness import CapabilityCreation
import pydantic_ai_harness.capability_creation.isolation
place, fine, hangs, ancestors = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
"""
START = """
creation = CapabilityCreation(place / 'authored', isolated_validation=True)
store = creation.store
assert store.write('ancestors', ancestors.replace('PLACE', str(place)) + fine).last_error is None
def hang():
    future = store.check(store.prepare('hangs', hangs.replace('PLACE', str(place))))
    told = place / 'hanging'
    while not (told.exists() and told.read_text().endswith('\\n')): pass
    return future
"""
FORKED = """
top, endings, places = place, sys.argv[5:], {}
def reap():
    pid, status = os.wait()
    (places.pop(pid) / 'code').write_text(str(os.waitstatus_to_exitcode(status)))
for number, ending in enumerate(endings):
    if number > 1:
        reap()
    place = top / str(number)
    place.mkdir()
    pid = os.fork()
    if pid:
        places[pid] = place
        continue
    os.dup2(os.open(place / 'errors', os.O_WRONLY | os.O_CREAT), 2)
    exec(START + ending)
    break
else:
    while places:
        reap()
"""
ENDINGS = {
    'close': 'store.close()',
    'no close': '',
    'forgotten': 'import gc\ndel creation, store\ngc.collect()',
    'sys.exit': 'sys.exit(0)',
    'in a thread': 'thread = threading.Thread(target=store.write, args=("x", fine))\nthread.start()',
    'hanging': 'hang()',
    'hanging and closed': 'hang()\nstore.close()',
    'hanging and cancelled': 'hang().cancel()',
    'closed and used again': 'store.close()\nassert store.write("x", fine).last_error is None',
    'standard output closed': 'os.close(1)',
}


def command(place: Path, script: str, *more: str) -> list[str]:
    """A program that checks code."""
    ancestors = (
        'import os\nwith open(f"/proc/{os.getppid()}/stat") as file: stat = file.read()\n'
        'with open("PLACE/ancestors", "w") as told: told.write(stat.rpartition(")")[2].split()[1] + "\\n")\n'
    )
    hangs = writes_pid(Path('PLACE/hanging')) + 'while 1: pass\n'
    return [sys.executable, '-W', 'error', '-c', HEAD + script, str(place), FINE, hangs, ancestors, *more]


def pids_in(place: Path) -> tuple[int, ...]:
    """The warm process, and the one that hangs."""
    return tuple(number_in(place / name) for name in ('ancestors', 'hanging') if (place / name).exists())


@pytest.mark.parametrize('round_', [1, pytest.param(2, marks=pytest.mark.soak)])
def test_beyond5_programs_end_cleanly(tmp_path: Path, round_: int) -> None:
    """Ten programs in every manner of ending: exit code 0, nothing on standard error, no process left.

    They are forked from one that has everything imported; each has a warm process of its own.
    """
    names = [*ENDINGS][:: 3 - 2 * round_]  # in another order the second time
    done = subprocess.run(
        command(tmp_path, f'START = {START!r}\n{FORKED}', *[ENDINGS[name] for name in names]),
        check=False,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert (done.returncode, done.stderr) == (0, '')
    for number, name in enumerate(names):
        place = tmp_path / str(number)
        assert (name, (place / 'errors').read_text()) == (name, '')
        assert (name, (place / 'code').read_text()) == (name, '0')
        assert pids_in(place)
    pids = [pid for number in range(len(names)) for pid in pids_in(tmp_path / str(number))]
    wait_until(lambda: not any(is_running(pid) for pid in pids))


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGINT])
def test_beyond5_a_program_that_is_killed_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    """The warm process and the code that it checks end with the program, however that ends."""
    place = tmp_path / 'killed'
    place.mkdir()
    with subprocess.Popen(
        command(place, START + 'hang()\nthreading.Event().wait()'), stderr=subprocess.PIPE
    ) as program:
        pid = number_in(place / 'hanging')
        assert is_running(pid)
        os.kill(program.pid, number)
        program.communicate(timeout=60)
    pids = pids_in(place)
    assert len(pids) == 2
    wait_until(lambda: not any(is_running(pid) for pid in pids))
