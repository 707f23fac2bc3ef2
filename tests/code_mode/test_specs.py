"""CM-20: code mode in agent specs."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import json
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from pydantic_ai import Agent, AgentSpec, Tool, UnexpectedModelBehavior

from pydantic_ai_harness import CodeMode
from tests.support import ScriptedModel, Turn, code_returns


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def load(tmp_path: Path, capability: str, name: str = 'agent.yaml') -> Agent[Any, Any]:
    """An agent from a spec file with one capability."""
    path = tmp_path / name
    path.write_text(f'model: test\ncapabilities:\n{indent(capability, "  ")}\n')
    tools = [Tool[object](add, metadata={'area': {'sums': 1}}), Tool[object](double)]
    return Agent.from_file(path, custom_capability_types=[CodeMode], tools=tools)


def settings_of(agent: Agent[Any, Any]) -> CodeMode[Any]:
    found: list[CodeMode[Any]] = []
    agent.root_capability.apply(lambda one: found.append(one) if isinstance(one, CodeMode) else None)
    (code_mode,) = found
    return code_mode


async def run(agent: Agent[Any, Any], *turns: Turn) -> tuple[ScriptedModel, list[object]]:
    script = ScriptedModel(turns)
    result = await agent.run('go', model=script.model())
    return script, [part.content for part in code_returns(result.all_messages())]


@pytest.mark.parametrize(
    'capability', ['- CodeMode: {}', '- CodeMode', '- CodeMode:\n    tools: all', '- CodeMode: all']
)
async def test_cm20_code_mode_without_arguments(capability: str, tmp_path: Path) -> None:
    agent = load(tmp_path, capability)
    script, values = await run(agent, 'await add(a=1, b=await double(number=2))')
    assert script.tool_names() == ['run_code']
    assert values == [5]
    assert settings_of(agent) == CodeMode[Any]()


@pytest.mark.parametrize(
    'capability',
    [
        '- CodeMode: {tools: [add], max_retries: 5}',
        '- CodeMode:\n    tools:\n      - add\n    max_retries: 5',
        '- CodeMode: {tools: {area: {sums: 1}}, max_retries: 5}',
    ],
)
async def test_cm20_code_mode_with_arguments(capability: str, tmp_path: Path) -> None:
    agent = load(tmp_path, capability)
    script, values = await run(agent, *['1 / 0'] * 5, 'await add(a=1)')
    assert script.tool_names() == ['double', 'run_code']
    assert values[-1] == 1
    with pytest.raises(UnexpectedModelBehavior, match='max retries count of 5'):
        await run(agent, *['1 / 0'] * 6)


async def test_cm20_json_specs(tmp_path: Path) -> None:
    path = tmp_path / 'agent.json'
    path.write_text(
        json.dumps({'model': 'test', 'capabilities': [{'CodeMode': {'tools': ['add'], 'max_tool_calls': 2}}]})
    )
    agent = Agent.from_file(path, custom_capability_types=[CodeMode], tools=[add])
    script, values = await run(agent, 'await add(a=1)')
    assert script.tool_names() == ['run_code']
    assert 'At most 2 function calls' in script.description
    assert values == [1]


async def test_cm20_specs_that_are_no_file() -> None:
    spec: dict[str, Any] = {'model': 'test', 'capabilities': [{'CodeMode': {}}]}
    agent = Agent.from_spec(spec, custom_capability_types=[CodeMode], tools=[add])
    _, values = await run(agent, 'await add(a=1)')
    assert values == [1]


async def test_cm20_every_setting_that_can_be_written_down(tmp_path: Path) -> None:
    capability = """\
- CodeMode:
    tools: [add]
    max_retries: 1
    max_tool_calls: 7
    max_result_bytes: 5
    resource_limits: {max_duration_secs: 0.1, max_memory: 8_000_000}
"""
    agent = load(tmp_path, capability)
    settings = settings_of(agent)
    assert (settings.max_retries, settings.max_tool_calls, settings.max_result_bytes) == (1, 7, 5)
    assert (settings.limits.max_duration_secs, settings.limits.max_memory) == (0.1, 8_000_000)
    _, values = await run(agent, 'while True:\n    pass', '1')
    assert '0.1 s of computing' in str(values[0])


async def test_cm20_unlimited_and_null(tmp_path: Path) -> None:
    settings = settings_of(load(tmp_path, '- CodeMode: {resource_limits: unlimited, max_result_bytes: null}'))
    assert (settings.limits.max_duration_secs, settings.max_result_bytes) == (None, None)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ('{max_retries: -1}', '`max_retries` must be'),
        ("{max_retries: '5'}", '`max_retries` must be'),
        ('{max_tool_calls: 0}', '`max_tool_calls` must be'),
        ('{resource_limits: {max_seconds: 1}}', "no key 'max_seconds'"),
        ('{resource_limits: endless}', "must be a dict or 'unlimited'"),
        ('{os_access: KEY}', '`os_access` takes'),
        ('{mount: /tmp}', '`mount` takes'),
        ('{retries: 5}', "'retries'"),
    ],
)
async def test_cm20_bad_arguments_fail_when_the_spec_is_loaded(arguments: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='CodeMode') as raised:
        load(tmp_path, f'- CodeMode: {arguments}')
    assert message in str(raised.value)


async def test_cm20_a_worker_pool_cannot_be_written_down(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='worker_pool'):
        load(tmp_path, '- CodeMode: {worker_pool: 5}')


async def test_cm20_the_name_in_specs() -> None:
    assert CodeMode.get_serialization_name() == 'CodeMode'


async def test_cm20_the_json_schema_of_specs_knows_code_mode(tmp_path: Path) -> None:
    schema = AgentSpec.model_json_schema_with_capabilities([CodeMode])
    assert 'max_tool_calls' in json.dumps(schema)
    path = tmp_path / 'saved.yaml'
    AgentSpec.from_dict({'model': 'test', 'capabilities': [{'CodeMode': {'max_retries': 5}}]}).to_file(
        path, custom_capability_types=[CodeMode]
    )
    assert settings_of(Agent.from_file(path, custom_capability_types=[CodeMode])).max_retries == 5
