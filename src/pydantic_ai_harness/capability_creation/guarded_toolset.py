"""Toolsets of loaded capabilities, behind a guard: whatever they do, the run goes on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeGuard, TypeVar

from pydantic import ValidationError
from pydantic_ai import InstructionPart
from pydantic_ai.exceptions import ModelRetry, ToolFailed, UserError
from pydantic_ai.messages import ToolReturn, tool_return_ta
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ToolsetTool, WrapperToolset

from pydantic_ai_harness.narrowing import is_mapping

from . import prompt
from .hooks import ENDS_RUNS, TOOL_CONTROL
from .monitor import Monitor

T = TypeVar('T')
Instructions = str | InstructionPart | Sequence[str | InstructionPart] | None

_TOOL_NAME = re.compile(r'[a-zA-Z0-9_-]{1,64}')


@dataclass
class GuardedToolset(WrapperToolset[Any]):
    """An authored toolset. Where it fails it offers nothing; where one of its tools fails, that call has failed.

    What its tools say to the model (retries, failures, deferrals) is said as ever.
    """

    monitor: Monitor
    hidden: bool = False
    """Whether it offers no tools for the rest of the run."""

    @property
    def label(self) -> str:
        """See `AbstractToolset.label`."""
        return f'the toolset of the authored capability {self.monitor.name!r}'

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """See `AbstractToolset.for_run`."""
        return await self._attempt('for_run', super().for_run(ctx), self, check_wrapper)

    async def for_run_step(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        """See `AbstractToolset.for_run_step`."""
        return await self._attempt('for_run_step', super().for_run_step(ctx), self, check_wrapper)

    async def __aenter__(self) -> Self:
        entered = await self._attempt('__aenter__', super().__aenter__(), None)
        self.hidden = self.hidden or entered is None
        return self

    async def __aexit__(self, *args: object) -> bool | None:
        if not self.hidden:
            await self._attempt('__aexit__', super().__aexit__(*args), None)

    async def get_instructions(self, ctx: RunContext[Any]) -> Instructions:
        """See `AbstractToolset.get_instructions`."""
        return await self._attempt('get_instructions', super().get_instructions(ctx), None)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """See `AbstractToolset.get_tools`."""
        if self.hidden:
            return {}
        found = await self._attempt('get_tools', super().get_tools(ctx), dict[str, ToolsetTool[Any]](), check_tools)
        return {name: self._guard_validation(tool) for name, tool in found.items() if self._is_usable(name, tool)}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> object:
        """See `AbstractToolset.call_tool`."""
        try:
            result: object = await super().call_tool(name, tool_args, ctx, tool)
            check_can_be_sent(result)
            return result
        except (ModelRetry, ValidationError) as error:
            _raise_unless_last(error, ctx)
            raise
        except BaseException as error:
            raise self._failed_call(name, error) from error

    def _guard_validation(self, tool: ToolsetTool[Any]) -> ToolsetTool[Any]:
        name = tool.tool_def.name
        guarded = replace(
            tool, toolset=self, args_validator=_GuardedValidator(tool.args_validator, self._failed_call, name)
        )
        if (validate := tool.args_validator_func) is None:
            return guarded

        async def validated(ctx: RunContext[Any], /, **args: object) -> None:
            try:
                pending: object = validate(ctx, **args)
                if inspect.isawaitable(pending):
                    await pending
            except (ModelRetry, ValidationError) as error:
                _raise_unless_last(error, ctx)
                raise
            except BaseException as error:
                raise self._failed_call(name, error) from error

        return replace(guarded, args_validator_func=validated)

    def _is_usable(self, name: str, tool: ToolsetTool[Any]) -> bool:
        problem = None
        if not _TOOL_NAME.fullmatch(name):
            problem = 'models accept letters, digits, `_` and `-` in the name of a tool, at most 64'
        elif tool.tool_def.kind == 'output':
            problem = 'only the agent itself has output tools'
        if problem is not None:
            self.monitor.contain('a tool', UserError(f'The tool {name!r} is left out: {problem}.'))
        return problem is None

    def _failed_call(self, tool: str, error: BaseException) -> ToolFailed:
        failure = self.monitor.contain(f'tool {tool}', error, (*ENDS_RUNS, *TOOL_CONTROL))
        return ToolFailed(prompt.failed_tool(tool, self.monitor.name, failure))

    async def _attempt(
        self, method: str, attempt: Awaitable[T], default: T, check: Callable[[object], None] | None = None
    ) -> T:
        try:
            result = await attempt
            if check is not None:
                check(result)
            return result
        except BaseException as error:  # noqa: BLE001 - `contain` raises what is not to be contained
            self.monitor.contain(f'{method} of its toolset', error)
            return default


class _GuardedValidator:
    """Validates arguments; what authored validators raise besides a validation error fails the call, not the run."""

    def __init__(self, validator: Any, failed_call: Callable[[str, BaseException], ToolFailed], tool: str) -> None:
        self._validator = validator
        self._failed_call = failed_call
        self._tool = tool

    def validate_json(self, input: str | bytes | bytearray, **kwargs: Any) -> Any:  # noqa: A002 - Pydantic's name
        return self._validated(self._validator.validate_json, input, kwargs)

    def validate_python(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002 - Pydantic's name
        return self._validated(self._validator.validate_python, input, kwargs)

    def _validated(self, validate: Callable[..., Any], value: object, kwargs: dict[str, Any]) -> Any:
        try:
            return validate(value, **kwargs)
        except (ModelRetry, ValidationError):
            raise
        except BaseException as error:
            raise self._failed_call(self._tool, error) from error


def _raise_unless_last(error: ModelRetry | ValidationError, ctx: RunContext[Any]) -> None:
    """Raise a failure in place of one more retry than there may be, which would end the run."""
    if ctx.last_attempt:
        raise ToolFailed(error.message if isinstance(error, ModelRetry) else str(error)) from error


def check_wrapper(value: object) -> None:
    """Refuse a guard that has come to wrap something else than a toolset.

    Raises:
        TypeError: It is so.
    """
    wrapped: object = getattr(value, 'wrapped', value)
    if not is_toolset(wrapped):
        raise TypeError(f'It returned {type(wrapped).__name__} in place of a toolset.')


def check_tools(value: object) -> None:
    """Refuse what are no tools by their names.

    Raises:
        TypeError: It is something else.
    """
    if not is_mapping(value) or not all(isinstance(tool, ToolsetTool) for tool in value.values()):
        raise TypeError('It must return a dict of ToolsetTool by name.')


def is_toolset(value: object) -> TypeGuard[AbstractToolset[Any]]:
    """Whether it is a toolset."""
    return isinstance(value, AbstractToolset)


def check_can_be_sent(result: object) -> None:
    """Refuse what cannot be turned into a message, which would end the run later.

    Raises:
        TypeError: A part of the result is neither JSON nor media.
    """
    sent = (result.return_value, result.content) if isinstance(result, ToolReturn) else result
    try:
        tool_return_ta.dump_json(sent)
    except Exception as error:  # noqa: BLE001 - authored objects fail in any way
        raise TypeError(f'The result cannot be sent to the model: {error}') from None


@dataclass
class NameConflictGuard(WrapperToolset[Any]):
    """Leaves out authored tools that have the name of another tool, which would end every run."""

    @classmethod
    def around(cls, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """The toolset with such a guard; one is enough for all authored capabilities."""
        inner = toolset
        while isinstance(inner, WrapperToolset):
            if isinstance(inner, NameConflictGuard):
                return toolset
            inner = inner.wrapped
        return cls(toolset)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """See `AbstractToolset.get_tools`."""
        try:
            return await super().get_tools(ctx)
        except UserError as error:
            authored = [toolset for toolset in _guarded_toolsets(self.wrapped) if not toolset.hidden]
            if not await self._is_well_without(authored, ctx):
                raise
            await self._find_conflicts(authored, error, ctx)
            return await super().get_tools(ctx)

    async def _is_well_without(self, authored: Sequence[GuardedToolset], ctx: RunContext[Any]) -> bool:
        _hide(authored, hidden=True)
        try:
            await super().get_tools(ctx)
        except UserError:
            _hide(authored, hidden=False)
            return False
        return bool(authored)

    async def _find_conflicts(self, authored: Sequence[GuardedToolset], error: UserError, ctx: RunContext[Any]) -> None:
        for toolset in authored:
            toolset.hidden = False
            try:
                await super().get_tools(ctx)
            except UserError as conflict:
                toolset.hidden = True
                toolset.monitor.contain('its tools', conflict)


def _hide(toolsets: Sequence[GuardedToolset], *, hidden: bool) -> None:
    for toolset in toolsets:
        toolset.hidden = hidden


def _guarded_toolsets(toolset: AbstractToolset[Any]) -> Generator[GuardedToolset]:
    if isinstance(toolset, GuardedToolset):
        yield toolset
    elif isinstance(toolset, WrapperToolset):
        yield from _guarded_toolsets(toolset.wrapped)
    elif isinstance(toolset, CombinedToolset):
        for each in toolset.toolsets:
            yield from _guarded_toolsets(each)
