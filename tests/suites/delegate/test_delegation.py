"""`delegate_to_subagents` through the public doors: what starts, what is refused, what is told, what is kept."""

import json
import re
from contextlib import asynccontextmanager
from itertools import chain
from uuid import UUID, uuid4

import anyio
import anyio.lowlevel
import pytest
from acting import ActingBackend

from ohm_subagents import Err, Ohm
from ohm_subagents.contract import ErrorCode, OhmError, TextDelta, ToolEnded, ToolStarted
from ohm_subagents.plugin import ToolCall
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio

RESUMABLE = "Timed out after 60s. Consider resuming with a longer timeout."
ACTING = {"subagentBackend": "acting"}


def agent(home, name, matter="", body="You help."):
    folder = home / "agent-profiles"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\n{matter}---\n{body}\n")


@pytest.fixture
def place(tmp_path):
    """Working directory and agent directory of a test."""
    (tmp_path / "work").mkdir()
    (tmp_path / "agent").mkdir()
    return tmp_path


@pytest.fixture
def opened(place):
    """An `Ohm` whose sub-agents do what a function says."""

    @asynccontextmanager
    async def ohm(act=None, *, host=None, config=None, backend=None, store="memory", suites=("delegate",)):
        acting = backend or ActingBackend(act or answered)
        agents = str(place / "agent")
        own = {"HOME": str(place), "PI_CODING_AGENT_DIR": agents, "PI_CONFIG_DIR": agents, "OHM_SUBAGENTS_STORE": store}
        async with Ohm.open(
            cwd=place / "work",
            env=HERMETIC | own,
            config=ACTING | (config or {}),
            suites=suites,
            plugins=[acting],
            host=host,
        ) as opened:
            yield opened

    return ohm


async def answered(request, _sink):
    await anyio.lowlevel.checkpoint()
    return f"Answer to {request.prompt}"


def tasks(*names, **fields):
    return [{"name": name, "prompt": f"Do {name}.", **fields} for name in names]


async def delegated(ohm, *asked, **more):
    return await ohm.call("delegate_to_subagents", {"tasks": [*asked], **more})


# What starts


async def test_four_work_at_once_and_the_others_wait_for_their_turn(opened):
    most, now, gate = 0, 0, anyio.Event()

    async def act(_request, _sink):
        nonlocal most, now
        now += 1
        most = max(most, now)
        if now == 4:
            gate.set()
        await gate.wait()
        now -= 1
        return "done"

    async with opened(act) as ohm:
        result = await delegated(ohm, *tasks(*(f"t{n}" for n in range(9))))
    assert most == 4
    assert [window["status"] for window in result.details["windows"]] == ["completed"] * 9


async def test_a_task_without_a_profile_gets_every_tool_and_no_words_of_ours(opened):
    backend = ActingBackend(answered)
    async with opened(backend=backend) as ohm:
        await delegated(ohm, *tasks("a"))
    (request,) = backend.requests
    assert request.instructions == ""
    assert {"read", "bash", "edit", "write"} <= {*request.tools}
    assert request.is_one_shot


async def test_the_profile_of_a_task_counts_before_that_of_the_call(opened, place):
    agent(place / "agent", "writer", body="You write.")
    agent(place / "agent", "researcher", "tools: read, grep\n", body="You research.")
    backend = ActingBackend(answered)
    async with opened(backend=backend) as ohm:
        await delegated(ohm, *tasks("a", profile="writer"), *tasks("b"), profile="researcher")
    said = {request.description: (request.instructions, request.tools) for request in backend.requests}
    assert said["a"][0] == "You write."
    assert said["b"] == ("You research.", ("read", "grep"))


async def test_a_call_from_a_deny_rule_is_refused_alone(opened, place):
    agent(place / "agent", "writer")
    denied = {"subagents": {"permissions": {"subagents": {"writer": "deny"}}}}
    async with opened(config=denied) as ohm:
        result = await delegated(ohm, *tasks("a", profile="writer"), *tasks("b"))
    assert [window["status"] for window in result.details["windows"]] == ["error", "completed"]
    assert "writer" in result.details["windows"][0]["errorMessage"]


