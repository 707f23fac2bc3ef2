"""What somebody outside decided about calls that wait, and how it travels to the snippet that waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import MultiModalContent, ToolReturn, UserContent
from pydantic_ai.tools import ToolApproved, ToolDenied

from pydantic_ai_harness.narrowing import is_sequence
from pydantic_ai_harness.sandbox import to_sandbox

from .media import Media
from .packing import pack, plain, unpack


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Approved(_Answer):
    """The call may run."""

    kind: Literal['approved'] = 'approved'
    override_args: dict[str, Any] | None = None
    """In place of the arguments that the code gave; `None` keeps those."""
    metadata: Any = None
    """Reaches the tool as `ctx.tool_call_metadata`."""


class Denied(_Answer):
    """The call may not run."""

    kind: Literal['denied'] = 'denied'
    message: str = ToolDenied().message


class Answered(_Answer):
    """The call was made elsewhere, and this is how it ended. All of it is JSON."""

    kind: Literal['answered'] = 'answered'
    value: Any = None
    """Packed; data stand in it for media."""
    media: str | None = None
    """JSON of the images, audio and documents in the result."""
    content: str | None = None
    """JSON of what the tool addresses to the model beside its result."""
    metadata: Any = None
    problem: str | None = None
    """What is raised in place of a result."""

    @classmethod
    def returning(cls, value: object, content: object = None, metadata: object = None) -> Answered:
        """A result.

        Raises:
            CannotCrossError: It has no JSON shape.
        """
        media = Media()
        return cls(
            value=pack(to_sandbox(value, replace=media.keep)),
            media=_MEDIA.dump_json([*media.kept.values()]).decode() if media.kept else None,
            content=None if content is None else _CONTENT.dump_json(_as_list(content)).decode(),
            metadata=plain(metadata),
        )

    def outcome(self) -> ToolReturn[Any]:
        """What the tool would have returned.

        Raises:
            ToolFailed: It has failed.
        """
        if self.problem is not None:
            raise ToolFailed(self.problem)
        content = None if self.content is None else _CONTENT.validate_json(self.content)
        return ToolReturn(return_value=unpack(self.value), content=content, metadata=self.metadata)

    @property
    def media_inside(self) -> list[MultiModalContent]:
        """What data in the result stand for."""
        return [] if self.media is None else _MEDIA.validate_json(self.media)


OutsideAnswer: TypeAlias = Annotated[Approved | Denied | Answered, Field(discriminator='kind')]
_CONTENT = TypeAdapter[list[UserContent]](list[UserContent])
_MEDIA = TypeAdapter[list[MultiModalContent]](list[MultiModalContent])
_ANSWERS = TypeAdapter[dict[str, OutsideAnswer]](dict[str, OutsideAnswer])


def approval(answer: object, metadata: object) -> OutsideAnswer | None:
    """The answer to a call that waits for consent; `None` if it is none."""
    match answer:
        case True:
            return Approved(metadata=metadata)
        case False:
            return Denied()
        case ToolApproved():
            return Approved(override_args=answer.override_args, metadata=metadata)
        case ToolDenied():
            return Denied(message=answer.message)
        case _:
            return None


def result(answer: object) -> OutsideAnswer | None:
    """The answer to a call that waits for its result; `None` if it is none.

    Raises:
        CannotCrossError: The result has no JSON shape.
    """
    match answer:
        case ToolApproved():
            return None
        case ToolDenied():
            return Denied(message=answer.message)
        case ModelRetry() | ToolFailed():
            return Answered(problem=answer.message)
        case Exception():
            return Answered(problem=f'{type(answer).__name__}: {answer}')
        case ToolReturn():
            return Answered.returning(answer.return_value, answer.content, answer.metadata)
        case _:
            return Answered.returning(answer)


def to_metadata(answers: Mapping[str, OutsideAnswer]) -> dict[str, Any]:
    """Answers as plain data, which may go through JSON."""
    return {call_id: answer.model_dump() for call_id, answer in answers.items()}


def from_metadata(data: object) -> dict[str, OutsideAnswer]:
    """What `to_metadata` made; none if it is something else, so that nothing is decided by it."""
    try:
        return _ANSWERS.validate_python(data)
    except ValidationError:
        return {}


def _as_list(content: object) -> list[Any]:
    return [*content] if is_sequence(content) else [content]
