"""CM-7, CM-8, CM-9, CM-12, BEYOND-6: a session driven step by step, with no event loop."""

from __future__ import annotations

import asyncio

import pytest

from pydantic_ai_harness.sandbox import (
    Call,
    FailureKind,
    Frame,
    FunctionKind,
    Needs,
    Raised,
    Returned,
    SandboxLimits,
    Session,
    Sleep,
    Snippet,
    WorkerPool,
)
from pydantic_ai_harness.sandbox import snippet as snippet_module

from .driving import (
    FOREVER,
    failure_of,
    feed,
    left_waiting,
    lost_by,
    needs_of,
    returned,
    run,
    value_of,
    works,
)

KEYED_BY_INSTANCE = (
    'from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Key:\n  n: int\nkeyed = {Key(1): 2}'
)
GATHER = 'import asyncio\nawait asyncio.gather({})'


def test_beyond2_a_session_needs_no_event_loop(session: Session) -> None:
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    assert run(session, '1 + 1') == 2


@pytest.mark.parametrize(
    ('code', 'value'),
    [('1\n2', 2), ('x = 1', None), ('', None), ('None', None), ('[1, {"a": (2,)}]', [1, {'a': (2,)}]), ('b"x"', b'x')],
)
def test_cm8_the_last_expression_is_the_value(session: Session, code: str, value: object) -> None:
    assert run(session, code) == value


def test_cm12_variables_imports_and_functions_persist(session: Session) -> None:
    run(session, 'import math\nroot = 16\ndef doubled(x): return 2 * x')
    assert run(session, 'doubled(math.sqrt(root))') == 8


def test_cm12_a_failed_snippet_keeps_what_it_bound_before(session: Session) -> None:
    failure_of(feed(session, 'kept = 1\n1 / 0'))
    assert run(session, 'kept') == 1


def test_beyond2_a_call_is_requested_and_its_answer_is_the_value(session: Session) -> None:
    needs = needs_of(feed(session, 'x = 1\nawait fetch(x, b"b", key=[2])', awaited='fetch'))
    (call,) = needs.requests
    assert call == Call(call.id, 'fetch', (1, b'b'), {'key': [2]}, line=2)
    assert needs.waiting_on == {call.id}
    assert value_of(session.advance({call.id: Returned('answer')})) == 'answer'


def test_cm7_gathered_calls_are_requested_in_one_step(session: Session) -> None:
    needs = needs_of(feed(session, GATHER.format('*[fetch(n) for n in range(100)]'), awaited='fetch'))
    assert [arguments(request) for request in needs.requests] == [(n,) for n in range(100)]
    assert needs.waiting_on == {request.id for request in needs.requests}
    assert value_of(session.advance(returned(needs, *range(100)))) == list(range(100))


def test_cm7_nested_gathers_take_answers_in_any_order_and_part(session: Session) -> None:
    code = GATHER.format('fetch(0), asyncio.gather(fetch(1), asyncio.gather(fetch(2))), fetch(3)')
    needs = needs_of(feed(session, code, awaited='fetch'))
    waiting = {request.id: Returned(arguments(request)[0]) for request in needs.requests}
    while len(waiting) > 1:
        answered, answer = waiting.popitem()
        needs = needs_of(session.advance({answered: answer}))
        assert (needs.requests, needs.waiting_on) == ((), waiting.keys())
    assert value_of(session.advance(waiting)) == [0, [1, [2]], 3]


def test_cm7_a_coroutine_that_goes_on_requests_while_others_wait(session: Session) -> None:
    code = 'async def twice(n): return await fetch(await fetch(n))\n' + GATHER.format('twice(1), twice(2)')
    needs = needs_of(feed(session, code, awaited='fetch'))
    first, second = needs.requests
    needs = needs_of(session.advance({first.id: Returned(10)}))
    assert [arguments(request) for request in needs.requests] == [(10,)]
    assert needs.waiting_on == {second.id, needs.requests[0].id}


def test_cm7_a_plain_function_blocks_until_it_is_answered(session: Session) -> None:
    needs = needs_of(
        feed(session, 'pending = fetch(1)\nx = store(2)\n[x, await pending]', awaited='fetch', plain='store')
    )
    fetch, store = needs.requests
    assert (fetch.blocking, store.blocking) == (False, True)
    assert needs.waiting_on == {store.id}
    needs = needs_of(session.advance({store.id: Returned('stored')}))
    assert (needs.requests, needs.waiting_on) == ((), {fetch.id})
    assert value_of(session.advance({fetch.id: Returned('fetched')})) == ['stored', 'fetched']


