from __future__ import annotations

from functools import reduce

import pytest

from ohm_subagents._views.todo_count import TodoCount


def write(mode: str, *texts: str, **more: object) -> tuple[str, dict]:
    return "write_todos", {"mode": mode, "todos": [{"text": text} for text in texts], **more}


def edit(action: str, *indices: object) -> tuple[str, dict]:
    return "edit_todos", {"action": action, "indices": list(indices)}


def counted(*calls: tuple[str, dict]) -> tuple[int, int]:
    count = reduce(lambda so_far, call: so_far.after(*call), calls, TodoCount())
    return count.completed, count.total


def test_writing_counts_up_and_finishing_counts_down() -> None:
    calls = (write("replace", "a", "b"), write("append", "c"), edit("start", 0), edit("complete", 0))
    assert counted(*calls, edit("abandon", 2)) == (2, 3)


def test_an_item_is_finished_once() -> None:
    assert counted(write("replace", "a", "b"), edit("complete", 1), edit("abandon", 1, 1)) == (1, 2)


def test_items_that_are_put_before_a_finished_one_move_it() -> None:
    calls = (write("replace", "a", "b"), edit("complete", 1), write("insert", "c", index=0), edit("complete", 2))
    assert counted(*calls) == (1, 3)
    assert counted(*calls, edit("complete", 1)) == (2, 3)


def test_starting_a_finished_item_opens_it_again() -> None:
    assert counted(write("replace", "a"), edit("complete", 0), edit("start", 0)) == (0, 1)


def test_replacing_begins_anew() -> None:
    assert counted(write("replace", "a"), edit("complete", 0), write("replace", "b", "c")) == (0, 2)


@pytest.mark.parametrize(
    "call",
    [
        edit("complete", 0, 5),
        edit("complete", -1),
        edit("complete", 0.5),
        edit("burn", 0),
        ("edit_todos", {"action": ["complete"], "indices": [0]}),
        ("edit_todos", {"action": "complete"}),
        ("write_todos", {"mode": "append", "todos": "x"}),
        ("write_todos", {}),
        write("insert", "x"),
        write("insert", "x", index=3),
        write("insert", "x", index=-1),
        write("prepend", "x"),
        ("list_todos", {}),
        ("bash", {"todos": []}),
    ],
)
def test_a_call_that_cannot_have_succeeded_changes_nothing(call: tuple[str, dict]) -> None:
    assert counted(write("replace", "a", "b"), edit("complete", 1), call) == (1, 2)


def test_a_call_that_the_tool_refused_changes_nothing() -> None:
    refused = TodoCount().after(*write("replace", "a"), answer="Error: todo item at index 0 exceeds")
    assert refused == TodoCount()
