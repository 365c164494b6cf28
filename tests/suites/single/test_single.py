"""`subagent` through the public doors: who is started how, what becomes of it, what is told."""

import json
import sys
from decimal import Decimal
from uuid import UUID

import anyio
import anyio.lowlevel
import pytest
from failing import broken, failing

from ohm_subagents import Err
from ohm_subagents.contract import (
    AgentEnded,
    ErrorCode,
    OhmError,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
)
from ohm_subagents.suites.single import child_run
from ohm_subagents.testing import MemoryHost

pytestmark = pytest.mark.anyio

ASK = {"agent": "explorer", "task": "Find auth code"}


def agent(place, name, matter="", body="You help.", *, local=False):
    folder = place / "work" / ".pi" / "agents" if local else place / "agent" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\n{matter}---\n{body}\n")


async def hung(_request, _sink):
    await anyio.sleep_forever()


# What a call gives


async def test_a_success_gives_the_answer_and_all_of_its_details(opened):
    async def act(_request, sink):
        sink.emit(TextDelta(text="Looking"))
        usage = Usage(
            requests=1, input_tokens=17, output_tokens=3, cached_tokens=4, cache_write_tokens=3, cost_usd=Decimal("0.5")
        )
        sink.emit(UsageAdded(usage=usage))
        sink.emit(ToolStarted(call_id="1", tool="grep", args='{"pattern":"auth"}'))
        sink.emit(ToolEnded(call_id="1", tool="grep", status="success", text="hit"))
        sink.emit(TextDelta(text="Found it"))
        sink.emit(UsageAdded(usage=Usage(requests=1, input_tokens=1)))
        await anyio.lowlevel.checkpoint()
        return "Found it"

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
    assert (done.text, done.is_error) == ("Found it", False)
    (one,) = done.details.pop("results")
    run_id = done.details.pop("runId")
    assert done.details == {"mode": "single"}
    assert len(run_id) == 8
    assert int(run_id, 16) >= 0
    session = one.pop("sessionFile")
    assert session.endswith(f"/{run_id}/session.jsonl")
    assert one == {
        "agent": "explorer",
        "task": "Find auth code",
        "exitCode": 0,
        "usage": {"input": 11, "output": 3, "cacheRead": 4, "cacheWrite": 3, "cost": 0.5, "turns": 2},
        "output": "Found it",
        "displayItems": [
            {"type": "text", "text": "Looking"},
            {"type": "toolCall", "name": "grep", "args": {"pattern": "auth"}},
            {"type": "text", "text": "Found it"},
        ],
    }


async def test_the_record_beside_the_parents_session_has_the_messages_for_its_owner_alone(opened, place):
    parent = place / "sessions" / "today.jsonl"
    async with opened(host=MemoryHost(file=parent)) as ohm:
        done = await ohm.call("subagent", ASK)
    run_id = done.details["runId"]
    file = parent.parent / "today" / run_id / "session.jsonl"
    assert done.details["results"][0]["sessionFile"] == f"~/sessions/today/{run_id}/session.jsonl"
    header, *records = map(json.loads, file.read_text().splitlines())
    assert (header["type"], header["id"], header["cwd"]) == ("session", run_id, "~/work")
    texts = [(one["message"]["role"], one["message"]["content"][0]["text"]) for one in records]
    assert texts == [("user", "Find auth code"), ("assistant", "Answer to Find auth code")]
    assert file.stat().st_mode & 0o077 == 0


async def test_a_record_that_has_no_place_refuses_the_call(opened, place):
    (place / "sessions").write_text("in the way")
    async with opened(host=MemoryHost(file=place / "sessions" / "today.jsonl")) as ohm:
        done = await ohm.call("subagent", ASK)
        assert ohm.acting.requests == []
    assert done.details["error"]["code"] == "SUBAGENT_FAILED"
    assert done.text.startswith("Failed to create session directory: ")


async def test_two_runs_never_share_a_record(opened):
    ids = iter([UUID(int=1), UUID(int=1), UUID(int=2 << 96)])
    async with opened(new_uuid=lambda: next(ids)) as ohm:
        first, second = await ohm.call("subagent", ASK), await ohm.call("subagent", ASK)
    assert (first.details["runId"], second.details["runId"]) == ("00000000", "00000002")
    assert "00000002" in second.details["results"][0]["sessionFile"]


