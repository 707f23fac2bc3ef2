"""CM-14, CM-15 and CM-22: environment, clock, files and mounts, and what the sandbox has without them."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from inline_snapshot import snapshot
from pydantic_ai import Tool
from pydantic_ai.messages import ToolReturnPart
from pydantic_monty import NOT_HANDLED, MemoryFile, MountDir, OSAccess

from pydantic_ai_harness import CodeMode, ConfigurationError, WorkerPool
from pydantic_ai_harness.code_mode import OsAccess
from pydantic_ai_harness.code_mode.prompt import HOST_MODULES, MODULES
from pydantic_ai_harness.sandbox import Finished, Session, Snippet
from tests.support import ScriptedModel, Turn, code_returns, make_agent, run_snippet, run_snippets

Mode = Literal['read-only', 'read-write', 'overlay']
GETENV = "import os\nos.getenv('KEY')"


async def run(*turns: Turn, **settings: Any) -> list[ToolReturnPart]:
    return await run_snippets(*turns, code_mode=CodeMode[None](**settings))


async def value_of(code: str, **settings: Any) -> object:
    (returned,) = await run(code, **settings)
    assert returned.outcome == 'success', returned.content
    return returned.content


async def retry_of(code: str, **settings: Any) -> str:
    (returned,) = await run(code, **settings)
    assert returned.outcome == 'retried', returned.content
    return str(returned.content)


async def told(**settings: Any) -> str:
    """What the model reads of host access: the line that speaks of the network."""
    script = ScriptedModel([])
    await make_agent(script, code_mode=CodeMode[None](**settings)).run('go')
    (line,) = [line for line in script.description.split('\n') if 'network' in line]
    return line


# -- CM-14: an AbstractOS ----------------------------------------------------------------------------------------


async def test_cm14_os_access_answers_for_the_environment() -> None:
    code = (
        "import os\n[os.getenv('KEY'), os.getenv('NONE'), os.getenv('NONE', 'd'), os.environ['KEY'], dict(os.environ)]"
    )
    value = await value_of(code, os_access=OSAccess(environ={'KEY': 'v'}))
    assert value == ['v', None, 'd', 'v', {'KEY': 'v'}]


async def test_cm14_os_access_answers_for_clock_randomness_and_files() -> None:
    code = """
