"""One question to a shop's data, answered in code mode, and once more by plain tool calls for comparison.

`make demo` needs no key: a stand-in replays a recorded plan. `make demo MODEL=provider:name` asks a live model, for
which the provider's key has to be set and its package installed: `.venv/bin/pip install 'pydantic-ai-slim[anthropic]'`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, AgentRunResultEvent
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import FunctionToolCallEvent, FunctionToolResultEvent, ToolReturnPart
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from shop import QUESTION, SERVER, StartError, build_agent, database_server, log_of, make_database
from stand_in import Plan, StandIn, Turn, code_mode_plan, plain_plan

from pydantic_ai_harness.code_mode import NestedToolCallEvent, NestedToolResultEvent

CHARACTERS_PER_TOKEN = 4

NO_LIVE_MODEL = """\
No live model: a STAND-IN replays a recorded plan. All else is real: agent, sandbox, MCP server, database, tool calls.
`make demo MODEL=provider:name` asks a live model.
"""

HOW_COUNTED = f"""\
Tokens are an estimate: the characters of the tool definitions, instructions and messages that each request carries, \
divided by {CHARACTERS_PER_TOKEN} and added up over the turns. Not counted: ids, the JSON around the texts, discounts \
for cached input, and the output that a real model needs for the sums between plain calls, which the stand-in does in \
Python."""


@dataclass
class Run:
    """What a run of the agent did, as seen from outside."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    """Every call that reached one of the shop's tools, from code or plain, with its arguments."""
    answer: str = ''
    usage: RunUsage = field(default_factory=RunUsage)
    turns: Sequence[Turn] = ()
    """What a stand-in counted."""


async def run_agent(agent: Agent[object, str], show: Callable[[object], None]) -> Run:
    """Ask the question, and pass on everything that happens meanwhile."""
    run = Run()
    async with agent.run_stream_events(QUESTION) as events:
        async for event in events:
            show(event)
            match event:
                case NestedToolCallEvent():
                    run.calls.append((event.nested_tool_name, event.args))
                case FunctionToolCallEvent(part=part) if part.tool_name != 'run_code':
                    run.calls.append((part.tool_name, part.args_as_dict()))
                case AgentRunResultEvent(result=result):
                    run.answer, run.usage = result.output, result.usage
                case _:
                    pass
    return run


async def run_stand_in(plan: Plan, server: AbstractToolset, show: Callable[[object], None], *, code_mode: bool) -> Run:
    """Ask a stand-in that replays `plan`."""
    stand_in = StandIn(plan)
    run = await run_agent(build_agent(stand_in.model(), server, code_mode=code_mode), show)
    run.turns = stand_in.turns
    return run


@dataclass
class Screen:
    """Shows a run in code mode while it goes on."""

    console: Console
    _calls: dict[str, NestedToolCallEvent] = field(default_factory=dict[str, NestedToolCallEvent])
    _running: int = 0
    _most_at_once: int = 0

    def show(self, event: object) -> None:
        """Print the event, if it is one to see."""
        match event:
            case FunctionToolCallEvent() if event.part.tool_name == 'run_code':
                self._show_code(event.part.args_as_dict())
            case NestedToolCallEvent():
                self._calls[event.nested_tool_call_id] = event
                self._running += 1
                self._most_at_once = max(self._most_at_once, self._running)
            case NestedToolResultEvent():
                self._running -= 1
                self._show_call(self._calls[event.nested_tool_call_id], event)
            case FunctionToolResultEvent() if event.part.tool_name == 'run_code':
                self._show_result(event.part)
            case _:
                pass

    def _show_code(self, arguments: dict[str, Any]) -> None:
        self._calls.clear()
        self._most_at_once = 0
        code = source(arguments.get('code', ''), 'python')
        self.console.print(Panel(code, title='the model calls run_code', title_align='left', border_style='blue'))

    def _show_call(self, call: NestedToolCallEvent, ended: NestedToolResultEvent) -> None:
        arguments = ', '.join(f'{name}={value!r}' for name, value in call.args.items())
        self.console.print(
            Text.assemble(
                (f'{ended.seconds * 1000:6.1f} ms  ', 'cyan'),
                (f'line {call.line or "?":>2}  ', 'dim'),
                one_line(f'{call.nested_tool_name}({arguments})', self.console.width - 21),
            )
        )
        if ended.error:
            self.console.print(Text(f'  {ended.outcome}: {ended.error}', 'red'))

    def _show_result(self, part: ToolReturnPart) -> None:
        self.console.print(f'{len(self._calls)} calls, up to {self._most_at_once} at once. The model reads only this:')
        failed = part.outcome != 'success'
        shown = Text(str(part.content), 'red') if failed else source(json.dumps(part.content, default=str), 'json')
        self.console.print(Padding(shown, (0, 2, 1, 2)))


