"""One warm, bounded pool of sandbox workers for any number of sessions."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pydantic_monty

from pydantic_ai_harness.errors import ConfigurationError, HarnessError

from .checker import TypeChecker

_MIN_WORKERS = 2
# Monty's own cap only has to stay out of the way: turns are bounded here, and the few processes
# beyond `max_workers` are checkers and snippets that cannot be set aside.
_MONTY_PROCESS_CAP = 4096
_EXIT_GRACE_SECS = 0.02


class Tenant(Protocol):
    """What the pool asks of a session that it lends workers to."""

    @property
    def holds_worker(self) -> bool:
        """Whether a worker is attached and can be taken back by `set_aside`."""
        ...

    def set_aside(self) -> None:
        """Store the state and give the worker up; never raises."""
        ...

    def abort(self) -> None:
        """End the turn in flight."""
        ...


Settle: TypeAlias = Callable[[], None]
"""Tells whoever waits for a turn how it ended."""
Turn: TypeAlias = Callable[[], Settle]
"""One stretch of computing; never raises."""


@dataclass(frozen=True, slots=True)
class _Queued:
    tenant: Tenant
    run: Turn


class PoolClosedError(HarnessError, RuntimeError):
    """The pool was closed; build another one."""


class ForkedError(HarnessError, RuntimeError):
    """This process was forked from one that had used the sandbox, whose threads it does not have."""


class WorkerPool:
    """Lends workers to sessions for as long as they compute.

    A turn (one stretch of sandbox computing) needs a worker. It takes a free one, else the worker of the
    session that has been waiting longest for something else, else it queues: first come, first served.
    Safe to use from any thread and any event loop; a caller never blocks.
    """

    def __init__(self, *, max_workers: int | None = None) -> None:
        """Settle the size; processes start with the first turn.

        Args:
            max_workers: Turns that may compute at once. `None` is one for each processor, at least 2.

        Raises:
            ConfigurationError: `max_workers` is no positive whole number.
        """
        if max_workers is not None and (type(max_workers) is not int or max_workers < 1):
            raise ConfigurationError(f'`max_workers` must be a positive whole number or None, not {max_workers!r}.')
        self.max_workers = max_workers or max(_MIN_WORKERS, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._free = self.max_workers
        self._queue: deque[_Queued] = deque()
        self._lendable: OrderedDict[Tenant, None] = OrderedDict()
        self._computing: set[Tenant] = set()
        self._threads = ThreadPoolExecutor(self.max_workers, thread_name_prefix='sandbox-worker')
        self._monty: pydantic_monty.Monty | None = None
        self._monty_lock = threading.Lock()
        self._closed = False
        self.type_checker = TypeChecker(self)

    def run(self, tenant: Tenant, turn: Turn) -> None:
        """Run `turn` in a thread of the pool, once `tenant` has a worker.

        Raises:
            PoolClosedError: The pool was closed.
        """
        with self._lock:
            self._check_open()
            self._queue.append(_Queued(tenant, turn))
            granted = self._grant()
        self._start(granted)

    def retire(self, tenant: Tenant, turn: Turn) -> bool:
        """Run `turn` on the worker that `tenant` holds while it waits; False when it holds none."""
        with self._lock:
            if self._closed or tenant not in self._lendable:
                return False
            del self._lendable[tenant]
        self._threads.submit(self._work, _Queued(tenant, turn), None)
        return True

    def forget(self, tenant: Tenant) -> None:
        """Take back the place of a session that has given its worker up without being asked."""
        with self._lock:
            if tenant in self._lendable and not tenant.holds_worker:
                del self._lendable[tenant]
                self._free += 1
            granted = self._grant()
        self._start(granted)

    def checkout(
        self,
        *,
        limits: pydantic_monty.ResourceLimits | None = None,
        os_policy: pydantic_monty.OSPolicy | None = None,
        type_check_stubs: str | None = None,
    ) -> pydantic_monty.MontySession:
        """Prepare a session of Monty's; entering it starts or reuses a process. Call it from a turn."""
        return self._running_monty().checkout(
            limits=limits,
            os_policy=os_policy,
            type_check=type_check_stubs is not None,
            type_check_stubs=type_check_stubs,
            type_check_format='json',
        )

    def close(self) -> None:
        """End every worker and abort what computes. Turns that still queue fail with `PoolClosedError`."""
        self.type_checker.close()
        with self._lock:
            self._closed = True
            queued, computing = list(self._queue), list(self._computing)
            self._queue.clear()
            self._lendable.clear()
        for tenant in computing:
            tenant.abort()
        for item in queued:
            item.run()()
        self._threads.shutdown(wait=False)
        with self._monty_lock:
            if self._monty is not None:
                self._monty.__exit__(None, None, None)
                self._monty = None

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def free_workers(self) -> int:
        """Workers that no turn uses and no session holds (for tests and monitoring)."""
        with self._lock:
            return self._free

    @property
    def queued_turns(self) -> int:
        """Turns that wait for a worker (for tests and monitoring)."""
        with self._lock:
            return len(self._queue)

    def _check_open(self) -> None:
        if self._closed:
            raise PoolClosedError('This WorkerPool was closed. Build another one, or pass none to use the shared pool.')

    def _running_monty(self) -> pydantic_monty.Monty:
        with self._monty_lock:
            self._check_open()
            if self._monty is None:
                _SANDBOX_USE.record()
                monty = pydantic_monty.Monty(min_processes=1, max_processes=_MONTY_PROCESS_CAP)
                self._monty = monty.__enter__()
            return self._monty

    def _grant(self) -> list[tuple[_Queued, Tenant | None]]:
        """Take from the queue what can have a worker now, each with the session that loses its own."""
        granted: list[tuple[_Queued, Tenant | None]] = []
        while self._queue:
            tenant = self._queue[0].tenant
            loser: Tenant | None = None
            if tenant in self._lendable:
                del self._lendable[tenant]
            elif self._free:
                self._free -= 1
            elif self._lendable:
                loser, _ = self._lendable.popitem(last=False)
            else:
                break
            granted.append((self._queue.popleft(), loser))
        return granted

    def _start(self, granted: list[tuple[_Queued, Tenant | None]]) -> None:
        for item, loser in granted:
            self._threads.submit(self._work, item, loser)

    def _work(self, item: _Queued, loser: Tenant | None) -> None:
        following: _Queued | None = item
        while following is not None:
            if loser is not None:
                loser.set_aside()
            tenant = following.tenant
            with self._lock:
                self._computing.add(tenant)
            settle = following.run()
            # The worker is passed on first: whoever is told may ask for it again at once.
            following = self._pass_on(tenant)
            settle()
            loser = tenant if following is not None and following.tenant is not tenant else None

    def _pass_on(self, tenant: Tenant) -> _Queued | None:
        """After a turn, give its worker to the turn that has waited longest, if there is one."""
        with self._lock:
            self._computing.discard(tenant)
            if self._queue and not self._closed:
                return self._queue.popleft()
            if tenant.holds_worker:
                self._lendable[tenant] = None
            else:
                self._free += 1
            return None