async def test_progress_is_shown_message_by_message_never_word_by_word(opened):
    frames = []

    async def act(_request, sink):
        sink.emit(TextDelta(text="I look "))
        sink.emit(TextDelta(text="around"))
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        await anyio.lowlevel.checkpoint()
        return "Done"

    async with opened(act, config={"onupdateThrottleMs": 1}) as ohm:
        await ohm.call("subagent", ASK, on_update=frames.append)
    assert frames[0].text == "(running...)"
    assert {frame.text for frame in frames} <= {"(running...)", "I look around", "Done"}
    assert frames[-1].details["streaming"]["turnCount"] == 1
    assert frames[-1].details["streaming"]["displayItems"][0] == {"type": "text", "text": "I look around"}
    assert frames[0].render() == "(running...)"


async def test_a_long_answer_is_cut_for_the_caller_and_whole_in_the_details(opened):
    async def act(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return "\n".join(["é"] * 6000)

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
    assert done.text.startswith("[TRUNCATED: showing first 5000 of 6000 lines, 14.6KB of 17.6KB]\né\n")
    assert done.details["error"] == {
        "code": "SUBAGENT_OUTPUT_TRUNCATED",
        "message": "Output truncated: showing 5000 of 6000 lines",
    }
    assert done.details["results"][0]["output"] == "\n".join(["é"] * 6000)
    assert done.render().startswith("✓ [TRUNCATED"), "an answer that is cut for the caller is one all the same"


async def test_a_call_without_an_answer_says_what_there_was_instead(opened):
    async def act(_request, sink):
        sink.emit(ToolStarted(call_id="1", tool="grep"))
        sink.emit(ToolEnded(call_id="1", tool="grep", status="success", text="hit"))
        await anyio.lowlevel.checkpoint()
        return ""

    async with opened(act) as ohm:
        first, *others = (await ohm.call("subagent", ASK)).text.split("\n")
    assert first.startswith("Subagent produced JSONL events but no final assistant text")
    assert others[1] == "Tool calls: 1"


# What is refused


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (None, "Missing required parameter: agent"),
        ({"task": "x"}, "Missing required parameter: agent"),
        ({"agent": " ", "task": "x"}, "Missing required parameter: agent"),
        ({"agent": "explorer"}, "Missing required parameter: task"),
        (ASK | {"task": " \n"}, "Missing required parameter: task"),
        ({"agent": 1, "task": "x"}, "Invalid parameter: agent is 1; allowed: a text that is not empty"),
        (ASK | {"model": "x"}, "Unsupported parameter: model. Supported parameters: agent, task"),
    ],
)
async def test_input_that_cannot_be_understood_is_refused(opened, arguments, text):
    async with opened() as ohm:
        done = await ohm.call("subagent", arguments)
        assert ohm.acting.requests == []
    assert done.text == text
    assert done.details == {"mode": "single", "results": [], "error": {"code": "INVALID_INPUT", "message": text}}


async def test_nothing_is_offered_to_a_subagent_or_where_it_is_switched_off(opened):
    async with opened(env={"PI_SUBAGENT_CHILD": "1"}) as ohm:
        assert [*ohm.tools] == []
    async with opened(section={"enabled": False}) as ohm:
        assert [*ohm.tools] == []


async def test_a_switch_that_is_turned_later_counts_at_the_next_call(opened, configure):
    async with opened() as ohm:
        configure({"enabled": False})
        done = await ohm.call("subagent", ASK)
    assert done.details["error"] == {
        "code": "SUBAGENTS_DISABLED",
        "message": "Subagents are disabled in configuration",
    }


async def test_the_feature_switch_of_ohm_json_is_told_in_the_same_words(opened):
    async with opened(config={"features": {"subagents": False}}) as ohm:
        done = await ohm.call("subagent", ASK)
    assert (done.text, done.details["results"]) == ("Subagents are disabled in configuration", [])


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"PI_SUBAGENT_DEPTH": "1"}, "(1/1)"),
        ({"PI_SUBAGENT_DEPTH": "2", "PI_SUBAGENT_MAX_DEPTH": "2"}, "(2/2)"),
        ({"PI_SUBAGENT_MAX_DEPTH": "0"}, "(0/0)"),
        ({"PI_SUBAGENT_DEPTH": "deep"}, "(?/1)"),
    ],
)
async def test_who_is_too_deep_inside_may_not_delegate(opened, env, told):
    async with opened(env=env) as ohm:
        done = await ohm.call("subagent", ASK)
        assert ohm.acting.requests == []
    assert done.text == f"Subagent depth exceeded {told}. Nested subagents are not allowed."
    assert (done.details["mode"], done.details["error"]["code"]) == ("management", "SUBAGENT_DEPTH_EXCEEDED")


async def test_the_limit_of_the_environment_stands_above_the_configured_one(opened):
    async with opened(env={"PI_SUBAGENT_DEPTH": "1", "PI_SUBAGENT_MAX_DEPTH": "3"}) as ohm:
        await ohm.call("subagent", ASK)
        (request,) = ohm.acting.requests
    assert request.depth == 2
    assert dict(request.profile.agent.variables)["PI_SUBAGENT_MAX_DEPTH"] == "3"


