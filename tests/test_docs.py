"""Every Python example in the README and the docs is executed, with a stand-in for the hosted model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai import models
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import Tool
from pytest_examples import CodeExample, EvalExample, find_examples

from tests.support import run_snippet

ROOT = Path(__file__).parent.parent
EXAMPLES = list(find_examples(str(ROOT / 'README.md'), str(ROOT / 'docs')))
SANDBOX_EXAMPLES = [example for example in EXAMPLES if example.prefix_settings().get('test') == 'sandbox']
LOOKUP_EXAMPLES = [example for example in EXAMPLES if example.prefix_settings().get('test') == 'lookup']
HOST_EXAMPLES = [
    example
    for example in EXAMPLES
    if example.prefix.startswith('python') and example.prefix_settings().get('test') is None
]


AUTHORED = '''
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset


def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


class WordCount(AbstractCapability):
    def get_toolset(self):
        return FunctionToolset([word_count])
'''


def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Call the first function of the example's agent in code, or author a capability, or use it; then answer."""
    tools = {tool.name: tool.description or '' for tool in info.function_tools}
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart('done')])
    if 'word_count' in tools:
        return ModelResponse(parts=[ToolCallPart('word_count', {'text': 'two words'})])
    if 'author_capability' in tools:
        return ModelResponse(parts=[ToolCallPart('author_capability', {'name': 'word_count', 'code': AUTHORED})])
    if 'run_code' not in tools:
        return ModelResponse(parts=[TextPart('done')])
    description = tools['run_code']
    code = {
        'get_weather': "await get_weather(city='Paris')",
        'list_orders': "await list_orders(customer='Ada')",
        'refund': 'await refund(order=7, amount=20.0)',
    }
    called = next((text for name, text in code.items() if name in description), '1 + 1')
    return ModelResponse(parts=[ToolCallPart('run_code', {'code': called})])


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def infer_model(*args: object, **kwargs: object) -> FunctionModel:
        return FunctionModel(reply)

    monkeypatch.setattr(models, 'infer_model', infer_model)


@pytest.fixture
def loop_for_run_sync() -> Iterator[None]:
    """`run_sync` makes a loop where there is none, and leaves it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()
    asyncio.set_event_loop(None)


@pytest.fixture
def workspace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path('/tmp/agent-workspace').mkdir(exist_ok=True)  # noqa: S108  the example in the docs names it


@pytest.mark.usefixtures('stand_in', 'workspace', 'loop_for_run_sync')
@pytest.mark.parametrize('example', HOST_EXAMPLES, ids=str)
def test_examples_run(example: CodeExample, eval_example: EvalExample) -> None:
    eval_example.run(example)


@pytest.mark.parametrize('example', SANDBOX_EXAMPLES, ids=str)
async def test_examples_of_snippets_run(example: CodeExample) -> None:
    def get_weather(city: str) -> dict[str, float]:
        """Temperature and wind of a city."""
        return {'temp_f': 72.0, 'wind': 4.5}

    returned = await run_snippet(example.source, tools=[Tool(get_weather)])
    assert returned.content == {'paris': 22.2, 'tokyo': 22.2}


@pytest.mark.parametrize('example', LOOKUP_EXAMPLES, ids=str)
async def test_examples_of_lookups_run(example: CodeExample) -> None:
    def get_weather(city: str) -> dict[str, float]:
        """Temperature and wind of a city."""
        return {'temp_f': 72.0, 'wind': 4.5}

    returned = await run_snippet(example.source, tools=[Tool(get_weather)])
    assert 'async def get_weather(*, city: str) -> dict[str, float]:' in str(returned.content)


def test_there_are_examples() -> None:
    assert len(HOST_EXAMPLES) > 8
    assert SANDBOX_EXAMPLES
    assert LOOKUP_EXAMPLES
