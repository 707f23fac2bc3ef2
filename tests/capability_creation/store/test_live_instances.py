"""CC-8 and CC-9: loaded versions live on, loads take turns where they must, and no code holds the lock."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.capabilities import AbstractCapability

from pydantic_ai_harness.capability_creation import CapabilityStore
from pydantic_ai_harness.capability_creation.validation import in_thread

from .conftest import Gate
from .driving import PATIENCE_SECS, ROOT, broken, code, entry_of, told, unguarded

WAITS = f'import store_gate\nstore_gate.stop()\n{code()}'
"""A module that stops at its beginning."""

STATEFUL = """
from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic_ai.capabilities import AbstractCapability

GREETING = {greeting!r}


@dataclass
class Part:
    text: str = 'part'
    next: Part | None = None


@dataclass
class Stateful(AbstractCapability):
    parts: list[Part] = field(default_factory=lambda: [Part()])
    made: ClassVar[int] = 0

    def get_instructions(self) -> str:
        return GREETING + LATE


LATE = '!'
"""


def parts(capability: AbstractCapability[object]) -> object:
    return getattr(unguarded(capability), 'parts')  # noqa: B009 - of a class that only the store knows


def in_background(work: Any) -> Future[Any]:
    return in_thread(work, 'test')


def test_cc8_an_old_instance_keeps_working(store: CapabilityStore, directory: Path) -> None:
    """Its module's names are looked up when it runs, also after the capability was written anew, or deleted."""
    store.write('a', STATEFUL.format(greeting='one'))
    (first,) = map(unguarded, store.load_active())
    store.write('a', STATEFUL.format(greeting='two'))
    (second,) = map(unguarded, store.load_active())
    (directory / 'a.py').unlink()
    store.write('a', broken())
    store.load_active()
    assert (first.get_instructions(), second.get_instructions()) == ('one!', 'two!')
    assert type(first) is not type(second)


def test_cc8_dataclasses_and_postponed_annotations_work(store: CapabilityStore) -> None:
    """Both look their module up while the class is made."""
    entry = store.write('a', STATEFUL.format(greeting='one'))
    assert (entry.last_error, entry.class_name) == (None, 'Stateful')
    (first,), (second,) = (list(map(parts, store.load_active())) for _ in range(2))
    assert first == second
    assert first is not second


def test_cc8_a_loaded_module_can_be_imported_by_its_name(store: CapabilityStore) -> None:
    """What looks a class up by its module finds it, for each version."""
    loaded: list[Any] = []
    for greeting in ('one', 'two'):
        store.write('a', STATEFUL.format(greeting=greeting))
        loaded += map(unguarded, store.load_active())
    for each, greeting in zip(loaded, ('one', 'two'), strict=True):
        module = importlib.import_module(type(each).__module__)
        assert module.GREETING == greeting
        assert module.Stateful is type(each)


@pytest.mark.parametrize('dumps', [pickle.dumps, getattr(pickle, '_dumps')], ids=['C', 'Python'])  # noqa: B009
def test_cc8_what_authored_classes_make_can_be_pickled(store: CapabilityStore, dumps: Any) -> None:
    """Also after a newer version was loaded."""
    store.write('a', STATEFUL.format(greeting='one'))
    (first,) = map(unguarded, store.load_active())
    store.write('a', STATEFUL.format(greeting='two'))
    store.load_active()
    copy = pickle.loads(dumps(first))  # noqa: S301 - our own
    assert type(copy) is type(first)
    assert copy.get_instructions() == 'one!'


def test_cc8_one_content_is_run_once(store: CapabilityStore, gate: Gate) -> None:
    """Later loads, through any store, make instances of the same class."""
    gate.open(2)
    store.write('a', WAITS)
    stores = [store, CapabilityStore(store.directory), store]
    loaded = [unguarded(capability) for each in stores for capability in each.load_active()]
    assert len(loaded) == 3
    assert len({type(each) for each in loaded}) == 1
    assert gate.entered == 2  # the check, and the first load


def test_cc8_the_same_code_at_two_places_is_two_modules(tmp_path: Path) -> None:
    """Neither two names nor two directories share the state of a module."""
    classes: set[object] = set()
    for place in ('x', 'y'):
        store = CapabilityStore(tmp_path / place)
        store.write('a', code())
        store.write('b', code())
        classes |= {type(unguarded(each)) for each in store.load_active()}
    assert len(classes) == 4


