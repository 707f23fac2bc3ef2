"""One program over three MCP servers with 64 tools: it looks up what it needs, and calls it, in one `run_code` call.

`.venv/bin/python examples/many_servers.py` needs no key: a stand-in sends the code that a model would write.
`--model provider:name` asks a live model. The Excel server needs other versions of packages than this project, so
`uv tool run` gives it an environment of its own, which it downloads the first time.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from demo import Screen
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent, AgentRunResultEvent, ModelRetry, RunContext
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.mcp import CallToolFunc, MCPToolset
from pydantic_ai.messages import FunctionToolCallEvent, FunctionToolResultEvent, ToolReturnPart
from pydantic_ai.models.test import TestModel
from rich.console import Console
from rich.padding import Padding
from rich.text import Text
from shop import StartError
from stand_in import Plan, StandIn, call

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.code_mode import MissingReturnSchemaWarning, NestedToolCallEvent
from pydantic_ai_harness.code_mode.token_estimate import estimate_tokens

TASK = """\
Who made how many commits in the git repository `project`, and when was the last? Keep author and day of each in the \
database, in a table `commits`, and write the figures to a new workbook `commits.xlsx`, with the sum below them."""

COMMITS = {
    '2026-01-12': 'Ada Lovelace',
    '2026-01-14': "Siobhan O'Neill",
    '2026-02-02': 'Ada Lovelace',
    '2026-02-17': 'Grace Hopper',
    '2026-02-20': 'Ada Lovelace',
    '2026-03-03': "Siobhan O'Neill",
}
"""By day, who committed something."""

NO_LIVE_MODEL = """\
No live model: a STAND-IN sends recorded code. All else is real: agent, sandbox, MCP servers, repository, database, \
workbook.
"""

# The code that a model would write, having read of each function only a line.

CODE = """\
import asyncio
import re

wanted = {
    'git': ['show the commit log'],
    'database': ['create a table', 'insert rows', 'select rows'],
    'excel': ['create an Excel file', 'write cells', 'read cells'],
}
found = {
    find_functions(words, group=group, limit=1)[0]['name']: group
    for group, tasks in wanted.items() for words in tasks
}
print(help(list(found)))
assert {'git_log', 'write_query', 'write_range'} <= found.keys(), found

book = {'path': 'commits.xlsx', 'sheet': 'Commits'}
log, _, _ = await asyncio.gather(
    git_log(repo_path='project', max_count=1000),
    create_table(query='CREATE TABLE commits (author TEXT, day TEXT)'),
    create_workbook(path=book['path'], sheets=[book['sheet']]),
)
commits = re.findall(r'Author: (.+)\\nDate: (\\S+)', log)
quoted = [(author.replace("'", "''"), day) for author, day in commits]
rows = ', '.join([f"('{author}', '{day}')" for author, day in quoted])
await write_query(query=f'INSERT INTO commits VALUES {rows}')
totals = await read_query(query='''
    SELECT author, COUNT(*) AS number, MAX(day) AS last
    FROM commits GROUP BY author ORDER BY number DESC''')

