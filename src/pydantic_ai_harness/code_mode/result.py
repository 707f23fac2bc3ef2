"""What `run_code` returns for a snippet that ran to its end."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai.messages import tool_return_ta

from pydantic_ai_harness.narrowing import is_list, is_mapping

from .media import Media, References

_BEGINNING = 2_000
_MAX_SHAPE_DEPTH = 3
_MAX_SHAPE_KEYS = 20


@dataclass(frozen=True)
class Result:
    """The value of a snippet and what it printed."""

    value: object
    printed: str
    media: Media
    max_bytes: int | None
    """Of the value's JSON, and of the printed text. `None` is no limit."""
    name: str | None
    """The variable that holds the value."""

    def for_model(self) -> object:
        """What the model gets.

        Nothing printed: the value as it is, `{}` for `None`. Printed: `{'output': text}`, with `'result'` when there is
        a value. Media: the content itself, after the printed text. Media inside a dict come after it, and it names them
        by their identifiers.
        """
        printed = self._printed_that_fits()
        content = self._content()
        if content is not None:
            return [printed, *content] if printed else content if len(content) > 1 else content[0]
        value = self._value_that_fits(self.value)
        if not printed:
            return {} if value is None else value
        return {'output': printed} if value is None else {'output': printed, 'result': value}

    def _content(self) -> list[object] | None:
        """The value with its media beside the data that hold them; `None` if it has none."""
        if not self.media.kept:
            return None
        references = References(self.media)
        items = self.value if is_list(self.value) else [self.value]
        content: list[object] = []
        parts: list[object] = []
        for item in items:
            known = len(references.found)
            parts.append(references.without_data(item))
            if (only := references.only(item)) is not None:
                content.append(only)
            else:
                content += [parts[-1], *list(references.found.values())[known:]]
        if not references.found:
            return None
        data = parts if is_list(self.value) else parts[0]
        fitting = self._value_that_fits(data)
        return content if fitting is data else [fitting, *references.found.values()]

    def _value_that_fits(self, value: object) -> object:
        size = 0 if self.max_bytes is None else json_size(value)
        if self.max_bytes is None or size <= self.max_bytes:
            return value
        return too_large_value(value, size, self.max_bytes, self.name)

    def _printed_that_fits(self) -> str:
        text, limit = self.printed, self.max_bytes
        if limit is None or len(text) <= limit:
            return text
        half = limit // 2
        return f'{text[:half]}\n... ({len(text) - 2 * half} characters left out) ...\n{text[-half:]}'


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
