"""BEYOND-5: what code can do to the process that checks it, and what the agent sees of that."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support import ScriptedModel

from pydantic_ai_harness import CapabilityCreation
from pydantic_ai_harness.capability_creation import isolation

from .support import (
    FINE,
    PATIENCE_SECONDS,
    agent_of,
    author,
    authored,
    is_running,
    number_in,
    run_calls,
    wait_until,
    writes_pid,
)


def why(creation: CapabilityCreation[None], code: str) -> str:
    """The error of code that must be refused."""
    error = creation.store.write('subject', code).last_error
    assert error is not None
    assert creation.store.write('subject', FINE).last_error is None, 'the next check works'
    return error


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[CapabilityCreation[None]]:
    """Authoring with a warm process of the test's own."""
    creation = CapabilityCreation[None](tmp_path / 'lone', isolated_validation=True, validation_timeout=40)
    yield creation
    creation.store.close()


def warm_pid_from(creation: CapabilityCreation[None], tmp_path: Path) -> int:
    """The id of the warm process: the parent of the parent of the process that runs the code."""
    told = tmp_path / f'warm_{time.monotonic_ns()}'
    code = (
        'import os\nstat = open(f"/proc/{os.getppid()}/stat").read()\n'
        f'open({str(told)!r}, "w").write(stat.rpartition(")")[2].split()[1] + "\\n")\n'
    )
    assert creation.store.write('subject', code + FINE).last_error is None
    return number_in(told)


# -- code that does not come to an end ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    'code',
    [
        pytest.param('while True: pass\n', id='loop'),
        pytest.param('import time\ntime.sleep(1000)\n', id='sleep'),
        pytest.param('import threading\nthreading.Event().wait()\n', id='event'),
        pytest.param('import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n', id='deadlock'),
        pytest.param('import os\nos.read(os.pipe()[0], 1)\n', id='pipe'),
        pytest.param('import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n', id='stopped'),
        pytest.param(
            'import signal\nfor s in set(signal.Signals) - {9, 19}: signal.signal(s, signal.SIG_IGN)\nwhile 1: pass\n',
            id='signals ignored',
        ),
        pytest.param('try:\n    while 1: pass\nfinally:\n    while 1: pass\n', id='finally'),
        pytest.param(authored('def __init__(self):\n    while 1: pass'), id='constructor'),
        pytest.param(authored('def get_toolset(self):\n    while 1: pass'), id='getter'),
        pytest.param(
            authored(
                'def get_native_tools(self): return Endless([1])',
                before=('class Endless(list):\n    def __iter__(self):\n        while 1: yield print\n'),
            ),
            id='endless list',
        ),
        pytest.param('import re\nre.match(r"(a+)+$", "a" * 60 + "b")\n', id='holding the GIL'),
    ],
)
def test_beyond5_code_that_hangs_is_refused(impatient: CapabilityCreation[None], code: str, tmp_path: Path) -> None:
    """It is ended after the time that it has, the reason is said, and no process is left of it."""
    told = tmp_path / 'pid'
    started = time.monotonic()
    error = impatient.store.write('subject', writes_pid(told) + code).last_error or ''
    assert time.monotonic() - started < 30
    assert error.startswith('The code ran for longer than 0.4 seconds.')
    assert 'leave work, waiting and loops to the hooks and tools' in error
    assert not is_running(number_in(told))


def test_beyond5_without_a_limit_it_is_waited_for(tmp_path: Path) -> None:
    """`None` sets no time, and slow code passes."""
    creation = CapabilityCreation[None](tmp_path, isolated_validation=True, validation_timeout=None)
    try:
        assert creation.store.write('subject', 'import time\ntime.sleep(0.5)\n' + FINE).last_error is None
    finally:
        creation.store.close()


