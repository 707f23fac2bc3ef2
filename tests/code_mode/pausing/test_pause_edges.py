"""BEYOND-1: answers that come twice, ids that come back, handlers that answer within the run, sessions at risk."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, Tool, ToolApproved
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ToolCallPart

from pydantic_ai_harness import WorkerPool
from pydantic_ai_harness.code_mode import (
    FileStateStore,
    MemoryStateStore,
    StateUnavailableError,
    paused_calls,
    resume_with,
)
from pydantic_ai_harness.guardrails import GuardrailResult, ToolGuardrail

from .bank import Bank, Dialogue, approve

BOTH = 'a = await free(n=1)\nb = await pay(amount=a)\n[a, b]'
KEPT: dict[str, Any] = {'keep_repl': True}


def guarded() -> dict[str, Any]:
    """The code itself needs consent before it runs."""
    guardrail = ToolGuardrail[None](guard=lambda call: GuardrailResult.approve(), tools=['run_code'])
    return {'capabilities': [guardrail]}


# -- consent -------------------------------------------------------------------------------------------------------


async def test_beyond1_consent_to_the_code_given_twice_is_no_consent_to_its_calls() -> None:
    """Who sends the approval of code again, by a retry or a second click, was asked for no call in it."""
    dialogue = Dialogue(agent_options=guarded())
    await dialogue.run(BOTH)
    assert dialogue.waiting == []
    again = copy.deepcopy(dialogue.history)
    results = resume_with(dialogue.requests, {'code_1': True})
    await dialogue.resume(results)
    assert [call.tool_name for call in dialogue.waiting] == ['pay']
    dialogue.history = again
    await dialogue.resume(results)
    assert 'pay 10' not in dialogue.bank.ran
    assert dialogue.bank.ran.count('free 1') == 1


@pytest.mark.parametrize('has_trace', [True, False])
async def test_beyond1_consent_that_comes_late_does_not_approve_the_next_pause(has_trace: bool) -> None:
    """Consent to all of one pause, after it was answered, is not consent to the calls of the next one."""
    dialogue = Dialogue()
    await dialogue.run('await pay(amount=1)\nawait pay(amount=2)')
    if not has_trace:
        for message in dialogue.history:
            message.metadata = None
    again = copy.deepcopy(dialogue.history)
    results = dialogue.requests.build_results(approve_all=True)
    await dialogue.answer(approve)
    assert [call.args for call in dialogue.waiting] == [{'amount': 2}]
    dialogue.history = again
    await dialogue.resume(results)
    assert dialogue.bank.ran == ['pay 1']


async def test_beyond1_consent_is_to_the_call_that_was_shown() -> None:
    """An answer to a call does not reach another one, of the same code run again under the same id."""
    amounts = [1, 1000]

    def price() -> int:
        return amounts.pop(0)

    bank = Bank()
    dialogue = Dialogue(bank, agent_options={'tools': [*bank.tools(), Tool(price)]})
    await dialogue.run()
    start = dialogue.history
    await dialogue.run('await pay(amount=await price())')
    shown = copy.copy(dialogue)
    assert [call.args for call in shown.waiting] == [{'amount': 1}]
    dialogue.history = start
    await dialogue.run('await pay(amount=await price())')
    assert [call.args for call in dialogue.waiting] == [{'amount': 1000}]
    await shown.answer(approve)
    assert 'pay 1000' not in bank.ran


async def test_beyond1_an_id_that_comes_back_is_not_taken_for_code_that_paused() -> None:
    """Code that is consented to and has never run is run, although other code of the same id once paused."""
    dialogue = Dialogue()
    await dialogue.run('await pay(amount=1)')
    await dialogue.answer(approve)
    dialogue.agent_options = guarded()
    await dialogue.run('await free(n=1)')
    await dialogue.resume(resume_with(dialogue.requests, {'code_1': True}))
    assert dialogue.returned.content == 10


async def test_beyond1_a_taken_state_is_never_missing(tmp_path: Path) -> None:
    """While a state is saved anew under a key, whoever asks is not told that there never was one."""
    reasons: list[str] = []

    class Watched(FileStateStore):
        def _write(self, path: Path, content: bytes, expires_at: datetime) -> None:
            if content == b'' or b'"Mg=="' not in content:  # the second state
                return super()._write(path, content, expires_at)
            try:
                asyncio.run(FileStateStore(tmp_path).take('k'))
            except StateUnavailableError as error:
                reasons.append(error.reason)
            return super()._write(path, content, expires_at)

    store = Watched(tmp_path)
    later = datetime.now(UTC) + timedelta(hours=1)
    await store.save('k', b'1', expires_at=later)
    await store.take('k')
    await store.save('k', b'2', expires_at=later)
    assert reasons == ['taken']


# -- handlers ------------------------------------------------------------------------------------------------------


async def test_beyond1_a_handler_beside_answers_from_outside() -> None:
    """After an answered pause, a handler that approves `run_code` and not its call leaves that call waiting."""

    def resolve(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults:
        approvals = [call for call in requests.approvals if call.tool_name != 'pay']
        return DeferredToolResults(approvals={call.tool_call_id: True for call in approvals})

    dialogue = Dialogue(agent_options={'capabilities': [HandleDeferredToolCalls[None](handler=resolve)]})
    await dialogue.run('a = await pay(amount=1)\nb = await pay(amount=2)\n[a, b]')
    assert [call.args for call in dialogue.waiting] == [{'amount': 1}]
    await dialogue.answer(approve)
    assert [call.args for call in dialogue.waiting] == [{'amount': 2}]
    assert dialogue.bank.ran == ['pay 1']
    await dialogue.answer(approve)
    assert dialogue.content == ['paid 1', 'paid 2']
    assert dialogue.bank.ran == ['pay 1', 'pay 2']


def answering() -> dict[str, Any]:
    """A handler that answers the calls in code when the code itself is asked for, within the run."""

    def resolve(ctx: RunContext[None], requests: DeferredToolRequests) -> DeferredToolResults | None:
        waiting = paused_calls(requests)
        return resume_with(requests, {call.tool_call_id: True for call in waiting}) if waiting else None

    return {'capabilities': [HandleDeferredToolCalls[None](handler=resolve)]}


async def test_beyond1_a_handler_may_answer_paused_code_within_the_run() -> None:
    """The code goes on in the same run, and its variables are there for the next code."""
    dialogue = Dialogue(agent_options=answering())
    await dialogue.run(BOTH, '[a, b]')
    assert [part.content for part in dialogue.returns] == [[10, 'paid 10'], [10, 'paid 10']]
    assert dialogue.bank.ran == ['free 1', 'pay 10']


async def test_beyond1_code_resumed_within_the_run_leaves_its_variables_to_the_next_run() -> None:
    """With `keep_repl`, what code assigned that paused and went on in one run is kept."""
    dialogue = Dialogue(options=KEPT, agent_options=answering())
    await dialogue.run('x = 1')
    await dialogue.run('y = await pay(amount=x)')
    await dialogue.run('[x, y]')
    assert dialogue.returns[-1].content == [1, 'paid 1']


async def test_beyond1_later_code_of_that_run_is_told_of_no_reset() -> None:
    """Once the code went on within the run, its variables are there, and refused code is not told otherwise."""
    dialogue = Dialogue(agent_options=answering())
    await dialogue.run('y = await pay(amount=1)', 'nope')
    assert 'The code was not run' in dialogue.texts[-1]
    assert 'reset' not in dialogue.texts[-1]


# -- sessions ------------------------------------------------------------------------------------------------------


async def test_beyond1_who_comes_too_late_does_not_take_the_variables_away() -> None:
    """A second resume of one pause is refused, and what the first one left for the next run stays."""
    dialogue = Dialogue(options=KEPT)
    await dialogue.run('x = 1')
    await dialogue.run('y = await pay(amount=x)')
    late = copy.copy(dialogue)
    await dialogue.answer(approve)
    await late.answer(approve)
    assert 'it was taken up before' in late.text
    await dialogue.run('[x, y]')
    assert dialogue.returns[-1].content == [1, 'paid 1']


async def test_beyond1_changed_code_does_not_take_the_variables_away() -> None:
    """Code that was refused because it was changed leaves the variables of the last run."""
    dialogue = Dialogue(options=KEPT)
    await dialogue.run('x = 1')
    await dialogue.run('y = await pay(amount=x)')
    changed = ToolApproved(override_args={'code': 'y = 2'})
    await dialogue.resume(DeferredToolResults(approvals={'code_1': changed}))
    await dialogue.run('x')
    assert dialogue.returns[-1].content == 1


async def test_beyond1_cancelled_while_the_kept_session_is_taken() -> None:
    """Cancelling a run while it waits for the kept session leaves that session."""

    class Hanging(MemoryStateStore):
        hangs: asyncio.Event | None = None

        async def take(self, key: str) -> bytes:
            if self.hangs is not None:
                hangs, self.hangs = self.hangs, None
                hangs.set()
                await asyncio.Event().wait()
            return await super().take(key)

    store = Hanging()
    dialogue = Dialogue(store=store, options=KEPT)
    await dialogue.run('x = 1')
    hangs = store.hangs = asyncio.Event()
    running = asyncio.create_task(dialogue.run('x = 2'))
    async with asyncio.timeout(5):
        await hangs.wait()
    running.cancel()
    await asyncio.wait([running], timeout=5)
    assert running.cancelled()
    await dialogue.run('x')
    assert dialogue.returns[-1].content == 1


async def test_beyond1_two_pieces_of_code_resumed_in_turn_leave_no_worker() -> None:
    """What paused in one response is taken up in turn on one worker, which is free in the end."""
    pool = WorkerPool(max_workers=1)
    dialogue = Dialogue(options={'worker_pool': pool})
    codes = [f'x{n} = await pay(amount={n})\nx{n}' for n in (1, 2)]
    await dialogue.run([ToolCallPart('run_code', {'code': code}, tool_call_id=f'c{n}') for n, code in enumerate(codes)])
    await dialogue.answer(approve, '1')
    assert dialogue.bank.ran == ['pay 1', 'pay 2']
    async with asyncio.timeout(5):
        while pool.free_workers != pool.max_workers:  # noqa: ASYNC110  a pool has no event to wait for
            await asyncio.sleep(0.001)
    assert pool.queued_turns == 0
    pool.close()
