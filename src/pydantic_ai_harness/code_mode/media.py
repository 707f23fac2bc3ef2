"""Images, audio and documents: the sandbox sees data that stand for them, and the model gets them as they are."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pydantic_core
from pydantic import TypeAdapter
from pydantic_ai.messages import MultiModalContent, is_multi_modal_content

from pydantic_ai_harness.narrowing import is_list, is_mapping, is_text_mapping

_MEDIA = TypeAdapter[MultiModalContent](MultiModalContent)


@dataclass
class Media:
    """What tools returned in one session."""

    kept: dict[str, MultiModalContent] = field(default_factory=dict[str, MultiModalContent])
    """By what is the same each time that code runs again, in whatever order its calls end."""

    def keep(self, value: object) -> object:
        """Remember media and give the data that stand for it; leave anything else as it is."""
        if not is_multi_modal_content(value):
            return value
        data = _data_of(value)
        if (key := _key(data)) is not None:
            self.kept.setdefault(key, value)
        return data

    def keep_all(self, media: Iterable[MultiModalContent]) -> None:
        """Remember several."""
        for each in media:
            self.keep(each)


@dataclass
class References:
    """The media of one result, under identifiers that tell them apart: a tool may call all that it returns 'chart'."""

    media: Media
    found: dict[str, MultiModalContent] = field(default_factory=dict[str, MultiModalContent])
    """By their keys in `Media`, in order."""
    _identifiers: Counter[str] = field(default_factory=Counter[str])

    def only(self, value: object) -> MultiModalContent | None:
        """The media that a value stands for; `None` if it is something else, or has more to say."""
        if not is_text_mapping(value) or (media := self._find(value)) is None:
            return None
        return None if value.keys() - _names(media) else media

    def without_data(self, value: object) -> object:
        """The value, in which the identifiers of media are all that stands for them."""
        if is_text_mapping(value) and (media := self._find(value)) is not None:
            return {**{key: item for key, item in value.items() if key != 'data'}, 'identifier': media.identifier}
        if is_mapping(value):
            return {key: self.without_data(item) for key, item in value.items()}
        return [self.without_data(item) for item in value] if is_list(value) else value

    def _find(self, value: Mapping[str, object]) -> MultiModalContent | None:
        key = _key(value)
        if key is None or (media := self.media.kept.get(key)) is None:
            return None
        if key not in self.found:
            self._identifiers[media.identifier] += 1
            number = self._identifiers[media.identifier]
            self.found[key] = media if number == 1 else _renamed(media, f'{media.identifier}-{number}')
        return self.found[key]


def _data_of(media: MultiModalContent) -> dict[str, object]:
    return pydantic_core.to_jsonable_python(media, bytes_mode='base64')


def _renamed(media: MultiModalContent, identifier: str) -> MultiModalContent:
    return _MEDIA.validate_json(pydantic_core.to_json({**_data_of(media), 'identifier': identifier}))


def _names(media: MultiModalContent) -> set[str]:
    return {each.name.removeprefix('_') for each in dataclasses.fields(media)}


def _key(data: Mapping[str, object]) -> str | None:
    content = next((data[name] for name in ('data', 'url', 'file_id') if name in data), None)
    parts = [data.get('kind'), data.get('identifier'), content]
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) < len(parts):
        return None
    return hashlib.sha256('\0'.join(texts).encode(errors='surrogatepass')).hexdigest()
