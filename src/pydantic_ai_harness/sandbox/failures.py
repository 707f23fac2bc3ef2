"""Monty's errors, told apart."""

from __future__ import annotations

import pydantic_monty

from .steps import Failed, FailureKind, Frame

# Monty 1.4.0 raises an exhausted limit as the plain Python error; only its text tells it from the same error
# raised by the code itself.
_LIMIT_TEXTS: tuple[tuple[type[BaseException], str, FailureKind], ...] = (
    (TimeoutError, 'feed time limit exceeded', FailureKind.TIME),
    (MemoryError, 'memory limit exceeded', FailureKind.MEMORY),
    (MemoryError, 'the worker exceeded its memory limit', FailureKind.MEMORY),
    (RuntimeError, 'request frame of', FailureKind.MEMORY),
)
# And so it refuses syntax that it does not have, before any of the code runs.
_UNSUPPORTED_SYNTAX = ('The monty syntax parser does not', 'Wildcard imports')


def lost(kind: FailureKind, message: str) -> Failed:
    """A failure that took the session with it."""
    return Failed(kind, kind.value, message, session_lost=True)


def describe_error(error: pydantic_monty.MontyError, *, current_file: str) -> Failed:
    """Say how a snippet failed.

    Args:
        error: What Monty raised.
        current_file: Monty's name for the source of the snippet.
    """
    if isinstance(error, pydantic_monty.MontyCrashedError):
        kind = FailureKind.TIME if error.timed_out else FailureKind.CRASH
        return lost(kind, str(error))
    cause = error.exception()
    kind = _kind(error, cause)
    return Failed(
        kind,
        type(cause).__name__,
        _message(error),
        _frames(error, current_file),
        # After either limit the heap is not to be trusted (Monty's documentation, 1.4.0).
        session_lost=kind in (FailureKind.TIME, FailureKind.MEMORY),
    )


def unlike_a_limit(error: BaseException) -> BaseException:
    """An error for the code whose text cannot be taken for that of an exhausted limit."""
    if any(isinstance(error, kind) and str(error).startswith(text) for kind, text, _ in _LIMIT_TEXTS):
        return type(error)(f'({error})')
    return error


def _kind(error: pydantic_monty.MontyError, cause: BaseException) -> FailureKind:
    if isinstance(error, pydantic_monty.MontySyntaxError):
        return FailureKind.SYNTAX
    if type(cause) is NotImplementedError and str(cause).startswith(_UNSUPPORTED_SYNTAX):
        return FailureKind.SYNTAX
    for error_type, text, kind in _LIMIT_TEXTS:
        if type(cause) is error_type and str(cause).startswith(text):
            return kind
    return FailureKind.ERROR


def _message(error: pydantic_monty.MontyError) -> str:
    if isinstance(error, (pydantic_monty.MontyRuntimeError, pydantic_monty.MontySyntaxError)):
        return error.display('msg')
    return str(error)


def _frames(error: pydantic_monty.MontyError, current_file: str) -> tuple[Frame, ...]:
    if not isinstance(error, (pydantic_monty.MontyRuntimeError, pydantic_monty.MontySyntaxError)):
        return ()
    return tuple(
        Frame(frame.line, frame.source_line, frame.function_name, current=frame.filename == current_file)
        for frame in error.traceback()
    )
