"""Python types as text, in two forms: what the model reads, and what snippets are checked against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_LITERAL_TYPES = (str, int, bool, type(None))
_MAX_LITERALS = 60
_MAX_LITERAL_LENGTH = 200


@dataclass(frozen=True, slots=True)
class TypeText:
    """One type, twice; each as the alternatives of a union."""

    shown_parts: tuple[str, ...]
    checked_parts: tuple[str, ...]

    @classmethod
    def of(cls, shown: str, checked: str | None = None) -> TypeText:
        """A type that is no union."""
        return cls((shown,), (checked or shown,))

    @property
    def shown(self) -> str:
        """What the model reads."""
        return _joined(self.shown_parts)

    @property
    def checked(self) -> str:
        """What snippets are checked against."""
        return _joined(self.checked_parts)

    @property
    def allows_none(self) -> bool:
        """Whether `None` is among the values."""
        return not {'Any', 'None'}.isdisjoint(self.shown_parts)


ANY = TypeText.of('Any')
NONE = TypeText.of('None')
# `bytes` cross as they are, except inside models, which turn them into text.
BINARY = TypeText(('bytes', 'str'), ('bytes', 'str'))


def literals(values: Sequence[object]) -> TypeText:
    """The type of exactly these values; wider where Python has no such literals, or they are too many or too long."""
    widened = [_type_name(value) for value in values if not _can_be_named(value)]
    named = [value for value in values if _can_be_named(value)]
    if widened or len(named) > _MAX_LITERALS:
        return union([TypeText.of(name) for name in [*widened, *(_type_name(value) for value in named)]])
    texts = list(dict.fromkeys(repr(value) for value in named if value is not None))
    parts = [TypeText.of(f'Literal[{", ".join(texts)}]')] if texts else []
    return union([*parts, NONE] if None in named else parts)


def _can_be_named(value: object) -> bool:
    is_short = not isinstance(value, str) or len(value) <= _MAX_LITERAL_LENGTH
    return isinstance(value, _LITERAL_TYPES) and is_short


def _type_name(value: object) -> str:
    names: dict[type, str] = {dict: 'dict[str, Any]', list: 'list[Any]', type(None): 'None'}
    return names.get(type(value), type(value).__name__)


def union(parts: Iterable[TypeText]) -> TypeText:
    """One type that allows what any of `parts` does."""
    shown: dict[str, None] = {}
    checked: dict[str, None] = {}
    for part in parts:
        shown.update(dict.fromkeys(part.shown_parts))
        checked.update(dict.fromkeys(part.checked_parts))
    return TypeText(tuple(shown), tuple(checked)) if shown else ANY


def _joined(parts: tuple[str, ...]) -> str:
    if 'Any' in parts:
        return 'Any'
    ordered = [text for text in parts if text != 'None']
    return ' | '.join([*ordered, 'None'] if 'None' in parts else ordered)
