"""Keys about the tasks that are drawn: first alone, then in a program on a pseudo-terminal."""

from __future__ import annotations

import json
import os
import signal
import sys
import termios
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from unittest.mock import patch

import anyio
import pytest
from made_tasks import queued_task
from screen import PATIENCE_S, on_terminal

from ohm_subagents._terminal.board import Board
from ohm_subagents._terminal.key_reader import has_keyboard
from ohm_subagents._terminal.keys import Keyboard
from ohm_subagents._terminal.on_demand import OhmOnDemand
from ohm_subagents._terminal.shown import Front
from ohm_subagents._terminal.steering import Steering
from ohm_subagents.contract import (
    AccountCharged,
    AnswerAwaited,
    Budget,
    FollowUpTaken,
    Remaining,
    Request,
    RunEnded,
    RunStarted,
    StartBudget,
    Succeeded,
    Task,
    TaskId,
    TaskQueued,
    TaskSettled,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
    apply,
)
from ohm_subagents.suite import ToolResult

UP, DOWN, ENTER, ESCAPE = "\x1b[A", "\x1bOB", "\n", "\x1b"


class Watched:
    """Stands for the display; tells when a key was obeyed."""

    def __init__(self) -> None:
        self.obeyed = anyio.Event()

    def refresh(self) -> None:
        self.obeyed.set()

    @contextmanager
    def paused(self):
        yield


@contextmanager
def terminal():
    """A terminal of this process, and what types on it."""
    master, slave = os.openpty()
    with os.fdopen(slave) as stream, patch.multiple(sys, stdin=stream, stderr=stream):
        yield lambda keys: os.write(master, keys.encode())
    os.close(master)


def board_of(count: int) -> Board:
    board = Board()
    for number in range(1, count + 1):
        board.notify(queued_task(f"task_{number}"), TaskQueued())
    return board


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("keys", "chosen", "is_open"),
    [
        ([DOWN], "task_1", False),
        ([DOWN, DOWN], "task_2", False),
        ([UP, UP], "task_3", False),
        (["j", "j", "k"], "task_1", False),
        ([ENTER], "task_1", True),
        ([DOWN, "\t", ENTER], "task_2", True),
        ([ENTER, DOWN], "task_2", True),
        ([ENTER, ESCAPE], "task_1", False),
        ([ENTER, ESCAPE, ESCAPE], None, False),
        ([DOWN, ESCAPE], None, False),
        ([ENTER, ENTER], "task_1", False),
        ([ENTER, "\x1b[5~\x1b[1;5Cj"], "task_2", True),
    ],
    ids=repr,
)
async def test_a_task_is_chosen_and_opened(keys: list[str], chosen: str | None, is_open: bool) -> None:
    board, display = board_of(3), Watched()
    with terminal() as typed:
        assert has_keyboard()
        async with anyio.create_task_group() as group:
            group.start_soon(Keyboard(Cancelling(), Front(board), display, group).run)
            for key in keys:
                display.obeyed = anyio.Event()
                typed(key)
                await display.obeyed.wait()
            group.cancel_scope.cancel()
    assert (board.selection.chosen, board.is_open) == (chosen, is_open)


@pytest.mark.anyio
async def test_keys_are_not_echoed_and_the_terminal_is_left_as_it_was() -> None:
    display = Watched()
    with terminal() as typed:
        before = termios.tcgetattr(sys.stdin.fileno())
        async with anyio.create_task_group() as group:
            group.start_soon(Keyboard(Cancelling(), Front(board_of(1)), display, group).run)
            typed("k\n")
            await display.obeyed.wait()
            modes = termios.tcgetattr(sys.stdin.fileno())[3]
            group.cancel_scope.cancel()
        assert termios.tcgetattr(sys.stdin.fileno()) == before
    assert (modes & (termios.ECHO | termios.ICANON), modes & termios.ISIG) == (0, termios.ISIG)


def test_a_frame_tells_the_keys_that_there_are() -> None:
    board = board_of(2)
    assert "Enter" not in board.frame(80, 24)
    board.has_keys = True
    assert board.frame(80, 24).splitlines()[-1] == "  q stop · ↑↓ choose ▸ · Enter open · s send · x cancel"
    assert board.frame(40, 24).splitlines()[-2:] == [
        "  q stop · ↑↓ choose ▸ · Enter open",
        "  s send · x cancel",
    ]
    board.move(1)
    board.is_open = True
    assert board.frame(80, 24).splitlines()[-1] == "  q stop · Esc back · s send · x cancel"
    board.note.say("It cannot\x1b[2J be resumed.")
    assert board.frame(80, 24).splitlines()[-1] == "  It cannot be resumed."


