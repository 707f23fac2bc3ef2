"""CM-10: the settings, and what happens when a limit is reached."""

from __future__ import annotations

import threading
import time
from decimal import Decimal
from typing import Any

import pytest

from pydantic_ai_harness.errors import ConfigurationError
from pydantic_ai_harness.sandbox import (
    Failed,
    FailureKind,
    Needs,
    SandboxLimits,
    Session,
    Snippet,
    WorkerPool,
)
from pydantic_ai_harness.sandbox.limits import ResourceLimits

from .driving import (
    FOREVER,
    PATIENCE_SECS,
    close_all,
    failure_of,
    feed,
    left_waiting,
    lost_by,
    returned,
    run,
    value_of,
    works,
)

SHORT = SandboxLimits(max_duration_secs=0.2)
SPEND = 'for _ in range(20_000): pass'
SMALL = SandboxLimits(max_memory=20_000_000)


@pytest.mark.parametrize('code', [FOREVER, 'while True:\n  try:\n    while True: pass\n  except BaseException: pass'])
def test_cm10_a_runaway_loop_is_stopped_and_the_next_snippet_works(pool: WorkerPool, code: str) -> None:
    session = Session(pool, limits=SHORT)
    run(session, 'kept = 1')
    lost_by(feed(session, code), FailureKind.TIME)
    assert failure_of(feed(session, 'kept')).error_type == 'NameError'
    assert works(session)
    close_all(session)


@pytest.mark.parametrize(
    'code',
    [
        'kept = []\nwhile True: kept.append("x" * 100)',
        'kept = "x" * 10**12',
        'kept = [0] * 10**9',
        'kept = []\ntry:\n  while True: kept.append("x" * 100)\nexcept MemoryError:\n  kept = None',
    ],
    ids=['growing', 'one huge text', 'one huge list', 'caught'],
)
def test_cm10_a_snippet_that_uses_up_memory_is_stopped_and_the_next_one_works(pool: WorkerPool, code: str) -> None:
    session = Session(pool, limits=SMALL)
    run(session, 'kept = 1')
    lost_by(feed(session, code), FailureKind.MEMORY)
    assert failure_of(feed(session, 'kept')).error_type == 'NameError'
    assert works(session)
    close_all(session)


def test_cm10_the_time_limit_is_for_each_snippet(pool: WorkerPool) -> None:
    session = Session(pool, limits=SHORT)
    rounds = rounds_until_time_is_over(session)
    for _ in range(2 * rounds):
        run(session, SPEND)
    close_all(session)


def test_cm10_waiting_for_a_tool_is_free(pool: WorkerPool) -> None:
    session = Session(pool, limits=SHORT)
    needs = left_waiting(session)
    threading.Event().wait(0.4)
    assert value_of(session.advance(returned(needs, 'late'))) == 'late'
    close_all(session)


@pytest.mark.parametrize('aside', [False, True], ids=['kept', 'set aside'])
def test_cm10_the_time_of_a_snippet_adds_up_over_its_waits(pool: WorkerPool, *, aside: bool) -> None:
    session = Session(pool, limits=SHORT)
    assert rounds_until_time_is_over(session, aside=aside) > 1
    close_all(session)


@pytest.mark.parametrize(
    ('limits', 'code', 'kind'),
    [(SHORT, FOREVER, FailureKind.TIME), (SMALL, 'kept = "x" * 10**12', FailureKind.MEMORY)],
)
@pytest.mark.parametrize('mid_snippet', [False, True], ids=['idle', 'mid-snippet'])
def test_cm10_limits_hold_after_the_session_was_set_aside(
    pool: WorkerPool, limits: SandboxLimits, code: str, kind: FailureKind, *, mid_snippet: bool
) -> None:
    session = Session(pool, limits=limits)
    if mid_snippet:
        needs = left_waiting(session, f'await ask()\n{code}')
        session.set_aside()
        future = session.advance(returned(needs, None))
    else:
        run(session, 'x = 1')
        session.set_aside()
        future = feed(session, code)
    lost_by(future, kind)
    assert works(session)
    close_all(session)


def rounds_until_time_is_over(session: Session, *, aside: bool = False) -> int:
    """How often a snippet can compute a little, and wait, before its time is over."""
    step = feed(session, f'while True:\n  {SPEND}\n  await ask()', awaited='ask').result(PATIENCE_SECS)
    for rounds in range(2_000):
        if not isinstance(step, Needs):
            assert isinstance(step, Failed)
            assert step.kind is FailureKind.TIME
            return rounds
        if aside:
            session.set_aside()
        step = session.advance(returned(step, None)).result(PATIENCE_SECS)
    pytest.fail('the time was never over')


