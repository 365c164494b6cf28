"""`ohm send`, `ohm cancel` and `ohm wait`: tasks are steered from the command line, whichever process runs them."""

from __future__ import annotations

import json
import signal
from decimal import Decimal

import pytest
from another_process import another_process
from anyio import to_thread
from screen import PATIENCE_S, on_terminal
from store_tasks import Clock, Hand, opened

from ohm_subagents.commands import system_clock
from ohm_subagents.contract import (
    AnswerAwaited,
    Failed,
    OhmError,
    Request,
    RunEnded,
    Succeeded,
    TaskSettled,
    ToolStarted,
    Usage,
    UsageAdded,
)


def test_a_task_of_another_process_is_waited_for_and_cancelled(ohm) -> None:
    ohm.configure({"subagentBackend": "stage"})
    with another_process(ohm.root / "config") as (task_id, _):
        waited = ohm("wait", task_id, "--timeout", "0.05")
        cancelled = ohm("cancel", task_id[:-1], "--json")
        again = ohm("cancel", task_id)
        settled = ohm("wait", task_id, "--any", "--json")
    assert waited.returncode == 1
    assert waited.stdout.endswith("\n    ╰── so far\n")
    assert waited.stderr == f"Task '{task_id}' has not settled; it goes on.\n"
    told = json.loads(cancelled.stdout)
    assert (told["task_id"], told["status"], told["prior_status"]) == (task_id, "cancelled", "running")
    assert cancelled.returncode == 0
    assert again.returncode == 0
    assert [line[:17] for line in again.stdout.splitlines()[1:3]] == ["    ├── ✕ read a.", "    ╰── Cancelled"]
    assert again.stderr == f"Task '{task_id}' was over before: it was cancelled.\n"
    for view in ((), ("--transcript",)):
        assert "It was cancelled by `ohm cancel`." in ohm("task", task_id, *view).stdout
    assert json.loads(settled.stdout)["items"][0]["status"] == "cancelled"


