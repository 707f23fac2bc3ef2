"""What the model has read of the functions when `run_code` does not name them, and what it is told of new ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart

from .catalog import Catalog
from .catalog_view import CatalogView

_BEGINNING = 'New functions for `run_code`: '
_NAME = re.compile(r'`(\w+)`')
_MAX_NAME = 64
"""Letters that a name may have to be announced: a longer one has room for a message to the model."""


@dataclass
class Announcer:
    """Lists the functions of a run once, and announces those that come later; nothing sent is changed."""

    listed: Catalog
    """The functions that are there from the start."""
    view: CatalogView
    """How they are listed."""
    catalog: Catalog = field(init=False)
    """The functions of this step."""
    _asked: tuple[int, frozenset[str]] = field(default=(-1, frozenset()))
    """The step in which something was announced last, and what: the history has it only once it is sent."""

    def __post_init__(self) -> None:
        self.catalog = self.listed

    def announce(self, ctx: RunContext[Any]) -> None:
        """Tell the model, with the request that is being prepared, what it has not been told of.

        The history says what it has been told, so nothing is said twice in a conversation, and said again where a
        compaction has removed it.
        """
        if ctx.pending_messages is None:  # nobody runs: the context is one that shows prompts
            return
        told = {*self.listed.functions, *announced_in(ctx.messages)}
        if self._asked[0] == ctx.run_step:
            told |= self._asked[1]
        new = [name for name in self.catalog.functions if name not in told and len(name) <= _MAX_NAME]
        if new:
            ctx.enqueue(SystemPromptPart(announcement(new, self.catalog.lookup_names.help)))
            self._asked = ctx.run_step, frozenset(new)

    def gone_from(self, problems: Iterable[str]) -> list[str]:
        """What to add to problems of code that names functions which are listed, and not there any more."""
        words = {word for problem in problems for word in re.findall(r'\w+', problem)}
        gone = words & (self.listed.functions.keys() - self.catalog.functions.keys())
        return [f'`{name}` is not there any more: its tool was taken away.' for name in sorted(gone)]

    @property
    def has_told_all(self) -> bool:
        """Whether the model has read the declarations of all functions, as they are now."""
        now, then = self.catalog, self.listed
        are_listed = now.functions.items() <= then.functions.items()
        return self.view.has_all and are_listed and now.definitions.shown.items() <= then.definitions.shown.items()


def announcement(names: Sequence[str], help_name: str) -> str:
    """What the model reads of new functions: their names alone, which can hold no text of a server."""
    listed = ', '.join(f'`{name}`' for name in names)
    return f'{_BEGINNING}{listed}. Read their `{help_name}` in code before you call them.'


def announced_in(messages: Iterable[ModelMessage]) -> set[str]:
    """The names of the functions that were announced."""
    texts = (
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, SystemPromptPart) and part.content.startswith(_BEGINNING)
    )
    return {name for text in texts for name in _NAME.findall(text.removeprefix(_BEGINNING).partition('. ')[0])}
