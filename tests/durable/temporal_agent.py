"""The scenario's agent for Temporal."""

from __future__ import annotations

import os
from datetime import timedelta

from pydantic_ai.durable_exec.temporal import TemporalDurability
from pydantic_ai.tools import Tool
from temporalio.common import RetryPolicy

from tests.durable import scenario

_AT_ONCE = timedelta(milliseconds=20)
_RETRIES = {
    'fail': RetryPolicy(maximum_attempts=1),
    'flaky': RetryPolicy(maximum_attempts=3, initial_interval=_AT_ONCE),
}


def _tool(function: scenario.ToolFunction) -> Tool[object]:
    retries = _RETRIES.get(function.__name__)
    metadata = {} if retries is None else {'temporal': {'retry_policy': retries}}
    return scenario.new_tool(function, metadata)


agent = scenario.new_agent(
    [_tool(function) for function in scenario.TOOLS],
    TemporalDurability(
        activity_config={
            # A killed worker is noticed when this is over.
            'start_to_close_timeout': timedelta(seconds=float(os.environ.get(scenario.STEP_SECONDS, '60'))),
            'retry_policy': RetryPolicy(initial_interval=_AT_ONCE),
        }
    ),
)