def test_a_task_that_is_opened_is_shown_with_those_below_it_alone() -> None:
    board = Board()
    for task_id, parent in (("task_1", None), ("task_2", "task_1"), ("task_3", "task_2"), ("task_4", "task_1")):
        task = queued_task(task_id, parent=parent, description=task_id)
        board.notify(apply(task, RunStarted(prompt="p"), at_ms=1), RunStarted(prompt="p"))
    board.selection.chosen, board.is_open = TaskId("task_2"), True
    first, *others = [line.split(" · ") for line in board.frame(80, 24).splitlines() if "task_" in line]
    assert first[1] == "task_2"
    assert [line[0] for line in others] == ["    ! task_3"]
    assert "stuck" not in "".join(first)


def test_an_opened_task_says_what_is_left_after_what_others_have_spent_since() -> None:
    board, shares = Board(), StartBudget(id="start", budget=Budget(cost_usd=Decimal("0.50")))
    for number, cost in ((1, "0.40"), (2, "0.01")):
        task = queued_task(f"task_{number}")
        task = replace(task, assignment=replace(task.assignment, shares=shares))
        left = AccountCharged(remaining=Remaining(cost_usd=Decimal("0.50") - Decimal(cost)))
        for event in (RunStarted(prompt="p"), UsageAdded(usage=Usage(cost_usd=Decimal(cost))), left):
            board.notify(task := apply(task, event, at_ms=1), event)
    board.selection.chosen, board.is_open = TaskId("task_2"), True
    assert " · $0.0900 left · $0.0100" in board.frame(120, 24).splitlines()[0]


def test_a_follow_up_is_on_its_way_until_it_was_taken_and_then_says_when_it_is_heard() -> None:
    board, task = board_of(1), queued_task("task_1")
    for event in (RunStarted(prompt="p"), ToolStarted(call_id="call_1", tool="bash")):
        board.notify(task := apply(task, event, at_ms=1), event)
    board.note.send("Hurry up.", task)
    assert board.frame(80, 24).splitlines()[-1] == "  Sending: Hurry up."
    board.notify(task := apply(task, taken := FollowUpTaken(prompt="Hurry up."), at_ms=1), taken)
    assert board.frame(80, 24).splitlines()[-1] == "  Sent: Hurry up. · heard once bash has ended"
    ended = ToolEnded(call_id="call_1", tool="bash", status="success")
    board.notify(apply(task, ended, at_ms=2), ended)
    assert board.frame(80, 24).splitlines()[-1] == "  Sent: Hurry up."
    board.note.send("More.", ended_task("task_1"))
    board.note.answered("More.")
    assert board.frame(80, 24).splitlines()[-1] == "  Sent: More."


@pytest.mark.anyio
async def test_a_task_is_cancelled_once_it_is_chosen_only() -> None:
    board, display = board_of(2), Watched()
    with terminal() as typed:
        async with anyio.create_task_group() as group:
            group.start_soon(Keyboard(Cancelling(), Front(board), display, group).run)
            typed("x")
            await display.obeyed.wait()
            group.cancel_scope.cancel()
    assert board.note.text == "Choose a task first: ↑ and ↓ move the ▸."


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("keys", "note", "is_open"),
    [
        (["x"], "Cancel scan and 2 tasks below? x again / Esc", True),
        (["x", ESCAPE], "", True),
        (["x", ESCAPE, ESCAPE], "", False),
        (["x", DOWN, "x"], "Cancel scan and 1 task below? x again / Esc", True),
        (["x", ESCAPE, "x"], "Cancel scan and 2 tasks below? x again / Esc", True),
        (["x", "x"], "task_1 is cancelled.", True),
    ],
    ids=repr,
)
async def test_the_key_that_cancels_asks_once_more_and_says_what_that_ends(keys, note: str, is_open: bool) -> None:
    board, display, ohm = board_of(1), Watched(), Cancelling()
    for task_id, parent in (("task_2", "task_1"), ("task_3", "task_2")):
        board.notify(queued_task(task_id, parent=TaskId(parent)), TaskQueued())
    board.notify(ended_task("task_4", parent="task_1"), TaskSettled(outcome=Succeeded()))
    with terminal() as typed:
        async with anyio.create_task_group() as group:
            group.start_soon(Keyboard(ohm, Front(board), display, group).run)
            for key in (DOWN, ENTER, *keys):
                display.obeyed = anyio.Event()
                typed(key)
                await display.obeyed.wait()
            if keys == ["x", "x"]:
                await ohm.done.wait()
            group.cancel_scope.cancel()
    assert (board.note.text, board.is_open) == (note, is_open)


