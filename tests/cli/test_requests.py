"""Requests of subagents on the command line: asked at a terminal, listed and answered from another one."""

from __future__ import annotations

import json
import re
import shlex
import signal

import pytest
from anyio import to_thread
from model_server import Call, ModelServer, Say
from screen import PATIENCE_S, on_terminal
from store_tasks import Clock, Hand, opened

from ohm_subagents._terminal.prompts import text_answer
from ohm_subagents.commands import system_clock
from ohm_subagents.contract import AnswerAwaited, Request, Text

ASKS = {"tools": {"ask": ["bash: git push *", "bash: git push"]}}
RUN = ("run", "task", "push")


@pytest.fixture(autouse=True)
def asking(ohm):
    ohm.configure({"subagentBackend": "stage", "suites": ["task"], "subagents": {"task": ASKS}})


def test_a_person_at_the_terminal_is_asked_before_each_call(ohm_process) -> None:
    answers = [["what?\n", "y\n"], ["n Not now\n"], ["n\n", "Not on Friday\n"], ["\x03"], ["\x04"]]
    keys = ("Type a letter, then Enter: [y] once", "[a] this call\nin this directory, always", "[n why] deny")
    with on_terminal(ohm_process, "run", "task", "push five times") as (screen, process):
        for number, typed in enumerate(answers, 1):
            screen.wait_for("wants to run bash:", "  command: git push", *keys, times=number)
            for line in typed:
                screen.type(line)
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    said = re.findall(r"It is pushed|was denied: Not (?:now|on Friday)|was denied\.", " ".join(screen.text.split()))
    assert said == [
        "It is pushed",
        "was denied: Not now",
        "was denied: Not on Friday",
        "was denied.",
        "was denied.",
    ]


def test_a_person_at_the_terminal_answers_questions_by_number_in_words_or_not_at_all(ohm, ohm_process) -> None:
    tools = {"tools": ["read", "ask_parent"]}
    ohm.configure({"subagentBackend": "stage", "suites": ["task"], "subagents": {"task": tools}})
    with on_terminal(ohm_process, "run", "task", "ask") as (screen, process):
        for number, typed in enumerate((["\n", "2\n"], ["The newest one.\n"]), 1):
            screen.wait_for("Which branch?", "1) main", "2) dev", "Type a number or your own answer.", times=number)
            for line in typed:
                screen.type(line)
        screen.wait_for("May I?", "Type your answer. (Ctrl-C denies")
        screen.type("\x03")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert "dev / The newest one. / Nobody has answered." in screen.text


@pytest.mark.slow
def test_a_question_of_a_model_is_answered_at_the_terminal(ohm, ohm_process) -> None:
    question = Call("ask_parent", {"question": "Which branch?", "options": ["main", "dev"]})
    profile = "---\nid: worker\nsummary: Works\nmodel: acme/m1\ntools: [ask_parent]\n---\nWork."
    with ModelServer(Say(question), Say("It is done.")) as server:
        acme = {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["m1"]}
        folder = ohm.configure({"suites": ["task"], "providers": {"acme": acme}}).parent / "subagents"
        folder.mkdir()
        (folder / "worker.md").write_text(profile)
        ohm.env["ACME_KEY"] = "k"
        with on_terminal(ohm_process, "run", "worker", "Do it.") as (screen, process):
            screen.wait_for("Worker · Do it. asks:", "Which branch?", "2) dev", "Type a number or your own answer.")
            screen.type("2\n")
            screen.wait_for_end()
            assert process.wait(PATIENCE_S) == 0
        assert server.requests[1].tool_results == ["dev"]
    assert "It is done." in screen.text


def test_what_was_typed_before_is_no_answer(ohm_process) -> None:
    with on_terminal(ohm_process, *RUN) as (screen, process):
        screen.type("y\ny\n")
        screen.wait_for("[y] once")
        screen.type("\x03")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert "It is pushed" not in screen.text


def test_a_signal_from_outside_ends_a_run_that_asks(ohm_process) -> None:
    with on_terminal(ohm_process, *RUN) as (screen, process):
        screen.wait_for("[y] once")
        process.send_signal(signal.SIGTERM)
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM


def open_request(ohm):
    """The one request that is open; it is told before it is stored."""
    while not (found := json.loads(ohm("requests", "--json").stdout)):
        pass
    (request,) = found
    return request


@pytest.mark.slow
def test_a_task_of_another_process_is_answered_and_sent_to_while_it_is_followed(ohm, ohm_process) -> None:
    with ohm_process.start(*RUN) as process:
        task_id = open_request(ohm)["task_id"]
        with on_terminal(ohm_process, "task", task_id, "--follow") as (screen, shown):
            screen.wait_for("q leave (task goes on) · s send · a answer · x cancel")
            screen.type("a")
            screen.wait_for("Task · push wants to run bash:", "  command: git push", "[y] once")
            drawn = screen.text.count("a answer")
            screen.type("\x1b")
            screen.wait_for("a answer", times=drawn + 1)
            screen.type("s")
            screen.wait_for("Send to Task · push; an empty line sends nothing:")
            screen.type("wide\n")
            screen.wait_for("Sending: wide")
            screen.type("a")
            screen.wait_for("[y] once", times=2)
            screen.type("y\n")
            screen.wait_for_end()
            assert shown.wait(PATIENCE_S) == 0
        assert process.wait(PATIENCE_S) == 0
        assert process.stdout.read() == b"It is pushed.\n"
    said = ohm("task", task_id, "--transcript").stdout
    assert 0 < said.index("It is pushed.") < said.index("beautiful beautiful")


