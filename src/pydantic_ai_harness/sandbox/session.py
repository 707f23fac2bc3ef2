"""One REPL in the sandbox, driven step by step and without an event loop."""

from __future__ import annotations

import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress

import pydantic_monty
from pydantic_monty import FunctionSnapshot, FutureSnapshot, MontyComplete, NameLookupSnapshot, SyncSnapshot

from .crossing import Waiting, external, finished, resume
from .failures import describe_error, lost
from .host_calls import HostCalls
from .limits import SandboxLimits
from .pool import ForkedError, PoolClosedError, WorkerPool
from .snippet import Printed, Snippet
from .steps import (
    Answer,
    Call,
    Failed,
    FailureKind,
    Needs,
    Raised,
    Request,
    Sleep,
    Step,
)
from .stored import CannotBeStoredError, StoredSession
from .turn_switch import TurnSwitch


class _AbortedError(Exception):
    """The turn was aborted before it began."""


class _StateLostError(Exception):
    """What was set aside could not be taken up again."""


_OS_POLICY: pydantic_monty.OSPolicy = {'datetime': 'call_host', 'sleep': 'call_host', 'random_start': 'call_host'}
_PENDING: pydantic_monty.ExternalFuture = {'future': ...}


class Session:
    """A REPL whose variables live from snippet to snippet.

    `feed` and `advance` return at once with a future of the next step; the work is done on a worker that the pool
    lends for that turn. One step is in flight at a time. `abort` may be called from any thread.
    """

    def __init__(
        self,
        pool: WorkerPool,
        *,
        limits: SandboxLimits | None = None,
        os_handler: pydantic_monty.OsHandler | None = None,
    ) -> None:
        """Prepare a session; nothing is started before the first `feed`.

        Args:
            pool: Lends the workers.
            limits: `None` is the defaults of `SandboxLimits`.
            os_handler: Called in a thread of the pool. `None` refuses clock, randomness, environment and files.
        """
        self._pool = pool
        self._limits = limits or SandboxLimits()
        self._os_handler = os_handler
        self._lock = threading.RLock()
        self._monty: pydantic_monty.MontySession | None = None
        self._stored: bytes | None = None
        self._snapshot: Waiting | None = None
        self._mid_snippet = False
        self._snippet = Snippet(code='')
        self._switch = TurnSwitch()
        self._epoch = 0
        self._printed = Printed(self._switch.stop)
        self._feeds = 0
        self._lost = ''
        self._closing: deque[Callable[[], Callable[[], None]]] = deque()

    # -- driving -----------------------------------------------------------------------------------------------

    def feed(self, snippet: Snippet) -> Future[Step]:
        """Start a snippet; the future yields what it needs, or how it ended.

        A snippet that was left half-way is given up, and the variables with it.
        """
        epoch = self._switch.epoch
        return self._turn(lambda: self._feed_now(snippet, epoch))

    def advance(self, answers: Mapping[int, Answer]) -> Future[Step]:
        """Go on with the answers to some of the requests that the code is blocked on."""
        return self._turn(lambda: self._advance_now(answers))

    def abort(self) -> None:
        """End the snippet: the turn in flight at once, by killing its worker, and turns that wait before they start.

        Their steps fail with `ABORTED`.
        """
        self._switch.abort()

    def close(self) -> Future[None]:
        """Give up variables and worker; a turn in flight is aborted. Never blocks.

        Once the future is done, the session may be fed again and starts afresh.
        """
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()  # whoever waits may be cancelled, the closing is not

        def finish() -> Callable[[], None]:
            self._drop()
            self._pool.forget(self)
            return lambda: future.set_result(None)

        self.abort()
        if not self._pool.retire(self, finish):
            self._closing.append(finish)
            self._finish_closing()
        return future

    @property
    def printed(self) -> str:
        """What the current snippet printed so far."""
        return self._printed.read()

    # -- what the pool asks ------------------------------------------------------------------------------------

    @property
    def holds_worker(self) -> bool:
        """Whether a worker is attached that `set_aside` can free."""
        return self._monty is not None and not (self._mid_snippet and self._snippet.keeps_worker)

    def set_aside(self) -> None:
        """Store the state as bytes and free the worker; the next step takes it up again on any worker."""
        with self._lock:
            if self._monty is not None and self.holds_worker:
                try:
                    self._stored = self._snapshot.dump() if self._snapshot is not None else self._monty.dump()
                except (pydantic_monty.MontyError, RuntimeError) as error:
                    self._drop()
                    self._lost = f'the sandbox process ended while the session waited: {error}'
                else:
                    self._release()
        self._finish_closing()

    def store(self) -> Future[StoredSession]:
        """Store the session as data. It may go on afterwards, or be closed and taken up elsewhere by `restore`.

        The future raises `CannotBeStoredError` when the state is lost or half of it lives in the worker.
        """
        future: Future[StoredSession] = Future()
        future.set_running_or_notify_cancel()  # whoever waits may be cancelled, the storing is not

        def turn() -> Callable[[], None]:
            try:
                stored = self._stored_now()
            except BaseException as error:  # noqa: BLE001  whoever waits gets it
                return functools.partial(future.set_exception, error)
            return functools.partial(future.set_result, stored)

        self._pool.run(self, turn)
        return future

    def restore(self, stored: StoredSession, snippet: Snippet) -> None:
        """Become the session that was stored; the next step takes it up on a worker.

        Args:
            stored: From `store`, of this process or another.
            snippet: What waits half-way, with the functions and mounts that it has from now on.
        """
        with self._lock:
            self._drop()
            self._stored = stored.state
            self._mid_snippet = stored.is_mid_snippet
            self._feeds = stored.feeds
            self._snippet = snippet
            self._epoch = self._switch.epoch
            self._printed = Printed(self._switch.stop)
            self._printed('stdout', stored.printed)

    def _stored_now(self) -> StoredSession:
        with self._lock:
            if self._monty is not None and not self.holds_worker:
                raise CannotBeStoredError('what the code writes to an overlay mount lives only while its process does')
            self.set_aside()
            if self._lost:
                raise CannotBeStoredError(self._lost)
            return StoredSession(
                state=self._stored, is_mid_snippet=self._mid_snippet, feeds=self._feeds, printed=self._printed.read()
            )

    @property
    def stored_state(self) -> bytes | None:
        """The stored state while the session is set aside."""
        return self._stored

    # -- one turn, in a thread of the pool ---------------------------------------------------------------------

    def _turn(self, work: Callable[[], Step]) -> Future[Step]:
        future: Future[Step] = Future()

        def turn() -> Callable[[], None]:
            if not future.set_running_or_notify_cancel():
                return self._finish_closing
            settle = self._outcome(future, work)
            self._finish_closing()
            return settle

        self._pool.run(self, turn)
        return future

    def _outcome(self, future: Future[Step], work: Callable[[], Step]) -> Callable[[], None]:
        try:
            step = self._guarded(work)
        except BaseException as error:  # noqa: BLE001  the caller of the future gets it
            self._drop()
            return functools.partial(future.set_exception, error)
        return functools.partial(future.set_result, step)

    def _guarded(self, work: Callable[[], Step]) -> Step:
        with self._lock:
            try:
                step = work()
            except _AbortedError:
                step = self._lose(FailureKind.ABORTED, 'the run was cancelled')
            except _StateLostError as error:
                step = self._lose(FailureKind.CRASH, str(error))
            except pydantic_monty.MontyError as error:
                step = self._failed(error)
            except (PoolClosedError, ForkedError):
                raise
            except RuntimeError as error:  # Monty's word for a session that it has given up
                step = self._lose(FailureKind.CRASH, str(error))
            finally:
                self._switch.end()
            if self._printed.overflowed:
                step = self._lose(FailureKind.PRINTED, 'too much was printed')
            self._mid_snippet = isinstance(step, Needs)
            if not self._mid_snippet:
                self._snapshot = None
            return step

    def _finish_closing(self) -> None:
        """Do what `close` asked for, unless someone works on the session, who then does it."""
        while self._closing and self._lock.acquire(blocking=False):
            try:
                while self._closing:
                    self._closing.popleft()()()
            finally:
                self._lock.release()

    def _failed(self, error: pydantic_monty.MontyError) -> Step:
        if self._epoch != self._switch.epoch:
            return self._lose(FailureKind.ABORTED, 'the run was cancelled')
        failed = describe_error(error, current_file=self._file_name)
        if failed.session_lost:
            self._drop()
        return failed

    @property
    def _file_name(self) -> str:
        """What Monty calls the code that was fed last."""
        return f'<python-input-{self._feeds - 1}>'

    def _lose(self, kind: FailureKind, message: str) -> Failed:
        self._drop()
        return lost(kind, message)

    def _take_up(self) -> pydantic_monty.MontySession:
        """The session on a worker, with its state; from here on `abort` can end the turn."""
        if self._epoch != self._switch.epoch:
            raise _AbortedError
        if self._lost:
            raise _StateLostError(self._lost)
        monty = self._monty or self._open()
        if not self._switch.begin(self._epoch, monty.worker_pid):
            raise _AbortedError
        return monty

    def _open(self) -> pydantic_monty.MontySession:
        monty = self._pool.checkout(limits=self._limits.for_monty(), os_policy=_OS_POLICY).__enter__()
        self._monty = monty
        stored, self._stored = self._stored, None
        if stored is None:
            self._feeds = 0
            return monty
        try:
            self._restore(monty, stored)
        except (pydantic_monty.MontyError, RuntimeError) as error:
            raise _StateLostError(f'the stored session could not be taken up again: {error}') from error
        return monty

    def _restore(self, monty: pydantic_monty.MontySession, stored: bytes) -> None:
        if not self._mid_snippet:
            monty.load_session(stored)
            return
        snapshot = monty.load_snapshot(
            stored, mount=list(self._snippet.mounts), print_callback=self._printed, os=self._os_handler
        )
        self._snapshot = snapshot if isinstance(snapshot, (FunctionSnapshot, FutureSnapshot)) else None

    def _feed_now(self, snippet: Snippet, epoch: int) -> Step:
        if self._mid_snippet:
            self._drop()
        self._epoch = epoch
        self._printed = Printed(self._switch.stop)
        self._snippet = snippet
        monty = self._take_up()
        self._feeds += 1
        mounts = list(snippet.mounts)
        return self._drive(
            monty.feed_start(snippet.code, mount=mounts, print_callback=self._printed, os=self._os_handler)
        )

    def _advance_now(self, answers: Mapping[int, Answer]) -> Step:
        self._take_up()
        if self._snapshot is None:
            return self._lose(FailureKind.CRASH, 'the sandbox lost the state of this snippet')
        try:
            snapshot = resume(self._snapshot, answers)
        except pydantic_monty.MontyRuntimeError as error:
            snapshot = self._raise_instead(self._snapshot, answers, error)
        return self._drive(snapshot)

    def _raise_instead(
        self, snapshot: Waiting, answers: Mapping[int, Answer], error: pydantic_monty.MontyRuntimeError
    ) -> SyncSnapshot:
        """An answer that cannot cross is raised where the code waits; an error of the code itself goes on."""
        cannot_cross = Raised(TypeError(str(error)))
        try:
            return resume(snapshot, dict.fromkeys(answers, cannot_cross))
        except RuntimeError:  # the snapshot was resumed: the error is the code's
            raise error from None

    def _drive(self, snapshot: SyncSnapshot) -> Step:
        """Go on until the code has ended or can go no further, taking every call that it does not wait for."""
        calls = HostCalls(self._snippet, self._file_name)
        requests: list[Request] = []
        began, seconds = time.monotonic(), self._limits.max_duration_secs
        while not isinstance(snapshot, MontyComplete):
            # Monty counts the sandbox's time only, and what the host answers at once takes time too.
            if seconds is not None and time.monotonic() - began > seconds:
                return self._lose(FailureKind.TIME, 'the host answered for too long')
            if isinstance(snapshot, FutureSnapshot):
                if not snapshot.pending_call_ids:
                    return self._lose_to_a_dead_await()
                self._snapshot = snapshot
                return Needs(tuple(requests), frozenset(snapshot.pending_call_ids))
            if isinstance(snapshot, NameLookupSnapshot):
                snapshot = calls.look_up(snapshot)
                continue
            request = calls.request(snapshot)
            if isinstance(request, (Call, Sleep)):
                requests.append(request)
                if request.blocking:
                    self._snapshot = snapshot
                    return Needs(tuple(requests), frozenset({request.id}))
                snapshot = snapshot.resume(_PENDING)
            elif request is None:
                snapshot = snapshot.resume_auto()
            else:
                snapshot = snapshot.resume(external(request))
        return finished(snapshot)

    def _lose_to_a_dead_await(self) -> Failed:
        message = 'the code awaits a call that earlier code made and did not await; it was never started'
        self._drop()
        return Failed(FailureKind.ERROR, 'RuntimeError', message, session_lost=True)

    def _release(self) -> None:
        self._switch.end()
        if self._monty is not None:
            with suppress(pydantic_monty.MontyError, RuntimeError):
                self._monty.__exit__(None, None, None)
        self._monty = None
        self._snapshot = None

    def _drop(self) -> None:
        with self._lock:
            self._release()
            self._stored = None
            self._lost = ''
            self._mid_snippet = False
