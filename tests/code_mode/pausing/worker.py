"""A process that pauses and resumes programs: one JSON command per line in, one JSON reply per line out."""

# ruff: noqa: BLE001

import asyncio
import json
import os
import sys
import time
import traceback
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))  # it is run as a script

from pydantic_ai.messages import ModelMessagesTypeAdapter

from pydantic_ai_harness.code_mode import FileStateStore
from tests.code_mode.pausing.bank import REQUESTS, Bank, Dialogue
from tests.code_mode.pausing.shapes import SHAPES

warnings.simplefilter('error')


def log_to(path: str, what: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f'{what}\n'.encode())
    os.close(descriptor)


def state_of(dialogue: Dialogue) -> dict[str, Any]:
    """A dialogue as JSON."""
    is_text = isinstance(dialogue.output, str)
    return {
        'history': ModelMessagesTypeAdapter.dump_json(dialogue.history).decode(),
        'output': dialogue.output if is_text else None,
        'requests': None if is_text else REQUESTS.dump_json(dialogue.requests).decode(),
    }


def load_state(dialogue: Dialogue, state: dict[str, Any]) -> None:
    """Make it the dialogue that was dumped."""
    dialogue.history = ModelMessagesTypeAdapter.validate_json(state['history'])
    dialogue.output = state['output'] if state['requests'] is None else REQUESTS.validate_json(state['requests'])


async def step(command: dict[str, Any]) -> dict[str, Any]:
    """Start a shape, or go on with it."""
    shape = SHAPES[command['shape']]
    bank = Bank(record=lambda what: log_to(command['log'], what))
    dialogue = shape.dialogue(bank, FileStateStore(command['states']))
    if command['state'] is None:
        await shape.start(dialogue)
    else:
        load_state(dialogue, command['state'])
        await shape.go_on(dialogue)
    return state_of(dialogue)


def wait_until(moment: float) -> None:
    """Wait without sleeping, so that others who wait for the moment go on at the same time."""
    while time.time() < moment:
        pass


async def race(command: dict[str, Any]) -> dict[str, Any]:
    """Go on with a shape at a given moment, as another process does."""
    wait_until(command['at'])
    return await step(command)


async def pause_often(command: dict[str, Any]) -> dict[str, Any]:
    """Start a shape a number of times."""
    return {'states': [await step(command) for _ in range(command['times'])]}


async def first_save(command: dict[str, Any]) -> dict[str, Any]:
    """Save at a given moment into a directory that does not exist yet."""
    store = FileStateStore(command['states'])
    wait_until(command['at'])
    await store.save(command['key'], b'state', expires_at=datetime.now(UTC) + timedelta(hours=1))
    return {}


async def crash_after_taking(command: dict[str, Any]) -> dict[str, Any]:
    """Take a paused program up and die in its first approved call."""
    shape = SHAPES[command['shape']]

    def record(what: str) -> None:
        log_to(command['log'], what)
        os.kill(os.getpid(), 9)

    dialogue = shape.dialogue(Bank(record=record), FileStateStore(command['states']))
    load_state(dialogue, command['state'])
    await shape.go_on(dialogue)
    return {}


COMMANDS = {
    'step': step,
    'race': race,
    'pause_often': pause_often,
    'first_save': first_save,
    'crash': crash_after_taking,
}


async def main() -> None:
    loop = asyncio.get_running_loop()
    print('{}', flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        try:
            reply = await COMMANDS[command['do']](command)
        except Exception:
            reply = {'error': traceback.format_exc()}
        print(json.dumps(reply), flush=True)


if __name__ == '__main__':
    asyncio.run(main())
