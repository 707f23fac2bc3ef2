"""Starts worker processes, and talks to them."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

WORKER = Path(__file__).with_name('worker.py')


class Process:
    """One worker; it is killed in the end, not asked."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def ready(self) -> None:
        """Wait until it has started."""
        self.receive()

    def send(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + '\n')
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f'the process ended with {self._process.wait()}'
        return json.loads(line)

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        self.send(command)
        return self.receive()

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._process.send_signal(signal.SIGKILL)
        self.ended()

    def ended(self) -> int:
        """Wait for its end; how it ended."""
        code = self._process.wait(20)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        if self._process.poll() is None:
            self.kill()
