"""`CodeMode`: the settings, and where it stands among an agent's capabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Literal

from pydantic import SkipValidation, ValidationError
from pydantic.json_schema import SkipJsonSchema
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, ToolSearch, durable_operation
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import AgentDepsT, RunContext, ToolDefinition, ToolSelector
from pydantic_ai.toolsets import AbstractToolset
from pydantic_monty import MountDir, OsHandler

from pydantic_ai_harness.errors import ConfigurationError
from pydantic_ai_harness.sandbox import FailureKind, SandboxLimits, Session, WorkerPool, shared_pool
from pydantic_ai_harness.sandbox.limits import MAX_PRINTED_BYTES, ResourceLimitsSetting

from .call_metadata import Room
from .catalog import Catalog, digest_of
from .catalog_view import CatalogSetting, CatalogView
from .engine import Engine
from .engines import engine_named, engine_of
from .lookup import LookupNames
from .prompt import Grants
from .recorded_repl import RecordedRepl
from .recorded_step import StepReport, StepRequest, too_large_to_record
from .repl import LocalRepl
from .run_state import RunState
from .setting_checks import (
    OsAccess,
    PositionalOsHandler,
    as_os_handler,
    check_count,
    check_flag,
    check_pausing,
    check_pool,
    check_tools,
    checked_mounts,
)
from .state_store import MemoryStateStore, StateStore, StateUnavailableError
from .states import ConversationStates, States
from .step_worker import StepWorker
from .stored_session import SessionRecord
from .toolset import CodeModeToolset
from .workflow_states import TakenSession, WorkflowStates, drop_states

_MAX_CATALOGS = 8


@dataclass
class CodeMode(AbstractCapability[AgentDepsT]):
    """Puts the agent's tools behind one tool, `run_code`, which runs model-written Python in a sandbox.

    ```python
    from pydantic_ai import Agent
    from pydantic_ai_harness import CodeMode

    agent = Agent('anthropic:claude-sonnet-4-6', capabilities=[CodeMode()])
    ```

    Raises:
        ConfigurationError: A setting is out of range or of the wrong kind.
    """

    tools: ToolSelector[AgentDepsT] = 'all'
    """Which tools become functions for the code: `'all'`, names, a predicate `(ctx, tool_def)`, or a metadata dict.
    The others stay ordinary tools."""

    _: KW_ONLY

    max_retries: int = 3
    """How often the model may send code again after a failure, before the run ends."""
    max_tool_calls: int = 100
    """Tool calls that one `run_code` call may make. The next one raises in the code."""
    resource_limits: ResourceLimitsSetting = None
    """`{'max_duration_secs': 30, 'max_memory': 268_435_456}` by default; `'unlimited'` lifts both."""
    max_result_bytes: int | None = 256 * 1024
    """Bytes of JSON that a result may have. Of a larger one the model gets shape and beginning. `None` lifts it."""
    os_access: SkipJsonSchema[SkipValidation[OsAccess]] | None = None
    """Answers the code's calls for environment, clock, randomness and files. `None` refuses them."""
    mount: SkipJsonSchema[MountDir] | SkipJsonSchema[Sequence[MountDir]] | None = None
    """Host directories that code can reach under a virtual path."""
    catalog: CatalogSetting = 'auto'
    """What the model reads of the functions: `full` declarations, `brief` ones of a line each, names to `search` among,
    or with `auto` the most of these that fits `catalog_tokens`. Code can look up the rest."""
    catalog_tokens: int = 4000
    """About how many tokens the functions may take, unless `catalog` is `full`."""
    dynamic_catalog: bool = False
    """Whether `run_code` reads the same in all requests of a run, whatever tools are found, so that prompts stay
    cached: the functions then stand in the instructions, and those found later are announced in a message."""
    deferred_calls: Literal['inline', 'pause'] = 'inline'
    """What becomes of a call in code that needs approval, or an answer from outside, and gets none at once: `inline`
    raises in the code, `pause` stores the code and ends the run with `DeferredToolRequests` (see `paused_calls`)."""
    state_store: SkipJsonSchema[SkipValidation[StateStore]] | None = None
    """Keeps code that waits, and sessions for `keep_repl`. `None` is a `MemoryStateStore` of this capability."""
    pause_ttl: timedelta = timedelta(days=7)
    """How long code may wait, and a session be kept."""
    keep_repl: bool = False
    """Whether variables live on in the next run of the conversation."""
    worker_pool: SkipJsonSchema[WorkerPool] | None = None
    """Lends the sandbox processes. `None` is the pool that all of this process share."""
    id: str | None = 'code_mode'
    """One for each agent."""

    _catalogs: dict[bytes, Catalog] = field(default_factory=dict[bytes, Catalog], init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Validate every setting."""
        check_tools(self.tools)
        for name in ('dynamic_catalog', 'keep_repl'):
            check_flag(name, getattr(self, name))
        check_count('max_retries', self.max_retries, least=0)
        check_count('max_tool_calls', self.max_tool_calls, least=1)
        if self.max_result_bytes is not None:
            check_count('max_result_bytes', self.max_result_bytes, least=1)
        if self.catalog not in ('auto', 'full', 'brief', 'search'):
            raise ConfigurationError(f"`catalog` is 'auto', 'full', 'brief' or 'search', not {self.catalog!r}.")
        check_count('catalog_tokens', self.catalog_tokens, least=1)
        check_pool(self.worker_pool)
        check_pausing(self.deferred_calls, self.state_store, self.pause_ttl)
        _ = self.limits, self.mounts, self.os_handler

    @cached_property
    def limits(self) -> SandboxLimits:
        """The validated `resource_limits`."""
        return SandboxLimits.parse(self.resource_limits)

    @cached_property
    def mounts(self) -> tuple[MountDir, ...]:
        """The validated `mount`, always several."""
        return () if self.mount is None else checked_mounts(self.mount)

    @cached_property
    def os_handler(self) -> OsHandler | None:
        """The `os_access` in Monty's keyword form."""
        return None if self.os_access is None else as_os_handler(self.os_access)

    @property
    def pauses(self) -> bool:
        """Whether code waits for answers from outside."""
        return self.deferred_calls == 'pause'

    @cached_property
    def store(self) -> StateStore:
        """The `state_store`, or one of its own."""
        return MemoryStateStore() if self.state_store is None else self.state_store

    def states_of(self, ctx: RunContext[AgentDepsT], engine: Engine) -> States:
        """Where the run's conversation keeps its states."""
        conversation_id = ctx.conversation_id or ctx.run_id or ''
        if engine.is_durable:
            return WorkflowStates(self, engine, ctx, conversation_id)
        return self._stored_states(conversation_id)

    def _stored_states(self, conversation_id: str) -> ConversationStates:
        return ConversationStates(self.store, self.pause_ttl, conversation_id)

    @property
    def grants(self) -> Grants:
        """What the model is told that it may touch."""
        return Grants(
            os_access=self.os_access is not None,
            mounts=tuple((mount.virtual_path, mount.mode) for mount in self.mounts),
        )

    @property
    def limit_names(self) -> dict[FailureKind, str]:
        """What each limit is called towards the model."""
        return {
            FailureKind.TIME: f'the {self.limits.max_duration_secs or 0:g} s of computing that one call may take',
            FailureKind.MEMORY: f'the {(self.limits.max_memory or 0) / 2**20:g} MiB of memory',
            FailureKind.PRINTED: f'the {MAX_PRINTED_BYTES / 2**20:g} MiB that one call may print',
        }

    def view_of(self, catalog: Catalog) -> CatalogView:
        """What the model reads of the functions."""
        return catalog.view(self.catalog, self.catalog_tokens)

    def catalog_of(
        self,
        tools: list[ToolDefinition],
        groups: Mapping[str, str],
        hidden: list[ToolDefinition],
        lookup_names: LookupNames | None = None,
    ) -> Catalog:
        """The catalog of these tools, built once for as long as they do not change.

        Args:
            tools: In the order in which they are shown.
            groups: By the tools' names, where they come from.
            hidden: Tools that may become functions later.
            lookup_names: What the model has read that `help` and `find_functions` are called.
        """
        key = digest_of(tools, groups, hidden, lookup_names)
        catalog = self._catalogs.pop(key, None) or Catalog.build(tools, groups, hidden, lookup_names)
        self._catalogs[key] = catalog
        if len(self._catalogs) > _MAX_CATALOGS:
            del self._catalogs[next(iter(self._catalogs))]
        return catalog

    def new_run_state(self, ctx: RunContext[AgentDepsT]) -> RunState:
        """A session for one agent run; it starts nothing before code runs.

        Raises:
            ConfigurationError: The run is in a durable workflow, and a setting does not go with that.
        """
        engine = engine_of(ctx)
        if not engine.is_durable:
            return RunState(LocalRepl(self._new_session(), self._pool.type_checker))
        if any(mount.mode == 'overlay' for mount in self.mounts):
            raise ConfigurationError(
                f"`mount` has a directory with mode 'overlay', which code in a {engine.name} workflow cannot use: what "
                "is written there lives only as long as a process. Mount it as 'read-only' or 'read-write'."
            )
        room = None if engine.max_metadata_bytes is None else Room(engine.max_metadata_bytes)
        return RunState(RecordedRepl(self, engine, ctx), engine, room)

    @durable_operation(name='step')
    async def take_step(self, ctx: RunContext[AgentDepsT], request: str) -> str:
        """Run one step of a snippet whose state lives in a record; durable engines call this.

        Args:
            ctx: Of the tool call.
            request: A `StepRequest` in JSON.

        Returns:
            A `StepReport` in JSON. Errors are in it, too.
        """
        return await self.run_step(request)

    async def run_step(self, request: str) -> str:
        """What `take_step` does, without a record."""
        try:
            parsed = StepRequest.model_validate_json(request)
        except ValidationError as error:
            return StepReport.unreadable(error).model_dump_json()
        worker = StepWorker(
            session=self._new_session(),
            checker=self._pool.type_checker,
            mounts=self.mounts,
            max_seconds=engine_named(parsed.engine).step_seconds(),
        )
        return (await worker.take(parsed)).model_dump_json()

    @durable_operation(name='save_session')
    async def save_session(self, ctx: RunContext[AgentDepsT], conversation_id: str, session: str) -> str:
        """Keep a session for the conversation's next run; durable engines call this.

        Returns:
            What went wrong; empty if nothing did.
        """
        record = SessionRecord.model_validate_json(session)
        try:
            await self._stored_states(conversation_id).save_session(record)
        except Exception as error:  # noqa: BLE001  stores are written by others, and engines try again for ever
            return f'{type(error).__name__}: {error}'
        return ''

    @durable_operation(name='take_session')
    async def take_session(self, ctx: RunContext[AgentDepsT], conversation_id: str, max_bytes: int | None) -> str:
        """Take the session that the conversation's last run has left; durable engines call this.

        Args:
            ctx: Of the tool call.
            conversation_id: Whose session.
            max_bytes: What the engine can record. `None` is no limit.

        Returns:
            A `TakenSession` in JSON.
        """
        try:
            taken = TakenSession(session=await self._stored_states(conversation_id).take_session())
        except StateUnavailableError as error:
            taken = TakenSession(unavailable=(error.reason, error.detail))
        except Exception as error:  # noqa: BLE001  stores are written by others, and engines try again for ever
            taken = TakenSession(failure=f'{type(error).__name__}: {error}')
        text = taken.model_dump_json()
        if (problem := too_large_to_record(text, max_bytes)) is not None:
            return TakenSession(failure=f'it comes to {problem}').model_dump_json()
        return text

    @property
    def _pool(self) -> WorkerPool:
        return self.worker_pool or shared_pool()

    def _new_session(self) -> Session:
        return Session(self._pool, limits=self.limits, os_handler=self.os_handler)

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Leave what nobody waits for any more out of the history."""
        drop_states(request_context.messages)
        return request_context

    def get_ordering(self) -> CapabilityOrdering:
        """Outside tool search, so that what it marks as found or hidden is seen."""
        return CapabilityOrdering(position='outermost', wraps=[ToolSearch])

    def get_wrapper_toolset(self, toolset: AbstractToolset[AgentDepsT]) -> AbstractToolset[AgentDepsT]:
        """Put the agent's toolset behind `run_code`."""
        return CodeModeToolset(toolset, self)


__all__ = ['CodeMode', 'OsAccess', 'PositionalOsHandler']
