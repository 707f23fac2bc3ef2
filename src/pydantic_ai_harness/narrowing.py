"""Questions about values of unknown type, which the type checker understands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard


def is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    """Whether the value is a dict or the like."""
    return isinstance(value, Mapping)


def is_text_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether the value is a dict or the like whose keys are text, as in JSON (the keys are not looked at)."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether the value is a list."""
    return isinstance(value, list)


def is_collection(value: object) -> TypeGuard[Sequence[object] | set[object] | frozenset[object]]:
    """Whether the value is a list, tuple or set."""
    return isinstance(value, (list, tuple, set, frozenset))


def is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Whether the value is a list or tuple."""
    return isinstance(value, (list, tuple))


def is_count(value: object, *, least: int) -> bool:
    """Whether the value is a whole number, and large enough."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def selects_tools(value: object) -> bool:
    """Whether the value is a metadata dict, a predicate or a list of names, as the framework takes them for tools."""
    names = is_collection(value) and all(isinstance(name, str) for name in value)
    return names or isinstance(value, dict) or callable(value)
