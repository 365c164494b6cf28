"""`subagent` of 003 through the public doors: who does what, in which session, and what is told."""

import re
import unicodedata

import anyio
import anyio.lowlevel
import pytest
from sticky_place import ASK, FINALIZE, ID, SCOUT, files, found, hand_in

from ohm_subagents import Ohm
from ohm_subagents._views.cells import cells
from ohm_subagents.contract import Err, ErrorCode, OhmError, TextDelta
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio


async def test_the_answer_has_a_header_and_the_same_for_machines(opened):
    async with opened() as ohm:
        result = await ohm.call("subagent", ASK | {"sessionId": ID})

    assert result.text == f"**Status:** SUCCESS\n**Session ID:** `{ID}`\n\n---\n\nFound for Find auth"
    finalized = {"status": "SUCCESS", "result": "Found for Find auth"}
    assert result.details == {"sessionId": ID, "finalized": finalized, "resumed": False}


async def test_an_error_is_told_with_what_was_found_all_the_same(opened):
    async def act(request, sink):
        await hand_in(request, sink, status="ERROR", error="No such file", result="Half of it")
        return ""

    async with opened(act) as ohm:
        result = await ohm.call("subagent", ASK)

    assert not result.is_error
    assert result.text.partition("---\n\n")[2] == "No such file\n\n## Partial result\n\nHalf of it"
    assert result.details["finalized"] == {"status": "ERROR", "error": "No such file", "result": "Half of it"}


async def test_what_was_said_is_not_lost_when_nothing_was_handed_in(opened):
    async def act(_request, sink):
        sink.emit(TextDelta(text="It is in src/auth.ts, I think."))
        return Err(OhmError(code="acme_down", message="The service is down."))

    async with opened(act) as ohm:
        result = await ohm.call("subagent", ASK)

    error, _, said = result.text.partition("\n\n## Partial result\n\n")
    assert "in 3 attempts. The last one failed: The service is down." in error
    assert said.startswith("It is in src/auth.ts, I think.")
    assert result.details["finalized"]["result"] == said


async def test_a_new_session_has_a_uuid_and_a_known_one_goes_on_after_a_restart_of_the_host(place, opened):
    async with opened() as ohm:
        first = await ohm.call("subagent", ASK)
    session_id = first.details["sessionId"]
    async with opened() as ohm:  # nothing but the file is left: the store was in memory
        second = await ohm.call("subagent", ASK | {"task": "more", "sessionId": session_id})
        third = await ohm.call("subagent", ASK | {"task": "even more", "sessionId": session_id})
        states = [request.checkpoint for request in ohm.acting.requests]

    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", session_id)
    assert "resumed" not in first.details
    assert (second.details["resumed"], third.details["resumed"]) == (True, True)
    assert states == ["Find auth;", "Find auth;more;"]
    (file,) = files(place)
    assert (file.name, file.read_text()) == (f"scout_{session_id}.jsonl", "Find auth;more;even more;")
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_redacted_session_knows_its_conversation_too(place, opened):
    config = {"subagents": {"redact": ["sticky"]}}
    async with opened(config=config) as ohm:
        await ohm.call("subagent", ASK | {"sessionId": ID})
        await ohm.call("subagent", ASK | {"task": "more", "sessionId": ID})
        states = [request.checkpoint for request in ohm.acting.requests]
    assert states[1] == "Find auth;"
    (file,) = files(place)
    assert file.read_text() == "Find auth;more;"


async def test_a_session_is_of_one_agent_in_one_directory(place, opened):
    (place / "work" / "prompts" / "planner.md").write_text(SCOUT.replace("scout", "planner"))
    (place / "work" / "inner").mkdir()
    states = []

    async def act(request, sink):
        states.append(request.checkpoint)
        return await found(request, sink)

    async with opened(act) as ohm:
        await ohm.call("subagent", ASK | {"sessionId": ID})
        await ohm.call("subagent", ASK | {"sessionId": ID, "agent": "planner"})
    async with opened(act, cwd="work/inner", options={"promptDirs": [str(place / "work" / "prompts")]}) as ohm:
        await ohm.call("subagent", ASK | {"sessionId": ID})

    assert states == [None, None, None]
    assert len(files(place)) == 3


async def test_no_two_agents_share_a_session_whatever_they_and_their_ids_are_called(place, opened):
    states = []

    async def act(request, sink):
        states.append(request.checkpoint)
        return await found(request, sink)

    for agent in ("a", "a_b"):
        (place / "work" / "prompts" / f"{agent}.md").write_text("---\ndescription: d\n---\nx")
    async with opened(act) as ohm:
        for agent, session_id in (("a", "b_c"), ("a_b", "c"), ("a", "b"), ("a_b", "c_")):
            await ohm.call("subagent", {"agent": agent, "task": "x", "sessionId": session_id})

    assert states == [None] * 4
    assert [file.name for file in files(place)] == ["a_b.jsonl", "a_b_c.jsonl", "a_b_c_~3.jsonl", "a_b_c~1.jsonl"]


