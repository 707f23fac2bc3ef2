"""CC-3: what the model reads of an error in its code, and what it does not read of this machine."""

from __future__ import annotations

import re
import site
import sys
from pathlib import Path
from typing import get_args

import pytest

from pydantic_ai_harness import CapabilityCreation

from .cases import ALL, CONTRACT
from .conftest import Check, Mode
from .support import FINE, IMPORT, author, authored, run_call

MODES: tuple[Mode, ...] = get_args(Mode)
both = pytest.mark.parametrize('mode', MODES)


def why(check: Check, code: str) -> str:
    """The error of code that must be refused."""
    error = check(code)
    assert error is not None
    return error


# -- syntax ------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ('line', 'caret_below'),
    [
        ('x = = 3', '= 3'),
        ('    x = = 3', '= 3'),
        ('class C(AbstractCapability:', ':'),
        ('x = "\u00e9\u00e8\u00ea"; y = = 3', '= 3'),
        ('x = "\u65e5\u672c"; y = = 3', '= 3'),
        ('x = "\U0001f600"; y = = 3', '= 3'),
        ('x = (1,', '(1'),
        ('print "x"', 'print'),
        ('\tx = = 3', '= 3'),
    ],
)
def test_cc3_a_syntax_error_shows_line_and_caret(
    mode: Mode, stores: dict[Mode, Check], line: str, caret_below: str
) -> None:
    """The number, the line and a caret under the character in question; indentation is left out of both."""
    indented = line != line.lstrip()
    before = 'if True:\n' if indented else ''
    error = why(stores[mode], IMPORT + before + line + '\n')
    heading, number, quoted, caret = error.splitlines()
    assert heading.startswith('SyntaxError: ')
    assert number == f'line {3 if indented else 2}:'
    assert quoted == f'    {line.strip()}'
    assert caret.strip() == '^'
    assert quoted[len(caret) - 1 :].startswith(caret_below)


@both
def test_cc3_the_caret_is_right_after_tabs_within_the_line(mode: Mode, stores: dict[Mode, Check]) -> None:
    """As the model sees it: a tab in the line is a tab above the caret too."""
    quoted, caret = why(stores[mode], IMPORT + 'x\t= = 3\n').splitlines()[-2:]
    assert quoted.expandtabs()[len(caret.expandtabs()) - 1 :].startswith('= 3')


@both
@pytest.mark.parametrize(
    'line',
    [
        'return 3',
        'yield 3',
        'def f(a, a): pass',
        'def f():\n    x = 1\n    global x',
        'nonlocal x',
        'def f(): f() = 1; await',
    ],
)
def test_cc3_an_error_that_the_compiler_finds_late_is_quoted_too(
    mode: Mode, stores: dict[Mode, Check], line: str
) -> None:
    """For these the exception holds no text, but the code is known."""
    error = why(stores[mode], IMPORT + line + '\n')
    last = line.splitlines()[-1].strip()
    assert re.search(rf'line \d:\n    {re.escape(last)}\n', error)


@both
def test_cc3_indentation_errors_are_quoted(mode: Mode, stores: dict[Mode, Check]) -> None:
    """The line in question is shown."""
    error = why(stores[mode], IMPORT + 'def f():\nreturn 3\n')
    assert error.startswith('IndentationError: expected an indented block after function definition on line 2\nline 3:')
    assert '\n    return 3\n' in error


@both
@pytest.mark.parametrize('code', ['exec("\\n\\n\\nx = = 3")\n', 'compile("x = = 3", "elsewhere", "exec")\n'])
def test_cc3_a_syntax_error_of_other_text_says_where_it_came_from(
    mode: Mode, stores: dict[Mode, Check], code: str
) -> None:
    """What is parsed at run time has lines of its own; the model needs that of its own code."""
    assert 'line 2, in <module>:' in why(stores[mode], IMPORT + code)


