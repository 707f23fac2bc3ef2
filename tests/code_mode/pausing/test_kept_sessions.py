"""BEYOND-1: variables that live on from run to run of a conversation, with `keep_repl`."""

import asyncio
import json
import warnings
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Tool, UsageLimits

from pydantic_ai_harness.code_mode import FileStateStore, MemoryStateStore, StateStoreWarning

from .bank import Bank, Dialogue, approve, images_in


class Spy(MemoryStateStore):
    """A store that tells what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.last: tuple[str, bytes, datetime] | None = None

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        self.asked.append('save')
        self.last = key, state, expires_at
        await super().save(key, state, expires_at=expires_at)

    async def take(self, key: str) -> bytes:
        self.asked.append('take')
        return await super().take(key)

    async def change(self, head: dict[str, Any], body: dict[str, Any] | bytes) -> None:
        """Change what was saved last."""
        assert self.last is not None
        key, state, expires_at = self.last
        first, second = state.split(b'\n')
        new = body if isinstance(body, bytes) else json.dumps({**json.loads(second), **body}).encode()
        await super().save(key, json.dumps({**json.loads(first), **head}).encode() + b'\n' + new, expires_at=expires_at)


def kept(**options: Any) -> Dialogue:
    return Dialogue(options={'keep_repl': True, **options.pop('options', {})}, **options)


async def warned(work: Any) -> list[str]:
    """Do it; the warnings of the store."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        await work
    assert {warning.category for warning in caught} <= {StateStoreWarning}, caught
    return [str(warning.message) for warning in caught]


# -- run after run -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('in_files', [True, False])
async def test_beyond1_variables_imports_and_functions_live_on(in_files: bool, tmp_path: Path) -> None:
    """The next run of the conversation goes on with the names of the last one."""
    dialogue = kept(store=FileStateStore(tmp_path) if in_files else MemoryStateStore())
    await dialogue.run('import math\nx = await free(n=1)\ndef f(n):\n    return math.floor(n + x)')
    for n in range(3):
        await dialogue.run(f'x += 1\nf({n} + 0.5)')
        assert dialogue.content == 11 + 2 * n
    assert dialogue.bank.ran == ['free 1']


async def test_beyond1_other_conversations_have_their_own_variables() -> None:
    """Two conversations with one store do not see each other."""
    store = MemoryStateStore()
    one, other = kept(store=store), kept(store=store)
    await one.run('x = 1')
    await other.run('x = 2')
    await one.run('x')
    await other.run('x')
    assert (one.content, other.content) == (1, 2)
    stranger = kept(store=store)
    await stranger.run('x')
    assert '`x` is not defined' in stranger.texts[0]


async def test_beyond1_without_keep_repl_a_run_starts_afresh() -> None:
    """The default keeps nothing and asks the store nothing."""
    spy = Spy()
    dialogue = Dialogue(store=spy)
    await dialogue.run('x = 1')
    await dialogue.run('x')
    assert '`x` is not defined' in dialogue.texts[-1]
    assert spy.asked == []


async def test_beyond1_a_run_without_code_does_not_touch_the_store() -> None:
    """A run that never calls `run_code` neither reads nor writes, and the variables stay."""
    spy = Spy()
    dialogue = kept(store=spy)
    await dialogue.run()
    assert spy.asked == []
    await dialogue.run('x = 1', 'x')
    assert spy.asked == ['take', 'save']
    await dialogue.run()
    assert spy.asked == ['take', 'save']
    await dialogue.run('x')
    assert dialogue.content == 1


async def test_beyond1_the_type_check_knows_the_names() -> None:
    """Names of the last run are known with their types, and unknown ones are not."""
    dialogue = kept()
    await dialogue.run('x: str = "a"')
    await dialogue.run('await free(n=x)')
    assert 'The code was not run' in dialogue.texts[-1]
    await dialogue.run('await free(n=len(x))\nawait free(n=unknown)')
    assert '`unknown` is not defined' in dialogue.texts[-1]
    assert dialogue.bank.ran == []
    await dialogue.run('x')
    assert dialogue.content == 'a'


async def test_beyond1_images_of_the_last_run_can_be_returned() -> None:
    """Media that a tool returned live on with the variable that holds them."""
    dialogue = kept()
    await dialogue.run('p = await picture(n=1)')
    await dialogue.run('p')
    assert [image.identifier for image in images_in(dialogue.content)] == ['picture-1']