@pytest.mark.parametrize('setting', [None, {}])
def test_cm10_the_defaults_are_30_seconds_and_256_mib(setting: ResourceLimits | None) -> None:
    assert SandboxLimits.parse(setting) == SandboxLimits(max_duration_secs=30.0, max_memory=256 * 1024 * 1024)


def test_cm10_unlimited_lifts_both() -> None:
    assert SandboxLimits.parse('unlimited') == SandboxLimits(max_duration_secs=None, max_memory=None)


def test_cm10_a_key_that_is_left_out_keeps_its_default_and_none_lifts_one() -> None:
    assert SandboxLimits.parse({'max_memory': 1_000}) == SandboxLimits(max_duration_secs=30.0, max_memory=1_000)
    assert SandboxLimits.parse({'max_duration_secs': None}) == SandboxLimits(max_duration_secs=None)
    assert SandboxLimits.parse({'max_duration_secs': 1}).max_duration_secs == 1


def test_cm10_without_limits_a_session_computes(pool: WorkerPool) -> None:
    session = Session(pool, limits=SandboxLimits.parse('unlimited'))
    assert works(session)
    close_all(session)


@pytest.mark.parametrize('value', [0, -1, 0.0, float('nan'), float('inf'), -float('inf')])
def test_cm10_a_duration_that_is_not_positive_and_finite_is_refused(value: float) -> None:
    assert refusal({'max_duration_secs': value}) == (
        f'`max_duration_secs` must be greater than zero and at most 1,000,000,000, not {value!r}. None lifts the limit.'
    )


@pytest.mark.parametrize('value', [0, -1])
def test_cm10_a_memory_that_is_not_positive_is_refused(value: int) -> None:
    assert refusal({'max_memory': value}) == (
        f'`max_memory` must be greater than zero and at most {2**63 - 1:,}, not {value!r}. None lifts the limit.'
    )


@pytest.mark.parametrize(
    ('key', 'wanted', 'value'),
    [
        *[('max_duration_secs', 'a number of seconds', value) for value in ('1', True, b'', Decimal(1))],
        *[('max_memory', 'a whole number of bytes', value) for value in ('1', True, 1.5, 1e9, Decimal(1))],
    ],
)
def test_cm10_a_limit_that_is_no_number_is_refused(key: str, wanted: str, value: object) -> None:
    assert refusal({key: value}) == f'`{key}` must be {wanted} or None, not {value!r}.'


def test_cm10_an_unknown_key_is_answered_with_the_known_ones() -> None:
    assert refusal({'max_mem': 1}) == (
        "`resource_limits` has no key 'max_mem'; its keys are max_duration_secs, max_memory."
    )


@pytest.mark.parametrize('setting', ['lots', 30, [], False, ('unlimited',)])
def test_cm10_a_setting_that_is_no_dict_is_refused_with_an_example(setting: object) -> None:
    assert refusal(setting) == (
        f"`resource_limits` must be a dict or 'unlimited', not {setting!r}. "
        "Example: {'max_duration_secs': 10, 'max_memory': 134_217_728}."
    )


@pytest.mark.parametrize(
    'setting', [{'max_duration_secs': 1e300}, {'max_duration_secs': 10**400}, {'max_memory': 2**70}]
)
def test_cm10_a_limit_that_the_sandbox_cannot_hold_is_refused(setting: object) -> None:
    assert 'must be greater than zero and at most' in refusal(setting)


def test_cm10_the_largest_limits_work(pool: WorkerPool) -> None:
    session = Session(pool, limits=SandboxLimits(max_duration_secs=10**9, max_memory=2**63 - 1))
    assert works(session)
    close_all(session)


def refusal(setting: Any) -> str:
    with pytest.raises(ConfigurationError) as refused:
        SandboxLimits.parse(setting)
    return str(refused.value)


def test_cm10_what_the_host_answers_at_once_counts_as_time(pool: WorkerPool) -> None:
    session = Session(pool, limits=SHORT)
    began = time.monotonic()
    step = session.feed(
        Snippet(code='while True:\n    try:\n        missing()\n    except NameError:\n        pass')
    ).result()
    assert isinstance(step, Failed)
    assert step.kind is FailureKind.TIME
    assert time.monotonic() - began < 5