# What is refused whole


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tasks": []}, "'tasks' is []; allowed: a list of 1 to 16 tasks."),
        ({"tasks": tasks(*map(str, range(17)))}, "allowed: a list of 1 to 16 tasks."),
        ({"tasks": [{"name": "a"}]}, "'tasks.0.prompt' is missing; it is required."),
        (
            {"tasks": [{"nam": "a", "prompt": "b"}]},
            "'tasks.0.name' is missing; it is required. Did you mean 'name' by 'nam'?",
        ),
        ({"tasks": [{"name": 1, "prompt": "p"}]}, "'tasks.0.name' is 1; allowed: a text."),
        ({"tasks": tasks("a", timeout="soon")}, "allowed: a number of seconds, 1 or more."),
        ({"tasks": tasks("a", timeout=float("inf"))}, "a number of seconds, 1 or more, at most 1000000000."),
        *(({"tasks": tasks("a", timeout=no)}, "allowed: a number of seconds, 1 or more.") for no in (0, 0.5, -1, True)),
        ({"tasks": tasks("a", timeout=10**10)}, "a number of seconds, 1 or more, at most 1000000000."),
        *(
            ({"tasks": tasks("a", files=[{"path": "x", key: no}])}, f"is {no}; allowed: a whole number, 1 or more.")
            for key in ("head", "tail")
            for no in (0, -1)
        ),
        ({"tasks": tasks("a", files=[{"path": "x", "head": 1, "tail": 1}])}, "start and end, or head, or tail."),
        ({"tasks": tasks("a", files=[{"path": "x", "foot": 1}])}, "the keys path, start, end, head and tail."),
        ([], "The arguments must be a JSON object, not []."),
        ({"tasks": tasks("a", cwd="src")}, "cwd must be an absolute path"),
        ({"tasks": tasks("a", cwd="/a/../b")}, "cwd must not contain '..' path segments"),
        (
            {"tasks": tasks("a", resume="0000000000000000")},
            'Cannot resume: session "0000000000000000" not found. The session may have expired or the ID is incorrect.',
        ),
    ],
)
async def test_what_is_wrong_with_one_task_refuses_the_whole_call(opened, asked, said):
    backend = ActingBackend(answered)
    host = MemoryHost()
    if isinstance(asked, dict) and 0 < len(asked["tasks"]) < 16:
        asked = {"tasks": [*tasks("good"), *asked["tasks"]]}
        said = said.replace("tasks.0", "tasks.1")
    async with opened(backend=backend, host=host) as ohm:
        result = await ohm.call("delegate_to_subagents", asked)
    assert result.is_error
    assert result.text.endswith(said)
    assert (backend.requests, host.calls) == ([], [])


async def test_of_several_objections_the_first_that_is_checked_is_told(opened, place):
    agent(place / "agent", "torn", "tools: read\nexcludeTools: bash\n")
    async with opened() as ohm:
        asked = [*tasks("a", cwd="src"), *tasks("b", resume="no"), *tasks("c", profile="torn")]
        whole = await delegated(ohm, *asked)
        without_the_profile = await delegated(ohm, *asked[:2])
    assert whole.text.startswith('Profile "torn" has both "tools" (allowlist) and "excludeTools" (blacklist) set.')
    assert without_the_profile.text.startswith('Cannot resume: session "no" not found.')


async def test_one_session_cannot_be_resumed_twice_at_once(opened):
    async with opened() as ohm:
        first = await delegated(ohm, *tasks("a"))
        (session_id,) = first.details["sessionIds"]
        twice = await delegated(ohm, *tasks("b", "c", resume=session_id))
    assert twice.is_error
    assert twice.text == (
        f'Cannot resume: session "{session_id}" is named by two tasks of this call. Resume it with one of them.'
    )


# Resume


