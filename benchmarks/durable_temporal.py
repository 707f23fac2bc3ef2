"""The workflows that `durable.py` measures on Temporal."""

from __future__ import annotations

from pydantic_ai.durable_exec.temporal import PydanticAIWorkflow
from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from durable_agents import agent, double
    from pydantic_ai.durable_exec.temporal import TemporalDurability
    from pydantic_ai.tools import Tool

    PLAIN = agent('plain', Tool(double), [TemporalDurability()], code=False)
    CODE = agent('code', Tool(double), [TemporalDurability()], code=True)


@workflow.defn
class Plain(PydanticAIWorkflow):
    """The tool is called directly."""

    __pydantic_ai_agents__ = [PLAIN]  # noqa: RUF012  the base declares it so

    @workflow.run
    async def run(self, prompt: str) -> str:
        """Run the agent."""
        return (await PLAIN.run(prompt)).output


@workflow.defn
class Code(PydanticAIWorkflow):
    """The tool is called in code."""

    __pydantic_ai_agents__ = [CODE]  # noqa: RUF012  the base declares it so

    @workflow.run
    async def run(self, prompt: str) -> str:
        """Run the agent."""
        return (await CODE.run(prompt)).output
