"""A task of the suite `single` at a real `pi`, seen by the model that it asks."""

import json
import tempfile

import pytest
from model_server import Call, ModelServer, Say

from ohm_subagents import Ohm

pytestmark = [pytest.mark.anyio, pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]

SECRET = "api_key=" + "Qw3rTy" * 6


@pytest.fixture
def opened(desk, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(desk.temporary))
    return lambda server: Ohm.open(cwd=desk.work, env=desk.env, config=desk.config(server), suites=["single"])


async def test_the_task_is_an_argument_and_the_agent_its_system_prompt(desk, opened):
    (desk.work / "notes.txt").write_text(SECRET)
    script = (Say("I look.", Call("read", {"path": "notes.txt"}, id="c1")), Say(f"It says {SECRET}."))
    async with ModelServer(*script) as server, opened(server) as ohm:
        done = await ohm.call("subagent", {"agent": "explorer", "task": "--help @nobody\n- What do the notes say?"})
    assert done.text == "It says api_key=[REDACTED]."
    first, second = server.requests
    assert first.prompt == "Task: --help @nobody\n- What do the notes say?"
    told = first.messages[0]["content"]
    assert [
        told.index(part) for part in ("# Agent: explorer", "# Available tools\n\n- read\n- grep", "# Delegated task")
    ]
    assert {"read", "grep", "find", "ls"} >= set(first.tool_names) > set()
    assert SECRET in second.tool_results[0]
    (one,) = done.details["results"]
    assert (one["exitCode"], one["usage"]["turns"]) == (0, 2)
    kinds = [(item["type"], item.get("name", item.get("text"))) for item in one["displayItems"]]
    assert kinds[:2] == [("text", "I look."), ("toolCall", "read")]
    (record,) = desk.temporary.rglob("session.jsonl")
    roles = [json.loads(line)["message"]["role"] for line in record.read_text().splitlines()[1:]]
    assert roles == ["user", "assistant", "toolResult", "assistant"]
    assert "Qw3rTy" not in record.read_text() + json.dumps(done.details)


async def test_a_task_that_is_too_long_for_an_argument_goes_into_a_file(opened):
    async with ModelServer(Say("Yes.")) as server, opened(server) as ohm:
        done = await ohm.call("subagent", {"agent": "explorer", "task": "t" * 200_000})
    assert done.text == "Yes."
    assert f"Task: {'t' * 200_000}" in server.requests[0].prompt
