"""CC-9: code that blocks in this process holds up only its own call, and nobody has to wait for it."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest
from tests.support import ScriptedModel

from pydantic_ai_harness import CapabilityCreation
from pydantic_ai_harness.capability_creation import CapabilityStore
from pydantic_ai_harness.errors import ConfigurationError

from .support import FINE, PATIENCE_SECONDS, agent_of, author, authored, call, run_call, run_calls, wait_until

GATE = 'authoring_gate_of_a_test'
BLOCKS = f'import {GATE} as gate\ngate.arrive()\n'


@dataclass
class Gate:
    """What authored code waits at."""

    opened: threading.Event = field(default_factory=threading.Event)
    arrived: list[int] = field(default_factory=list[int])
    gone_on: list[int] = field(default_factory=list[int])

    def arrive(self) -> None:
        """Wait until it is opened."""
        self.arrived.append(threading.get_ident())
        self.opened.wait(PATIENCE_SECONDS * 2)
        self.gone_on.append(threading.get_ident())

    def wait_for(self, arrivals: int) -> None:
        """Wait until code waits here."""
        wait_until(lambda: len(self.arrived) >= arrivals)

    def open_and_wait(self) -> None:
        """Let the code go on, and wait until it is done."""
        self.opened.set()
        wait_until(lambda: len(self.gone_on) == len(self.arrived))
        wait_until(lambda: not any(thread.name.startswith('check ') for thread in threading.enumerate()))


def timers() -> set[threading.Thread]:
    """The timers whose threads run; one that was cancelled takes a moment to end."""
    return {thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)}


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate that authored code can import; opened at the end at the latest."""
    gate = Gate()
    module = ModuleType(GATE)
    module.__dict__['arrive'] = gate.arrive
    sys.modules[GATE] = module
    yield gate
    gate.open_and_wait()
    del sys.modules[GATE]


@pytest.mark.parametrize(
    'code',
    [
        pytest.param(BLOCKS + FINE, id='module'),
        pytest.param(
            authored('def __init__(self): gate.arrive()', before=f'import {GATE} as gate\n'), id='constructor'
        ),
        pytest.param(authored('def get_toolset(self): gate.arrive()', before=f'import {GATE} as gate\n'), id='getter'),
    ],
)
async def test_cc9_cancelling_the_run_stops_waiting(creation: CapabilityCreation[None], gate: Gate, code: str) -> None:
    """It returns at once, and nothing is written, also not when the code has come to its end."""
    run = asyncio.create_task(agent_of(ScriptedModel([[author(code)]]), creation).run('go'))
    await asyncio.to_thread(gate.wait_for, 1)
    run.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert time.monotonic() - started < PATIENCE_SECONDS
    await asyncio.to_thread(gate.open_and_wait)
    assert creation.store.list_all() == []
    assert not (creation.store.directory / 'subject.py').exists()
    assert 'passed' in str((await run_call(creation, author(FINE))).content)


async def test_cc9_other_calls_go_on(creation: CapabilityCreation[None], gate: Gate) -> None:
    """While code blocks, others author, list and disable, under its name too, and load what there is."""
    creation.store.write('working', FINE)
    run = asyncio.create_task(agent_of(ScriptedModel([[author(BLOCKS + FINE)]]), creation).run('go'))
    await asyncio.to_thread(gate.wait_for, 1)
    parts = await asyncio.wait_for(
        run_calls(
            creation,
            author(FINE, 'other'),
            author(FINE),
            call('list_authored_capabilities'),
            call('disable_authored_capability', name='working'),
        ),
        PATIENCE_SECONDS,
    )
    assert [part.outcome for part in parts] == ['success'] * 4
    assert [each.id for each in creation.store.load_active()] == ['authored_other', 'authored_subject']
    assert not run.done()
    await asyncio.to_thread(gate.open_and_wait)
    await run
    assert {entry.name: entry.version for entry in creation.store.list_all()}['subject'] == 2


async def test_cc9_calls_of_one_response_do_not_wait_for_each_other(
    creation: CapabilityCreation[None], gate: Gate
) -> None:
    """The second of two parallel calls is kept while the first blocks."""
    script = ScriptedModel([[author(BLOCKS + FINE, 'blocks'), author(FINE, 'fine')]])
    run = asyncio.create_task(agent_of(script, creation).run('go'))
    await asyncio.to_thread(gate.wait_for, 1)
    await asyncio.to_thread(wait_until, lambda: [each.name for each in creation.store.list_all()] == ['fine'])
    assert not run.done()
    await asyncio.to_thread(gate.open_and_wait)
    await run


