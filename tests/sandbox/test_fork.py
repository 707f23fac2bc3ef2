"""BEYOND-2: a process that forks."""

from __future__ import annotations

from pathlib import Path

import pytest

from .scripts import Ended, run_script

pytestmark = pytest.mark.skipif(not Path('/proc').exists(), reason='fork and threads go together on Linux only')

FREED = 'what a child frees reaches into the worker of its parent, whose next step hangs'
IN_CHILD = """
import gc, os, sys, warnings
from pydantic_ai_harness.sandbox.pool import ForkedError
warnings.simplefilter('ignore', DeprecationWarning)  # Python 3.12 warns of threads beside a fork
def in_child(do, leave=os._exit):
    child = os.fork()
    if child == 0:
        try:
            do()
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        leave(0)
    return os.waitpid(child, 0)[1]
def value(session, code):
    try:
        return session.feed(Snippet(code=code)).result(2).value
    except TimeoutError:
        print('hangs', flush=True)
        os._exit(1)
def use():
    assert value(Session(shared_pool()), '2') == 2
def refused():
    try:
        use()
    except ForkedError as error:
        assert 'was used before this process was forked' in str(error)
    else:
        raise AssertionError('not refused')
"""


def test_beyond2_a_child_forked_before_the_first_run_has_a_pool_of_its_own_that_works() -> None:
    assert outcome("""
mine = shared_pool()
def check():
    assert shared_pool() is not mine
    use()
assert in_child(check) == 0
assert shared_pool() is mine
use()
assert in_child(refused) == 0
""") == Ended(0, '', '')


def test_beyond2_children_of_a_child_that_never_used_the_sandbox_can_use_it() -> None:
    assert outcome("""
def fork_again():
    assert in_child(use) == 0
    use()
assert in_child(fork_again) == 0
use()
""") == Ended(0, '', '')


def test_beyond2_a_child_forked_after_a_run_is_refused_with_advice_and_the_parent_goes_on() -> None:
    assert outcome("""
session = Session(shared_pool())
assert value(session, 'kept = 1\\nkept') == 1
shared_pool().type_checker.check('1', stubs='').result()
for _ in range(3):
    assert in_child(refused) == 0
    assert value(session, 'kept') == 1
use()
""") == Ended(0, '', '')


@pytest.mark.parametrize(
    ('leave', 'held'),
    [
        ('os._exit', 'session'),
        ('os._exit', 'None'),
        pytest.param('sys.exit', 'session', marks=pytest.mark.xfail(reason=FREED)),
    ],
)
def test_beyond2_the_end_of_a_child_leaves_the_workers_of_its_parent_alone(leave: str, held: str) -> None:
    assert outcome(f"""
session = Session(shared_pool())
assert value(session, 'kept = 1\\nkept') == 1
def let_go():
    global session
    session = {held}
    gc.collect()
assert in_child(let_go, leave={leave}) == 0
assert value(session, 'kept') == 1
use()
""") == Ended(0, '', '')


def outcome(body: str) -> Ended:
    return run_script(IN_CHILD + body)