def test_cc8_loads_of_one_source_take_turns(store: CapabilityStore, gate: Gate) -> None:
    """The second load waits for the first, and gets the class that it made."""
    gate.open()
    store.write('a', WAITS)
    gate.wait_for_one()
    loads = [in_background(store.load_active) for _ in range(4)]
    gate.wait_for_one()
    assert not any(load.done() for load in loads)
    gate.open(4)
    classes = {type(unguarded(each)) for load in loads for each in load.result(PATIENCE_SECS)}
    assert len(classes) == 1
    assert gate.entered == 2


def test_cc8_loads_of_different_sources_do_not_wait(store: CapabilityStore, tmp_path: Path, gate: Gate) -> None:
    """While one capability's module is being run, another's is loaded."""
    gate.open()
    store.write('a', WAITS)
    gate.wait_for_one()
    other = CapabilityStore(tmp_path / 'other')
    other.write('b', code())
    load = in_background(store.load_active)
    gate.wait_for_one()
    assert told(other) == {'b': 'one'}
    store.write('a', code('newer'))
    assert told(store) == {'a': 'newer'}
    assert not load.done()
    gate.open()
    assert [unguarded(each).get_instructions() for each in load.result(PATIENCE_SECS)] == ['one']


def test_cc8_a_load_that_fails_lets_the_next_one_try(store: CapabilityStore, gate: Gate) -> None:
    """Those who waited run the module again, one after the other."""
    gate.open()
    store.write('a', WAITS)
    gate.wait_for_one()
    gate.fails = True
    loads = [in_background(store.load_active) for _ in range(3)]
    for _ in loads:
        gate.wait_for_one()
        gate.open()
    assert [load.result(PATIENCE_SECS) for load in loads] == [[], [], []]
    gate.fails = False
    gate.open()
    assert len(store.load_active()) == 1


def test_cc8_checks_of_one_source_do_not_disturb_each_other(store: CapabilityStore, gate: Gate) -> None:
    """The same dataclass, sent twice at the same time: the first check to end takes nothing from the second."""
    source = STATEFUL.format(greeting='one').replace('GREETING =', 'import store_gate\nstore_gate.stop()\nGREETING =')
    checks = [in_background(lambda: store.write('a', source).last_error) for _ in range(2)]
    for _ in checks:
        gate.wait_for_one()
    gate.open()
    wait(checks, PATIENCE_SECS, FIRST_COMPLETED)
    gate.open()
    assert [check.result(PATIENCE_SECS) for check in checks] == [None, None]


def test_cc8_a_check_takes_no_loaded_module_away(store: CapabilityStore, gate: Gate) -> None:
    """The code is loaded for the first time while the same code is checked again: its module stays importable."""
    gate.open()
    store.write('a', WAITS)
    gate.wait_for_one()
    again = in_background(lambda: store.write('a', WAITS))
    gate.wait_for_one()
    load = in_background(store.load_active)
    gate.wait_for_one()
    gate.open(2)
    again.result(PATIENCE_SECS)
    (loaded,) = map(unguarded, load.result(PATIENCE_SECS))
    assert type(loaded).__module__ in sys.modules
    assert sys.modules[type(loaded).__module__].__dict__['Told'] is type(loaded)


def test_cc8_a_check_stands_in_for_no_loaded_module(store: CapabilityStore, gate: Gate) -> None:
    """While loaded code is checked again, its classes can still be found."""
    gate.open(2)
    store.write('a', WAITS)
    (loaded,) = map(unguarded, store.load_active())
    again = in_background(lambda: store.write('a', WAITS))
    for _ in range(3):
        gate.wait_for_one()
    found = sys.modules[type(loaded).__module__].__dict__.get('Told')
    gate.open()
    again.result(PATIENCE_SECS)
    assert found is type(loaded)


