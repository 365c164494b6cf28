"""What follows when the agent has ended a turn: nothing, a last word, or a prompt to go on (002; its state machine)."""

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
    """What follows."""

    REST = auto()
    GIVE_UP = auto()
    """The agent was told to go on often enough."""
    GO_ON = auto()
    """The agent is to be told so, unless somebody interrupts or nothing is left by then."""


def after_turn(todos: TodoList, event: JsonObject) -> tuple[TodoList, Next]:
    """The list, which counts how often that happened, and what follows."""
    if not todos.todos or _has_broken_off(event):
        return todos, Next.REST
    counted = replace(todos, continuations=todos.continuations + 1)
    if counted.continuations > MAX_CONTINUATIONS:
        return counted, Next.GIVE_UP
    return counted, Next.GO_ON if counted.open_indices else Next.REST


def _has_broken_off(event: JsonObject) -> bool:
    """Whether the last word of the assistant was cut off by the user, or by a failure that going on would only meet."""
    messages = event.get("messages")
    said = [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    last = next((one for one in reversed(said) if one.get("role") == "assistant"), None)
    return last is not None and last.get("stopReason") in {"aborted", "error"}


def prompt(todos: TodoList) -> str | None:
    """What the agent is told to go on with; None if nothing is left. No text of an item is part of the instruction."""
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
    """What the agent is told of the list before a turn; None if nothing is left."""
    left = todos.open_indices
    if not left:
        return None
    return (
        f"[TILL-DONE ACTIVE]\n\nCurrent todo list:\n{todos.text()}\n\n"
        f"{len(left)} item(s) remaining. Continue working through the list. Call edit_todos with action 'start' on the "
        "next item before working on it, then 'complete' when done."
    )
