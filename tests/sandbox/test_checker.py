"""CM-5 and BEYOND-6: what the type checker finds, where, and that it never runs anything."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pydantic_monty
import pytest

from pydantic_ai_harness.sandbox import FailureKind, Finding, PoolClosedError, Session, TypeChecker, WorkerPool
from pydantic_ai_harness.sandbox import checker as checker_module

from .driving import PATIENCE_SECS, child_processes, computing, lost_by, wait_until, works

STUBS = 'async def fetch(n: int) -> str: ...\ndef store(text: str, *, times: int = 1) -> None: ...\n'
WRONG = 'await fetch("a")'


@pytest.fixture(scope='module')
def checker() -> Iterator[TypeChecker]:
    pool = WorkerPool(max_workers=1)
    yield pool.type_checker
    pool.close()


@pytest.mark.parametrize(
    ('code', 'place', 'mentions'),
    [
        (WRONG, ('invalid-argument-type', 1, 13), 'Expected `int`, found `Literal["a"]`'),
        ('x = 1\n\nawait fetch()', ('missing-argument', 3, 7), '`n`'),
        ('store("a", 2)', ('too-many-positional-arguments', 1, 12), ''),
        ('store("a", time=2)', ('unknown-argument', 1, 12), '`time`'),
        ('if True:\n    x = nope', ('unresolved-reference', 2, 9), '`nope`'),
        ('x = 1\nx + ""', ('unsupported-operator', 2, 1), '`+`'),
        ('(await fetch(1)).nope', ('unresolved-attribute', 1, 1), '`nope`'),
        ('import math\nmath.nope', ('unresolved-attribute', 2, 1), '`nope`'),
    ],
)
def test_cm5_an_error_is_found_with_rule_line_and_column(
    checker: TypeChecker, code: str, place: tuple[str, int, int], mentions: str
) -> None:
    (finding,) = check(checker, code)
    assert (finding.rule, finding.line, finding.column) == place
    assert mentions in finding.message


def test_cm5_all_errors_are_found_in_order(checker: TypeChecker) -> None:
    assert [finding.line for finding in check(checker, f'{WRONG}\nx = 1\n{WRONG}\nnope')] == [1, 3, 4]


def test_cm5_a_syntax_error_is_found_on_its_line(checker: TypeChecker) -> None:
    finding = check(checker, 'x = 1\ndef (')[0]
    assert (finding.rule, finding.line, finding.column) == ('invalid-syntax', 2, 5)


@pytest.mark.parametrize('before', ['', 'x = 1', 'x = 1\n', 'x = 1\n\n"""a\n  b"""\n', 'import math\r\nx = 1\r\n'])
@pytest.mark.parametrize('known', [(), ('a', 'b', 'c')])
def test_cm5_place_is_that_in_the_snippet_whatever_comes_before(
    checker: TypeChecker, before: str, known: tuple[str, ...]
) -> None:
    (finding,) = check(checker, f'y = 1\n{WRONG}', before=before, known=known)
    assert (finding.line, finding.column) == (2, 13)


def test_cm12_names_from_before_have_their_types(checker: TypeChecker) -> None:
    before = 'count = 1\ndef half(n: int) -> float: return n / 2'
    assert check(checker, 'half(count)', before=before) == []
    assert [finding.line for finding in check(checker, 'half("a")', before=before)] == [1]


def test_cm12_known_names_may_be_used_in_every_way(checker: TypeChecker) -> None:
    assert check(checker, 'await fetch(data["n"] + data.n)\ndata()', known=['data']) == []
    assert [finding.rule for finding in check(checker, 'data')] == ['unresolved-reference']


def test_beyond6_a_finding_in_the_code_before_lies_below_line_1(checker: TypeChecker) -> None:
    findings = check(checker, 'y = 2', before='x = 1\nz: int = ""', known=['a'])
    assert [finding.line for finding in findings] == [0]


# Correct programs around one wrong call, and where that stands in them.
PLACES = {
    'triple quotes before': (f'x = """\na\n  b\n\n"""\n{WRONG}', 6, 13),
    'triple quotes inside': ('await fetch("""\na\n""")', 1, 13),
    'docstring': (f'def f():\n    """One.\n\n    Two.\n    """\n    return 1\n{WRONG}', 7, 13),
    'tabs': (f'if True:\n\tif True:\n\t\t{WRONG}', 3, 15),
    'form feed on its own line': (f'x = 1\n\x0c\n{WRONG}', 3, 13),
    'line separator in text': (f'x = "\u2028\u2029\x85"; {WRONG}\ny = 1', 1, 24),
    'line separator in a comment': (f'# \u2028 comment\n{WRONG}', 2, 13),
    'blank lines': (f'\n\n   \n\t\n{WRONG}\n\n', 5, 13),
    'accents': (f'é = "ü"; {WRONG}', 1, 22),
    'astral': (f's = "😀🎈"; {WRONG}', 1, 23),
    'combining': (f's = "e\u0301"; {WRONG}', 1, 23),
    'crlf': (f'x = 1\r\ny = """\r\n"""\r\n{WRONG}\r\n', 4, 13),
    'continuation': (f'x = 1 + \\\n  2\n{WRONG}', 3, 13),
    'bracket': ('x = [\n1,\n  await fetch("a"),\n]', 3, 15),
    'comment last': (f'{WRONG}  # done', 1, 13),
}


@pytest.mark.parametrize(('code', 'line', 'column'), PLACES.values(), ids=PLACES)
def test_cm5_the_one_wrong_call_is_found_at_its_place(checker: TypeChecker, code: str, line: int, column: int) -> None:
    (finding,) = check(checker, code)
    assert (finding.rule, finding.line, finding.column) == ('invalid-argument-type', line, column)
    assert check(checker, code.replace(WRONG, 'await fetch(1)').replace('"a"', '1').replace('"""\na\n"""', '1')) == []


@pytest.mark.parametrize(
    'code', ['x = 1\n\x0cy = x\n', 'x = 1\ry = x\r', '# a\rx = 1\n'], ids=['form feed', 'cr', 'cr 2']
)
def test_cm5_form_feeds_and_lone_carriage_returns_are_no_errors(checker: TypeChecker, code: str) -> None:
    compile(code, 'snippet', 'exec')
    assert check(checker, code) == []


@pytest.mark.parametrize('code', ['', ' ', '\n', '\n\n\t\n', '# nothing', '"""\n"""', '\r\n'])
def test_cm5_blank_code_has_no_errors(checker: TypeChecker, code: str) -> None:
    assert check(checker, code) == []
    assert [finding.line for finding in check(checker, WRONG, before=code)] == [1]


@pytest.mark.parametrize('code', ['while True: pass', '1 / 0', 'print("ran")', 'await fetch(1)', 'raise SystemExit'])
def test_cm5_nothing_runs(checker: TypeChecker, code: str) -> None:
    assert check(checker, code) == []
    assert check(checker, 'x = 1', before=code) == []


@pytest.mark.parametrize('code', ['x = 1\rwhile True:', 'x = 1\n\x0cwhile True:'], ids=['carriage return', 'form feed'])
def test_cm5_nothing_runs_however_its_lines_end(code: str) -> None:
    others = child_processes()
    pool = WorkerPool(max_workers=1)
    future = pool.type_checker.check(code, stubs=STUBS)
    try:
        assert future.result(1)
    finally:
        for process in child_processes() - others:
            os.kill(process, signal.SIGKILL)
        pool.close()


def test_cm5_no_name_leaks_from_one_check_to_another(checker: TypeChecker) -> None:
    order = list(range(300))
    random.Random(5).shuffle(order)  # noqa: S311  an order, no secret
    for n in order:
        code = f'def function_{n}(): ...\nimport math as module_{n}\nname_{n} = {n}\n'
        uses = [f'function_{299 - n}', f'module_{299 - n}', f'name_{299 - n}']
        findings = check(checker, code + '\n'.join(uses), before=f'before_{n} = 1', known=[f'known_{n}'])
        assert [(finding.rule, finding.line) for finding in findings] == [
            ('unresolved-reference', 4),
            ('unresolved-reference', 5),
            ('unresolved-reference', 6),
        ]
        assert len(check(checker, f'before_{n}\nknown_{n}\nname_{n}')) == 3


def test_cm5_each_set_of_stubs_is_checked_for_itself(checker: TypeChecker) -> None:
    sets = [f'def tool_{n}(x: int) -> int: ...\n' for n in range(9)]
    for _ in range(3):
        for n, stubs in enumerate(sets):
            assert check(checker, f'tool_{n}(1)', stubs=stubs) == []
            assert [finding.rule for finding in check(checker, f'tool_{n}("a")', stubs=stubs)] == [
                'invalid-argument-type'
            ]
            assert [finding.rule for finding in check(checker, f'tool_{(n + 1) % 9}(1)', stubs=stubs)] == [
                'unresolved-reference'
            ]


def test_cm5_checkers_of_old_stubs_are_given_up() -> None:
    others = checker_threads()
    pool = WorkerPool(max_workers=1)
    for n in range(12):
        check(pool.type_checker, 'x = 1', stubs=f'def tool_{n}() -> int: ...\n')
    assert wait_until(lambda: len(checker_threads() - others) <= 4)
    pool.close()
    assert wait_until(lambda: not checker_threads() - others)


def test_cm5_a_checking_session_is_renewed_now_and_then(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker_module, '_CHECKS_PER_SESSION', 5)
    counting = CountingCheckouts(pool)
    checker = TypeChecker(counting)
    for _ in range(30):
        assert [finding.line for finding in check(checker, WRONG)] == [1]
    assert 5 <= counting.checkouts <= 6
    checker.close()


def test_beyond2_after_its_process_was_killed_the_next_check_works() -> None:
    others = child_processes()
    pool = WorkerPool(max_workers=1)
    for _ in range(3):
        assert len(check(pool.type_checker, WRONG)) == 1
        for process in child_processes() - others:
            os.kill(process, signal.SIGKILL)
        assert len(check(pool.type_checker, WRONG)) == 1
    pool.close()


def test_beyond2_processes_killed_at_random_never_break_a_check() -> None:
    others = child_processes()
    pool = WorkerPool(max_workers=1)
    stop = threading.Event()

    def kill() -> None:
        while not stop.wait(0.02):
            for process in child_processes() - others:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    found = [check(pool.type_checker, WRONG) for _ in range(60)]
    stop.set()
    thread.join()
    assert {len(findings) for findings in found} <= {0, 1}
    check(pool.type_checker, WRONG)
    assert len(check(pool.type_checker, WRONG)) == 1
    pool.close()


def test_beyond2_checks_from_many_threads_each_get_their_own_findings(checker: TypeChecker) -> None:
    def lines(n: int) -> list[int]:
        return [finding.line for finding in check(checker, '\n' * n + WRONG)]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lines, range(100))) == [[n + 1] for n in range(100)]


def test_beyond2_a_check_waits_for_no_snippet(lone_worker: WorkerPool) -> None:
    session = Session(lone_worker)
    running = computing(session)
    assert len(check(lone_worker.type_checker, WRONG)) == 1
    session.abort()
    lost_by(running, FailureKind.ABORTED)
    assert works(session)


def test_beyond2_a_closed_pool_checks_nothing() -> None:
    pool = WorkerPool(max_workers=1)
    check(pool.type_checker, WRONG)
    pool.close()
    with pytest.raises(PoolClosedError, match='This WorkerPool was closed'):
        check(pool.type_checker, WRONG)


class CountingCheckouts:
    """The pool, and how often a session was asked of it."""

    def __init__(self, pool: WorkerPool) -> None:
        self.checkouts = 0
        self._pool = pool

    def checkout(self, *, type_check_stubs: str) -> pydantic_monty.MontySession:
        self.checkouts += 1
        return self._pool.checkout(type_check_stubs=type_check_stubs)


def check(
    checker: TypeChecker, code: str, *, stubs: str = STUBS, before: str = '', known: list[str] | tuple[str, ...] = ()
) -> list[Finding]:
    return checker.check(code, stubs=stubs, before=before, known=known).result(PATIENCE_SECS)


def checker_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith('sandbox-checker')}