# -- code that ends its process ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('code', 'reason'),
    [
        ('import os\nos._exit(0)\n', 'ended the process with exit code 0'),
        ('import os\nos._exit(7)\n', 'ended the process with exit code 7'),
        ('import sys\nsys.exit(3)\n', 'SystemExit: 3'),
        ('import ctypes\nctypes.string_at(0)\n', 'crashed the process (SIGSEGV)'),
        ('import os\nos.abort()\n', 'crashed the process (SIGABRT)'),
        ('import os\nos.kill(os.getpid(), 9)\n', 'crashed the process (SIGKILL'),
        ('import os\nos.kill(os.getpid(), 15)\n', 'crashed the process (SIGTERM)'),
        ('import os\nos.killpg(0, 9)\n', 'crashed the process (SIGKILL'),
        ('import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\nwhile 1: pass\n', 'crashed the process (SIGALRM)'),
        ('import os\nos.closerange(0, 1000)\n' + FINE, 'ended the process with exit code 0'),
        ('import os\nos.execv("/bin/true", ["true"])\n', 'ended the process with exit code 0'),
        ('import os\nos.execv("/bin/false", ["false"])\n', 'ended the process with exit code 1'),
        (authored('def get_toolset(self): __import__("os")._exit(5)'), 'ended the process with exit code 5'),
        (authored('def __init__(self): __import__("os")._exit(6)'), 'ended the process with exit code 6'),
    ],
)
def test_beyond5_code_that_ends_its_process_is_refused(
    isolated: CapabilityCreation[None], code: str, reason: str
) -> None:
    """How the process ended is the reason, and the next check works."""
    assert reason in why(isolated, code)


@pytest.mark.parametrize('size', ['3 * 2**30', '2**40'])
def test_beyond5_code_that_takes_all_memory_is_refused(isolated: CapabilityCreation[None], size: str) -> None:
    """What is more than the headroom is an error at once, without being taken."""
    started = time.monotonic()
    assert 'memory' in why(isolated, f'x = bytearray({size})\n').lower()
    assert time.monotonic() - started < 20


def test_beyond5_the_headroom_is_there(isolated: CapabilityCreation[None]) -> None:
    """Address space of one gigabyte is no reason to refuse."""
    assert isolated.store.write('subject', 'import mmap\nx = mmap.mmap(-1, 2**30)\n' + FINE).last_error is None


@pytest.mark.parametrize(
    'code',
    [
        pytest.param('print("x" * 20_000_000)\n', id='print'),
        pytest.param('import os\nfor n in (1, 2): os.write(n, b"x" * 20_000_000)\n', id='write'),
        pytest.param('import sys\nassert sys.stdin.read() == ""\n', id='stdin'),
        pytest.param('import sys\nsys.stdin = sys.stdout = sys.stderr = None\n', id='no streams'),
        pytest.param('print(\'{"error": "forged"}\', flush=True)\n', id='forged output'),
        pytest.param('import os\nos.write(1, b\'{"error": "forged"}\\n\')\n', id='forged descriptor'),
        pytest.param('import io, sys\nsys.stdout = io.StringIO()\nprint("x")\n', id='own stdout'),
        pytest.param('import sys\nsys.stdout.close()\nsys.stderr.close()\n', id='closed streams'),
        pytest.param('import os\nos.chdir("/")\nos.environ.clear()\nos.umask(0o777)\n', id='surroundings'),
        pytest.param('import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\n', id='thread'),
        pytest.param('import atexit, time\natexit.register(time.sleep, 99)\n', id='atexit'),
        pytest.param('import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n', id='SIGCHLD'),
        pytest.param('import sys\nsys.path.clear()\nsys.meta_path.clear()\n', id='imports'),
        pytest.param('import builtins\ndel builtins.print\n', id='builtins'),
        pytest.param('import gc, sys\ngc.disable()\nsys.settrace(lambda *a: None)\n', id='interpreter'),
    ],
)
def test_beyond5_what_code_does_to_its_process_is_gone_with_it(isolated: CapabilityCreation[None], code: str) -> None:
    """None of this stops it from passing, nor the next code."""
    for _ in range(2):
        assert isolated.store.write('subject', code + FINE).last_error is None


WRITE_EVERYWHERE = 'import os\nfor fd in range(3, 64):\n    try: os.write(fd, {})\n    except OSError: pass\n'.format


@pytest.mark.parametrize(
    'code',
    [
        pytest.param(WRITE_EVERYWHERE('b"rubbish\\n"') + FINE, id='rubbish'),
        pytest.param(WRITE_EVERYWHERE('b"rubbish"') + FINE, id='half a line'),
        pytest.param(WRITE_EVERYWHERE('b"\\xff\\xfe\\n"') + 'os._exit(0)\n', id='no text'),
        pytest.param(WRITE_EVERYWHERE('b\'{"error": 3}\\n\'') + 'os._exit(0)\n', id='another form'),
        pytest.param(WRITE_EVERYWHERE("b'{}\\n{}\\n'") + 'os._exit(0)\n', id='two'),
        pytest.param(
            'import os\nos.kill(os.getppid(), 9)\nimport time\ntime.sleep(1)\n' + FINE, id='supervisor killed'
        ),
    ],
)
def test_beyond5_code_that_garbles_its_verdict_is_refused(isolated: CapabilityCreation[None], code: str) -> None:
    """Whatever comes in place of a verdict is a reason to refuse the code, and not the end of the run."""
    error = isolated.store.write('subject', code).last_error  # it may as well pass; it must not raise
    assert error != ''


