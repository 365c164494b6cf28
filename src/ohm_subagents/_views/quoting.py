"""Text from outside, quoted among our own lines."""

from __future__ import annotations

import re
from typing import Final

_LIKE_OURS: Final = re.compile(
    r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"
    r"(?=[^\S\n]*(?:(?:output|partial answer|error|advice|note)[^\S\n]*[(:]|(?:task_id|batch|wait)[^\S\n]*:"
    r"|[✓✕○├╰⠀-⣿]))",
    re.IGNORECASE,
)
"""The end of a line before one that is written like a heading, a footer or a line of a tree."""


def unforged(text: str) -> str:
    """The text with a `>` before each further line that is written like one of ours: a model could not tell them apart.

    The details have an answer as it is.
    """
    return _LIKE_OURS.sub(lambda end: f"{end[0]}> ", text)
