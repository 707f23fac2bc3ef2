"""The words of a text as the index of functions knows them, in any script."""

from __future__ import annotations

import re
import unicodedata

_MAX_WORD = 40
_ASCII_WORD = re.compile(r'[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+')
_WORD = re.compile(r'[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+')
_ACCENT = re.compile(r'[\u0300-\u036f]')
# Thai, Lao, Burmese, Khmer, Japanese and Chinese stand without spaces between words.
_UNSPACED = re.compile(
    r'[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+'
)


def words_of(text: str, *, with_letters: bool = False) -> list[str]:
    """Words without case and accents; of scripts without spaces, pairs of neighbouring letters, or a lone letter.

    Args:
        text: In any script.
        with_letters: Whether each letter of scripts without spaces comes too, so that a lone one is found.
    """
    if text.isascii():
        return [word.lower()[:_MAX_WORD] for word in _ASCII_WORD.findall(text)]
    plain = unicodedata.normalize('NFC', _ACCENT.sub('', unicodedata.normalize('NFKD', text)))
    words = [word.lower()[:_MAX_WORD] for word in _WORD.findall(_UNSPACED.sub(r' \g<0> ', plain))]
    return [part for word in words for part in _parts(word, with_letters=with_letters)]


def _parts(word: str, *, with_letters: bool) -> list[str]:
    if not _UNSPACED.match(word):
        return [word]
    pairs = [word[at : at + 2] for at in range(max(len(word) - 1, 1))]
    return [*pairs, *word] if with_letters else pairs
