"""A todo list as a suite case wants it, and what its host was told: all through the tools and the host."""

import re
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from golden_recording import Json

from ohm_subagents import Ohm
from ohm_subagents.testing import MemoryHost

ACTIONS = {"in_progress": "start", "completed": "complete", "abandoned": "abandon"}
STATUSES = {"\N{EN DASH}": "not_started", "●": "in_progress", "✓": "completed", "✗": "abandoned"}
ITEM = re.compile(f"^([{''.join(STATUSES)}]) \\[\\d+\\] (.*)$")
MOST_INDICES = 50


async def set_up(ohm: Ohm, host: MemoryHost, todos: list[Json]) -> None:
    """Write the list and bring each item to its status, then let the host forget that."""
    await _called(ohm, "write_todos", mode="replace", todos=[{"text": todo["text"]} for todo in todos])
    numbered = sorted((todo.get("status", "not_started"), number) for number, todo in enumerate(todos))
    for status, group in groupby(numbered, key=lambda one: one[0]):
        indices = [number for _, number in group] if status in ACTIONS else []
        for first in range(0, len(indices), MOST_INDICES):
            chosen = indices[first : first + MOST_INDICES]
            await _called(ohm, "edit_todos", action=ACTIONS[status], indices=chosen)
    host.calls.clear()


async def _called(ohm: Ohm, tool: str, **arguments: Any) -> None:
    done = await ohm.call(tool, arguments)
    assert "error" not in done.details, done.text


async def state(ohm: Ohm) -> list[Json]:
    """The list as it is, from what `list_todos` tells."""
    text = (await ohm.call("list_todos", {})).text
    if text == "No todos":
        return []
    found = [ITEM.match(line) for line in text.split("\n")]
    assert all(found), text
    return [{"text": one[2], "status": STATUSES[one[1]]} for one in found if one is not None]


def told(host: MemoryHost, method: str) -> list[list[Any]]:
    """The calls of one method of the host, as the file writes them."""
    return [WRITTEN[method](*call[1:]) for call in host.calls if call[0] == method]


def _status(key: str, text: str | None) -> list[Any]:
    return ["setStatus", key, text]


def _widget(key: str, lines: tuple[str, ...] | None, placement: str | None = None) -> list[Any]:
    return [key, None if lines is None else [*lines], *([] if placement is None else [{"placement": placement}])]


def _user_message(text: str, follow_up: bool) -> list[Any]:
    return [text, *([{"deliverAs": "followUp"}] if follow_up else [])]


def _message(kind: str, text: str, display: bool) -> list[Any]:
    """`Host.send_message` never starts a turn."""
    return [{"customType": kind, "content": text, "display": display}, {"triggerTurn": False}]


WRITTEN: Mapping[str, Callable[..., list[Any]]] = {
    "set_status": _status,
    "set_widget": _widget,
    "send_user_message": _user_message,
    "send_message": _message,
}
