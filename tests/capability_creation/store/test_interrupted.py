"""CC-5, BEYOND-4: a writer that dies, or fails, at each single step of each operation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .driving import LONG_SECS, outputs, start
from .dying import OPERATIONS, SHARES

pytestmark = pytest.mark.timeout(LONG_SECS)  # the first of them does the work of all

WITHOUT_COMMIT = {'refused, working version', 'disable'}
"""Operations that replace one file."""


@pytest.fixture(scope='module')
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was found after each try of each operation."""
    processes = [start('dying', tmp_path_factory.mktemp('dying'), share) for share in range(SHARES)]
    return {name: each for printed in outputs(processes) for name, each in json.loads(printed).items()}


def tries(report: dict[str, Any], operation: str, *, fails: bool, dies: bool) -> dict[str, Any]:
    found = {
        name: each
        for name, each in report[operation]['tries'].items()
        if ('fails' in name, 'dies' in name) == (fails, dies)
    }
    assert len(found) >= 2
    return found


@pytest.mark.parametrize('operation', OPERATIONS)
def test_beyond4_the_operation_does_something(report: dict[str, Any], operation: str) -> None:
    """Its old and its new state can be told apart, and neither has anything that should not be there."""
    before, after = report[operation]['before'], report[operation]['after']
    assert before != after
    for state in (before, after):
        assert not state['left']
        assert not state['journal']
        assert not any(entry[-1] for entry in state['entries'])


@pytest.mark.parametrize('operation', OPERATIONS)
def test_cc5_death_at_any_step_leaves_the_old_or_the_new_state(report: dict[str, Any], operation: str) -> None:
    """Complete: entry, code, version, and nothing left lying; before, and in the middle of each change of a file."""
    found = tries(report, operation, fails=False, dies=True)
    assert {name: each['state'] for name, each in found.items() if each['state'] not in ('old', 'new')} == {}
    assert {each['end'] for each in found.values()} == {'died'}
    first, last = found['dies before 1']['state'], list(found.values())[-1]['state']
    assert (first, last) == ('old', 'old' if operation in WITHOUT_COMMIT else 'new')


@pytest.mark.parametrize('operation', OPERATIONS)
def test_cc5_failure_at_any_step_leaves_the_old_state(report: dict[str, Any], operation: str) -> None:
    """An error that is raised means that nothing was changed; what does not matter may fail without one."""
    found = tries(report, operation, fails=True, dies=False)
    wrong = {
        name: each for name, each in found.items() if each['state'] != {'raised': 'old', 'done': 'new'}[each['end']]
    }
    assert wrong == {}


@pytest.mark.parametrize('operation', OPERATIONS)
def test_cc5_death_after_a_failure_leaves_the_old_or_the_new_state(report: dict[str, Any], operation: str) -> None:
    """A disk that is full, and then a process that is killed for it while it puts back what was there."""
    found = tries(report, operation, fails=True, dies=True)
    assert {name: each['state'] for name, each in found.items() if each['state'] not in ('old', 'new')} == {}


def test_cc5_each_operation_was_tried_at_each_of_its_steps(report: dict[str, Any]) -> None:
    """A commit takes seven changes of files or more: journal, code and manifest each in two, and the version."""
    steps = {name: len(tries(report, name, fails=True, dies=False)) for name in OPERATIONS}
    assert {name for name, number in steps.items() if number < 7} == WITHOUT_COMMIT


def test_beyond4_an_interrupted_commit_is_finished_by_whoever_comes_next(
    report: dict[str, Any], tmp_path: Path
) -> None:
    """Once the code, or only the record of it, is there, the write counts as done."""
    found = tries(report, 'write', fails=False, dies=True)
    assert [found[f'dies before {step}']['state'] for step in range(1, 8)] == ['old'] * 2 + ['new'] * 5
