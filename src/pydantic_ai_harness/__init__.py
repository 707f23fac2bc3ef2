"""Capabilities for Pydantic AI agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .errors import ConfigurationError, HarnessError, ToolNameConflictError

if TYPE_CHECKING:
    from .code_mode import CodeMode
    from .sandbox import WorkerPool

__all__ = ['CodeMode', 'ConfigurationError', 'HarnessError', 'ToolNameConflictError', 'WorkerPool']

# Loaded when first used: code mode needs an extra, and importing the package must not.
_LAZY = {'CodeMode': 'code_mode', 'WorkerPool': 'code_mode'}


def __getattr__(name: str) -> object:
    if (module := _LAZY.get(name)) is None:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{module}'), name)
