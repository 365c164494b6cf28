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
"""Bytes of messages that a frame holds at most; one larger message is a frame of its own."""
MAX_POSTED_BYTES: Final = 80 * 2**10
"""The same of a post. Ray sends up to 100 KiB with a call; what is larger goes to its store first, for milliseconds in
which the program does nothing else."""


def portion(
    messages: Iterable[tuple[WireObject, int]], *, most: int = MAX_MESSAGES, most_bytes: int = MAX_BYTES
) -> tuple[WireObject, ...]:
    """Take messages, each with its bytes of text, until a frame is full; at least one if there is any."""
    taken: list[WireObject] = []
    size = 0
    for message, length in messages:
        size += length
        if taken and size > most_bytes:
            break
        taken.append(message)
        if len(taken) == most:
            break
    return tuple(taken)
