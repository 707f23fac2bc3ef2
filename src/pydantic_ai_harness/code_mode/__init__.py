"""Code mode: the agent's tools as Python functions inside one sandboxed tool, `run_code`."""

from importlib.util import find_spec

if find_spec('pydantic_monty') is None:
    raise ImportError('Code mode needs the Monty sandbox. Install it: pip install "pydantic-ai-harness[codemode]"')

from pydantic_ai_harness.sandbox import ResourceLimits, WorkerPool

from .capability import CodeMode, OsAccess
from .events import NestedToolCallEvent, NestedToolResultEvent
from .file_state_store import FileStateStore
from .pausing import AnswerError, PausedCall, paused_calls, resume_with
from .run_state import StateStoreWarning
from .state_store import MemoryStateStore, StateStore, StateUnavailableError
from .toolset import CodeModeToolset, MissingReturnSchemaWarning

__all__ = [
    'AnswerError',
    'CodeMode',
    'CodeModeToolset',
    'FileStateStore',
    'MemoryStateStore',
    'MissingReturnSchemaWarning',
    'NestedToolCallEvent',
    'NestedToolResultEvent',
    'OsAccess',
    'PausedCall',
    'ResourceLimits',
    'StateStore',
    'StateStoreWarning',
    'StateUnavailableError',
    'WorkerPool',
    'paused_calls',
    'resume_with',
]
