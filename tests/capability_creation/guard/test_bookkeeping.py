"""BEYOND-4: which runs count, in a row, over agents, loads and processes, and what clears the count."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability

from pydantic_ai_harness.capability_creation.guard import LoadedCapability
from pydantic_ai_harness.capability_creation.store import CapabilityStore
from pydantic_ai_harness.errors import ConfigurationError

from .driving import HEAD, Bench, call, capability, define, only_return, outcome, the_guard
from .test_every_hook import raising

FAILS_WHEN_TOLD = capability(
    'before_run', 'probe.calls.append("before_run")', 'if probe.given: raise RuntimeError("broken")'
)
RAISE = 'raise RuntimeError("broken")'


def counts(bench: Bench, name: str = 'authored') -> tuple[int, str]:
    entry = bench.entry(name)
    return entry.failing_runs, entry.status


async def run_of(bench: Bench, *, fails: bool) -> None:
    bench.probe.given = fails
    await bench.run()


async def test_beyond4_several_failures_in_a_run_count_once(bench: Bench) -> None:
    """Two hooks, each called several times, and the first failure is the one on record."""
    bench.author(
        capability('before_run', RAISE)
        + define('before_node_run', RAISE)
        + define('before_model_request', RAISE)
        + define('after_run', RAISE)
    )
    await bench.run()
    assert counts(bench) == (1, 'active')
    assert bench.failure()[0] == 'before_run'


async def test_beyond4_failures_in_a_row_are_quarantined(bench: Bench) -> None:
    """The third is enough, and a fourth run does not have it."""
    bench.author(FAILS_WHEN_TOLD)
    for expected in [(1, 'active'), (2, 'active'), (3, 'quarantined'), (3, 'quarantined')]:
        await run_of(bench, fails=True)
        assert counts(bench) == expected
    assert bench.probe.calls == ['before_run'] * 3


async def test_beyond4_a_clean_run_resets_the_count(bench: Bench) -> None:
    """Failures that are not in a row never add up, and the last one stays on record."""
    bench.author(FAILS_WHEN_TOLD)
    for _ in range(3):
        for fails, count in [(True, 1), (True, 2), (False, 0)]:
            await run_of(bench, fails=fails)
            assert counts(bench) == (count, 'active')
    assert bench.failure() == ('before_run', 'RuntimeError: broken')


async def test_beyond4_a_clean_run_of_a_loaded_instance_resets_the_count(bench: Bench) -> None:
    """An agent that keeps what it has loaded is counted run by run."""
    bench.author(FAILS_WHEN_TOLD)
    agent = bench.agent(bench.load())
    for fails, count in [(True, 1), (False, 0), (True, 1), (True, 2), (False, 0), (False, 0), (True, 1)]:
        bench.probe.given = fails
        await agent.run('go')
        assert counts(bench) == (count, 'active')


async def test_beyond4_a_run_that_ends_with_an_error_resets_nothing(bench: Bench) -> None:
    """What did not come to its end says nothing about the capability."""
    bench.author(FAILS_WHEN_TOLD)
    await run_of(bench, fails=True)
    bench.turns(RuntimeError('no model'))
    bench.probe.given = False
    with pytest.raises(RuntimeError, match='no model'):
        await bench.run()
    assert counts(bench) == (1, 'active')


async def test_beyond4_a_run_that_is_left_early_resets_nothing(bench: Bench) -> None:
    """The same for an iteration that is broken off."""
    bench.author(FAILS_WHEN_TOLD)
    await run_of(bench, fails=True)
    bench.probe.given = False
    async with bench.agent().iter('go', capabilities=bench.load()) as run:
        async for _ in run:
            break
    assert counts(bench) == (1, 'active')


async def test_beyond4_a_failure_counts_in_a_run_that_ends_with_an_error(bench: Bench) -> None:
    """It has failed, whatever else has."""
    bench.author(FAILS_WHEN_TOLD)
    bench.turns(RuntimeError('no model'))
    bench.probe.given = True
    with pytest.raises(RuntimeError, match='no model'):
        await bench.run()
    assert counts(bench) == (1, 'active')


async def test_beyond4_concurrent_runs_are_counted_apart(bench: Bench) -> None:
    """Five runs of one agent at once, two of which fail: each counts for itself."""
    bench.author(capability('before_run', 'await probe.given(ctx)'))
    gate = asyncio.Barrier(5)

    async def before(ctx: Any) -> None:
        await gate.wait()
        if ctx.deps == 'fails':
            raise RuntimeError('broken')
        await asyncio.sleep(0.05)  # the clean ones end later, so they reset the count

    bench.probe.given = before
    agent = bench.agent(bench.load())
    results = await asyncio.gather(*(agent.run('go', deps=deps) for deps in ['fails', '', 'fails', '', '']))
    assert [result.output for result in results] == ['done'] * 5
    assert bench.failure() == ('before_run', 'RuntimeError: broken')
    assert counts(bench) == (0, 'active')


async def test_beyond4_concurrent_failing_runs_are_quarantined(bench: Bench) -> None:
    """Three at once are three in a row, and each ends well."""
    bench.author(FAILS_WHEN_TOLD)
    bench.probe.given = True
    agent = bench.agent(bench.load())
    results = await asyncio.gather(*(agent.run('go') for _ in range(4)))
    assert [result.output for result in results] == ['done'] * 4
    assert counts(bench)[1] == 'quarantined'


async def test_beyond4_a_clean_run_of_a_later_load_resets_the_count(bench: Bench) -> None:
    """A load knows of the failures that were recorded before it, in whichever process; of later ones it does not."""
    bench.author(FAILS_WHEN_TOLD)
    failing, before = bench.load(), bench.load()
    bench.probe.given = True
    await bench.run(failing)
    after = bench.load()
    bench.probe.given = False
    await bench.run(before)
    assert counts(bench) == (1, 'active')
    await bench.run(after)
    assert counts(bench) == (0, 'active')


@pytest.mark.parametrize('max_failures', [1, 2, 5])
async def test_beyond4_max_failures_is_the_number_of_runs(bench: Bench, max_failures: int) -> None:
    """One less is not enough."""
    bench.max_failures = max_failures
    bench.author(FAILS_WHEN_TOLD)
    for count in range(1, max_failures + 1):
        assert counts(bench)[1] == 'active'
        await run_of(bench, fails=True)
        assert counts(bench)[0] == count
    assert counts(bench)[1] == 'quarantined'
    assert bench.load() == []


@pytest.mark.parametrize('max_failures', [0, -1])
def test_beyond4_max_failures_below_one_is_refused(bench: Bench, max_failures: int) -> None:
    """It would quarantine what has never failed."""
    with pytest.raises(ConfigurationError, match='max_failures'):
        CapabilityStore(bench.directory, max_failures=max_failures)


async def test_beyond4_without_max_failures_there_is_no_guard(bench: Bench) -> None:
    """The instances are the authored ones, what they raise ends runs, and nothing is recorded."""
    bench.max_failures = None
    bench.author(FAILS_WHEN_TOLD)
    (loaded,) = bench.load()
    assert not isinstance(loaded, LoadedCapability)
    assert type(loaded).__name__ == 'Authored'
    for _ in range(4):
        with pytest.raises(RuntimeError, match='broken'):
            await run_of(bench, fails=True)
    assert counts(bench) == (0, 'active')


def test_beyond4_the_authored_instance_can_be_reached(bench: Bench) -> None:
    """`authored` is what the class has made, without the guard."""
    bench.author(FAILS_WHEN_TOLD)
    loaded = the_guard(bench.load())
    assert type(loaded.authored).__name__ == 'Authored'
    assert isinstance(loaded.authored, AbstractCapability)
    assert loaded.entry.name == 'authored'


@pytest.mark.parametrize('how', ['written', 'enabled', 'rolled back', 'approved'])
async def test_beyond4_mending_ends_the_quarantine(bench: Bench, how: str) -> None:
    """What is written, enabled, rolled back to or approved starts anew."""
    bench.author(FAILS_WHEN_TOLD)
    for _ in range(3):
        await run_of(bench, fails=True)
    assert counts(bench) == (3, 'quarantined')
    store = bench.store
    if how == 'written':
        bench.author(FAILS_WHEN_TOLD)
    elif how == 'enabled':
        assert store.enable('authored')
    elif how == 'rolled back':
        store.rollback('authored', 1)
    else:
        store.approve('authored')
    assert counts(bench) == (0, 'active')
    assert bench.entry().last_failure is None
    await run_of(bench, fails=True)
    assert counts(bench) == (1, 'active')


async def test_beyond4_the_failure_of_a_replaced_version_does_not_count(bench: Bench) -> None:
    """A run that still has the old version says nothing about the new one."""
    bench.author(FAILS_WHEN_TOLD)
    old = bench.load()
    bench.author(capability('before_run', 'pass'))
    bench.probe.given = True
    await bench.run(old)
    assert counts(bench) == (0, 'active')
    assert bench.entry().last_failure is None


async def test_beyond4_a_run_that_passes_with_a_replaced_version_resets_nothing(bench: Bench) -> None:
    """The other way round it is the same."""
    bench.author(FAILS_WHEN_TOLD)
    old = bench.load()
    bench.author(FAILS_WHEN_TOLD + '\nCHANGED = True\n')
    await run_of(bench, fails=True)
    bench.probe.given = False
    await bench.run(old)
    assert counts(bench) == (1, 'active')


async def test_beyond4_a_disabled_capability_stays_disabled(bench: Bench) -> None:
    """A failing run of an instance that was loaded before does not make it quarantined."""
    bench.max_failures = 1
    bench.author(FAILS_WHEN_TOLD)
    loaded = bench.load()
    bench.store.disable('authored')
    bench.probe.given = True
    await bench.run(loaded)
    assert counts(bench)[1] == 'disabled'


QUARANTINING = """
import sys
from pathlib import Path
from datetime import UTC, datetime
from pydantic_ai_harness.capability_creation.manifest import CapabilityFailure
from pydantic_ai_harness.capability_creation.store import CapabilityStore

