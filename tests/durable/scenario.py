"""An agent whose model sends given programs, and tools that note each time they run; the same on every engine.

The model stands in for a real one, which would need a key.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

from pydantic_ai import Agent, DeferredToolRequests, FunctionToolset
from pydantic_ai.capabilities import AbstractCapability, LocalWorkspace
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import Tool
from pydantic_monty import MountDir

from pydantic_ai_harness import CapabilityCreation, CodeMode

FOLDER = 'HARNESS_TEST_FOLDER'
SECONDS = 'HARNESS_TEST_SECONDS'
STEP_SECONDS = 'HARNESS_TEST_STEP_SECONDS'
AUTHORED = 'HARNESS_TEST_AUTHORED'
LOADS = 'HARNESS_TEST_LOADS'
AUTHOR = 'author: '
CALL = 'call: '
LIST = 'list'
LOG = 'log.txt'
OUTCOME = 'outcome.json'
ToolFunction: TypeAlias = Callable[..., Awaitable[Any]]


def folder() -> Path:
    """Where this test's processes leave what they did."""
    return Path(os.environ[FOLDER])


def note(line: str) -> None:
    """Add a line to the log, whole whatever happens to this process."""
    descriptor = os.open(folder() / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f'{line}\n'.encode())
    os.close(descriptor)


def leave(outcome: dict[str, object]) -> None:
    """Leave how the workflow ended, for the test."""
    (folder() / OUTCOME).write_text(json.dumps(outcome))


def noted(line: str, where: Path | None = None) -> int:
    """How often a line was logged."""
    path = (where or folder()) / LOG
    return path.read_text().splitlines().count(line) if path.exists() else 0


async def add(key: str, a: int = 0, b: int = 0) -> int:
    """Add."""
    note(f'start {key}')
    await asyncio.sleep(0.01)
    note(f'end {key}')
    return a + b


async def linger(key: str, seconds: float) -> str:
    """Take long, but only the first time."""
    note(f'start {key}')
    if noted(f'start {key}') == 1:
        await asyncio.sleep(seconds)
    note(f'end {key}')
    return f'{key} done'


async def overlapping(key: str, seconds: float) -> int:
    """Say how many of these ran at once, this one counted."""
    note('enter')
    await asyncio.sleep(seconds)
    running = noted('enter') - noted('leave')
    note('leave')
    return running


async def fail(key: str) -> int:
    """Fail."""
    note(f'start {key}')
    raise ValueError(f'{key} is bad')


async def flaky(key: str) -> str:
    """Fail the first time; the engine is set to try again."""
    note(f'start {key}')
    if noted(f'start {key}') == 1:
        raise ConnectionError('try again')
    return f'{key} at last'


async def delete(name: str) -> str:
    """Delete something."""
    note(f'start delete {name}')
    return f'deleted {name}'


async def erase(name: str) -> str:
    """Erase something, and let nothing run beside it."""
    note(f'start erase {name}')
    return f'erased {name}'


async def text(size: int) -> str:
    """A text of that many letters."""
    return 'a' * size


async def describe(value: Any) -> str:
    """Say what was passed."""
    return f'{type(value).__name__} {value!r}'[:100]


async def picture() -> BinaryContent:
    """A small picture."""
    note('start picture')
    return BinaryContent(b'\x89PNG\r\n\x1a\n' + b'\x00\xff' * 500, media_type='image/png')


TOOLS: list[ToolFunction] = [picture, add, linger, overlapping, fail, flaky, delete, erase, text, describe]
NEEDS_APPROVAL = (delete, erase)


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Send the programs of the prompt, one after the other, and give all that came back as the answer."""
    prompts = [part.content for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    codes: list[str] = json.loads(str(prompts[0]))
    answers = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    note(f'request {len(answers)}')
    if len(answers) < len(codes):
        return ModelResponse(parts=[_call(codes[len(answers)], f'code_{len(answers)}')])
    return ModelResponse(parts=[TextPart(json.dumps(answers, default=_shown))])


def _shown(media: BinaryContent) -> str:
    return f'{media.media_type}, {len(media.data)} bytes'


def _call(code: str, call_id: str) -> ToolCallPart:
    if code.startswith(AUTHOR):
        name, _, module = code.removeprefix(AUTHOR).partition('\n')
        return ToolCallPart('author_capability', {'name': name, 'code': module}, tool_call_id=call_id)
    if code.startswith(CALL):
        return ToolCallPart(code.removeprefix(CALL), {}, tool_call_id=call_id)
    if code == LIST:
        return ToolCallPart('list_authored_capabilities', {}, tool_call_id=call_id)
    return ToolCallPart('run_code', {'code': code}, tool_call_id=call_id)


def authoring() -> list[AbstractCapability[object]]:
    """What lets an agent author, where a test asks for it."""
    if not (directory := os.environ.get(AUTHORED)):
        return []
    creation = CapabilityCreation[object](Path(directory))
    return [LocalWorkspace(directory), creation, *(creation.store.load_active() if os.environ.get(LOADS) else [])]


def code_mode() -> CodeMode[object]:
    """Code mode as the test asks for it; the authoring tools stay ordinary ones."""
    return CodeMode(
        [tool.__name__ for tool in TOOLS],
        resource_limits={'max_duration_secs': float(os.environ.get(SECONDS, '30'))},
        deferred_calls='pause',
        mount=MountDir(host_path=os.environ.get(FOLDER, '.'), virtual_path='/marks', mode='read-write'),
    )


def new_tool(function: ToolFunction, metadata: dict[str, Any], *, body: ToolFunction | None = None) -> Tool[object]:
    """One of `TOOLS` for an engine, which may put a body of its own around it."""
    return Tool(
        body or function,
        requires_approval=function in NEEDS_APPROVAL,
        sequential=function is erase,
        metadata=metadata,
    )


def new_agent(
    tools: list[Tool[object]], durability: AbstractCapability[object]
) -> Agent[object, str | DeferredToolRequests]:
    """The scenario's agent on an engine."""
    return Agent(
        new_model(),
        name='scenario',
        output_type=[str, DeferredToolRequests],
        toolsets=[FunctionToolset(tools, id='tools')],
        capabilities=[code_mode(), *authoring(), durability],
    )


def new_model() -> FunctionModel:
    """The scripted model."""
    return FunctionModel(scripted, model_name='scripted')
