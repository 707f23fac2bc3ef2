"""Values that cross between host and sandbox, in the JSON shape that signatures promise."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import PurePath

import pydantic
import pydantic_core
import pydantic_monty

from pydantic_ai_harness.errors import HarnessError
from pydantic_ai_harness.narrowing import is_collection, is_mapping

_MAX_DEPTH = 150  # JSON parsers end at 200, with all that stands around a value
_MAX_PATH = 80
_SCALARS = (str, int, float, bool, type(None), bytes)


class CannotCrossError(HarnessError, TypeError):
    """A value has no JSON shape."""

    def __init__(self, what: str, path: str, reason: str = '') -> None:
        self.what = what
        """What the value is, with its article: 'a function'."""
        self.path = path = path if len(path) <= _MAX_PATH else f'{path[:_MAX_PATH]}...'
        """Where it stands in the whole value, as code: `['rows'][0]`; empty for the value itself."""
        self.reason = reason
        super().__init__(f'{what}{f" at {path}" if path else ""} cannot be passed on{f": {reason}" if reason else ""}')


def to_sandbox(value: object, *, replace: Callable[[object], object] | None = None) -> object:
    """Turn what a tool returned into what its signature promises: JSON types, and `bytes` as they are.

    Args:
        value: What the tool returned.
        replace: Sees each object that is no JSON type and may give another for it.

    Raises:
        CannotCrossError: The value has no JSON shape, refers to itself, or two of its keys become one text.
    """
    if replace is None:
        return _convert(value, '', 0, _host_leaf)

    def leaf(value: object, path: str) -> object:
        replacement = replace(value)
        return _host_leaf(value, path) if replacement is value else replacement

    return _convert(value, '', 0, leaf)


def from_sandbox(value: object) -> object:
    """Turn a sandbox value into JSON types, and `bytes` as they are.

    Tuples and sets become lists, dates ISO text, keys text, dataclass instances dicts.

    Raises:
        CannotCrossError: The value is a class, a function, an instance or the like.
    """
    return _convert(value, '', 0, _sandbox_leaf)


def _convert(value: object, path: str, depth: int, leaf: Callable[[object, str], object]) -> object:
    if type(value) in _SCALARS:
        return without_surrogates(value) if type(value) is str else value
    if depth > _MAX_DEPTH:
        raise CannotCrossError('a value nested this deeply', path, f'more than {_MAX_DEPTH} levels, or a cycle')
    if is_mapping(value):
        return _convert_dict(value, path, depth, leaf)
    if is_collection(value):
        return [_convert(item, f'{path}[{index}]', depth + 1, leaf) for index, item in enumerate(value)]
    replacement = leaf(value, path)
    return replacement if type(replacement) in _SCALARS else _convert(replacement, path, depth + 1, leaf)


def _convert_dict(
    value: Mapping[object, object], path: str, depth: int, leaf: Callable[[object, str], object]
) -> dict[str, object]:
    converted: dict[str, object] = {}
    for key, item in value.items():
        text = without_surrogates(key) if type(key) is str else _key_text(key, path)
        if text in converted:
            raise CannotCrossError(f'a dict with two keys that both become {text!r}', path, 'keys are sent as text')
        converted[text] = _convert(item, f'{path}[{text!r}]', depth + 1, leaf)
    return converted


def _key_text(key: object, path: str) -> str:
    try:
        (text,) = pydantic_core.to_jsonable_python({key: None}, serialize_unknown=False)
    except (pydantic_core.PydanticSerializationError, ValueError) as error:
        raise CannotCrossError(f'a dict key of type {type(key).__name__}', path, 'keys are sent as text') from error
    return str(text)


def without_surrogates(text: str) -> str:
    """Halves of surrogate pairs are no text outside of Python."""
    return text if text.isascii() else text.encode('utf-8', 'replace').decode()


def _host_leaf(value: object, path: str) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and not hasattr(value, '__pydantic_fields__'):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    try:
        jsonable: object = pydantic_core.to_jsonable_python(value, bytes_mode='base64', inf_nan_mode='constants')
    except (pydantic_core.PydanticSerializationError, ValueError, RecursionError) as error:
        if isinstance(value, pydantic.BaseModel):  # its bytes may be no text
            return value.model_dump(by_alias=True)
        raise CannotCrossError(f'an object of type {type(value).__name__}', path) from error
    if type(jsonable) is type(value):
        raise CannotCrossError(f'an object of type {type(value).__name__}', path)
    return jsonable


def _sandbox_leaf(value: object, path: str) -> object:
    if isinstance(value, pydantic_monty.MontyClassProxy):
        if value.is_dataclass:
            return value.attributes
        raise CannotCrossError(f'an instance of the class {value.name!r}', path)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (type, pydantic_monty.MontyClassTypeProxy)):
        name = value.__name__ if isinstance(value, type) else value.name
        raise CannotCrossError(f'the class {name!r}', path)
    if isinstance(value, pydantic_monty.MontyStdTypeProxy):
        raise CannotCrossError(f'the {value.kind} {value.name!r}', path)
    if isinstance(value, BaseException):
        raise CannotCrossError(f'an exception ({type(value).__name__}: {value})', path)
    if callable(value):
        raise CannotCrossError(f'the function {getattr(value, "__name__", value)!r}', path)
    return _host_leaf(value, path)
