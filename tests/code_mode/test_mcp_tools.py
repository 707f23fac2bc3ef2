"""CM-4, CM-5 on the tools of real MCP servers: each is callable as its server declares it, and only so."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.tools import ToolDefinition

from pydantic_ai_harness.code_mode.catalog import Catalog, returned_schema
from pydantic_ai_harness.code_mode.function import Function
from pydantic_ai_harness.narrowing import is_text_mapping
from pydantic_ai_harness.sandbox import TypeChecker, WorkerPool
from tests.code_mode.schema_tools import (
    Example,
    RecordingToolset,
    assert_valid,
    call_text,
    list_text,
    mcp_tools,
    problems,
    refused_lines,
    run_recorded,
    validate,
)
from tests.support import run_snippets

_FOLDER = Path(__file__).parents[3] / 'shared' / 'data' / 'mcp-tools'
_FILES = sorted(_FOLDER.glob('*.json'))

pytestmark = pytest.mark.filterwarnings('ignore::pydantic_ai_harness.code_mode.toolset.MissingReturnSchemaWarning')
over_files = pytest.mark.parametrize(
    'path',
    _FILES or [pytest.param(_FOLDER, marks=pytest.mark.skip(reason='the data of the MCP servers is not here'))],
    ids=lambda path: path.stem,
)


@pytest.fixture(scope='module')
def checker() -> Iterator[TypeChecker]:
    pool = WorkerPool()
    yield pool.type_checker
    pool.close()


def arguments_of(tool: ToolDefinition, *, every: bool, choice: int = 0) -> dict[str, Any]:
    schema = tool.parameters_json_schema
    arguments = Example(schema, every, choice).of(schema)
    validate(arguments, schema)
    return arguments


def result_of(tool: ToolDefinition) -> object:
    schema = returned_schema(tool)
    return 'done' if not is_text_mapping(schema) else Example(tool.return_schema or {}).of(schema)


@over_files
def test_cm4_what_the_model_reads_is_valid_python(path: Path, checker: TypeChecker) -> None:
    tools = mcp_tools(path)
    catalog = Catalog.build(tools)
    assert_valid(checker, catalog)
    assert [function.tool.name for function in catalog.functions.values()] == [tool.name for tool in tools]


def correct_calls(function: Function) -> list[dict[str, Any]]:
    """Arguments with what is required, and with everything, each alternative of the types among them."""
    calls = [arguments_of(function.tool, every=False)]
    calls += [arguments_of(function.tool, every=True, choice=choice) for choice in range(3)]
    return [one for index, one in enumerate(calls) if one not in calls[:index]]


@over_files
async def test_cm4_a_call_arrives_as_the_server_declares_it(path: Path, checker: TypeChecker) -> None:
    toolset = RecordingToolset(mcp_tools(path))
    toolset.results = {tool.name: result_of(tool) for tool in toolset.tools}
    catalog = Catalog.build(toolset.tools)
    calls = [(function, one) for function in catalog.functions.values() for one in correct_calls(function)]
    code = list_text([call_text(*call) for call in calls])
    assert problems(checker, catalog, code) == []
    returned = await run_recorded(code, toolset)
    assert returned.outcome == 'success', returned.content
    assert toolset.calls == [(function.tool.name, arguments) for function, arguments in calls]
    assert returned.content == [toolset.results[function.tool.name] for function, _ in calls]


def with_misspelt(function: Function) -> list[str]:
    arguments = arguments_of(function.tool, every=True)
    if not arguments or function.is_open:
        return []
    *others, last = arguments
    return [call_text(function, {**{key: arguments[key] for key in others}, f'{last}z': arguments[last]})]


def with_missing(function: Function) -> list[str]:
    arguments = arguments_of(function.tool, every=False)
    required = [parameter.key for parameter in function.parameters if parameter.required]
    return [
        call_text(function, {key: one for key, one in arguments.items() if key != left_out}) for left_out in required
    ]


def with_positional(function: Function) -> list[str]:
    arguments = arguments_of(function.tool, every=False)
    first, *others = arguments or ['']
    return [call_text(function, {key: arguments[key] for key in others}, repr(arguments.get(first)))]


def wrong_calls(function: Function) -> list[str]:
    return [*with_misspelt(function), *with_missing(function), *with_positional(function)]


@over_files
async def test_cm5_a_wrong_call_is_refused_before_anything_runs(path: Path, checker: TypeChecker) -> None:
    toolset = RecordingToolset(mcp_tools(path))
    catalog = Catalog.build(toolset.tools)
    calls = [text for function in catalog.functions.values() for text in wrong_calls(function)]
    code = list_text(calls)
    assert refused_lines(checker, catalog, code) == set(range(2, len(calls) + 2))
    returned = await run_recorded(code, toolset)
    assert (returned.outcome, toolset.calls) == ('retried', [])


# -- servers that run ----------------------------------------------------------------------------------------------


def server(command: str, *arguments: str, log: Path) -> MCPToolset[None]:
    path = Path(sys.executable).with_name(command)
    return MCPToolset[None](StdioTransport(str(path), list(arguments), log_file=log, keep_alive=False))


async def test_cm4_a_database_server_over_stdio(tmp_path: Path) -> None:
    toolset = server('mcp-server-sqlite', '--db-path', str(tmp_path / 'a.db'), log=tmp_path / 'log')
    fill = """\
