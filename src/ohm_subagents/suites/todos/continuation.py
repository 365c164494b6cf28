"""The next step after a turn of the agent: nothing, a last message, or a prompt to continue."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ohm_subagents.suite import JsonObject
    from ohm_subagents.suites.todos.todo_list import TodoList

MAX_CONTINUATIONS: Final = 20
LIMIT_REACHED: Final = (
    f"Auto-continue limit reached ({MAX_CONTINUATIONS} iterations). Remaining todos were not completed. "
    "Take over manually."
)


class Next(Enum):
    """The next step."""

    REST = auto()
    GIVE_UP = auto()
    """The agent was asked to continue often enough."""
    GO_ON = auto()
    """Ask the agent to continue, unless someone interrupts or nothing is left by then."""


def after_turn(todos: TodoList, event: JsonObject) -> tuple[TodoList, Next]:
    """Return the list, which counts its continuations, and the next step."""
    if not todos.todos or _has_broken_off(event):
        return todos, Next.REST
    counted = replace(todos, continuations=todos.continuations + 1)
    if counted.continuations > MAX_CONTINUATIONS:
        return counted, Next.GIVE_UP
    return counted, Next.GO_ON if counted.open_indices else Next.REST


def _has_broken_off(event: JsonObject) -> bool:
    """Return True if the user or a failure ended the newest message of the assistant."""
    messages = event.get("messages")
    said = [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    last = next((one for one in reversed(said) if one.get("role") == "assistant"), None)
    return last is not None and last.get("stopReason") in {"aborted", "error"}


def prompt(todos: TodoList) -> str | None:
    """Write the prompt to continue, None if nothing is left; the instruction quotes no text of an item."""
    left = todos.open_indices
    if not left:
        return None
    begun = [index for index in left if todos.todos[index].status == "in_progress"]
    action, index = ("complete", begun[0]) if begun else ("start", left[0])
    return (
        "There are still incomplete todos. Continue working on the remaining todos.\n\n"
        f"Remaining items:\n{todos.text(left)}\n\n"
        f"Next action: edit_todos with action '{action}' and indices [{index}]"
    )


def reminder(todos: TodoList) -> str | None:
    """Write the reminder before a turn; None if nothing is left."""
    left = todos.open_indices
    if not left:
        return None
    return (
        f"[TILL-DONE ACTIVE]\n\nCurrent todo list:\n{todos.text()}\n\n"
        f"{len(left)} item(s) remaining. Continue working through the list. Call edit_todos with action 'start' on the "
        "next item before working on it, then 'complete' when done."
    )
