"""BEYOND-2, CM-12: a session leaves its worker and is taken up by another, is closed, and is fed again."""

from __future__ import annotations

import pytest

from pydantic_ai_harness.sandbox import (
    FailureKind,
    Raised,
    Returned,
    Session,
    WorkerPool,
)

from .driving import (
    close_all,
    computing,
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

GATHER = 'import asyncio\nawait asyncio.gather({})'


def test_beyond2_an_idle_session_is_set_aside_as_few_bytes_and_taken_up(session: Session) -> None:
    run(session, 'import math\nnumbers = [1, 2]\ndef total(): return sum(numbers) + math.floor(0.5)')
    assert session.stored_state is None
    session.set_aside()
    assert 0 < len(session.stored_state or b'') < 10_000
    assert run(session, 'numbers.append(3)\ntotal()') == 6
    assert session.stored_state is None


def test_beyond2_a_waiting_snippet_is_set_aside_and_goes_on_where_it_stood(session: Session) -> None:
    code = (
        'def doubled(n): return 2 * n\n'
        'async def one(n):\n'
        '    local = n * 10\n'
        '    return doubled(local + await fetch(n))\n' + GATHER.format('*[one(n) for n in (1, 2, 3)]')
    )
    needs = needs_of(feed(session, code, awaited='fetch'))
    session.set_aside()
    assert 0 < len(session.stored_state or b'') < 10_000
    first, *others = needs.requests
    needs = needs_of(session.advance({first.id: Returned(1)}))
    assert needs.waiting_on == {request.id for request in others}
    session.set_aside()
    assert value_of(session.advance({request.id: Returned(1) for request in others})) == [22, 42, 62]
    assert run(session, 'doubled(1)') == 2


def test_beyond2_a_snippet_that_waits_for_a_plain_call_or_a_sleep_is_set_aside_too(session: Session) -> None:
    needs = needs_of(feed(session, 'import time\nx = ask(1)\ntime.sleep(1)\nx + ask(2)', plain='ask'))
    for answer in (10, None):
        session.set_aside()
        needs = needs_of(session.advance(returned(needs, answer)))
    session.set_aside()
    assert value_of(session.advance(returned(needs, 5))) == 15


def test_beyond2_a_call_whose_answer_is_not_awaited_yet_survives_being_set_aside(session: Session) -> None:
    needs = needs_of(feed(session, 'early = fetch()\nask()\nawait early', awaited='fetch', plain='ask'))
    fetch, ask = needs.requests
    session.set_aside()
    assert needs_of(session.advance({ask.id: Returned(None)})).waiting_on == {fetch.id}
    session.set_aside()
    assert value_of(session.advance({fetch.id: Returned('late')})) == 'late'


def test_beyond2_an_error_is_raised_at_the_call_site_after_being_set_aside(session: Session) -> None:
    needs = left_waiting(session, 'try:\n  await ask()\nexcept ValueError as error:\n  caught = str(error)\ncaught')
    session.set_aside()
    assert value_of(session.advance({needs.requests[0].id: Raised(ValueError('bad'))})) == 'bad'


def test_beyond2_setting_aside_what_holds_no_worker_does_nothing(session: Session) -> None:
    session.set_aside()
    assert session.stored_state is None
    run(session, 'kept = 1')
    session.set_aside()
    state = session.stored_state
    session.set_aside()
    assert session.stored_state is state
    assert run(session, 'kept') == 1


@pytest.mark.parametrize('aside', [False, True], ids=['on a worker', 'set aside'])
@pytest.mark.parametrize('code', ['kept = 1', 'kept = 1\nawait ask()'], ids=['idle', 'mid-snippet'])
def test_cm12_a_closed_session_can_be_fed_again_and_starts_afresh(session: Session, code: str, *, aside: bool) -> None:
    feed(session, code, awaited='ask').result(30)
    if aside:
        session.set_aside()
    close_all(session)
    assert (session.stored_state, session.holds_worker) == (None, False)
    assert failure_of(feed(session, 'kept')).error_type == 'NameError'
    assert works(session)


def test_cm12_closing_twice_or_before_anything_ran_is_fine(session: Session) -> None:
    close_all(session, session)
    assert works(session)
    close_all(session, session)
    assert works(session)


@pytest.mark.parametrize('aside', [False, True], ids=['on a worker', 'set aside'])
def test_cm12_feeding_a_session_that_was_left_half_way_starts_afresh(session: Session, *, aside: bool) -> None:
    for _ in range(20):
        left_waiting(session, 'kept = 1\nawait ask()')
        if aside:
            session.set_aside()
        assert failure_of(feed(session, 'kept')).error_type == 'NameError'
        assert works(session)


def test_beyond2_advancing_a_session_that_waits_for_nothing_fails_and_the_next_feed_works(session: Session) -> None:
    lost_by(session.advance({0: Returned(1)}), FailureKind.CRASH)
    assert works(session)


def test_cm12_a_snippet_that_queued_when_the_session_was_closed_never_runs(lone_worker: WorkerPool) -> None:
    busy, session = Session(lone_worker), Session(lone_worker)
    running = computing(busy)
    queued = feed(session, 'leaked = 1')
    close_all(session)
    after = feed(session, 'leaked')
    busy.abort()
    lost_by(running, FailureKind.ABORTED)
    assert failure_of(queued).kind is FailureKind.ABORTED
    assert failure_of(after).error_type == 'NameError'
