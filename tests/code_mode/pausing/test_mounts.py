"""BEYOND-1: directories, environment, clock and limits of code that waits."""

import asyncio
import copy
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests
from pydantic_monty import MountDir, OSAccess

from pydantic_ai_harness.code_mode import StateStoreWarning

from .bank import Bank, Dialogue, approve

READS = """from pathlib import Path
before = Path("/data/a.txt").read_text()
paid = await pay(amount=1)
[before, paid, Path("/data/a.txt").read_text()]"""


def mounted(directory: Path, mode: Any) -> dict[str, Any]:
    return {'mount': MountDir(virtual_path='/data', host_path=str(directory), mode=mode)}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / 'a.txt').write_text('old')
    return tmp_path


@pytest.mark.parametrize('mode', ['read-only', 'read-write'])
async def test_beyond1_mounts_are_given_again(mode: str, directory: Path) -> None:
    """After the pause, code reads what is in the directory then."""
    dialogue = Dialogue(options=mounted(directory, mode))
    await dialogue.run(READS)
    (directory / 'a.txt').write_text('new')
    await dialogue.answer(approve)
    assert dialogue.content == ['old', 'paid 1', 'new']


async def test_beyond1_written_files_stay_over_the_pause(directory: Path) -> None:
    """A read-write mount is written before and after."""
    code = """from pathlib import Path
Path("/data/b.txt").write_text("before")
paid = await pay(amount=1)
text = Path("/data/b.txt").read_text()
Path("/data/c.txt").write_text(text + paid)
text"""
    dialogue = Dialogue(options=mounted(directory, 'read-write'))
    await dialogue.run(code)
    assert (directory / 'b.txt').read_text() == 'before'
    await dialogue.answer(approve)
    assert dialogue.content == 'before'
    assert (directory / 'c.txt').read_text() == 'beforepaid 1'


async def test_beyond1_read_only_stays_read_only(directory: Path) -> None:
    """The resumed code may not write either."""
    code = """from pathlib import Path
await pay(amount=1)
try:
    Path("/data/a.txt").write_text("x")
except OSError as e:
    r = "refused"
r"""
    dialogue = Dialogue(options=mounted(directory, 'read-only'))
    await dialogue.run(code)
    await dialogue.answer(approve)
    assert dialogue.content == 'refused'
    assert (directory / 'a.txt').read_text() == 'old'


async def test_beyond1_the_mounts_are_those_of_the_resuming_process(tmp_path: Path) -> None:
    """Another host directory under the same virtual path is what code gets after the pause."""
    for name in ('one', 'other'):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'a.txt').write_text(name)
    dialogue = Dialogue(options=mounted(tmp_path / 'one', 'read-only'))
    await dialogue.run(READS)
    dialogue.options = mounted(tmp_path / 'other', 'read-only')
    await dialogue.answer(approve)
    assert dialogue.content == ['one', 'paid 1', 'other']


async def test_beyond1_the_mount_is_gone(directory: Path) -> None:
    """A process without the mount runs the rest, whose file access fails where it is made."""
    dialogue = Dialogue(options=mounted(directory, 'read-only'))
    await dialogue.run(READS)
    dialogue.options = {}
    await dialogue.answer(approve)
    assert 'line 4' in dialogue.text
    assert '- pay(amount=1) returned "paid 1"' in dialogue.text
    assert dialogue.bank.ran == ['pay 1']


@pytest.mark.parametrize('call', ['await pay(amount=1)', 'await later(job="x")', 'pay_now(amount=1)'])
async def test_beyond1_with_an_overlay_a_call_cannot_wait(call: str, directory: Path) -> None:
    """The call raises where it is made, before anything is lost, and the text says that it is for the overlay."""
    code = f"""from pathlib import Path
Path("/data/a.txt").write_text("changed")
try:
    r = {call}
except PermissionError as e:
    r = str(e)
[r, Path("/data/a.txt").read_text(), await free(n=1)]"""
    dialogue = Dialogue(options=mounted(directory, 'overlay'))
    await dialogue.run(code)
    refusal, text, free = dialogue.content
    assert 'the code cannot wait: what it writes to an overlay mount lives only as long as it runs' in refusal
    assert (text, free) == ('changed', 10)
    assert dialogue.bank.ran == ['free 1']
    assert (directory / 'a.txt').read_text() == 'old'


async def test_beyond1_with_an_overlay_the_refusal_has_line_and_calls(directory: Path) -> None:
    """Uncaught, the model reads where the code was refused to wait, and what had run."""
    dialogue = Dialogue(options=mounted(directory, 'overlay'))
    await dialogue.run('await free(n=1)\nawait pay(amount=1)')
    for text in ('PermissionError: pay needs approval', 'overlay mount', 'line 2', '- free(n=1) returned 10'):
        assert text in dialogue.text


