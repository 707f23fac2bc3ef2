"""Errors of authored code, said with the lines of that code and without those of others."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager

from pydantic_ai_harness.errors import CapabilityRefusedError

_MAX_TEXT_CHARS = 600
_MAX_LINE_CHARS = 200
_MAX_FRAMES = 3
_PREFIX = '<authored capability '


def file_label(name: str, sha256: str) -> str:
    """What authored code is compiled under: it says which version it is, and tells nothing of the machine."""
    return f'{_PREFIX}{name} {sha256[:12]}>'


def remember_lines(label: str, code: str) -> None:
    """Let tracebacks and `inspect` find the lines, also when the file has changed since."""
    linecache.cache[label] = (len(code), None, code.splitlines(keepends=True), label)


def forget_lines(label: str) -> None:
    """The code is not used any more."""
    linecache.cache.pop(label, None)


def describe(error: BaseException) -> str:
    """`'NameError: name ... is not defined'`, also for exceptions that cannot be turned into text."""
    name = _cut(type(error).__name__)
    text = shortened(str, error)
    if isinstance(error, ImportError) and error.path:
        text = text.removesuffix(f' ({error.path})')  # where things are on this machine
    return f'{name}: {text}' if text else name


def shortened(to_text: Callable[[object], str], value: object) -> str:
    """The text of an authored object, which may be long, or fail to be made."""
    try:
        text = to_text(value)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # noqa: BLE001 - authored code fails in any way
        return f'(its text could not be made: {type(failure).__name__})'
    return _cut(text)


def _cut(text: str, limit: int = _MAX_TEXT_CHARS) -> str:
    text = text.encode('utf-8', 'backslashreplace').decode()  # half a surrogate pair cannot be written anywhere
    return text if len(text) <= limit else f'{text[:limit]} ...'


def own_lines(error: BaseException) -> str:
    """The last lines of authored code that the error came through, each quoted; empty if there was none."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__, limit=-50) if frame.filename.startswith(_PREFIX)
    ]
    return '\n'.join(
        f'line {frame.lineno}, in {_cut(frame.name, _MAX_LINE_CHARS)}:\n'
        f'    {_cut((frame.line or "").strip(), _MAX_LINE_CHARS)}'
        for frame in frames[-_MAX_FRAMES:]
    )


def explain(error: BaseException) -> str:
    """The error, with the line of authored code that it came from."""
    if isinstance(error, SyntaxError) and (error.filename or '').startswith(_PREFIX):
        return _explain_syntax(error)
    lines = own_lines(error)
    return f'{describe(error)}\n{lines}' if lines else describe(error)


@contextmanager
def refusing(say: Callable[[str], str] = str) -> Generator[None]:
    """Turn whatever authored code raises into a refusal.

    Raises:
        CapabilityRefusedError: Something was raised; what `say` makes of its explanation.
        KeyboardInterrupt: As it is.
    """
    try:
        yield
    except (KeyboardInterrupt, CapabilityRefusedError):
        raise
    except BaseException as error:
        raise CapabilityRefusedError(say(explain(error))) from error


def _explain_syntax(error: SyntaxError) -> str:
    number, offset = error.lineno, error.offset
    if not isinstance(number, int):
        return describe(error)  # made by hand
    heading = f'{type(error).__name__}: {_cut(str(error.msg))}\nline {number}:'
    # Errors that the compiler finds late come without their line.
    line = linecache.getline(str(error.filename), number).rstrip('\n')
    shown = line.lstrip()
    if len(shown) > _MAX_LINE_CHARS or not isinstance(offset, int):
        return f'{heading}\n    {_cut(shown, _MAX_LINE_CHARS)}'
    before = shown[: max(offset - 1 - (len(line) - len(shown)), 0)]
    padding = ''.join('\t' if character == '\t' else ' ' for character in before)
    return f'{heading}\n    {shown}\n    {padding}^'