@both
def test_cc3_a_syntax_error_of_an_imported_module_says_where_it_came_from(
    mode: Mode, stores: dict[Mode, Check], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import is what the model wrote."""
    (tmp_path / 'pretended_broken.py').write_text('\n\n\n\nx = = 3\n')
    monkeypatch.setattr(sys, 'path', [str(tmp_path), *sys.path])
    assert 'line 2, in <module>:\n    import pretended_broken' in why(
        stores[mode], IMPORT + 'import pretended_broken\n'
    )


# -- lines -------------------------------------------------------------------------------------------------------


@both
def test_cc3_an_error_shows_the_lines_that_led_to_it(mode: Mode, stores: dict[Mode, Check]) -> None:
    """Each is quoted with its number and function, innermost last, and no more than three."""
    code = 'def a():\n    return b()\ndef b():\n    return c()\ndef c():\n    return d()\ndef d():\n    1 / 0\na()\n'
    assert why(stores[mode], code) == (
        'ZeroDivisionError: division by zero\n'
        'line 4, in b:\n    return c()\nline 6, in c:\n    return d()\nline 8, in d:\n    1 / 0'
    )


@both
def test_cc3_frames_of_others_are_left_out(mode: Mode, stores: dict[Mode, Check]) -> None:
    """An error from within a library is shown where the code called it."""
    error = why(stores[mode], 'import json\njson.loads("{")\n')
    assert error.startswith('JSONDecodeError: ')
    assert error.endswith('line 2, in <module>:\n    json.loads("{")')


@both
@pytest.mark.parametrize('name', ['get_instructions', 'get_toolset', 'get_native_tools', 'get_model_settings'])
def test_cc3_the_line_of_a_getter_is_quoted(mode: Mode, stores: dict[Mode, Check], name: str) -> None:
    """Like those of the module and the constructor."""
    error = why(stores[mode], authored(f'def {name}(self):\n    return 1 / 0'))
    assert error == (f'{name}() failed: ZeroDivisionError: division by zero\nline 4, in {name}:\n    return 1 / 0')


@both
def test_cc3_the_line_of_a_constructor_is_quoted(mode: Mode, stores: dict[Mode, Check]) -> None:
    """The error, the line and the contract."""
    error = why(stores[mode], authored('def __init__(self):\n    self.x = 1 / 0'))
    assert error.startswith(
        'Authored() failed: ZeroDivisionError: division by zero\nline 4, in __init__:\n    self.x ='
    )
    assert CONTRACT in error


def test_cc3_lines_are_those_of_the_code_that_was_sent(creation: CapabilityCreation[None]) -> None:
    """Code that is sent again in another form is quoted in that form."""
    first = creation.store.write('subject', '# one\n# two\nraise ValueError(1)\n').last_error or ''
    second = creation.store.write('subject', 'raise ValueError(2)\n').last_error or ''
    assert 'line 3, in <module>:\n    raise ValueError(1)' in first
    assert 'line 1, in <module>:\n    raise ValueError(2)' in second


@both
def test_cc3_long_messages_are_cut(mode: Mode, stores: dict[Mode, Check]) -> None:
    """Ten megabytes are no error message."""
    for code in ['raise ValueError("x" * 10_000_000)', authored('def get_toolset(self): return "x" * 10_000_000')]:
        error = why(stores[mode], code)
        assert len(error) < 1500
        assert 'xxx ...' in error


@both
@pytest.mark.parametrize(
    'code', ['raise ValueError("short") #' + 'z' * 100_000, 'x = = 3 #' + 'z' * 100_000], ids=['runtime', 'syntax']
)
def test_cc3_long_lines_are_cut(mode: Mode, stores: dict[Mode, Check], code: str) -> None:
    """A line of a hundred kilobytes is not repeated to the model."""
    assert len(why(stores[mode], code)) < 3000


@both
def test_cc3_long_names_are_cut(mode: Mode, stores: dict[Mode, Check]) -> None:
    """Nor is a name of that length."""
    assert len(why(stores[mode], f'class {"E" * 100_000}(Exception): pass\nraise {"E" * 100_000}\n')) < 3000


# -- this machine ------------------------------------------------------------------------------------------------

PLACES = sorted({str(Path.cwd()), sys.prefix, sys.base_prefix, str(Path.home()), *site.getsitepackages()})


def places_in(text: str, *places: object) -> list[str]:
    """Which places on this machine a text tells of."""
    return [str(place) for place in [*PLACES, 'site-packages', *places] if str(place) in text and len(str(place)) > 1]


def test_cc3_no_error_tells_where_things_are(stores: dict[Mode, Check], tmp_path: Path) -> None:
    """None of the errors of all the cases holds a path of this machine, or says which file the code is in."""
    told = {
        title: places
        for title, case in ALL.items()
        if (error := stores['in_process'](case.code)) is not None
        if (places := places_in(error, tmp_path, 'capability_creation/', '.py"'))
    }
    assert told == {}


@both
@pytest.mark.parametrize(
    'code',
    [
        pytest.param('from pydantic_ai import no_such_name\n', id='framework'),
        pytest.param('from json import no_such_name\n', id='standard library'),
        pytest.param('from pydantic_ai.capabilities import AbstractCapabilty\n', id='misspelt'),
    ],
)
def test_cc3_a_wrong_import_does_not_tell_where_the_module_is(mode: Mode, stores: dict[Mode, Check], code: str) -> None:
    """The commonest mistake of a model; the name and the module are enough."""
    error = why(stores[mode], code)
    assert 'cannot import name' in error
    assert code.strip() in error
    assert places_in(error) == []


@both
def test_cc3_the_path_of_the_code_is_not_told(mode: Mode, stores: dict[Mode, Check], tmp_path: Path) -> None:
    """Neither by the module nor by what shows it."""
    error = why(stores[mode], 'import sys\nraise ValueError(repr(sys.modules[__name__]))\n')
    assert places_in(error, tmp_path, '/isolated') == []


async def test_cc3_the_tool_does_not_tell_where_things_are(creation: CapabilityCreation[None], tmp_path: Path) -> None:
    """Nor does what the tool says around the error, or the list."""
    for code in [FINE, 'raise ValueError\n', 'x = (\n']:
        text = str((await run_call(creation, author(code))).content)
        assert places_in(text, tmp_path) == []


# -- the contract and the hint -----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    'code',
    [
        '',
        FINE + 'class Other(AbstractCapability): pass\n',
        authored('def __init__(self, n): pass'),
        authored('@abstractmethod\ndef f(self): ...', before='from abc import abstractmethod\n'),
    ],
)
def test_cc3_the_contract_is_said_where_it_was_broken(mode: Mode, stores: dict[Mode, Check], code: str) -> None:
    """One class, without arguments, from where it is imported: what a model has to know to do it right."""
    error = why(stores[mode], code)
    assert CONTRACT in error
    assert '`pydantic_ai.capabilities.AbstractCapability`' in error
    assert 'constructed without arguments' in error


@pytest.mark.parametrize('isolate', [False, True])
@pytest.mark.parametrize(
    ('body', 'names'),
    [
        ('pass', ''),
        ('async def before_tool_exec(self, ctx, *, call, tool_def, args): return args', '`before_tool_exec`'),
        ('def instructions(self): return "x"\ndef tools(self): return []', '`instructions`, `tools`'),
        ('def _helper(self): pass', ''),
        ('x = 3', ''),
    ],
)
async def test_cc3_a_capability_that_overrides_nothing_gets_a_hint(
    creation: CapabilityCreation[None], isolated: CapabilityCreation[None], body: str, names: str, *, isolate: bool
) -> None:
    """It is accepted; the hint names what was probably meant to be a hook, and hooks that there are."""
    part = await run_call(isolated if isolate else creation, author(authored(body)))
    text = str(part.content)
    assert 'passed its checks' in text
    assert 'Note: It overrides no hook and no getter' in text
    assert 'before_tool_execute' in text
    assert names in text
    assert '_helper' not in text


@pytest.mark.parametrize(
    'body',
    [
        'async def before_run(self, ctx): pass',
        'def get_instructions(self): return None',
        'def get_model(self): return None',
        'get_toolset = lambda self: None',
        'def __init__(self):\n    self.get_instructions = lambda: "x"',
    ],
)
async def test_cc3_a_capability_with_an_effect_gets_no_hint(creation: CapabilityCreation[None], body: str) -> None:
    """One hook or getter is enough, however it was defined."""
    assert 'Note:' not in str((await run_call(creation, author(authored(body)))).content)


async def test_cc3_a_listener_is_an_effect(creation: CapabilityCreation[None]) -> None:
    """A method that is marked as a listener for events counts as a hook."""
    before = 'from pydantic_ai.capabilities import on_event\nfrom pydantic_ai.messages import FunctionToolCallEvent\n'
    code = authored('@on_event\nasync def saw(self, ctx, event: FunctionToolCallEvent): pass', before=before)
    text = str((await run_call(creation, author(code))).content)
    assert 'passed its checks' in text
    assert 'Note:' not in text


async def test_cc3_a_misspelt_hook_beside_a_right_one_is_accepted(creation: CapabilityCreation[None]) -> None:
    """Methods of its own are no mistake."""
    code = authored('def helper(self): return 1\nasync def before_run(self, ctx): self.helper()')
    assert 'Note:' not in str((await run_call(creation, author(code))).content)


async def test_cc3_an_ordering_that_is_not_kept_gets_a_hint(creation: CapabilityCreation[None]) -> None:
    """Of an ordering only `outermost` is kept, and the model is told."""
    before = 'from pydantic_ai.capabilities import CapabilityOrdering\n'
    for position, hinted in [('innermost', True), ('outermost', False)]:
        code = authored(f'def get_ordering(self): return CapabilityOrdering(position={position!r})', before=before)
        assert ('get_ordering' in str((await run_call(creation, author(code))).content)) is hinted
