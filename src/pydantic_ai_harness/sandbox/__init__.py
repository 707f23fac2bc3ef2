"""The sandbox: sessions that are advanced with answers, on a shared pool of workers. Knows nothing of agents."""

from .checker import UNTYPED, Finding, TypeChecker
from .crossing import looked_up
from .limits import ResourceLimits, SandboxLimits
from .pool import PoolClosedError, WorkerPool, shared_pool
from .session import Session
from .snippet import Snippet
from .steps import (
    Answer,
    Call,
    Failed,
    FailureKind,
    Finished,
    Frame,
    FunctionKind,
    Needs,
    Raised,
    Request,
    Returned,
    Sleep,
    Step,
)
from .stored import SANDBOX_VERSION, CannotBeStoredError, StoredSession
from .values import CannotCrossError, from_sandbox, to_sandbox, without_surrogates

__all__ = [
    'SANDBOX_VERSION',
    'UNTYPED',
    'Answer',
    'Call',
    'CannotBeStoredError',
    'CannotCrossError',
    'Failed',
    'FailureKind',
    'Finding',
    'Finished',
    'Frame',
    'FunctionKind',
    'Needs',
    'PoolClosedError',
    'Raised',
    'Request',
    'ResourceLimits',
    'Returned',
    'SandboxLimits',
    'Session',
    'Sleep',
    'Snippet',
    'Step',
    'StoredSession',
    'TypeChecker',
    'WorkerPool',
    'from_sandbox',
    'looked_up',
    'shared_pool',
    'to_sandbox',
    'without_surrogates',
]
