"""What `run_code` returns for a snippet that ran to its end."""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import ToolReturn, UserContent, tool_return_ta

from pydantic_ai_harness.narrowing import is_list, is_mapping

from .dispatch import Media

_BEGINNING = 2_000
_MAX_SHAPE_DEPTH = 3
_MAX_SHAPE_KEYS = 20


def returned_value(value: object, printed: str, media: Media) -> object:
    """Value and printed text as the model gets them.

    Nothing printed: the value as it is, `{}` for `None`. Printed: `{'output': text}`, with `'result'` when there is a
    value. Media: the content itself, after the printed text.
    """
    content = _as_content(value, media)
    if content is not None:
        return [printed, *content] if printed else content if len(content) > 1 else content[0]
    if not printed:
        return {} if value is None else value
    return {'output': printed} if value is None else {'output': printed, 'result': value}


def with_metadata(value: object, metadata: dict[str, Any], extra_content: list[UserContent]) -> ToolReturn[Any]:
    """The tool return with what is for the application, and what nested tools addressed to the model."""
    return ToolReturn(return_value=value, metadata=metadata, content=extra_content or None)


def json_size(value: object) -> int:
    """Bytes of the value's JSON, as it would be sent."""
    return len(tool_return_ta.dump_json(value))


def too_large_value(value: object, size: int, limit: int, name: str | None) -> dict[str, object]:
    """What stands for a value over the limit: its shape, its beginning, and where all of it still is."""
    kept = (
        f'All of it is still in the variable `{name}`: go on with it in the next code.'
        if name
        else 'Assign it to a variable and return a part of it.'
    )
    return {
        'too_large': f'The result is {size:,} bytes of JSON, over the limit of {limit:,}, and was not sent. {kept}',
        'shape': shape(value),
        'beginning': tool_return_ta.dump_json(value)[:_BEGINNING].decode('utf-8', 'ignore'),
    }


def shape(value: object, depth: int = 0) -> object:
    """Types and sizes instead of values: `{'rows': ['list of 5000', {'id': 'int'}]}`."""
    if is_mapping(value):
        if depth >= _MAX_SHAPE_DEPTH:
            return f'dict of {len(value)}'
        shown = {str(key): shape(item, depth + 1) for key, item in list(value.items())[:_MAX_SHAPE_KEYS]}
        return {**shown, '...': f'{len(value) - len(shown)} more keys'} if len(value) > len(shown) else shown
    if is_list(value):
        return [f'list of {len(value)}', shape(value[0], depth + 1)] if value else 'empty list'
    if isinstance(value, (str, bytes)):
        return f'{type(value).__name__} of {len(value)}' if len(value) > _MAX_SHAPE_KEYS else type(value).__name__
    return type(value).__name__


def _as_content(value: object, media: Media) -> list[object] | None:
    """The value with its media restored when it is media, or a list that holds some; else `None`."""
    single = media.restore(value)
    if single is not None:
        return [single]
    if not is_list(value) or not media.by_identifier:
        return None
    restored = [(item, media.restore(item)) for item in value]
    if all(found is None for _, found in restored):
        return None
    return [item if found is None else found for item, found in restored]
