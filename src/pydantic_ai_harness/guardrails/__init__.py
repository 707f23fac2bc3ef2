"""Guardrails: functions of yours that judge tool calls before they run, and results before the model reads them."""

from .guard import ResultGuard, ToolGuard
from .guardrail import ToolGuardrail
from .names import UnknownToolNameWarning
from .result import GuardrailResult, ToolCallInfo, ToolResultInfo

__all__ = [
    'GuardrailResult',
    'ResultGuard',
    'ToolCallInfo',
    'ToolGuard',
    'ToolGuardrail',
    'ToolResultInfo',
    'UnknownToolNameWarning',
]
