"""Running agents in tests. The model is a stand-in: a hosted one needs a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import AbstractToolset

from pydantic_ai_harness import CodeMode

Turn: TypeAlias = str | dict[str, Any] | Sequence[ToolCallPart]
"""One reply of the stand-in: code for `run_code`, its arguments, or any tool calls."""


@dataclass
class ScriptedModel:
    """Replies with the next turn each time it is asked, then with the text 'done'."""

    turns: Sequence[Turn]
    infos: list[AgentInfo] = field(default_factory=list[AgentInfo])
    """What the agent offered in each request."""
    requests: list[list[ModelMessage]] = field(default_factory=list[list[ModelMessage]])

    def model(self) -> FunctionModel:
        return FunctionModel(self._reply)

    async def _reply(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        index = len(self.infos)
        self.infos.append(info)
        self.requests.append(list(messages))
        if index >= len(self.turns):
            return ModelResponse(parts=[TextPart('done')])
        return ModelResponse(parts=list(_calls(self.turns[index], index)))

    @property
    def description(self) -> str:
        """What the model read of `run_code` in its first request."""
        return self.tool('run_code').description or ''

    def tool(self, name: str, request: int = 0) -> Any:
        return next(tool for tool in self.infos[request].function_tools if tool.name == name)

    def tool_names(self, request: int = 0) -> list[str]:
        return [tool.name for tool in self.infos[request].function_tools]


def _calls(turn: Turn, index: int) -> Sequence[ToolCallPart]:
    if isinstance(turn, str):
        turn = {'code': turn}
    if isinstance(turn, dict):
        return [ToolCallPart('run_code', turn, tool_call_id=f'code_{index + 1}')]
    return turn


def make_agent(
    script: ScriptedModel,
    *,
    code_mode: CodeMode[None] | None = None,
    tools: Sequence[Tool[None]] = (),
    toolsets: Sequence[AbstractToolset[None]] = (),
    capabilities: Sequence[AbstractCapability[None]] = (),
    **options: Any,
) -> Agent[None, Any]:
    """An agent with code mode over `tools` and `toolsets`."""
    return Agent(
        script.model(),
        tools=tools,
        toolsets=toolsets,
        capabilities=[code_mode or CodeMode[None](), *capabilities],
        **options,
    )


async def run_snippets(*turns: Turn, **options: Any) -> list[ToolReturnPart]:
    """Run an agent whose model sends `turns`; the returns of its `run_code` calls, in order.

    A failure has `outcome == 'retried'` and the text that the model reads as its content.
    """
    script = ScriptedModel(turns)
    result = await make_agent(script, **options).run('go')
    return code_returns(result.all_messages())


async def run_snippet(turn: Turn, **options: Any) -> ToolReturnPart:
    """The return of one `run_code` call."""
    (returned,) = await run_snippets(turn, **options)
    return returned


def code_returns(messages: Sequence[ModelMessage]) -> list[ToolReturnPart]:
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart) and part.tool_name == 'run_code'
    ]