@pytest.mark.slow
def test_who_is_asked_what_somebody_else_answers_is_told(ohm, ohm_process) -> None:
    with ohm_process.start("run", "task", "push five times"):
        asked = open_request(ohm)
        with on_terminal(ohm_process, "task", asked["task_id"], "--follow") as (screen, _):
            screen.wait_for("a answer")
            screen.type("a")
            screen.wait_for("[y] once")
            ohm("answer", asked["id"], "approve")
            screen.wait_for("It asks that no longer.")
            screen.type("q")
            screen.wait_for_end()


def hint_of(process) -> str:
    told = b""
    while b"Answer it with: " not in told:
        told += process.stderr.readline()
    return told.decode()


@pytest.mark.anyio
async def test_on_a_terminal_a_request_begins_with_what_is_asked_and_ends_with_the_command(ohm, ohm_process) -> None:
    clock = Clock(system_clock() - 5_000)
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        task = hand.started("task_1")
        named = {"id": "req_1", "task_id": task.id, "session_id": task.session_id, "path": (task.id,)}
        push = '{"command": "git push origin main --follow-tags --signed"}'
        asked = Request(profile="finder", tool="bash", arguments=push, asked_ms=clock(), **named)
        hand.tell(task, AnswerAwaited(request=asked))
        await store.flush()
        with on_terminal(ohm_process, "requests", columns=42) as (screen, process):
            await to_thread.run_sync(screen.wait_for_end)
            assert process.wait(PATIENCE_S) == 0
    lines = screen.text.splitlines()
    assert lines[:3] == [
        "Finder · look (task_1) wants to run bash:",
        "  command: git push origin main",
        "    --follow-tags --signed",
    ]
    assert lines[3].startswith("  asked ")
    assert lines[-3:-1] == ["  Answer it with: ohm answer req_1 approve", "  (or deny '<reason>')"]


def test_without_a_terminal_the_run_says_how_to_answer_and_another_process_does(ohm, ohm_process) -> None:
    with ohm_process.start(*RUN) as process:
        told, request = hint_of(process), open_request(ohm)
        listed = ohm("requests").stdout
        shown, tasks = ohm("task", request["task_id"]).stdout, ohm("tasks").stdout
        answered = ohm("answer", request["id"][:-3], "approve")
        assert process.wait(PATIENCE_S) == 0
        assert process.stdout.read() == b"It is pushed.\n"
    assert f"ohm answer {request['id']} approve" in told
    assert (request["tool"], request["arguments"]) == ("bash", '{"command":"git push"}')
    assert re.search(r"Asks: bash git push\s+\(", shown)
    assert re.search(rf"(?m)^asks +bash .*\({request['id']}\) · asked \d+s ago", shown)
    assert " · asking, pid " in tasks
    assert " · Asks: bash git push (" in tasks
    assert f" ({request['id']}) · " in tasks
    assert listed.startswith(f"{request['id']} Task · push (task_")
    assert (" · bash git push (" in listed, "\n    command: git push\n" in listed) == (True, True)
    assert (answered.returncode, answered.stdout.split(":")[0]) == (0, f"{request['id']} approved [terminal]")
    assert ohm("requests").stdout == "No subagent waits for an answer.\n"
    late = ohm("answer", request["id"], "deny")
    assert (late.returncode, "is not open any more" in late.stderr) == (2, True)


def test_the_command_that_answers_names_the_configuration_that_was_typed(ohm, ohm_process) -> None:
    user = ohm.root / "config" / "ohm.json"
    config = user.rename(ohm.root / "another one.json")
    with ohm_process.start(*RUN, "--config", str(config)) as process:
        told, _ = hint_of(process), open_request(ohm)
        command = told.rpartition("Answer it with: ohm ")[2].partition("  (")[0]
        assert f"--config '{config}'" in command
        assert ohm(*shlex.split(command)).returncode == 0
        assert process.wait(PATIENCE_S) == 0


def test_a_task_whose_process_was_killed_goes_on_with_the_answer(ohm, ohm_process) -> None:
    with ohm_process.start(*RUN) as process:
        hint_of(process)
        request = open_request(ohm)
        process.kill()
        process.wait(PATIENCE_S)
    assert open_request(ohm) == request
    with ohm_process.start("answer", request["id"], "approve") as process:
        told, later = hint_of(process), open_request(ohm)
        assert ohm("answer", later["id"], "deny", "Once is enough").returncode == 0
        assert process.wait(PATIENCE_S) == 0
        assert b"It is pushed.\nThe call of 'bash' was not made" in process.stdout.read()
    assert f"task '{request['task_id']}' goes on here" in told
    assert f"ohm answer {later['id']} approve" in told
    assert json.loads(ohm("task", request["task_id"], "--json").stdout)["status"] == "succeeded"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["approve", "it"], "An approval has no words: leave out 'it', or answer a question with text."),
        (["maybe"], "'maybe' is no answer. Allowed: approve, deny, text."),
        (["text"], "The text is missing: ohm answer <id> text '<words>'."),
        (["approve", "--scope", "ever"], "'ever' is no scope. Allowed: call, task, always."),
        (["deny"], "There is no request 'req_1'. `ohm requests` lists those that wait for an answer."),
    ],
)
def test_an_answer_that_is_none_is_refused_with_a_sentence(ohm, words, sentence) -> None:
    done = ohm("answer", "req_1", *words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == sentence


@pytest.mark.parametrize(("typed", "text"), [("2", "blue"), (" 1 ", "red"), ("3", "3"), ("blue", "blue")])
def test_the_number_of_an_option_is_that_option(typed: str, text: str) -> None:
    request = Request(
        id="req_1_t", task_id="t", session_id="s", path=("t",), profile="p", kind="question", options=("red", "blue")
    )
    assert text_answer(request, typed) == Text(text)
