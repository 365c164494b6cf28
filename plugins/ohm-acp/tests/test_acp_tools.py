"""The tools of a scripted agent: its own, within the profile and its permissions, and those that we give it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from acp_stage import Stage, answered, calls_of, failed, told

from ohm_subagents import tool
from ohm_subagents.plugin import ErrorCode, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from pathlib import Path

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