async def test_beyond1_restart_drops_what_was_kept() -> None:
    """`restart: true` in a later run starts afresh, for good."""
    dialogue = kept()
    await dialogue.run('x = 1\ny = 2')
    await dialogue.run({'code': 'x = 3', 'restart': True})
    await dialogue.run('x')
    assert dialogue.content == 3
    await dialogue.run('y')
    assert '`y` is not defined' in dialogue.texts[-1]


async def test_beyond1_an_error_keeps_what_was_assigned() -> None:
    """Code that fails keeps the variables from before the error, for the next run too."""
    dialogue = kept()
    await dialogue.run('x = 1\n1 / 0')
    await dialogue.run('x')
    assert dialogue.content == 1


async def test_beyond1_a_line_of_the_last_run_is_called_earlier_code() -> None:
    """Tracebacks tell code of the last run from that of this one."""
    dialogue = kept()
    await dialogue.run('def f():\n    return 1 / 0')
    await dialogue.run('\n\nf()')
    assert 'line 2 of earlier code, in f' in dialogue.texts[-1]
    assert 'line 3' in dialogue.texts[-1]


# -- states that cannot be had -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('head', 'body', 'reason'),
    [
        ({'format': 2}, {}, 'format 2'),
        ({'sandbox_version': '99.0'}, {}, 'sandbox 99.0 wrote it'),
        ({}, {'feeds': 'many'}, '1 fields are not as expected'),
        ({}, b'no json', 'fields are not as expected'),
    ],
)
async def test_beyond1_a_session_that_cannot_be_read_is_dropped(head: Any, body: Any, reason: str) -> None:
    """The run starts afresh, with one warning that says why."""
    spy = Spy()
    dialogue = kept(store=spy)
    await dialogue.run('x = 1')
    await spy.change(head, body)
    texts = await warned(dialogue.run('await free(n=1)', 'x'))
    assert len(texts) == 1
    assert reason in texts[0]
    assert 'the session starts afresh' in texts[0]
    assert dialogue.returns[-2].content == 10
    assert '`x` is not defined' in dialogue.texts[-1]
    await dialogue.run('y = 1')


async def test_beyond1_a_session_that_the_sandbox_cannot_load_is_dropped() -> None:
    """The same holds when it is the sandbox that cannot load it: a warning, and a fresh start."""
    spy = Spy()
    dialogue = kept(store=spy)
    await dialogue.run('x = 1')
    await spy.change({}, {'state': 'AAAA'})
    texts = await warned(dialogue.run('await free(n=1)'))
    assert len(texts) == 1
    assert dialogue.content == 10


async def test_beyond1_an_expired_session_is_dropped() -> None:
    """After `pause_ttl` the conversation starts afresh, with a warning."""
    dialogue = kept(options={'pause_ttl': timedelta(milliseconds=1)})
    await dialogue.run('x = 1')
    await asyncio.sleep(0.01)
    (text,) = await warned(dialogue.run('1 + 1'))
    assert 'it has expired' in text
    assert dialogue.content == 2


@dataclass
class Broken(MemoryStateStore):
    """A store that fails."""

    fails: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        super().__init__()

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        if 'save' in self.fails:
            raise OSError('disk full')
        await super().save(key, state, expires_at=expires_at)

    async def take(self, key: str) -> bytes:
        if 'take' in self.fails:
            raise ConnectionError('no route')
        return await super().take(key)


async def test_beyond1_a_store_that_cannot_be_read_is_a_fresh_start() -> None:
    """The run works without the variables, with a warning that names the error."""
    store = Broken()
    dialogue = kept(store=store)
    await dialogue.run('x = 1')
    store.fails = {'take'}
    (text,) = await warned(dialogue.run('1 + 1'))
    assert 'ConnectionError: no route' in text
    assert dialogue.content == 2


async def test_beyond1_a_store_that_cannot_be_written_does_not_fail_the_run() -> None:
    """The run ends as it would, with a warning."""
    store = Broken(fails={'save'})
    dialogue = kept(store=store)
    (text,) = await warned(dialogue.run('x = 1\nx'))
    assert 'are not kept for the next one: OSError: disk full' in text
    assert dialogue.content == 1


# -- what is lost, and what is not ---------------------------------------------------------------------------------


async def test_beyond1_after_a_time_out_nothing_is_kept() -> None:
    """A time-out resets the session, as the model is told; the next run starts afresh too."""
    dialogue = kept(options={'resource_limits': {'max_duration_secs': 0.3}})
    await dialogue.run('x = 5')
    await dialogue.run('y = 1\nwhile True:\n    pass')
    assert 'The session was reset' in dialogue.texts[-1]
    await warned(dialogue.run('x'))
    assert '`x` is not defined' in dialogue.texts[-1]


