"""BEYOND-1: answers that do not fit, and states that cannot be taken up."""

# pydantic resolves the annotations of the tools at run time, so they are not deferred here.

import asyncio
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pydantic import TypeAdapter
from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    Tool,
    ToolApproved,
    ToolDenied,
    ToolReturn,
)
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import BinaryContent, ModelResponse

from pydantic_ai_harness.code_mode import (
    AnswerError,
    FileStateStore,
    MemoryStateStore,
    StateUnavailableError,
    paused_calls,
    resume_with,
)
from pydantic_ai_harness.code_mode.packing import compressed

from .bank import REQUESTS, Bank, Dialogue, approve

BOTH = 'a = await free(n=1)\nb = await pay(amount=a)\n[a, b]'
MIXED = 'import asyncio\nawait asyncio.gather(pay(amount=1), later(job="x"))'
RESULTS = TypeAdapter(DeferredToolResults)


async def paused(code: str = BOTH, **options: Any) -> Dialogue:
    dialogue = Dialogue(**options)
    await dialogue.run(code)
    return dialogue


# -- the helpers refuse --------------------------------------------------------------------------------------------


async def test_beyond1_what_holds_no_requests_is_refused() -> None:
    dialogue = await paused()
    history: Any = dialogue.history
    with pytest.raises(AnswerError, match=r'pass `result.output`, not an object of type list\.'):
        paused_calls(history)
    with pytest.raises(AnswerError, match=r'pass `result.output`, not an object of type list\.'):
        resume_with(history, {})
    wrong: Any = True
    with pytest.raises(AnswerError, match=r'`answers` is a dict of answers by `tool_call_id`, not True\.'):
        resume_with(dialogue.requests, wrong)


async def test_beyond1_metadata_without_an_answer_are_refused() -> None:
    """A note of who decided is not lost over a wrong id."""
    dialogue = await paused()
    with pytest.raises(AnswerError, match="'typo' is not in `answers`"):
        resume_with(dialogue.requests, {'code_1__2': True}, metadata={'typo': {'by': 'Ada'}})


async def test_beyond1_an_unknown_id_is_refused_with_those_that_wait() -> None:
    """The text names the id and all ids that could have been meant."""
    dialogue = await paused(MIXED)
    with pytest.raises(AnswerError) as refusal:
        resume_with(dialogue.requests, {'code_1__1': True, 'code_1__9': True})
    assert str(refusal.value) == (
        "No call 'code_1__9' waits for an answer. Those that do: code_1__1, code_1__2, code_1."
    )


async def test_beyond1_a_call_that_has_ended_cannot_be_answered() -> None:
    """Only calls that wait are among those that can be answered."""
    dialogue = await paused(BOTH)
    with pytest.raises(AnswerError, match="'code_1__1' waits"):
        resume_with(dialogue.requests, {'code_1__1': True})


def test_beyond1_answers_to_nothing_are_refused() -> None:
    """Requests without any paused code list nothing to answer."""
    with pytest.raises(AnswerError, match=r"No call 'x' waits for an answer\. Those that do: none\."):
        resume_with(DeferredToolRequests(), {'x': True})
    assert paused_calls(DeferredToolRequests()) == []


@pytest.mark.parametrize('answer', ['yes', None, 1, 0, {'approved': True}, ToolReturn('x'), ValueError('x')])
async def test_beyond1_an_approval_takes_no_result(answer: object) -> None:
    """The text names the call, its tool and what is allowed."""
    dialogue = await paused()
    with pytest.raises(AnswerError) as refusal:
        resume_with(dialogue.requests, {'code_1__2': answer})
    for text in ("'code_1__2' (pay)", 'True, False, ToolApproved or ToolDenied', repr(answer)):
        assert text in str(refusal.value)


async def test_beyond1_the_code_itself_takes_no_result() -> None:
    """The text says what it takes."""
    dialogue = await paused()
    with pytest.raises(AnswerError, match=r"'code_1' waits for approval: answer it with True, .*, not 'fine'\."):
        resume_with(dialogue.requests, {'code_1': 'fine'})


