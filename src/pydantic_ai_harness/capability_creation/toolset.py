"""The tools by which the model writes, lists and disables capabilities."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset
from typing_extensions import TypedDict

from pydantic_ai_harness.errors import CapabilityNameError

from . import prompt
from .hooks import AUTHORING_TOOL
from .manifest import AuthoredCapability
from .store import CapabilityStore
from .validation import Verdict

_MAX_RETRIES = 3


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


class AuthoringToolset(FunctionToolset[Any]):
    """`author_capability`, `list_authored_capabilities` and `disable_authored_capability` over one store."""

    def __init__(self, store: CapabilityStore, *, id: str | None) -> None:  # noqa: A002 - the framework's name
        super().__init__(id=id, max_retries=_MAX_RETRIES)
        self._store = store
        mends = {AUTHORING_TOOL: True}
        program = {'code_arg_name': 'code', 'code_arg_language': 'python'}
        self.add_function(self.author_capability, metadata={**mends, **program})
        self.add_function(self.list_authored_capabilities, metadata=mends)
        self.add_function(self.disable_authored_capability, metadata=mends)

    async def author_capability(
        self,
        ctx: RunContext[Any],
        name: Annotated[str, Field(description=prompt.NAME_DESCRIPTION)],
        code: Annotated[str, Field(description=prompt.CODE_DESCRIPTION)],
    ) -> str:
        """Check a capability that you wrote and keep it for later runs; the same name replaces it."""
        try:
            source = await asyncio.to_thread(self._store.prepare, name, code)
        except CapabilityNameError as error:
            raise ModelRetry(str(error)) from error
        verdict = await asyncio.wrap_future(self._store.check(source))
        entry = await asyncio.to_thread(self._store.commit, source, verdict, run_id=ctx.run_id)
        if entry.last_error is None:
            return prompt.accepted(entry, [*entry.hints, *_notes_on_tools(ctx, entry, verdict)])
        return prompt.refused(entry, await asyncio.to_thread(self._current, name))

    async def list_authored_capabilities(self) -> list[ListedCapability]:
        """List the authored capabilities, with what went wrong in each."""
        return [_listed(entry) for entry in await asyncio.to_thread(self._store.list_all)]

    async def disable_authored_capability(self, name: str) -> str:
        """Switch an authored capability off from the next run on."""
        if await asyncio.to_thread(self._store.disable, name):
            return prompt.disabled(name)
        known = [entry.name for entry in await asyncio.to_thread(self._store.list_all)]
        raise ModelRetry(prompt.unknown_capability(name, known))

    def _current(self, name: str) -> AuthoredCapability | None:
        """The working version of that name, if there is one."""
        return next((each for each in self._store.list_all() if each.name == name and each.last_error is None), None)


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
