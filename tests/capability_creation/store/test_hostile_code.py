"""CC-3, CC-7, BEYOND-4: what authored code may do to the store that checks and loads it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pydantic_ai_harness.capability_creation import CapabilityStore

from .driving import ROOT, broken, code, entry_of, told

CLASS = 'from pydantic_ai.capabilities import AbstractCapability\nclass Odd(AbstractCapability):\n    '

REFUSED = {
    'raises': 'raise ValueError("x")',
    'exits': 'import sys; sys.exit(3)',
    'raises SystemExit': 'raise SystemExit',
    'raises GeneratorExit': 'raise GeneratorExit',
    'raises BaseException': 'raise BaseException("x")',
    'raises CancelledError': 'import asyncio; raise asyncio.CancelledError',
    'recursion': 'def f(): f()\nf()',
    'an exception without text': 'class E(Exception):\n    def __str__(self): raise ValueError\nraise E',
    'an exception group': 'raise ExceptionGroup("x", [ValueError("y")])',
    'constructor exits': f'{CLASS}def __init__(self): raise SystemExit',
    'constructor wants arguments': f'{CLASS}def __init__(self, x): pass',
    'new gives something else': f'{CLASS}def __new__(cls): return 1',
    'getter exits': f'{CLASS}def get_instructions(self): raise SystemExit',
    'async getter': f'{CLASS}async def get_instructions(self): return "x"',
    'null byte': 'x = "\x00"',
    'null bytes in a name': '\x00\x00',
    'deep nesting': f'x = {"[" * 300}{"]" * 300}',
    'no capability': 'x = 1',
    'two capabilities': f'{code()}\nclass Other(AbstractCapability): pass',
    'abstract': f'import abc\n{CLASS}@abc.abstractmethod\n    def f(self): ...',
}

ESCAPES = {
    'deletes its names': 'globals().clear()',
    'an exception whose text exits': 'class E(Exception):\n    def __str__(self): raise SystemExit\nraise E',
    'a syntax error of its own': 'raise SyntaxError("x", ("f", 1, 2, 5))',
    'a name that is a proxy': (
        f'class Proxy:\n    @property\n    def __class__(self): raise RuntimeError("no context")\nproxy = Proxy()\n{code()}'
    ),
    'an id that raises': (
        f'{CLASS}def __init__(self): pass\n    @property\n    def id(self): raise RuntimeError("no id")'
    ),
    'an id that exits': f'{CLASS}def __init__(self): pass\n    @property\n    def id(self): raise SystemExit',
    'a getter that fails the second time': (
        f'{CLASS}calls = 0\n    def get_toolset(self):\n        Odd.calls += 1\n'
        '        if Odd.calls > 1: raise SystemExit\n'
    ),
    'an ordering that fails the second time': (
        f'{CLASS}calls = 0\n    def get_ordering(self):\n        Odd.calls += 1\n'
        '        if Odd.calls > 1: raise ValueError\n'
    ),
    'a hook with a signature of its own': (
        f'{CLASS}async def before_run(self, ctx): pass\n    before_run.__wrapped__ = before_run\n'
    ),
}


@pytest.mark.parametrize('text', REFUSED.values(), ids=REFUSED.keys())
def test_cc3_whatever_the_code_does_is_a_reason_to_refuse_it(
    store: CapabilityStore, directory: Path, text: str
) -> None:
    """The store gives an answer, keeps the code, and goes on; so it does when the code turns up in a file."""
    assert store.write('a', text).last_error
    assert store.write('b', code()).last_error is None
    assert told(store) == {'b': 'one'}
    store.write('a', code())
    (directory / 'a.py').write_bytes(text.encode())
    assert told(store) == {'b': 'one'}
    assert entry_of(store).last_error


@pytest.mark.parametrize('text', ESCAPES.values(), ids=ESCAPES.keys())
def test_cc3_no_look_at_the_code_lets_its_errors_out(store: CapabilityStore, text: str) -> None:
    """An answer, for good or bad, from `write`."""
    assert escaped_from(lambda: store.write('a', text)) is None


IN_A_FILE = {
    **{name: text for name, text in ESCAPES.items() if 'second' not in name and 'deletes' not in name},
    'deletes the lock of its module': f'{code()}\ndel authored_lock',
}


@pytest.mark.parametrize('text', IN_A_FILE.values(), ids=IN_A_FILE.keys())
def test_cc7_no_look_at_the_code_of_a_file_lets_its_errors_out(
    store: CapabilityStore, directory: Path, text: str
) -> None:
    """An edited file does not keep the agent from starting a run with the others."""
    store.write('a', code())
    store.write('b', code())
    (directory / 'a.py').write_text(text)
    assert escaped_from(store.load_active) is None
    assert escaped_from(store.load_active) is None
    assert told(store)['b'] == 'one'


def escaped_from(call: Callable[[], object]) -> str | None:
    """The type of what it raises; the error itself would hurt whoever reports it."""
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return type(error).__name__
    return None


@pytest.mark.parametrize('name', ['run', 'capability', 'authored_lock', 'authored_state'])
def test_cc8_the_globals_of_the_code_are_its_own(store: CapabilityStore, name: str) -> None:
    """The code may call its things as it likes, and finds nothing that it has not put there."""
    foreign = f'assert {name!r} not in globals()\n'
    own = code().replace("'one'", f'{name}()') + f"\n\ndef {name}():\n    return 'own'\n"
    entry = store.write('a', foreign + own)
    assert entry.last_error is None
    assert told(store) == {'a': 'own'}


def test_cc3_code_that_renames_itself_takes_no_other_module_away(
    store: CapabilityStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `__name__ = '__main__'` would."""
    monkeypatch.setitem(sys.modules, 'store_test_victim', sys)
    before = set(sys.modules)
    store.write('a', f'{code()}\n__name__ = "store_test_victim"')
    assert sys.modules['store_test_victim'] is sys
    assert not [name for name in sys.modules.keys() - before if 'authored' in name]


