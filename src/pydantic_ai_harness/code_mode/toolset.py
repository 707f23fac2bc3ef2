"""The toolset that stands in for the agent's tools: `run_code`, and what stays native."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NotRequired, Self

from pydantic import TypeAdapter
from pydantic_ai import RunContext
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import InstructionPart
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator
from typing_extensions import TypedDict

from pydantic_ai_harness.errors import ToolNameConflictError

from .announcing import Announcer
from .catalog import RUN_CODE, Catalog
from .dispatch import Dispatcher, asked_by_tools
from .ledger import Ledger
from .pause_trace import find_trace
from .pausing import Resumption, answered_pause
from .placement import PlacedTools, place_all
from .prompt import (
    CODE_DESCRIPTION,
    LISTED_APART,
    RESTART_DESCRIPTION,
    functions_instructions,
    functions_text,
    run_code_description,
)
from .resuming import resume
from .run_state import RunState
from .snippet import SnippetRun

if TYPE_CHECKING:
    from .capability import CodeMode


class MissingReturnSchemaWarning(UserWarning):
    """Tools without a declared return type: the model has to guess what their results hold."""


class _RunCodeArguments(TypedDict):
    code: str
    restart: NotRequired[bool]


_ARGUMENTS_VALIDATOR = SchemaValidator(TypeAdapter(_RunCodeArguments).core_schema)
_PARAMETERS_SCHEMA: dict[str, Any] = {
    'type': 'object',
    'properties': {
        'code': {'type': 'string', 'description': CODE_DESCRIPTION},
        'restart': {'type': 'boolean', 'default': False, 'description': RESTART_DESCRIPTION},
    },
    'required': ['code'],
    'additionalProperties': False,
}


@dataclass(kw_only=True)
class RunCodeTool(ToolsetTool[AgentDepsT]):
    """`run_code`, with the functions that its code may call."""

    catalog: Catalog
    inside: dict[str, ToolsetTool[AgentDepsT]]
    """The tools behind the functions, by their own names."""


@dataclass
class CodeModeToolset(WrapperToolset[AgentDepsT]):
    """Wraps the agent's toolset for one run."""

    settings: CodeMode[AgentDepsT]
    run: RunState | None = None
    """`None` until the run starts."""

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """A copy with a sandbox session of its own; the session starts nothing until code runs."""
        wrapped = await self.wrapped.for_run(ctx)
        return replace(self, wrapped=wrapped, run=self.settings.new_run_state(ctx))

    async def __aenter__(self) -> Self:
        """Enter the wrapped toolset."""
        await super().__aenter__()
        return self

    async def __aexit__(self, *args: object) -> bool | None:
        """Give the session's worker back."""
        try:
            if self.run is not None:
                await self.run.end()
        finally:
            handled = await super().__aexit__(*args)
        return handled

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The native tools, and `run_code` for the others.

        Raises:
            ToolNameConflictError: Two tools end up under one name in code, or one is called `run_code`.
        """
        tools = await self.wrapped.get_tools(ctx)
        if (taken := tools.get(RUN_CODE)) is not None:
            if isinstance(taken.toolset, CodeModeToolset):
                raise ToolNameConflictError(
                    'The agent has two `CodeMode` capabilities, and each adds the tool `run_code`. Keep one, and let '
                    'its `tools` choose all that code may call.'
                )
            raise ToolNameConflictError(
                f'The tool {RUN_CODE!r} of {taken.toolset.label} has the name of the tool that CodeMode adds. '
                'Rename yours, or prefix its toolset with `toolset.prefixed(...)`.'
            )
        placed = await place_all(tools, ctx, self.settings.tools)
        catalog = self._catalog(placed)
        self._warn_once(catalog)
        return {**placed.native, RUN_CODE: self._run_code_tool(catalog, placed)}

    async def get_instructions(
        self, ctx: RunContext[AgentDepsT]
    ) -> str | InstructionPart | Sequence[str | InstructionPart] | None:
        """Those of the wrapped toolset, and the functions if they do not stand in the description of `run_code`."""
        given = await super().get_instructions(ctx)
        announcer = self.run.announcer if self.run else None
        if announcer is None:
            return given
        announcer.announce(ctx)
        parts = [given] if isinstance(given, (str, InstructionPart)) else given or []
        return [*parts, InstructionPart(functions_instructions(announcer.view, announcer.listed.lookup_names))]

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        """Run code, or pass a native call on."""
        if not isinstance(tool, RunCodeTool):
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)
        if self.run is None:
            raise UserError('`run_code` was called outside an agent run: `CodeModeToolset.for_run` was not called.')
        async with self.run.lock:
            await self.run.settle()
            self.run.repl.enter(ctx)
            snippet = self._snippet_run(self.run, ctx, tool)
            resumption = await self._resumption(ctx, snippet, tool_args['code']) if ctx.tool_call_approved else None
            if self.settings.keep_repl:
                await self.run.keep(snippet.states, brings_its_own=resumption is not None)
            if resumption is not None:
                return await resume(snippet, resumption, tool_args['code'])
            return await snippet.run_code(tool_args['code'], restart=tool_args.get('restart', False))

    async def _resumption(
        self, ctx: RunContext[AgentDepsT], snippet: SnippetRun[AgentDepsT], code: str
    ) -> Resumption | None:
        """What was decided about this call, if it is one that has paused."""
        run_code_id = snippet.ledger.run_code_id
        trace = find_trace(ctx.messages, run_code_id)
        done = [] if trace is None else trace.done
        if (answered := answered_pause(ctx.tool_call_metadata)) is not None:
            return Resumption(*answered, done)
        if trace is not None:
            # Whoever consents in the run that paused was asked about the calls before, and has left them open.
            has_paused_here = run_code_id in snippet.run.paused
            return Resumption(trace.token, {} if has_paused_here else None, done)
        token = await snippet.states.latest_pause(run_code_id, code) if self.settings.pauses else None
        # Which pause was consented to, nobody says: its calls are asked about again.
        return None if token is None else Resumption(token, {}, done)

    def _catalog(self, placed: PlacedTools[AgentDepsT]) -> Catalog:
        functions = [tool.tool_def for tool in placed.inside.values()]
        if not self.settings.dynamic_catalog or self.run is None:
            return self.settings.catalog_of(functions, placed.groups, placed.hidden)
        announcer = self.run.announcer = self.run.announcer or self._announcer(placed)
        names = announcer.listed.lookup_names
        announcer.catalog = self.settings.catalog_of(functions, placed.groups, placed.hidden, names)
        return announcer.catalog

    def _announcer(self, placed: PlacedTools[AgentDepsT]) -> Announcer:
        start = [tool.tool_def for tool in placed.inside.values() if not tool.tool_def.defer_loading]
        listed = self.settings.catalog_of(start, placed.groups, placed.later)
        return Announcer(listed, self.settings.view_of(listed))

    def _run_code_tool(self, catalog: Catalog, placed: PlacedTools[AgentDepsT]) -> RunCodeTool[AgentDepsT]:
        return RunCodeTool(
            toolset=self,
            tool_def=ToolDefinition(
                name=RUN_CODE,
                description=run_code_description(
                    LISTED_APART
                    if self.settings.dynamic_catalog
                    else functions_text(self.settings.view_of(catalog), catalog.lookup_names),
                    self.settings.grants,
                    max_tool_calls=self.settings.max_tool_calls,
                    may_grow=self.settings.dynamic_catalog or bool(placed.later),
                ),
                parameters_json_schema=_PARAMETERS_SCHEMA,
                sequential=True,
                metadata={'code_arg_name': 'code', 'code_arg_language': 'python'},
            ),
            max_retries=self.settings.max_retries,
            args_validator=_ARGUMENTS_VALIDATOR,
            catalog=catalog,
            inside=placed.inside,
        )

    def _warn_once(self, catalog: Catalog) -> None:
        if self.run is None or self.run.has_warned or not (names := catalog.without_return_schema):
            return
        self.run.has_warned = True
        warnings.warn(
            f'Tools without a return type are shown as `-> Any`, so the model has to guess what they return: '
            f'{", ".join(names)}. Annotate your functions; give tools of a server a `return_schema` with '
            '`toolset.prepared(...)`, or filter this category.',
            MissingReturnSchemaWarning,
            stacklevel=2,
        )

    def _snippet_run(
        self, run: RunState, ctx: RunContext[AgentDepsT], tool: RunCodeTool[AgentDepsT]
    ) -> SnippetRun[AgentDepsT]:
        capability = asked_by_tools(ctx.root_capability)
        manager = ToolManager(toolset=self.wrapped, root_capability=capability, ctx=ctx, tools=tool.inside)
        ledger = Ledger(
            ctx.tool_call_id or RUN_CODE, tool.catalog.functions, self.settings.max_tool_calls, now=run.engine.now
        )
        has_read_all = run.announcer.has_told_all if run.announcer else self.settings.view_of(tool.catalog).has_all
        explains = None if has_read_all else tool.catalog.lookup.declared
        dispatcher = Dispatcher(manager, ctx, run.media, run.engine, explains=explains, pauses=self.settings.pauses)
        if self.settings.pauses and any(mount.mode == 'overlay' for mount in self.settings.mounts):
            dispatcher.cannot_wait = 'what it writes to an overlay mount lives only as long as it runs'
        states = self.settings.states_of(ctx, run.engine)
        return SnippetRun(self.settings, run, tool.catalog, ledger, dispatcher, states)
