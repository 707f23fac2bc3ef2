"""What the model reads when a snippet failed: one builder for every way to fail."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pydantic_core

from pydantic_ai_harness.narrowing import is_list, is_mapping
from pydantic_ai_harness.sandbox import Failed, FailureKind, Frame

from .ledger import Ledger, NestedCall

_MAX_PRINTED = 4_000
_MAX_PREVIEW = 160
_MAX_CALL_LIST = 6_000
_MAX_MESSAGE = 4_000
_MAX_FRAMES = 6
_INDENT = '    '

CHANGED_CODE = 'The code that waits was not resumed, and waits on: it can be answered or denied, but not changed.'
RESET = (
    'The session was reset: variables, imports and functions of earlier code are gone. '
    'The next code starts afresh and has to make again what it needs.'
)


@dataclass(frozen=True, kw_only=True)
class FailedSnippet:
    """A snippet that failed, with all that is known about it."""

    code: str
    """As the model wrote it."""
    failed: Failed
    printed: str
    ledger: Ledger
    limits: dict[FailureKind, str]
    """What each exhausted limit is: 'the 30 s of sandbox time for one `run_code` call'."""
    hint: str = ''
    """What may have been meant, after the message."""


def failure_text(snippet: FailedSnippet) -> str:
    """The whole text, its parts in one order: error, printed, calls, reset, next step."""
    failed = snippet.failed
    parts = [
        _error_part(snippet),
        _printed_part(snippet.printed),
        calls_part(snippet.ledger),
        RESET if failed.session_lost else _kept_part(failed),
        _next_part(failed.kind),
    ]
    return '\n\n'.join(part for part in parts if part)


def not_run_text(problems: Sequence[str], declarations: str = '') -> str:
    """For code that was refused before any of it ran, with declarations that the model may not have read."""
    found = '\n'.join(problems)
    text = f'The code was not run: no tool was called and nothing changed. Mend this and send it again:\n\n{found}'
    return f'{text}\n\nThe functions in full:\n\n{declarations}' if declarations else text


def unreturnable_text(what: str, printed: str, ledger: Ledger, *, lost: bool = False) -> str:
    """For code that ran to its end, but whose last value cannot be sent."""
    headline = (
        f'The code ran to its end, but its last expression is {what}, which cannot be sent back. '
        'Return data instead: text, numbers, lists and dicts of them.'
    )
    kept = 'Variables are kept: the next code can use what this one computed, without calling the tools again.'
    parts = [headline, _printed_part(printed), calls_part(ledger), RESET if lost else kept]
    return '\n\n'.join(part for part in parts if part)


def not_resumed_text(reason: str, done: Sequence[str]) -> str:
    """For a snippet that waited and that cannot be taken up again."""
    calls = 'It had called no tool before.\n\n'
    if done:
        listed = '\n'.join(['Calls that had ended before it waited:', *done])
        calls = f'{listed}\n\nWhat those calls changed stays changed. '
    return (
        f'The code that waited was not resumed: {reason}. {calls}The calls that waited may have run, if it was taken '
        f'up elsewhere; nothing of it runs now. {RESET}'
    )


def at_line(line: int, code: str) -> str:
    """The source of a line of `code`, for quoting under a message; '' when there is no such line."""
    lines = code.split('\n')
    return f'\n{_INDENT}{lines[line - 1].strip()}' if 0 < line <= len(lines) else ''


def _error_part(snippet: FailedSnippet) -> str:
    failed = snippet.failed
    frames = [frame for frame in failed.frames if frame.line > 0]
    headline = _HEADLINES.get(failed.kind, _error_headline)(snippet)
    if not frames:
        return headline
    inner, *outer = reversed(frames)
    text = f'{headline}{_place(inner, snippet.code)}'
    shown = outer if len(outer) <= _MAX_FRAMES else [*outer[: _MAX_FRAMES - 1], outer[-1]]
    callers = [f'\ncalled from {_where(frame)}{_quoted(frame, snippet.code)}' for frame in shown]
    if len(shown) < len(outer):
        callers.insert(-1, f'\n... {len(outer) - len(shown)} more calls ...')
    return text + ''.join(callers)


def _error_headline(snippet: FailedSnippet) -> str:
    failed = snippet.failed
    message = _cut(failed.message, _MAX_MESSAGE)
    error = f'{failed.error_type}: {message}' if message else failed.error_type
    return f'The code failed with {error}{snippet.hint}'


def _limit_headline(snippet: FailedSnippet) -> str:
    return f'The code was stopped: it used up {snippet.limits[snippet.failed.kind]}.'


def _crash_headline(snippet: FailedSnippet) -> str:
    return f'The sandbox failed while the code ran ({_cut(snippet.failed.message, _MAX_MESSAGE)}).'


def _too_large_headline(snippet: FailedSnippet) -> str:
    what = 'all that it holds while it waits for a call, and at its end, is recorded'
    return f'The code was stopped: {what}, and that is too much: {snippet.failed.message}'


_HEADLINES: dict[FailureKind, Callable[[FailedSnippet], str]] = {
    FailureKind.TIME: _limit_headline,
    FailureKind.MEMORY: _limit_headline,
    FailureKind.PRINTED: _limit_headline,
    FailureKind.TOO_LARGE: _too_large_headline,
    FailureKind.CRASH: _crash_headline,
    FailureKind.ABORTED: _crash_headline,
}


def _place(frame: Frame, code: str) -> str:
    return f'\nat {_where(frame)}{_quoted(frame, code)}'


def _where(frame: Frame) -> str:
    where = f'line {frame.line}' if frame.current else f'line {frame.line} of earlier code'
    return where if frame.function in (None, '<module>') else f'{where}, in {frame.function}'


def _quoted(frame: Frame, code: str) -> str:
    if frame.current:
        return f':{quote}' if (quote := at_line(frame.line, code)) else ''
    return f':\n{_INDENT}{frame.text.strip()}' if frame.text else ''


def _printed_part(printed: str) -> str:
    if not printed:
        return ''
    if len(printed) <= _MAX_PRINTED:
        return f'Printed until then:\n{printed.rstrip()}'
    tail = printed[-_MAX_PRINTED:].rstrip()
    return f'Printed until then (the last {_MAX_PRINTED} of {len(printed)} characters):\n{tail}'


def done_lines(ledger: Ledger) -> list[str]:
    """The calls that have ended, a line each, as many as fit."""
    return _lines_that_fit(call_line(call) for call in ledger.started if call.outcome != 'waiting')


def calls_part(ledger: Ledger) -> str:
    """Each call that started and how it ended, cut to a size; the total is exact."""
    started = ledger.started
    lines = _lines_that_fit(call_line(call) for call in started)
    if omitted := len(started) - len(lines):
        lines.append(f'- ... and {omitted} more that are not listed')
    if never_awaited := len(ledger.calls) - len(started):
        lines.append(f'- {never_awaited} not awaited, so not started')
    if ledger.refused:
        lines.append(f'- {ledger.refused} refused, past the budget of {ledger.max_calls} for one `run_code` call')
    if any(call.outcome in _REACHED_THE_TOOL for call in started):
        lines.append('What these calls changed stays changed.')
    if not lines:
        return 'No tool was called.'
    return '\n'.join([f'{len(started)} tool call{"" if len(started) == 1 else "s"} started:', *lines])


_REACHED_THE_TOOL = frozenset({'returned', 'raised', 'unfinished'})
_OPEN_ENDINGS = {'unfinished': 'did not finish', 'waiting': 'waits for an answer from outside'}
_ENDINGS = {'denied': 'was denied:', 'refused': 'was refused before the tool ran:', 'raised': 'raised'}


def _lines_that_fit(lines: Iterable[str]) -> list[str]:
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > _MAX_CALL_LIST:
            break
        kept.append(line)
    return kept


def call_line(call: NestedCall) -> str:
    """One call and how it ended."""
    keys = {parameter.key: parameter.name for parameter in call.function.parameters}
    arguments = ', '.join(f'{keys.get(key, key)}={preview(value)}' for key, value in call.arguments.items())
    text = f'- {call.function.name}({_cut(arguments, 2 * _MAX_PREVIEW)})'
    if call.outcome == 'returned':
        return f'{text} returned {preview(call.result)}'
    if call.outcome in _OPEN_ENDINGS:
        return f'{text} {_OPEN_ENDINGS[call.outcome]}'
    return f'{text} {_ENDINGS.get(call.outcome, call.outcome)} {_cut(call.error or "", _MAX_PREVIEW)}'


def preview(value: object) -> str:
    """The beginning of a value's JSON."""
    if is_mapping(value) and len(value) > _MAX_PREVIEW:
        return f'{_json(dict(itertools.islice(value.items(), _MAX_PREVIEW)))} ({len(value)} keys)'
    if is_list(value) and len(value) > _MAX_PREVIEW:
        return f'{_json(value[:_MAX_PREVIEW])} ({len(value)} items)'
    return _json(value)


def _json(value: object) -> str:
    try:
        text = pydantic_core.to_json(value, bytes_mode='base64', inf_nan_mode='constants').decode()
    except (ValueError, TypeError):
        text = repr(value)
    return _cut(text, _MAX_PREVIEW)


def _kept_part(failed: Failed) -> str:
    if failed.kind is FailureKind.SYNTAX:
        return 'None of the code ran.'
    if failed.rolled_back:
        return 'The variables are as they were before this code.'
    return 'Variables that were assigned before the error are kept.'


def _next_part(kind: FailureKind) -> str:
    return _NEXT.get(kind, '')


_NEXT = {
    FailureKind.TIME: 'Do less in one call: look for a loop that does not end, or split the work.',
    FailureKind.MEMORY: 'Hold less at once: go through the data in parts, and keep only what is needed.',
    FailureKind.PRINTED: 'Print less: make the last expression the result instead.',
    FailureKind.TOO_LARGE: 'Hold less there: assign None to names that are done with, or go through the data in parts.',
    FailureKind.CRASH: 'If the same code fails again, do less in one call or hold less data.',
}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f'{text[:limit]}... ({len(text)} characters)'
