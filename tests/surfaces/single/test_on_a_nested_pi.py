"""`subagent` on a `pi` that ends in one way or another: a real process that writes what `pi` writes."""

import os
import sys

import pytest

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

PI = """\
import json, os, signal, sys
if "--version" in sys.argv:
    sys.exit(print("0.90.0"))
if "--mode" not in sys.argv:
    sys.exit(print("--mode --session --system-prompt"))
def tell(**record):
    print(json.dumps(record), flush=True)
def say(text, stop):
    content = [{"type": "text", "text": text}]
    tell(type="message_end", message={"role": "assistant", "stopReason": stop, "content": content})
def done(code):
    tell(type="agent_end", messages=[])
    tell(type="agent_settled")
    sys.exit(code)
tell(type="session", version=3, id="abc", cwd=".")
tell(type="agent_start")
"""
ENDS = {
    "broken off": 'sys.exit(print("boom", file=sys.stderr) or 3)',
    "timed out": 'sys.exit(print("ECONNRESET", file=sys.stderr) or 124)',
    "killed": 'say("Half of it", "toolUse"); os.kill(os.getpid(), signal.SIGKILL)',
    "failed behind its answer": 'say("All done", "stop"); done(3)',
    "provider": 'say("Error Code internal_server_error: stream error", "stop"); done(1)',
    "well": 'say("All done", "stop"); done(0)',
}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    """Real processes need real time."""
    return request.param


@pytest.fixture
def asked(place):
    """The result of a call whose `pi` ends in a way of `ENDS`, and how often one was started."""

    async def ask(end):
        script, started = place / "pi.py", place / "started"
        count = f'open({str(started)!r}, "a").write("x")\n'
        script.write_text(PI + count + ENDS[end])
        env = HERMETIC | {"HOME": str(place), "PATH": os.environ["PATH"]}
        shell = {"command": [sys.executable, str(script)], "graceMs": 5000}
        config = {"subagentBackend": "interactive-shell", "subagents": {"backends": {"interactive-shell": shell}}}
        async with Ohm.open(cwd=place / "work", env=env, config=config, suites=["single"]) as ohm:
            done = await ohm.call("subagent", {"agent": "explorer", "task": "x"})
        return done, started.read_text()

    return ask


@pytest.mark.parametrize(
    ("end", "code", "text", "started"),
    [
        ("broken off", "SUBAGENT_FAILED", "Subagent failed with exit code 3.\n\nError:\nboom\n\nSession file:\n", "x"),
        ("timed out", "SUBAGENT_TIMEOUT", "Subagent failed with exit code 124.\n\nError:\nECONNRESET\n\nSess", "x"),
        ("killed", "SUBAGENT_FAILED", "Subagent failed with exit code 137.\n\nError:\npi ended by signal 9", "x"),
        (
            "failed behind its answer",
            "SUBAGENT_FAILED",
            "Subagent failed with exit code 3.\n\nLast captured output:\nAll done\n\nSession file:\n",
            "x",
        ),
        (
            "provider",
            "SUBAGENT_FAILED",
            "Subagent failed with exit code 1.\n\nAttempts: 2.\n\nError:\nError Code internal_server_error:",
            "xx",
        ),
    ],
)
async def test_a_failure_is_told_in_the_words_of_001(asked, end, code, text, started):
    done, begun = await asked(end)
    assert done.text.startswith(text)
    assert (done.details["error"]["code"], begun) == (code, started)


async def test_an_answer_of_a_process_that_ends_well_is_a_success(asked):
    done, begun = await asked("well")
    assert (done.text, done.details["results"][0]["exitCode"], begun) == ("All done", 0, "x")
