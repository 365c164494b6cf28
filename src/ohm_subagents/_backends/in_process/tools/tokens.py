"""Words of code and of questions, as stems that meet: `truncation`, `isTruncated` and `truncate_all` share one."""

import re
from typing import TYPE_CHECKING, Final

import snowballstemmer  # type: ignore[import-untyped]  # ships no types

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD: Final = re.compile(r"[^\W_]+")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")
_MAX_KNOWN: Final = 200_000
_MAX_WORD_CHARS: Final = 64

# English that carries no topic, and the words that a question about code is asked with
_STOP_WORDS: Final = """
a an and any are as at be been but by can did do does doing done each for from get gets got had has have how i if in
into is it its just let may me might must my no not of on once one only or other our out over own shall she he should
so some such than that the their them then there these they this those through to too under until up us use used uses
using very was we were what when where whether which while who whom whose why will with would you your
code define defined defines exact exactly explain file files find function functions happen happening happens
implement implementation implemented implements locate located method methods place places please show tell
"""
_STOP: Final = frozenset(_STOP_WORDS.split())


class Words:
    """Turns text into stems. Keeps what it has seen; one thread at a time, for the stemmer has state."""

    def __init__(self) -> None:
        stemmer = snowballstemmer.stemmer("english")  # pyright: ignore[reportUnknownMemberType]  # ships no types
        self._stem: Callable[[str], str] = stemmer.stemWord  # pyright: ignore[reportUnknownMemberType]  # the same
        self._known: dict[str, tuple[str, ...]] = {}

    def stems(self, text: str) -> list[str]:
        """The stems of `text` in order: identifiers split at case and underscore, stop words left out."""
        found: list[str] = []
        for word in _WORD.findall(text):
            parts = self._known.get(word)
            found += self._learn(word) if parts is None else parts
        return found

    def _learn(self, word: str) -> tuple[str, ...]:
        if len(word) > _MAX_WORD_CHARS:  # a hash or encoded data
            return ()
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        parts = tuple(self._stem(part) for part in (part.lower() for part in _PART.findall(word)) if part not in _STOP)
        self._known[word] = parts
        return parts