async def test_beyond1_a_fresh_start_that_was_told_is_no_incident() -> None:
    """After a time-out of which the model was told, the application is not warned in the next run."""
    dialogue = kept(options={'resource_limits': {'max_duration_secs': 0.3}})
    await dialogue.run('x = 5')
    await dialogue.run('while True:\n    pass')
    assert await warned(dialogue.run('1 + 1')) == []


async def test_beyond1_after_a_time_out_new_variables_are_kept() -> None:
    """What the same run assigns after its time-out is there in the next one."""
    dialogue = kept(options={'resource_limits': {'max_duration_secs': 0.3}})
    await dialogue.run('x = 5')
    await dialogue.run('while True:\n    pass', 'z = 3')
    await dialogue.run('z')
    assert dialogue.content == 3


async def test_beyond1_a_cancelled_run_keeps_what_was_there_before_it() -> None:
    """Cancelling a run in the middle of code leaves the variables of the last run."""
    started = asyncio.Event()

    async def stall() -> int:
        started.set()
        await asyncio.Event().wait()
        return 0

    bank = Bank()
    dialogue = kept(bank=bank, agent_options={'tools': [*bank.tools(), Tool(stall)]})
    await dialogue.run('x = 1')
    running = asyncio.create_task(dialogue.run('x = 2\nawait stall()'))
    async with asyncio.timeout(5):
        await started.wait()
    running.cancel()
    await asyncio.wait([running], timeout=5)
    assert running.cancelled()
    await dialogue.run('x')
    assert dialogue.content == 1


async def test_beyond1_a_run_that_fails_elsewhere_keeps_its_variables() -> None:
    """When the model fails after code has run, the variables are there in the next run."""
    dialogue = kept()
    await dialogue.run('x = 1')
    agent = dialogue.agent('x = 2')
    with pytest.raises(Exception, match='request_limit'):
        await agent.run('go', message_history=dialogue.history, usage_limits=UsageLimits(request_limit=1))
    await dialogue.run('x')
    assert dialogue.content == 2


# -- together with pausing -----------------------------------------------------------------------------------------


async def test_beyond1_variables_are_kept_over_a_pause() -> None:
    """Code that waits has the variables of the last run, and leaves its own to the next one."""
    dialogue = kept()
    await dialogue.run('x = await free(n=1)')
    await dialogue.run('y = await pay(amount=x)')
    await warned(dialogue.answer(approve, '[x, y]'))
    assert dialogue.content == [10, 'paid 10']
    await dialogue.run('[x, y]')
    assert dialogue.content == [10, 'paid 10']
    assert dialogue.bank.ran == ['free 1', 'pay 10']


async def test_beyond1_resuming_gives_no_warning_about_the_kept_session() -> None:
    """The session is in the paused code; that it is not in the store besides is as it should be."""
    dialogue = kept()
    await dialogue.run('x = 1')
    await dialogue.run('y = await pay(amount=x)')
    assert await warned(dialogue.answer(approve)) == []


async def test_beyond1_the_first_code_of_a_conversation_waits() -> None:
    """Without an earlier session there is nothing to warn about."""
    dialogue = kept()
    await dialogue.run('y = await pay(amount=1)')
    await dialogue.answer(approve)
    await dialogue.run('y')
    assert dialogue.content == 'paid 1'


async def test_beyond1_denied_code_does_not_take_the_variables_with_it() -> None:
    """Variables of the last run survive code that waited and was discarded."""
    dialogue = kept()
    await dialogue.run('x = 1')
    await dialogue.run('y = await pay(amount=x)')
    await warned(dialogue.answer({'code_1': False}, 'x'))
    assert dialogue.returns[-1].content == 1


async def test_beyond1_cancelled_while_the_pause_is_saved_the_variables_stay() -> None:
    """Cancelling a run while its pause is saved leaves the variables of the last run."""

    class Hanging(MemoryStateStore):
        hangs: asyncio.Event | None = None

        async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
            if self.hangs is not None:
                hangs, self.hangs = self.hangs, None
                hangs.set()
                await asyncio.Event().wait()
            await super().save(key, state, expires_at=expires_at)

    store = Hanging()
    dialogue = kept(store=store)
    await dialogue.run('x = 1')
    hangs = store.hangs = asyncio.Event()
    running = asyncio.create_task(dialogue.run('x = 2\nawait pay(amount=1)'))
    async with asyncio.timeout(5):
        await hangs.wait()
    running.cancel()
    await asyncio.wait([running], timeout=5)
    assert running.cancelled()
    await warned(dialogue.run('x'))
    assert dialogue.returns[-1].content == 1