@pytest.mark.parametrize('answer', [ToolApproved(), ToolApproved(override_args={'job': 'y'})])
async def test_beyond1_an_external_call_takes_no_consent(answer: object) -> None:
    """`ToolApproved` is no result, and `resume_with` says so as it does for the opposite."""
    dialogue = await paused(MIXED)
    with pytest.raises(AnswerError, match=r"'code_1__2' \(later\) runs elsewhere: answer it with its result, not "):
        resume_with(dialogue.requests, {'code_1__2': answer})


@pytest.mark.parametrize('result', [object(), [PurePosixPath('/x')], ToolReturn({'a': object()})])
async def test_beyond1_a_result_without_a_json_shape_is_refused(result: object) -> None:
    """The text names the call and what cannot be sent."""
    dialogue = await paused(MIXED)
    with pytest.raises(AnswerError, match=r"The result for 'code_1__2' \(later\) is no data: an object of type "):
        resume_with(dialogue.requests, {'code_1__2': result})


async def test_beyond1_answers_of_the_helper_are_not_changed_by_it() -> None:
    """What was given can be used again."""
    dialogue = await paused(MIXED)
    answers: dict[str, object] = {'code_1__1': True, 'code_1__2': 'x'}
    metadata = {'code_1__1': {'by': 'Ada'}}
    given = copy.deepcopy((answers, metadata))
    first = resume_with(dialogue.requests, answers, metadata=metadata)
    assert resume_with(dialogue.requests, answers, metadata=metadata) == first
    assert (answers, metadata) == given


# -- answers that went through JSON --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'answer',
    [
        'text',
        None,
        {'a': [1, 2.5, {'b': None}]},
        ToolReturn('v', content=['c', BinaryContent(b'hello', media_type='text/plain')], metadata={'m': 1}),
        ValueError('x'),
    ],
)
async def test_beyond1_answers_may_go_through_json(answer: object) -> None:
    """Answers that were stored as JSON do what they would have done at once."""
    ends: list[Any] = []
    for through_json in (False, True):
        dialogue = await paused('try:\n    r = await later(job="x")\nexcept Exception as e:\n    r = repr(e)\n[r]')
        results = resume_with(dialogue.requests, {'code_1__1': answer})
        await dialogue.resume(RESULTS.validate_json(RESULTS.dump_json(results)) if through_json else results)
        ends.append(dialogue.content)
    assert ends[0] == ends[1]


@pytest.mark.parametrize('spoil', ['type', 'unknown kind'])
async def test_beyond1_answers_that_cannot_be_read_approve_nothing(spoil: str) -> None:
    """A denial among answers that have suffered on their way is not turned into consent: it is asked for again."""
    dialogue = await paused(MIXED)
    results = resume_with(dialogue.requests, {'code_1__1': ToolDenied('no'), 'code_1__2': 'v'})
    given = results.metadata['code_1']['code_mode_answers']
    if spoil == 'type':
        results.metadata['code_1']['code_mode_answers'] = [given]
    else:
        given['code_1__1']['kind'] = 'declined'
    first = dialogue.waiting
    await dialogue.resume(results)
    assert dialogue.bank.ran == []
    assert dialogue.waiting == first
    await dialogue.answer(approve)
    assert dialogue.content == ['paid 1', 'answer to x']


async def test_beyond1_bytes_in_an_answer_survive_json() -> None:
    """The docstring of `to_metadata` promises that answers may go through JSON."""
    dialogue = await paused('type(await later(job="x")).__name__')
    results = resume_with(dialogue.requests, {'code_1__1': b'hello'})
    await dialogue.resume(RESULTS.validate_json(RESULTS.dump_json(results)))
    assert dialogue.content == 'bytes'


# -- the wrong moment ----------------------------------------------------------------------------------------------


