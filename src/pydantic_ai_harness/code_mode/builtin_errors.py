"""Errors by the names that Python gives them."""

from __future__ import annotations

import builtins


def error_named(name: str, message: str) -> Exception | None:
    """A builtin error; `None` if there is none of that name, or it needs more than a message."""
    kind: object = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    try:
        return kind(message)
    except TypeError:
        return None
