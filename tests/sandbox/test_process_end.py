"""BEYOND-2: programs that use the shared pool end with their own exit code and nothing on stderr."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from .scripts import Ended, run_script

USE = "print(value(Session(shared_pool()), '6 * 7'))\n"
MANY = """
sessions = [Session(shared_pool()) for _ in range(20)]
for session in sessions: feed(session, 'await ask()')
"""
IN_A_LOOP = """
import asyncio
async def main():
    step = await asyncio.wrap_future(Session(shared_pool()).feed(Snippet(code='6 * 7')))
    print(step.value)
asyncio.run(main())
"""
QUIET = Ended(0, '42', '')

SCRIPTS: dict[str, tuple[str, Ended]] = {
    'plain': (USE, QUIET),
    'left waiting': (USE + "feed(Session(shared_pool()), 'await ask()')", QUIET),
    'set aside': (USE + "session = Session(shared_pool())\nfeed(session, 'await ask()')\nsession.set_aside()", QUIET),
    'closed session': (USE + "session = Session(shared_pool())\nfeed(session, '1')\nsession.close()", QUIET),
    'closed pool': (USE + 'shared_pool().close()', QUIET),
    'type check': (USE + "shared_pool().type_checker.check('1', stubs='').result()", QUIET),
    'unused pool': ('shared_pool()\nprint(42)', QUIET),
    'own pool': ("print(value(Session(WorkerPool()), '6 * 7'))", QUIET),
    'own pool closed': ("pool = WorkerPool()\nprint(value(Session(pool), '6 * 7'))\npool.close()", QUIET),
    'many sessions': (MANY + USE, QUIET),
    'event loop': (IN_A_LOOP, QUIET),
    'sys.exit': (USE + 'import sys\nsys.exit(7)', Ended(7, '42', '')),
    'sys.exit with text': (USE + "import sys\nsys.exit('gone')", Ended(1, '42', 'gone\n')),
    'failed snippet': (USE + "feed(Session(shared_pool()), '1 / 0')", QUIET),
}
ROUNDS = 8
"""With 14 programs: 112 interpreters."""


@pytest.mark.parametrize(('script', 'end'), SCRIPTS.values(), ids=SCRIPTS)
def test_beyond2_a_program_ends_with_its_own_exit_code_and_no_noise(script: str, end: Ended) -> None:
    assert ends_of(script) == Counter({end: ROUNDS})


def test_beyond2_a_program_that_fails_shows_its_own_error_only() -> None:
    ends = ends_of(f"{USE}feed(Session(shared_pool()), 'await ask()')\nraise LookupError('mine')")
    assert sum(ends.values()) == ROUNDS
    for ended in ends:
        assert (ended.exit_code, ended.printed) == (1, '42')
        assert ended.errors.splitlines()[0] == 'Traceback (most recent call last):'
        assert ended.errors.splitlines()[-1] == 'LookupError: mine'
        assert ended.errors.count('Traceback') == 1


def test_beyond2_the_shared_pool_is_one_until_it_is_closed_then_another() -> None:
    ended = run_script("""
first = shared_pool()
assert shared_pool() is first and not first.is_closed
assert value(Session(first), '1') == 1
first.close()
second = shared_pool()
assert second is not first and shared_pool() is second
assert value(Session(second), '2') == 2
""")
    assert ended == Ended(0, '', '')


def ends_of(script: str) -> Counter[Ended]:
    """How often a program ended how, run two at a time."""
    with ThreadPoolExecutor(2) as threads:
        return Counter(threads.map(run_script, [script] * ROUNDS))
