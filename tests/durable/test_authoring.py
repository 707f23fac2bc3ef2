"""CC-11: what an agent authors in a workflow is written once, whatever happens to its process."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.exceptions import UserError

from pydantic_ai_harness import CapabilityStore
from pydantic_ai_harness.capability_creation import workflows

from .conftest import NewRig
from .rigs import DBOSRig
from .scenario import AUTHOR, CALL, LIST

MODULE = """\
from pydantic_ai.capabilities import AbstractCapability


class Careful(AbstractCapability):
    def get_instructions(self):
        return 'Be careful.'
"""


async def test_cc11_a_recovered_run_writes_nothing_again(new_rig: NewRig, tmp_path: Path) -> None:
    directory = tmp_path / 'authored'
    directory.mkdir()
    rig = new_rig(step_seconds=2, authored=str(directory))
    # On DBOS, a run with a workspace has tools that run alone, which code calls without `await`.
    call = "linger(key='then', seconds=20)" if isinstance(rig, DBOSRig) else "await linger(key='then', seconds=20)"
    await rig.begin([f'{AUTHOR}careful\n{MODULE}', call, LIST])
    await rig.seen('start then')
    store = CapabilityStore(directory)
    (before,) = store.list_all()
    rig.kill()
    rig.start()
    authored, lingered, listed = await rig.results()
    assert 'careful' in authored
    assert lingered == 'then done'
    assert [(one['name'], one['status'], one['version']) for one in listed] == [('careful', 'active', 1)]
    assert store.list_all() == [before]
    assert [version.version for version in store.history('careful')] == [1]


async def test_cc11_a_name_that_is_none_is_told_and_the_run_goes_on(new_rig: NewRig, tmp_path: Path) -> None:
    rig = new_rig(authored=str(tmp_path))
    await rig.begin([f'{AUTHOR}no name!\n{MODULE}', LIST])
    refused, listed = await rig.results()
    assert 'no name!' in refused
    assert listed == []


WITH_A_TOOL = """\
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset


async def motto() -> str:
    return 'Be careful.'


class Careful(AbstractCapability):
    id = 'careful'

    def get_toolset(self):
        return FunctionToolset([motto], id='careful-tools')

    async def before_model_request(self, ctx, request_context):
        if len(request_context.messages) > 1:
            raise ValueError('not careful enough')
        return request_context
"""


async def test_cc11_what_was_authored_is_active_when_the_agent_is_built_with_it(
    new_rig: NewRig, tmp_path: Path
) -> None:
    store = CapabilityStore(tmp_path / 'authored')
    assert store.write('careful', WITH_A_TOOL).last_error is None
    rig = new_rig(authored=str(tmp_path / 'authored'), loads=True)
    await rig.begin([f'{CALL}motto', f'{CALL}motto'])
    assert await rig.results() == ['Be careful.', 'Be careful.']
    (entry,) = store.list_all()
    assert (entry.failing_runs, entry.status) == (1, 'active')  # one run, however often it is replayed


def test_cc11_loading_inside_a_workflow_says_what_to_do_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CapabilityStore(tmp_path)
    assert store.load_active() == []
    for engine in ('Temporal', 'DBOS'):
        monkeypatch.setattr(workflows, f'_in_{engine.lower()}_workflow', lambda: True)
        with pytest.raises(
            UserError, match=f'{engine} takes no capabilities for a single run.*where the agent is built'
        ):
            store.load_active()
        monkeypatch.undo()
