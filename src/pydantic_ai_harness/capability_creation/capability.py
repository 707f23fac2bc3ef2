"""`CapabilityCreation`: the settings, and what the agent gets from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic_ai.capabilities import AbstractCapability, durable_operation
from pydantic_ai.exceptions import UserError
from pydantic_ai.tools import AgentDepsT, RunContext
from pydantic_ai.workspaces import LocalWorkspaceBackend, Workspace, WorkspaceBackend, WrapperWorkspace

from . import prompt
from .operations import Answer, ListedCapability, author, disable, list_authored
from .store import CapabilityStore
from .toolset import AuthoringToolset


@dataclass
class CapabilityCreation(AbstractCapability[AgentDepsT]):
    """Lets the agent write, check and keep capabilities of its own, active from a later run.

    ```python
    from pathlib import Path

    from pydantic_ai import Agent
    from pydantic_ai.capabilities import LocalWorkspace
    from pydantic_ai_harness import CapabilityCreation

    creation = CapabilityCreation(directory=Path('.authored'))
    agent = Agent('anthropic:claude-sonnet-4-6', capabilities=[LocalWorkspace('.'), creation])
    result = agent.run_sync('...', capabilities=creation.store.load_active())
    ```

    The code runs on this machine with the rights of this process, so a run is refused unless its workspace is this
    machine and writable.

    Raises:
        ConfigurationError: A setting is out of range, or this platform cannot isolate.
    """

    directory: Path | str
    """Where the code is kept, on this machine. A relative path is made absolute when the capability is built."""
    guidance: str | None = None
    """What the model is told of authoring. `None` is the default text, `''` nothing."""

    _: KW_ONLY

    max_failures: int | None = 3
    """Failing runs in a row after which a capability is quarantined. `None` loads capabilities without a guard."""
    max_versions: int = 20
    """Accepted versions that are kept of each capability."""
    pin: bool = False
    """Whether to load only code that was accepted through the store, and not what was edited in the files."""
    isolated_validation: bool = False
    """Whether code is checked in a process of its own, which can be ended."""
    validation_timeout: float | None = 30
    """Seconds that a check may take. `None` waits for ever."""
    id: str | None = 'capability_creation'
    """Under which durable engines record the store's work."""

    store: CapabilityStore = field(init=False, repr=False, compare=False)
    """The capabilities on disk. Pass `store.load_active()` as `capabilities=` of each run."""

    def __post_init__(self) -> None:
        self.directory = Path(self.directory).absolute()
        self.store = CapabilityStore(
            self.directory,
            max_failures=self.max_failures,
            max_versions=self.max_versions,
            pin=self.pin,
            isolated_validation=self.isolated_validation,
            validation_timeout=self.validation_timeout,
        )

    @classmethod
    def combine(cls, capabilities: Sequence[AbstractCapability[AgentDepsT]]) -> AbstractCapability[AgentDepsT]:
        """Two under one id must be the same said twice.

        Raises:
            UserError: They differ.
        """
        first = capabilities[0]
        for other in capabilities[1:]:
            if other != first:
                raise UserError(
                    f'Two CapabilityCreation share the id {first.id!r} and differ: {first!r} and {other!r}. '
                    'Leave one out, or give each its own `id`.'
                )
        return first

    async def before_run(self, ctx: RunContext[AgentDepsT]) -> None:
        """Refuse a run whose workspace is not this machine, or is read-only.

        Raises:
            UserError: It is so.
        """
        backend = _backend(ctx.workspace)
        if not isinstance(backend, LocalWorkspaceBackend):
            raise UserError(
                'CapabilityCreation runs model-written code on this machine, so it needs a run whose workspace is '
                f'this machine; it is {type(backend).__name__}. Add LocalWorkspace(...) to the capabilities.'
            )
        if ctx.workspace.read_only:
            raise UserError(
                'CapabilityCreation writes files on this machine, and the workspace of this run is read-only. '
                'Make it writable, or leave CapabilityCreation out.'
            )

    def get_instructions(self) -> str | None:
        """The guidance."""
        return prompt.GUIDANCE if self.guidance is None else self.guidance or None

    def get_toolset(self) -> AuthoringToolset:
        """The authoring tools, the same each time: durable engines know only what the agent was built with."""
        return self._toolset

    @cached_property
    def _toolset(self) -> AuthoringToolset:
        return AuthoringToolset(self, id=self.id)

    @durable_operation(name='author')
    async def author(self, ctx: RunContext[AgentDepsT], name: str, code: str) -> Answer:
        """Check code and keep it; durable engines record this, so that a recovered run writes nothing again.

        Args:
            ctx: Of the tool call.
            name: What the capability is called.
            code: Its module.

        Returns:
            What the model reads, whether the code was kept or not.
        """
        return await author(self.store, ctx, name, code)

    @durable_operation(name='list')
    async def list_authored(self, ctx: RunContext[AgentDepsT]) -> list[ListedCapability]:
        """What is authored; durable engines record this."""
        return await list_authored(self.store)

    @durable_operation(name='disable')
    async def disable(self, ctx: RunContext[AgentDepsT], name: str) -> Answer:
        """Switch a capability off; durable engines record this."""
        return await disable(self.store, name)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """No part of an agent spec: it holds live code."""
        return None


def _backend(workspace: Workspace) -> WorkspaceBackend:
    """What is underneath all wrappers; in a workflow, the one of the durability capability gives only what it wraps."""
    while isinstance(workspace, WrapperWorkspace):
        workspace = workspace.wrapped
    return workspace.backend
