"""A Temporal worker with the scenario's workflow."""

from __future__ import annotations

import asyncio

from pydantic_ai import DeferredToolRequests
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin, PydanticAIWorkflow
from pydantic_ai.messages import ModelMessage
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

from pydantic_ai_harness.code_mode import paused_calls, resume_with
from pydantic_ai_harness.temporal import CodeModePlugin

with workflow.unsafe.imports_passed_through():  # built once, and not for each workflow
    from tests.durable.temporal_agent import agent


@workflow.defn
class Scenario(PydanticAIWorkflow):
    """Runs the agent, and again whenever somebody has answered."""

    __pydantic_ai_agents__ = [agent]  # noqa: RUF012  the base declares it so

    def __init__(self) -> None:
        self._asked: list[str] = []
        self._answers: dict[str, bool] | None = None

    @workflow.run
    async def run(self, codes: str) -> str:
        """Run the programs."""
        result = await agent.run(codes)
        while isinstance(result.output, DeferredToolRequests):
            self._asked = [call.tool_call_id for call in paused_calls(result.output)]
            await workflow.wait_condition(lambda: self._answers is not None)
            answers, self._answers = self._answers or {}, None
            result = await agent.run(
                message_history=result.all_messages(), deferred_tool_results=resume_with(result.output, answers)
            )
        return result.output

    @workflow.query
    def asked(self) -> list[str]:
        """The calls that wait for an answer."""
        return self._asked

    @workflow.signal
    def answer(self, answers: dict[str, bool]) -> None:
        """Answer them."""
        self._answers = answers


@workflow.defn
class Continued(PydanticAIWorkflow):
    """Waits for an answer in a run of its own, which knows only what it is given."""

    __pydantic_ai_agents__ = [agent]  # noqa: RUF012

    def __init__(self) -> None:
        self._asked: list[str] = []
        self._answer: bool | None = None

    @workflow.run
    async def run(
        self, codes: str, history: list[ModelMessage] | None = None, asked: DeferredToolRequests | None = None
    ) -> str:
        """Run the programs, or go on with them."""
        if history is None or asked is None:
            result = await agent.run(codes)
        else:
            self._asked = [call.tool_call_id for call in paused_calls(asked)]
            await workflow.wait_condition(lambda: self._answer is not None)
            answers = dict.fromkeys(self._asked, self._answer)
            result = await agent.run(message_history=history, deferred_tool_results=resume_with(asked, answers))
        if isinstance(result.output, DeferredToolRequests):
            workflow.continue_as_new(args=[codes, result.all_messages(), result.output])
        return result.output

    @workflow.query
    def asked(self) -> list[str]:
        """The calls that wait for an answer."""
        return self._asked

    @workflow.signal
    def answer(self, answer: bool) -> None:
        """Answer all that is asked."""
        self._answer = answer


async def connect(address: str, *, with_plugin: bool) -> Client:
    """A client, whose plugins its workers have too."""
    plugins = [PydanticAIPlugin(), *([CodeModePlugin(agent)] if with_plugin else [])]
    async with asyncio.timeout(20):
        while True:
            try:
                return await Client.connect(address, plugins=plugins, identity='scenario')  # and not the machine's name
            except RuntimeError:  # a server that has just started listens before it answers
                await asyncio.sleep(0.1)


def serve(address: str, queue: str, with_plugin: bool) -> None:
    """Be a worker until this process is killed."""

    async def work() -> None:
        client = await connect(address, with_plugin=with_plugin)
        async with Worker(
            client,
            task_queue=queue,
            workflows=[Scenario, Continued],
            # Each workflow task replays from the start, and none waits for a worker that was killed.
            max_cached_workflows=0,
            build_id='scenario',  # in place of a hash over all modules that are loaded, which takes 2 s
        ):
            await asyncio.Event().wait()

    asyncio.run(work())