async def test_beyond1_an_overlay_that_appears_on_resume(directory: Path) -> None:
    """Code that paused without an overlay goes on with one: answered calls run, all others are denied with a reason."""
    code = """import asyncio
async def safe(call):
    try:
        return await call
    except PermissionError as e:
        return str(e)
r = await asyncio.gather(safe(pay(amount=1)), safe(pay(amount=2)))
[*r, await safe(pay(amount=3)), await free(n=1)]"""
    dialogue = Dialogue(options=mounted(directory, 'read-only'))
    await dialogue.run(code)
    dialogue.options = mounted(directory, 'overlay')
    with pytest.warns(StateStoreWarning, match='Code that waits for an answer goes on without it: .* overlay mount'):
        await dialogue.answer({'code_1__1': True})
    answered, unanswered, later, free = dialogue.content
    assert (answered, free) == ('paid 1', 10)
    assert 'Nobody could be asked: it could not be stored' in unanswered
    assert 'overlay mount' in unanswered
    assert 'the code cannot wait' in later
    assert 'overlay mount' in later
    assert dialogue.bank.ran == ['pay 1', 'free 1']


async def test_beyond1_environment_and_clock_are_those_of_the_resuming_process() -> None:
    """`os_access` of the new process answers after the pause."""
    code = 'import os\na = os.getenv("WHO")\nawait pay(amount=1)\n[a, os.getenv("WHO")]'
    dialogue = Dialogue(options={'os_access': OSAccess(environ={'WHO': 'first'})})
    await dialogue.run(code)
    dialogue.options = {'os_access': OSAccess(environ={'WHO': 'second'})}
    await dialogue.answer(approve)
    assert dialogue.content == ['first', 'second']


async def test_beyond1_without_os_access_the_rest_has_no_environment() -> None:
    """What the new process does not give is refused in the code."""
    code = """import os
a = os.getenv("WHO")
await pay(amount=1)
try:
    b = os.getenv("WHO")
except Exception as e:
    b = "refused"
[a, b]"""
    dialogue = Dialogue(options={'os_access': OSAccess(environ={'WHO': 'first'})})
    await dialogue.run(code)
    dialogue.options = {}
    await dialogue.answer(approve)
    assert dialogue.content == ['first', 'refused']


def now(name: str, args: Any, kwargs: Any) -> float:
    return time.time()


async def test_beyond1_time_used_before_the_pause_counts_after_it() -> None:
    """The limit is per snippet, not per part of it: parts that each stay far below it are stopped together."""
    code = """import time
while True:
    start = time.time()
    while time.time() - start < 0.2:
        for _ in range(200_000):
            pass
    await pay(amount=1)"""
    dialogue = Dialogue(options={'os_access': now, 'resource_limits': {'max_duration_secs': 1.0}})
    await dialogue.run(code)
    pauses = 0
    while isinstance(dialogue.output, DeferredToolRequests):
        pauses += 1
        assert pauses < 40
        await dialogue.answer(approve)
    assert 'used up the 1 s' in dialogue.text
    assert dialogue.bank.ran == ['pay 1'] * pauses


async def test_beyond1_sleep_before_the_pause_counts_after_it() -> None:
    """The allowance of sleep is one for all parts of a snippet."""
    code = """import asyncio
await asyncio.sleep(0.2)
await pay(amount=1)
try:
    await asyncio.sleep(0.2)
    r = "slept"
except TimeoutError as e:
    r = str(e)
r"""
    dialogue = Dialogue(options={'resource_limits': {'max_duration_secs': 0.3}})
    await dialogue.run(code)
    await dialogue.answer(approve)
    assert 'past the allowance of 0.3 s' in dialogue.content


async def test_beyond1_waiting_for_an_answer_is_free() -> None:
    """The time between pause and resume is not the code's."""
    dialogue = Dialogue(Bank(), options={'resource_limits': {'max_duration_secs': 0.3}})
    await dialogue.run('await pay(amount=1)\nsum(range(1000))')
    await asyncio.sleep(0.5)
    copied = copy.copy(dialogue)
    await copied.answer(approve)
    assert copied.content == 499500


async def test_beyond1_printed_text_counts_over_the_pause() -> None:
    """The cap of printed text is one for all parts of a snippet."""
    dialogue = Dialogue()
    await dialogue.run('print("x" * 6 * 2 ** 20)\nawait pay(amount=1)\nprint("x" * 6 * 2 ** 20)')
    await dialogue.answer(approve)
    assert 'used up the 10 MiB that one call may print' in dialogue.text
    assert dialogue.bank.ran == ['pay 1']