async def test_a_resumed_session_keeps_its_id_and_knows_what_was_said(opened):
    backend = ActingBackend(answered)
    async with opened(backend=backend) as ohm:
        (session_id,) = (await delegated(ohm, *tasks("first"))).details["sessionIds"]
        second = await delegated(ohm, *tasks("second", resume=session_id))
        third = await delegated(ohm, *tasks("third", resume=session_id))
        output = await ohm.call("get_subagent_output", {"sessionId": session_id})
    assert second.details["sessionIds"] == third.details["sessionIds"] == [session_id]
    assert backend.requests[1].prompt == (
        "Previously:\n\n--- Run 1 (completed, 2 messages) ---\nUser: Do first.\nAssistant: Answer to Do first.\n\n"
        "Instructions:\n\nDo second."
    )
    assert backend.requests[2].prompt.count("Previously:") == 2, "once by us, once in what the second run answered"
    assert output.details["runCount"] == 3
    assert output.details["taskName"] == "third"


# Failures


async def test_two_tasks_of_a_call_never_share_a_session(place):
    ids = chain([UUID(int=1 << 64)] * 2, iter(uuid4, None))
    async with Ohm.open(
        cwd=place / "work",
        env=HERMETIC,
        config=ACTING,
        suites=["delegate"],
        plugins=[ActingBackend(answered)],
        new_uuid=lambda: next(ids),
    ) as ohm:
        done = await delegated(ohm, *tasks("a", "b"))
    assert [window["name"] for window in done.details["windows"]] == ["a", "b"]
    assert len({*done.details["sessionIds"]}) == 2


class TestOverTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_a_call_at_the_end_of_a_long_time_gives_more_of_it(self, opened):
        async def act(request, sink):
            await anyio.sleep(86_390)
            sink.emit(ToolStarted(call_id="1", tool="read"))
            sink.emit(ToolEnded(call_id="1", tool="read", status="success"))
            await anyio.sleep(20)
            return await answered(request, sink)

        async with opened(act) as ohm:
            done = await delegated(ohm, *tasks("a", timeout=86_400))
        assert done.text.startswith("✓ a: completed")

    async def test_a_new_process_knows_in_the_same_words_that_the_time_of_a_sub_agent_was_over(self, opened):
        async def act(request, sink):
            sink.emit(TextDelta(text="Half of it."))
            await (anyio.sleep_forever() if request.description == "a" else anyio.lowlevel.checkpoint())
            return "done"

        backend = ActingBackend(act)
        async with opened(backend=backend, store="sqlite") as ohm:
            (session_id,) = (await delegated(ohm, *tasks("a", timeout=60))).details["sessionIds"]
            here = await ohm.call("get_subagent_session", {"sessionId": session_id})
        async with opened(backend=backend, store="sqlite") as ohm:
            there = await ohm.call("get_subagent_session", {"sessionId": session_id})
            await delegated(ohm, *tasks("b", resume=session_id))
        assert there.text == here.text == f"Half of it.\n[Error: {RESUMABLE}]"
        assert there.details == here.details
        assert f"[Error: {RESUMABLE}]\n\nInstructions:" in backend.requests[-1].prompt

    async def test_a_batch_of_sixteen_loses_nothing_to_five_bad_ones(self, opened, place):
        agent(place / "agent", "lost", "suggestedSkills: nowhere\n")

        async def act(request, sink):
            match request.description:
                case "hangs":
                    sink.emit(TextDelta(text="I have found the first half."))
                    await anyio.sleep_forever()
                case "loops":
                    for number in range(20):
                        sink.emit(ToolStarted(call_id=str(number), tool="bash", args='{"command":"ls"}'))
                        await anyio.lowlevel.checkpoint()
                        sink.emit(ToolEnded(call_id=str(number), tool="bash", status="success"))
                case "crashes":
                    raise RuntimeError("a bug of a backend")
            return await answered(request, sink)

        async with opened(act) as ohm:
            good = tasks(*(f"good-{n}" for n in range(11)))
            bad = [
                *tasks("hangs", "loops", "crashes", timeout=60),
                *tasks("unknown", profile="nobody"),
                *tasks("misled", profile="lost"),
            ]
            result = await delegated(ohm, *good[:3], *bad, *good[3:])
            ids = {window["name"]: window["sessionId"] for window in result.details["windows"]}
            again = await delegated(
                ohm, *(task | {"prompt": "Go on.", "resume": ids[task["name"]]} for task in bad[:3])
            )
            kept = await ohm.call("get_subagent_output", {"sessionId": ids["hangs"]})
        lines = result.text.splitlines()
        assert len(lines) == 16
        assert len(set(ids.values())) == 16
        assert sum(line.startswith("✓") for line in lines) == 11
        failed = {line.split(":")[0]: line for line in lines if line.startswith("✗")}
        assert failed["✗ hangs"] == f"✗ hangs: error — {RESUMABLE} (session: {ids['hangs']})"
        assert failed["✗ loops"].startswith(
            "✗ loops: error — Loop detected: sub-agent is repeating the same tool calls ("
        )
        assert "a bug of a backend" in failed["✗ crashes"]
        assert 'Unknown profile: "nobody". Available profiles: lost (session: ' in failed["✗ unknown"]
        assert failed["✗ unknown"].endswith(" (nobody)")
        assert 'Unknown skills: "nowhere". Available skills: (none)' in failed["✗ misled"]
        assert again.details["sessionIds"] == [ids["hangs"], ids["loops"], ids["crashes"]]
        assert kept.details["runCount"] == 2