async def test_two_calls_on_one_session_come_one_after_the_other(opened):
    begun, gate, seen = anyio.Event(), anyio.Event(), []

    async def act(request, sink):
        seen.append(("begins", request.prompt))
        begun.set()
        await gate.wait()
        answer = await found(request, sink)
        seen.append(("ends", request.prompt))
        return answer

    async with opened(act) as ohm, anyio.create_task_group() as group:
        results = {}

        async def call(task):
            results[task] = await ohm.call("subagent", {"agent": "scout", "task": task, "sessionId": ID})

        group.start_soon(call, "a")
        await begun.wait()
        group.start_soon(call, "b")
        await anyio.wait_all_tasks_blocked()
        gate.set()

    assert seen == [("begins", "a"), ("ends", "a"), ("begins", "b"), ("ends", "b")]
    assert results["b"].details["finalized"]["status"] == "SUCCESS"


async def test_a_child_that_hands_in_nothing_is_told_so_as_often_as_configured(opened):
    async def silent(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return "I am done."

    async with opened(silent, options={"finalizeRetries": 1}) as ohm:
        result = await ohm.call("subagent", ASK)
        prompts = [request.prompt for request in ohm.acting.requests]

    assert len(prompts) == 2
    assert result.details["finalized"]["status"] == "ERROR"
    assert FINALIZE in result.text
    assert "2 attempts" in result.text


async def test_what_cannot_start_is_told_at_once(opened):
    async def absent(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return Err(OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="The command 'pi' cannot be started."))

    async with opened(absent) as ohm:
        result = await ohm.call("subagent", ASK)
        runs = len(ohm.acting.requests)

    assert (runs, result.details["finalized"]["status"]) == (1, "ERROR")
    assert "cannot be started" in result.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"agent": "nope"}, ["nope", "scout"]),
        ({"agent": ""}, ["'agent'"]),
        ({"task": 3}, ["'task' is 3"]),
        ({"sessionId": "../../x"}, ["sessionId", "../../x"]),
        ({"cwd": "/"}, ["'cwd'", "allowed: agent, task, sessionId"]),
    ],
)
async def test_a_call_that_cannot_be_carried_out_is_answered_and_nothing_is_written(place, opened, changes, said):
    async with opened() as ohm:
        result = await ohm.call("subagent", ASK | changes)
        assert ohm.acting.requests == []

    assert not result.is_error
    assert result.text.startswith("**Status:** ERROR\n\n---\n\n")
    assert all(part in result.text for part in said), result.text
    assert files(place) == []


async def test_a_rejected_prompt_is_answered_with_the_reason(place, opened):
    (place / "work" / "prompts" / "both.md").write_text("---\napproved_tools:\ndenied_tools: []\n---\nx")
    async with opened() as ohm:
        result = await ohm.call("subagent", {"agent": "both", "task": "x"})
        assert ohm.acting.requests == []

    assert all(part in result.text for part in ("both", "approved_tools", "denied_tools"))


@pytest.mark.parametrize(
    ("field", "tools"),
    [
        ("approved_tools: [bash, subagent, subagent_sticky, subagent_single, read]", ("bash", "read", FINALIZE)),
        ("allowed_tools: []", (FINALIZE,)),
        ("denied_tools: bash", ("read", "edit", "write", FINALIZE)),
        ("", ("read", "bash", "edit", "write", FINALIZE)),
    ],
)
async def test_the_tools_are_those_of_the_list_or_of_the_parent_without_it(place, opened, field, tools):
    (place / "work" / "prompts" / "own.md").write_text(f"---\ndescription: d\n{field}\n---\nx")
    host = MemoryHost(tools=("read", "bash", "edit", "write", "subagent", FINALIZE))
    async with opened(host=host) as ohm:
        await ohm.call("subagent", {"agent": "own", "task": "x"})
        (request,) = ohm.acting.requests

    assert set(request.tools) == set(tools)
    assert [*request.profile.tools.allowed] == [*tools]


async def test_the_process_of_an_agent_has_only_what_it_hands_in_its_answer_with(opened):
    async with opened(env={"PI_STICKY_SUBAGENT_CHILD": "1", "PI_SUBAGENT_CHILD": "1"}) as ohm:
        wrong = await ohm.call(FINALIZE, {"status": "SUCCESS", "result": ""})
        right = await ohm.call(FINALIZE, {"status": "SUCCESS", "result": "x", "error": "note"})
        assert [*ohm.tools] == [FINALIZE]

    assert wrong.is_error
    assert right.details == {"status": "SUCCESS", "result": "x"}


async def test_an_agent_ships():
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "none"}, suites=["sticky"]) as ohm:
        result = await ohm.call("subagent", {"agent": "nobody", "task": "x"})

    assert "Available agents: scout." in result.text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("finalizeRetries", 9),
        pytest.param("timeoutMs", 10**400, id="a timeoutMs that is no number of seconds any more"),
        ("sessionsDir", "a\0b"),
        ("sessionsDir", ""),
        ("promptDirs", ["a\0b"]),
    ],
)
async def test_wrong_options_are_told_by_a_diagnostic_and_by_every_call(opened, key, value):
    async with opened(options={key: value}) as ohm:
        assert [*ohm.tools] == []
        (wrong,) = (one.message for one in ohm.diagnostics if f"suiteOptions.sticky.{key}" in one.message)
        result = await ohm.call("subagent", ASK)
    assert "Error:" not in wrong
    assert result.text.endswith(wrong)


