"""CM-21: workflows that were recorded by this version and by earlier ones replay."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from pydantic_ai_harness.temporal import CodeModePlugin

from .programs import SHAPES
from .record_histories import HISTORIES
from .temporal_worker import Scenario, agent

RECORDINGS = sorted(HISTORIES.glob('*/*.json.gz'))
pytestmark = pytest.mark.filterwarnings('default')


def _replayer(*, with_plugin: bool) -> Replayer:
    plugins = [PydanticAIPlugin(), *([CodeModePlugin(agent)] if with_plugin else [])]
    return Replayer(workflows=[Scenario], plugins=plugins)


def _history(recording: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(recording.name, gzip.decompress(recording.read_bytes()).decode())


@pytest.mark.parametrize('recording', RECORDINGS, ids=lambda path: f'{path.parent.name}, {path.name[:-8]}')
async def test_cm21_a_recorded_history_replays(recording: Path) -> None:
    await _replayer(with_plugin='plugin' in recording.name).replay_workflow(_history(recording))


def test_cm21_every_shape_is_recorded() -> None:
    for name in SHAPES:
        assert [path for path in RECORDINGS if path.name == f'{name}.json.gz'], name
        assert [path for path in RECORDINGS if path.name == f'{name}, with the plugin.json.gz'], name


async def test_cm21_a_workflow_that_was_started_without_the_plugin_goes_on_without_it() -> None:
    (recording,) = [path for path in RECORDINGS if path.name == 'in sequence.json.gz'][-1:]
    await _replayer(with_plugin=True).replay_workflow(_history(recording))


async def test_cm21_a_workflow_that_was_started_with_the_plugin_does_not_go_wrong_silently_without_it() -> None:
    (recording,) = [path for path in RECORDINGS if path.name == 'in sequence, with the plugin.json.gz'][-1:]
    with pytest.raises(Exception, match=r'(?i)nondeterminism'):
        await _replayer(with_plugin=False).replay_workflow(_history(recording))
