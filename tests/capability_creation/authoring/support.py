"""Authored code for tests, and running agents that author it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, LocalWorkspace
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from tests.support import ScriptedModel

from pydantic_ai_harness import CapabilityCreation

PATIENCE_SECONDS = 30.0
"""What no step of a test takes, even on a busy machine."""

IMPORT = 'from pydantic_ai.capabilities import AbstractCapability\n'


def authored(body: str, *, before: str = '', bases: str = 'AbstractCapability') -> str:
    """A module with one capability, `Authored`, whose body starts on line 3 if there is nothing before it."""
    lines = ''.join(f'    {line}\n' if line else '\n' for line in body.splitlines())
    return f'{IMPORT}{before}class Authored({bases}):\n{lines}'


FINE = authored("def get_instructions(self):\n    return 'Be kind.'")
"""Code that passes, and has an effect."""


def call(tool: str, **args: Any) -> ToolCallPart:
    """A call of the model's."""
    return ToolCallPart(tool, args)


def author(code: str, name: str = 'subject') -> ToolCallPart:
    """A call of `author_capability`."""
    return call('author_capability', name=name, code=code)


def agent_of(
    script: ScriptedModel,
    creation: CapabilityCreation[None],
    *capabilities: AbstractCapability[None],
    **options: Any,
) -> Agent[None, Any]:
    """An agent on this machine that may author."""
    return agent_with(script.model(), LocalWorkspace[None](Path.cwd()), creation, *capabilities, **options)


def agent_with(model: Model, *capabilities: AbstractCapability[None], **options: Any) -> Agent[None, Any]:
    """An agent with these capabilities."""
    return Agent(model, capabilities=capabilities, **options)


def tool_returns(messages: Sequence[ModelMessage]) -> list[ToolReturnPart]:
    """All that tools have returned, in order."""
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


async def run_calls(
    creation: CapabilityCreation[None],
    *calls: ToolCallPart,
    capabilities: Sequence[AbstractCapability[None]] = (),
    **options: Any,
) -> list[ToolReturnPart]:
    """Run an agent whose model makes these calls, one after the other; what it reads of each."""
    agent = agent_of(ScriptedModel([[each] for each in calls]), creation, *capabilities, **options)
    return tool_returns((await agent.run('go')).all_messages())


async def run_call(creation: CapabilityCreation[None], each: ToolCallPart, **options: Any) -> ToolReturnPart:
    """What the model reads of one call."""
    (part,) = await run_calls(creation, each, **options)
    return part


def wait_until(is_so: Callable[[], bool], *, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for what another thread or process does."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, 'It did not happen in time.'
        time.sleep(0.005)


def is_running(pid: int) -> bool:
    """Whether there is such a process, and not only its exit code."""
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in 'ZX'


def number_in(path: Path) -> int:
    """A number that authored code has written to a file, as soon as it is there."""
    wait_until(lambda: path.exists() and path.read_text().endswith('\n'))
    return int(path.read_text())


def writes_pid(path: Path) -> str:
    """A line of code that writes its process id to a file."""
    return f'import os\nwith open({str(path)!r}, "w") as told: told.write(f"{{os.getpid()}}\\n")\n'