def test_beyond6_a_call_knows_its_line(session: Session) -> None:
    needs = needs_of(feed(session, '"é\u2028"\n\n(\n  ask(\n))', plain='ask'))
    assert line_of(needs) == 4


def test_beyond6_a_call_from_code_of_an_earlier_snippet_has_no_line(session: Session) -> None:
    run(session, 'def go(): return ask()')
    assert line_of(needs_of(feed(session, '\n\ngo()', plain='ask'))) is None


def test_cm11_an_error_of_admit_is_raised_at_the_call_site_and_nothing_is_requested(session: Session) -> None:
    asked: list[Call] = []

    def admit(call: Call) -> Exception | None:
        asked.append(call)
        return None if call.name == 'ask' else PermissionError('not now')

    code = 'try:\n  fetch(1)\nexcept PermissionError as error:\n  said = str(error)\nask(said)'
    future = session.feed(Snippet(code=code, functions={'ask': 'plain', 'fetch': 'plain'}, admit=admit))
    assert arguments(needs_of(future).requests[0]) == ('not now',)
    assert [(call.name, call.args) for call in asked] == [('fetch', (1,)), ('ask', ('not now',))]


@pytest.mark.parametrize('call', ['await ask()', 'ask()'])
@pytest.mark.parametrize('error', [ValueError('bad'), KeyError('bad'), TimeoutError('bad'), RuntimeError('bad')])
def test_beyond6_an_error_is_raised_at_the_call_site_where_code_can_catch_it(
    session: Session, call: str, error: Exception
) -> None:
    code = f'try:\n  {call}\nexcept {type(error).__name__} as error:\n  caught = error.args\ncaught'
    needs = left_waiting(session, code)
    assert value_of(session.advance({needs.requests[0].id: Raised(error)})) == ('bad',)


def test_beyond6_an_uncaught_error_of_a_call_fails_the_snippet_with_its_line(session: Session) -> None:
    needs = left_waiting(session, 'kept = 1\n\nawait ask()')
    failed = failure_of(session.advance({needs.requests[0].id: Raised(LookupError('nothing there'))}))
    assert (failed.kind, failed.error_type, failed.message) == (FailureKind.ERROR, 'LookupError', 'nothing there')
    assert [frame.line for frame in failed.frames] == [3]
    assert run(session, 'kept') == 1


@pytest.mark.parametrize('call', ['await ask()', 'ask()'])
@pytest.mark.parametrize('value', [object(), '\ud800'], ids=['object', 'no unicode'])
def test_cm12_an_answer_that_cannot_be_converted_leaves_a_session_that_works(
    session: Session, call: str, value: object
) -> None:
    needs = left_waiting(session, call)
    failed = failure_of(session.advance(returned(needs, value)))
    assert failed.kind is FailureKind.ERROR
    assert works(session)


def test_cm8_a_value_that_has_no_host_form_is_a_failed_step_and_keeps_the_session(session: Session) -> None:
    failed = failure_of(feed(session, f'kept = 1\n{KEYED_BY_INSTANCE}\nkeyed'))
    assert (failed.kind, failed.session_lost) == (FailureKind.ERROR, False)
    assert run(session, 'kept') == 1


@pytest.mark.parametrize('call', ['ask(keyed)', 'await ask(keyed)', 'ask(key=[keyed])'])
def test_cm8_an_argument_that_has_no_host_form_is_a_failed_step(session: Session, call: str) -> None:
    kind: FunctionKind = 'async' if 'await' in call else 'plain'
    future = session.feed(Snippet(code=f'kept = 1\n{KEYED_BY_INSTANCE}\n{call}', functions={'ask': kind}))
    assert failure_of(future).kind is FailureKind.ERROR


def test_beyond6_awaiting_a_call_that_an_earlier_snippet_left_behind_is_an_error(session: Session) -> None:
    value_of(feed(session, 'early = ask(1)', awaited='ask'))
    failed = failure_of(feed(session, 'await early', awaited='ask'))
    assert (failed.kind, failed.error_type) == (FailureKind.ERROR, 'RuntimeError')
    assert 'made and did not await' in failed.message
    assert works(session)


@pytest.mark.xfail(reason='every answer of that step is replaced by the error of the bad one', raises=AssertionError)
def test_cm7_an_answer_that_cannot_be_converted_spoils_no_other(session: Session) -> None:
    code = 'async def safe(call):\n  try: return await call\n  except TypeError: return "refused"\n'
    needs = needs_of(feed(session, code + GATHER.format('safe(ask(1)), safe(ask(2))'), awaited='ask'))
    assert value_of(session.advance(returned(needs, 'good', object()))) == ['good', 'refused']