class Cancelling:
    """An `Ohm` whose tasks another process runs, which says what was cancelled."""

    def __init__(self) -> None:
        self.done = anyio.Event()

    def handle(self, _task_id: TaskId) -> None:
        return None

    async def call(self, _tool: str, asked: dict[str, str]) -> ToolResult:
        self.done.set()
        return ToolResult(text=f"{asked['id']} is cancelled.", details={}, is_error=True)


@pytest.mark.anyio
async def test_a_follow_up_to_a_task_that_is_not_kept_any_more_is_refused_and_unanswered() -> None:
    steering = Steering(Cancelling())
    assert await steering.send(TaskId("task_1"), "Hurry up.") == "Nothing was sent: the task is not kept any more."
    assert steering.unanswered == ["Hurry up."]


class Adopting(Cancelling):
    """An `Ohm` that runs a task of which the process has died."""

    diagnostics = ()

    @property
    def store(self) -> Adopting:
        return self

    def recent(self) -> list[Task]:
        return [queued_task("task_1")]

    def answering(self, _prompts: object, *, by: str):
        return nullcontext(by)


@pytest.mark.anyio
async def test_the_key_that_leaves_a_view_for_the_table_says_of_no_task_that_it_ends() -> None:
    table, opened, display, told = board_of(2), board_of(1), Watched(), []
    opened.back = lambda: table

    async def opens() -> Adopting:
        return Adopting()

    ohm = OhmOnDemand(opens)
    await ohm.opened()
    with terminal() as typed, anyio.open_signal_receiver(signal.SIGINT) as signals:
        async with anyio.create_task_group() as group:
            front = Front(opened)
            group.start_soon(Keyboard(ohm, front, display, group).run)
            for key in ("q", "q", ESCAPE, "q"):
                display.obeyed = anyio.Event()
                typed(key)
                await display.obeyed.wait()
                told.append((front.shown is table, front.shown.note.text))
            typed("q")
            assert await anext(signals) == signal.SIGINT
            group.cancel_scope.cancel()
    ends = "1 task goes on here and ends with this: q again / Esc"
    assert told == [(True, ""), (True, ends), (True, ""), (True, ends)]


def ended_task(task_id: str, parent: str | None = None) -> Task:
    events = (RunStarted(prompt="p"), RunEnded(outcome=Succeeded(), output="Done."), TaskSettled(outcome=Succeeded()))
    return reduce(
        lambda state, event: apply(state, event, at_ms=1),
        events,
        queued_task(task_id, parent=parent and TaskId(parent)),
    )


def asking(board: Board, task_id: str) -> Request:
    task = queued_task(task_id)
    request = Request(id=f"req_{task_id}", task_id=task.id, session_id="s", path=(task.id,), profile="p", tool="bash")
    for event in (RunStarted(prompt="p"), AnswerAwaited(request=request)):
        task = apply(task, event, at_ms=1)
        board.notify(task, event)
    return request


@pytest.mark.anyio
async def test_the_request_that_is_answered_is_that_of_the_chosen_task_else_of_the_first_that_asks() -> None:
    board, display, lent = board_of(1), Watched(), []
    here, also_here = (asking(board, f"task_{number}") for number in (2, 3))
    with terminal() as typed:
        async with anyio.create_task_group() as group:
            keyboard = Keyboard(Cancelling(), Front(board), display, group)
            ended = {one.id: anyio.Event() for one in (here, also_here)}

            async def answer(request: Request) -> None:
                async with keyboard.lent_to_answer(request):
                    lent.append(request.id)
                ended[request.id].set()

            async def press(*keys: str) -> None:
                for key in keys:
                    display.obeyed = anyio.Event()
                    typed(key)
                    await display.obeyed.wait()

            for request in (here, also_here):
                group.start_soon(answer, request)
            group.start_soon(keyboard.run)
            for keys, request in (((DOWN, UP, "a"), also_here), ((DOWN, "a"), here)):
                await press(*keys)
                await ended[request.id].wait()
            group.cancel_scope.cancel()
    assert lent == ["req_task_3", "req_task_2"]


def test_the_keys_of_a_task_that_is_opened_are_those_that_it_takes() -> None:
    board = board_of(1)
    asking(board, "task_2")
    board.notify(ended_task("task_3"), TaskSettled(outcome=Succeeded()))
    board.has_keys = board.is_open = True
    for task_id, keys in (
        ("task_1", "s send · x cancel"),
        ("task_2", "s send · a answer · x cancel"),
        ("task_3", "s send"),
    ):
        board.selection.chosen = task_id
        assert board.frame(80, 24).splitlines()[-1] == f"  q stop · Esc back · {keys}"


