"""CM-21: what is Temporal's own."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from pathlib import Path

import pytest
from pydantic_ai import Agent
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, RetryState, TimeoutType
from temporalio.exceptions import TimeoutError as TemporalTimeoutError

from pydantic_ai_harness import CodeMode, ConfigurationError
from pydantic_ai_harness.code_mode.temporal_engine import TemporalEngine
from pydantic_ai_harness.temporal import CodeModePlugin

from .rigs import TemporalRig
from .scenario import new_model
from .temporal_worker import Continued, Scenario


@pytest.mark.parametrize('with_plugin', [False, pytest.param(True, marks=pytest.mark.soak)])
async def test_cm21_ten_seconds_of_computing_leave_the_worker_to_others(
    temporal: str, tmp_path: Path, with_plugin: bool
) -> None:
    rig = TemporalRig(tmp_path, seconds=10, address=temporal, with_plugin=with_plugin)
    await rig.begin(["open('/marks/computing.txt', 'w').write('x')\nwhile True:\n    pass", '1 + 1'])
    await rig.until((tmp_path / 'computing.txt').exists)
    began = time.monotonic()
    for number in range(3):
        other = await rig.client.execute_workflow(
            Scenario.run,
            json.dumps([f"await add(key='{number}', a=1)"]),
            id=f'{rig.queue}-{number}',
            task_queue=rig.queue,
        )
        assert json.loads(other) == [1]
    assert time.monotonic() - began < 8
    text, after = await rig.results()
    assert 'it used up the 10 s of computing' in text
    assert after == 2
    rig.kill()


async def test_cm21_the_plugin_takes_fewer_events(temporal: str, tmp_path: Path) -> None:
    events: dict[bool, int] = {}
    for with_plugin in (False, True):
        rig = TemporalRig(tmp_path, address=temporal, with_plugin=with_plugin)
        await rig.begin(['x = 0\nfor i in range(10):\n    x = await add(key=str(i), a=x, b=i)\nx'])
        assert await rig.results() == [45]
        rig.kill()
        history = await rig.handle.fetch_history()
        events[with_plugin] = len(history.events)
        kinds = Counter(event.WhichOneof('attributes') for event in history.events)
        steps_as_activities = kinds['activity_task_scheduled_event_attributes'] - 10 - 2  # calls, model requests
        assert steps_as_activities == (0 if with_plugin else 11)
    assert events[True] < events[False] * 0.65


async def test_cm21_code_waits_over_a_continue_as_new(temporal: str, tmp_path: Path) -> None:
    """The pause lies in the messages, and they are all that the next run of the workflow has."""
    rig = TemporalRig(tmp_path, address=temporal)
    await rig.begin(['1'])
    codes = [
        "kept = await add(key='a', a=3)\ndone = await delete(name='x')\n[kept, done]",
        "[kept, await delete(name='y')]",
    ]
    handle = await rig.client.start_workflow(
        Continued.run, json.dumps(codes), id=f'{rig.queue}-continued', task_queue=rig.queue
    )
    latest = rig.client.get_workflow_handle_for(Continued.run, handle.id)
    for call_id in ('code_0', 'code_1'):
        async with asyncio.timeout(20):
            while not any(asked.startswith(call_id) for asked in await latest.query(Continued.asked)):  # noqa: ASYNC110  a worker answers
                await asyncio.sleep(0.02)
        await latest.signal(Continued.answer, True)
    assert json.loads(await handle.result()) == [[3, 'deleted x'], [3, 'deleted y']]
    assert [rig.count(f'start {call}') for call in ('a', 'delete x', 'delete y')] == [1, 1, 1]
    rig.kill()


async def test_cm21_a_step_that_would_outlast_its_activity_ends_before_it(temporal: str, tmp_path: Path) -> None:
    rig = TemporalRig(tmp_path, seconds=30, step_seconds=2, address=temporal)
    await rig.begin(['while True:\n    pass', '1 + 1'])
    text, after = await rig.results()
    assert 'one step may take 1 s, with the wait for a free sandbox process' in text
    assert after == 2
    rig.kill()


def _failed(cause: BaseException) -> ActivityError:
    error = ActivityError(
        'failed',
        scheduled_event_id=1,
        started_event_id=2,
        identity='worker',
        activity_type='tool',
        activity_id='3',
        retry_state=RetryState.MAXIMUM_ATTEMPTS_REACHED,
    )
    error.__cause__ = cause
    return error


def test_cm21_code_catches_what_the_tool_raised_and_not_how_the_engine_says_it() -> None:
    engine = TemporalEngine()
    missing = engine.tool_error(_failed(ApplicationError('no such row', type='KeyError')))
    assert isinstance(missing, KeyError)
    assert missing.args == ('no such row',)
    own = engine.tool_error(_failed(ApplicationError('row 3', type='RowError')))
    assert (type(own), str(own)) == (RuntimeError, 'RowError: row 3')
    late = engine.tool_error(
        _failed(TemporalTimeoutError('activity timed out', type=TimeoutType.START_TO_CLOSE, last_heartbeat_details=[]))
    )
    assert isinstance(late, TimeoutError)


def test_cm21_what_the_engine_raises_never_reaches_the_code() -> None:
    engine = TemporalEngine()
    assert engine.ends_run(_failed(CancelledError('cancelled')))
    assert not engine.ends_run(_failed(ApplicationError('bad', type='ValueError')))
    assert not engine.ends_run(ValueError('bad'))


def test_cm21_the_plugin_says_what_is_wrong_with_an_agent() -> None:
    named = Agent(new_model(), name='one', capabilities=[CodeMode()])
    with pytest.raises(ConfigurationError, match='has no CodeMode'):
        CodeModePlugin(Agent(new_model(), name='plain'))
    with pytest.raises(ConfigurationError, match='needs a `name`'):
        CodeModePlugin(Agent(new_model(), capabilities=[CodeMode()]))
    with pytest.raises(ConfigurationError, match='rename one'):
        CodeModePlugin(named, Agent(new_model(), name='one', capabilities=[CodeMode()]))