await create_table(query='CREATE TABLE people (id INTEGER, name TEXT)')
await write_query(query="INSERT INTO people VALUES (1, 'Ada'), (2, 'O''Hara')")
"""
    read = """\
import asyncio
tables, rows, count = await asyncio.gather(
    list_tables(),
    read_query(query='SELECT name FROM people ORDER BY id'),
    read_query(query='SELECT count(*) AS n FROM people'),
)
{'tables': tables, 'rows': rows, 'count': count}
"""
    fail = """\
wrong = {'query': 5}
try:
    told = await read_query(**wrong)
except Exception as error:
    told = type(error).__name__, str(error)
told
"""
    filled, found, failed = await run_snippets(fill, read, fail, toolsets=[toolset])
    assert filled.content == "[{'affected_rows': 2}]"
    assert found.content == {
        'tables': "[{'name': 'people'}]",
        'rows': """[{'name': 'Ada'}, {'name': "O'Hara"}]""",
        'count': "[{'n': 2}]",
    }
    assert failed.content == ['RuntimeError', "Input validation error: 5 is not of type 'string'"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / 'repository'
    folder.mkdir()
    for arguments in (['init', '-q', '-b', 'main'], ['config', 'user.name', 'Ada'], ['config', 'user.email', 'a@b.c']):
        subprocess.run(['git', *arguments], cwd=folder, check=True)
    (folder / 'a.txt').write_text('one\n')
    return folder


async def test_cm4_a_version_control_server_over_stdio(tmp_path: Path, repository: Path) -> None:
    toolset = server('mcp-server-git', '--repository', str(repository), log=tmp_path / 'log')
    commit = f"""\
path = {str(repository)!r}
await git_add(repo_path=path, files=['a.txt'])
await git_commit(repo_path=path, message='The first')
"""
    look = """\
import asyncio
log, branches, status = await asyncio.gather(
    git_log(repo_path=path, max_count=1, start_timestamp=None),
    git_branch(repo_path=path, branch_type='local'),
    git_status(repo_path=path),
)
['The first' in log, branches.strip(), 'working tree clean' in status]
"""
    fail = """\
try:
    told = await git_checkout(repo_path=path, branch_name='missing')
except RuntimeError as error:
    told = str(error)
told
"""
    committed, looked, failed = await run_snippets(commit, look, fail, toolsets=[toolset])
    assert 'Changes committed successfully' in str(committed.content)
    assert looked.content == [True, '* main', True]
    assert 'missing' in str(failed.content)