async def test_what_a_failed_one_had_said_is_still_there(opened):
    async def act(_request, sink):
        sink.emit(TextDelta(text="Half of it."))
        return Err(OhmError(code=ErrorCode.PROVIDER_UNAVAILABLE, message="The provider is down.", advice="Try later."))

    async with opened(act) as ohm:
        failed = await delegated(ohm, *tasks("a"))
        (session_id,) = failed.details["sessionIds"]
        session = await ohm.call("get_subagent_session", {"sessionId": session_id})
    assert failed.text == f"✗ a: error — The provider is down. Try later. (session: {session_id})"
    assert session.text == "Half of it.\n[Error: The provider is down. Try later.]"


async def test_why_one_could_not_be_started_is_told_beside_the_fixed_words(opened):
    async def act(_request, _sink):
        return Err(OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="There is no pi.", advice="Install it."))

    async with opened(act) as ohm:
        failed = await delegated(ohm, *tasks("a"))
    (window,) = failed.details["windows"]
    assert window["errorMessage"] == "Failed to spawn sub-agent process"
    assert window["notes"] == ["There is no pi. Install it."]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"capMs": 40}, "The sub-agent took longer than its cap of 40 ms."),
        ({"toolMs": 40}, "The sub-agent had a call of the tool read in flight for 40 ms."),
    ],
)
async def test_a_clock_that_ohm_json_sets_holds_besides_the_timeout_of_a_task(opened, limits, said):
    async def act(_request, sink):
        sink.emit(ToolStarted(call_id="1", tool="read"))
        await anyio.sleep_forever()

    async with opened(act, config={"subagents": {"limits": limits}}) as ohm:
        result = await delegated(ohm, *tasks("a", timeout=600))
    assert f"✗ a: error — {said}" in result.text
    assert "task_" not in result.text


async def test_a_note_does_not_repeat_the_error_and_names_no_list_that_is_not_there(opened):
    async def act(_request, sink):
        for n in range(9):
            sink.emit(ToolStarted(call_id=f"{n}", tool="read", args="{}"))
            sink.emit(ToolEnded(call_id=f"{n}", tool="read", status="success", text=f"{n}"))
            await anyio.lowlevel.checkpoint()
        return "never"

    async with opened(act) as ohm:
        (window,) = (await delegated(ohm, *tasks("a"))).details["windows"]
    assert window["errorMessage"] == "Loop detected: sub-agent is repeating the same tool calls"
    (note,) = window["notes"]
    assert "Loop detected" not in note
    assert "polling" not in note


async def test_a_backend_that_fails_is_told_without_the_id_of_a_task_that_nobody_knows(opened):
    async def act(_request, _sink):
        await anyio.lowlevel.checkpoint()
        raise ValueError("boom")

    async with opened(act) as ohm:
        result = await delegated(ohm, *tasks("a"))
    assert result.text.startswith("✗ a: error — The sub-agent failed: ValueError: boom (session: ")