async def test_beyond1_an_answer_to_an_earlier_pause_is_refused() -> None:
    """Old requests answered again over the new history: nothing runs, and the text says that it was taken up."""
    dialogue = await paused('await pay(amount=1)\nawait pay(amount=2)')
    old = dialogue.requests
    await dialogue.answer(approve)
    assert [call.args for call in dialogue.waiting] == [{'amount': 2}]
    await dialogue.resume(resume_with(old, {'code_1__1': True}))
    assert dialogue.bank.ran == ['pay 1']
    assert 'it was taken up before' in dialogue.text
    assert '- pay(amount=1) returned "paid 1"' in dialogue.text


async def test_beyond1_a_pause_is_resumed_once_whatever_copy_of_the_history() -> None:
    """The second resume of one pause runs nothing and lists what had run."""
    dialogue = await paused()
    other = copy.copy(dialogue)
    other.bank = Bank()
    await dialogue.answer(approve)
    await other.answer(approve)
    assert dialogue.content == [10, 'paid 10']
    assert other.returned.outcome == 'failed'
    assert 'it was taken up before' in other.text
    assert '- free(n=1) returned 10' in other.text
    assert 'may have run' in other.text
    assert dialogue.bank.ran == ['free 1', 'pay 10']
    assert other.bank.ran == []


async def test_beyond1_two_resumes_at_the_same_time_in_one_process() -> None:
    """Of two runs that resume one pause together, one runs and the other one is told."""
    dialogue = await paused('await free(n=1)\nawait pay(amount=1)\nawait slow(n=1)')
    other = copy.copy(dialogue)
    await asyncio.gather(dialogue.answer(approve), other.answer(approve))
    outcomes = sorted([dialogue.returned.outcome, other.returned.outcome])
    assert outcomes == ['failed', 'success']
    assert dialogue.bank.ran == ['free 1', 'pay 1', 'slow 1']


async def test_beyond1_code_that_called_nothing_is_told_of_no_changes() -> None:
    dialogue = await paused('await pay(amount=1)')
    before, results = dialogue.history, resume_with(dialogue.requests, dialogue.answers(approve))
    await dialogue.resume(results)
    dialogue.history = before
    await dialogue.resume(results)
    assert (
        'it was taken up before. It had called no tool before.\n\nThe calls that waited may have run' in dialogue.text
    )


async def test_beyond1_approving_all_twice_runs_it_once() -> None:
    """Without the helpers as well, the second approval of one pause is refused."""
    dialogue = await paused()
    other = copy.copy(dialogue)
    results = dialogue.requests.build_results(approve_all=True)
    await dialogue.resume(results)
    await other.resume(results)
    assert dialogue.content == [10, 'paid 10']
    assert 'it was taken up before' in other.text
    assert dialogue.bank.ran == ['free 1', 'pay 10']


async def test_beyond1_an_expired_pause_that_is_approved_as_a_whole_does_not_run() -> None:
    """Approving `run_code` whose state is gone does not run the code from the top."""
    dialogue = await paused(options={'pause_ttl': timedelta(milliseconds=1)})
    await dialogue.resume(DeferredToolResults(approvals={'code_1': True}))
    assert 'it has expired' in dialogue.text
    assert dialogue.bank.ran == ['free 1']


async def test_beyond1_the_model_can_go_on_after_a_refusal() -> None:
    """Code works in the run in which other code could not be resumed."""
    dialogue = await paused()
    dialogue.store = MemoryStateStore()
    await dialogue.answer(approve, 'await free(n=3)')
    refused, following = dialogue.returns
    assert 'it is not in the store' in str(refused.content)
    assert following.content == 30
    assert dialogue.bank.ran == ['free 1', 'free 3']


async def test_beyond1_another_conversation_cannot_resume_it() -> None:
    """States belong to their conversation."""
    dialogue = await paused()
    await dialogue.resume(resume_with(dialogue.requests, dialogue.answers(approve)), conversation_id='another')
    assert 'it is not in the store' in dialogue.text
    assert dialogue.bank.ran == ['free 1']


async def test_beyond1_the_helper_needs_no_trace_in_the_history() -> None:
    """Answers by `resume_with` find the state also when the history lost the metadata of its responses."""
    dialogue = await paused()
    forget_metadata(dialogue)
    await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']
    assert dialogue.bank.ran == ['free 1', 'pay 10']


