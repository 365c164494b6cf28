from __future__ import annotations

import json
import os
import re
import signal

import anyio
import pytest
from screen import PATIENCE_S, on_terminal
from store_tasks import opened

from ohm_subagents.commands import system_clock

SESSION = r"\(session: [0-9a-f]{16}\)"
FINAL = """\
  ✓ Delegate · pause
    ├── ✓ read src/app.py · 12 lines
    ╰── Succeeded after … · stage · 1 tool call
  ✕ Delegate · fail
    ├── ✓ read src/app.py · 12 lines
    ╰── Failed after … · stage · 1 tool call

  ✓ Delegate · pause
line one
  line two
…

  ✕ Delegate · fail
Said so far:
So far: app.py
Error: It broke. Repair it.
…

1 failed · 1 succeeded · … · 2 tool calls
"""


@pytest.fixture
def delegate(ohm):
    """Writes the tasks, one a prompt and named by it, and gives the arguments that delegate them."""
    ohm.configure({"subagentBackend": "stage"})

    def write(*prompts: str) -> list[str]:
        tasks = [{"name": prompt, "prompt": prompt} for prompt in prompts]
        (ohm.root / "project" / "tasks.json").write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
        return ["delegate", "tasks.json"]

    return write


def test_in_a_pipe_it_prints_what_the_model_reads(ohm, delegate) -> None:
    done = ohm(*delegate("answer", "wide"))
    assert re.fullmatch(rf"✓ answer: completed {SESSION}\n✓ wide: completed {SESSION}\n", done.stdout)
    assert done.returncode == 0


def test_the_tasks_of_one_call_are_found_together(ohm, delegate) -> None:
    async def read() -> list[str | None]:
        async with opened("sqlite", ohm.root / "config", system_clock) as store:
            return [task.assignment.call for task in store.tasks()]

    for prompts in (("answer", "wide"), ("answer", "answer")):
        assert ohm(*delegate(*prompts)).returncode == 0
    calls = anyio.run(read)
    assert calls[0] == calls[1] != calls[2] == calls[3]
    assert None not in calls


def test_one_that_fails_is_told_and_is_the_exit_code(ohm, delegate) -> None:
    done = ohm(*delegate("fail", "answer"))
    assert re.fullmatch(
        rf"✗ fail: error — It broke. Repair it. {SESSION}\n✓ answer: completed {SESSION}\n", done.stdout
    )
    assert done.returncode == 1


def test_tasks_may_come_from_standard_input(ohm, delegate) -> None:
    delegate("answer")
    done = ohm("delegate", "-", stdin=(ohm.project / "tasks.json").read_bytes())
    assert (done.stdout.partition(" (")[0], done.returncode) == ("✓ answer: completed", 0)


def test_what_of_a_task_was_not_honoured_is_told_beside_the_answer(ohm, delegate) -> None:
    delegate()
    tasks = [{"name": "a", "prompt": "answer", "colour": "red"}, {"name": "b", "prompt": "wide"}]
    (ohm.project / "tasks.json").write_text(json.dumps(tasks))
    done = ohm("delegate", "tasks.json")
    assert "Ignored unknown key" not in done.stdout
    assert done.stderr.splitlines() == ["a: Ignored unknown key 'colour'.", "a: Thinking is not honoured."]


def test_what_a_name_without_an_agent_profile_may_mean_is_told_beside_the_answer(ohm, delegate) -> None:
    delegate()
    (ohm.project / "tasks.json").write_text('[{"name": "a", "prompt": "answer", "profile": "finder"}]')
    done = ohm("delegate", "tasks.json")
    assert done.stdout.startswith('✗ a: error — Unknown profile: "finder". Available profiles: (none) (session: ')
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.startswith("a: 'finder' is a subagent of task and ohm run, and no agent profile: see it by ")
    assert done.stderr.endswith(" or write a profile of that name by 'ohm profile new finder'.\n")


def test_what_an_untrusted_project_does_not_get_is_said_once(ohm, delegate) -> None:
    delegate()
    ohm("profile", "new", "p", "--project", "--prompt", "You help.")
    (ohm.project / "tasks.json").write_text('[{"name": "a", "prompt": "answer", "profile": "p"}]')
    done = ohm("delegate", "tasks.json")
    assert done.stderr.count("of a project that is not trusted does not get the tools 'bash', ") == 1


def test_a_list_of_tasks_is_run_as_it_is(ohm, delegate) -> None:
    delegate()
    (ohm.project / "tasks.json").write_text('[{"name": "a", "prompt": "answer"}, {"name": "b", "prompt": "answer"}]')
    done = ohm("delegate", "tasks.json")
    assert re.fullmatch(rf"✓ a: completed {SESSION}\n✓ b: completed {SESSION}\n", done.stdout)
    assert done.returncode == 0