async def test_an_abort_ends_all_of_them_and_starts_no_more(opened):
    abort, begun = anyio.Event(), []

    async def act(request, _sink):
        begun.append(request.description)
        if len(begun) == 4:
            abort.set()
        await anyio.sleep_forever()

    async with opened(act) as ohm:
        asked = {"tasks": tasks(*(f"t{n}" for n in range(6)))}
        result = await ohm.call("delegate_to_subagents", asked, abort=abort)
    assert len(begun) == 4
    assert [window["status"] for window in result.details["windows"]] == ["error"] * 6
    assert "Timed out" not in result.text


# What is told while it goes on


async def test_frames_tell_how_many_work(opened):
    frames, gate = [], anyio.Event()

    async def act(request, sink):
        sink.emit(TextDelta(text="Working."))
        if request.description == "slow":
            await gate.wait()
        return "done"

    async with opened(act) as ohm, anyio.create_task_group() as group:

        def seen(frame):
            frames.append(frame)
            if frame.text == "1 running, 1 done":
                gate.set()

        asked = {"tasks": tasks("quick", "slow")}
        group.start_soon(lambda: ohm.call("delegate_to_subagents", asked, on_update=seen))
    assert frames[-1].text == "2 done"
    assert frames[-1].details["globalStatus"] == "done"
    assert "✓ quick" in frames[-1].render()


# What is kept


async def test_each_task_is_one_entry_in_the_log_of_the_host(opened):
    host = MemoryHost()
    async with opened(host=host) as ohm:
        await delegated(ohm, *tasks("a"), *tasks("b", profile="nobody"))
    entries = [data for name, kind, data in host.calls if (name, kind) == ("append_entry", "pi-subagents")]
    assert {(entry["taskName"], entry["status"]) for entry in entries} == {("a", "completed"), ("b", "error")}
    assert all(re.fullmatch("[0-9a-f]{16}", entry["sessionId"]) for entry in entries)


async def test_a_host_that_cannot_keep_an_entry_costs_nobody_anything(opened):
    class Full(MemoryHost):
        def append_entry(self, kind, data):
            raise OSError("disk full")

    async with opened(host=Full()) as ohm:
        result = await delegated(ohm, *tasks("a", "b"))
    assert "error" not in result.text


async def test_a_new_process_knows_the_sessions_of_the_log(opened):
    host = MemoryHost()
    async with opened(host=host) as ohm:
        (session_id,) = (await delegated(ohm, *tasks("a"))).details["sessionIds"]
    kept = json.loads(json.dumps(host.branch()))
    async with opened(host=MemoryHost(branch=kept)) as ohm:
        before = await ohm.call("get_subagent_output", {"sessionId": session_id})
        await ohm.emit("session_start", {"reason": "new"})
        new = await ohm.call("get_subagent_output", {"sessionId": session_id})
        await ohm.emit("session_start", {"reason": "resume"})
        resumed = await ohm.call("get_subagent_output", {"sessionId": session_id})
        await ohm.emit("session_shutdown")
        after = await ohm.call("get_subagent_output", {"sessionId": session_id})
    assert [one.is_error for one in (before, new, resumed, after)] == [True, True, False, True]
    assert resumed.text == "Answer to Do a."


async def test_without_a_host_a_new_process_knows_the_sessions_of_the_store(opened):
    async def act(request, sink):
        sink.emit(ToolStarted(call_id="1", tool="read", args='{"path":"a.ts"}'))
        sink.emit(ToolEnded(call_id="1", tool="read", status="success", text="content"))
        return await answered(request, sink)

    backend = ActingBackend(act)
    async with opened(backend=backend, store="sqlite") as ohm:
        (session_id,) = (await delegated(ohm, *tasks("a"))).details["sessionIds"]
        here = await ohm.call("get_subagent_session", {"sessionId": session_id})
    async with opened(backend=backend, store="sqlite") as ohm:
        there = await ohm.call("get_subagent_session", {"sessionId": session_id})
        await delegated(ohm, *tasks("b", resume=session_id))
    assert there.text == here.text == '→ read: {"path":"a.ts"}\n[tool result]: content\nAnswer to Do a.'
    assert there.details == here.details
    assert "Tool Call: read(a.ts)\nTool Result: content\nAssistant: Answer to Do a." in backend.requests[-1].prompt


