"""Authored capabilities in real runs. Only the model is a stand-in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeAlias, cast

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.run import AgentRunResult

from pydantic_ai_harness.capability_creation.guard import LoadedCapability
from pydantic_ai_harness.capability_creation.hooks import HOOKS
from pydantic_ai_harness.capability_creation.manifest import AuthoredCapability
from pydantic_ai_harness.capability_creation.store import CapabilityStore

Turn: TypeAlias = 'str | Sequence[ToolCallPart] | BaseException'
Drive: TypeAlias = Literal['run', 'run on agent', 'stream']

HEAD = """\
import asyncio
import dataclasses
from typing import Annotated

import guard_probe as probe
from pydantic import AfterValidator
from pydantic_ai import Tool
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, on_event
from pydantic_ai.exceptions import *
from pydantic_ai.messages import *
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.tools import *
from pydantic_ai.toolsets import *

"""
"""What authored code in these tests may use. Its own lines start after it."""


class Probe(ModuleType):
    """What authored code imports as `guard_probe`, to tell the test what it does."""

    def __init__(self) -> None:
        super().__init__('guard_probe')
        self.calls: list[str] = []
        self.armed = True
        """Whether failing code fails. Off while capabilities are written and loaded."""
        self.given: Any = None
        """What the test hands to authored code."""
        self.entered: Any = None
        """An event that authored code sets when it has got somewhere."""


def call(tool: str, **args: Any) -> Sequence[ToolCallPart]:
    """A turn in which the model calls one tool."""
    return [ToolCallPart(tool, args, tool_call_id=f'call_{tool}')]


ADD = call('add', a=1, b=2)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@dataclass
class FakeModel:
    """Gives the turn that belongs to where the conversation stands; 'done' when there is none left."""

    turns: Sequence[Turn] = (ADD,)
    requests: list[list[ModelMessage]] = field(default_factory=list[list[ModelMessage]])
    infos: list[AgentInfo] = field(default_factory=list[AgentInfo])

    def model(self) -> FunctionModel:
        return FunctionModel(self._reply, stream_function=self._stream)

    def _reply(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(list(messages))
        self.infos.append(info)
        index = sum(isinstance(message, ModelResponse) for message in messages)
        turn = self.turns[index] if index < len(self.turns) else 'done'
        if isinstance(turn, BaseException):
            raise turn
        return ModelResponse(parts=[TextPart(turn)] if isinstance(turn, str) else list(turn))

    async def _stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        for index, part in enumerate(self._reply(messages, info).parts):
            if isinstance(part, TextPart):
                yield part.content
            elif isinstance(part, ToolCallPart):
                yield {index: DeltaToolCall(part.tool_name, json.dumps(part.args), tool_call_id=part.tool_call_id)}

    def tool_names(self, request: int = 0) -> list[str]:
        return [tool.name for tool in self.infos[request].function_tools]


@dataclass
class Bench:
    """A store, an agent with one tool, and what became of both."""

    directory: Path
    probe: Probe
    max_failures: int | None = 3
    fake: FakeModel = field(default_factory=FakeModel)
    executed: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """The arguments of each execution of the agent's own tool."""

    @property
    def store(self) -> CapabilityStore:
        """A store of its own each time, as another process would have it."""
        return CapabilityStore(self.directory, max_failures=self.max_failures)

    def author(self, code: str, name: str = 'authored') -> AuthoredCapability:
        """Write a capability that passes its checks."""
        self.probe.armed = False
        entry = self.store.write(name, HEAD + code)
        self.probe.armed = True
        assert entry.last_error is None, entry.last_error
        return entry

    def hook(self, method: str, *lines: str, name: str = 'authored', attributes: str = '') -> AuthoredCapability:
        """Write a capability of one method with this body."""
        return self.author(capability(method, *lines, attributes=attributes), name)

    def load(self) -> list[AbstractCapability[Any]]:
        """What is active, its code armed from now on."""
        self.probe.armed = False
        loaded = self.store.load_active()
        self.probe.armed = True
        return loaded

    def entry(self, name: str = 'authored') -> AuthoredCapability:
        return next(entry for entry in self.store.list_all() if entry.name == name)

    def failure(self, name: str = 'authored') -> tuple[str, str]:
        """Where it last failed, and of what."""
        failure = self.entry(name).last_failure
        assert failure is not None
        return failure.where, failure.error

    def turns(self, *turns: Turn) -> None:
        self.fake.turns = turns

    def agent(self, capabilities: Sequence[AbstractCapability[Any]] = (), **options: Any) -> Agent[Any, Any]:
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            self.executed.append((a, b))
            return a + b

        options.setdefault('model', self.fake.model())
        return Agent(tools=[add, *options.pop('tools', ())], capabilities=capabilities, **options)

    async def run(
        self,
        capabilities: Sequence[AbstractCapability[Any]] | None = None,
        *,
        drive: Drive = 'run',
        run_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> AgentRunResult[Any]:
        """One run with what is active, or with these."""
        loaded = self.load() if capabilities is None else capabilities
        run = run_options or {}
        if drive == 'run on agent':
            return await self.agent(loaded, **options).run('go', **run)
        if drive == 'run':
            return await self.agent(**options).run('go', capabilities=loaded, **run)
        run.pop('event_stream_handler', None)
        async with self.agent(**options).run_stream_events('go', capabilities=loaded, **run) as events:
            async for _ in events:
                pass
        assert events.result is not None
        return events.result


def capability(method: str, *lines: str, attributes: str = '') -> str:
    """The code of a capability with one method, called as the framework calls it, and this body."""
    return f'class Authored(AbstractCapability):\n    {attributes or "pass"}\n' + define(method, *lines)


def define(method: str, *lines: str) -> str:
    """One method of a capability."""
    hook = HOOKS[method]
    names: list[str] = []
    for parameter in hook.signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and '*' not in names:
            names.append('*')
        names.append(parameter.name)
    keyword = 'def' if hook.kind == 'sync' else 'async def'
    body = '\n'.join(f'        {line}' for text in lines for line in text.splitlines())
    return f'    {keyword} {method}({", ".join(names)}):\n{body}\n'


def tools(body: str, before: str = '') -> str:
    """The code of a capability whose `get_toolset` has this body."""
    indented = '\n'.join(f'        {line}' for line in body.strip().splitlines())
    return f'{before}\nclass Authored(AbstractCapability):\n    def get_toolset(self):\n{indented}\n'


def toolset_class(methods: str, base: str = 'FunctionToolset') -> str:
    """The code of a capability with one tool `work` in a toolset that has these methods."""
    indented = '\n'.join(f'    {line}' for line in methods.strip().splitlines())
    return tools('return Tools([work])', f'def work(): return 1\nclass Tools({base}):\n{indented}\n')


def wrapper_class(methods: str) -> str:
    """The code of a capability whose wrapper toolset has these methods."""
    indented = '\n'.join(f'    {line}' for line in methods.strip().splitlines())
    return f'class Wrapper(WrapperToolset):\n{indented}\n' + capability(
        'get_wrapper_toolset', 'return Wrapper(toolset)'
    )


def pass_on(method: str, *, awaited: bool = True) -> str:
    """The expression by which an overriding hook does what the framework would."""
    arguments: list[str] = []
    for parameter in list(HOOKS[method].signature.parameters.values())[1:]:
        keyword = parameter.kind is parameter.KEYWORD_ONLY
        arguments.append(f'{parameter.name}={parameter.name}' if keyword else parameter.name)
    expression = f'super().{method}({", ".join(arguments)})'
    return f'await {expression}' if awaited and HOOKS[method].kind == 'async' else expression


def returns(result: AgentRunResult[Any]) -> list[ToolReturnPart]:
    """What came back from every tool call of the run."""
    return [
        part
        for message in result.all_messages()
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


def only_return(result: AgentRunResult[Any]) -> ToolReturnPart:
    (part,) = returns(result)
    return part


def text_of(part: ToolReturnPart) -> str:
    assert isinstance(part.content, str)
    return part.content


_OF_ONE_RUN = {'timestamp', 'run_id', 'conversation_id', 'tool_call_id', 'usage', 'id', 'duration'}


def transcript(result: AgentRunResult[Any]) -> Any:
    """The messages of a run, without what differs from run to run."""
    return _without(json.loads(ModelMessagesTypeAdapter.dump_json(result.all_messages())))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast(dict[str, Any], value)
        return {key: _as_object(_without(item)) for key, item in items.items() if key not in _OF_ONE_RUN}
    if isinstance(value, list):
        entries = cast(list[Any], value)
        return [_without(item) for item in entries]
    return value


def _as_object(value: Any) -> Any:
    """Arguments, which are text if they were streamed."""
    return json.loads(value) if isinstance(value, str) and value.startswith('{') else value


async def outcome(run: Callable[[], Any]) -> Any:
    """What a run came to: its output and messages, or the error it ended with."""
    try:
        result: AgentRunResult[Any] = await run()
    except Exception as error:  # noqa: BLE001 - it is compared
        return type(error), str(error)
    return result.output, transcript(result)


async def drain(_ctx: Any, events: AsyncIterable[AgentStreamEvent]) -> None:
    """An event handler that only reads."""
    async for _ in events:
        pass


def the_guard(capabilities: Sequence[AbstractCapability[Any]]) -> LoadedCapability:
    (loaded,) = capabilities
    assert isinstance(loaded, LoadedCapability)
    return loaded
