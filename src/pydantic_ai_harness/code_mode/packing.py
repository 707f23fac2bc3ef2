"""Values as JSON: those of the sandbox and back, and metadata of applications."""

from __future__ import annotations

import base64
import zlib
from typing import Annotated, Any

import pydantic_core
from pydantic import BeforeValidator, PlainSerializer

from pydantic_ai_harness.narrowing import is_list, is_text_mapping

_BYTES = '$bytes'
_INTEGER = '$int'
_MAX_INTEGER = 10**1000
"""JSON parsers refuse numbers of more than 4,300 digits."""
_ESCAPED = '$dict'


def pack(value: object) -> object:
    """A value of JSON types, integers of any size and `bytes` as JSON that every parser takes."""
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        return {_INTEGER: hex(value)}
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    if is_list(value):
        return [pack(item) for item in value]
    if is_text_mapping(value):
        packed = {key: pack(item) for key, item in value.items()}
        return {_ESCAPED: packed} if value.keys() & {_BYTES, _INTEGER, _ESCAPED} else packed
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
    if len(value) == 1 and isinstance(digits := value.get(_INTEGER), str):
        return int(digits, 16)
    escaped = value.get(_ESCAPED) if len(value) == 1 else None
    return {key: unpack(item) for key, item in (escaped if is_text_mapping(escaped) else value).items()}


def decompressed(value: str) -> bytes:
    """What was compressed.

    Raises:
        ValueError: It was not.
    """
    try:
        return zlib.decompress(base64.b64decode(value))
    except zlib.error as error:
        raise ValueError(str(error)) from error


def compressed(value: bytes) -> str:
    """Bytes as text."""
    return base64.b64encode(zlib.compress(value, 1)).decode()


PackedBytes = Annotated[
    bytes,
    BeforeValidator(lambda value: decompressed(value) if isinstance(value, str) else value),
    PlainSerializer(compressed, when_used='json'),
]
"""Compressed in JSON: a state of a few KB gets a third smaller, one with much text far more."""
