"""Texts for a model about starts in the background, where `asyncStart` allows them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ohm_subagents._views.reply_lines import ReplyLines

ASYNC: Final = "Return the task ids at once; the work goes on in the background, and op wait of task gives the answers."
"""The description of the argument `async`."""


def how_to_collect(reply: ReplyLines) -> str:
    """Say what to do next about work that goes on in the background; empty for all other work."""
    ids = [task.id for task in reply.tasks if not task.is_terminal]
    if not ids or reply.op != "start":
        return ""
    waiting = json.dumps({"op": "wait", "ids": ids})
    return f"\n\nThe work goes on in the background. To get the answers, call task: {waiting}"
