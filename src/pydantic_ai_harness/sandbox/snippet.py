"""What is fed to a session, and what it prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pydantic_monty

from .limits import MAX_PRINTED_BYTES
from .steps import Call, FunctionKind

Admit: TypeAlias = Callable[[Call], BaseException | None]
"""Asked for each call as the code makes it; an error is raised at the call site instead of making the call."""


@dataclass(kw_only=True)
class Snippet:
    """One piece of code to feed, with what it may call and touch."""

    code: str
    functions: Mapping[str, FunctionKind] = field(default_factory=dict[str, FunctionKind])
    """The host functions by name; any other unknown name raises `NameError` in the code."""
    lookups: Mapping[str, Callable[..., object]] = field(default_factory=dict[str, Callable[..., object]])
    """Functions that the host answers at once, in a thread of the pool, without ending the turn."""
    admit: Admit = field(default=lambda call: None)
    mounts: Sequence[pydantic_monty.MountDir] = ()

    @property
    def keeps_worker(self) -> bool:
        """Whether its state cannot be stored half-way: overlay writes live beside the worker, not in the dump."""
        return any(mount.mode == 'overlay' for mount in self.mounts)


class Printed:
    """Collects what a snippet prints, up to the cap; past it, the worker is stopped, which else would go on."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self.overflowed = False
        """Whether the cap was passed."""
        self._parts: list[str] = []
        self._bytes = 0

    def __call__(self, stream: Literal['stdout', 'stderr'], text: str) -> None:
        """Take what Monty hands over."""
        self._bytes += len(text.encode('utf-8', 'replace'))
        if self._bytes > MAX_PRINTED_BYTES:
            self.overflowed = True
            self._stop()
        else:
            self._parts.append(text)

    def read(self) -> str:
        """All of it."""
        return ''.join(self._parts)
