"""What a hook must return, checked at once: a `return` that was forgotten would fail later, far from its cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import DeferredToolResults, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_graph import BaseNode, End

from pydantic_ai_harness.narrowing import is_list, is_text_mapping

from .guarded_toolset import check_can_be_sent


def _is_tool_list(value: object) -> bool:
    return is_list(value) and all(isinstance(item, ToolDefinition) for item in value)


def _is_sendable(value: object) -> bool:
    check_can_be_sent(value)
    return True


def _of(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types)


_RETURNS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    'for_agent': ('a capability, such as `self`', _of(AbstractCapability)),
    'for_run': ('a capability, such as `self`', _of(AbstractCapability)),
    'get_wrapper_toolset': ('a toolset or None', _of(AbstractToolset, type(None))),
    'get_wrapper_model': ('a model or None', _of(Model, type(None))),
    'resolve_model_id': ('a model or None', _of(Model, type(None))),
    'prepare_tools': ('the list of tool definitions', _is_tool_list),
    'prepare_output_tools': ('the list of tool definitions', _is_tool_list),
    'after_run': ('the result', _of(AgentRunResult)),
    'wrap_run': ('what its handler returns', _of(AgentRunResult)),
    'on_run_error': ('an AgentRunResult, or raise the error', _of(AgentRunResult)),
    'before_node_run': ('the node', _of(BaseNode)),
    'after_node_run': ('the result', _of(BaseNode, End)),
    'wrap_node_run': ('what its handler returns', _of(BaseNode, End)),
    'on_node_run_error': ('a node, or raise the error', _of(BaseNode, End)),
    'before_model_request': ('the request_context', _of(ModelRequestContext)),
    'prepare_model_request': ('the request_context', _of(ModelRequestContext)),
    'after_model_request': ('the response', _of(ModelResponse)),
    'wrap_model_request': ('what its handler returns', _of(ModelResponse)),
    'on_model_request_error': ('a ModelResponse, or raise the error', _of(ModelResponse)),
    'before_tool_validate': ('the args', _of(str, dict)),
    'after_tool_validate': ('the args', is_text_mapping),
    'wrap_tool_validate': ('what its handler returns', is_text_mapping),
    'on_tool_validate_error': ('arguments, or raise the error', is_text_mapping),
    'before_tool_execute': ('the args', is_text_mapping),
    'after_tool_execute': ('a result that can be sent to the model', _is_sendable),
    'wrap_tool_execute': ('a result that can be sent to the model', _is_sendable),
    'on_tool_execute_error': ('a result that can be sent to the model', _is_sendable),
    'before_output_validate': ('the output', _of(str, dict)),
    'handle_deferred_tool_calls': ('DeferredToolResults or None', _of(DeferredToolResults, type(None))),
}
"""Hooks whose value the framework goes on with. The others may return anything."""


def check_result(hook: str, value: object) -> None:
    """Refuse what the framework could not go on with.

    Raises:
        TypeError: The hook returned something of another kind; often nothing at all.
    """
    if hook not in _RETURNS:
        return
    expected, is_usable = _RETURNS[hook]
    if not is_usable(value):
        returned = 'nothing (None)' if value is None else type(value).__name__
        raise TypeError(f'{hook} returned {returned}. It must return {expected}.')
