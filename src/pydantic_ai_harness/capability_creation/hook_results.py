"""What a hook must return, checked at once: a `return` that was forgotten would fail later, far from its cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeGuard

from pydantic_ai.exceptions import RetryModelRequest, SkipModelRequest, SkipToolExecution, SkipToolValidation
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestContext, infer_model
from pydantic_ai.result import FinalResult
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import DeferredToolResults, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_graph import BaseNode, End

from pydantic_ai_harness.narrowing import is_list, is_text_mapping

from .guarded_toolset import check_can_be_sent


def _are_tools(value: object) -> bool:
    return is_list(value) and all(isinstance(tool, ToolDefinition) for tool in value)


def _names(tools: object) -> set[str]:
    return {tool.name for tool in tools if isinstance(tool, ToolDefinition)} if is_list(tools) else set()


def _is_sendable(value: object) -> bool:
    check_can_be_sent(value)
    return True


def _are_arguments(value: object) -> bool:
    return is_text_mapping(value)


def _is_next_node(value: object) -> bool:
    return isinstance(value, BaseNode) or (_is_end(value) and isinstance(value.data, FinalResult))


def _is_end(value: object) -> TypeGuard[End[object]]:
    return isinstance(value, End)


def _is_request(value: object) -> bool:
    return isinstance(value, ModelRequestContext) and bool(value.messages)


def _is_start_time(value: object) -> bool:
    return value is None or (isinstance(value, datetime) and value.tzinfo is not None)


def _are_answers(value: object) -> bool:
    if isinstance(value, DeferredToolResults):
        value.to_tool_call_results()  # refuses what is no answer
        return True
    return value is None


def _is_event(value: object) -> bool:
    return hasattr(value, 'event_kind')


def _of(*types: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, types)


_RETURNS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    'get_wrapper_toolset': ('a toolset or None', _of(AbstractToolset, type(None))),
    'get_wrapper_model': ('a model or None', _of(Model, type(None))),
    'get_run_start_time': ('a datetime with time zone, or None', _is_start_time),
    'resolve_model_id': ('a model or None', _of(Model, type(None))),
    'prepare_tools': ('the list of tool definitions', _are_tools),
    'prepare_output_tools': ('the list of tool definitions', _are_tools),
    'after_run': ('the result', _of(AgentRunResult)),
    'wrap_run': ('what its handler returns', _of(AgentRunResult)),
    'on_run_error': ('an AgentRunResult, or raise the error', _of(AgentRunResult)),
    'before_node_run': ('the node', _of(BaseNode)),
    'after_node_run': ('the result', _is_next_node),
    'wrap_node_run': ('what its handler returns', _is_next_node),
    'on_node_run_error': ('a node, or raise the error', _is_next_node),
    'wrap_run_event_stream': ('events', _is_event),
    'before_model_request': ('the request_context, with messages', _is_request),
    'prepare_model_request': ('the request_context, with messages', _is_request),
    'after_model_request': ('the response', _of(ModelResponse)),
    'wrap_model_request': ('what its handler returns', _of(ModelResponse)),
    'on_model_request_error': ('a ModelResponse, or raise the error', _of(ModelResponse)),
    'before_tool_validate': ('the args', _of(str, dict)),
    'after_tool_validate': ('the args', _are_arguments),
    'wrap_tool_validate': ('what its handler returns', _are_arguments),
    'on_tool_validate_error': ('arguments, or raise the error', _are_arguments),
    'before_tool_execute': ('the args', _are_arguments),
    'after_tool_execute': ('a result that can be sent to the model', _is_sendable),
    'wrap_tool_execute': ('a result that can be sent to the model', _is_sendable),
    'on_tool_execute_error': ('a result that can be sent to the model', _is_sendable),
    'before_output_validate': ('the output', _of(str, dict)),
    'handle_deferred_tool_calls': ('DeferredToolResults or None', _are_answers),
}
"""Hooks whose value the framework goes on with. The others may return anything."""


def check_result(hook: str, value: object, given: Sequence[object]) -> None:
    """Refuse what the framework could not go on with.

    Args:
        hook: Its name.
        value: What it returned.
        given: What it was called with, by position.

    Raises:
        TypeError: The hook returned something of another kind; often nothing at all.
    """
    if hook not in _RETURNS:
        return
    expected, is_usable = _RETURNS[hook]
    if not is_usable(value):
        returned = 'nothing (None)' if value is None else type(value).__name__
        raise TypeError(f'{hook} returned {returned}. It must return {expected}.')
    if hook.startswith('prepare_') and given and (new := _names(value) - _names(given[-1])):
        raise TypeError(f'{hook} returned tools that were not there, or renamed some: {", ".join(sorted(new))}.')


def is_complete(error: BaseException) -> bool:
    """Whether an exception that steers the framework holds what the framework would go on with."""
    try:
        match error:
            case SkipModelRequest():
                return _RETURNS['after_model_request'][1](error.response)
            case SkipToolValidation():
                return _are_arguments(error.validated_args)
            case SkipToolExecution():
                return _is_sendable(error.result)
            case RetryModelRequest():
                return error.model is None or isinstance(error.model, Model) or bool(infer_model(error.model))
            case _:
                return True
    except Exception:  # noqa: BLE001 - authored objects fail in any way
        return False
