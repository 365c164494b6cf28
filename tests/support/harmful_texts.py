"""Texts that would do harm where they were shown as they are: `tests/harmless/corpus.json`.

Put each where a model, a tool, a profile or the name of a file brings text, and look at what comes out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

CORPUS = Path(__file__).parents[1] / "harmless" / "corpus.json"
DRIVING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\xad\u180e\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
"""The characters that may reach no terminal: controls but tabs and line ends, marks of direction, invisible ones."""
SHORT = 10_000


class HarmfulText(NamedTuple):
    """One of the corpus; `kind` is the way in which it does harm."""

    kind: str
    name: str
    text: str


def harmful_texts(*, most: int | None = SHORT) -> Iterator[HarmfulText]:
    """Yield them all, each cut to `most` characters; None for the ones of 10 MB whole."""
    for row in json.loads(CORPUS.read_text(encoding="ascii")):
        text, times = row["text"], row.get("times", 1)
        if most is not None:
            times = min(times, max(1, most // max(1, len(text))))
        yield HarmfulText(row["kind"], row["name"], text * times)
