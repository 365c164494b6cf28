"""Texts that can be written down."""

from __future__ import annotations


def encodable(text: str) -> str:
    """The text, with a mark for whatever no encoding can write: models and other programs send halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