def test_a_backend_may_be_named_whatever_is_configured(ohm, delegate) -> None:
    asked = delegate("answer")
    ohm.configure({"subagentBackend": "stage", "suiteOptions": {"delegate": {"backend": "stage"}}})
    (window,) = json.loads(ohm(*asked, "--backend", "none", "--json").stdout)["windows"]
    assert (window["status"], "So far: app.py" in str(window)) == ("completed", False)
    refused = ohm(*asked, "--backend", "nobody")
    assert refused.returncode != 0
    assert "'nobody'" in refused.stdout + refused.stderr


def test_json_is_the_windows(ohm, delegate) -> None:
    details = json.loads(ohm(*delegate("answer"), "--json").stdout)
    (window,) = details["windows"]
    assert (details["globalStatus"], details["sessionIds"]) == ("done", [window["sessionId"]])
    assert (window["name"], window["status"], window["exitCode"]) == ("answer", "completed", 0)
    shown = json.loads(ohm("task", details["taskIds"][window["sessionId"]], "--json").stdout)
    assert shown["session_id"] == window["sessionId"]
    assert window["allMessages"][:2] == [
        {"text": "read → src/app.py", "kind": "tool"},
        {"text": "So far: app.py", "kind": "text"},
    ]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (None, "Cannot read 'tasks.json': No such file or directory.\n"),
        ("", "What 'tasks.json' says is not JSON: the text is empty.\n"),
        ("{", "What 'tasks.json' says is not JSON: the text ends too early, at line 1 column 1.\n"),
        ("\ufeff3", "The arguments must be a JSON object, not 3.\n"),
        ("[]", "'tasks' is []; allowed: a list of 1 to 16 tasks.\n"),
        ('{"tasks": []}', "'tasks' is []; allowed: a list of 1 to 16 tasks.\n"),
        (
            '{"tasks": [{"name": "a", "prompt": "b", "resume": "0123456789abcdef"}]}',
            'Cannot resume: session "0123456789abcdef" not found. '
            "The session may have expired or the ID is incorrect.\n",
        ),
    ],
)
def test_what_cannot_be_delegated_is_refused(ohm, written: str | None, told: str) -> None:
    ohm.configure({"subagentBackend": "stage"})
    if written is not None:
        (ohm.root / "project" / "tasks.json").write_text(written, encoding="utf-8")
    done = ohm("delegate", "tasks.json")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


def test_tasks_are_live_on_a_terminal_and_stay_as_one_tree_and_their_answers(ohm, ohm_process, delegate) -> None:
    with on_terminal(ohm_process, *delegate("pause", "fail")) as (screen, process):
        ohm.reached.read_text()
        screen.wait_for("1 running · 1 failed · ", "read src/app.py · 12 lines", "✕ Delegate · fail ", "Enter open")
        ohm.released.write_text("go")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 1
    last = "".join(screen.text.rpartition("  ✓ Delegate · pause\n    ├──")[1:])
    assert re.sub(r"\d+\.\ds|\d+s|session \w+", "…", last) == FINAL
    assert "\x1b[32m✓\x1b[0m" in screen.raw
    assert screen.raw.rindex("\x1b[?25h") > screen.raw.rindex("\x1b[?25l")


def test_a_terminal_that_wants_no_colours_gets_none(ohm, ohm_process, delegate) -> None:
    ohm.env["NO_COLOR"] = "1"
    with on_terminal(ohm_process, *delegate("answer")) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert "✓ Delegate · answer\n" in screen.text
    assert re.search(r"\x1b\[[0-9;]*m", screen.raw) is None


def test_what_a_sub_agent_says_cannot_drive_the_terminal(ohm_process, delegate) -> None:
    with on_terminal(ohm_process, *delegate("escape")) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert "\x1b]0;" not in screen.raw
    assert "\x07" not in screen.raw
    assert "\nred\nsession " in screen.text


@pytest.mark.parametrize("options", [(), pytest.param(("--json",), marks=pytest.mark.slow)])
def test_ctrl_c_ends_the_children_and_tells_what_there_is(ohm, ohm_process, delegate, options: tuple[str, ...]) -> None:
    with ohm_process.start(*delegate("answer", "hang"), *options) as process:
        child = int(ohm.reached.read_text())
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, stderr.decode().splitlines()[-1]) == (130, "Interrupted.")
    if options:
        assert [window["status"] for window in json.loads(stdout)["windows"]] == ["completed", "error"]
    else:
        told = re.escape("✗ hang: error — Its command was stopped: by q, Ctrl-C or a signal.")
        assert re.fullmatch(rf"✓ answer: completed {SESSION}\n{told} {SESSION}\n", stdout.decode())
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
