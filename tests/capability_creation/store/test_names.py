"""CC-4: what a capability may be called."""

from __future__ import annotations

from pathlib import Path

import pytest

from pydantic_ai_harness.capability_creation import CapabilityStore
from pydantic_ai_harness.errors import CapabilityNameError

from .driving import code

BAD_NAMES = [
    '',
    '1a',
    '_a',
    'A',
    'aB',
    'a-b',
    'a b',
    'a.b',
    'a\n',
    'a\x00',
    'é',
    'aé',
    'a²',  # `str.isdigit` says yes
    '../a',
    'a/b',
    '/etc/passwd',
    'a' * 65,
]


@pytest.mark.parametrize('name', BAD_NAMES)
def test_cc4_a_bad_name_is_a_value_error_before_anything_is_written(
    store: CapabilityStore, directory: Path, name: str
) -> None:
    """A name that could leave the directory, or is none, touches no file."""
    with pytest.raises(ValueError, match='cannot name a capability') as caught:
        store.write(name, code())
    assert isinstance(caught.value, CapabilityNameError)
    assert not directory.exists()


def test_cc4_a_bad_name_runs_no_code(store: CapabilityStore, tmp_path: Path) -> None:
    """The name is looked at before the code is tried out."""
    trace = tmp_path / 'ran'
    with pytest.raises(CapabilityNameError):
        store.write('Bad', f'open({str(trace)!r}, "w").close()')
    assert not trace.exists()


@pytest.mark.parametrize('name', ['a', 'a1', 'a_', 'a_b_1', 'a' * 64, 'os', 'class', 'manifest', 'con'])
def test_cc4_a_good_name_is_taken(store: CapabilityStore, directory: Path, name: str) -> None:
    """Any 64 letters, digits and underscores will do, also if they mean something to Python."""
    assert store.write(name, code()).last_error is None
    assert (directory / f'{name}.py').read_text() == code()
    assert len(store.load_active()) == 1


@pytest.mark.parametrize('name', BAD_NAMES)
def test_cc4_a_bad_name_is_just_not_there_for_the_rest(store: CapabilityStore, name: str) -> None:
    """Asking for a name that cannot be does no harm."""
    store.write('good', code())
    assert store.disable(name) is False
    assert store.enable(name) is False
    for ask in (store.history, store.source, store.approve):
        with pytest.raises(LookupError):
            ask(name)
    with pytest.raises(LookupError):
        store.rollback(name, 1)
