"""What an application sees of calls that wait inside code, and how it answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

from pydantic_ai_harness.errors import HarnessError
from pydantic_ai_harness.narrowing import is_text_mapping
from pydantic_ai_harness.sandbox import CannotCrossError

from .ledger import WaitsFor
from .outside_answers import OutsideAnswer, approval, from_metadata, result, to_metadata

_REQUEST = 'code_mode_pause'
_ANSWERS = 'code_mode_answers'


class AnswerError(HarnessError, ValueError):
    """An answer does not belong to a call that waits, or is of the wrong kind for it."""


class PausedCall(BaseModel):
    """A tool call that code made and that somebody has to answer."""

    model_config = ConfigDict(frozen=True)

    tool_call_id: str
    """The nested call's own, to answer it by: `<run_code id>__<n>`."""
    tool_name: str
    """The tool's own name."""
    args: dict[str, Any]
    """The arguments that the tool would get."""
    kind: WaitsFor
    """`approval` waits for consent to run it, `external` for its result."""
    metadata: Any = None
    """What the tool, or a guardrail, attached for whoever answers."""
    line: int | None = None
    """1-based line of the call in the code; `None` when it lies in code of an earlier snippet."""
    source: str | None = None
    """That line."""


class PausedSnippet(BaseModel):
    """A `run_code` call that waits, as it travels in the requests."""

    model_config = ConfigDict(frozen=True)

    pause: int
    """How often the code has paused, counting this time."""
    token: str
    """Tells this pause from all others."""
    waiting: list[PausedCall]
    done: list[str]
    """The calls that ended before, one line each."""


@dataclass(frozen=True)
class Resumption:
    """What reached a `run_code` call that is to go on."""

    token: str
    """Of the pause that was answered."""
    answers: Mapping[str, OutsideAnswer] | None
    """By the nested call's id; `None` approves all that wait for approval."""
    done: list[str]
    """The calls that had ended before, one line each, as far as the history knows."""


def paused_snippets(requests: DeferredToolRequests) -> dict[str, PausedSnippet]:
    """The `run_code` calls among the requests that wait for calls in their code, by their id."""
    found: dict[str, PausedSnippet] = {}
    for call in requests.approvals:
        data: object = requests.metadata.get(call.tool_call_id, {}).get(_REQUEST)
        if data is not None:
            found[call.tool_call_id] = PausedSnippet.model_validate(data)
    return found


def paused_calls(requests: DeferredToolRequests) -> list[PausedCall]:
    """The calls inside code that wait for somebody; in the requests, only their `run_code` calls are listed."""
    _check_requests(requests)
    return [call for snippet in paused_snippets(requests).values() for call in snippet.waiting]


def resume_with(
    requests: DeferredToolRequests,
    answers: Mapping[str, object],
    *,
    metadata: Mapping[str, Any] | None = None,
) -> DeferredToolResults:
    """Answer calls that wait, for `agent.run(deferred_tool_results=...)`.

    Args:
        requests: The output of the run that paused.
        answers: By the calls' ids. For an approval `True`, `False`, `ToolApproved` or `ToolDenied`; for an external
            call its result, a `ToolReturn`, or `ModelRetry`, `ToolFailed`, another exception or `ToolDenied` to be
            raised in the code. Calls that are left out go on waiting. Other requests can be answered here too.
        metadata: By the calls' ids, for `ctx.tool_call_metadata`. A call without gets what it was deferred with.

    Raises:
        AnswerError: No call of that id waits, the answer is of the wrong kind for it, or metadata come without one.
    """
    _check_requests(requests)
    if not is_text_mapping(answers):
        raise AnswerError(f'`answers` is a dict of answers by `tool_call_id`, not {answers!r}.')
    given = dict(metadata or {})
    results = DeferredToolResults()
    left = dict(answers)
    if unanswered := given.keys() - left.keys():
        raise AnswerError(f'`metadata` is for calls that are answered, and {min(unanswered)!r} is not in `answers`.')
    for run_code_id, snippet in paused_snippets(requests).items():
        decided = {
            call.tool_call_id: _answer(call, left.pop(call.tool_call_id), given.get(call.tool_call_id, call.metadata))
            for call in snippet.waiting
            if call.tool_call_id in left
        }
        if run_code_id not in left:
            results.approvals[run_code_id] = True
            results.metadata[run_code_id] = {_ANSWERS: to_metadata(decided), _REQUEST: snippet.token}
        elif decided:
            raise AnswerError(f'Answer either the code {run_code_id!r} as a whole or the calls in it, not both.')
        else:
            results.approvals[run_code_id] = _consent(run_code_id, left.pop(run_code_id))
    _answer_others(requests, left, given, results)
    return results


def _check_requests(requests: object) -> None:
    if not isinstance(requests, DeferredToolRequests):
        raise AnswerError(
            'What waits stands in the `DeferredToolRequests` that a run ended with: pass `result.output`, not '
            f'an object of type {type(requests).__name__}.'
        )


def request_metadata(snippet: PausedSnippet) -> dict[str, Any]:
    """What `ApprovalRequired` of `run_code` carries."""
    return {_REQUEST: snippet.model_dump(mode='json')}


def answered_pause(metadata: object) -> tuple[str, dict[str, OutsideAnswer]] | None:
    """The token of the pause that `resume_with` answered, and how; `None` if the approval was not made by it."""
    if not is_text_mapping(metadata) or not (_REQUEST in metadata or _ANSWERS in metadata):
        return None
    token = metadata.get(_REQUEST)
    return (token if isinstance(token, str) else ''), from_metadata(metadata.get(_ANSWERS))


def _answer(call: PausedCall, answer: object, metadata: object) -> OutsideAnswer:
    if call.kind == 'external':
        return _result(call, answer)
    if (decided := approval(answer, metadata)) is None:
        raise AnswerError(
            f'{call.tool_call_id!r} ({call.tool_name}) waits for approval: answer it with True, False, ToolApproved or '
            f'ToolDenied, not {answer!r}.'
        )
    return decided


def _result(call: PausedCall, answer: object) -> OutsideAnswer:
    try:
        given = result(answer)
    except CannotCrossError as error:
        raise AnswerError(f'The result for {call.tool_call_id!r} ({call.tool_name}) is no data: {error}.') from error
    if given is None:
        raise AnswerError(
            f'{call.tool_call_id!r} ({call.tool_name}) runs elsewhere: answer it with its result, not {answer!r}.'
        )
    return given


def _consent(call_id: str, answer: object) -> Any:
    if approval(answer, None) is None:
        raise AnswerError(
            f'{call_id!r} waits for approval: answer it with True, False, ToolApproved or ToolDenied, not {answer!r}.'
        )
    return answer


def _answer_others(
    requests: DeferredToolRequests, left: dict[str, object], given: Mapping[str, Any], results: DeferredToolResults
) -> None:
    approvals = {call.tool_call_id for call in requests.approvals}
    calls = {call.tool_call_id for call in requests.calls}
    for call_id, answer in left.items():
        if call_id in approvals:
            results.approvals[call_id] = _consent(call_id, answer)
        elif call_id in calls:
            results.calls[call_id] = answer
        else:
            waiting = [call.tool_call_id for call in paused_calls(requests)]
            known = ', '.join([*waiting, *sorted(approvals | calls)])
            raise AnswerError(f'No call {call_id!r} waits for an answer. Those that do: {known or "none"}.')
        if call_id in given:
            results.metadata[call_id] = given[call_id]
