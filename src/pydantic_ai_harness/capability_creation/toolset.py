"""The tools by which the model writes, lists and disables capabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import FunctionToolset

from . import prompt
from .hooks import AUTHORING_TOOL
from .operations import Answer, ListedCapability

if TYPE_CHECKING:
    from .capability import CapabilityCreation

_MAX_RETRIES = 3


class AuthoringToolset(FunctionToolset[Any]):
    """`author_capability`, `list_authored_capabilities` and `disable_authored_capability` over one store."""

    def __init__(self, creation: CapabilityCreation[Any], *, id: str | None) -> None:  # noqa: A002 - the framework's name
        super().__init__(id=id, max_retries=_MAX_RETRIES)
        self._creation = creation
        mends = {AUTHORING_TOOL: True}
        program = {'code_arg_name': 'code', 'code_arg_language': 'python'}
        self.add_function(self.author_capability, metadata={**mends, **program})
        self.add_function(self.list_authored_capabilities, metadata=mends)
        self.add_function(self.disable_authored_capability, metadata=mends)

    async def author_capability(
        self,
        ctx: RunContext[Any],
        name: Annotated[str, Field(description=prompt.NAME_DESCRIPTION)],
        code: Annotated[str, Field(description=prompt.CODE_DESCRIPTION)],
    ) -> str:
        """Check a capability that you wrote and keep it for later runs; the same name replaces it."""
        return _told(await self._creation.author(ctx, name, code))

    async def list_authored_capabilities(self, ctx: RunContext[Any]) -> list[ListedCapability]:
        """List the authored capabilities, with what went wrong in each."""
        return await self._creation.list_authored(ctx)

    async def disable_authored_capability(self, ctx: RunContext[Any], name: str) -> str:
        """Switch an authored capability off from the next run on."""
        return _told(await self._creation.disable(ctx, name))


def _told(answer: Answer) -> str:
    if answer.is_mistake:
        raise ModelRetry(answer.text)
    return answer.text