@pytest.mark.parametrize(
    ('code', 'message'),
    [
        ('fetch_user()', "name 'fetch_user' is not defined. Did you mean fetch_users?"),
        ('nothing_like_it()', "name 'nothing_like_it' is not defined"),
    ],
)
def test_beyond6_an_unknown_function_is_a_name_error_with_near_names(session: Session, code: str, message: str) -> None:
    failed = failure_of(feed(session, code, awaited='fetch_users ask'))
    assert (failed.kind, failed.error_type, failed.message) == (FailureKind.ERROR, 'NameError', message)
    assert not failed.session_lost


def test_beyond6_an_unknown_function_can_be_caught(session: Session) -> None:
    assert run(session, 'try:\n  nope()\nexcept NameError:\n  caught = True\ncaught') is True


def test_beyond2_a_tool_can_be_passed_around_as_a_value(session: Session) -> None:
    code = 'tools = [fetch, store]\nother = tools[1]\nother(1)'
    needs = needs_of(feed(session, code, awaited='fetch', plain='store'))
    assert [(call.name, call.blocking) for call in calls(needs)] == [('store', True)]


def test_cm12_a_tool_kept_in_a_variable_is_callable_in_later_snippets_that_have_it(session: Session) -> None:
    value_of(feed(session, 'kept = ask', plain='ask'))
    needs = needs_of(feed(session, 'kept(1)', plain='ask'))
    assert calls(needs)[0].name == 'ask'
    value_of(session.advance(returned(needs, None)))
    assert failure_of(feed(session, 'kept(1)')).error_type == 'NameError'


def test_cm12_a_variable_hides_a_tool_of_the_same_name(session: Session) -> None:
    assert value_of(feed(session, 'def ask(): return "own"\nask()', plain='ask')) == 'own'


@pytest.mark.parametrize(
    ('code', 'seconds', 'blocking'),
    [
        ('import asyncio\nawait asyncio.sleep(0.5)', 0.5, False),
        ('import asyncio\nawait asyncio.sleep(delay=2)', 2.0, False),
        ('import time\ntime.sleep(3)', 3.0, True),
    ],
)
def test_cm10_a_sleep_is_a_request(session: Session, code: str, seconds: float, *, blocking: bool) -> None:
    needs = needs_of(feed(session, code))
    (sleep,) = needs.requests
    assert sleep == Sleep(sleep.id, seconds, blocking=blocking)
    assert needs.waiting_on == {sleep.id}
    assert value_of(session.advance(returned(needs, None))) is None


def test_cm10_sleeps_and_calls_are_gathered(session: Session) -> None:
    needs = needs_of(feed(session, GATHER.format('fetch(1), asyncio.sleep(9, "slept")'), awaited='fetch'))
    assert [type(request) for request in needs.requests] == [Call, Sleep]
    assert value_of(session.advance(returned(needs, 'fetched', None))) == ['fetched', 'slept']


@pytest.mark.parametrize('code', ['time.sleep(-1)', 'time.sleep("x")', 'time.sleep(10**400)', 'asyncio.sleep()'])
def test_cm10_a_senseless_sleep_is_an_error_of_the_code(session: Session, code: str) -> None:
    assert failure_of(feed(session, f'import asyncio, time\n{code}')).kind is FailureKind.ERROR
    assert works(session)


def test_cm8_printed_text_is_collected_in_order_and_for_each_snippet(session: Session) -> None:
    run(session, 'import sys\nprint("a", 1, end=";")\nprint("é", file=sys.stderr)\nprint()')
    assert session.printed == 'a 1;é\n\n'
    run(session, '1')
    assert session.printed == ''


def test_cm8_printed_text_can_be_read_while_the_snippet_waits(session: Session) -> None:
    needs = left_waiting(session, 'print("before")\nawait ask()\nprint("after")')
    assert session.printed == 'before\n'
    session.set_aside()
    value_of(session.advance(returned(needs, None)))
    assert session.printed == 'before\nafter\n'


