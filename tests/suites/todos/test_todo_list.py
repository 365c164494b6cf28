"""The reducer: what a change leads to, and that a refused one leads to nothing."""

import random
from dataclasses import replace

import pytest

from ohm_subagents.contract import Err, Ok
from ohm_subagents.suites.todos.todo_list import MAX_TODOS, Edit, Todo, TodoList, Write, apply

SOME = TodoList(todos=(Todo(text="a"), Todo(text="b", status="in_progress"), Todo(text="c", status="completed")))


@pytest.mark.parametrize(
    "change",
    [
        Write(mode="append", texts=()),
        Write(mode="insert", texts=("x",), index=3),
        Write(mode="replace", texts=()),
        Edit(action="start", indices=(2,)),
    ],
)
def test_every_change_begins_the_count_anew(change) -> None:
    match apply(replace(SOME, continuations=7), change):
        case Ok(changed):
            assert changed.todos.continuations == 0
        case Err(refused):
            pytest.fail(refused.message)


def test_any_action_leads_to_its_status_from_any_other() -> None:
    after = {"start": "in_progress", "complete": "completed", "abandon": "abandoned"}
    for action, status in after.items():
        changed = apply(SOME, Edit(action=action, indices=(0, 1, 2))).unwrap()
        assert {todo.status for todo in changed.todos.todos} == {status}


def test_however_it_is_changed_a_list_stays_within_its_limits_and_keeps_what_was_there() -> None:
    """A thousand changes, sensible and not: a refused one changes nothing, an accepted one only what it names."""
    chance = random.Random(5)
    current = TodoList()
    counts = {"Ok": 0, "Err": 0}
    for number in range(1000):
        change = _any_change(chance, number)
        outcome = apply(current, change)
        counts[type(outcome).__name__] += 1
        if isinstance(outcome, Err):
            assert outcome.err_value.message
            continue
        after = outcome.ok_value.todos
        assert len(after.todos) <= MAX_TODOS
        match change:
            case Edit():
                assert [todo.text for todo in after.todos] == [todo.text for todo in current.todos]
                same = [at for at in range(len(after.todos)) if at not in change.indices]
                assert all(after.todos[at] == current.todos[at] for at in same)
            case Write(mode="append"):
                assert after.todos[: len(current.todos)] == current.todos
            case Write(mode="insert"):
                at, count = change.index, len(change.texts)
                assert after.todos[:at] + after.todos[at + count :] == current.todos
            case Write():
                assert after.todos == tuple(Todo(text=text) for text in change.texts)
        current = after
    assert min(counts.values()) > 100, counts


def _any_change(chance: random.Random, number: int) -> Write | Edit:
    if chance.random() < 0.5:
        indices = tuple(chance.randrange(-1, 60) for _ in range(chance.randrange(4)))
        return Edit(action=chance.choice(["start", "complete", "abandon", "add"]), indices=indices)
    mode = chance.choices(["append", "insert", "replace", "prepend"], weights=[8, 8, 1, 1])[0]
    texts = tuple(f"{number}.{one}" for one in range(chance.randrange(6)))
    return Write(mode=mode, texts=texts, index=chance.choice([None, -1, 0, 1, 30]))
