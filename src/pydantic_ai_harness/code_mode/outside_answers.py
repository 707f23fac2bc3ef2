"""What somebody outside decided about calls that wait, and how it travels to the snippet that waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import ToolReturn, UserContent
from pydantic_ai.tools import ToolApproved, ToolDenied


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, ser_json_bytes='base64', val_json_bytes='base64')


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
    """The call was made elsewhere, and this is how it ended."""

    kind: Literal['answered'] = 'answered'
    value: Any = None
    content: str | list[UserContent] | None = None
    metadata: Any = None
    problem: str | None = None
    """What is raised in place of returning `value`."""

    def outcome(self) -> ToolReturn[Any]:
        """What the tool would have returned.

        Raises:
            ToolFailed: It has failed.
        """
        if self.problem is not None:
            raise ToolFailed(self.problem)
        return ToolReturn(return_value=self.value, content=self.content, metadata=self.metadata)


OutsideAnswer: TypeAlias = Annotated[Approved | Denied | Answered, Field(discriminator='kind')]
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


def result(answer: object) -> OutsideAnswer:
    """The answer to a call that waits for its result."""
    match answer:
        case ToolDenied():
            return Denied(message=answer.message)
        case ModelRetry() | ToolFailed():
            return Answered(problem=answer.message)
        case Exception():
            return Answered(problem=f'{type(answer).__name__}: {answer}')
        case ToolReturn():
            content = answer.content if answer.content is None or isinstance(answer.content, str) else [*answer.content]
            return Answered(value=answer.return_value, content=content, metadata=answer.metadata)
        case _:
            return Answered(value=answer)


def to_metadata(answers: Mapping[str, OutsideAnswer]) -> dict[str, Any]:
    """Answers as plain data, which may go through JSON."""
    return {call_id: answer.model_dump() for call_id, answer in answers.items()}


def from_metadata(data: object) -> dict[str, OutsideAnswer] | None:
    """What `to_metadata` made; `None` if it is something else."""
    try:
        return _ANSWERS.validate_python(data)
    except ValidationError:
        return None
