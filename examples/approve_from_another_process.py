"""Code that waits for a person, over two starts of a program.

    .venv/bin/python examples/approve_from_another_process.py           # runs until somebody has to decide, and ends
    .venv/bin/python examples/approve_from_another_process.py approve   # goes on where it stood
    .venv/bin/python examples/approve_from_another_process.py deny
    .venv/bin/python examples/approve_from_another_process.py edit      # approves smaller amounts

It needs no key and no network: a stand-in sends the code that a model would write. Everything else is real. What waits
lies in `.approve-example`, or the directory that `--directory` names.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from pydantic import TypeAdapter
from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, RunContext, ToolApproved, ToolDenied
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.code_mode import FileStateStore, PausedCall, paused_calls, resume_with

LIMIT = 10
REQUESTS = TypeAdapter(DeferredToolRequests)

CODE = """\
import asyncio

orders = await late_orders()
print(f'{len(orders)} orders were late')

async def settle(order):
    try:
        return await refund(order=order['id'], amount=order['price'])
    except PermissionError as error:
        return f"{order['id']}: {error}"

await asyncio.gather(*[settle(order) for order in orders])"""


def stand_in(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Send the code, then say what came back."""
    for part in reversed([part for message in messages for part in message.parts]):
        if isinstance(part, ToolReturnPart):
            return ModelResponse(parts=[TextPart(f'The code returned: {part.model_response_str()}')])
    return ModelResponse(parts=[ToolCallPart('run_code', {'code': CODE})])


def make_agent(directory: Path) -> Agent[object, str | DeferredToolRequests]:
    """The same agent in both processes."""
    code_mode = CodeMode[object](deferred_calls='pause', state_store=FileStateStore(directory / 'states'))
    agent = Agent(FunctionModel(stand_in), output_type=[str, DeferredToolRequests], capabilities=[code_mode])

    @agent.tool_plain
    def late_orders() -> list[dict[str, int]]:
        """The orders that were late this week."""
        print('  (late_orders runs)')
        return [{'id': 7, 'price': 20}, {'id': 8, 'price': 350}]

    @agent.tool
    def refund(ctx: RunContext[object], order: int, amount: int) -> str:
        """Refund an order. Larger amounts need a person's approval."""
        if amount > LIMIT and not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={'limit': LIMIT})
        print(f'  (refund runs: order {order}, {amount} euros)')
        return f'{order}: {amount} euros refunded'

    return agent


async def start(directory: Path) -> None:
    """Run until somebody has to decide."""
    result = await make_agent(directory).run('Refund what was late this week.')
    if not isinstance(result.output, DeferredToolRequests):
        print(result.output)
        return
    (directory / 'history.json').write_bytes(result.all_messages_json())
    (directory / 'requests.json').write_bytes(REQUESTS.dump_json(result.output))
    print('The run has ended. These calls wait:')
    for call in paused_calls(result.output):
        print(f'  {call.tool_call_id}  {call.tool_name}{call.args}  line {call.line}: {call.source}')
    print('Start this again with approve, deny or edit.')


async def go_on(directory: Path, decision: str) -> None:
    """Answer what waits, in a process that knows nothing of the first but its files."""
    history = ModelMessagesTypeAdapter.validate_json((directory / 'history.json').read_bytes())
    requests = REQUESTS.validate_json((directory / 'requests.json').read_bytes())
    answers = {call.tool_call_id: decide(decision, call) for call in paused_calls(requests)}
    results = resume_with(requests, answers)
    result = await make_agent(directory).run(message_history=history, deferred_tool_results=results)
    print(result.output)


def decide(decision: str, call: PausedCall) -> bool | ToolApproved | ToolDenied:
    """What the person says about a call."""
    if decision == 'deny':
        return ToolDenied('over the limit')
    if decision == 'edit':
        return ToolApproved(override_args={**call.args, 'amount': LIMIT})
    return True


def main() -> None:
    """Read what was decided, if anything was."""
    parser = argparse.ArgumentParser(description='Code that waits for a person, over two starts of a program.')
    parser.add_argument('decision', nargs='?', choices=['approve', 'deny', 'edit'])
    parser.add_argument('--directory', type=Path, default=Path('.approve-example'))
    options = parser.parse_args()
    directory: Path = options.directory
    if options.decision is None:
        directory.mkdir(parents=True, exist_ok=True)
        asyncio.run(start(directory))
    elif (directory / 'requests.json').exists():
        asyncio.run(go_on(directory, options.decision))
    else:
        parser.error(f'nothing waits in {directory}: start this without {options.decision!r} first')


if __name__ == '__main__':
    main()
