"""Sandbox worker processes of a benchmark process, read from `/proc`.

Run as a script (`procs.py PID`), it is a sampler: a process of its own, so that sampling takes no time from the
process it watches. It prints `ready`, samples until its standard input closes, then prints the peaks as JSON.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

WORKER = 'monty'
SAMPLE_SECONDS = 0.05
MEMORY_SECONDS = 0.25
PAGE_MB = os.sysconf('SC_PAGE_SIZE') / 2**20
TICK_SECONDS = 1 / os.sysconf('SC_CLK_TCK')


@dataclass(frozen=True)
class Stat:
    """What `/proc/PID/stat` says about a process."""

    name: str
    running: bool
    parent: int
    cpu_seconds: float


def read_stat(pid: int) -> Stat | None:
    """The state of a process, or None when it is gone or only waits to be reaped."""
    try:
        head, _, tail = Path(f'/proc/{pid}/stat').read_text().rpartition(')')
    except OSError:
        return None
    fields = tail.split()
    if fields[0] in 'ZX':
        return None
    ticks = int(fields[11]) + int(fields[12])
    return Stat(head.partition('(')[2], fields[0] == 'R', int(fields[1]), ticks * TICK_SECONDS)


def memory_mb(pid: int) -> tuple[float, float]:
    """Resident memory of a process: all of it, and the part that it shares with no file or process."""
    try:
        _, resident, shared, *_ = map(int, Path(f'/proc/{pid}/statm').read_text().split())
    except OSError:
        return 0.0, 0.0
    return resident * PAGE_MB, (resident - shared) * PAGE_MB


@dataclass
class Tree:
    """The processes that descend from one; what is known of a process is kept, so that a scan stays cheap."""

    root: int
    _family: dict[int, bool] = field(default_factory=dict[int, bool])
    _workers: set[int] = field(default_factory=set[int])

    def workers(self) -> list[int]:
        """The sandbox workers that now descend from the root, at any depth."""
        alive = sorted(int(entry.name) for entry in Path('/proc').iterdir() if entry.name.isdigit())
        for pid in alive:
            if self._family.get(pid, True) and pid not in self._workers:
                self._look_at(pid)
        return [pid for pid in alive if pid in self._workers]

    def _look_at(self, pid: int) -> None:
        if (stat := read_stat(pid)) is None:
            return
        ours = stat.parent == self.root or self._family.get(stat.parent, False)
        self._family[pid] = self._family.get(pid, False) or ours
        if self._family[pid] and stat.name == WORKER:
            self._workers.add(pid)


@dataclass
class Peaks:
    """The highest values seen so far."""

    root: int
    peak_workers: int = 0
    workers_rss_mb: float = 0.0
    workers_private_mb: float = 0.0
    host_rss_mb: float = 0.0

    def sample(self, pids: list[int], *, memory: bool) -> None:
        self.peak_workers = max(self.peak_workers, len(pids))
        if memory:
            sizes = [memory_mb(pid) for pid in pids]
            self.workers_rss_mb = max(self.workers_rss_mb, sum(size[0] for size in sizes))
            self.workers_private_mb = max(self.workers_private_mb, sum(size[1] for size in sizes))
            self.host_rss_mb = max(self.host_rss_mb, memory_mb(self.root)[0])


def main() -> None:
    root = int(sys.argv[1])
    tree, peaks, next_memory = Tree(root), Peaks(root), 0.0
    tree.workers()
    print('ready', flush=True)
    while not select.select([sys.stdin], [], [], SAMPLE_SECONDS)[0]:
        memory = time.monotonic() >= next_memory
        if memory:
            next_memory = time.monotonic() + MEMORY_SECONDS
        peaks.sample(tree.workers(), memory=memory)
    if os.getppid() == root:  # else it was ended, and nobody reads the peaks
        print(json.dumps(asdict(peaks)), flush=True)


if __name__ == '__main__':
    main()