import os, random, time
from datetime import date, datetime
from pathlib import Path
Path('/new.txt').write_text('new')
[
    datetime.now().year > 2000, date.today().year > 2000, time.time() > 0,
    random.random() < 1, len(os.urandom(4)),
    open('/a.txt').read(), Path('/new.txt').read_text(),
]
"""
    value = await value_of(code, os_access=OSAccess(files=[MemoryFile('/a.txt', 'hi')]))
    assert value == [True, True, True, True, 4, 'hi', 'new']


async def test_cm14_a_missing_variable_is_a_key_error_in_the_code() -> None:
    code = "import os\ntry:\n    os.environ['NONE']\nexcept KeyError:\n    r = 'missing'\nr"
    assert await value_of(code, os_access=OSAccess(environ={})) == 'missing'


async def test_cm14_sleeping_stays_with_the_host_and_its_allowance() -> None:
    code = 'import time\ntime.sleep(5)'
    text = await retry_of(code, os_access=OSAccess(), resource_limits={'max_duration_secs': 0.1})
    assert 'sleeping 5 s is past the allowance' in text


# -- CM-14: handlers ---------------------------------------------------------------------------------------------


def positional(fn: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    return [fn, list(args), kwargs]


def with_more(more: str, fn: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    return [fn, list(args), kwargs, more]


def keywords(*, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], is_async: bool, **_: Any) -> object:
    return [name, list(args), kwargs, is_async]


def open_keywords(**call: Any) -> object:
    return [call['name'], list(call['args']), call['kwargs']]


class Handler:
    """Handlers that are bound to something."""

    def __call__(self, fn: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        return positional(fn, args, kwargs)

    def method(self, fn: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        return positional(fn, args, kwargs)

    def by_keyword(self, *, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], **_: Any) -> object:
        return positional(name, args, kwargs)

    @staticmethod
    def static(fn: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        return positional(fn, args, kwargs)


CALL: list[object] = ['os.getenv', ['KEY', None], {}]


HANDLERS: list[tuple[OsAccess, list[object]]] = [
    (positional, CALL),
    (lambda fn, args, kwargs: [fn, list(args), kwargs], CALL),
    (Handler(), CALL),
    (Handler().method, CALL),
    (Handler.static, CALL),
    (functools.partial(with_more, 'more'), [*CALL, 'more']),
    (keywords, [*CALL, False]),
    (open_keywords, CALL),
    (Handler().by_keyword, CALL),
]


@pytest.mark.parametrize(
    ('handler', 'seen'),
    HANDLERS,
    ids=['function', 'lambda', 'object', 'method', 'static', 'partial', 'keywords', 'open-keywords', 'keyword-method'],
)
async def test_cm14_both_forms_of_a_handler_work(handler: OsAccess, seen: list[object]) -> None:
    assert await value_of(GETENV, os_access=handler) == seen


def answering(answer: object) -> Callable[[str, tuple[object, ...], dict[str, object]], object]:
    return lambda fn, args, kwargs: answer


@pytest.mark.parametrize('answer', [None, '', 0, False, 5, 'text', b'raw', [], {'a': [1]}], ids=repr)
async def test_cm14_any_value_is_an_answer(answer: object) -> None:
    value = await value_of("import os\n[os.getenv('KEY', 'default')]", os_access=answering(answer))
    assert value == [answer]


async def test_cm14_not_handled_refuses_and_raises_in_the_code() -> None:
    code = f'{GETENV.split(chr(10), maxsplit=1)[0]}\ntry:\n    os.getenv("KEY")\nexcept RuntimeError as e:\n    r = str(e)\nr'
    assert 'not supported' in str(await value_of(code, os_access=answering(NOT_HANDLED)))
    assert 'line 2' in await retry_of(GETENV, os_access=answering(NOT_HANDLED))


async def test_cm14_a_handler_that_refuses_some_calls_answers_the_others() -> None:
    def only_env(fn: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        return 'v' if fn == 'os.getenv' else NOT_HANDLED

    code = 'v = os.getenv("KEY")\ntry:\n    open("/etc/passwd")\nexcept PermissionError:\n    v += " denied"\nv'
    assert await value_of(f'import os\n{code}', os_access=only_env) == 'v denied'


async def test_cm14_what_a_handler_raises_is_raised_in_the_code() -> None:
    def refuse(fn: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        raise ValueError(f'no {fn}')

    code = "import os\ntry:\n    os.getenv('KEY')\nexcept ValueError as e:\n    r = str(e)\nr"
    assert await value_of(code, os_access=refuse) == 'no os.getenv'
    failed, after = await run(f'kept = 1\n{GETENV}', 'kept', os_access=refuse)
    assert 'ValueError: no os.getenv' in str(failed.content)
    assert after.content == 1


async def test_cm14_an_answer_that_cannot_cross_raises_in_the_code() -> None:
    text = await retry_of(GETENV, os_access=answering(object()))
    assert 'TypeError' in text
    assert 'line 2' in text


async def async_handler(fn: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    return None


class AsyncHandler:
    async def __call__(self, fn: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        return None


@pytest.mark.parametrize(
    'bad',
    [
        async_handler,
        functools.partial(async_handler),
        5,
        'KEY=v',
        {'KEY': 'v'},
        AsyncHandler(),
        min,
        lambda: None,
    ],
    ids=['async', 'async-partial', 'number', 'text', 'dict', 'async-object', 'builtin', 'no-arguments'],
)
def test_cm14_what_cannot_answer_fails_when_the_capability_is_built(bad: Any) -> None:
    with pytest.raises(ConfigurationError, match='os_access'):
        CodeMode[None](os_access=bad)


async def test_cm14_a_handler_of_one_agent_is_not_that_of_another_on_the_same_worker() -> None:
    pool = WorkerPool(max_workers=1)
    assert await value_of(GETENV, os_access=OSAccess(environ={'KEY': 'secret'}), worker_pool=pool) == 'secret'
    assert 'not supported' in await retry_of(GETENV, worker_pool=pool)
    assert await value_of(GETENV, os_access=OSAccess(environ={'KEY': 'other'}), worker_pool=pool) == 'other'
    pool.close()


async def test_cm14_the_handler_is_there_again_after_the_snippet_waited_without_its_worker() -> None:
    pool = WorkerPool(max_workers=1)
    code_mode = CodeMode[None](os_access=OSAccess(environ={'KEY': 'v'}), worker_pool=pool)

    async def take_worker() -> None:
        await run_snippets('1', code_mode=CodeMode[None](worker_pool=pool))

    code = f"{GETENV}\nawait take_worker()\nos.getenv('KEY')"
    assert (await run_snippet(code, tools=[Tool(take_worker)], code_mode=code_mode)).content == 'v'
    pool.close()


REFUSED = [
    GETENV,
    "import os\nos.environ['KEY']",
    'import os\ndict(os.environ)',
    'from datetime import datetime\ndatetime.now()',
    'from datetime import datetime, timezone\ndatetime.now(timezone.utc)',
    'from datetime import date\ndate.today()',
    'import time\ntime.time()',
    'import time\ntime.monotonic()',
    'import random\nrandom.random()',
    'import os\nos.urandom(3)',
    "open('/etc/passwd').read()",
    "open('/tmp/x', 'w')",
    "from pathlib import Path\nPath('/etc/passwd').read_text()",
    "from pathlib import Path\nPath('/').exists()",
    "from pathlib import Path\nlist(Path('.').iterdir())",
    "import os\nos.listdir('/')",
]


@pytest.mark.parametrize('code', REFUSED)
async def test_cm14_without_os_access_nothing_of_the_host_is_there(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('KEY', 'secret')
    text = await retry_of(code)
    assert 'not supported in this environment' in text or 'PermissionError' in text
    assert 'line ' in text
    assert 'secret' not in text


async def test_cm14_the_model_is_told_what_it_has() -> None:
    assert await told() == snapshot('- There is no file, environment variable, clock, randomness or network.')
    assert await told(os_access=OSAccess()) == snapshot(
        '- Environment variables (`os.getenv`), the clock (`datetime.now()`, `time.time()`) and files are answered by the host, as far as it allows. There is no network.'
    )


# -- CM-15: mounts -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / 'shared'
    (folder / 'sub').mkdir(parents=True)
    (folder / 'a.txt').write_text('hello')
    (folder / 'sub' / 'b.txt').write_text('deep')
    return folder


def mounted(folder: Path, mode: Mode = 'overlay', path: str = '/data') -> MountDir:
    return MountDir(host_path=folder, virtual_path=path, mode=mode)


READ = "open('/data/a.txt').read()"
WRITE = "from pathlib import Path\nPath('/data/a.txt').write_text('changed')\nPath('/data/n.txt').write_text('new')"
READ_BACK = "[Path('/data/a.txt').read_text(), open('/data/n.txt').read()]"
LOOK = "from pathlib import Path\n[Path('/data/a.txt').read_text(), Path('/data/n.txt').exists()]"


@pytest.mark.parametrize('mode', ['read-only', 'read-write', 'overlay'])
async def test_cm15_files_are_read_in_every_mode(mode: Mode, folder: Path) -> None:
    code = f"from pathlib import Path\n[{READ}, Path('/data/sub/b.txt').read_text(), sorted(p.name for p in Path('/data').iterdir())]"
    assert await value_of(code, mount=mounted(folder, mode)) == ['hello', 'deep', ['a.txt', 'sub']]


async def test_cm15_overlay_is_the_default_and_its_writes_last_for_the_call(folder: Path) -> None:
    wrote, after = await run(f'{WRITE}\n{READ_BACK}', LOOK, mount=MountDir(host_path=folder, virtual_path='/data'))
    assert wrote.content == ['changed', 'new']
    assert after.content == ['hello', False]
    assert not (folder / 'n.txt').exists()
    assert (folder / 'a.txt').read_text() == 'hello'


async def test_cm15_overlay_deletions_do_not_reach_the_host(folder: Path) -> None:
    code = "from pathlib import Path\nPath('/data/a.txt').unlink()\nPath('/data/a.txt').exists()"
    gone, after = await run(code, LOOK, mount=mounted(folder))
    assert gone.content is False
    assert after.content == ['hello', False]
    assert (folder / 'a.txt').exists()


async def test_cm15_read_write_reaches_the_host(folder: Path) -> None:
    wrote, after = await run(f'{WRITE}\n{READ_BACK}', LOOK, mount=mounted(folder, 'read-write'))
    assert wrote.content == ['changed', 'new']
    assert after.content == ['changed', True]
    assert (folder / 'n.txt').read_text() == 'new'


async def test_cm15_read_only_refuses(folder: Path) -> None:
    refused, after = await run(WRITE, LOOK, mount=mounted(folder, 'read-only'))
    assert 'Read-only file system' in str(refused.content)
    assert after.content == ['hello', False]
    assert (folder / 'a.txt').read_text() == 'hello'


async def test_cm15_several_mounts_each_with_its_mode(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / 'other'
    other.mkdir()
    mounts = [mounted(folder, 'read-only'), mounted(other, 'read-write', '/out')]
    code = f"from pathlib import Path\nPath('/out/copy.txt').write_text({READ})\ntry:\n    Path('/data/x').write_text('')\nexcept OSError:\n    r = 'refused'\nr"
    assert await value_of(code, mount=mounts) == 'refused'
    assert (other / 'copy.txt').read_text() == 'hello'


@pytest.mark.parametrize('mode', ['read-only', 'read-write', 'overlay'])
@pytest.mark.parametrize('path', ['/data/../secret.txt', '/data/sub/../../secret.txt', '/data/link', '/secret.txt'])
async def test_cm15_nothing_outside_the_directory_is_reached(mode: Mode, path: str, folder: Path) -> None:
    (folder.parent / 'secret.txt').write_text('secret')
    (folder / 'link').symlink_to(folder.parent / 'secret.txt')
    text = await retry_of(f"open('{path}').read()", mount=mounted(folder, mode))
    assert 'PermissionError' in text or 'FileNotFoundError' in text
    assert str(folder.parent) not in text


@pytest.mark.parametrize('mode', ['read-write', 'overlay'])
async def test_cm15_writes_survive_waiting_for_a_tool_that_needs_the_worker(mode: Mode, folder: Path) -> None:
    pool = WorkerPool(max_workers=1)

    async def take_worker() -> None:
        await run_snippets('1', code_mode=CodeMode[None](worker_pool=pool))

    code_mode = CodeMode[None](mount=mounted(folder, mode), worker_pool=pool)
    code = f'{WRITE}\nawait take_worker()\n{READ_BACK}'
    async with asyncio.timeout(10):
        returned = await run_snippet(code, tools=[Tool(take_worker)], code_mode=code_mode)
    assert returned.content == ['changed', 'new']
    pool.close()


async def test_cm15_overlays_of_runs_at_once_are_apart(folder: Path) -> None:
    async def swap(text: str) -> object:
        async def pause() -> None:
            await asyncio.sleep(0.02)

        code = f"from pathlib import Path\nPath('/data/a.txt').write_text('{text}')\nawait pause()\n{READ}"
        code_mode = CodeMode[None](mount=mounted(folder))
        return (await run_snippet(code, tools=[Tool(pause)], code_mode=code_mode)).content

    assert await asyncio.gather(*[swap(f't{n}') for n in range(6)]) == [f't{n}' for n in range(6)]


async def test_cm15_a_mount_and_os_access_together(folder: Path) -> None:
    code = f"import os\n[{READ}, os.getenv('KEY'), open('/mem.txt').read()]"
    access = OSAccess(environ={'KEY': 'v'}, files=[MemoryFile('/mem.txt', 'm')])
    assert await value_of(code, mount=mounted(folder), os_access=access) == ['hello', 'v', 'm']


async def test_cm15_a_mount_brings_no_environment_and_no_clock(folder: Path) -> None:
    assert 'not supported' in await retry_of(GETENV, mount=mounted(folder))
    assert 'not supported' in await retry_of('import time\ntime.time()', mount=mounted(folder))


@pytest.mark.parametrize('path', ['/data/none.txt', '/data/sub/none.txt'])
async def test_cm15_a_missing_file_is_a_file_not_found_error(path: str, folder: Path) -> None:
    code = f"try:\n    open('{path}')\nexcept FileNotFoundError:\n    r = 'missing'\nr"
    assert await value_of(code, mount=mounted(folder)) == 'missing'


def test_cm15_bad_mounts_fail_when_the_capability_is_built(folder: Path) -> None:
    twice = [mounted(folder), mounted(folder / 'sub')]
    bad: list[Any] = [str(folder), folder.name, [folder], [mounted(folder), 'x'], twice]
    for mount in bad:
        with pytest.raises(ConfigurationError, match='mount'):
            CodeMode[None](mount=mount)


def test_cm15_a_number_as_mount_is_a_configuration_error() -> None:
    number: Any = 5
    with pytest.raises(ConfigurationError, match='mount'):
        CodeMode[None](mount=number)


def test_cm15_mounts_that_overlap_fail_when_the_capability_is_built(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match='mount'):
        CodeMode[None](mount=[mounted(folder), mounted(folder / 'sub', path='/sub')])


async def test_cm15_the_model_is_told_each_path_its_mode_and_how_long_writes_live(folder: Path, tmp_path: Path) -> None:
    (tmp_path / 'other').mkdir()
    several = [mounted(folder, 'read-only', '/in'), mounted(tmp_path / 'other', 'read-write', '/out')]
    assert await told(mount=mounted(folder)) == snapshot(
        '- Files under `/data` can be read and written, but what is written is gone after this call (`pathlib`, `open`). There is no environment variable and no clock. There is no network.'
    )
    assert await told(mount=mounted(folder, 'read-write')) == snapshot(
        '- Files under `/data` can be read and written, and what is written stays (`pathlib`, `open`). There is no environment variable and no clock. There is no network.'
    )
    assert await told(mount=several) == snapshot(
        '- Files under `/in` can be read, not written (`pathlib`, `open`). Files under `/out` can be read and written, and what is written stays (`pathlib`, `open`). There is no environment variable and no clock. There is no network.'
    )
    assert await told(mount=mounted(folder), os_access=OSAccess()) == snapshot(
        '- Files under `/data` can be read and written, but what is written is gone after this call (`pathlib`, `open`). Environment variables (`os.getenv`), the clock (`datetime.now()`, `time.time()`) and files are answered by the host, as far as it allows. There is no network.'
    )


async def test_cm8_paths_are_returned_as_text(folder: Path) -> None:
    code = "from pathlib import Path\n[path for path in Path('/data').iterdir()]"
    paths: Any = await value_of(code, mount=mounted(folder))
    assert sorted(paths) == ['/data/a.txt', '/data/sub']


# -- CM-22: the sandbox ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'module', ['requests', 'numpy', 'pydantic', 'socket', 'subprocess', 'ctypes', 'urllib.request', 'http', 'threading']
)
async def test_cm22_no_other_module_can_be_imported(module: str) -> None:
    text = await retry_of(f'import {module}')
    assert 'The code was not run' in text
    assert f'there is no module `{module}`' in text
    code = f"try:\n    import {module}\n    r = 'imported'\nexcept ImportError:\n    r = 'none'\nr"
    assert await value_of(code) == 'none'


@pytest.mark.parametrize(
    'code',
    ['from math import *', "__import__('socket')", 'eval(\'__import__("socket")\')', 'import os\nos.system("ls")'],
)
async def test_cm22_there_is_no_way_round(code: str) -> None:
    await retry_of(code)


@pytest.mark.parametrize('name', ['globals', 'breakpoint', 'input', 'compile', 'vars', '__loader__', '__builtins__'])
async def test_cm22_builtins_that_reach_the_interpreter_are_not_there(name: str) -> None:
    await retry_of(f'{name}()')


async def test_cm22_a_worker_keeps_nothing_of_one_run_for_the_next() -> None:
    pool = WorkerPool(max_workers=1)
    await run_snippet("left = 'over'\nimport json\nlen = 5", code_mode=CodeMode[None](worker_pool=pool))
    code = "mine = 1\nfound = [name in locals() for name in ('mine', 'left', 'json', 'len')]\n[*found, len('abc')]"
    returned = await run_snippet(code, code_mode=CodeMode[None](worker_pool=pool))
    assert returned.content == [True, False, False, False, 3]
    pool.close()


def test_cm22_the_modules_that_the_model_reads_are_those_of_the_sandbox() -> None:
    tries = [
        f'try:\n    import {name}\n    found.append({name!r})\nexcept ImportError:\n    pass'
        for name in sorted(sys.stdlib_module_names - {'__future__'})
    ]
    pool = WorkerPool()
    session = Session(pool)
    step = session.feed(Snippet(code='\n'.join(['found = []', *tries, 'found']))).result()
    session.close().result()
    pool.close()
    assert isinstance(step, Finished)
    assert step.value == sorted([*MODULES, *HOST_MODULES, 'posixpath'])  # the last is `os.path` under another name


async def test_cm22_the_model_reads_the_modules_and_each_can_be_imported() -> None:
    script = ScriptedModel(['\n'.join(f'import {name}' for name in [*MODULES, *HOST_MODULES])])
    result = await make_agent(script).run('go')
    assert f'{", ".join(MODULES)}. No other packages' in script.description
    assert code_returns(result.all_messages())[0].content == {}
