"""What a call gave, as data."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from pydantic_ai_harness.sandbox import Answer, Raised, Returned

from .builtin_errors import error_named
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
        # Halves of surrogate pairs are no JSON.
        text = str(message).encode(errors='replace').decode()
        return cls(error_type=type(answer.error).__name__, message=text)

    @property
    def answer(self) -> Answer:
        """What was stored."""
        if self.error_type is None:
            return Returned(unpack(self.value))
        error = error_named(self.error_type, self.message)
        return Raised(error or RuntimeError(f'{self.error_type}: {self.message}'))
