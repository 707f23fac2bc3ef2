"""What a call gave, as data."""

from __future__ import annotations

import builtins
from typing import Any

from pydantic import BaseModel, ConfigDict

from pydantic_ai_harness.sandbox import Answer, Raised, Returned

from .packing import pack, unpack


class StoredAnswer(BaseModel):
    """A value of JSON types and `bytes`, or an error of a builtin type."""

    model_config = ConfigDict(ser_json_inf_nan='constants')

    value: Any = None
    error_type: str | None = None
    message: str = ''

    @classmethod
    def of(cls, answer: Answer) -> StoredAnswer:
        """Store an answer."""
        if isinstance(answer, Returned):
            return cls(value=pack(answer.value))
        # The text of a KeyError is the representation of its key.
        message = answer.error.args[0] if isinstance(answer.error, KeyError) and answer.error.args else answer.error
        return cls(error_type=type(answer.error).__name__, message=str(message))

    @property
    def answer(self) -> Answer:
        """What was stored."""
        if self.error_type is None:
            return Returned(unpack(self.value))
        return Raised(_built(self.error_type, self.message))


def _built(name: str, message: str) -> BaseException:
    kind: object = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return kind(message)
    return RuntimeError(f'{name}: {message}')
