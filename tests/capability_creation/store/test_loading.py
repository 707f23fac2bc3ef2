"""CC-7 and CC-10: what is loaded, from where, and what is recorded of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pydantic_ai_harness.capability_creation import CapabilityStore
from pydantic_ai_harness.capability_creation.directory import Directory

from .driving import ROOT, broken, code, entry_of, old_entry, put_manifest, raw_entry, raw_manifest, run_python, told


def test_cc7_entries_keep_the_order_in_which_the_names_came(store: CapabilityStore, directory: Path) -> None:
    """Neither a rewrite, nor a refusal, nor a change of state moves an entry."""
    for name in ('z', 'm', 'a', 'k'):
        store.write(name, code(name))
    store.write('m', code('again'))
    store.write('a', broken())
    store.disable('z')
    store.enable('z')
    store.rollback('m', 1)
    assert [entry.name for entry in store.list_all()] == ['z', 'm', 'a', 'k']
    assert list(told(store)) == ['z', 'm', 'a', 'k']
    assert [entry['name'] for entry in raw_manifest(directory)['capabilities']] == ['z', 'm', 'a', 'k']


def test_cc7_each_load_gives_new_instances(store: CapabilityStore) -> None:
    """Runs share no state through an instance."""
    store.write('a', code())
    assert store.load_active()[0] is not store.load_active()[0]


def test_cc7_disabled_ones_are_not_loaded_nor_run(store: CapabilityStore, tmp_path: Path) -> None:
    """What is switched off has no effect at all."""
    trace = tmp_path / 'ran'
    store.write('a', code())
    store.disable('a')
    (store.directory / 'a.py').write_text(f'open({str(trace)!r}, "w").close()')
    assert store.load_active() == []
    assert not trace.exists()


CONDITIONAL = """
import os
from pydantic_ai.capabilities import AbstractCapability

class Conditional(AbstractCapability):
    {method}
        if 'STORE_TEST_BREAKS' in os.environ:
            raise RuntimeError('breaks today')
        {end}
"""
METHODS = {
    'constructor': ('def __init__(self):', 'super().__init__()'),
    'instructions': ('def get_instructions(self):', 'return None'),
    'toolset': ('def get_toolset(self):', 'return None'),
    'native tools': ('def get_native_tools(self):', 'return []'),
    'model settings': ('def get_model_settings(self):', 'return None'),
    'serialization name': ('@classmethod\n    def get_serialization_name(cls):', 'return None'),
}


@pytest.mark.parametrize(('method', 'end'), METHODS.values(), ids=METHODS.keys())
def test_cc7_each_load_checks_again(
    store: CapabilityStore, monkeypatch: pytest.MonkeyPatch, method: str, end: str
) -> None:
    """What stops to work is skipped with its error recorded; what works again has it cleared."""
    assert store.write('a', CONDITIONAL.format(method=method, end=end)).last_error is None
    store.write('b', code())
    version = entry_of(store)
    monkeypatch.setenv('STORE_TEST_BREAKS', '1')
    assert list(told(store)) == ['b']
    assert 'breaks today' in raw_entry(store.directory)['last_error']
    assert entry_of(store).is_version_of(version)
    monkeypatch.delenv('STORE_TEST_BREAKS')
    assert list(told(store)) == ['a', 'b']
    assert entry_of(store) == version


def test_cc7_refused_code_that_works_now_is_loaded(store: CapabilityStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that it imports was installed since: nothing has to be written again."""
    needy = f'import store_test_plugin\n{code()}'
    assert store.write('a', needy).last_error
    assert store.load_active() == []
    monkeypatch.setitem(sys.modules, 'store_test_plugin', sys)
    assert told(store) == {'a': 'one'}
    assert (entry_of(store).last_error, entry_of(store).class_name) == (None, 'Told')


def test_cc7_a_file_that_comes_back_is_loaded_again(store: CapabilityStore, directory: Path) -> None:
    """A missing file is an error like any other."""
    store.write('a', code())
    before = entry_of(store)
    (directory / 'a.py').rename(directory / 'moved')
    assert store.load_active() == []
    assert 'a.py is missing' in raw_entry(directory)['last_error']
    assert not entry_of(store).edited
    (directory / 'moved').rename(directory / 'a.py')
    assert told(store) == {'a': 'one'}
    assert entry_of(store) == before


def test_cc7_loading_what_has_not_changed_writes_nothing(store: CapabilityStore, directory: Path) -> None:
    """Also an error that stays the same is recorded once."""
    store.write('a', code())
    store.write('b', broken())
    store.load_active()
    inode = (directory / 'manifest.json').stat().st_ino
    for _ in range(3):
        store.load_active()
    assert (directory / 'manifest.json').stat().st_ino == inode


