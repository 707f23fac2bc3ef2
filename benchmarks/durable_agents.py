"""The agents that `durable.py` measures; the model is scripted, and the prompt says how many calls it makes and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import Tool

from pydantic_ai_harness import CodeMode

SEQUENTIAL = 'x = 0\nfor n in range({calls}):\n    x = await double(number=n)\nx'
GATHERED = 'import asyncio\n(await asyncio.gather(*[double(number=n) for n in range({calls})]))[-1]'


async def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def _reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    prompt = next(str(p.content) for m in messages for p in m.parts if isinstance(p, UserPromptPart))
    calls, shape = prompt.split()
    total = int(calls)
    returns = [part.content for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if info.function_tools[0].name == 'run_code':
        if returns:
            return ModelResponse(parts=[TextPart(str(returns[-1]))])
        code = (GATHERED if shape == 'gathered' else SEQUENTIAL).format(calls=total)
        return ModelResponse(parts=[ToolCallPart('run_code', {'code': code})])
    if len(returns) == total:
        return ModelResponse(parts=[TextPart(str(returns[-1]))])
    numbers = range(total) if shape == 'gathered' else [len(returns)]
    return ModelResponse(parts=[ToolCallPart('double', {'number': number}) for number in numbers])


def agent(name: str, tool: Tool[object], capabilities: Sequence[AbstractCapability[Any]], *, code: bool) -> Agent[Any]:
    """An agent that calls the tool in code, or directly."""
    return Agent(
        FunctionModel(_reply, model_name='scripted'),
        name=name,
        toolsets=[FunctionToolset([tool], id='tools')],
        capabilities=[*([CodeMode()] if code else []), *capabilities],
    )
