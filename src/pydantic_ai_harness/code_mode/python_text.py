"""Text of others made safe to stand in Python source."""

from __future__ import annotations

import keyword
import re

_NOT_IN_NAMES = re.compile(r'[^A-Za-z0-9_]+')
# Control characters, line separators, text direction marks, and halves of surrogate pairs.
_CONTROLS = re.compile(r'[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]')
_SPACE = re.compile(r'\s+')


def is_name(text: str) -> bool:
    """Whether `text` can be written as a name."""
    return text.isidentifier() and text.isascii() and not keyword.iskeyword(text)


def to_name(text: str) -> str:
    """The name nearest to `text`: `get-weather` is `get_weather`, `2fa` is `_2fa`, `from` is `from_`; '' if none."""
    name = _NOT_IN_NAMES.sub('_', text)
    if not name.strip('_'):
        return ''
    if name[0].isdigit():
        name = f'_{name}'
    return f'{name}_' if keyword.iskeyword(name) else name


def as_comment(text: str) -> str:
    """One line without control characters."""
    return _SPACE.sub(' ', _without_controls(text)).strip()


def as_docstring(text: str, indent: str) -> str:
    """A docstring literal, indented, that holds `text` whatever is in it."""
    safe = _without_controls(text).strip().replace('\\', '\\\\').replace('"""', '\\"\\"\\"')
    if safe.endswith('"'):
        safe = f'{safe[:-1]}\\"'
    lines = [line.rstrip() for line in safe.splitlines()] or ['']
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""'
    body = '\n'.join(f'{indent}{line}' if line else '' for line in lines[1:])
    return f'{indent}"""{lines[0]}\n{body}\n{indent}"""'


def _without_controls(text: str) -> str:
    return _CONTROLS.sub(' ', text.replace('\r\n', '\n'))