async def test_a_denied_agent_is_disabled(opened):
    denied = {"subagents": {"permissions": {"subagents": {"explorer": "deny"}}}}
    async with opened(config=denied) as ohm:
        done = await ohm.call("subagent", ASK)
        assert ohm.acting.requests == []
    assert done.details["error"]["code"] == "SUBAGENT_DISABLED"
    assert "'explorer' is denied" in done.text


# What the agent is and may


async def test_an_agent_of_the_project_stands_above_the_users_and_keys_stay_away_from_it(opened, place):
    agent(place, "explorer", body="The user's.")
    agent(place, "explorer", body="The project's.", local=True)
    async with opened() as ohm:
        await ohm.call("subagent", ASK)
        (request,) = ohm.acting.requests
    assert "The project's." in request.instructions
    assert request.profile.agent.is_local


@pytest.mark.parametrize(
    ("matter", "section", "tools"),
    [
        ("tools: read, bash, lsp\n", {}, ("read", "lsp")),
        ("tools: read, bash, lsp\n", {"allowLspTools": False}, ("read",)),
        ("tools: read, bash, lsp\n", {"allowedLspActions": []}, ("read",)),
        ("tools: read, bash\n", {"allowWrite": True}, ("read", "bash")),
        ("tools: read, bash\nreadonly: true\n", {"allowWrite": True}, ("read",)),
        ("", {}, ("read", "grep", "find", "ls")),
        ("tools: bash\n", {}, ()),
    ],
)
async def test_an_agent_only_reads_unless_both_say_otherwise(opened, place, matter, section, tools):
    agent(place, "mine", matter)
    async with opened(section=section) as ohm:
        await ohm.call("subagent", {"agent": "mine", "task": "t"})
        (request,) = ohm.acting.requests
    assert request.profile.tools.allowed == tools
    assert set(request.tools) == set(tools)
    may_write = bool(section.get("allowWrite")) and "readonly" not in matter
    assert ("You only read." in request.instructions) is not may_write


async def test_with_writing_allowed_an_agent_that_names_no_tools_has_all(opened, place):
    agent(place, "mine")
    async with opened(section={"allowWrite": True}) as ohm:
        await ohm.call("subagent", {"agent": "mine", "task": "t"})
        (request,) = ohm.acting.requests
    assert {"read", "bash", "edit", "write"} <= set(request.tools)


async def test_a_broken_agent_file_is_a_diagnostic_once_the_suite_is_mounted(opened, place):
    folder = place / "agent" / "agents"
    folder.mkdir(parents=True)
    (folder / "broken.md").write_text("no name")
    async with opened() as ohm:
        assert any("broken" in one.subject for one in ohm.diagnostics)
    async with opened(suites=("task",)) as ohm:
        assert not any("broken" in one.subject for one in ohm.diagnostics)


# Time


class TestTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    @pytest.mark.parametrize(
        ("section", "seconds", "error", "reason"),
        [
            ({"timeoutMs": 9000}, 9, "Subagent exceeded maximum runtime after 9000ms.", "runtime"),
            (
                {"timeoutMs": 9000, "idleTimeoutMs": 4000},
                4,
                "Subagent timed out after 4000ms without activity.",
                "idle",
            ),
        ],
    )
    async def test_a_subagent_that_takes_too_long_is_ended(self, opened, section, seconds, error, reason):
        async with opened(hung, section=section) as ohm:
            began = anyio.current_time()
            done = await ohm.call("subagent", ASK)
            assert anyio.current_time() - began == pytest.approx(seconds)
            assert len(ohm.acting.requests) == 1
        (one,) = done.details["results"]
        assert (one["exitCode"], one["error"], one["timeoutReason"]) == (124, error, reason)
        assert done.details["error"]["code"] == "SUBAGENT_TIMEOUT"
        assert done.text.startswith(f"Subagent failed with exit code 124.\n\nError:\n{error}\n\nSession file:\n")

    async def test_activity_puts_the_idle_limit_off_but_not_the_end(self, opened):
        async def busy(_request, sink):
            while True:
                await anyio.sleep(3)
                sink.emit(UsageAdded(usage=Usage(requests=1)))

        async with opened(busy, section={"timeoutMs": 10_000, "idleTimeoutMs": 4000}) as ohm:
            began = anyio.current_time()
            done = await ohm.call("subagent", ASK)
            assert anyio.current_time() - began == pytest.approx(10)
        assert done.details["results"][0]["timeoutReason"] == "runtime"

    @pytest.mark.parametrize("piece", [TextDelta(text="w"), ToolUpdated(call_id="1", tool="bash", text="w")])
    async def test_a_piece_of_what_goes_on_is_no_activity(self, opened, piece):
        async def busy(_request, sink):
            if isinstance(piece, ToolUpdated):
                sink.emit(ToolStarted(call_id="1", tool="bash"))
            while True:
                sink.emit(piece)
                await anyio.sleep(1)

        async with opened(busy, section={"idleTimeoutMs": 4000}) as ohm:
            began = anyio.current_time()
            done = await ohm.call("subagent", ASK)
            assert anyio.current_time() - began == pytest.approx(4)
        assert done.details["results"][0]["timeoutReason"] == "idle"

    async def test_a_tool_call_that_lasts_is_no_activity(self, opened):
        async def stuck(_request, sink):
            sink.emit(ToolStarted(call_id="1", tool="grep"))
            await anyio.sleep_forever()

        async with opened(stuck, section={"idleTimeoutMs": 4000}) as ohm:
            done = await ohm.call("subagent", ASK)
        assert done.details["results"][0]["error"] == "Subagent timed out after 4000ms without activity."


