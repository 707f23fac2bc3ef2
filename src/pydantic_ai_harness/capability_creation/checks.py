"""Whether an agent can use what an authored capability is made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic_ai import InstructionPart, TemplateStr
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from pydantic_ai_harness.errors import CapabilityRefusedError
from pydantic_ai_harness.narrowing import is_mapping, is_sequence

from . import own_code, prompt
from .hooks import HOOKS, RESERVED, Hook, overridden_in

T = TypeVar('T')


@dataclass(frozen=True)
class Contribution:
    """What one getter may return."""

    getter: str
    expected: str
    """In words, for whoever returned something else."""
    is_usable: Callable[[object], bool]
    items: Literal['no', 'also', 'only'] = 'no'
    """Whether it may be a list or tuple of those, or must be."""

    def check(self, value: object) -> None:
        """Refuse a value that the agent cannot use.

        Raises:
            TypeError: It is of another kind; the text says which, and where in a list.
        """
        if inspect.isawaitable(value):
            _close(value)
            raise TypeError(f'{self.getter} must be a plain `def`, not `async def`.')
        if self.items == 'only' and not is_sequence(value):
            raise TypeError(f'{self.getter} returned {_kind(value)}. It must return a list: {self.expected}.')
        if not (self.items != 'no' and is_sequence(value)):
            if value is not None and not self.is_usable(value):
                raise TypeError(f'{self.getter} returned {_kind(value)}. It may return {self.expected}, or None.')
            return
        for number, item in enumerate(value):
            if not self.is_usable(item):
                raise TypeError(f'{self.getter} returned a list whose item {number} is {_kind(item)}: {self.expected}.')


def is_instruction(value: object) -> bool:
    """Whether it is text for the model, or makes it."""
    return isinstance(value, (str, InstructionPart, TemplateStr)) or (callable(value) and _has_signature(value))


def is_native_tool(value: object) -> bool:
    """Whether it is a provider's tool, or makes one."""
    return isinstance(value, AbstractNativeTool) or (callable(value) and not isinstance(value, type))


def is_model_settings(value: object) -> bool:
    """Whether it is a dict of settings, or makes one."""
    if callable(value):
        return not inspect.iscoroutinefunction(value)
    return is_mapping(value) and all(isinstance(key, str) for key in value)


def is_toolset(value: object) -> bool:
    """Whether it is a toolset, or makes one."""
    return isinstance(value, AbstractToolset) or (callable(value) and not isinstance(value, type))


def is_description(value: object) -> bool:
    """Whether it is text, or makes it."""
    return isinstance(value, str) or callable(value)


CONTRIBUTIONS = {
    contribution.getter: contribution
    for contribution in (
        Contribution('get_instructions', 'a str or a function that returns one', is_instruction, items='also'),
        Contribution('get_toolset', 'a toolset, such as FunctionToolset(...), or a function for one', is_toolset),
        Contribution('get_native_tools', 'native tools, such as WebSearchTool()', is_native_tool, items='only'),
        Contribution('get_model_settings', 'a dict of model settings or a plain function for one', is_model_settings),
        Contribution('get_description', 'a str or a function that returns one', is_description),
        Contribution('get_ordering', 'a CapabilityOrdering', lambda value: isinstance(value, CapabilityOrdering)),
        Contribution('get_serialization_name', 'a str', lambda value: isinstance(value, str)),
    )
}
"""What is asked of every capability when it is checked, in that order."""

LOADED_ID_PREFIX = 'authored_'
"""How the ids start under which authored capabilities are known to a run."""

_ATTRIBUTES: Mapping[str, tuple[type, ...]] = {
    'id': (str, type(None)),
    'description': (str, type(None)),
    'defer_loading': (bool,),
}


def check_instance(capability: AbstractCapability[object]) -> None:
    """Call the getters and look at what they return. No hook is run.

    Raises:
        CapabilityRefusedError: The agent could not use it; the text says which part, and how it should be.
    """
    for attribute, allowed in _ATTRIBUTES.items():
        value = _asked(attribute, lambda attribute=attribute: getattr(capability, attribute))
        if not isinstance(value, allowed):
            raise CapabilityRefusedError(prompt.bad_attribute(attribute, _kind(value), allowed[0].__name__))
    if (capability.id or '').startswith(LOADED_ID_PREFIX) or ':' in (capability.id or ''):
        raise CapabilityRefusedError(prompt.bad_id(capability.id or ''))
    for getter, contribution in CONTRIBUTIONS.items():
        _asked(getter, lambda getter=getter, check=contribution.check: check(getattr(capability, getter)()))


