"""The sandbox: sessions that are advanced with answers, on a shared pool of workers. Knows nothing of agents."""

from .checker import UNTYPED, Finding, TypeChecker
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
from .values import CannotCrossError, from_sandbox, to_sandbox

__all__ = [
    'UNTYPED',
    'Answer',
    'Call',
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
    'TypeChecker',
    'WorkerPool',
    'from_sandbox',
    'shared_pool',
    'to_sandbox',
]
