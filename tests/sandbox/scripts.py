"""Small programs that use the sandbox, each run by an interpreter of its own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

_HEAD = """
from pydantic_ai_harness.sandbox import Session, Snippet, WorkerPool, shared_pool
def feed(session, code):
    return session.feed(Snippet(code=code, functions={'ask': 'async'})).result(20)
def value(session, code):
    return feed(session, code).value
"""


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    exit_code: int
    printed: str
    errors: str


def run_script(body: str) -> Ended:
    """Run `body`, which finds the sandbox imported, `feed` for steps and `value` for values."""
    process = subprocess.run(
        [sys.executable, '-c', _HEAD + body], check=False, capture_output=True, text=True, timeout=50
    )
    return Ended(process.returncode, process.stdout.strip(), process.stderr)
