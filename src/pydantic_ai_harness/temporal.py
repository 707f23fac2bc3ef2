"""A plugin for Temporal workers that makes code mode's steps cheaper to record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from importlib.util import find_spec
from typing import Any, cast

if find_spec('temporalio') is None:
    raise ImportError('CodeModePlugin needs Temporal. Install it: pip install "pydantic-ai-harness[codemode,temporal]"')

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from temporalio import activity
from temporalio.plugin import SimplePlugin
from temporalio.worker import Interceptor, WorkflowInboundInterceptor, WorkflowInterceptorClassInput

from .code_mode import CodeMode
from .code_mode.temporal_engine import LOCAL_STEPS, local_step_name
from .errors import ConfigurationError


class CodeModePlugin(SimplePlugin):
    """Records the steps of code as local activities: one event of history each, in place of six.

    It is optional, and belongs beside Pydantic AI's own plugin on the client or the worker. Once a workflow has run
    with it, workers that take it over need it too; workflows that were started without it go on without it.

    ```python {test="skip"}
    from pydantic_ai.durable_exec.temporal import PydanticAIPlugin
    from pydantic_ai_harness.temporal import CodeModePlugin
    from temporalio.client import Client

    client = await Client.connect('localhost:7233', plugins=[PydanticAIPlugin(), CodeModePlugin(agent)])
    ```

    Raises:
        ConfigurationError: An agent has no name, or no `CodeMode`, or two share a name.
    """

    def __init__(self, *agents: AbstractAgent[Any, Any]) -> None:
        """Prepare the plugin.

        Args:
            agents: Those with `CodeMode` whose workflows the worker runs.
        """
        steps = [_local_step(name, settings) for agent in agents for name, settings in _steps_of(agent)]
        names = [name for agent in agents for name, _ in _steps_of(agent)]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ConfigurationError(
                f'Two agents with CodeMode would record their steps as {doubled[0]!r}; rename one.'
            )
        announcer = _Announcer(frozenset(names))
        super().__init__('CodeModePlugin', activities=steps, interceptors=[announcer])  # pyright: ignore[reportUnknownMemberType]


class _Announcer(Interceptor):
    """Tells workflow code which local activities the worker has."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002 - the base's name
    ) -> type[WorkflowInboundInterceptor] | None:
        """Nothing is intercepted; the names are made known."""
        functions = cast(MutableMapping[str, Callable[[], frozenset[str]]], input.unsafe_extern_functions)  # pyright: ignore[reportUnknownMemberType]
        functions[LOCAL_STEPS] = lambda: self._names
        return None


def _steps_of(agent: AbstractAgent[Any, Any]) -> list[tuple[str, CodeMode[Any]]]:
    found: list[CodeMode[Any]] = []

    def look_at(capability: AbstractCapability[Any]) -> None:
        if isinstance(capability, CodeMode):
            found.append(capability)

    agent.root_capability.apply(look_at)
    if not found:
        raise ConfigurationError(f'The agent {agent.name!r} has no CodeMode, so CodeModePlugin has nothing to record.')
    if agent.name is None:
        raise ConfigurationError('An agent needs a `name`, by which CodeModePlugin records the steps of its code.')
    return [(local_step_name(agent.name, settings.id), settings) for settings in found]


def _local_step(name: str, settings: CodeMode[Any]) -> Callable[[str], Awaitable[str]]:
    @activity.defn(name=name)
    async def local_step(request: str) -> str:
        return await settings.run_step(request)

    return local_step