async def test_cc9_a_time_limit_in_process_refuses_the_code(tmp_path: Path, gate: Gate) -> None:
    """After `validation_timeout` the model reads the reason, and what the code does afterwards changes nothing."""
    creation = CapabilityCreation[None](tmp_path / 'authored', validation_timeout=0.2)
    part = await run_call(creation, author(BLOCKS + FINE))
    assert 'It is kept as subject.py and not loaded.' in str(part.content)
    assert 'The code ran for longer than 0.2 seconds.' in str(part.content)
    assert len(gate.arrived) == 1
    await asyncio.to_thread(gate.open_and_wait)
    (entry,) = creation.store.list_all()
    assert (entry.version, entry.status) == (None, 'active')
    assert 'longer than 0.2' in (entry.last_error or '')


async def test_cc9_a_time_limit_leaves_the_working_version(tmp_path: Path, gate: Gate) -> None:
    """The version before stays, and its tools with it."""
    creation = CapabilityCreation[None](tmp_path / 'authored', validation_timeout=0.2)
    creation.store.write('subject', FINE)
    assert 'stays as it was (version 1' in str((await run_call(creation, author(BLOCKS + FINE))).content)
    await asyncio.to_thread(gate.open_and_wait)
    assert (creation.store.directory / 'subject.py').read_text() == FINE


async def test_cc9_many_blocked_checks_do_not_stop_further_ones(creation: CapabilityCreation[None], gate: Gate) -> None:
    """Fifty calls block and are cancelled; no pool of threads is used up by them."""
    script = ScriptedModel([[author(BLOCKS + f'# {n}\n' + FINE, f'blocks_{n}') for n in range(50)]])
    run = asyncio.create_task(agent_of(script, creation).run('go'))
    await asyncio.to_thread(gate.wait_for, 50)
    assert 'passed' in str((await asyncio.wait_for(run_call(creation, author(FINE)), PATIENCE_SECONDS)).content)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert 'version 2' in str((await asyncio.wait_for(run_call(creation, author(FINE)), PATIENCE_SECONDS)).content)
    assert [entry.name for entry in creation.store.list_all()] == ['subject']


def test_cc9_code_that_writes_to_the_store_does_not_block(creation: CapabilityCreation[None]) -> None:
    """The code runs outside of the directory's lock, so it may use the store itself."""
    module = ModuleType(GATE)
    module.__dict__['store'] = creation.store
    sys.modules[GATE] = module
    try:
        code = f'import {GATE} as gate\ngate.store.write("inner", {FINE!r})\n' + FINE
        assert creation.store.write('outer', code).last_error is None
    finally:
        del sys.modules[GATE]
    assert [entry.name for entry in creation.store.list_all()] == ['inner', 'outer']


def test_cc9_without_a_limit_it_is_waited_for(tmp_path: Path, gate: Gate) -> None:
    """`None` sets no time in process either, and no timer is started."""
    creation = CapabilityCreation[None](tmp_path, validation_timeout=None)
    ending = timers()
    future = creation.store.check(creation.store.prepare('subject', BLOCKS + FINE))
    gate.wait_for(1)
    assert timers() <= ending
    gate.open_and_wait()
    assert future.result(PATIENCE_SECONDS).error is None


def test_cc9_no_timers_are_left_behind(creation: CapabilityCreation[None]) -> None:
    """A check that has ended needs no thread any more."""
    for _ in range(20):
        creation.store.write('subject', FINE)
    wait_until(lambda: not timers())


@pytest.mark.parametrize('timeout', [0, -1, -0.5])
def test_cc9_a_limit_must_be_above_zero(tmp_path: Path, timeout: float) -> None:
    """Settings are refused when the capability is built."""
    with pytest.raises(ConfigurationError, match='validation_timeout'):
        CapabilityCreation[None](tmp_path, validation_timeout=timeout)


def test_cc9_a_limit_that_is_no_number_is_refused(tmp_path: Path) -> None:
    """NaN is no number of seconds above 0."""
    with pytest.raises(ConfigurationError, match='validation_timeout'):
        CapabilityCreation[None](tmp_path, validation_timeout=float('nan'))


def test_cc9_a_store_of_its_own_has_a_limit_too(tmp_path: Path) -> None:
    """A `CapabilityStore` that is built by hand checks like the capability's."""
    store = CapabilityStore(tmp_path)
    assert store.write('subject', FINE).version == 1
    assert store.write('subject', 'raise SystemExit').last_error is not None
    store.close()
