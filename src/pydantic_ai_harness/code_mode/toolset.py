"""The toolset that stands in for the agent's tools: `run_code`, and what stays native."""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NotRequired, Self

from pydantic import TypeAdapter
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, CombinedCapability
from pydantic_ai.exceptions import ModelRetry, UserError
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import AgentDepsT, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import SchemaValidator
from typing_extensions import TypedDict

from pydantic_ai_harness.errors import ToolNameConflictError
from pydantic_ai_harness.narrowing import is_collection
from pydantic_ai_harness.sandbox import CannotCrossError, Failed, Finished, Session, Snippet, from_sandbox

from .catalog import RUN_CODE, Catalog
from .dispatch import Dispatcher, Media, has_tool_hooks
from .driver import Driver, SleepAllowance
from .failures import FailedSnippet, failure_text, not_run_text, unreturnable_text
from .last_value import NamedCode, find_opaque, looks_opaque, name_last_value
from .ledger import Ledger
from .placement import Place, place
from .prompt import CODE_DESCRIPTION, RESTART_DESCRIPTION, run_code_description
from .result import json_size, returned_value, too_large_value, with_metadata
from .typecheck import SessionTypes

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


@dataclass
class RunState:
    """What one agent run keeps from `run_code` call to `run_code` call."""

    session: Session
    types: SessionTypes
    media: Media = field(default_factory=Media)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    driver: Driver | None = None
    """Of the snippet that ran last; it may still be ending when the snippet was cancelled."""
    has_warned: bool = False

    async def settle(self) -> None:
        """End what a cancelled snippet may have left."""
        if self.driver is not None:
            self.driver.cancel()
            await self.driver.finished()
            self.driver = None

    async def reset(self) -> None:
        """Drop the session's variables."""
        self.types.reset()
        await asyncio.wrap_future(self.session.close())


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
        return replace(self, wrapped=wrapped, run=self.settings.new_run_state())

    async def __aenter__(self) -> Self:
        """Enter the wrapped toolset."""
        await super().__aenter__()
        return self

    async def __aexit__(self, *args: object) -> bool | None:
        """Give the session's worker back."""
        if self.run is not None:
            await self.run.settle()
            await self.run.reset()
        return await super().__aexit__(*args)

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The native tools, and `run_code` for the others.

        Raises:
            ToolNameConflictError: Two tools end up under one name in code, or one is called `run_code`.
        """
        native: dict[str, ToolsetTool[AgentDepsT]] = {}
        inside: dict[str, ToolsetTool[AgentDepsT]] = {}
        for name, tool in (await self.wrapped.get_tools(ctx)).items():
            if name == RUN_CODE:
                raise ToolNameConflictError(
                    f'The tool {RUN_CODE!r} of {tool.toolset.label} has the name of the tool that CodeMode adds. '
                    'Rename yours, or prefix its toolset with `toolset.prefixed(...)`.'
                )
            is_inside = await place(tool.tool_def, ctx, self.settings.tools) is Place.INSIDE
            (inside if is_inside else native)[name] = tool
        catalog = self.settings.catalog_of([tool.tool_def for tool in inside.values()])
        self._warn_once(catalog)
        return {**native, RUN_CODE: self._run_code_tool(catalog, inside)}

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
            if tool_args.get('restart'):
                await self.run.reset()
            return await self._run_code(self.run, tool_args['code'], ctx, tool)

    def _run_code_tool(self, catalog: Catalog, inside: dict[str, ToolsetTool[AgentDepsT]]) -> RunCodeTool[AgentDepsT]:
        return RunCodeTool(
            toolset=self,
            tool_def=ToolDefinition(
                name=RUN_CODE,
                description=run_code_description(
                    catalog.shown, self.settings.grants, max_tool_calls=self.settings.max_tool_calls
                ),
                parameters_json_schema=_PARAMETERS_SCHEMA,
                sequential=True,
                metadata={'code_arg_name': 'code', 'code_arg_language': 'python'},
            ),
            max_retries=self.settings.max_retries,
            args_validator=_ARGUMENTS_VALIDATOR,
            catalog=catalog,
            inside=inside,
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

    # -- one snippet ---------------------------------------------------------------------------------------------

    async def _run_code(
        self, run: RunState, code: str, ctx: RunContext[AgentDepsT], tool: RunCodeTool[AgentDepsT]
    ) -> ToolReturn[Any]:
        if problems := await run.types.problems(code, tool.catalog):
            raise ModelRetry(not_run_text(problems))
        ledger = Ledger(ctx.tool_call_id or RUN_CODE, tool.catalog.functions, self.settings.max_tool_calls)
        dispatcher = Dispatcher(self._nested_manager(ctx, tool), ctx, run.media)
        named = name_last_value(code)
        try:
            ended = await self._drive(run, named.code, tool.catalog, ledger, dispatcher)
        except BaseException:
            run.types.reset()
            raise
        finally:
            ledger.close()
        if isinstance(ended, Failed):
            raise ModelRetry(self._failed(run, code, ended, ledger))
        run.types.ran(code)
        value = await self._value(run, ended, named, ledger)
        return with_metadata(value, ledger.metadata(), dispatcher.extra_content)

    async def _drive(
        self, run: RunState, code: str, catalog: Catalog, ledger: Ledger, dispatcher: Dispatcher[AgentDepsT]
    ) -> Finished | Failed:
        driver = Driver(
            session=run.session,
            perform=lambda call: dispatcher.call(ledger.calls[call.id]),
            sleep_allowance=SleepAllowance(self.settings.limits.max_duration_secs),
            one_at_a_time=dispatcher.manager.get_parallel_execution_mode() == 'sequential',
        )
        run.driver = driver
        ended = await driver.run(
            Snippet(code=code, functions=catalog.kinds, admit=ledger.admit, mounts=self.settings.mounts)
        )
        run.driver = None
        return ended

    def _nested_manager(self, ctx: RunContext[AgentDepsT], tool: RunCodeTool[AgentDepsT]) -> ToolManager[AgentDepsT]:
        return ToolManager(
            toolset=self.wrapped, root_capability=_asked_by_tools(ctx.root_capability), ctx=ctx, tools=tool.inside
        )

    def _failed(self, run: RunState, code: str, failed: Failed, ledger: Ledger) -> str:
        if failed.session_lost:
            run.types.reset()
        else:
            run.types.failed(code)
        return failure_text(
            FailedSnippet(
                code=code,
                failed=failed,
                printed=run.session.printed,
                ledger=ledger,
                limits=self.settings.limit_names,
            )
        )

    async def _value(self, run: RunState, finished: Finished, named: NamedCode, ledger: Ledger) -> object:
        printed = run.session.printed
        try:
            if looks_opaque(finished.value):
                await self._refuse_opaque(run, named)
            value = from_sandbox(finished.value)
        except CannotCrossError as error:
            what = f'{error.what}{f" at `{error.path}` of the result" if error.path else ""}'
            advice = 'Return data instead: text, numbers, lists and dicts of them.'
            raise ModelRetry(unreturnable_text(what, advice, printed, ledger)) from error
        limit = self.settings.max_result_bytes
        if limit is not None and (size := json_size(value)) > limit:
            value = too_large_value(value, size, limit, named.name)
        return returned_value(value, printed, run.media)

    async def _refuse_opaque(self, run: RunState, named: NamedCode) -> None:
        if named.name is None:
            raise CannotCrossError('a function or a cycle', '')
        step = await asyncio.wrap_future(run.session.feed(Snippet(code=find_opaque(named.name))))
        found = step.value if isinstance(step, Finished) else None
        if is_collection(found):
            kind, path = map(str, found)
            what = 'a call that was not awaited' if kind == 'coroutine' else f'a {kind}'
            raise CannotCrossError(what, path)


def _asked_by_tools(root: AbstractCapability[AgentDepsT] | None) -> AbstractCapability[AgentDepsT] | None:
    """The capabilities that a nested call has to ask; the framework copies its context for each one, at each hook."""
    if not isinstance(root, CombinedCapability):
        return root
    asked = [one for one in root.capabilities if has_tool_hooks(one)]
    if len(asked) == len(root.capabilities):
        return root
    try:
        return CombinedCapability(asked)
    except UserError:  # one of them requires another that is left out
        return root