def _asked(name: str, ask: Callable[[], T]) -> T:
    try:
        return ask()
    except (KeyboardInterrupt, CapabilityRefusedError):
        raise
    except BaseException as error:
        raise CapabilityRefusedError(prompt.getter_failed(name, own_code.explain(error))) from error


def hints(capability: AbstractCapability[object]) -> tuple[str, ...]:
    """What the capability may do, but was probably not meant to."""
    found: list[str] = []
    if not overridden_in(capability):
        own = [name for name, member in vars(type(capability)).items() if inspect.isfunction(member)]
        found.append(prompt.overrides_nothing([name for name in own if not name.startswith('_')]))
    ordering = capability.get_ordering()
    if ordering is not None and (ordering.position != 'outermost' or ordering.wraps or ordering.wrapped_by):
        found.append(prompt.ORDERING_IGNORED)
    return tuple(found)


def static_tool_names(capability: AbstractCapability[object]) -> list[str]:
    """The names of the tools that are known without a run."""
    toolset: object = capability.get_toolset()
    names = list(toolset.tools) if isinstance(toolset, FunctionToolset) else []
    return [name.encode('utf-8', 'backslashreplace').decode() for name in names]


def check_class(cls: type[AbstractCapability[object]]) -> None:
    """Look at how the methods of an authored class, and of its authored bases, are written.

    Raises:
        CapabilityRefusedError: The agent could not call one of them, or it takes the place of the framework's own.
    """
    if type(cls) is not type(AbstractCapability):
        # It would answer every question of the process whether something is a capability.
        raise CapabilityRefusedError(prompt.has_metaclass(type(cls).__name__))
    for each in cls.__mro__:
        if each.__module__ != cls.__module__:
            continue
        for name, member in vars(each).items():
            _check_member(name, member)


def _check_member(name: str, member: object) -> None:
    is_private = name.startswith('_') and not name.startswith('__') and name != '_abc_impl'
    if name in RESERVED or (is_private and hasattr(AbstractCapability, name)):
        raise CapabilityRefusedError(prompt.reserved(name))
    if name in _ATTRIBUTES and isinstance(member, property):
        raise CapabilityRefusedError(prompt.bad_attribute(name, 'a property', 'plain attribute'))
    if name in HOOKS:
        _check_hook(HOOKS[name], member)


def _check_hook(hook: Hook, member: object) -> None:
    if not inspect.isfunction(member):
        if not callable(member) and not hasattr(member, '__get__'):
            raise CapabilityRefusedError(prompt.bad_hook(hook.name, None, 'it is no method', _header(hook)))
        return
    problem = _shape_problem(hook, member) or _signature_problem(hook, member)
    if problem is not None:
        raise CapabilityRefusedError(prompt.bad_hook(hook.name, member.__code__.co_firstlineno, problem, _header(hook)))


def _shape_problem(hook: Hook, member: Callable[..., object]) -> str | None:
    is_generator = inspect.isasyncgenfunction(member)
    is_async = inspect.iscoroutinefunction(member)
    match hook.kind:
        case 'async' if not is_async:
            return 'it must be `async def`, without `yield`'
        case 'stream' if is_async:
            return 'it must `yield` the events of `stream`'
        case 'sync' if is_async or is_generator:
            return 'it must be a plain `def`'
        case _:
            return None


def _signature_problem(hook: Hook, member: Callable[..., object]) -> str | None:
    parameters = hook.signature.parameters.values()
    given_by_name = {each.name: None for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}
    given_by_position = [None for each in parameters if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    try:
        inspect.signature(member).bind(*given_by_position, **given_by_name)
    except (TypeError, ValueError) as error:
        return f'it cannot be called as the agent does ({error})'
    return None


def _header(hook: Hook) -> str:
    names: list[str] = []
    for parameter in hook.signature.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and '*' not in names:
            names.append('*')
        names.append(parameter.name)
    keyword = 'def' if hook.kind == 'sync' else 'async def'
    return f'{keyword} {hook.name}({", ".join(names)})'


def _kind(value: object) -> str:
    text = own_code.shortened(repr, value)
    return f'{text} ({type(value).__name__})'


def _has_signature(function: Callable[..., object]) -> bool:
    """Whether it can be told how to call it, which it cannot of some builtins."""
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        return False
    return True


def _close(value: object) -> None:
    if inspect.iscoroutine(value):
        value.close()
