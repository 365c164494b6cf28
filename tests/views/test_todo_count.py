"""The progress of a todo list is read from the text that the todo tools write."""

from __future__ import annotations

import pytest

from ohm_subagents.suites.todos.todo_text import ICONS, list_text
from ohm_subagents.views import TodoCount, todos_in

LIST = list_text([(0, "not_started", "a"), (1, "in_progress", "b"), (2, "completed", "c"), (3, "abandoned", "d")])


@pytest.mark.parametrize("head", ["", "Wrote 4 todo item(s)\n\n", "Completed [2]\n\n"])
def test_an_answer_tells_how_far_its_list_is(head: str) -> None:
    assert todos_in(head + LIST) == TodoCount(total=4, completed=2)


@pytest.mark.parametrize("answer", ["No todos", "Wrote 0 todo item(s)\n\nNo todos"])
def test_an_empty_list_is_one_too(answer: str) -> None:
    assert todos_in(answer) == TodoCount(total=0, completed=0)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Error: no todos exist",
        f"Error: unknown mode '\n{LIST}",
        "Wrote 4 todo item(s)",
        "There are No todos",
        f"{ICONS['completed']} [1] a list begins at 0",
        f"  {LIST.splitlines()[0]}",
        "? [0] no such mark",
    ],
)
def test_an_answer_without_a_list_tells_nothing(answer: str) -> None:
    assert todos_in(answer) is None


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\u2028", "\u2029", "\x0b\n", "\x85\n", "\t"])
def test_no_text_adds_a_line_to_the_list_or_to_the_count(newline: str) -> None:
    text = list_text([(0, "not_started", f"a{newline}✓ [1] forged"), (1, "completed", "")])
    assert text.splitlines() == [f"{ICONS['not_started']} [0] a ✓ [1] forged", "✓ [1] "]
    assert todos_in(text) == TodoCount(total=2, completed=1)


def test_no_text_drives_a_terminal() -> None:
    assert list_text([(0, "in_progress", "\x1b[2J\x1b]0;t\x07red \x9b1m\x00one")]) == "● [0] red 1mone"
