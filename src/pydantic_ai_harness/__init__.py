"""Capabilities for Pydantic AI agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .errors import (
    CapabilityNameError,
    CapabilityRefusedError,
    ConfigurationError,
    HarnessError,
    ToolNameConflictError,
    UnknownCapabilityError,
)

if TYPE_CHECKING:
    from .capability_creation import AuthoredCapability, CapabilityCreation, CapabilityStore
    from .code_mode import CodeMode
    from .guardrails import GuardrailResult, ToolGuardrail
    from .sandbox import WorkerPool

__all__ = [
    'AuthoredCapability',
    'CapabilityCreation',
    'CapabilityNameError',
    'CapabilityRefusedError',
    'CapabilityStore',
    'CodeMode',
    'ConfigurationError',
    'GuardrailResult',
    'HarnessError',
    'ToolGuardrail',
    'ToolNameConflictError',
    'UnknownCapabilityError',
    'WorkerPool',
]

# Loaded when first used: code mode needs an extra, and importing the package must not.
_LAZY = {
    'AuthoredCapability': 'capability_creation',
    'CapabilityCreation': 'capability_creation',
    'CapabilityStore': 'capability_creation',
    'CodeMode': 'code_mode',
    'GuardrailResult': 'guardrails',
    'ToolGuardrail': 'guardrails',
    'WorkerPool': 'code_mode',
}


def __getattr__(name: str) -> object:
    if (module := _LAZY.get(name)) is None:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{module}'), name)