SPINS = """
import sys, threading, types
from pathlib import Path
from pydantic_ai_harness.capability_creation import CapabilityStore

gate = types.ModuleType('gate')
gate.calls, gate.reached, gate.opened = 0, threading.Semaphore(0), [threading.Event(), threading.Event()]
def stop():
    number, gate.calls = gate.calls, gate.calls + 1
    gate.reached.release()
    if number < 2:
        gate.opened[number].wait()
gate.stop = stop
sys.modules['gate'] = gate
store = CapabilityStore(Path(sys.argv[1]))
load = threading.Thread(target=store.load_active, daemon=True)
load.start()
gate.reached.acquire()
check = threading.Thread(target=store.write, args=('a', sys.argv[2]), daemon=True)
check.start()
gate.reached.acquire()
gate.opened[0].set()
load.join()
gate.opened[1].set()
check.join()
store.load_active()
print('done')
"""


def test_cc8_a_load_that_failed_during_a_check_does_not_hang_the_next(directory: Path) -> None:
    """Bad code that is loaded and sent again at the same time: the load after that comes to an end."""
    bad = 'import gate\ngate.stop()\nraise ValueError("no")\n'
    CapabilityStore(directory).write('a', bad.replace('import gate\ngate.stop()\n', ''))
    (directory / 'a.py').write_text(bad)
    assert ends(SPINS, directory, bad)


def test_cc8_code_that_loads_itself_does_not_hang(store: CapabilityStore, directory: Path) -> None:
    """A module that asks the store for all capabilities, itself included."""
    selfish = (
        'from pydantic_ai_harness.capability_creation import CapabilityStore\n'
        f'CapabilityStore({str(directory)!r}).load_active()\n{code()}'
    )
    assert store.write('a', selfish).last_error is None
    source = (
        'import sys; from pathlib import Path; from pydantic_ai_harness.capability_creation import CapabilityStore\n'
        'CapabilityStore(Path(sys.argv[1])).load_active(); print("done")'
    )
    assert ends(source, directory)


def ends(source: str, *arguments: object) -> bool:
    """Whether a process comes to an end that takes a second if it does."""
    command = [sys.executable, '-c', source, *map(str, arguments)]
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    except subprocess.TimeoutExpired:
        return False
    return ended.stdout == 'done\n'


def test_cc9_code_that_blocks_holds_up_only_its_own_call(store: CapabilityStore, gate: Gate) -> None:
    """While a module is being checked, and while it is being loaded, everything else goes on."""
    blocked = in_background(lambda: store.write('a', WAITS))
    gate.wait_for_one()
    others_work(store)
    gate.open()
    assert blocked.result(PATIENCE_SECS).last_error is None
    blocked = in_background(store.load_active)
    gate.wait_for_one()
    others_work(store)
    store.disable('a')
    assert not blocked.done()
    gate.open()
    assert len(blocked.result(PATIENCE_SECS)) == 2
    assert entry_of(store).status == 'disabled'


@pytest.mark.parametrize('place', ['def __init__(self):', 'def get_instructions(self):', 'def get_toolset(self):'])
def test_cc9_no_part_of_authored_code_holds_the_lock(store: CapabilityStore, gate: Gate, place: str) -> None:
    """Constructor and getters are authored code as well."""
    blocks = (
        'import store_gate\nfrom pydantic_ai.capabilities import AbstractCapability\n'
        f'class Blocks(AbstractCapability):\n    {place}\n        store_gate.stop()\n'
    )
    blocked = in_background(lambda: store.write('a', blocks))
    gate.wait_for_one()
    others_work(store)
    gate.open(100)
    assert blocked.result(PATIENCE_SECS).last_error is None


def test_cc9_a_slow_check_does_not_overwrite_the_order_of_writes(store: CapabilityStore, gate: Gate) -> None:
    """The write that is kept last is the newest version, and the one before it is not lost."""
    slow = in_background(lambda: store.write('a', WAITS))
    gate.wait_for_one()
    assert store.write('a', code('fast')).version == 1
    gate.open()
    assert slow.result(PATIENCE_SECS).version == 2
    assert [store.source('a', kept.version) for kept in store.history('a')] == [code('fast'), WAITS]


def others_work(store: CapabilityStore) -> None:
    """All that a store does, with another name, through another store."""
    other = CapabilityStore(store.directory)
    assert other.write('other', code('other')).last_error is None
    assert other.write('other', broken()).last_error
    assert other.disable('other')
    assert other.enable('other')
    assert 'other' in {entry.name for entry in other.list_all()}
    assert other.rollback('other', 1).last_error is None
