"""An agent that writes its own guardrail and tool, breaks the guardrail, goes on running, and mends it.

`.venv/bin/python examples/self_extending_agent.py` needs no key and no network: a stand-in replays what a model would
write. With a directory as argument, everything is kept there to be looked at, and a second start goes on from it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import LocalWorkspace
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text
from stand_in import Plan, call

from pydantic_ai_harness import CapabilityCreation, CapabilityStore

FILES = {'orders.db': 40_000, 'orders.bak': 40_000, 'week1.log': 9_000, 'week2.log': 7_000}

NO_LIVE_MODEL = """\
No live model: a STAND-IN replays a recorded plan. All else is real: agent, tools, files, the code that it writes, its \
checks, and what becomes of its failures.
"""

# The code that a model would write.

GUARD = """\
from pydantic_ai import ModelRetry
from pydantic_ai.capabilities import AbstractCapability

KEEP = ('.db',)


class KeepDatabases(AbstractCapability):
    async def before_tool_execute(self, ctx, *, call, tool_def, args):
        if call.tool_name == 'delete_file':
            if args['name'].endswith(KEEP):
                raise ModelRetry('Databases are kept.')
        return args
"""

TOOL = '''\
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset


async def folder_size(ctx: RunContext) -> int:
    """How many bytes the files take."""
    return sum(file.size for file in await ctx.workspace.list_dir('.'))


class FolderSize(AbstractCapability):
    def get_toolset(self):
        return FunctionToolset([folder_size])
'''

MENDED_GUARD = GUARD.replace("('.db',)", "('.db', '.bak')")
BROKEN_GUARD = MENDED_GUARD.replace("args['name']", "args['path']")


# The agent. `capabilities=store.load_active()`, in `Show.run`, is what makes its own code part of the next run.


def build_agent(files: Path, creation: CapabilityCreation[object]) -> Agent[object, str]:
    """An agent that looks after a folder, and may extend itself."""
    return Agent(
        instructions='You keep a folder tidy.',
        tools=[list_files, delete_file],
        capabilities=[LocalWorkspace(files), creation],
    )


async def list_files(ctx: RunContext[object]) -> list[str]:
    """The names of the files."""
    return sorted(file.name for file in await ctx.workspace.list_dir('.'))


async def delete_file(ctx: RunContext[object], name: str) -> str:
    """Delete a file."""
    await ctx.workspace.remove(name)
    return f'{name} is deleted.'


# What the stand-in does in each run.


def extend() -> Plan:
    """Write a guardrail and a tool."""
    yield [call('author_capability', name='keep_databases', code=GUARD)]
    yield [call('author_capability', name='folder_size', code=TOOL)]
    return 'From the next run on, I measure the folder, and cannot delete a database.'


def use() -> Plan:
    """Call what is forbidden, and the new tool."""
    yield [call('delete_file', name='orders.db')]
    [size] = yield [call('folder_size')]
    return f'The database stays. The files take {size:,} bytes.'


def break_it() -> Plan:
    """Replace the guardrail by one that asks for an argument which is not there."""
    yield [call('author_capability', name='keep_databases', code=BROKEN_GUARD)]
    return 'From the next run on, backups are kept too.'


def meet_the_failure() -> Plan:
    """Call what the broken guardrail guards. A real model would mend it now; the stand-in leaves it."""
    yield [call('delete_file', name='week1.log')]
    [files] = yield [call('list_files')]
    return f'I could not delete week1.log. There are {len(files)} files.'


def mend() -> Plan:
    """Read what failed, and write it anew."""
    yield [call('list_authored_capabilities')]
    yield [call('author_capability', name='keep_databases', code=MENDED_GUARD)]
    return 'The argument is called `name`, not `path`. Mended.'


def use_again() -> Plan:
    """Call what is forbidden, what is not, and the tool."""
    yield [call('delete_file', name='orders.bak')]
    yield [call('delete_file', name='week1.log')]
    [size] = yield [call('folder_size')]
    return f'The backup stays, the log is gone. The files take {size:,} bytes.'


def stand_in(plan: Plan) -> FunctionModel:
    """A model that replays a plan."""

    def reply(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        read = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        try:
            return ModelResponse(parts=plan.send(read) if read else next(plan))
        except StopIteration as ended:
            return ModelResponse(parts=[TextPart(str(ended.value))])

    return FunctionModel(reply, model_name='stand-in')


# What is shown.

LISTED = TypeAdapter(list[dict[str, Any]])


class Show:
    """Runs the agent, and prints what happens."""

    def __init__(self, console: Console, agent: Agent[object, str], store: CapabilityStore) -> None:
        self._console = console
        self._agent = agent
        self._store = store

    async def run(self, title: str, plan: Plan, prompt: str) -> None:
        """One run, with the capabilities that are active now."""
        self._console.rule(title, align='left')
        active = self._store.load_active()
        self._print(f'loaded: {", ".join(self._names("active")) or "nothing yet"}', 'dim')
        if quarantined := self._names('quarantined'):
            self._print(f'NOT loaded until it is mended, so it guards nothing: {", ".join(quarantined)}', 'yellow')
        self._print(f'user: {prompt}')
        result = await self._agent.run(prompt, model=stand_in(plan), capabilities=active)
        for message in result.new_messages():
            for part in message.parts:
                self._show_part(part)
        self._print(f'model: {result.output}\n', 'green')

    def versions(self, name: str) -> None:
        """The versions of a capability, and how the last two differ."""
        self._console.rule(f'The versions of {name}', align='left')
        history = self._store.history(name)
        for version in history:
            self._print(f'version {version.version}, sha256 {version.sha256[:12]}, by run {version.run_id}')
        before, now = history[-2].version, history[-1].version
        self._console.print(Padding(Syntax(self._store.diff(name, before, now), 'diff', word_wrap=True), (1, 0, 0, 2)))

    def _names(self, status: str) -> list[str]:
        return [entry.name for entry in self._store.list_all() if entry.status == status]

    def _show_part(self, part: object) -> None:
        match part:
            case ToolCallPart(tool_name='author_capability'):
                self._show_code(part.args_as_dict())
            case ToolCallPart():
                arguments = ', '.join(f'{name}={value!r}' for name, value in part.args_as_dict().items())
                self._print(f'model calls {part.tool_name}({arguments})', 'blue')
            case ToolReturnPart(tool_name='list_authored_capabilities'):
                for entry in LISTED.validate_python(part.content):
                    self._show_reading('\n'.join(f'{key}: {value}' for key, value in entry.items() if value))
            case ToolReturnPart():
                self._show_reading(str(part.content), failed=part.outcome != 'success')
            case _:
                pass

    def _show_code(self, arguments: dict[str, Any]) -> None:
        title = f'model calls author_capability, name={arguments["name"]!r}'
        code = Syntax(arguments['code'].rstrip(), 'python', background_color='default', word_wrap=True)
        self._console.print(Panel(code, title=title, title_align='left', border_style='blue'))

    def _show_reading(self, text: str, *, failed: bool = False) -> None:
        self._console.print(Padding(Text(text, 'red' if failed else 'cyan'), (0, 0, 0, 4)))

    def _print(self, text: str, style: str = '') -> None:
        self._console.print(Text(text, style))


async def show_all(console: Console, directory: Path) -> None:
    """The whole story, in one directory."""
    console.print(NO_LIVE_MODEL, style='bold yellow')
    files = directory / 'files'
    files.mkdir(parents=True, exist_ok=True)
    for name, size in FILES.items():
        (files / name).write_bytes(b'.' * size)
    creation = CapabilityCreation[object](directory / 'authored', max_failures=3)
    show = Show(console, build_agent(files, creation), creation.store)

    await show.run('Run 1: it extends itself', extend(), 'Learn to measure the folder, and to keep databases.')
    await show.run('Run 2: it uses both', use(), 'Delete orders.db. How large is the folder?')
    await show.run('Run 3: it breaks its guardrail', break_it(), 'Keep backups too.')
    for number in (1, 2, 3):
        title = f'Run 3.{number}: the guardrail fails, the run goes on'
        await show.run(title, meet_the_failure(), 'Delete week1.log.')
    await show.run('Run 4: it sees the quarantine, and mends it', mend(), 'Why could you not delete it?')
    await show.run('Run 5: it works again', use_again(), 'Delete orders.bak and week1.log.')
    show.versions('keep_databases')
    creation.store.close()


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('directory', nargs='?', type=Path, help='where everything is kept; else it is thrown away')
    arguments = parser.parse_args()
    os.environ.setdefault('PYDANTIC_AI_NO_BANNER', '1')  # Pydantic AI greets on a terminal
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(show_all(Console(highlight=False), arguments.directory or Path(temporary)))


if __name__ == '__main__':
    main()
