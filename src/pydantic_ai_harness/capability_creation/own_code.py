"""Errors of authored code, said with the lines of that code and without those of others."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable

_MAX_TEXT_CHARS = 600
_MAX_FRAMES = 3
_PREFIX = '<authored capability '


def file_label(name: str, sha256: str) -> str:
    """What authored code is compiled under: it says which version it is, and tells nothing of the machine."""
    return f'{_PREFIX}{name} {sha256[:12]}>'


def remember_lines(label: str, code: str) -> None:
    """Let tracebacks and `inspect` find the lines, also when the file has changed since."""
    linecache.cache[label] = (len(code), None, code.splitlines(keepends=True), label)


def describe(error: BaseException) -> str:
    """`'NameError: name ... is not defined'`, also for exceptions that cannot be turned into text."""
    name = type(error).__name__
    text = shortened(str, error)
    return f'{name}: {text}' if text else name


def shortened(to_text: Callable[[object], str], value: object) -> str:
    """The text of an authored object, which may be long, or fail to be made."""
    try:
        text = to_text(value)
    except Exception as failure:  # noqa: BLE001 - authored code fails in any way
        return f'(its text could not be made: {type(failure).__name__})'
    return text if len(text) <= _MAX_TEXT_CHARS else f'{text[:_MAX_TEXT_CHARS]} ...'


def own_lines(error: BaseException) -> str:
    """The last lines of authored code that the error came through, each quoted; empty if there was none."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__, limit=-50) if frame.filename.startswith(_PREFIX)
    ]
    return '\n'.join(
        f'line {frame.lineno}, in {frame.name}:\n    {(frame.line or "").strip()}' for frame in frames[-_MAX_FRAMES:]
    )


def explain(error: BaseException) -> str:
    """The error, with the line of authored code that it came from."""
    if isinstance(error, SyntaxError):
        return _explain_syntax(error)
    lines = own_lines(error)
    return f'{describe(error)}\n{lines}' if lines else describe(error)


def _explain_syntax(error: SyntaxError) -> str:
    if error.lineno is None:
        return describe(error)
    heading = f'{type(error).__name__}: {error.msg}\nline {error.lineno}:'
    line = (error.text or '').rstrip('\n')
    indent = len(line) - len(line.lstrip())
    column = max((error.offset or 1) - 1 - indent, 0)
    return f'{heading}\n    {line.strip()}\n    {" " * column}^'
