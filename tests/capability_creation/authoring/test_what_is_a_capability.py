"""CC-3 and BEYOND-5: which code passes, with the same verdict in this process and in one of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from pydantic_ai_harness import CapabilityCreation

from .cases import ALL, HALF_A_TOOL_NAME, NATIVE, SPOILS_SUBCLASS_CHECKS, Case, getter
from .conftest import Check, Mode
from .support import FINE, author, authored, call, run_call, run_calls

MODES: tuple[Mode, ...] = get_args(Mode)


@pytest.fixture(autouse=True)
def _modules_stay() -> Iterator[None]:
    before = dict(sys.modules)
    yield
    for name in [name for name in sys.modules.keys() - before if name.startswith('pretended_')]:
        del sys.modules[name]


@pytest.mark.filterwarnings('ignore::ImportWarning')  # which the other process does not turn into errors
@pytest.mark.parametrize('case', ALL.values(), ids=ALL.keys())
def test_cc3_beyond5_verdict(case: Case, stores: dict[Mode, Check]) -> None:
    """Code passes or is refused, and the error says what it should; the same wherever it was checked."""
    error, there = (stores[mode](case.code) for mode in MODES)
    assert without_addresses(error) == without_addresses(there)
    if case.either:
        return
    if case.says is None:
        assert error is None
        return
    assert error is not None
    assert len(error) < 5_000
    place = 0
    for text in case.says:
        assert text in error[place:]
        place = error.index(text, place)


def without_addresses(error: str | None) -> str | None:
    """The text without what differs from process to process."""
    return None if error is None else re.sub(r'0x[0-9a-f]+', '0x', error)


SPOILS = """
import sys, tempfile
from pathlib import Path
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai_harness import CapabilityCreation
store = CapabilityCreation(Path(tempfile.mkdtemp())).store
store.write('hostile', sys.argv[1] + '\\nimport builtins; builtins.kept = Authored')
"""


def spoiled(then: str) -> str:
    """What a process prints as its error that does this after it has met a class that spoils subclass checks."""
    command = [sys.executable, '-c', SPOILS + then, SPOILS_SUBCLASS_CHECKS, FINE]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=90).stderr


def test_cc3_a_refused_class_does_not_spoil_later_checks() -> None:
    """A class that was refused, and is still there, has no say in whether other code passes."""
    assert spoiled('assert store.write("fine", sys.argv[2]).last_error is None') == ''


def test_cc3_a_class_with_a_metaclass_of_its_own_is_refused() -> None:
    """It would be asked whenever the framework asks whether something is a capability."""
    assert spoiled('assert "It must have none of its own" in store.list_all()[0].last_error') == ''


def test_beyond5_the_name_of_a_tool_may_be_odd(stores: dict[Mode, Check]) -> None:
    """The verdict is the same in a process of its own."""
    assert stores['in_process'](HALF_A_TOOL_NAME) == stores['isolated'](HALF_A_TOOL_NAME)


def test_cc3_a_keyboard_interrupt_propagates(creation: CapabilityCreation[None]) -> None:
    """Who presses Ctrl-C means the program, not the authored code; nothing is written then."""
    for code in [
        'raise KeyboardInterrupt\n',
        authored('def __init__(self): raise KeyboardInterrupt'),
        authored('def get_toolset(self): raise KeyboardInterrupt'),
    ]:
        with pytest.raises(KeyboardInterrupt):
            creation.store.write('subject', code)
    assert creation.store.list_all() == []
    assert not (creation.store.directory / 'subject.py').exists()


def test_beyond5_a_keyboard_interrupt_of_the_code_is_a_refusal(isolated: CapabilityCreation[None]) -> None:
    """Nobody has interrupted the agent if the code in the other process says so of itself."""
    assert 'KeyboardInterrupt' in (isolated.store.write('subject', 'raise KeyboardInterrupt\n').last_error or '')


@pytest.mark.parametrize(
    'code',
    [
        pytest.param('import sys\nsys.exit(1)\n', id='exit'),
        pytest.param('raise BaseException\n', id='base'),
        pytest.param(authored('def get_toolset(self): raise GeneratorExit'), id='generator'),
        pytest.param('import asyncio\nraise asyncio.CancelledError\n', id='cancelled'),
        pytest.param('raise StopIteration\n', id='stop'),
        pytest.param(ALL['raised: a text that exits'].code, id='text that exits'),
        pytest.param(ALL['attributes: a toolset that exits later'].code, id='getter that exits later'),
        pytest.param(ALL['attributes: an id that raises'].code, id='id'),
        pytest.param(ALL['raised: half a character'].code, id='half a character'),
    ],
)
async def test_cc3_nothing_that_code_raises_ends_the_run(creation: CapabilityCreation[None], code: str) -> None:
    """The model reads of it, and may go on."""
    refused, accepted = await run_calls(creation, author(code), author(FINE))
    assert (refused.outcome, accepted.outcome) == ('success', 'success')
    assert 'The code was refused.' in str(refused.content)
    assert 'passed' in str(accepted.content)


@pytest.mark.parametrize(
    'broken',
    [
        pytest.param('raise SystemExit', id='exit'),
        pytest.param('def __getattr__(name): raise SystemExit\n', id='module attributes'),
        pytest.param('raise ValueError("\\udc80")', id='half a character'),
        pytest.param('class E(Exception):\n    def __str__(self): raise SystemExit\nraise E', id='text that exits'),
        pytest.param(FINE + 'Authored.id = property(lambda self: 1 / 0)\n', id='id'),
        pytest.param(FINE + 'Authored.has_on_event = property(lambda self: 1 / 0)\n', id='has_on_event'),
    ],
)
def test_cc7_one_bad_file_does_not_hold_up_the_others(creation: CapabilityCreation[None], broken: str) -> None:
    """What a file has become since it was written is left out of a load, whatever it raises now."""
    creation.store.write('good', FINE)
    creation.store.write('bad', FINE)
    creation.store.write('better', FINE)
    (creation.store.directory / 'bad.py').write_text(broken)
    loaded = creation.store.load_active()
    assert [each.id for each in loaded] == ['authored_good', 'authored_better']
    assert {entry.name: entry.last_error is None for entry in creation.store.list_all()} == {
        'good': True,
        'bad': False,
        'better': True,
    }


async def test_cc3_without_a_guard_the_agent_can_use_what_passed(tmp_path: Path) -> None:
    """With `max_failures=None` nothing repairs what getters return, so the checks must be exact."""
    creation = CapabilityCreation[None](tmp_path, max_failures=None)
    entry = creation.store.write('subject', getter('get_native_tools', 'WebSearchTool()', NATIVE))
    if entry.last_error is None:
        await run_call(creation, call('list_authored_capabilities'), capabilities=creation.store.load_active())


async def test_cc3_what_passed_can_be_loaded_and_run(creation: CapabilityCreation[None]) -> None:
    """Everything among the cases that passes is loaded by a later run, which comes to its end."""
    names = [title for title, case in ALL.items() if case.says is None and not case.either]
    for number, title in enumerate(names):
        if (
            'stream' not in title
            and 'subclass' not in title
            and 'replaced' not in title
            and 'removed' not in title
            and 'forgotten' not in title
        ):
            creation.store.write(f'number_{number}', ALL[title].code)
    loaded = creation.store.load_active()
    assert len(loaded) > 40
    assert len(loaded) == len(creation.store.list_all())
    await run_call(creation, call('list_authored_capabilities'), capabilities=loaded)


@pytest.mark.parametrize('mode', MODES)
def test_cc3_no_hook_is_run(mode: Mode, stores: dict[Mode, Check], tmp_path: Path) -> None:
    """Checks construct and ask getters; hooks, tools and instruction functions are left alone."""
    ran = tmp_path / 'ran'
    mark = f'open({str(ran)!r}, "a").write("ran")'
    code = authored(
        f'async def before_run(self, ctx): {mark}\n'
        f'async def for_run(self, ctx): {mark}\n'
        f'async def wrap_run(self, ctx, *, handler): {mark}\n'
        f'def for_agent(self, agent): {mark}\n'
        f'def get_model(self): {mark}\n'
        'def get_instructions(self): return write\n'
        'def get_toolset(self): return write\n'
        'def get_native_tools(self): return [write]\n'
        'def get_model_settings(self): return write\n',
        before=f'def write(ctx): {mark}\n',
    )
    assert stores[mode](code) is None
    assert not ran.exists()


def test_cc3_the_module_is_run_anew_for_every_check(creation: CapabilityCreation[None], tmp_path: Path) -> None:
    """Code that depends on its surroundings is judged by those of now."""
    flag = tmp_path / 'flag'
    code = f'import os\nassert os.path.exists({str(flag)!r})\n' + FINE
    assert creation.store.write('subject', code).last_error is not None
    flag.touch()
    assert creation.store.write('subject', code).last_error is None


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        pytest.param('get_model_settings', 'later'),
        pytest.param('get_model_settings', 'lambda ctx: later(ctx)'),
        pytest.param('get_instructions', 'str'),
        pytest.param('get_instructions', '[dict]'),
        ('get_instructions', 'print'),
        ('get_instructions', 'lambda a, b, c: "x"'),
        pytest.param('get_instructions', 'functools.partial(later, 1, 2)'),
        ('get_model_settings', 'lambda: {}'),
        ('get_model_settings', 'dict'),
        ('get_model_settings', '{"unknown": object()}'),
        ('get_toolset', 'lambda: None'),
        ('get_toolset', 'len'),
        ('get_native_tools', '[len]'),
        ('get_native_tools', '[lambda: 3]'),
        ('get_native_tools', 'WebSearchTool()'),
        ('get_native_tools', '[lambda ctx: WebSearchTool()]'),
    ],
)
@pytest.mark.filterwarnings('ignore:coroutine .* was never awaited')
async def test_beyond4_what_passed_ends_no_run(creation: CapabilityCreation[None], name: str, value: str) -> None:
    """Functions that the agent cannot call are refused, or contained in the run."""
    code = getter(name, value, NATIVE + 'import functools\nasync def later(ctx): return {}\n')
    if creation.store.write('subject', code).last_error is None:
        await run_call(creation, call('list_authored_capabilities'), capabilities=creation.store.load_active())
