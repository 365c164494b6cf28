"""The tools of a scripted agent: its own, within the profile and its permissions, and those that we give it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from acp_stage import Stage, answered, calls_of, failed, told

from ohm_subagents import Deny, Handle, Ohm, Request, tool
from ohm_subagents.plugin import CallRules, ErrorCode, Profile, ToolEnded, ToolPolicy, ToolStarted

pytestmark = pytest.mark.anyio
slow = pytest.mark.slow  # a process each; what stays quick has one of each kind


@pytest.fixture
def anyio_backend() -> str:
    """The ACP library runs on asyncio only."""
    return "asyncio"


async def test_claude_is_kept_to_the_tools_of_the_profile_and_given_its_instructions(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm() as ohm:
        await answered(ohm, "Say hello.")
        await answered(ohm, "Say hello.", "free")
    bounded, free = (one["_meta"] for one in stage.noted("sessions"))
    assert bounded["claudeCode"]["options"]["tools"] == ["Read", "Grep"]
    assert "You read." in bounded["systemPrompt"]["append"]
    assert "tools" not in free["claudeCode"]["options"]
    assert stage.noted("prompts") == ["Say hello.", "Say hello."]


async def test_a_profile_that_limits_tools_is_refused_by_an_agent_that_cannot_be_kept_to_them(tmp_path: Path) -> None:
    stage = Stage(tmp_path, options={})
    async with stage.ohm() as ohm:
        error = await failed(ohm, "Say hello.")
        assert (await answered(ohm, "Say hello.", "free")).output
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
    assert error.message == (
        "mine cannot be kept to the tools that the profile allows: this agent has tools of its own."
    )
    assert 'subagents.backends."mine".agent of ohm.json' in error.advice
    (prompt,) = stage.noted("prompts")
    assert "You do." in prompt  # there is no other place for them
    assert prompt.endswith("\n\nSay hello.")


async def test_a_tool_call_is_told_once_with_its_arguments_and_its_result(tmp_path: Path) -> None:
    async with Stage(tmp_path).ohm() as ohm:
        envelope = await answered(ohm, "Use tools now")
        calls = await calls_of(ohm, envelope)
    assert [(one.kind, one.call_id, one.tool) for one in calls] == [
        ("tool_started", "c1", "Bash"),
        ("tool_ended", "c1", "Bash"),
        ("tool_started", "c2", "Read"),
        ("tool_ended", "c2", "Read"),
    ]
    assert isinstance(calls[0], ToolStarted)
    assert isinstance(calls[1], ToolEnded)
    assert (calls[0].args, calls[1].text) == ('{"command":"ls"}', "a.py\nb.py")
    assert envelope.output == "Hello from the agent."


@slow
async def test_a_file_that_the_agent_writes_is_named_below_the_folder(tmp_path: Path) -> None:
    async with Stage(tmp_path).ohm() as ohm:
        handle = await ohm.start("free", "Please write it")
        changed = [one.path async for one in handle.events() if one.kind == "file_changed"]
    assert changed == ["new.txt"]


async def test_permissions_are_answered_by_the_profile_once_each_and_a_refusal_is_told(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm() as ohm:
        envelope = await answered(ohm, "Ask for permission first")
    assert [one["optionId"] for one in stage.noted("permissions")] == ["yes", "no", "no"]
    assert [one for one in told(envelope) if "asked" in one] == [
        'The agent asked to use "Bash" with {"what":"Bash"}; the profile does not allow it, so it was refused.',
        'The agent asked to use "WebFetch" with {"what":"WebFetch"}; the profile does not allow it, so it was refused.',
    ]


@slow
async def test_a_profile_without_a_list_allows_what_the_agent_asks_for(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    async with stage.ohm() as ohm:
        await answered(ohm, "Ask for permission first", "free")
    assert [one["optionId"] for one in stage.noted("permissions")] == ["yes", "yes", "yes"]


@tool
def double(number: int) -> int:
    """Double a number.

    Args:
        number: the number.
    """
    return 2 * number


@slow
async def test_a_tool_of_the_program_is_called_by_the_agent_and_told_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    prompt = "child-tool " + json.dumps(["double", {"number": 21}])
    async with stage.ohm() as ohm:
        envelope = await answered(ohm, prompt, tools=[double])
        calls = await calls_of(ohm, envelope)
    assert [(one.kind, one.tool) for one in calls] == [("tool_started", "double"), ("tool_ended", "double")]
    assert isinstance(calls[1], ToolEnded)
    assert calls[1].text == "42"
    (session,) = stage.noted("sessions")
    assert [one["name"] for one in session["mcpServers"]] == ["ohm"]


@slow
async def test_an_agent_that_takes_no_server_cannot_be_given_tools(tmp_path: Path) -> None:
    async with Stage(tmp_path, ("no-http",)).ohm() as ohm:
        error = await failed(ohm, "Say hello.", tools=[double])
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
    assert error.message == "mine takes no MCP server over HTTP, so it cannot be given double."


RULED = Profile(
    id="ruled",
    name="Ruled",
    summary="Runs.",
    prompt="You run.",
    tools=ToolPolicy(allowed=("bash",), call_rules=(CallRules(deny=("rm *",), source="ruled.md"),)),
)


async def test_the_gate_decides_about_a_command_that_the_agent_asks_for(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    (tmp_path / "work").mkdir()
    kept = tmp_path / "work" / "kept"
    kept.touch()
    async with stage.ohm(profiles=[RULED]) as ohm:
        envelope = await answered(ohm, f"shell rm {kept}", "ruled")
    (session,) = stage.noted("sessions")
    assert session["_meta"]["claudeCode"]["options"]["settings"] == {"permissions": {"ask": ["Bash"]}}
    assert [one["optionId"] for one in stage.noted("permissions")] == ["no"]
    assert kept.exists()
    assert any("a rule of this subagent denies it (ruled.md)" in one for one in told(envelope))


async def test_where_calls_have_rules_an_agent_is_never_told_to_ask_no_more(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ("only-always",))
    async with stage.ohm(profiles=[RULED]) as ohm:
        for profile in ("ruled", "free"):
            await answered(ohm, "shell true", profile)
    ruled, free = stage.noted("permissions")
    assert ruled == {"outcome": "cancelled"}
    assert free == {"outcome": "selected", "optionId": "always"}


@slow
async def test_an_agent_that_does_not_ask_cannot_keep_rules(tmp_path: Path) -> None:
    async with Stage(tmp_path, options={"agent": "qwen"}).ohm(profiles=[RULED]) as ohm:
        error = await failed(ohm, "Say hello.", "ruled")
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
    assert error.message == (
        "mine cannot keep the rules of the profile: this agent does not ask before each call of a tool."
    )


async def test_of_what_an_agent_adds_to_a_command_only_another_folder_is_shown(tmp_path: Path) -> None:
    """An approval is for a command: it holds when its model repeats it, in other words about it."""
    ruled = replace(RULED, tools=replace(RULED.tools, call_rules=(CallRules(ask=("echo *",), source="ruled.md"),)))
    shown: list[str] = []

    async def person(request: Request) -> Deny:
        shown.append(request.arguments)
        return Deny()

    async with Stage(tmp_path).ohm(profiles=[ruled]) as ohm:
        with ohm.answering(person, by="callback"):
            for cwd in (tmp_path / "work", Path("/")):
                await answered(ohm, f"shell-in {cwd} echo a", "ruled")
    assert shown == ['{"command":"echo a"}', '{"command":"echo a","cwd":"/"}']


@slow
async def test_a_request_that_outlives_an_agent_without_sessions_is_answered_in_a_new_one(tmp_path: Path) -> None:
    stage = Stage(tmp_path, store="sqlite")
    ruled = replace(RULED, tools=replace(RULED.tools, call_rules=(CallRules(ask=("echo *",), source="ruled.md"),)))
    asked = anyio.Event()

    async def nobody(request: Request) -> Deny:
        asked.set()
        await anyio.sleep_forever()
        return Deny(request.id)

    async with stage.ohm(profiles=[ruled]) as ohm:
        with ohm.answering(nobody, by="callback"):
            await ohm.start("ruled", "shell-in / echo a")
            await asked.wait()
    async with stage.ohm(profiles=[ruled]) as ohm:
        (request,) = ohm.requests()
        (await ohm.answer(request.id, Deny("Not here."))).unwrap()
        (again,) = await other_requests(ohm, request.id)  # this agent does what the whole prompt says
        (await ohm.answer(again.id, Deny())).unwrap()
        handle = ohm.handle(request.task_id)
        assert isinstance(handle, Handle)
        envelope = (await handle.wait()).unwrap()
    first, second = stage.noted("prompts")
    assert first in second
    assert "Your call of 'bash'" in second
    assert "was denied: Not here." in second
    assert [one for one in told(envelope) if "did not continue its session (it keeps none)" in one]


async def other_requests(ohm: Ohm, known: str) -> list[Request]:
    while not (found := [one for one in ohm.requests() if one.id != known]):  # noqa: ASYNC110  no event tells it
        await anyio.sleep(0.02)
    return found