store = CapabilityStore(Path(sys.argv[1]))
(entry,) = store.list_all()
failure = CapabilityFailure(where='before_run', error='RuntimeError: there', failed_at=datetime.now(UTC))
for _ in range(3):
    store.run_failed(entry, failure)
"""


async def test_beyond4_the_quarantine_of_another_process_is_honoured(bench: Bench) -> None:
    """What failed there is not loaded here."""
    bench.author(FAILS_WHEN_TOLD)
    assert len(bench.load()) == 1
    await asyncio.to_thread(
        subprocess.run, [sys.executable, '-c', QUARANTINING, str(bench.directory)], check=True, timeout=50
    )
    assert counts(bench) == (3, 'quarantined')
    assert bench.load() == []


async def test_beyond4_loaded_for_the_agent_and_for_the_run_it_runs_once(bench: Bench) -> None:
    """The run's instance replaces the agent's: hooks run once, and a failure counts once."""
    bench.author(FAILS_WHEN_TOLD)
    agent = bench.agent(bench.load())
    bench.probe.given = True
    await agent.run('go', capabilities=bench.load())
    assert bench.probe.calls == ['before_run']
    assert counts(bench) == (1, 'active')


async def test_beyond4_a_newer_version_for_the_run_replaces_that_of_the_agent(bench: Bench) -> None:
    """After it was mended, a run with the new version is without the old one."""
    bench.author(FAILS_WHEN_TOLD)
    agent = bench.agent(bench.load())
    bench.author(capability('before_run', 'probe.calls.append("mended")'))
    bench.probe.given = True
    await agent.run('go', capabilities=bench.load())
    assert bench.probe.calls == ['mended']


@pytest.mark.parametrize('own_id', ['authored', 'capability_creation'])
async def test_beyond4_an_authored_id_does_not_collide(bench: Bench, own_id: str) -> None:
    """Whatever id the class gives itself, a newer version replaces the older one."""
    bench.hook('before_run', 'probe.calls.append("old")', attributes=f'id = {own_id!r}')
    agent = bench.agent(bench.load())
    bench.hook('before_run', 'probe.calls.append("new")', attributes=f'id = {own_id!r}')
    bench.hook('before_run', 'probe.calls.append("other")', attributes=f'id = {own_id!r}', name='other')
    assert (await agent.run('go', capabilities=bench.load())).output == 'done'
    assert sorted(bench.probe.calls) == ['new', 'other']


@pytest.mark.parametrize('own_id', ['authored_authored', 'authored_', 'a:b'])
def test_beyond4_an_id_that_would_collide_is_refused(bench: Bench, own_id: str) -> None:
    """Such ids are those of the guards, and of what the framework makes of ids."""
    entry = bench.store.write('authored', HEAD + capability('before_run', 'pass', attributes=f'id = {own_id!r}'))
    assert repr(own_id) in (entry.last_error or '')


async def test_beyond4_two_capabilities_are_counted_apart(bench: Bench) -> None:
    """One that works beside one that fails stays as it is."""
    bench.author(FAILS_WHEN_TOLD, name='broken')
    bench.author(capability('before_run', 'probe.calls.append("fine")'), name='fine')
    for _ in range(3):
        await run_of(bench, fails=True)
    assert (counts(bench, 'broken'), counts(bench, 'fine')) == ((3, 'quarantined'), (0, 'active'))
    assert bench.probe.calls.count('fine') == 3


async def test_beyond4_the_record_says_when_and_in_which_run(bench: Bench) -> None:
    """So that the failure can be found in a trace."""
    bench.author(raising('before_run'))
    result = await bench.run()
    failure = bench.entry().last_failure
    assert failure is not None
    assert failure.run_id == result.run_id
    assert failure.failed_at.tzinfo is not None


async def test_beyond4_the_record_holds_only_lines_of_the_authored_code(bench: Bench) -> None:
    """No path of this machine and no line of the framework is shown to the model."""
    bench.hook('before_run', 'import json', 'json.loads("{")')
    await bench.run()
    failure = bench.entry().last_failure
    assert failure is not None
    assert 'json.loads("{")' in failure.traceback
    assert '/' not in failure.traceback
    assert 'in before_run' in failure.traceback


async def test_beyond4_a_failure_is_on_record_before_the_run_is_over(bench: Bench) -> None:
    """The model can read of it in the same run, and a process that is killed has not forgotten it."""
    bench.author(raising('before_run'))
    seen: list[int] = []

    def look() -> str:
        seen.append(bench.entry().failing_runs)
        return 'ok'

    bench.turns(call('look'))
    await bench.run(tools=[look])
    assert seen == [1]


async def test_beyond4_a_manifest_that_cannot_be_written_ends_no_run(bench: Bench) -> None:
    """What cannot be recorded is dropped."""
    bench.author(raising('before_run'))
    loaded = bench.load()
    bench.directory.joinpath('manifest.json').write_text('{')
    assert (await bench.run(loaded)).output == 'done'
    bench.directory.joinpath('manifest.json').unlink()
    assert (await bench.run(loaded)).output == 'done'


LAZY_CODE = """
class Authored(AbstractCapability):
    id = 'lazy'
    description = 'Works.'
    defer_loading = True
    async def before_model_request(self, ctx, request_context):
        if probe.given: raise RuntimeError('broken')
        return request_context
