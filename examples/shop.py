"""The shop: an agent with code mode over a database behind an MCP server, and two Python functions."""

from __future__ import annotations

import ast
import csv
import shutil
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fastmcp.client.transports import StdioTransport
from pydantic import TypeAdapter
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.mcp import CallToolFunc, MCPToolset
from pydantic_ai.models import Model
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset

from pydantic_ai_harness import CodeMode

QUESTION = """\
We promise delivery within a number of working days that depends on the market, and give 10% of the price back when an \
order comes later than that. Of the orders of the first quarter of 2026, how many came late in each market, and what \
do we owe in euros?"""

DATA = Path(__file__).parent / 'data'
SERVER = 'mcp-server-sqlite'
READING_TOOLS = {'list_tables', 'describe_table', 'read_query'}

Country: TypeAlias = Literal['CH', 'DE', 'GB', 'PL', 'SE']
Currency: TypeAlias = Literal['CHF', 'EUR', 'GBP', 'PLN', 'SEK']
Rows: TypeAlias = list[dict[str, Any]]

ROWS_SCHEMA = TypeAdapter(Rows).json_schema()


class StartError(Exception):
    """The demo cannot start; the message says what is missing."""


# The agent. `CodeMode()` is all that code mode needs.


def build_agent(model: Model | str, server: AbstractToolset, *, code_mode: bool = True) -> Agent[object, str]:
    """An agent that answers questions about the shop."""
    return Agent(
        model,
        instructions='You answer questions about a furniture shop. Look at the tables before you query them.',
        tools=[working_days, convert],
        toolsets=[server],
        capabilities=[CodeMode()] if code_mode else [],
    )


def database_server(database: Path) -> AbstractToolset:
    """The tools of an MCP server, which runs as a process of its own and logs to a file beside the database."""
    arguments = ['--db-path', str(database)]
    transport = StdioTransport(server_command(), arguments, log_file=log_of(database), keep_alive=False)
    return MCPToolset(transport, process_tool_call=read_rows, init_timeout=30).prepared(reading_tools)


async def read_rows(_ctx: RunContext, call_tool: CallToolFunc, name: str, args: dict[str, Any]) -> Any:
    """This server sends rows as the text of a Python list, and its errors as text too."""
    answer = await call_tool(name, args)
    if not isinstance(answer, str):
        return answer
    if not answer.startswith('['):
        raise ModelRetry(answer)
    return ast.literal_eval(answer)


def reading_tools(_ctx: RunContext, tools: list[ToolDefinition]) -> list[ToolDefinition]:
    """Leave out what writes, and say what `read_rows` makes of the results: the server declares no types."""
    return [replace(tool, return_schema=ROWS_SCHEMA) for tool in tools if tool.name in READING_TOOLS]


# The two Python functions.


def working_days(country: Country, start: date, end: date) -> int:
    """Count the working days after `start`, up to and including `end`, without the country's public holidays."""
    days = (start + timedelta(days=n) for n in range(1, (end - start).days + 1))
    return sum(day.isoweekday() <= 5 and (country, day.isoformat()) not in holidays() for day in days)  # noqa: PLR2004


def convert(amount: float, currency: Currency, to: Currency = 'EUR') -> float:
    """Convert an amount at the rates of 31 March 2026, rounded to two digits."""
    rates = {row['currency']: float(row['units_per_euro']) for row in read_csv('rates')}
    return round(amount / rates[currency] * rates[to], 2)


@cache
def holidays() -> set[tuple[str, str]]:
    """Country and day of each public holiday."""
    return {(row['country'], row['day']) for row in read_csv('holidays')}


# The database and its server.


def make_database(directory: Path) -> Path:
    """Fill a new database from the files in `data`."""
    database = directory / 'shop.db'
    try:
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.executescript((DATA / 'schema.sql').read_text('utf-8'))
            for table in ('markets', 'orders', 'shipments'):
                rows = read_csv(table)
                values = ', '.join(f':{column}' for column in rows[0])
                connection.executemany(f'INSERT INTO {table} VALUES ({values})', rows)  # noqa: S608  names are ours
    except (OSError, sqlite3.Error, IndexError) as error:
        raise StartError(f'The database could not be made from {DATA}: {error}') from error
    return database


def read_csv(name: str) -> list[dict[str, str]]:
    """The rows of a file in `data`."""
    with (DATA / f'{name}.csv').open(encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def server_command() -> str:
    """The server that is installed beside the running Python."""
    command = shutil.which(SERVER, path=str(Path(sys.executable).parent))
    if command is None:
        raise StartError(f'{SERVER} is not installed beside {sys.executable}: run `make demo`, which installs it.')
    return command


def log_of(database: Path) -> Path:
    """Where the server of a database writes what would else appear on the terminal."""
    return database.with_suffix('.log')