def test_cc7_an_outcome_is_not_recorded_over_a_newer_write(store: CapabilityStore, directory: Path) -> None:
    """Another writer mends the capability while this load is still failing."""
    store.write('a', code())
    (directory / 'a.py').write_text(
        'from pydantic_ai_harness.capability_creation import CapabilityStore\n'
        f'CapabilityStore({str(directory)!r}).write("a", {code("mended")!r})\n'
        'raise ValueError("old news")\n'
    )
    assert told(store) == {}
    assert (entry_of(store).last_error, entry_of(store).version) == (None, 3)
    assert told(store) == {'a': 'mended'}


def test_cc7_an_outcome_is_not_recorded_over_a_change_of_state(store: CapabilityStore, directory: Path) -> None:
    """The capability is switched off while its load is failing: it stays as it was switched off."""
    store.write('a', code())
    (directory / 'a.py').write_text(
        'from pydantic_ai_harness.capability_creation import CapabilityStore\n'
        f'CapabilityStore({str(directory)!r}).disable("a")\n'
        'raise ValueError("old news")\n'
    )
    assert told(store) == {}
    assert (entry_of(store).status, entry_of(store).last_error) == ('disabled', None)


OUTSIDE = ['../outside.py', 'sub/../../outside.py', '{tmp}/outside.py', '..', '.', '', '/', 'linked/outside.py']


@pytest.mark.parametrize('module_file', OUTSIDE)
def test_cc7_a_module_file_outside_of_the_directory_is_refused(
    store: CapabilityStore, directory: Path, tmp_path: Path, module_file: str
) -> None:
    """A manifest that someone tampered with makes the agent run nothing from elsewhere."""
    trace = tmp_path / 'ran'
    (tmp_path / 'outside.py').write_text(f'open({str(trace)!r}, "w").close()\n{code()}')
    put_manifest(directory, old_entry(module_file=module_file.format(tmp=tmp_path)), old_entry('b'))
    (directory / 'b.py').write_text(code())
    (directory / 'sub').mkdir()
    (directory / 'linked').symlink_to(tmp_path)
    assert told(store) == {'b': 'one'}
    assert not trace.exists()
    assert raw_entry(directory)['last_error']
    with pytest.raises(LookupError):
        store.source('a')
    with pytest.raises(LookupError):
        store.approve('a')


def test_cc7_a_symbolic_link_out_of_the_directory_is_refused(
    store: CapabilityStore, directory: Path, tmp_path: Path
) -> None:
    """The name alone does not say where a file is."""
    (tmp_path / 'outside.py').write_text(code('outside'))
    store.write('a', code())
    (directory / 'a.py').unlink()
    (directory / 'a.py').symlink_to(tmp_path / 'outside.py')
    assert store.load_active() == []
    assert 'outside of the directory' in raw_entry(directory)['last_error']
    assert store.write('a', code('new')).last_error is None
    assert (tmp_path / 'outside.py').read_text() == code('outside')
    assert told(store) == {'a': 'new'}


def test_cc7_a_symbolic_link_within_the_directory_is_followed(store: CapabilityStore, directory: Path) -> None:
    """Also if the directory itself is reached through one."""
    put_manifest(directory, old_entry(module_file='link.py'))
    (directory / 'real.py').write_text(code())
    (directory / 'link.py').symlink_to('real.py')
    (directory.parent / 'alias').symlink_to(directory)
    assert told(store) == {'a': 'one'}
    assert told(CapabilityStore(directory.parent / 'alias')) == {'a': 'one'}


def test_cc7_a_loop_of_symbolic_links_is_refused(store: CapabilityStore, directory: Path) -> None:
    """No entry of the manifest ends a run before it begins."""
    store.write('a', code())
    store.write('b', code())
    (directory / 'a.py').unlink()
    (directory / 'a.py').symlink_to('a.py')
    assert list(told(store)) == ['b']
    assert len(store.list_all()) == 2


@pytest.mark.parametrize(
    'module_file',
    [
        pytest.param('a\x00.py', id='null'),
        pytest.param('sub/\x00.py', id='nested'),
        pytest.param('x' * 300 + '.py', id='long'),
    ],
)
def test_cc7_a_module_file_that_can_be_no_path_is_refused(
    store: CapabilityStore, directory: Path, module_file: str
) -> None:
    """No entry of the manifest ends a run before it begins."""
    put_manifest(directory, old_entry(module_file=module_file), old_entry('b'))
    (directory / 'b.py').write_text(code())
    assert told(store) == {'b': 'one'}


@pytest.mark.parametrize('module_file', ['sub', 'sub/none.py', 'none.py'])
def test_cc7_a_module_file_that_cannot_be_read_is_refused(
    store: CapabilityStore, directory: Path, module_file: str
) -> None:
    """No such file, or a folder."""
    put_manifest(directory, old_entry(module_file=module_file), old_entry('b'))
    (directory / 'b.py').write_text(code())
    (directory / 'sub').mkdir()
    assert told(store) == {'b': 'one'}
    assert 'missing, or cannot be read' in raw_entry(directory)['last_error']