"""


@pytest.mark.xfail(strict=True, reason='documented limit: deferred capabilities do not reset their streak')
async def test_beyond4_a_clean_run_of_a_deferred_capability_resets_the_count(bench: Bench) -> None:
    """Whether it is loaded at once or by the model, failures count in a row."""
    bench.author(LAZY_CODE)
    bench.turns(call('load_capability', id='authored_authored'))
    await run_of(bench, fails=True)
    assert counts(bench) == (1, 'active')
    await run_of(bench, fails=False)
    assert counts(bench) == (0, 'active')


async def test_beyond4_a_deferred_capability_that_is_not_loaded_has_not_failed(bench: Bench) -> None:
    """Its hooks are not called, so it says nothing."""
    bench.author(LAZY_CODE)
    await run_of(bench, fails=True)
    assert counts(bench) == (0, 'active')


async def test_beyond4_a_tool_of_the_agent_is_no_business_of_the_guard(bench: Bench) -> None:
    """What the agent's own tools raise ends the run as ever, and counts against nobody."""

    def broken() -> None:
        raise LookupError('mine')

    bench.author(capability('after_tool_execute', 'return result'))
    bench.turns(call('broken'))
    ended = await outcome(lambda: bench.run(tools=[broken]))
    assert ended == (LookupError, 'mine')
    assert counts(bench) == (0, 'active')
    bench.turns(call('add', a=1, b=1))
    assert only_return(await bench.run()).content == 2
    assert HEAD
