"""What the authoring tools do with the store, and what the model reads of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_ai.tools import RunContext
from typing_extensions import TypedDict

from pydantic_ai_harness.errors import CapabilityNameError

from . import prompt
from .manifest import AuthoredCapability
from .store import CapabilityStore
from .validation import Verdict


class Answer(BaseModel):
    """What the model reads, as data that can be recorded."""

    text: str
    is_mistake: bool = False
    """Whether the model is to try again: the name was none."""


class ListedCapability(TypedDict):
    """One authored capability, as the model reads it."""

    name: str
    status: str
    """`active`, `disabled`, or `quarantined`: failed in several runs in a row and is not loaded until mended."""
    class_name: str
    version: int | None
    last_error: str | None
    """Why its code was refused when it was last checked."""
    failing_runs: int
    """Runs in a row in which it failed."""
    last_failure: str | None
    """What failed in a run, with the lines of its own code."""
    notes: list[str]


async def author(store: CapabilityStore, ctx: RunContext[Any], name: str, code: str) -> Answer:
    """Check code and keep it according to its verdict."""
    try:
        source = await asyncio.to_thread(store.prepare, name, code)
    except CapabilityNameError as error:
        return Answer(text=str(error), is_mistake=True)
    verdict = await asyncio.wrap_future(store.check(source))
    entry = await asyncio.to_thread(store.commit, source, verdict, run_id=ctx.run_id)
    if entry.last_error is None:
        return Answer(text=prompt.accepted(entry, [*entry.hints, *_notes_on_tools(ctx, entry, verdict)]))
    return Answer(text=prompt.refused(entry, await asyncio.to_thread(_current, store, name)))


async def list_authored(store: CapabilityStore) -> list[ListedCapability]:
    """Every entry."""
    return [_listed(entry) for entry in await asyncio.to_thread(store.list_all)]


async def disable(store: CapabilityStore, name: str) -> Answer:
    """Switch a capability off."""
    if await asyncio.to_thread(store.disable, name):
        return Answer(text=prompt.disabled(name))
    known = [entry.name for entry in await asyncio.to_thread(store.list_all)]
    return Answer(text=prompt.unknown_capability(name, known), is_mistake=True)


def _current(store: CapabilityStore, name: str) -> AuthoredCapability | None:
    """The working version of that name, if there is one."""
    return next((each for each in store.list_all() if each.name == name and each.last_error is None), None)


def _notes_on_tools(ctx: RunContext[Any], entry: AuthoredCapability, verdict: Verdict) -> Sequence[str]:
    manager = ctx.tool_manager
    others = {
        name
        for name, tool in ((manager.tools if manager is not None else None) or {}).items()
        if tool.tool_def.capability_id != f'authored_{entry.name}'
    }
    taken = [name for name in verdict.tool_names if name in others]
    return [prompt.tool_name_taken(taken)] if taken else []


def _listed(entry: AuthoredCapability) -> ListedCapability:
    failure = entry.last_failure
    notes = [*entry.hints, *([prompt.EDITED] if entry.edited else [])]
    return ListedCapability(
        name=entry.name,
        status=entry.status,
        class_name=entry.class_name,
        version=entry.version,
        last_error=entry.last_error,
        failing_runs=entry.failing_runs,
        last_failure=None if failure is None else f'{failure.where}: {failure.error}\n{failure.traceback}'.rstrip(),
        notes=notes,
    )