def source(text: str, language: str) -> Syntax:
    """The text in colours, on the terminal's own background."""
    return Syntax(text, language, theme='ansi_dark', background_color='default', word_wrap=True)


def one_line(text: str, width: int) -> str:
    """The text without line breaks, cut to a width."""
    text = ' '.join(text.replace('\\n', ' ').split())
    return text if len(text) <= width else f'{text[: width - 3]}...'


def show_answer(console: Console, run: Run) -> None:
    """Print the final text."""
    console.print(Panel(Markdown(run.answer), title='the answer', title_align='left', border_style='green'))


def show_comparison(console: Console, code_mode: Run, plain: Run) -> None:
    """Print what the job takes with and without code mode."""
    table = Table(title='The same job with and without code mode', title_justify='left')
    for heading in ('', 'code mode', 'plain tool calls'):
        table.add_column(heading, justify='right' if heading else 'left')
    with_code, without = figures(code_mode), figures(plain)
    for label, figure in with_code.items():
        table.add_row(label, f'{figure:,}', f'{without[label]:,}')
    console.print(table)
    same_calls = sorted(map(repr, code_mode.calls)) == sorted(map(repr, plain.calls))
    console.print(f'Same calls with the same arguments: {"yes" if same_calls else "NO"}.')
    console.print(f'Same answer, every value equal: {"yes" if code_mode.answer == plain.answer else "NO"}.\n')
    console.print(HOW_COUNTED, style='dim')


def figures(run: Run) -> dict[str, int]:
    """The rows of the table."""
    sent, received = [turn.sent for turn in run.turns], [turn.received for turn in run.turns]
    return {
        'model turns': len(run.turns),
        'tool calls that the model writes': sum(turn.tool_calls for turn in run.turns),
        'calls that reach a tool': len(run.calls),
        'tokens in, all turns (estimate)': tokens(sum(sent)),
        'tokens in, largest turn (estimate)': tokens(max(sent)),
        'tokens out, all turns (estimate)': tokens(sum(received)),
    }


def tokens(characters: int) -> int:
    """An estimate."""
    return round(characters / CHARACTERS_PER_TOKEN)


async def with_stand_in(console: Console, server: AbstractToolset) -> None:
    """The run in code mode, and the same job by plain tool calls, both with a recorded plan."""
    console.print(NO_LIVE_MODEL, style='bold yellow')
    console.print(Panel(QUESTION, title='the question', title_align='left'))
    code_mode = await run_stand_in(code_mode_plan(), server, Screen(console).show, code_mode=True)
    show_answer(console, code_mode)
    plain = await run_stand_in(plain_plan(), server, lambda event: None, code_mode=False)
    show_comparison(console, code_mode, plain)


async def with_live_model(console: Console, server: AbstractToolset, model: str) -> None:
    """The run in code mode with a live model."""
    console.print(f'The model is {model}, live.\n', style='bold yellow')
    console.print(Panel(QUESTION, title='the question', title_align='left'))
    run = await run_agent(build_agent(model, server), Screen(console).show)
    show_answer(console, run)
    usage = run.usage
    console.print(
        f'{usage.requests} model turns, {len(run.calls)} calls that reached a tool, '
        f'{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out.'
    )


async def demo(console: Console, model: str | None) -> None:
    """Make the database, start its server, and run."""
    async with AsyncExitStack() as stack:
        database = make_database(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        server = database_server(database)
        try:
            await stack.enter_async_context(server)
        except Exception as error:
            raise StartError(f'{SERVER} did not start: {error}\n{log_of(database).read_text()}') from error
        await (with_live_model(console, server, model) if model else with_stand_in(console, server))


def main() -> None:
    """Run the demo from the command line."""
    # Python 3.11 warns now and then, on a busy machine, that a server which it has ended itself has ended.
    logging.getLogger('asyncio').setLevel(logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--model', metavar='provider:name', help='a live model instead of the stand-in')
    arguments = parser.parse_args()
    os.environ.setdefault('PYDANTIC_AI_NO_BANNER', '1')  # Pydantic AI greets on a terminal
    console = Console(highlight=False)
    try:
        asyncio.run(demo(console, arguments.model))
    except (StartError, UserError, AgentRunError, ImportError) as error:
        sys.exit(f'The demo failed: {error}')


if __name__ == '__main__':
    main()