table = [[row['author'], row['number'], row['last']] for row in totals]
total = ['Together', f'=SUM(B2:B{len(table) + 1})']
table = [['Author', 'Commits', 'Last'], *table, total]
await write_range(**book, at='A1', rows=table)
cells = await read_range(**book)
{'found': found, 'cells': cells['values']}"""


def plan() -> Plan:
    """What the stand-in does: send the code, and say what came back."""
    [returned] = yield [call('run_code', code=CODE)]
    _, *authors, [_, number] = returned['result']['cells']
    each = ', '.join(f'{author} {commits} (last on {last})' for author, commits, last in authors)
    return f'{number} commits: {each}. The figures are in commits.xlsx.'


# The servers. Each is a process that speaks over its standard input and output, and logs to a file.


def make_servers(directory: Path) -> list[MCPToolset]:
    """The servers, not yet started. Their ids become the groups of the functions."""
    here = Path(sys.executable).parent
    git = [str(here / 'mcp-server-git'), '--repository', 'project']
    database = [str(here / 'mcp-server-sqlite'), '--db-path', 'project.db']
    uv = [sys.executable, '-m', 'uv', 'tool', 'run', '--exclude-newer', '2026-11-29', '--from']
    excel = [*uv, 'excel-mcp-server==2.2.2', 'excel-mcp-server', 'stdio', '--allow-dir', '.']
    return [
        MCPToolset(stdio(git, directory / 'git.log'), id='git'),
        MCPToolset(stdio(database, directory / 'database.log'), id='database', process_tool_call=read_rows),
        MCPToolset(stdio(excel, directory / 'excel.log'), id='excel', init_timeout=120),
    ]


def stdio(command: list[str], log: Path) -> StdioTransport:
    """A process in the directory of its log. Of our environment it gets little more than a download may need."""
    names = [name for name in os.environ if name.startswith(('UV_', 'SSL_')) or name.lower().endswith('_proxy')]
    given = {name: os.environ[name] for name in names}
    return StdioTransport(command[0], command[1:], given, cwd=str(log.parent), keep_alive=False, log_file=log)


async def read_rows(_ctx: RunContext, call_tool: CallToolFunc, name: str, args: dict[str, Any]) -> Any:
    """The database server sends rows as the text of a Python list, and its errors as text too."""
    answer = await call_tool(name, args)
    if not isinstance(answer, str):
        return answer
    if answer.startswith(('Error', 'Database error')):
        raise ModelRetry(answer)
    return ast.literal_eval(answer) if answer.startswith('[') else answer


def make_repository(project: Path) -> None:
    """A repository with the commits, made with git itself."""
    commands = [['init', str(project)]]
    for day, author in COMMITS.items():
        who = ['-c', f'user.name={author}', '-c', 'user.email=team@example.com', '-c', 'commit.gpgsign=false']
        what = ['commit', '--allow-empty', '--date', f'{day}T12:00:00Z', '--message', 'Work']
        commands.append(['-C', str(project), *who, *what])
    for command in commands:
        subprocess.run(['git', *command], check=True, capture_output=True)  # noqa: S603, S607  all of it is ours


# What is shown.


async def definitions(agent: Agent[object, str]) -> list[str]:
    """The definitions of tools that the agent gives to a model."""
    model = TestModel(call_tools=[])
    await agent.run('This model only notes what it is given.', model=model)
    given = model.last_model_request_parameters
    return [
        json.dumps({'name': tool.name, 'description': tool.description, 'parameters': tool.parameters_json_schema})
        for tool in (given.function_tools if given else [])
    ]


async def run(console: Console, agent: Agent[object, str]) -> None:
    """Give the agent its task, and print what happens."""
    console.print(Text(f'user: {TASK}\n'))
    screen, events_of = Screen(console), Counter[type]()
    async with agent.run_stream_events(TASK) as events:
        async for event in events:
            events_of[type(event)] += 1
            match event:
                case FunctionToolResultEvent(part=ToolReturnPart(tool_name='run_code', outcome='success') as part):
                    show_result(console, part.content)
                case AgentRunResultEvent(result=result):
                    console.print(Text(result.output, 'green'))
                case _:
                    screen.show(event)
    calls, inside = events_of[FunctionToolCallEvent], events_of[NestedToolCallEvent]
    console.print(f'\nCalls of run_code: {calls}. Calls that its code made: {inside}.')


def show_result(console: Console, content: Any) -> None:
    """Print what the model reads; of what was printed only the lines that are not indented."""
    match content:
        case {'output': str(printed), 'result': value}:
            lines = printed.splitlines()
        case value:
            lines = list[str]()
    console.print(f'The model reads {len(lines)} printed lines, here without the indented, and the result:')
    outline = [line for line in lines if line and not line.startswith(' ')]
    console.print(Padding(Text('\n'.join([*outline, '', json.dumps(value, default=str)])), (0, 2, 1, 2)))


async def show_all(console: Console, model: str | None) -> None:
    """Make repository and servers, and let the agent work."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_repository(directory / 'project')
        servers = make_servers(directory)
        for server in servers:
            try:
                await stack.enter_async_context(server)
            except Exception as error:
                log = directory / f'{server.id}.log'
                raise StartError(f'The {server.id} server did not start: {error}\n{log.read_text()}') from error
        plain = await definitions(Agent(toolsets=servers))
        agent = Agent(model or StandIn(plan()).model(), toolsets=servers, capabilities=[CodeMode()])
        in_code_mode = await definitions(agent)
        as_json, read = (sum(map(estimate_tokens, texts)) for texts in (plain, in_code_mode))
        console.print(f'{len(servers)} servers, {len(plain)} tools, {as_json:,} tokens as JSON definitions.')
        console.print(f'In code mode the model reads {read:,} tokens instead. Both figures are estimates.\n')
        await run(console, agent)


def main() -> None:
    """Run it from the command line."""
    # Python 3.11 warns now and then, on a busy machine, that a server which it has ended itself has ended.
    logging.getLogger('asyncio').setLevel(logging.ERROR)
    # Most tools of these servers do not say what they return.
    warnings.filterwarnings('ignore', category=MissingReturnSchemaWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--model', metavar='provider:name', help='a live model instead of the stand-in')
    model: str | None = parser.parse_args().model
    os.environ.setdefault('PYDANTIC_AI_NO_BANNER', '1')  # Pydantic AI greets on a terminal
    console = Console(highlight=False)
    console.print(f'The model is {model}, live.\n' if model else NO_LIVE_MODEL, style='bold yellow')
    try:
        asyncio.run(show_all(console, model))
    except (StartError, UserError, AgentRunError, ImportError, FileNotFoundError) as error:
        sys.exit(f'It failed: {error}')


if __name__ == '__main__':
    main()