def test_beyond5_code_that_kills_its_supervisor_is_ended(isolated: CapabilityCreation[None], tmp_path: Path) -> None:
    """It does not outlive its check by that."""
    told = tmp_path / 'pid'
    code = writes_pid(told) + 'import time\nos.kill(os.getppid(), 9)\ntime.sleep(90)\n'
    with suppress(Exception):
        isolated.store.write('subject', code)
    pid = number_in(told)
    try:
        wait_until(lambda: not is_running(pid))
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize('how', ['fork', 'popen', 'multiprocessing', 'of a refused one'])
def test_beyond5_children_that_are_left_behind_are_ended(
    isolated: CapabilityCreation[None], how: str, tmp_path: Path
) -> None:
    """What the code has started is gone when its verdict is there."""
    told = tmp_path / 'pid'
    fork = f'import os, time\nif os.fork() == 0:\n    {writes_pid(told).splitlines()[1]}\n    time.sleep(99)\n'
    wait = f'while not (os.path.exists({str(told)!r}) and open({str(told)!r}).read()): time.sleep(0.01)\n'
    popen = (
        'import os, subprocess, time\nchild = subprocess.Popen(["sleep", "99"])\n'
        f'open({str(told)!r}, "w").write(f"{{child.pid}}\\n")\n'
    )
    multi = (
        'import os, multiprocessing, time\nchild = multiprocessing.get_context("fork").Process(target=time.sleep, '
        f'args=(99,))\nchild.start()\nopen({str(told)!r}, "w").write(f"{{child.pid}}\\n")\n'
    )
    code = {'fork': fork, 'popen': popen, 'multiprocessing': multi, 'of a refused one': fork + wait + '1 / 0\n'}[how]
    refused = isolated.store.write('subject', code + wait + FINE).last_error
    assert (refused is not None) is (how == 'of a refused one')
    pid = number_in(told)
    wait_until(lambda: not is_running(pid))


# -- nothing of it in the agent's process ------------------------------------------------------------------------


def test_beyond5_nothing_runs_in_the_agents_process(isolated: CapabilityCreation[None], tmp_path: Path) -> None:
    """Module body, constructor and getters run in another process, which is not the same one twice."""
    told = tmp_path / 'pids'
    mark = f'import os, sys, builtins; open({str(told)!r}, "a").write(f"{{os.getpid()}} "); builtins.authored_ran = 1'
    code = f'{mark}\n' + authored(f'def __init__(self): {mark}\ndef get_toolset(self): {mark}')
    before = set(sys.modules)
    for _ in range(2):
        assert isolated.store.write('subject', code).last_error is None
    pids = told.read_text().split()
    assert len(pids) >= 6
    assert str(os.getpid()) not in pids
    assert len(set(pids)) == 2
    assert not hasattr(__import__('builtins'), 'authored_ran')
    assert {name for name in sys.modules if 'authored' in name} <= before


def test_beyond5_code_does_not_meet_what_other_code_left(isolated: CapabilityCreation[None]) -> None:
    """Each check starts from the same state."""
    assert isolated.store.write('subject', 'import builtins\nbuiltins.left = 1\n' + FINE).last_error is None
    assert 'NameError' in why(isolated, 'left\n')


# -- the agent's surroundings ------------------------------------------------------------------------------------