class _SandboxUse:
    """Which process used Monty first: its runtime (1.4.0) hangs for ever in a child that is forked after that."""

    def __init__(self) -> None:
        self._process: int | None = None

    def record(self) -> None:
        if self._process not in (None, os.getpid()):
            raise ForkedError(
                'The sandbox was used before this process was forked, and cannot be used here. '
                "Fork before the first run, or start processes with multiprocessing's 'spawn' or 'forkserver'."
            )
        self._process = os.getpid()


_SANDBOX_USE = _SandboxUse()


class _SharedPool:
    """The one pool of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: WorkerPool | None = None
        self._abandoned: list[WorkerPool | None] = []

    def get(self) -> WorkerPool:
        with self._lock:
            if self._pool is None or self._pool.is_closed:
                self._pool = WorkerPool()
            return self._pool

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
            # Without a moment in which this thread lets go of the interpreter lock, Monty 1.4.0
            # aborts the process when the interpreter ends right after its pool.
            time.sleep(_EXIT_GRACE_SECS)

    def forget(self) -> None:
        """A forked child has none of its parent's threads, and must leave its workers alone.

        The pool is kept for as long as the child lives: Monty 1.4.0 kills the workers of a pool that is freed.
        """
        self._abandoned.append(self._pool)
        self._lock = threading.Lock()
        self._pool = None


_shared = _SharedPool()
atexit.register(_shared.close)
if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_shared.forget)


def shared_pool() -> WorkerPool:
    """The pool of this process, made when first asked for."""
    return _shared.get()