@pytest.mark.slow
def test_one_task_is_cancelled_and_the_others_go_on(ohm, ohm_process, delegated) -> None:
    (ohm.project / "tasks.json").write_text('[{"name": "1", "prompt": "stay"}, {"name": "2", "prompt": "stay"}]')
    with on_terminal(ohm_process, *delegated) as (screen, process):
        screen.wait_for("2 running", "x cancel")
        screen.type(DOWN + "x")
        screen.wait_for("Cancel 1? x again / Esc")
        screen.type("x")
        screen.wait_for("1 running · 1 cancelled")
        screen.type("q")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGINT


@pytest.fixture
def delegated(ohm):
    """Tasks of which the first waits until it is let go, and the others have ended."""
    ohm.configure({"subagentBackend": "stage"})
    tasks = [{"name": prompt, "prompt": prompt} for prompt in ("pause", "answer", "fail")]
    (ohm.project / "tasks.json").write_text(json.dumps(tasks))
    return ["delegate", "tasks.json"]


@pytest.mark.slow
def test_q_stops_with_what_was_done(ohm, ohm_process, delegated) -> None:
    (ohm.project / "tasks.json").write_text('[{"name": "hang", "prompt": "hang"}, {"name": "fail", "prompt": "fail"}]')
    with on_terminal(ohm_process, *delegated) as (screen, process):
        ohm.reached.read_text()
        screen.wait_for("1 running · 1 failed", "q stop")
        screen.type("q")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGINT
    assert "○ Delegate · hang\n    ├── ✓ read src/app.py · 12 lines\n    ╰── Cancelled after " in screen.text
    assert screen.text.endswith("Interrupted.\n")


@pytest.mark.slow
def test_a_child_is_opened_and_a_follow_up_that_cannot_be_sent_is_told(ohm, ohm_process, delegated) -> None:
    with on_terminal(ohm_process, *delegated) as (screen, process):
        ohm.reached.read_text()
        screen.wait_for("1 running · 1 failed · 1 succeeded", "q stop")
        screen.type(DOWN + DOWN + ENTER)
        screen.wait_for("Esc back", "line two")
        screen.type("s")
        screen.wait_for("Send to Delegate · answer; ")
        screen.type("More\n")
        screen.wait_for("is terminal (succeeded) and cannot be resumed.")
        ohm.released.write_text("go")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 1


@pytest.mark.slow
def test_a_follow_up_is_sent_to_a_task_at_work(ohm, ohm_process) -> None:
    with on_terminal(ohm_process, "run", "finder", "pause", "--backend", "stage") as (screen, process):
        ohm.reached.read_text()
        screen.wait_for("q stop · s send")
        screen.type("s")
        screen.wait_for("Send to Finder · pause; ")
        screen.type("wide\n")
        screen.wait_for("Sending: wide")
        ohm.released.write_text("go")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    (kept,) = json.loads(ohm("tasks", "--json").stdout)
    assert kept["usage"]["tool_calls"] == 2
    assert "beautiful beautiful" in ohm("task", kept["task_id"], "--transcript").stdout


@pytest.mark.slow
def test_while_others_work_a_request_waits_for_its_key(ohm, ohm_process) -> None:
    asks = {"task": {"tools": {"ask": ["bash: git push"]}}}
    ohm.configure({"subagentBackend": "stage", "suites": ["task"], "subagents": asks})
    items = [{"subagent_type": "task", "description": one, "prompt": one} for one in ("pause", "push")]
    call = json.dumps({"op": "start", "parallel": True, "tasks": items})
    with on_terminal(ohm_process, "call", "task", call) as (screen, process):
        ohm.reached.read_text()
        screen.wait_for("? Task · push", "Asks: bash", "a answer")
        assert "[y] once" not in screen.text
        screen.type("a")
        screen.wait_for("[y] once")
        shown = screen.text[screen.text.rindex("a answer") :].splitlines()
        asked = shown.index("Task · push wants to run bash:")
        assert shown[asked - 1].startswith("2 running (1 asking) · ")
        drawn = screen.text.count("a answer")
        screen.type(ESCAPE)
        screen.wait_for("a answer", times=drawn + 1)
        screen.type("a")
        screen.wait_for("[y] once", times=2)
        screen.type("y\n")
        screen.wait_for("✓ Task · push")
        ohm.released.write_text("go")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert "\nIt is pushed.\n" in screen.text