def test_cc7_a_file_that_is_not_utf8_is_refused(store: CapabilityStore, directory: Path) -> None:
    """Also with a line that declares another encoding: the store knows one."""
    store.write('a', code())
    (directory / 'a.py').write_bytes(b'# -*- coding: latin-1 -*-\n' + code('caf\xe9').encode('latin-1'))
    assert store.load_active() == []
    assert 'not UTF-8' in raw_entry(directory)['last_error']


def test_cc7_a_byte_order_mark_is_no_part_of_the_code(store: CapabilityStore, directory: Path) -> None:
    """Editors of some platforms write it."""
    assert store.write('a', '\ufeff' + code()).last_error is None
    assert told(store) == {'a': 'one'}
    (directory / 'a.py').write_bytes(b'\xef\xbb\xbf' + code('edited').encode())
    assert told(store) == {'a': 'edited'}
    assert store.source('a') == code('edited')


def test_cc7_one_that_fails_keeps_no_other_back(store: CapabilityStore, directory: Path) -> None:
    """Each is loaded on its own."""
    for name in 'abcde':
        store.write(name, code(name))
    (directory / 'a.py').write_text('import sys; sys.exit()')
    (directory / 'c.py').write_text('class')
    (directory / 'e.py').unlink()
    assert told(store) == {'b': 'b', 'd': 'd'}
    assert [entry.last_error is None for entry in store.list_all()] == [False, True, False, True, False]


def test_cc7_what_cannot_be_recorded_does_not_keep_back_what_works(
    store: CapabilityStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full: the run starts with what there is."""
    store.write('a', code())
    store.write('b', code())
    (directory / 'b.py').unlink()

    def full(*_: object) -> None:
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(Directory, 'write', full)
    assert told(store) == {'a': 'one'}


def read_only(*_: object, **__: object) -> None:
    raise OSError(30, 'Read-only file system')


def test_cc7_a_directory_that_cannot_be_written_is_read(
    store: CapabilityStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container whose image holds the capabilities: nothing can be locked, and nothing needs to be."""
    store.write('a', code())
    store.write('b', code())
    (store.directory / 'b.py').unlink()
    monkeypatch.setattr(Directory, 'lock', read_only)
    assert told(store) == {'a': 'one'}
    assert len(store.list_all()) == 2


def test_cc7_a_directory_that_cannot_be_written_is_read_also_if_a_file_was_edited(
    store: CapabilityStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it cannot be looked at again under the lock is no reason to fail."""
    store.write('a', code())
    (store.directory / 'a.py').write_text(code('edited'))
    monkeypatch.setattr(Directory, 'lock', read_only)
    assert told(store) == {'a': 'edited'}
    assert store.list_all()[0].edited


def test_cc7_the_directory_does_not_move_with_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is that of the time when the store was built."""
    monkeypatch.chdir(tmp_path)
    store = CapabilityStore(Path('here'))
    (tmp_path / 'elsewhere').mkdir()
    os.chdir(tmp_path / 'elsewhere')
    store.write('a', code())
    assert (tmp_path / 'here' / 'a.py').exists()
    assert list((tmp_path / 'elsewhere').iterdir()) == []


FRESH = """
import json, sys
from pathlib import Path
from pydantic_ai_harness import CapabilityCreation

store = CapabilityCreation(directory=Path(sys.argv[1])).store
print(json.dumps({
    'told': [each.authored.get_instructions() for each in store.load_active()],
    'entries': [entry.model_dump(mode='json') for entry in store.list_all()],
    'history': [kept.model_dump(mode='json') for kept in store.history('a')],
}))
"""


def test_cc10_a_fresh_process_picks_everything_up(store: CapabilityStore, directory: Path) -> None:
    """All that one process has written is there in another, in a process that was really started."""
    store.write('a', code('one'), run_id='run-1')
    store.write('a', code('two'))
    store.write('b', broken('nope'))
    store.write('c', code())
    store.disable('c')
    found = json.loads(run_python(FRESH, directory))
    assert found['told'] == ['two']
    assert found['entries'] == [entry.model_dump(mode='json') for entry in store.list_all()]
    assert [(kept['version'], kept['run_id']) for kept in found['history']] == [(1, 'run-1'), (2, None)]


def test_cc10_what_a_fresh_process_writes_is_there_in_this_one(store: CapabilityStore, directory: Path) -> None:
    """Neither process keeps in memory what is in the files."""
    store.write('a', code('one'))
    assert told(store) == {'a': 'one'}
    source = (
        'import sys; from pathlib import Path; from pydantic_ai_harness import CapabilityCreation\n'
        'assert CapabilityCreation(directory=Path(sys.argv[1])).store.write("a", sys.argv[2]).version == 2'
    )
    subprocess.run([sys.executable, '-c', source, directory, code('two')], check=True, cwd=ROOT, timeout=50)
    assert told(store) == {'a': 'two'}
    assert [kept.version for kept in store.history('a')] == [1, 2]