@pytest.mark.anyio
async def test_who_cancels_a_task_learns_how_many_below_it_end_too_and_what_all_of_them_cost(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage"})
    spent = UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.125")))
    with another_process(ohm.root / "config") as (task_id, _):
        clock = Clock(system_clock())
        async with opened("sqlite", ohm.root / "config", clock) as store:
            hand = Hand(store, clock)
            hand.started("task_child", spent, parent=task_id)
            hand.settled("task_grandchild", spent, parent="task_child")
            await store.flush()
            done = await to_thread.run_sync(ohm_process, "cancel", task_id)
    assert done.returncode == 0
    assert done.stderr == "1 task below it was cancelled too. With all 2 below it: $0.2500.\n"


def test_a_follow_up_to_a_busy_task_says_what_it_waits_for_and_is_withdrawn_in_time(ohm) -> None:
    ohm.configure({"subagentBackend": "stage"})
    with another_process(ohm.root / "config") as (task_id, _):
        sent = ohm("send", task_id, "and?", "--timeout", "0.05")
        kept = json.loads(ohm("task", task_id, "--json").stdout)
    assert sent.returncode == 1
    assert sent.stderr.startswith(
        f"Task '{task_id}' is running; the answer comes when the run that takes this has ended.\n"
    )
    assert "The caller stopped waiting" in sent.stderr
    assert kept["status"] == "running"


def test_a_follow_up_that_is_refused_says_so_and_not_how_its_task_had_failed(ohm) -> None:
    ohm.configure({"subagentBackend": "stage"})
    task_id = json.loads(ohm("run", "finder", "fail", "--json").stdout)["task_id"]
    sent = ohm("send", task_id, "and?")
    assert sent.returncode == 1
    assert (sent.stdout, "cannot be resumed. Start a new task, or" in sent.stderr) == ("", True)
    assert "It broke" not in sent.stdout + sent.stderr


def test_a_follow_up_to_a_finished_task_names_the_command_that_goes_on_with_it(ohm) -> None:
    path = ohm.configure({"subagentBackend": "none"})
    task_id = json.loads(ohm("run", "finder", "x", "--json").stdout)["task_id"]
    sent = ohm("send", task_id, "and?", "--config", f"{path}")
    assert f'`ohm run --resume {task_id} "…" --config {path}` starts a task that goes on' in sent.stderr
    assert ohm("run", "--resume", task_id, "…").returncode == 0
    assert "--resume" not in ohm("send", task_id, "and?", "--json").stderr
    ohm.configure({"subagentBackend": "none", "subagents": {"sendToFinished": "resume"}})
    assert ohm("send", task_id, "and?").returncode == 0


def test_a_follow_up_to_a_finished_task_prints_the_task_that_answered_alone(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage", "subagents": {"sendToFinished": "resume"}})
    task_id = json.loads(ohm("run", "finder", "remember", "--json").stdout)["task_id"]
    sent = ohm("send", task_id, "wide")
    assert sent.stdout.splitlines()[0] == "  ✓ Finder · remember (follow-up: wide)"
    assert sent.stdout.endswith("\n\n" + "beautiful " * 11 + "beautiful\n")
    assert ("line one" in sent.stdout, sent.returncode) == (False, 0)
    with on_terminal(ohm_process, "send", task_id, "wide " * 20) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    left = screen.text[screen.text.rindex("Finder") :]
    assert left.startswith("Finder · remember (follow-up)\n    ├── wide wide wide")
    assert "succeeded" not in left


def test_what_is_typed_wrong_is_told(ohm) -> None:
    unknown = [ohm(*words) for words in (["cancel", "task_9"], ["send", "task_9", "and?"], ["wait", "task_9"])]
    assert {done.returncode for done in unknown} == {1}
    assert all("task_9" in done.stderr for done in unknown)
    blank = ohm("send", "task_9", " ")
    assert (blank.returncode, blank.stderr.startswith("The follow-up is blank. ")) == (2, True)
    for words in (["wait", "task_9"], ["send", "task_9", "and?"]):
        for typed in ("0", "soon", "inf", "nan"):
            never = ohm(*words, "--timeout", typed)
            assert (never.returncode, never.stderr) == (2, f"--timeout is '{typed}'; allowed: seconds above 0.\n")


def test_a_task_of_another_process_is_followed_to_its_end(ohm) -> None:
    ohm.configure({"subagentBackend": "stage"})
    with another_process(ohm.root / "config") as (task_id, process):
        process.send_signal(signal.SIGTERM)
        followed = ohm("task", task_id, "--follow")
        events = ohm("task", task_id, "--follow", "--events")
    assert followed.returncode == events.returncode == 1
    assert "so far" in followed.stdout
    begun, _, row = followed.stdout.partition("\n\n○ read a.py")
    assert begun + "\n\n" + row.partition("\n\n")[2] == ohm("task", task_id, "--transcript").stdout
    assert events.stdout == ohm("task", task_id, "--events").stdout
    assert json.loads(events.stdout.splitlines()[-1])["kind"] == "task_settled"
    wrong = ohm("task", task_id, "--follow", "--output")
    assert (wrong.returncode, wrong.stderr.split(",")[0]) == (2, "--follow shows what a task does")


def test_the_tasks_of_all_processes_are_shown(ohm) -> None:
    ohm.configure({"subagentBackend": "stage"})
    with another_process(ohm.root / "config") as (task_id, process):
        shown = ohm("top")
        assert shown.stderr == ""
        _, _, line = shown.stdout.splitlines()
    assert [line.endswith("  p"), f" {task_id} " in line, f"running  pid {process.pid}" in line] == [True, True, True]
    assert ohm("top", "--settled", "1", "--sort", "cost").stdout.startswith("1 task: 1 failed")
    assert ohm("top", "--sort", "age").stderr == "--sort is 'age'; allowed: cost, time, tokens, profile.\n"


@pytest.mark.anyio
async def test_in_a_pipe_no_call_of_a_tree_is_cut(ohm, ohm_process) -> None:
    clock = Clock(system_clock())
    command = " && ".join(f"pytest -q tests/part_{number}" for number in range(9))
    async with opened("sqlite", ohm.root / "config", clock) as store:
        Hand(store, clock).settled(
            "task_1", ToolStarted(call_id="1", tool="bash", args=json.dumps({"command": command}))
        )
        await store.flush()
    for typed in ("task", "wait"):
        shown = await to_thread.run_sync(ohm_process, typed, "task_1")
        assert f" bash {command}" in shown.stdout


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_task_that_is_given_to_a_server_is_drawn_with_those_below_it(ohm, ohm_process) -> None:
    socket = str(ohm.root / "s.sock")
    with ohm_process.start("serve", "--socket", socket) as server:
        server.stdout.readline()
        with on_terminal(ohm_process, "run", "finder", "pause", "--backend", "stage", "--server", socket) as (
            screen,
            _,
        ):
            await to_thread.run_sync(ohm.reached.read_text)
            await to_thread.run_sync(screen.wait_for, "read src/app.py")
            [running] = json.loads((await to_thread.run_sync(ohm, "tasks", "--json")).stdout)
            clock = Clock(system_clock())
            async with opened("sqlite", ohm.root / "config", clock) as store:
                Hand(store, clock).started("task_child", parent=running["task_id"], description="Come too")
                await store.flush()
                await to_thread.run_sync(screen.wait_for, "2 running", "Come too")
            await to_thread.run_sync(ohm.released.write_text, "go")
            await to_thread.run_sync(screen.wait_for_end)
        server.terminate()
    assert screen.text.rstrip().endswith("line two")


@pytest.mark.slow
def test_a_task_that_is_followed_on_a_terminal_is_drawn_live(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage"})
    with (
        another_process(ohm.root / "config") as (task_id, _),
        on_terminal(ohm_process, "task", task_id, "--follow") as (screen, shown),
    ):
        screen.wait_for("so far", "read a.py")
        ohm("cancel", task_id)
        screen.wait_for_end()
        assert shown.wait(PATIENCE_S) == 1
        screen.wait_for("Cancelled after")


@pytest.mark.parametrize("command", [("wait",), ("task", "--follow")])
def test_whoever_leaves_a_task_of_another_process_keeps_what_was_drawn_and_it_goes_on(
    ohm, ohm_process, command
) -> None:
    ohm.configure({"subagentBackend": "stage"})
    word, *options = command
    with (
        another_process(ohm.root / "config") as (task_id, _),
        on_terminal(ohm_process, word, task_id, *options) as (screen, shown),
    ):
        screen.wait_for("so far", "  q leave (task goes on) · s send · x cancel")
        screen.type("q")
        screen.wait_for_end()
        assert shown.wait(PATIENCE_S) == 128 + signal.SIGINT
        assert " running," in ohm("tasks").stdout
    left = screen.text[screen.text.rindex("Finder · p") :].splitlines()
    assert [line.split()[0] for line in left[1:3]] == ["├──", "╰──"]
    assert len(left) == 4
    assert left[-1].endswith(" goes on.")


@pytest.mark.slow
@pytest.mark.parametrize("command", [("wait",), ("task", "--follow")])
def test_a_follow_up_that_nobody_has_taken_is_on_its_way_and_told_if_nothing_comes_of_it(
    ohm, ohm_process, command
) -> None:
    ohm.configure({"subagentBackend": "stage"})
    word, *options = command
    with (
        another_process(ohm.root / "config") as (task_id, _),
        on_terminal(ohm_process, word, task_id, *options) as (screen, _),
    ):
        screen.wait_for("q leave")
        screen.type("s")
        screen.wait_for("Send to Finder · p; ")
        screen.type("Hurry up.\n")
        screen.wait_for("Sending: Hurry up.")
        ohm("cancel", task_id)
        screen.wait_for_end()
    assert '\nNot answered: "Hurry up.".\n' in screen.text


@pytest.mark.slow
def test_a_task_that_is_followed_is_cancelled_by_a_key_pressed_twice(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage"})
    with (
        another_process(ohm.root / "config") as (task_id, _),
        on_terminal(ohm_process, "task", task_id, "--follow") as (screen, shown),
    ):
        screen.wait_for("x cancel")
        screen.type("x")
        screen.wait_for("Cancel p? x again / Esc")
        screen.type("x")
        screen.wait_for_end()
        assert shown.wait(PATIENCE_S) == 1
    assert "Cancelled after" in screen.text
    assert "It was cancelled on a terminal." in ohm("task", task_id).stdout


@pytest.mark.slow
def test_a_key_that_cannot_steer_says_why(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage"})
    with (
        another_process(ohm.root / "config") as (task_id, _),
        on_terminal(ohm_process, "task", task_id, "--follow") as (screen, _),
    ):
        screen.wait_for("x cancel")
        ohm.configure("{")
        screen.type("x")
        screen.wait_for("Cancel p? x again / Esc")
        screen.type("x")
        screen.wait_for("ohm.json")
        screen.type("q")
        screen.wait_for_end()


@pytest.mark.anyio
@pytest.mark.parametrize("command", [("task", "task_lead", "--follow"), ("wait", "task_lead")])
async def test_a_lead_that_waits_is_drawn_with_all_its_children_and_is_not_stuck(ohm, ohm_process, command) -> None:
    clock = Clock(system_clock() - 40_000)
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        lead = hand.started("task_lead", description="Release")
        hand.settled("task_done", parent="task_lead", description="Test", output="All pass.")
        hand.started("task_quiet", parent="task_lead", description="Write")
        await store.flush()
        with on_terminal(ohm_process, *command) as (screen, process):
            await to_thread.run_sync(screen.wait_for, "2 running (1 stuck) · 1 succeeded", "All pass.")
            await to_thread.run_sync(screen.wait_for, "Waits for 1 of 2 below: 1 stuck")
            hand.started("task_late", parent="task_quiet", description="Come late")
            await store.flush()
            await to_thread.run_sync(screen.wait_for, "3 running (1 stuck) · 1 succeeded", "Come late")
            hand.tell(lead, RunEnded(outcome=Succeeded(), output="Out."), TaskSettled(outcome=Succeeded()))
            await store.flush()
            await to_thread.run_sync(screen.wait_for_end)
            assert process.wait(PATIENCE_S) == 0
    left = screen.text[screen.text.rindex("2 running") :]
    marked = [(line.split()[0], line.split(" · ")[1][:4]) for line in left.splitlines() if "Finder" in line]
    assert marked[0] == ("✓", "Rele")
    assert [title for _, title in marked] == ["Rele", "Test", "Writ", "Come"]
    assert [mark == "!" for mark, _ in marked] == [False, False, False, True]
    assert left.rstrip().endswith("Out.")


@pytest.mark.anyio
async def test_a_failed_task_that_was_followed_leaves_why_it_failed_and_what_to_do(ohm, ohm_process) -> None:
    clock = Clock(system_clock() - 40_000)
    async with opened("sqlite", ohm.root / "config", clock) as store:
        broken = Failed(error=OhmError(code="x", message="It broke.", advice="Ask again."))
        Hand(store, clock).settled("task_bad", description="Break", outcome=broken)
        await store.flush()
    with on_terminal(ohm_process, "task", "task_bad", "--follow") as (screen, process):
        await to_thread.run_sync(screen.wait_for_end)
        assert process.wait(PATIENCE_S) == 1
    assert screen.text.rstrip().endswith("\nIt broke. Ask again.")


@pytest.mark.anyio
async def test_a_wait_that_ends_as_one_of_several_asks_leaves_what_was_drawn_and_tells_how_to_answer(
    ohm, ohm_process
) -> None:
    clock = Clock(system_clock() - 40_000)
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        lead = hand.started("task_lead", description="Release")
        asked = Request(id="req_1", task_id=lead.id, session_id="s", path=(lead.id,), profile="finder", tool="bash")
        hand.tell(lead, AnswerAwaited(request=asked))
        hand.started("task_quiet", description="Wait long")
        broken = Failed(error=OhmError(code="x", message="It broke.", advice="Ask again."))
        hand.settled("task_bad", parent="task_lead", description="Break", output="Half of it.", outcome=broken)
        await store.flush()
        with on_terminal(ohm_process, "wait", "task_lead", "task_quiet", "task_bad") as (screen, process):
            await to_thread.run_sync(screen.wait_for_end)
            assert process.wait(PATIENCE_S) == 1
    left = screen.text[screen.text.rindex("  ? Finder") :].splitlines()
    assert any(line.startswith("2 running (1 asking, 1 stuck) · 1 failed") for line in left)
    marks = [line.split()[0] for line in left if "Finder" in line and "wants to" not in line]
    assert marks == ["?", "✕", "!", "✕"]
    answers = left.index("Half of it.")
    assert left[answers - 1].endswith(" · Break")
    assert left[answers + 1 : answers + 3] == ["", "It broke. Ask again."]
    assert left[-2:] == [
        "  Answer it with: ohm answer req_1 approve (or deny '<reason>')",
        "1 other task goes on (1 stuck).",
    ]


def test_tasks_of_another_process_that_are_waited_for_and_cancelled_are_drawn_live(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage"})
    with (
        another_process(ohm.root / "config") as (task_id, _),
        on_terminal(ohm_process, "wait", task_id) as (screen, waiting),
    ):
        screen.wait_for("Finder · p", "read a.py", "so far", "q leave")
        with on_terminal(ohm_process, "cancel", task_id) as (other, cancelling):
            other.wait_for_end()
            assert cancelling.wait(PATIENCE_S) == 0
        screen.wait_for_end()
        assert waiting.wait(PATIENCE_S) == 1
    for text in (screen.text, other.text):
        assert "✕ read a.py" in text
        assert "╰── Cancelled after" in text


def test_a_wait_that_ends_before_its_task_says_that_it_goes_on(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage"})
    with (
        another_process(ohm.root / "config") as (task_id, _),
        on_terminal(ohm_process, "wait", task_id, "--timeout", "0.5") as (screen, waiting),
    ):
        screen.wait_for_end()
        assert waiting.wait(PATIENCE_S) == 1
    assert screen.text.endswith(f"╰── so far\nTask '{task_id}' has not settled; it goes on.\n")