# Failures


async def test_a_failure_tells_what_was_said_and_where_the_record_is(opened):
    async with opened(failing(broken("boom", exit_code=7)), section={}) as ohm:
        done = await ohm.call("subagent", ASK)
    file = done.details["results"][0]["sessionFile"]
    assert done.text == (
        "Subagent failed with exit code 7.\n\nError:\nboom\n\n"
        f"Partial output:\nAttempt 1 of Find auth code\n\nSession file:\n{file}"
    )
    assert done.details["error"] == {"code": "SUBAGENT_FAILED", "message": done.text}


async def test_an_answer_of_a_process_that_fails_afterwards_is_what_was_captured_last(opened):
    async def act(_request, sink):
        sink.emit(TextDelta(text="The answer"))
        sink.emit(AgentEnded())
        await anyio.lowlevel.checkpoint()
        return Err(broken("boom"))

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK)
    assert "\n\nLast captured output:\nThe answer\n\n" in done.text


async def test_a_command_that_does_not_start_is_a_failure_to_spawn(opened):
    error = OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="There is no pi.")
    async with opened(failing(error)) as ohm:
        done = await ohm.call("subagent", ASK)
    assert "Error:\nFailed to spawn pi: There is no pi." in done.text


async def test_an_abort_is_told_as_one(opened):
    abort = anyio.Event()

    async def act(_request, _sink):
        abort.set()
        await anyio.sleep_forever()

    async with opened(act) as ohm:
        done = await ohm.call("subagent", ASK, abort=abort)
    assert done.details["results"][0]["exitCode"] == 130
    assert "Subagent execution was cancelled by user." in done.text


def saying(piece, times=sys.maxsize):
    async def say(_request, sink):
        for _ in range(times):
            sink.emit(TextDelta(text=piece))
            await anyio.lowlevel.checkpoint()
        return "end"

    return say


async def test_a_subagent_that_floods_is_stopped(opened, monkeypatch):
    monkeypatch.setattr(child_run, "MAX_STDOUT_BYTES", 20_480)
    async with opened(saying("x" * 1_000)) as ohm:
        done = await ohm.call("subagent", ASK)
    assert (done.details["error"]["code"], done.details["results"][0]["exitCode"]) == ("SUBAGENT_OUTPUT_TRUNCATED", 1)
    assert "Subagent output exceeded the stdout hard limit (20.0KB)." in done.text


@pytest.mark.parametrize(("letter", "length"), [("x", 2_048), ("ä", 1_024)])
async def test_what_is_at_the_limit_is_no_flood(opened, monkeypatch, letter, length):
    monkeypatch.setattr(child_run, "MAX_STDOUT_BYTES", 20_480)
    async with opened(saying(letter * length, times=10)) as ohm:
        assert (await ohm.call("subagent", ASK)).text.startswith("end")
    async with opened(saying(letter * length, times=11)) as ohm:
        assert "exceeded the stdout hard limit" in (await ohm.call("subagent", ASK)).text


def test_the_limits_of_a_flood_are_the_documented_ones():
    assert (child_run.MAX_STDOUT_BYTES, child_run.MAX_LINES) == (8 * 1024 * 1024, 10_000)


@pytest.mark.slow
async def test_a_subagent_that_floods_is_stopped_at_the_documented_limit(opened):
    async with opened(saying("x" * 100_000)) as ohm:
        done = await ohm.call("subagent", ASK)
    assert "Subagent output exceeded the stdout hard limit (8.0MB)." in done.text
