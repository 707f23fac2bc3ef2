"""A process that runs one Prefect flow run with the scenario's agent."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from prefect import flow, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.context import refresh_global_settings_context
from prefect.flow_engine import run_flow_async
from prefect.states import AwaitingRetry
from pydantic_ai import DeferredToolRequests
from pydantic_ai.durable_exec.prefect import PrefectDurability
from pydantic_ai.tools import Tool

from pydantic_ai_harness.code_mode import paused_calls, resume_with
from tests.durable import scenario

_RETRIES: dict[str, Any] = {'flaky': {'retries': 2, 'retry_delay_seconds': 0.02}}


def _tool(function: scenario.ToolFunction) -> Tool[object]:
    metadata = {'prefect': _RETRIES[function.__name__]} if function.__name__ in _RETRIES else {}
    return scenario.new_tool(function, metadata)


agent = scenario.new_agent([_tool(function) for function in scenario.TOOLS], PrefectDurability())


@flow(name='scenario', persist_result=True)
async def run_scenario(codes: str, *, answer: bool = True) -> str:
    """Run the programs, and again with the answer to whatever is asked."""
    result = await agent.run(codes)
    while isinstance(result.output, DeferredToolRequests):
        answers = {call.tool_call_id: answer for call in paused_calls(result.output)}
        result = await agent.run(
            message_history=result.all_messages(), deferred_tool_results=resume_with(result.output, answers)
        )
    return result.output


def serve(codes: str, answer: bool) -> None:
    """Run the flow run, and write its result to a file.

    A flow run whose process was killed stands as running. Whoever finds that, in a deployment a worker, sets it back.
    """
    refresh_global_settings_context()  # Prefect was loaded before this process had its environment

    async def work() -> None:
        outcome: dict[str, object]
        parameters: dict[str, object] = {'codes': codes, 'answer': answer}
        try:
            output = await run_flow_async(
                run_scenario, flow_run=await _flow_run(parameters), parameters=parameters, return_type='result'
            )
            outcome = {'output': output}
        except BaseException as error:  # noqa: BLE001  the test reads it, and Prefect's signals are no exceptions
            outcome = {'error': f'{type(error).__name__}: {error}'}
        scenario.leave(outcome)

    asyncio.run(work())


async def _flow_run(parameters: dict[str, object]) -> FlowRun:
    known = scenario.folder() / 'flow_run.txt'
    async with get_client() as client:
        if not known.exists():
            created = await client.create_flow_run(run_scenario, parameters=parameters)
            known.write_text(str(created.id))
            return created
        flow_run_id = UUID(known.read_text())
        await client.set_flow_run_state(flow_run_id, AwaitingRetry(), force=True)
        return await client.read_flow_run(flow_run_id)
