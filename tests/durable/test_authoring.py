"""CC-11: what an agent authors in a workflow is written once, whatever happens to its process."""

from __future__ import annotations

from pathlib import Path

from pydantic_ai_harness import CapabilityStore

from .conftest import NewRig
from .rigs import DBOSRig
from .scenario import AUTHOR, LIST

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