async def test_beyond1_without_a_trace_approved_code_does_not_run_again() -> None:
    """A history that lost its metadata, as one that a user interface sent back, makes no call twice."""
    dialogue = await paused()
    forget_metadata(dialogue)
    await dialogue.resume(dialogue.requests.build_results(approve_all=True))
    assert dialogue.bank.ran.count('free 1') == 1
    while isinstance(dialogue.output, DeferredToolRequests):  # it may ask again, which is safe
        await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']
    assert dialogue.bank.ran == ['free 1', 'pay 10']


def forget_metadata(dialogue: Dialogue) -> None:
    for message in dialogue.history:
        if isinstance(message, ModelResponse):
            message.metadata = None


# -- states that cannot be had -------------------------------------------------------------------------------------


def file_of(directory: Path) -> Path:
    """The pause's file; the other one holds its number."""
    paths = sorted(directory.glob('*.state'), key=lambda path: path.stat().st_size)
    assert len(paths) == 2
    return paths[-1]


def flip(path: Path) -> None:
    """Change one letter of the stored state."""
    content = json.loads(path.read_text())
    state: str = content['state']
    middle = len(state) // 2
    content['state'] = state[:middle] + ('A' if state[middle] != 'A' else 'B') + state[middle + 1 :]
    path.write_text(json.dumps(content))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def prolong(path: Path) -> None:
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, 'expires_at': '2999-01-01T00:00:00Z'}))


def empty(path: Path) -> None:
    path.write_bytes(b'')


def unsign(path: Path) -> None:
    content = json.loads(path.read_text())
    del content['signature']
    path.write_text(json.dumps(content))


@pytest.mark.parametrize('alter', [flip, truncate, prolong, empty, unsign])
async def test_beyond1_an_altered_state_is_refused(alter: Callable[[Path], None], tmp_path: Path) -> None:
    """Nothing of an altered file is run, the model reads why and what had run, and the next attempt too."""
    dialogue = await paused(store=FileStateStore(tmp_path))
    again = copy.copy(dialogue)
    alter(file_of(tmp_path))
    for attempt in (dialogue, again):
        await attempt.answer(approve)
        assert 'it was altered since it was saved' in attempt.text
        assert '- free(n=1) returned 10' in attempt.text
    assert dialogue.bank.ran == ['free 1']


async def test_beyond1_a_state_of_another_key_is_refused(tmp_path: Path) -> None:
    """A process with another key does not run it, and the one with the right key still can."""
    dialogue = await paused(store=FileStateStore(tmp_path, key=b'1' * 16))
    stranger = copy.copy(dialogue)
    stranger.store = FileStateStore(tmp_path, key=b'2' * 16)
    await stranger.answer(approve)
    assert 'saved with another key' in stranger.text
    await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']


@pytest.mark.parametrize('in_files', [True, False])
async def test_beyond1_an_expired_state_is_refused(in_files: bool, tmp_path: Path) -> None:
    """After `pause_ttl`, nothing runs, and the text says since when."""
    store = FileStateStore(tmp_path) if in_files else MemoryStateStore()
    dialogue = await paused(store=store, options={'pause_ttl': timedelta(milliseconds=1)})
    again = copy.copy(dialogue)
    for attempt in (dialogue, again):
        await attempt.answer(approve)
        assert f'it has expired (on {datetime.now(UTC):%Y-%m-%d}' in attempt.text
    assert dialogue.bank.ran == ['free 1']


