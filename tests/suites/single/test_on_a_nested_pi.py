"""`subagent` on a `pi` that ends in one way or another: a real process that writes what `pi` writes."""

import os
import sys

import pytest
from loops import slow_on_trio

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
    "went on": 'say("All done", "stop"); say("One more look", "toolUse"); done(0)',
}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    """Real processes need real time."""
    return request.param


@pytest.fixture
def asked(place):
    """The result of a call whose `pi` ends in a way of `ENDS`, and how often one was started."""

    async def ask(end, agent="explorer"):
        script, started = place / "pi.py", place / "started"
        count = f'open({str(started)!r}, "a").write("x")\n'
        script.write_text(PI + count + ENDS[end])
        agent_dir = str(place / ".pi" / "agent")
        env = HERMETIC | {"HOME": str(place), "PI_CODING_AGENT_DIR": agent_dir, "PATH": os.environ["PATH"]}
        shell = {"command": [sys.executable, str(script)], "graceMs": 5000}
        config = {"subagentBackend": "interactive-shell", "subagents": {"backends": {"interactive-shell": shell}}}
        async with Ohm.open(cwd=place / "work", env=env, config=config, suites=["single"]) as ohm:
            done = await ohm.call("subagent", {"agent": agent, "task": "x"})
        return done, started.read_text()

    return ask


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("end", "code", "text", "started"),
    [
        ("broken off", "SUBAGENT_FAILED", "Subagent failed with exit code 3.\n\nError:\nboom\n\nSession file:\n", "x"),
        ("timed out", "SUBAGENT_TIMEOUT", "Subagent failed with exit code 124.\n\nError:\nECONNRESET\n\nSess", "x"),
        (
            "killed",
            "SUBAGENT_FAILED",
            "Subagent failed with exit code 137.\n\nError:\nsubagent backend exited non-zero",
            "x",
        ),
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
@slow_on_trio
async def test_a_failure_is_told_in_the_words_of_001(asked, end, code, text, started):
    done, begun = await asked(end)
    assert done.text.startswith(text)
    assert (done.details["error"]["code"], begun) == (code, started)


@pytest.mark.slow
async def test_an_answer_of_a_process_that_ends_well_is_a_success(asked):
    done, begun = await asked("well")
    assert (done.text, done.details["results"][0]["exitCode"], begun) == ("All done", 0, "x")


@slow_on_trio
async def test_a_turn_that_would_go_on_behind_an_answer_is_no_end(asked):
    done, _ = await asked("went on")
    assert done.details["error"]["code"] == "SUBAGENT_FAILED"
    assert done.details["results"][0]["exitCode"] == 1


@pytest.mark.slow
@slow_on_trio
async def test_text_without_any_record_is_no_answer(asked, monkeypatch):
    monkeypatch.setitem(ENDS, "plain", "")
    monkeypatch.setattr(sys.modules[__name__], "PI", PI.partition('tell(type="session"')[0] + "print('Just text.')\n")
    done, _ = await asked("plain")
    assert done.details["error"]["code"] == "SUBAGENT_FAILED"


EXTENSIONS = {
    "none": ({}, 'pi has no tool "web_search", "fetch_content", "get_search_content"; '),
    "settings only": ({"devkit-pi/config.json": "{}"}, 'pi has no tool "web_search", "fetch_content", "get_search'),
    "one that may": ({"web/index.ts": "x"}, 'Only an extension of pi could bring the tool "web_search", "fetch_'),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("files", "told"), EXTENSIONS.values(), ids=EXTENSIONS)
@slow_on_trio
async def test_the_caller_reads_that_an_agent_had_no_tool(asked, place, files, told):
    for name, text in files.items():
        file = place / ".pi" / "agent" / "extensions" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    done, _ = await asked("well", agent="researcher")
    assert done.text.startswith(f"All done\n\nNote: {told}")
    assert done.details["results"][0]["output"] == "All done"
    explorer, _ = await asked("well")
    assert explorer.text == "All done", "it lacks one of several, which the notes say"
