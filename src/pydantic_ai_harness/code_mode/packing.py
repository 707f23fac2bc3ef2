"""Values as JSON: those of the sandbox and back, and metadata of applications."""

from __future__ import annotations

import base64
from typing import Any

import pydantic_core

from pydantic_ai_harness.narrowing import is_list, is_text_mapping

_BYTES = '$bytes'
_ESCAPED = '$dict'


def pack(value: object) -> object:
    """A value of JSON types and `bytes` as JSON types alone."""
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    if is_list(value):
        return [pack(item) for item in value]
    if is_text_mapping(value):
        packed = {key: pack(item) for key, item in value.items()}
        return {_ESCAPED: packed} if value.keys() & {_BYTES, _ESCAPED} else packed
    return value


def plain(value: object) -> Any:
    """Metadata for an application as JSON; what has no JSON becomes text."""
    try:
        return pydantic_core.to_jsonable_python(value, bytes_mode='base64', fallback=repr)
    except (ValueError, RecursionError):  # it refers to itself
        return repr(value)


def unpack(value: object) -> object:
    """What was packed."""
    if is_list(value):
        return [unpack(item) for item in value]
    if not is_text_mapping(value):
        return value
    if len(value) == 1 and isinstance(encoded := value.get(_BYTES), str):
        return base64.b64decode(encoded)
    escaped = value.get(_ESCAPED) if len(value) == 1 else None
    return {key: unpack(item) for key, item in (escaped if is_text_mapping(escaped) else value).items()}
