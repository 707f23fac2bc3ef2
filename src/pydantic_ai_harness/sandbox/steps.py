"""The vocabulary of a snippet that is advanced: what it needs, what it is told, how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the host that sandbox code called."""

    id: int
    """Unique within the snippet."""
    name: str
    args: tuple[object, ...]
    kwargs: dict[str, object]
    line: int | None
    """1-based line of the call in the snippet; `None` when it lies in code of an earlier snippet."""
    blocking: bool = False
    """Nothing goes on in the sandbox until this call is answered."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """A sleep that the host does, so that the worker is free meanwhile."""

    id: int
    seconds: float
    blocking: bool = False


Request: TypeAlias = Call | Sleep


@dataclass(frozen=True, slots=True)
class Needs:
    """The code can go no further until at least one request is answered."""

    requests: tuple[Request, ...]
    """New requests, in the order in which the code made them."""
    waiting_on: frozenset[int]
    """Ids that the code is blocked on, of this and of earlier steps. Others were made but are not awaited (yet)."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The snippet ran to its end."""

    value: object
    """Value of the last expression as the sandbox gave it; `None` when there is none."""


class FailureKind(Enum):
    """Why a snippet did not run to its end."""

    SYNTAX = 'syntax'
    ERROR = 'error'
    TIME = 'time'
    SLEEP = 'sleep'
    MEMORY = 'memory'
    PRINTED = 'printed'
    TOO_LARGE = 'too_large'
    CRASH = 'crash'
    ABORTED = 'aborted'


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a traceback."""

    line: int
    text: str | None
    """The line's source; `None` when the sandbox does not know it."""
    function: str | None
    current: bool
    """Whether the line belongs to the snippet that failed, not to an earlier one."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The snippet ended with an error."""

    kind: FailureKind
    error_type: str
    message: str
    frames: tuple[Frame, ...] = ()
    """Outermost first."""
    session_lost: bool = False
    """The session was closed; its variables are gone and the next feed starts afresh."""
    rolled_back: bool = False
    """The variables are as they were before the snippet."""


Step: TypeAlias = Needs | Finished | Failed


@dataclass(frozen=True, slots=True)
class Returned:
    """A request succeeded; `value` must be able to cross (`values.to_sandbox`)."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    """A request failed; the error is raised where the code awaits it."""

    error: BaseException


Answer: TypeAlias = Returned | Raised

FunctionKind: TypeAlias = Literal['async', 'plain']
"""How sandbox code calls a function: `await f()` or `f()`."""
