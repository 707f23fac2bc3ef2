"""BEYOND-1: with `deferred_calls='inline'`, which is the default, nothing of pausing is there."""

from datetime import datetime
from typing import Any

import pytest
from pydantic_ai import DeferredToolResults
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelResponse

from pydantic_ai_harness import CodeMode

from .bank import Bank, Dialogue

INLINE: dict[str, Any] = {'deferred_calls': 'inline'}


class Untouched:
    """A store that must not be used."""

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        raise AssertionError('nothing is to be saved')

    async def take(self, key: str) -> bytes:
        raise AssertionError('nothing is to be taken')


def test_beyond1_inline_is_the_default() -> None:
    """Without asking for it, code never waits."""
    assert CodeMode[None]().deferred_calls == 'inline'
    assert not CodeMode[None]().pauses


@pytest.mark.parametrize('call', ['await pay(amount=1)', 'await later(job="x")', 'await outside(topic="x")'])
async def test_beyond1_inline_denies_and_stores_nothing(call: str) -> None:
    """The call raises in the code as ever, and no store is asked."""
    dialogue = Dialogue(store=Untouched(), options=INLINE)
    await dialogue.run(f'try:\n    r = {call}\nexcept PermissionError as e:\n    r = str(e)\nr')
    assert 'nobody can answer it while code runs' in dialogue.content
    assert dialogue.bank.ran == []


async def test_beyond1_inline_answers_store_nothing() -> None:
    """Calls that a handler answers inline leave no trace in the store or in the history."""
    capability = HandleDeferredToolCalls[None](handler=lambda ctx, requests: requests.build_results(approve_all=True))
    dialogue = Dialogue(store=Untouched(), options=INLINE, agent_options={'capabilities': [capability]})
    await dialogue.run('[await pay(amount=1), pay_now(amount=2)]')
    assert dialogue.content == ['paid 1', 'paid now 2']
    assert all('code_mode_pauses' not in (m.metadata or {}) for m in dialogue.history if isinstance(m, ModelResponse))


async def test_beyond1_answered_inline_pausing_stores_nothing_either() -> None:
    """With `pause`, a call that is answered inline does not wait, so nothing is stored."""
    capability = HandleDeferredToolCalls[None](handler=lambda ctx, requests: requests.build_results(approve_all=True))
    dialogue = Dialogue(store=Untouched(), agent_options={'capabilities': [capability]})
    await dialogue.run('[await pay(amount=1), pay_now(amount=2)]')
    assert dialogue.content == ['paid 1', 'paid now 2']


async def test_beyond1_pausing_without_any_pause_stores_nothing() -> None:
    """Code that calls nothing which waits does not touch the store."""
    dialogue = Dialogue(store=Untouched())
    await dialogue.run('await free(n=1)', 'x = 1\nawait free(n=x)')
    assert [part.content for part in dialogue.returns] == [10, 10]


async def test_beyond1_an_inline_process_does_not_resume_what_another_paused() -> None:
    """An agent that was reconfigured to `inline` does not run code that waits again from the top."""
    dialogue = Dialogue(Bank())
    await dialogue.run('await free(n=1)\nawait pay(amount=1)')
    dialogue.options = INLINE
    await dialogue.resume(DeferredToolResults(approvals={'code_1': True}))
    assert dialogue.bank.ran.count('free 1') == 1
