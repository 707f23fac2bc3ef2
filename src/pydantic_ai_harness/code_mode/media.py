"""Images, audio and documents: they go past the sandbox, which sees what describes them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pydantic_core
from pydantic import TypeAdapter
from pydantic_ai.messages import MultiModalContent, UserContent, is_multi_modal_content

from pydantic_ai_harness.narrowing import is_list, is_mapping, is_text_mapping

_MEDIA = TypeAdapter[MultiModalContent](MultiModalContent)


@dataclass
class Media:
    """Images, audio and documents that tools returned, by their identifier: the sandbox only sees a description."""

    by_identifier: dict[str, UserContent] = field(default_factory=dict[str, UserContent])

    def keep(self, value: object) -> object:
        """Remember media and give its description; leave anything else as it is."""
        if not is_multi_modal_content(value):
            return value
        media = self._told_apart(value)
        self.by_identifier[media.identifier] = media
        return pydantic_core.to_jsonable_python(media, bytes_mode='base64')

    def _told_apart(self, value: MultiModalContent) -> MultiModalContent:
        """The media under an identifier that no others have: a tool may call all that it returns 'chart'."""
        media, numbers = value, itertools.count(2)
        while self.by_identifier.get(media.identifier, media) != media:
            data = pydantic_core.to_json(value, bytes_mode='base64')
            description = {**pydantic_core.from_json(data), 'identifier': f'{value.identifier}-{next(numbers)}'}
            media = _MEDIA.validate_json(pydantic_core.to_json(description))
        return media

    def restore(self, value: object) -> UserContent | None:
        """The media that a sandbox value describes; `None` when no tool returned such."""
        if not is_text_mapping(value):
            return None
        kept = self.by_identifier.get(str(value.get('identifier')))
        return kept if kept is not None and getattr(kept, 'kind', None) == value.get('kind') else None

    def referred(self, value: object) -> tuple[object, list[UserContent]]:
        """The value with the data of all media inside it left out, and these media, each once."""
        found: dict[int, UserContent] = {}

        def walk(item: object) -> object:
            if (media := self.restore(item)) is not None and is_text_mapping(item):
                found[id(media)] = media
                return {key: part for key, part in item.items() if key != 'data'}
            if is_mapping(item):
                return {key: walk(part) for key, part in item.items()}
            return [walk(part) for part in item] if is_list(item) else item

        return (walk(value) if self.by_identifier else value), list(found.values())
