"""Texts for a model about starts in the background, where `asyncStart` allows them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.replies import Accepted, StartReply

if TYPE_CHECKING:
    from ohm_subagents.contract.replies import Reply

ASYNC: Final = "Return the task ids at once; the work goes on in the background, and op wait of task gives the answers."
"""The description of the argument `async`."""


def how_to_collect(reply: Reply) -> str:
    """Say what to do next about work that goes on in the background; empty for all other work."""
    items = reply.items if isinstance(reply, StartReply) else ()
    ids = [item.task.id for item in items if isinstance(item, Accepted) and not item.task.is_terminal]
    if not ids:
        return ""
    waiting = json.dumps({"op": "wait", "ids": ids})
    return f"\n\nThe work goes on in the background. To get the answers, call task: {waiting}"