def test_beyond5_the_working_directory_of_now_holds(
    isolated: CapabilityCreation[None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory that was changed to after the process was started is that of the code."""
    isolated.store.write('subject', FINE)
    monkeypatch.chdir(tmp_path)
    code = f'import os\nassert os.getcwd() == {str(tmp_path)!r}\nopen("made_here", "w")\n'
    assert isolated.store.write('subject', code + FINE).last_error is None
    assert (tmp_path / 'made_here').exists()


def test_beyond5_the_import_path_of_now_holds(
    isolated: CapabilityCreation[None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that has become importable later can be imported, in the form that it has then."""
    isolated.store.write('subject', FINE)
    module = tmp_path / 'pretended_helper.py'
    module.write_text('VALUE = 1\n')
    assert 'No module named' in why(isolated, 'import pretended_helper\n')
    monkeypatch.setattr(sys, 'path', [str(tmp_path), *sys.path])
    code = 'import pretended_helper\nassert pretended_helper.VALUE == 1\n'
    assert isolated.store.write('subject', code + FINE).last_error is None
    module.write_text('VALUE = 100\n')
    assert 'AssertionError' in why(isolated, code)


def test_beyond5_the_environment_of_now_holds(
    isolated: CapabilityCreation[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables that were set or removed later are set or removed for the code, and for what it starts."""
    monkeypatch.setenv('REMOVED_LATER', '1')
    isolated.store.write('subject', FINE)
    monkeypatch.setenv('SET_LATER', 'käse = \n"1"')
    monkeypatch.delenv('REMOVED_LATER')
    code = (
        'import os, subprocess\nassert os.environ["SET_LATER"] == os.getenv("SET_LATER") == \'käse = \\n"1"\'\n'
        'assert "REMOVED_LATER" not in os.environ\n'
        'seen = subprocess.run("env", capture_output=True, text=True).stdout\n'
        'assert "SET_LATER=" in seen and "REMOVED_LATER" not in seen\n'
    )
    assert isolated.store.write('subject', code + FINE).last_error is None


def passes_here(creation: CapabilityCreation[None]) -> bool:
    """Whether good code passes; what a failure leaves open is closed, not to disturb other tests."""
    try:
        return creation.store.write('subject', FINE).last_error is None
    except Exception:  # noqa: BLE001 - any is wrong here
        return False
    finally:
        wait_until(lambda: not any(thread.name == 'check subject' for thread in threading.enumerate()))
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', ResourceWarning)
            gc.collect()


def test_beyond5_an_environment_that_is_no_utf8_is_no_obstacle(isolated: CapabilityCreation[None]) -> None:
    """Such variables are allowed, and the code need not use them."""
    os.environb[b'NO_TEXT'] = b'\xff'
    try:
        assert passes_here(isolated)
    finally:
        del os.environb[b'NO_TEXT']


def test_beyond5_an_import_path_with_a_path_object_is_no_obstacle(
    isolated: CapabilityCreation[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python skips what is no str there; programs do it all the same."""
    monkeypatch.setattr(sys, 'path', [*sys.path, Path('/nowhere')])
    assert passes_here(isolated)


def test_beyond5_a_working_directory_that_is_gone_is_no_obstacle(
    isolated: CapabilityCreation[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In process the same code passes."""
    gone = tempfile.mkdtemp()
    monkeypatch.chdir(gone)
    Path(gone).rmdir()
    assert passes_here(isolated)


# -- several checks, and processes that die ----------------------------------------------------------------------


def test_beyond5_a_second_check_is_quick(isolated: CapabilityCreation[None]) -> None:
    """Everything is imported already: 0.02 seconds where this was written."""
    isolated.store.write('subject', FINE)
    started = time.monotonic()
    isolated.store.write('subject', FINE)
    assert time.monotonic() - started < 10


def test_beyond5_a_check_that_hangs_does_not_hold_up_another(
    isolated: CapabilityCreation[None], tmp_path: Path
) -> None:
    """Others pass meanwhile, and it is ended by cancelling it."""
    told = tmp_path / 'pid'
    store = isolated.store
    hanging = store.check(store.prepare('hanging', writes_pid(told) + 'while 1: pass\n'))
    pid = number_in(told)
    others = [store.check(store.prepare(f'other_{n}', FINE)) for n in range(8)]
    assert [other.result(PATIENCE_SECONDS * 2).error for other in others] == [None] * 8
    assert is_running(pid)
    assert not hanging.done()
    assert hanging.cancel()
    wait_until(lambda: not is_running(pid))
    assert store.write('subject', FINE).last_error is None


async def test_beyond5_cancelling_the_run_ends_the_code(isolated: CapabilityCreation[None], tmp_path: Path) -> None:
    """Its process is gone; nothing was written."""
    told = tmp_path / 'pid'
    script = ScriptedModel([[author(writes_pid(told) + 'while 1: pass\n', 'cancelled')]])
    run = asyncio.create_task(agent_of(script, isolated).run('go'))
    await asyncio.to_thread(wait_until, told.exists)
    pid = await asyncio.to_thread(number_in, told)
    assert is_running(pid)
    run.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await run
    await asyncio.to_thread(wait_until, lambda: not is_running(pid))
    assert time.monotonic() - started < 20
    assert 'cancelled' not in {entry.name for entry in isolated.store.list_all()}
    assert not (isolated.store.directory / 'cancelled.py').exists()
    first, *_ = await run_calls(isolated, author(FINE))
    assert 'passed' in str(first.content)


def test_beyond5_the_next_check_works_after_the_warm_process_was_killed(
    lone: CapabilityCreation[None], tmp_path: Path
) -> None:
    """Another is started; a check that is under way comes to its end."""
    told = tmp_path / 'under_way'
    pid = warm_pid_from(lone, tmp_path)
    slow = lone.store.check(lone.store.prepare('slow', f'{writes_pid(told)}import time\ntime.sleep(0.5)\n{FINE}'))
    number_in(told)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))
    assert lone.store.write('subject', FINE).last_error is None
    assert slow.result(PATIENCE_SECONDS * 2).error is None
    assert warm_pid_from(lone, tmp_path) != pid


def test_beyond5_a_check_that_meets_a_dying_process_is_made_by_another(
    lone: CapabilityCreation[None], tmp_path: Path
) -> None:
    """A warm process that is killed (for lack of memory, say) just as it is asked costs no run."""
    pid = warm_pid_from(lone, tmp_path)
    os.kill(pid, signal.SIGSTOP)
    verdict = lone.store.check(lone.store.prepare('subject', FINE))
    time.sleep(0.2)  # it has been asked by then
    os.kill(pid, signal.SIGKILL)
    assert verdict.result(PATIENCE_SECONDS * 2).error is None


def descendants(pid: int) -> list[int]:
    """The processes below one, that run."""
    try:
        children = [int(child) for child in Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]
    except OSError:  # it has just ended
        return []
    running = [child for child in children if is_running(child)]
    return [*running, *(below for child in running for below in descendants(child))]


def test_beyond5_a_check_that_is_given_up_at_any_moment_leaves_no_process(
    lone: CapabilityCreation[None], tmp_path: Path
) -> None:
    """Also when the process that is to run the code has only just come to be."""
    pid = warm_pid_from(lone, tmp_path)
    for number in range(40):
        check = lone.store.check(lone.store.prepare('subject', 'while True: pass'))
        time.sleep(number / 2000)
        check.cancel()
    wait_until(lambda: descendants(pid) == [])


def test_beyond5_a_warm_process_that_does_not_answer_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped or wedged, it does not make a check wait for ever; the next check is made by another."""
    creation = CapabilityCreation[None](tmp_path / 'lone', isolated_validation=True, validation_timeout=40)
    pid = warm_pid_from(creation, tmp_path)
    os.kill(pid, signal.SIGSTOP)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(isolation, '_GRACE_SECONDS', -39.5)
            patched.setattr(isolation, '_END_SECONDS', 0.1)
            verdict = creation.store.check(creation.store.prepare('subject', FINE)).result(PATIENCE_SECONDS)
        assert 'longer than 40 seconds' in (verdict.error or '')
        assert not is_running(pid)
        assert warm_pid_from(creation, tmp_path) != pid
    finally:
        creation.store.close()


def test_beyond5_close_ends_the_process_and_may_be_repeated(tmp_path: Path) -> None:
    """Closing twice is once, closing before anything was checked is nothing, and a check starts it again."""
    creation = CapabilityCreation[None](tmp_path / 'closed', isolated_validation=True)
    creation.store.close()
    pid = warm_pid_from(creation, tmp_path)
    creation.store.close()
    creation.store.close()
    assert not is_running(pid)
    again = warm_pid_from(creation, tmp_path)
    assert again != pid
    creation.store.close()
    assert not is_running(again)


def test_beyond5_no_descriptors_are_lost(isolated: CapabilityCreation[None]) -> None:
    """However a check ends, its channel is closed."""

    def open_now() -> int:
        return len(list(Path('/proc/self/fd').iterdir()))

    isolated.store.write('subject', FINE)
    before = open_now()
    for _ in range(10):
        isolated.store.write('subject', FINE)
        isolated.store.write('subject', 'import os\nos._exit(0)\n')
        isolated.store.check(isolated.store.prepare('subject', 'while 1: pass\n')).cancel()
    wait_until(lambda: open_now() <= before)
