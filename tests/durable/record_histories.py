"""Records the histories that `test_histories.py` replays: `python -m tests.durable.record_histories VERSION`.

Recordings of a release are never made again, so that a later change that breaks running workflows is seen.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import tempfile
from pathlib import Path

from pydantic_ai_harness.narrowing import is_list, is_text_mapping

from .programs import SHAPES, is_expected
from .rigs import TemporalRig, temporal_server

HISTORIES = Path(__file__).parent / 'histories'


async def _record(address: str, name: str, *, with_plugin: bool) -> str:
    shape = SHAPES[name]
    with tempfile.TemporaryDirectory() as folder:
        rig = TemporalRig(Path(folder), address=address, with_plugin=with_plugin)
        await rig.begin(shape.codes, answer=shape.answer)
        results = await rig.results()
        rig.kill()
    assert is_expected(shape, results), f'{name}: {results}'
    return json.dumps(_portable(json.loads((await rig.handle.fetch_history()).to_json())), indent=1)


def _portable(value: object) -> object:
    """Without stack traces, which name files of this machine."""
    if is_list(value):
        return [_portable(item) for item in value]
    if is_text_mapping(value):
        return {key: _portable(item) for key, item in value.items() if key != 'stackTrace'}
    return value


async def _record_all(version: str) -> None:
    with tempfile.TemporaryDirectory() as folder, temporal_server(Path(folder)) as address:
        for name in SHAPES:
            for with_plugin in (False, True):
                target = HISTORIES / version / f'{name}{", with the plugin" if with_plugin else ""}.json.gz'
                if not target.exists():
                    _keep(target, await _record(address, name, with_plugin=with_plugin))


def _keep(target: Path, history: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    size = target.write_bytes(gzip.compress(history.encode(), mtime=0))
    print(f'{target.name}: {len(history):,} characters, {size:,} bytes')


if __name__ == '__main__':
    asyncio.run(_record_all(sys.argv[1]))