@dataclass
class OpenStore:
    """A store whose states a test reads and writes."""

    states: dict[str, bytes] = field(default_factory=dict[str, bytes])

    async def save(self, key: str, state: bytes, *, expires_at: datetime) -> None:
        self.states[key] = state

    async def take(self, key: str) -> bytes:
        try:
            return self.states.pop(key)
        except KeyError:
            raise StateUnavailableError('missing') from None

    def change(self, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
        """Change the pause, not the note of its number."""
        records = {key: [*map(json.loads, state.split(b'\n'))] for key, state in self.states.items()}
        ((key, (head, body)),) = [(key, record) for key, record in records.items() if 'run_code_id' in record[1]]
        change(head, body)
        self.states[key] = b'\n'.join(json.dumps(part).encode() for part in (head, body))


def newer_format(head: dict[str, Any], body: dict[str, Any]) -> None:
    head['format'] += 1


def newer_sandbox(head: dict[str, Any], body: dict[str, Any]) -> None:
    head['sandbox_version'] = '99.0.0'


def no_format(head: dict[str, Any], body: dict[str, Any]) -> None:
    del head['format']


def no_calls(head: dict[str, Any], body: dict[str, Any]) -> None:
    del body['calls']


def no_session(head: dict[str, Any], body: dict[str, Any]) -> None:
    body['session'] = None


def unknown_outcome(head: dict[str, Any], body: dict[str, Any]) -> None:
    body['calls'][0]['outcome'] = 'teleported'


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (newer_format, 'it has format 2, and this version reads up to 1'),
        (newer_sandbox, 'sandbox 99.0.0 wrote it, and this one is'),
        (no_format, 'its form is unknown'),
        (no_calls, '1 fields are not as expected'),
        (no_session, '1 fields are not as expected'),
        (unknown_outcome, '1 fields are not as expected'),
    ],
)
async def test_beyond1_a_state_of_another_version_is_refused(
    change: Callable[[dict[str, Any], dict[str, Any]], None], reason: str
) -> None:
    """What this version cannot read does not run, and the text says what is wrong with it."""
    store = OpenStore()
    dialogue = await paused(store=store)
    store.change(change)
    await dialogue.answer(approve)
    assert f'this version cannot read it ({reason}' in dialogue.text
    assert '- free(n=1) returned 10' in dialogue.text
    assert dialogue.bank.ran == ['free 1']


@pytest.mark.parametrize('change', [newer_format, newer_sandbox])
async def test_beyond1_a_state_of_a_newer_version_stays_for_one_who_can_read_it(
    change: Callable[[dict[str, Any], dict[str, Any]], None],
) -> None:
    """An old process that is asked first does not use the state up."""
    store = OpenStore()
    dialogue = await paused(store=store)
    original = dict(store.states)
    store.change(change)
    changed = dict(store.states)
    old = copy.copy(dialogue)
    await old.answer(approve)
    assert store.states == changed
    store.states = original
    await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']


async def test_beyond1_unknown_fields_of_a_later_version_are_ignored() -> None:
    """What a later version adds, without raising the format, does not stop this one."""

    def add(head: dict[str, Any], body: dict[str, Any]) -> None:
        head['later'] = body['later'] = body['session']['later'] = body['calls'][0]['later'] = {'x': 1}
        body['session']['types']['later'] = []

    store = OpenStore()
    dialogue = await paused(store=store)
    store.change(add)
    await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']


async def test_beyond1_an_older_sandbox_may_have_written_it() -> None:
    """States of an older sandbox are taken up."""

    def age(head: dict[str, Any], body: dict[str, Any]) -> None:
        head['sandbox_version'] = '1.0.0'

    store = OpenStore()
    dialogue = await paused(store=store)
    store.change(age)
    await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']


async def test_beyond1_bytes_that_are_no_sandbox_state_end_in_a_text() -> None:
    """A state that the sandbox itself cannot load makes no call, and the model reads which calls there were."""

    def spoil(head: dict[str, Any], body: dict[str, Any]) -> None:
        body['session']['state'] = compressed(b'no state')

    store = OpenStore()
    dialogue = await paused('a = await free(n=1)\nb = await later(job="x")', store=store)
    store.change(spoil)
    await dialogue.answer(approve, 'await free(n=2)')
    refused, following = dialogue.returns
    assert 'could not be taken up again' in str(refused.content)
    assert '- free(n=1) returned 10' in str(refused.content)
    assert following.content == 20
    assert dialogue.bank.ran == ['free 1', 'free 2']


