"""The portion of what waits that goes into one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract.wire import WireObject

MAX_MESSAGES: Final = 500
MAX_POSTED: Final = 100
"""Messages of a post: a runner begins with the first ones of many while the next ones are on their way."""
MAX_BYTES: Final = 4 * 2**20
"""Bytes of messages after which a frame is full; one larger message is a frame of its own."""


def portion(messages: Iterable[tuple[WireObject, int]], *, most: int = MAX_MESSAGES) -> tuple[WireObject, ...]:
    """Take messages, each with its bytes of text, until a frame is full; at least one if there is any."""
    taken: list[WireObject] = []
    size = 0
    for message, length in messages:
        taken.append(message)
        size += length
        if len(taken) == most or size >= MAX_BYTES:
            break
    return tuple(taken)
