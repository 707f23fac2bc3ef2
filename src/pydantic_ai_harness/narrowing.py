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
