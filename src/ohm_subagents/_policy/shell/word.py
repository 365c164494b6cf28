"""The words of a command line, without their quotes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

Word = str | None
"""A word without its quotes; None where only bash can know it, as for `$x`, `*.py` or `$(date)`."""


class WrittenWord(NamedTuple):
    """A word with its text."""

    word: Word
    """The word without its quotes."""
    source: str
    """The text, with its quotes."""


_ALONE: Final = frozenset({"!", "[", "]", "{}"})
"""The words of such characters that are plain where they are whole words."""
_UNQUOTED: Final = frozenset("*?[]{}~!")
"""The characters that make of an unquoted word something else; `~` only in front."""
ESCAPE: Final = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPE_IN_STRING: Final = re.compile(r'\\([$`"\\\n])')


def source_of(node: Node) -> str:
    """Return the text of a node, as it is written."""
    return (node.text or b"").decode(errors="replace")


def word_of(node: Node) -> Word:
    """Return the word that a node stands for, or None."""
    source = source_of(node)
    match node.type:
        case "word" | "number" | "variable_name" | "test_operator":
            return _unquoted(source)
        case "raw_string":
            return source[1:-1]
        case "string":
            parts = node.named_children
            if any(part.type != "string_content" for part in parts):
                return None
            return _ESCAPE_IN_STRING.sub(_without_backslash, source[1:-1])
        case "concatenation":
            words = [None if source_of(part) in _ALONE else word_of(part) for part in node.named_children]
            is_whole = sum(len(source_of(part)) for part in node.named_children) == len(source)
            return "".join(word for word in words if word is not None) if is_whole and None not in words else None
        case "variable_assignment":
            return source if source.isascii() and not set(source) & set("$`'\"\\*?[]{}~") else None
        case _:
            return None


def _unquoted(source: str) -> Word:
    bare = ESCAPE.sub("", source)
    if source.startswith("~") or set(bare) & (_UNQUOTED - {"~"}):
        return source if bare in _ALONE else None
    return ESCAPE.sub(_without_backslash, source)


def _without_backslash(escape: re.Match[str]) -> str:
    return "" if escape[1] == "\n" else escape[1]