@pytest.fixture
def print_cap(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(snippet_module, 'MAX_PRINTED_BYTES', 1_000)
    return 1_000


def test_cm9_the_cap_is_10_mib(session: Session) -> None:
    assert snippet_module.MAX_PRINTED_BYTES == 10 * 1024 * 1024
    run(session, 'for _ in range(10): print("x" * 1024 * 1024, end="")')
    assert len(session.printed) == 10 * 1024 * 1024
    failed = failure_of(feed(session, 'for _ in range(10): print("x" * 1024 * 1024)'))
    assert failed.kind is FailureKind.PRINTED


def test_cm9_a_snippet_that_prints_past_the_cap_is_stopped_and_the_next_one_works(
    session: Session, print_cap: int
) -> None:
    run(session, f'print("x" * {print_cap}, end="")')
    lost_by(feed(session, f'print("kept")\nfor _ in range(20): print("x" * {print_cap // 10})'), FailureKind.PRINTED)
    assert len(session.printed) <= print_cap
    assert works(session)


def test_cm9_the_cap_counts_bytes(session: Session, print_cap: int) -> None:
    run(session, f'print("é" * {print_cap // 2}, end="")')
    assert failure_of(feed(session, f'print("é" * {print_cap // 2 + 1})')).kind is FailureKind.PRINTED


def test_cm9_code_cannot_catch_that_it_printed_too_much(session: Session, print_cap: int) -> None:
    code = f'try:\n  print("x" * {print_cap})\nexcept BaseException:\n  pass\n1'
    assert failure_of(feed(session, code)).kind is FailureKind.PRINTED


def test_cm9_printing_without_end_is_stopped_at_the_cap(pool: WorkerPool, print_cap: int) -> None:
    session = Session(pool, limits=SandboxLimits(max_duration_secs=3))
    future = feed(session, 'while True: print("x" * 100)')
    try:
        failed = failure_of(future, patience_secs=1.5)
    finally:
        session.abort()
    assert failed.kind is FailureKind.PRINTED


def test_cm10_a_time_out_after_too_much_was_printed_takes_the_session(pool: WorkerPool, print_cap: int) -> None:
    session = Session(pool, limits=SandboxLimits(max_duration_secs=0.2))
    assert failure_of(feed(session, f'print("x" * {2 * print_cap})\n{FOREVER}')).session_lost


def test_cm9_a_call_after_too_much_was_printed_leaves_a_session_that_works(session: Session, print_cap: int) -> None:
    failed = failure_of(feed(session, f'print("x" * {2 * print_cap})\nawait ask()', awaited='ask'))
    assert failed.kind is FailureKind.PRINTED
    assert works(session)


def test_beyond6_a_syntax_error_runs_nothing_and_names_its_line(session: Session) -> None:
    run(session, 'kept = 1')
    failed = failure_of(feed(session, 'kept = 2\nprint("ran")\ndef (\n'))
    assert (failed.kind, failed.error_type, failed.session_lost) == (FailureKind.SYNTAX, 'SyntaxError', False)
    assert [(frame.line, frame.text) for frame in failed.frames] == [(3, 'def (')]
    assert session.printed == ''
    assert run(session, 'kept') == 1


def test_beyond6_text_that_is_no_unicode_is_a_syntax_error(session: Session) -> None:
    assert failure_of(feed(session, '"\ud800"')).kind is FailureKind.SYNTAX


def test_beyond6_frames_are_outermost_first_and_know_their_snippet(session: Session) -> None:
    run(session, '\n\ndef broken(x):\n    return x / 0')
    failed = failure_of(feed(session, 'def go():\n    return broken(1)\n\n"é"; go()'))
    assert failed.frames == (
        Frame(4, '"é"; go()', '<module>', current=True),
        Frame(2, '    return broken(1)', 'go', current=True),
        Frame(4, '    return x / 0', 'broken', current=False),
    )
    assert (failed.error_type, failed.message) == ('ZeroDivisionError', 'division by zero')


def test_beyond6_frames_know_their_snippet_after_the_session_was_set_aside(session: Session) -> None:
    run(session, 'def broken(): return {}["x"]')
    session.set_aside()
    needs = left_waiting(session, 'await ask()\nbroken()')
    session.set_aside()
    failed = failure_of(session.advance(returned(needs, None)))
    assert [(frame.line, frame.current) for frame in failed.frames] == [(2, True), (1, False)]


@pytest.mark.parametrize('error', ['TimeoutError("out of time")', 'MemoryError("out of memory")', 'TimeoutError()'])
def test_cm10_errors_that_the_code_raises_itself_are_no_limits(session: Session, error: str) -> None:
    run(session, 'kept = 1')
    failed = failure_of(feed(session, f'raise {error}'))
    assert (failed.kind, failed.session_lost) == (FailureKind.ERROR, False)
    assert run(session, 'kept') == 1


def test_cm12_too_deep_a_recursion_keeps_the_session(session: Session) -> None:
    run(session, 'kept = 1')
    failed = failure_of(feed(session, 'def deeper(): return deeper()\ndeeper()'))
    assert (failed.kind, failed.error_type, failed.session_lost) == (FailureKind.ERROR, 'RecursionError', False)
    assert run(session, 'kept') == 1


def calls(needs: Needs) -> list[Call]:
    return [request for request in needs.requests if isinstance(request, Call)]


def arguments(request: object) -> tuple[object, ...]:
    assert isinstance(request, Call)
    return request.args


def line_of(needs: Needs) -> int | None:
    (call,) = calls(needs)
    return call.line
