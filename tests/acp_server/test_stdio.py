"""`ohm acp` in a process of its own, over its standard streams."""

import json
import signal

import psutil
import pytest
from acp_process import acp_process, initialize, new_session, prompt
from command_line import in_this_process
from mcp_process import place_of, request

from ohm_subagents.acp.greeting import first_answer, greeting

MOST_CPU_S = 1.0
"""Twice what it takes on a slow machine, and less than the import of an agent loop."""


def test_the_first_answer_costs_little_a_prompt_works_and_a_closed_stream_ends_everything(tmp_path):
    with acp_process(tmp_path) as server:
        server.write(initialize())
        first, spent = server.read(), server.cpu_s()
        server.write(b"hello", request(None, "session/new"), new_session(tmp_path))
        refused, no_id = server.read(), server.read()
        session = server.answer(1)["result"]["sessionId"]
        server.write(prompt(2, session, "hang"))
        child = int(server.reached())
        server.write(prompt(2, session, "again"), request(3, "session/prompt", {"sessionId": session}))
        repeated, unfit = server.answer(2), server.answer(3)
        code, _, told = server.ended()

    assert first == {"jsonrpc": "2.0", "id": 0, "result": greeting()}
    assert spent < MOST_CPU_S
    assert refused["error"]["message"].startswith("A line is no JSON-RPC message: Expecting value")
    assert (no_id["id"], no_id["error"]["message"]) == (None, "The id of a request is no text and no whole number.")
    assert repeated["error"]["message"].startswith("The request id 2 is in use by a request that goes on.")
    sentence = "The parameters of session/prompt do not fit: 'prompt': Field required."
    assert unfit["error"] == {"code": -32602, "message": sentence, "data": None}
    assert (code, told) == (0, "")
    assert not psutil.pid_exists(child)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_everything_while_the_editor_keeps_the_stream_open(tmp_path, number):
    with acp_process(tmp_path) as server:
        server.write(prompt(2, server.begin(tmp_path), "hang"))
        child = int(server.reached())
        server.process.send_signal(number)
        assert server.process.wait(30) == 128 + number

    assert not psutil.pid_exists(child)


@pytest.mark.slow
def test_an_editor_that_closes_only_its_reading_end_ends_everything(tmp_path):
    with acp_process(tmp_path) as server:
        session = server.begin(tmp_path)
        server.process.stdout.close()
        server.write(prompt(2, session, "answer"))
        assert server.process.wait(30) == 0


@pytest.mark.slow
@pytest.mark.parametrize("id_first", [True, False])
def test_a_prompt_of_50_mb_is_refused_and_the_next_one_is_answered(tmp_path, id_first):
    with acp_process(tmp_path) as server:
        session = server.begin(tmp_path)
        message = prompt("big", session, "x" * 50_000_000)
        if not id_first:
            message = {name: message[name] for name in ("method", "params", "jsonrpc", "id")}
        server.write(message)
        refusal = server.answer("big")["error"]
        server.write(prompt(3, session, "answer"))
        assert server.answer(3)["result"]["stopReason"] == "end_turn"

    assert refusal["message"].startswith("The message has 5000")
    assert refusal["message"].endswith("Write large input to a file, and name its path in the prompt.")


@pytest.mark.slow
def test_a_session_of_a_killed_server_goes_on_in_the_next_one_and_nothing_is_left_running(tmp_path):
    with acp_process(tmp_path) as server:
        session = server.begin(tmp_path)
        server.write(prompt(2, session, "remember"))
        assert server.answer(2)["result"]["stopReason"] == "end_turn"
        server.write(prompt(3, session, "hang"))
        child = psutil.Process(int(server.reached()))
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(10)
    child.kill()

    with acp_process(tmp_path) as server:
        server.begin(tmp_path)
        server.write(request(2, "session/list", {"cwd": f"{tmp_path}"}))
        listed = [each["sessionId"] for each in server.answer(2)["result"]["sessions"]]
        server.write(request(3, "session/load", {"sessionId": session, "cwd": f"{tmp_path}", "mcpServers": []}))
        shown = []
        while (message := server.read()).get("id") != 3:
            shown.append(message["params"]["update"])
        server.write(prompt(4, session, "answer"))
        assert server.answer(4)["result"]["stopReason"] == "end_turn"
        _, _, told = server.ended()

    prompts = [each["content"]["text"] for each in shown if each["sessionUpdate"] == "user_message_chunk"]
    said = "".join(each["content"]["text"] for each in shown if each["sessionUpdate"] == "agent_message_chunk")
    assert (listed, prompts) == ([session], ["remember", "hang"])
    assert "So far: app.py" in said
    assert "died before" in said or "gone" in said
    done = in_this_process("tasks", "--json", cwd=tmp_path, env=place_of(tmp_path))
    assert {task["status"] for task in json.loads(done.stdout)} == {"succeeded", "failed"}
    assert told


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 100_000,
        b"\xff",
        json.dumps({**initialize(), "id": None}).encode(),
        json.dumps(initialize(version="1")).encode(),
        json.dumps(request(0, "session/new", {})).encode(),
    ],
    ids=range(8),
)
def test_a_first_line_that_is_no_plain_beginning_is_left_to_the_library(line):
    assert first_answer(line) is None


def test_without_its_package_the_command_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("ohm_subagents.acp.commands.find_spec", lambda _name: None)
    done = in_this_process("acp", cwd=tmp_path, env=place_of(tmp_path))
    assert done.returncode == 2
    assert "`ohm acp` needs the package agent-client-protocol, which is not installed." in done.stderr