# -- tools that have changed ---------------------------------------------------------------------------------------


def without(dialogue: Dialogue, name: str) -> None:
    dialogue.agent_options['tools'] = [tool for tool in dialogue.bank.tools() if tool.name != name]


async def test_beyond1_the_tool_that_waited_is_gone() -> None:
    """The call fails at its place in the code, which says which tool it is."""
    dialogue = await paused()
    without(dialogue, 'pay')
    await dialogue.answer(approve)
    assert "Unknown tool name: 'pay'" in dialogue.text
    assert 'line 2' in dialogue.text
    assert '- free(n=1) returned 10' in dialogue.text
    assert dialogue.bank.ran == ['free 1']


async def test_beyond1_a_denial_needs_no_tool() -> None:
    """A call that is denied is denied, also when its tool is gone."""
    dialogue = await paused('try:\n    await pay(amount=1)\nexcept PermissionError as e:\n    r = str(e)\nr')
    without(dialogue, 'pay')
    await dialogue.answer(lambda call: ToolDenied('no'))
    assert dialogue.content == 'no'


async def test_beyond1_a_tool_of_later_code_is_gone() -> None:
    """The waiting call runs; the call of the missing tool is an error that the code may catch."""
    dialogue = await paused(
        'a = await pay(amount=1)\ntry:\n    await free(n=1)\nexcept NameError as e:\n    a += "!"\na'
    )
    without(dialogue, 'free')
    await dialogue.answer(approve)
    assert dialogue.content == 'paid 1!'


async def test_beyond1_the_tool_takes_other_arguments_now() -> None:
    """The arguments of the approved call are validated against the tool as it is now."""
    ran: list[str] = []

    def pay(cents: int) -> str:
        ran.append('new pay')
        return ''

    dialogue = await paused()
    without(dialogue, 'pay')
    dialogue.agent_options['tools'].append(Tool(pay, requires_approval=True))
    await dialogue.answer(approve)
    assert 'ValueError: pay() got wrong arguments: ' in dialogue.text
    assert ran == []


async def test_beyond1_new_tools_can_be_called_by_the_next_code() -> None:
    """The resumed run has the tools of its own agent."""

    def added(n: int) -> int:
        return n

    dialogue = await paused()
    dialogue.agent_options['tools'] = [*dialogue.bank.tools(), Tool(added)]
    await dialogue.answer(approve, 'await added(n=a)')
    assert dialogue.returns[-1].content == 10


# -- metadata that is no data --------------------------------------------------------------------------------------


async def test_beyond1_metadata_that_has_no_json_travels_as_text() -> None:
    """A tool may attach what it likes; what has no JSON is represented."""

    def odd(ctx: RunContext[None]) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={'a': object, 'b': b'\xff', 'c': float('nan'), 'd': {1, 2}})
        return 'ran'

    dialogue = await paused('await odd()', agent_options={'tools': [Tool(odd)]})
    (call,) = dialogue.waiting
    assert "<class 'object'>" in str(call.metadata)
    await dialogue.answer(approve)
    assert dialogue.content == 'ran'


async def test_beyond1_metadata_that_refers_to_itself_does_not_end_the_run() -> None:
    """It travels as text, and the call waits as any other."""
    cycle: dict[str, Any] = {}
    cycle['self'] = cycle

    def strange(ctx: RunContext[None]) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata=cycle)
        return str(ctx.tool_call_metadata)

    dialogue = await paused('await strange()', agent_options={'tools': [Tool(strange)]})
    assert [call.metadata for call in dialogue.waiting] == ["{'self': {...}}"]
    await dialogue.answer(approve)
    assert dialogue.content == "{'self': {...}}"


async def test_beyond1_requests_may_go_through_python_dicts() -> None:
    """Requests that were validated from plain data answer as those of the run do."""
    dialogue = await paused()
    plain = json.loads(REQUESTS.dump_json(dialogue.requests))
    dialogue.output = REQUESTS.validate_python(plain)
    await dialogue.answer(approve)
    assert dialogue.content == [10, 'paid 10']
