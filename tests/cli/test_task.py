"""`ohm task <id>`: for a person, for a pipe, for a program."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from anyio import to_thread
from screen import PATIENCE_S, on_terminal
from store_tasks import Clock, Hand, opened

from ohm_subagents.commands import system_clock
from ohm_subagents.contract import AnswerAwaited, FollowUpTaken, Request, ToolEnded, ToolStarted

BIG = runpy.run_path(str(Path(__file__).parent / "plugin" / "ohm_cli_fixture.py"))["BIG"]


def ran(ohm, *arguments: str) -> str:
    """The id of a task that has ended."""
    return json.loads(ohm("run", "finder", *arguments, "--json").stdout)["task_id"]


def test_what_a_task_without_an_answer_said_is_its_last_paragraph_and_says_that_it_is_no_answer(ohm) -> None:
    task_id = ran(ohm, "three paragraphs, then fail", "--backend", "stage")
    said = f"Said so far (after 2 earlier paragraphs: ohm task {task_id} --transcript):\nLast: c.py\n"
    for done in (ohm("task", task_id).stdout, ohm("wait", task_id).stdout):
        assert f"\n\n{said}" in done
        assert "More: b.py" not in done
    failed = ohm("run", "finder", "three paragraphs, then fail", "--backend", "stage").stderr
    assert failed.endswith(" --transcript):\nLast: c.py\n\nIt broke.\n")


def test_what_is_known_is_followed_by_the_tree_and_how_it_ended(ohm) -> None:
    facts, tree, said, error, launch = ohm("task", ran(ohm, "fail", "--backend", "stage")).stdout.split("\n\n")
    assert tree.splitlines()[:2] == ["  ✕ Finder · fail", "    ├── ✓ read src/app.py · 12 lines"]
    assert tree.splitlines()[-1].startswith("    ╰── Failed after ")
    assert (said, error) == ("Said so far:\nSo far: app.py", "It broke. Repair it.")
    assert launch.startswith("launch        sha256 ")
    assert "sha256" not in facts
    known = dict(line.split(maxsplit=1) for line in facts.splitlines())
    assert (known["status"], known["backend"], known["usage"]) == ("failed", "stage", "1 tool call")
    assert known["error"] == "It broke. Repair it. (task_backend_execution_failed)"


def test_the_answer_is_above_the_launch_record_and_where_it_is_long_how_to_see_all_of_it(ohm) -> None:
    assert "\n\nline one\n  line two\n\nlaunch " in ohm("task", ran(ohm, "answer", "--backend", "stage")).stdout
    task_id = ran(ohm, "big", "--backend", "stage")
    shown = ohm("task", task_id).stdout
    assert f"\n… all of it: ohm task {task_id} --output\n\nlaunch " in shown
    assert "größer 大" in shown
    assert len(shown) < len(BIG) // 10


@pytest.mark.anyio
async def test_on_a_terminal_the_question_of_a_child_is_below_the_tree_with_the_command_that_answers(
    ohm, ohm_process
) -> None:
    clock = Clock(system_clock())
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        hand.started("task_lead", description="Release")
        child = hand.started("task_child", parent="task_lead", description="Name it")
        named = {"id": "req_1", "task_id": child.id, "session_id": child.session_id, "path": (child.id,)}
        asked = Request(
            profile="finder",
            kind="question",
            question="Which of the two " + "or three " * 9 + "is it?",
            options=("2.4.1", "3.0.0"),
            **named,
        )
        hand.tell(child, AnswerAwaited(request=asked))
        await store.flush()
        with on_terminal(ohm_process, "task", "task_lead") as (screen, process):
            await to_thread.run_sync(screen.wait_for_end)
            assert process.wait(PATIENCE_S) == 0
    facts, _, tree = screen.text.partition("\n\n")
    assert facts.startswith("task          task_lead\n")
    assert max(map(len, screen.text.splitlines())) <= 80
    assert "  ╰── Asks: Which of the two" in tree
    assert tree.endswith(" or three is it?\n  1) 2.4.1\n  2) 3.0.0\n  Answer it with: ohm answer req_1 text '…'\n")


@pytest.mark.anyio
async def test_a_follow_up_that_is_not_heard_yet_is_told_with_what_it_waits_for(ohm) -> None:
    clock = Clock(system_clock())
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        begun = ToolStarted(call_id="1", tool="bash", args='{"command": "make"}')
        task = hand.started("task_1", begun, FollowUpTaken(prompt="and\ntests?"))
        told = "Follow-up, heard once bash has ended: and tests?"
        await store.flush()
        assert told in (await to_thread.run_sync(ohm, "task", "task_1")).stdout
        hand.tell(task, ToolEnded(call_id="1", tool="bash", status="success"))
        await store.flush()
        assert told not in (await to_thread.run_sync(ohm, "task", "task_1")).stdout


def test_the_id_of_a_session_leads_to_its_tasks(ohm) -> None:
    task_id = ran(ohm, "answer", "--backend", "stage")
    session_id = json.loads(ohm("task", task_id, "--json").stdout)["session_id"]
    done = ohm("task", session_id)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"'{session_id}' is no task, but a session. Its task is '{task_id}'.\n"


@pytest.mark.parametrize("prompt", ["answer", "escape", "big"])
def test_the_answer_stands_alone_byte_for_byte(ohm, prompt: str) -> None:
    answer = ohm("run", "finder", prompt, "--backend", "stage").stdout
    [task] = json.loads(ohm("tasks", "--json").stdout)
    done = ohm("task", task["task_id"], "--output")
    assert (done.returncode, done.stdout, done.stderr) == (0, answer, "")
    assert prompt != "big" or answer == f"{BIG}\n"


def test_a_failed_task_has_no_answer(ohm) -> None:
    task_id = ran(ohm, "fail", "--backend", "stage")
    done = ohm("task", task_id, "--output")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Task '{task_id}' has no answer; it has failed. What it said is in ohm task {task_id} --transcript.\n"
    )


def test_the_transcript_tells_what_was_said_and_done(ohm) -> None:
    told = ohm("task", ran(ohm, "answer", "--backend", "stage"), "--transcript").stdout
    headings = [line.partition(" · ")[0] for line in told.splitlines() if line and not line.startswith("  ")]
    assert headings[1:] == ["prompt", "✓ read src/app.py", "assistant", "diagnostic", "answer", "✓ succeeded"]
    assert "\n  line one\n    line two\n" in told


def test_the_transcript_is_uncut(ohm) -> None:
    assert f"  {BIG}\n" in ohm("task", ran(ohm, "big", "--backend", "stage"), "--transcript").stdout


def test_events_are_one_json_value_a_line_from_beginning_to_end(ohm) -> None:
    lines = ohm("task", ran(ohm, "answer", "--backend", "stage"), "--events").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["kind"] for event in events] == [
        *("task_queued", "run_started", "tool_started", "tool_ended", "text_delta", "diagnostic_raised"),
        *("run_ended", "task_settled"),
    ]
    assert (events[1]["prompt"], events[-2]["output"]) == ("answer", "line one\n  line two")
    assert [event["at_ms"] for event in events] == sorted(event["at_ms"] for event in events)


def test_a_task_that_streamed_nothing_has_its_prompt_and_answer(ohm) -> None:
    task_id = ran(ohm, "Grüße 世界", "--backend", "none")
    kinds = [json.loads(line)["kind"] for line in ohm("task", task_id, "--events").stdout.splitlines()]
    assert kinds == ["task_queued", "run_started", "run_ended", "task_settled"]
    assert "\n  prompt: Grüße 世界\n" in ohm("task", task_id, "--transcript").stdout


def test_json_is_the_envelope_of_the_run(ohm) -> None:
    envelope = ohm("run", "finder", "big", "--backend", "stage", "--json").stdout
    task_id = json.loads(envelope)["task_id"]
    assert ohm("task", task_id, "--json").stdout == envelope
    refused = ohm("task", "nobody", "--json")
    assert (refused.returncode, json.loads(refused.stdout)["error_code"]) == (1, "unknown_task_id")


def test_the_beginning_or_end_of_an_id_is_enough_while_only_one_has_it(ohm) -> None:
    first, second = ran(ohm, "one"), ran(ohm, "two")
    alone = next(first[:end] for end in range(len(first) + 1) if not second.startswith(first[:end]))
    assert "Finder · one" in ohm("task", alone).stdout
    alone = next(first[-end:] for end in range(1, len(first) + 1) if not second.endswith(first[-end:]))
    assert "Finder · one" in ohm("task", alone).stdout
    assert ohm("policy", "explain", alone).stdout.startswith(f"Task: {first}\n")
    assert "it has succeeded" in ohm("cancel", alone).stderr
    done = ohm("task", "task_")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"2 ids begin or end with 'task_': '{second}' (two), '{first}' (one). Type more of it.\n"
    told = "`ohm tasks` lists those that are kept: each for 1d 00h after its end (subagents.taskRetentionMs)."
    assert ohm("task", "").stderr == f"Unknown task id ''. {told}\n"


@pytest.mark.parametrize("command", [("task",), ("policy", "explain"), ("cancel",)])
def test_the_hint_of_a_command_names_the_configuration_that_was_typed(ohm, tmp_path, command) -> None:
    config = tmp_path / "my own.json"
    config.write_text('{"subagentBackend": "none"}', encoding="utf-8")
    done = ohm(*command, "task_nowhere", "--config", str(config))
    assert f"`ohm tasks --config '{config}'` lists those that are kept" in done.stderr
    assert "`ohm tasks` lists those that are kept" in ohm(*command, "task_nowhere").stderr
