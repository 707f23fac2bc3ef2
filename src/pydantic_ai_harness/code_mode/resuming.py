"""Takes a snippet that waits up again, with what was decided about its calls."""

from __future__ import annotations

from typing import Any

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import AgentDepsT

from .failures import CHANGED_CODE, not_resumed_text
from .outside_answers import Approved, Denied, OutsideAnswer
from .pause_record import PauseRecord
from .pausing import Resumption
from .python_text import with_plain_newlines
from .snippet import SnippetRun
from .state_store import StateUnavailableError
from .states import taken_whole


async def resume(snippet: SnippetRun[AgentDepsT], resumption: Resumption, code: str) -> ToolReturn[Any]:
    """Go on with stored code.

    Raises:
        ToolFailed: Its state is not to be had; the text says why, and what it had called.
        ModelRetry: The code failed later on.
        ApprovalRequired: It waits again.
        UsageLimitExceeded: The run may make no more calls; the code goes on waiting.
    """
    answers = resumption.answers
    if answers is None or any(not isinstance(answer, Denied) for answer in answers.values()):
        snippet.dispatcher.check_usage_limit()  # before the code is taken from where it waits
    try:
        taking = snippet.states.take_pause(snippet.ledger.run_code_id, resumption.token)
        record = await taken_whole(taking, snippet.states.save_pause)
    except StateUnavailableError as error:
        snippet.run.kept = None  # this run has no session that could be kept
        raise ToolFailed(not_resumed_text(str(error), resumption.done)) from error
    if record.code != with_plain_newlines(code):
        await snippet.states.save_pause(record)
        snippet.run.kept = None
        raise ToolFailed(CHANGED_CODE)
    snippet.dispatcher.answers = _approvals(record) if answers is None else answers
    return await snippet.resume(record)


def _approvals(record: PauseRecord) -> dict[str, OutsideAnswer]:
    return {call.id: Approved(metadata=call.deferred_with) for call in record.calls if call.waits_for == 'approval'}