async def test_what_was_refused_is_in_the_store_too(opened):
    async with opened(store="sqlite") as ohm:
        (session_id,) = (await delegated(ohm, *tasks("a", profile="nobody"))).details["sessionIds"]
    async with opened(store="sqlite") as ohm:
        told = await ohm.call("get_subagent_session", {"sessionId": session_id})
    assert told.text == '[Error: Unknown profile: "nobody". Available profiles: (none)]'
    assert told.details["status"] == "error"


async def test_a_task_of_an_agent_profile_is_continued_after_a_restart(opened, place):
    agent(place / "agent", "writer", "tools: read\n", body="You write.")
    backend = ActingBackend(answered)
    resuming = {"subagents": {"sendToFinished": "resume"}}
    async with opened(backend=backend, store="sqlite") as ohm:
        (named, plain) = (await delegated(ohm, *tasks("a", profile="writer"), *tasks("b"))).details["sessionIds"]
    async with opened(backend=backend, store="sqlite", config=resuming, suites=["task"]) as ohm:
        by_session = {task.session_id: task for task in ohm.store.tasks()}
        for session in (named, plain):
            await ohm.call("task", {"op": "send", "id": by_session[session].id, "prompt": "And?"})
    assert [(one.profile.name, one.instructions) for one in backend.requests[2:]] == [
        ("writer", "You write."),
        ("Sub-agent", ""),
    ]


async def test_what_another_process_adds_to_a_session_is_seen(opened):
    async with opened(store="sqlite") as ours, opened(store="sqlite") as theirs:
        (session_id,) = (await delegated(ours, *tasks("a"))).details["sessionIds"]
        await delegated(theirs, *tasks("b", resume=session_id))
        output = await ours.call("get_subagent_output", {"sessionId": session_id})
    assert (output.details["taskName"], output.details["runCount"]) == ("b", 2)


@pytest.mark.parametrize("tool", ["get_subagent_output", "get_subagent_session"])
async def test_a_session_that_nobody_knows_has_a_code_of_its_own(opened, tool):
    async with opened() as ohm:
        result = await ohm.call(tool, {"sessionId": "0000000000000000"})
    assert result.is_error
    assert result.details["errorCode"] == ErrorCode.SESSION_NOT_FOUND


async def test_readers_at_the_same_time_see_the_same(opened):
    async with opened(store="sqlite") as ohm:
        (session_id,) = (await delegated(ohm, *tasks("a"))).details["sessionIds"]
    counts = []

    async def read(ohm):
        counts.append((await ohm.call("get_subagent_session", {"sessionId": session_id})).details["runCount"])

    async with opened(store="sqlite") as ohm, anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(read, ohm)
    assert counts == [1, 1, 1]


async def test_a_host_that_gives_nonsense_loses_only_that(opened):
    host = MemoryHost()
    async with opened(host=host) as ohm:
        (session_id,) = (await delegated(ohm, *tasks("a"))).details["sessionIds"]
    branch = [None, 5, {"type": "custom", "customType": "pi-subagents"}, *host.branch(), "x"]
    async with opened(host=MemoryHost(branch=branch)) as ohm:
        await ohm.emit("session_start", {"reason": "resume"})
        told = await ohm.call("get_subagent_output", {"sessionId": session_id})
    assert told.text == "Answer to Do a."


async def test_the_latest_run_is_the_last_one_in_the_log_of_a_host_also_after_its_clock_went_back(opened):
    entries = [
        {
            "sessionId": "a3f7b9c2d1e8f4a1",
            "taskName": text,
            "prompt": "p",
            "status": "completed",
            "messages": [{"role": "assistant", "content": text}],
            "exitCode": 0,
            "startedAt": started_at,
        }
        for text, started_at in (("first", 5000), ("second", 1000))
    ]
    branch = [{"type": "custom", "customType": "pi-subagents", "data": data} for data in entries]
    async with opened(host=MemoryHost(branch=branch)) as ohm:
        await ohm.emit("session_start", {"reason": "resume"})
        told = await ohm.call("get_subagent_output", {"sessionId": "a3f7b9c2d1e8f4a1"})
        whole = await ohm.call("get_subagent_session", {"sessionId": "a3f7b9c2d1e8f4a1"})
    assert (told.text, told.details["taskName"], told.details["runCount"]) == ("second", "second", 2)
    assert whole.text == "=== Run 1/2 (completed) ===\nfirst\n---\n=== Run 2/2 (completed) ===\nsecond"