ISOLATED = """
import sys
from pathlib import Path
from pydantic_ai_harness import CapabilityCreation

store = CapabilityCreation(directory=Path(sys.argv[1]), isolated_validation=True, validation_timeout=0.5).store
for number, text in enumerate(sys.argv[2:]):
    assert store.write(f'a_{number}', text).last_error
assert store.load_active() == []
store.close()
print('alive')
"""


def test_beyond5_code_that_was_refused_in_isolation_is_not_run_by_the_next_load(directory: Path) -> None:
    """It was never accepted: the next run of the agent must not end, or hang, because of it."""
    command = [sys.executable, '-c', ISOLATED, str(directory), 'import os; os._exit(3)', 'while True: pass']
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=55, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail('it hangs')
    assert ended.stdout == 'alive\n', ended


@pytest.mark.parametrize('switch', ['disable', 'enable'])
def test_beyond4_an_interrupted_first_write_can_be_switched_off(
    store: CapabilityStore, directory: Path, switch: str
) -> None:
    """What any reader would find is there for a change as well, and does not turn up active afterwards."""
    store.write('a', code())
    version = directory / '.store' / 'versions' / 'a' / '000001.json'
    version.rename(directory / '.store' / 'commit.json')
    (directory / 'manifest.json').write_text('{"capabilities": []}')
    assert getattr(store, switch)('a') is True


def test_beyond4_what_others_leave_in_the_journal_is_dropped(store: CapabilityStore, directory: Path) -> None:
    """A file that is no record of a commit blocks nobody."""
    store.write('a', code())
    (directory / '.store' / 'commit.json').write_text('{"half')
    assert told(store) == {'a': 'one'}
    assert store.write('a', broken()).module_file == 'a.rejected.py'
    assert not (directory / '.store' / 'commit.json').exists()
