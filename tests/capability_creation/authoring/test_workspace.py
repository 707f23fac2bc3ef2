"""CC-2: where a run may author."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, LocalWorkspace
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import WorkspaceRef
from pydantic_ai.workspaces import (
    AuthorityWorkspace,
    LocalWorkspaceBackend,
    ReadOnlyWorkspace,
    Workspace,
    WorkspaceBackend,
    WrapperWorkspace,
)
from tests.support import ScriptedModel

from pydantic_ai_harness import CapabilityCreation

from .support import FINE, agent_with, author, tool_returns


class Elsewhere(WorkspaceBackend):
    """An environment on another machine."""

    @property
    def ref(self) -> WorkspaceRef | None:
        """None yet."""
        return None

    async def working_dir(self) -> str:
        """A directory there."""
        return '/elsewhere'


class Transparent(WrapperWorkspace):
    """A policy of the user's that leaves everything as it is."""


async def run_in(creation: CapabilityCreation[None], *capabilities: AbstractCapability[None], **options: Any) -> Any:
    """What the model reads after it has authored in this workspace."""
    script = ScriptedModel([[author(FINE)]])
    agent = agent_with(script.model(), *capabilities, creation)
    try:
        result = await agent.run('go', **options)
    finally:
        ran.append(len(script.infos))
    return tool_returns(result.all_messages())[0].content


ran: list[int] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@asynccontextmanager
async def refused(creation: CapabilityCreation[None], match: str) -> AsyncGenerator[None]:
    """The run is refused before the model was asked, and nothing was made on disk."""
    with pytest.raises(UserError, match=match):
        yield
    assert ran == [0]
    assert not creation.store.directory.exists()


async def test_cc2_no_workspace_is_refused(creation: CapabilityCreation[None]) -> None:
    """Without a workspace the error says what to add."""
    async with refused(creation, r'needs a run whose workspace is this machine.*Add LocalWorkspace\(\.\.\.\)'):
        await run_in(creation)


async def test_cc2_a_read_only_workspace_is_refused(creation: CapabilityCreation[None], tmp_path: Path) -> None:
    """A workspace that promises to change nothing is refused, with its reason."""
    async with refused(creation, 'the workspace of this run is read-only'):
        await run_in(creation, LocalWorkspace[None](tmp_path, read_only=True))


async def test_cc2_a_read_only_workspace_of_the_run_is_refused(
    creation: CapabilityCreation[None], tmp_path: Path
) -> None:
    """The workspace of the run counts, not the agent's."""
    workspace = ReadOnlyWorkspace(Workspace(LocalWorkspaceBackend(tmp_path)))
    async with refused(creation, 'read-only'):
        await run_in(creation, LocalWorkspace[None](tmp_path), workspace=workspace)


async def test_cc2_read_only_below_another_policy_is_refused(
    creation: CapabilityCreation[None], tmp_path: Path
) -> None:
    """A wrapper around a read-only workspace does not hide that it is one."""
    inner = ReadOnlyWorkspace(Workspace(LocalWorkspaceBackend(tmp_path)))
    async with refused(creation, 'read-only'):
        await run_in(creation, workspace=AuthorityWorkspace(inner, authority='none'))


async def test_cc2_another_machine_is_refused(creation: CapabilityCreation[None]) -> None:
    """Next to a sandbox the code would run outside of it; the error names what the workspace is."""
    async with refused(creation, 'it is Elsewhere'):
        await run_in(creation, workspace=Elsewhere())


async def test_cc2_another_machine_of_the_run_is_refused(creation: CapabilityCreation[None], tmp_path: Path) -> None:
    """A local workspace of the agent's does not help a run that works elsewhere."""
    async with refused(creation, 'it is Elsewhere'):
        await run_in(creation, LocalWorkspace[None](tmp_path), workspace=Elsewhere())


async def test_cc2_another_machine_below_a_policy_is_refused(creation: CapabilityCreation[None]) -> None:
    """A wrapper around another machine does not hide where that is."""
    async with refused(creation, 'it is Elsewhere'):
        await run_in(creation, workspace=AuthorityWorkspace(Workspace(Elsewhere()), authority='user'))


async def test_cc2_a_writable_local_workspace_is_accepted(creation: CapabilityCreation[None], tmp_path: Path) -> None:
    """The plain case works, whatever the order of the capabilities."""
    assert 'version 1' in await run_in(creation, LocalWorkspace[None](tmp_path))
    script = ScriptedModel([[author(FINE)]])
    result = await agent_with(script.model(), creation, LocalWorkspace[None](tmp_path)).run('go')
    assert 'version 2' in str(tool_returns(result.all_messages())[0].content)


async def test_cc2_a_local_backend_of_the_run_is_accepted(creation: CapabilityCreation[None], tmp_path: Path) -> None:
    """A backend that is passed to the run counts too."""
    assert 'version 1' in await run_in(creation, workspace=LocalWorkspaceBackend(tmp_path))


@pytest.mark.parametrize('authority', ['none', 'user'])
async def test_cc2_an_authority_policy_is_accepted(
    creation: CapabilityCreation[None], tmp_path: Path, authority: Any
) -> None:
    """How far the files are trusted does not matter to whether they may be written."""
    assert 'version 1' in await run_in(creation, LocalWorkspace[None](tmp_path, authority=authority))
    wrapped = AuthorityWorkspace(Workspace(LocalWorkspaceBackend(tmp_path)), authority=authority)
    assert 'version 2' in await run_in(creation, workspace=wrapped)


async def test_cc2_a_wrapper_of_the_users_is_accepted(creation: CapabilityCreation[None], tmp_path: Path) -> None:
    """Any wrapper around a writable local workspace is fine."""
    assert 'version 1' in await run_in(creation, workspace=Transparent(Workspace(LocalWorkspaceBackend(tmp_path))))


async def test_cc2_every_run_is_looked_at(creation: CapabilityCreation[None], tmp_path: Path) -> None:
    """An agent that has authored before is refused as soon as a run of it works elsewhere."""
    agent = agent_with(ScriptedModel([]).model(), LocalWorkspace[None](tmp_path), creation)
    await agent.run('go')
    with pytest.raises(UserError, match='Elsewhere'):
        await agent.run('go', workspace=Elsewhere())
    await agent.run('go')


async def iterate(agent: Agent[None, Any]) -> None:
    """Run node by node."""
    async with agent.iter('go') as run:
        async for _ in run:
            pass


async def test_cc2_authored_code_of_a_refused_run_does_not_run(
    creation: CapabilityCreation[None], tmp_path: Path
) -> None:
    """Streaming and iterating are refused like running."""
    agent = agent_with(ScriptedModel([[author(FINE)]]).model(), creation)
    with pytest.raises(UserError, match='this machine'):
        await iterate(agent)
    assert not (tmp_path / 'authored').exists()
