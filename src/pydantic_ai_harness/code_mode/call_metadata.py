"""What an application gets of the calls that code made, in the metadata of the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pydantic_core

from pydantic_ai_harness.narrowing import is_collection, is_mapping

from .failures import preview
from .ledger import Ledger

_MAX_BYTES = 8_000
_MAX_DEPTH = 50


@dataclass
class Room:
    """What metadata may take in one run; engines send the whole history with each request to the model."""

    bytes_left: int

    def takes(self, *values: object) -> bool:
        """Whether values may stand in the metadata as they are; what they take is counted."""
        if any(_is_deep(value) for value in values):
            return False
        try:
            size = sum(len(pydantic_core.to_json(value, bytes_mode='base64', fallback=repr)) for value in values)
        except ValueError:
            return False
        if size > min(_MAX_BYTES, self.bytes_left):
            return False
        self.bytes_left -= size
        return True


def call_metadata(ledger: Ledger, room: Room | None) -> dict[str, Any]:
    """Every call that started and how it ended, by its id.

    Args:
        ledger: The calls.
        room: Where there is none for a call's arguments and result, their beginnings stand in their place. `None` takes
            everything.
    """
    calls: dict[str, Any] = {}
    returns: dict[str, Any] = {}
    for call in ledger.started:
        made, returned = call.call_part(), call.return_part()
        if room is not None and not room.takes(made.args, returned.content, returned.metadata):
            made = replace(made, args={name: preview(value) for name, value in call.arguments.items()})
            returned = replace(returned, content=preview(returned.content), metadata=None)
        calls[call.id], returns[call.id] = made, returned
    return {'code_mode': True, 'tool_calls': calls, 'tool_returns': returns}


def _is_deep(value: object, depth: int = 0) -> bool:
    if depth > _MAX_DEPTH:
        return True
    items = value.values() if is_mapping(value) else value if is_collection(value) else ()
    return any(_is_deep(item, depth + 1) for item in items)
