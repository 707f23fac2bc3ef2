"""Answers on their way into Monty, and results on their way out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import pydantic_monty
from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete, SyncSnapshot

from .failures import unlike_a_limit
from .steps import Answer, Failed, FailureKind, Finished, Raised, Returned, Step

Waiting: TypeAlias = FunctionSnapshot | FutureSnapshot
"""Code that waits for answers."""


def resume(snapshot: Waiting, answers: Mapping[int, Answer]) -> SyncSnapshot:
    """Go on with the answers to some of what the code waits for."""
    if isinstance(snapshot, FunctionSnapshot):
        return snapshot.resume(external(answers[snapshot.call_id]))
    return snapshot.resume({call_id: external(answer) for call_id, answer in answers.items()})


def looked_up(lookup: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> Answer:
    """What a function answers that the host has at hand."""
    try:
        return Returned(lookup(*args, **kwargs))
    except Exception as error:  # noqa: BLE001  the code gets it
        return Raised(error)


def finished(complete: MontyComplete) -> Step:
    """How a snippet ended that has run to its end."""
    try:
        return Finished(complete.output)
    except Exception as error:  # noqa: BLE001  Python has no such value, a dict with unhashable keys for example
        message = f'the value of the last expression cannot leave the sandbox: {error}'
        return Failed(FailureKind.ERROR, type(error).__name__, message)


def external(answer: Answer) -> pydantic_monty.ExternalSettledResult:
    """An answer in Monty's words."""
    if isinstance(answer, Returned):
        return {'return_value': answer.value}
    return {'exception': unlike_a_limit(answer.error)}
