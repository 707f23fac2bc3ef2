"""A DBOS process with the scenario's agent, and its workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from pydantic_ai import DeferredToolRequests
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.tools import Tool

from pydantic_ai_harness.code_mode import paused_calls, resume_with
from tests.durable import scenario

_RETRIES: Mapping[str, Any] = {'flaky': {'retries_allowed': True, 'interval_seconds': 0.02, 'max_attempts': 3}}


def _tool(function: scenario.ToolFunction) -> Tool[object]:
    step: scenario.ToolFunction = DBOS.step(**_RETRIES.get(function.__name__, {}))(function)
    metadata: dict[str, Any] = {'dbos': {'child_workflow': {}}} if function is scenario.overlapping else {}
    return scenario.new_tool(function, metadata, body=step)


agent = scenario.new_agent([_tool(function) for function in scenario.TOOLS], DBOSDurability())


@DBOS.workflow()
async def run_scenario(codes: str) -> str:
    """Run the programs, and again whenever somebody has answered."""
    result = await agent.run(codes)
    while isinstance(result.output, DeferredToolRequests):
        await DBOS.set_event_async('asked', [call.tool_call_id for call in paused_calls(result.output)])
        answers: dict[str, bool] = await DBOS.recv_async('answers', timeout_seconds=60)
        result = await agent.run(
            message_history=result.all_messages(), deferred_tool_results=resume_with(result.output, answers)
        )
    return result.output


def serve(database_url: str, workflow_id: str, codes: str, answer: bool | None) -> None:
    """Start the workflow, or recover it, and write its result to a file."""

    async def work() -> None:
        DBOS(
            config=DBOSConfig(
                name='scenario',
                system_database_url=database_url,
                application_version='1',
                notification_listener_polling_interval_sec=0.01,
                scheduler_polling_interval_sec=0.05,
                log_level='ERROR',
            )
        )
        DBOS.launch()
        with SetWorkflowID(workflow_id):
            handle = await DBOS.start_workflow_async(run_scenario, codes)
        if answer is not None:
            asked: list[str] = await DBOS.get_event_async(workflow_id, 'asked', timeout_seconds=30)
            await DBOS.send_async(workflow_id, dict.fromkeys(asked, answer), 'answers')
        outcome: dict[str, object]
        try:
            outcome = {'output': await handle.get_result()}
        except Exception as error:  # noqa: BLE001  the test reads it
            outcome = {'error': f'{type(error).__name__}: {error}'}
        scenario.leave(outcome)
        DBOS.destroy()

    asyncio.run(work())