async def test_a_session_that_goes_on_is_known_after_the_log_was_read_again(opened):
    gate, host = anyio.Event(), MemoryHost()

    async def act(_request, _sink):
        await gate.wait()
        return "done"

    results = []
    async with opened(act, host=host) as ohm, anyio.create_task_group() as group:

        async def call():
            results.append(await delegated(ohm, *tasks("a")))

        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        await ohm.emit("session_start", {"reason": "resume"})
        gate.set()
        while not results:
            await anyio.wait_all_tasks_blocked()
        (session_id,) = results[0].details["sessionIds"]
        assert (await ohm.call("get_subagent_output", {"sessionId": session_id})).text == "done"


async def test_a_profile_that_nobody_has_is_told_at_once(opened):
    frames, gate = [], anyio.Event()

    async def act(_request, sink):
        sink.emit(TextDelta(text="Working."))
        await gate.wait()
        return "done"

    def seen(frame):
        frames.append(frame.text)
        gate.set()

    async with opened(act) as ohm:
        asked = {"tasks": [*tasks("a"), *tasks("b", profile="nobody")]}
        await ohm.call("delegate_to_subagents", asked, on_update=seen)
    assert frames[0] == "1 running, 1 error"


async def test_a_key_that_means_nothing_is_told(opened):
    async with opened() as ohm:
        done = await delegated(ohm, *tasks("a", timout=10))
    assert done.details["windows"][0]["notes"] == ["Ignored unknown key 'timout'."]


async def test_half_a_character_of_a_model_breaks_nothing(opened):
    async def act(_request, sink):
        sink.emit(TextDelta(text="half \ud83d"))
        sink.emit(ToolStarted(call_id="1", tool="bash", args="\ud83d"))
        return "half \ud83d"

    async with opened(act, host=(host := MemoryHost())) as ohm:
        done = await delegated(ohm, *tasks("a"))
    assert json.dumps([done.details, host.calls], ensure_ascii=False).encode()


async def test_a_name_cannot_fake_the_line_of_another(opened):
    async with opened() as ohm:
        done = await delegated(ohm, *tasks("a\n✓ b\x1b[2J"))
    assert len(done.text.splitlines()) == 1
    assert "\x1b" not in done.text


async def test_a_follow_up_to_one_goes_to_the_same_profile(opened, place):
    agent(place / "agent", "task", "noTools: true\n", body="You have no tools.")
    backend = ActingBackend(answered)
    config = {"subagents": {"sendToFinished": "resume"}}
    async with opened(backend=backend, config=config, suites=["delegate", "task"]) as ohm:
        await delegated(ohm, *tasks("a", profile="task"), *tasks("b"))
        kept = {request.description: request.task_id for request in backend.requests}
        for name in ("a", "b"):
            await ohm.call("task", {"op": "send", "id": kept[name], "prompt": "More."})
    assert {request.tools for request in backend.requests if request.description == "a"} == {()}
    assert {request.instructions for request in backend.requests if request.description == "b"} == {""}


async def test_options_that_are_not_understood_cost_the_suite_and_are_told(opened):
    async with opened(config={"suiteOptions": {"delegate": {"filesOutsideCwd": "maybe"}}}) as ohm:
        assert "delegate_to_subagents" not in ohm.tools
        told = [diagnostic.message for diagnostic in ohm.diagnostics]
    expected = "'suiteOptions.delegate.filesOutsideCwd' is \"maybe\"; allowed: 'allow' or 'deny'"
    assert any(expected in one for one in told)


