"""CM-21: what one run leaves for the next one of the same workflow, on DBOS, which runs workflows in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Generator
from pathlib import Path
from typing import Any

import pytest
from dbos import DBOS, DBOSConfig
from pydantic_ai import Agent, FunctionToolset, RunContext
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import AgentStreamEvent, ModelMessage, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.tools import Tool
from pydantic_monty import MountDir

from pydantic_ai_harness import CodeMode, ConfigurationError
from pydantic_ai_harness.code_mode import FileStateStore, NestedToolResultEvent, StateStoreWarning, workflow_states

from . import scenario
from .test_scenarios import GATHER

pytestmark = pytest.mark.filterwarnings('default')


@pytest.fixture
def dbos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    monkeypatch.setenv(scenario.FOLDER, str(tmp_path))
    DBOS(config=DBOSConfig(name='runs', system_database_url=f'sqlite:///{tmp_path / "dbos.sqlite"}', log_level='ERROR'))
    yield
    DBOS.destroy(destroy_registry=True)


def _agent(name: str, code_mode: CodeMode[object]) -> Agent[object, str]:
    return Agent(scenario.new_model(), name=name, capabilities=[code_mode, DBOSDurability()])


async def _names_of_steps(workflow_id: str) -> list[str]:
    return [step['function_name'] for step in await DBOS.list_workflow_steps_async(workflow_id)]


@pytest.mark.usefixtures('dbos')
async def test_cm21_variables_live_on_in_the_next_run_as_recorded_operations(tmp_path: Path) -> None:
    agent = _agent('keeps', CodeMode(keep_repl=True, state_store=FileStateStore(tmp_path / 'states')))

    @DBOS.workflow()
    async def two_runs() -> list[Any]:
        first = await agent.run(json.dumps(['kept = 41']), conversation_id='talk')
        second = await agent.run(json.dumps(['kept + 1']), conversation_id='talk')
        return [json.loads(first.output), json.loads(second.output)]

    DBOS.launch()
    handle = await DBOS.start_workflow_async(two_runs)
    assert await handle.get_result() == [[{}], [42]]
    steps = await _names_of_steps(handle.workflow_id)
    assert [step for step in steps if 'session' in step] == [
        'keeps__capability__code_mode.take_session',
        'keeps__capability__code_mode.save_session',
        'keeps__capability__code_mode.take_session',
        'keeps__capability__code_mode.save_session',
    ]


@pytest.mark.usefixtures('dbos')
async def test_cm21_an_overlay_mount_is_refused_with_what_to_do(tmp_path: Path) -> None:
    mount = MountDir(host_path=str(tmp_path), virtual_path='/data', mode='overlay')
    agent = _agent('overlays', CodeMode(mount=mount))

    @DBOS.workflow()
    async def run() -> str:
        return (await agent.run(json.dumps(['1']))).output

    DBOS.launch()
    with pytest.raises(ConfigurationError, match=r"code in a DBOS workflow cannot use.*'read-only' or 'read-write'"):
        await (await DBOS.start_workflow_async(run)).get_result()
    assert json.loads((await agent.run(json.dumps(['1']))).output) == [1]  # outside a workflow


@pytest.mark.usefixtures('dbos')
async def test_cm21_outside_a_workflow_nothing_is_recorded() -> None:
    agent = _agent('plain', CodeMode())
    DBOS.launch()
    assert json.loads((await agent.run(json.dumps(['6 * 7']))).output) == [42]
    assert await DBOS.list_workflows_async() == []


@pytest.mark.usefixtures('dbos')
async def test_cm21_what_host_functions_give_is_recorded_with_the_step(tmp_path: Path) -> None:
    asked: list[str] = []

    def clock(name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        asked.append(name)
        return str(len(asked))

    agent = _agent('clock', CodeMode(os_access=clock))

    @DBOS.workflow()
    async def run() -> str:
        return (await agent.run(json.dumps(["import os\nos.getenv('WHEN')"]))).output

    DBOS.launch()
    handle = await DBOS.start_workflow_async(run)
    assert json.loads(await handle.get_result()) == ['1']
    # Run again up to the step after the code's: all before is read from the record.
    last = len(await _names_of_steps(handle.workflow_id))
    again = await DBOS.fork_workflow_async(handle.workflow_id, last)
    assert json.loads(await again.get_result()) == ['1']
    assert asked == ['os.getenv']


@pytest.mark.usefixtures('dbos')
async def test_cm21_a_session_too_large_to_be_recorded_is_not_kept_and_the_run_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = _agent('large', CodeMode(keep_repl=True, state_store=FileStateStore(tmp_path / 'states')))

    @DBOS.workflow()
    async def run() -> str:
        with pytest.warns(StateStoreWarning, match='are not kept for the next one.*can be recorded'):
            result = await agent.run(json.dumps(['kept = 1\nkept']), conversation_id='talk')
        return result.output

    def is_too_large(text: str, limit: int | None) -> str:
        return 'more than can be recorded'

    DBOS.launch()
    monkeypatch.setattr(workflow_states, 'too_large_to_record', is_too_large)
    assert json.loads(await (await DBOS.start_workflow_async(run)).get_result()) == [1]


@pytest.mark.usefixtures('dbos')
async def test_cm21_calls_that_are_validated_first_run_one_at_a_time() -> None:
    async def validate(ctx: RunContext[object], key: str, seconds: float) -> None:
        await asyncio.sleep(0.05 if key == '0' else 0)

    tools = [Tool(scenario.overlapping, metadata={'dbos': {'child_workflow': {}}}, args_validator=validate)]
    agent = Agent(
        scenario.new_model(),
        name='validates',
        toolsets=[FunctionToolset(tools, id='tools')],
        capabilities=[CodeMode(), DBOSDurability()],
    )

    @DBOS.workflow()
    async def run() -> str:
        return (await agent.run(json.dumps([GATHER]))).output

    DBOS.launch()
    handle = await DBOS.start_workflow_async(run)
    assert json.loads(await handle.get_result()) == [[1, 1, 1, 1]]


@pytest.mark.usefixtures('dbos')
async def test_cm21_how_gathered_calls_ended_is_announced_in_the_order_in_which_they_were_made() -> None:
    ended: list[str] = []

    async def listen(ctx: RunContext[object], events: AsyncIterable[AgentStreamEvent]) -> None:
        ended.extend([event.nested_tool_call_id async for event in events if isinstance(event, NestedToolResultEvent)])

    async def streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        for index, part in enumerate(scenario.scripted(messages, info).parts):
            if isinstance(part, ToolCallPart):
                yield {index: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}
            elif isinstance(part, TextPart):
                yield part.content

    agent = Agent(
        FunctionModel(stream_function=streamed, model_name='streams'),
        name='announces',
        toolsets=[FunctionToolset([Tool(scenario.overlapping, metadata={'dbos': {'child_workflow': {}}})], id='tools')],
        capabilities=[CodeMode(), DBOSDurability(event_stream_handler=listen)],
    )
    code = "import asyncio\nawait asyncio.gather(*[overlapping(key='k', seconds=0.3 - n / 10) for n in range(3)])"

    @DBOS.workflow()
    async def run() -> str:
        return (await agent.run(json.dumps([code]))).output

    DBOS.launch()
    handle = await DBOS.start_workflow_async(run)
    assert json.loads(await handle.get_result()) == [[1, 2, 3]]
    assert ended == ['code_0__1', 'code_0__2', 'code_0__3']
