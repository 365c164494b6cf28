"""A pi that is kept running for follow-ups: real processes, whose pi is a script that answers with its own pid."""

import json
import os
import signal
import sys
from contextlib import asynccontextmanager

import pytest
from loops import slow_on_trio
from pi_desk import gone

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

PI = """
import json, os, sys

def tell(**record):
    print(json.dumps(record), flush=True)

def keep(*records):
    with open(sys.argv[sys.argv.index("--session") + 1], "a") as file:
        if not file.tell():
            records = ({"type": "session", "version": 3, "id": "abc", "cwd": os.getcwd()}, *records)
        file.writelines(json.dumps(record, separators=(",", ":")) + "\\n" for record in records)

if "--version" in sys.argv:
    sys.exit(print("1.5.2"))
if "--help" in sys.argv:
    sys.exit(print("--mode --session --no-approve"))
asked = 0
tell(type="extension_ui_request", id="u0", method="setStatus", statusKey="ohm-gate")
for line in sys.stdin:
    command = json.loads(line)
    if command["type"] == "get_state":
        tell(id=command["id"], type="response", command="get_state", success=True)
    if command["type"] != "prompt":
        continue
    asked += 1
    tell(id=command["id"], type="response", command="prompt", success=True)
    tell(type="agent_start")
    said = {"role": "user", "content": [{"type": "text", "text": command["message"]}]}
    tell(type="message_start", message=said)
    text = f"{os.getpid()} {asked}"
    told = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"}
    keep({"type": "message", "id": f"m{asked}", "parentId": None, "message": told})
    tell(type="message_end", message=told)
    tell(type="agent_end", messages=[])
    tell(type="agent_settled")
"""


@pytest.fixture
def opened(tmp_path):
    @asynccontextmanager
    async def ohm(**options):
        script = tmp_path / "pi.py"
        script.write_text(PI, encoding="utf-8")
        shell = {"command": [sys.executable, "-I", "-S", str(script)], **options}
        backends = {"interactive-shell": shell}
        config = {
            "subagentBackend": "interactive-shell",
            "subagents": {"sendToFinished": "resume", "backends": backends},
        }
        agent = {"PI_CODING_AGENT_DIR": str(tmp_path / ".pi" / "agent")}
        env = HERMETIC | agent | {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        async with Ohm.open(cwd=tmp_path, env=env, config=config) as opened:
            yield opened

    return ohm


async def asked_twice(ohm, between=lambda _pid: None):
    """Pid of the pi and number of the prompt, of a task and of its follow-up."""
    handle = await ohm.start("task", "first")
    first = (await handle.wait()).ok_value.output.split()
    between(int(first[0]))
    second = (await handle.send("again")).ok_value.output.split()
    return first, second


async def test_a_follow_up_is_answered_by_the_process_that_waits_for_it(opened):
    async with opened() as ohm:
        first, second = await asked_twice(ohm)
    assert (first[0], first[1], second[1]) == (second[0], "1", "2")
    assert await gone(first[0])


@slow_on_trio
async def test_a_process_that_was_killed_while_it_waited_is_replaced(opened):
    async with opened() as ohm:
        first, second = await asked_twice(ohm, lambda pid: os.kill(pid, signal.SIGKILL))
    assert first[0] != second[0]
    assert second[1] == "1"


@pytest.mark.slow
@slow_on_trio
async def test_where_none_is_kept_each_run_has_its_own(opened):
    async with opened(idleTtlMs=0) as ohm:
        first, second = await asked_twice(ohm)
    assert first[0] != second[0]


@slow_on_trio
async def test_a_login_that_was_changed_is_for_another_process(opened, tmp_path):
    login = tmp_path / ".pi" / "agent" / "auth.json"
    login.parent.mkdir(parents=True)

    def log_in(_pid):
        login.write_text(json.dumps({"anthropic": {"type": "api_key", "key": "sk-new"}}))

    async with opened() as ohm:
        first, second = await asked_twice(ohm, log_in)
    assert first[0] != second[0]


@pytest.mark.slow
@slow_on_trio
async def test_a_process_that_nobody_needs_is_let_go_after_its_time(opened):
    async with opened(idleTtlMs=1) as ohm:
        handle = await ohm.start("task", "first")
        pid = (await handle.wait()).ok_value.output.split()[0]
        assert await gone(pid)