class TestFiles:
    """They are read in a thread, for which a clock that jumps does not wait."""

    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(self, request):
        return request.param

    async def test_files_stand_before_the_prompt_and_are_not_kept_in_the_record(self, opened, place):
        (place / "work" / "a.txt").write_text("one\ntwo\nthree\n")
        backend = ActingBackend(answered)
        async with opened(backend=backend) as ohm:
            asked = tasks("a", files=["a.txt", {"path": "a.txt", "tail": 1}])
            result = await delegated(ohm, *asked)
            session = await ohm.call("get_subagent_session", {"sessionId": result.details["sessionIds"][0]})
        assert backend.requests[0].prompt == "=== a.txt ===\none\ntwo\nthree\n\n=== a.txt ===\nthree\n\nDo a."
        assert "three" not in result.text
        assert session.details["messageCount"] == 2

    async def test_files_outside_of_the_directory_can_be_kept_out(self, opened, place):
        (place / "secret").write_text("a secret")
        backend = ActingBackend(answered)
        async with opened(backend=backend, config={"suiteOptions": {"delegate": {"filesOutsideCwd": "deny"}}}) as ohm:
            await delegated(ohm, *tasks("a", files=[str(place / "secret")]))
        assert "a secret" not in backend.requests[0].prompt
        denied = f"[access denied: path outside project directory: {place / 'secret'}]"
        assert denied in backend.requests[0].prompt


STRUCTURED = """finalize: required
resultSchema: {type: object, required: [files], properties: {files: {type: array, items: {type: string}}}}
"""


class TestInRealTime:
    """An answer is held against its schema in a process of its own."""

    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(self, request):
        return request.param

    async def test_a_profile_may_demand_a_structured_result(self, opened, place):
        agent(place / "agent", "scout", STRUCTURED)
        told = []

        async def hands_in(request, _sink):
            (tool,) = (one for one in request.child_tools if one.name == "subagent_finalize")
            for result in ('{"files": "a.py"}', '{"files": ["a.py"]}'):
                call = ToolCall(arguments={"status": "SUCCESS", "result": result})
                told.append(await tool.execute(call))
            return "and so on"

        async with opened(hands_in) as ohm:
            done = await delegated(ohm, *tasks("look", profile="scout"))
            output = await ohm.call("get_subagent_output", {"sessionId": done.text.partition("(session: ")[2][:16]})
        assert [one.is_error for one in told] == [True, False], told
        assert output.text == '{"files":["a.py"]}'


async def test_a_result_schema_without_its_rule_is_said_and_does_not_count(opened, place):
    agent(place / "agent", "scout", "resultSchema: {type: object}\n")
    async with opened() as ohm:
        done = await delegated(ohm, *tasks("look", profile="scout"))
        (wrong,) = (one.message for one in ohm.diagnostics)
    assert done.text.startswith("✓ look: completed")
    assert "'finalize: required' has to stand beside it" in wrong


async def test_a_session_that_runs_makes_room_for_no_other(opened):
    """Thirty-two are known where the host keeps the log; the oldest of those that are over leaves."""
    begun, gate = anyio.Event(), anyio.Event()

    async def act(request, _sink):
        if request.description == "slow":
            begun.set()
            await gate.wait()
        await anyio.lowlevel.checkpoint()
        return "done"

    slow, ended = [], []
    async with opened(act, host=MemoryHost()) as ohm, anyio.create_task_group() as group:

        async def hold():
            slow.append(await delegated(ohm, *tasks("slow")))

        group.start_soon(hold)
        await begun.wait()
        for number in range(3):
            done = await delegated(ohm, *tasks(*(f"t{number}_{n}" for n in range(16))))
            ended += done.details["sessionIds"]
        gate.set()
        with anyio.fail_after(60):
            while not slow:
                await anyio.lowlevel.checkpoint()
        (session,) = slow[0].details["sessionIds"]
        assert (await ohm.call("get_subagent_output", {"sessionId": session})).text == "done"
        assert len(ended) == 48
        known = [(await ohm.call("get_subagent_output", {"sessionId": each})).text == "done" for each in ended]
    assert known == [False] * 17 + [True] * 31


async def test_a_directory_that_is_not_there_fails_its_task_alone(opened):
    async with opened() as ohm:
        one, other = tasks("a", "b")
        done = await delegated(ohm, {**one, "cwd": "/no/such/place"}, other)
    first, second = done.text.splitlines()
    assert first.startswith("✗ a: error — The working directory '/no/such/place' is not a readable directory. Give an")
    assert second.startswith("✓ b: completed")