async def test_folders_of_the_options_are_those_of_the_project(place, opened):
    (place / "work" / "prompts").rename(place / "work" / "agents")
    async with opened(options={"promptDirs": ["agents"], "sessionsDir": "kept"}) as ohm:
        result = await ohm.call("subagent", ASK)

    assert result.details["finalized"]["status"] == "SUCCESS"
    assert len([*(place / "work" / "kept").glob("*/scout_*.jsonl")]) == 1


async def test_a_prompt_is_read_again_after_five_seconds(place, opened):
    now = 0
    async with opened(clock=lambda: now) as ohm:
        await ohm.call("subagent", ASK)
        (place / "work" / "prompts" / "scout.md").write_text(SCOUT.replace("You look.", "You look again."))
        await ohm.call("subagent", ASK)
        now = 5000
        await ohm.call("subagent", ASK)

    assert [request.profile.prompt for request in ohm.acting.requests] == ["You look."] * 2 + ["You look again."]


async def test_what_ohm_json_says_of_a_subagent_is_not_about_an_agent_of_that_name(place, opened):
    (place / "work" / "prompts" / "oracle.md").write_text(SCOUT.replace("scout", "oracle"))
    own = {"model": "acme/m1", "backend": "none", "tools": {"read": "deny"}}
    async with opened(config={"subagents": {"oracle": own}}) as ohm:
        await ohm.call("subagent", ASK | {"agent": "oracle"})
        (request,) = ohm.acting.requests

    assert (request.model, set(request.tools)) == (None, {"read", "bash", FINALIZE})


async def test_the_description_names_the_agents_that_can_be_called(place, opened):
    prompts = place / "work" / "prompts"
    (prompts / "chatty.md").write_text("---\ndescription: |\n  one\n  " + "b" * 300 + "\n---\nx")
    (prompts / "both.md").write_text("---\napproved_tools:\ndenied_tools: []\n---\nx")
    async with opened() as ohm:
        told = ohm.tools["subagent"].description.partition("Agents:\n")[2].splitlines()
        result = await ohm.call("subagent", ASK | {"agent": "nobody"})

    assert told[0] == "- scout: Looks."
    assert told[1].startswith("- chatty: one bbb")
    assert len(told[1]) < 250
    assert len(told) == 2
    assert result.text.endswith("Unknown agent: nobody. Available agents: scout, chatty.")


async def test_the_end_of_the_time_names_the_option_that_set_it(opened):

    async def endless(_request, _sink):
        await anyio.sleep_forever()

    async with opened(endless, options={"timeoutMs": 40}) as ohm:
        result = await ohm.call("subagent", ASK)

    assert result.details["finalized"] == {
        "status": "ERROR",
        "error": "The subagent took longer than suiteOptions.sticky.timeoutMs of ohm.json: 40 ms.",
    }


@pytest.mark.parametrize("width", [20, 80])
async def test_what_an_agent_says_is_as_wide_as_the_view_and_cannot_drive_the_terminal(opened, width):
    hostile = "\x1b]0;owned\x07" + "wide 漢字 " * 40 + "\x1b[2J\r\x08\x9b31mend\n" + "x" * 500

    async def act(request, sink):
        sink.emit(TextDelta(text=hostile))
        await hand_in(request, sink, status="SUCCESS", result=hostile)
        return ""

    shown = []
    async with opened(act) as ohm:
        tool = ohm.tools["subagent"]
        result = await ohm.call("subagent", ASK, on_update=lambda frame: shown.append(frame.render(width=width)))
        shown += [result.render(width=width, expanded=expanded) for expanded in (False, True)]
        shown.append(tool.render_result(result, width=width))
        called = tool.render_call({"agent": "\x1b[2Jsc\r\nout"})

    assert len(shown) > 4
    for text in shown:
        assert all(cells(line) <= width for line in text.split("\n"))
        assert not any(unicodedata.category(char) == "Cc" for char in text.replace("\n", ""))
    assert "end" in shown[-1]
    assert called == "subagent sc out"


@pytest.mark.parametrize(
    ("suites", "tools"),
    [
        (["single", "sticky"], {"subagent": "agent task", "subagent_sticky": "agent task sessionId"}),
        (["sticky", "single"], {"subagent": "agent task sessionId", "subagent_single": "agent task"}),
    ],
)
async def test_beside_the_other_tool_of_this_name_the_later_one_is_called_after_its_suite(suites, tools):
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "none"}, suites=suites) as ohm:
        found = {name: " ".join(tool.input_schema["properties"]) for name, tool in ohm.tools.items()}
        assert [*ohm.diagnostics] == []

    assert found == tools
