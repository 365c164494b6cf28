"""Updates as agents send them, without a process: each has its own idea of a tool call and of usage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ohm_acp.agents import CLAUDE, CODEX, OPENCODE, OTHER
from ohm_acp.checkpoint import Checkpoint
from ohm_acp.report import Report
from ohm_subagents.contract import SessionId, TaskId
from ohm_subagents.plugin import (
    DiagnosticRaised,
    Profile,
    RunRequest,
    RunSpec,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)

if TYPE_CHECKING:
    from ohm_acp.agents import Agent

PROFILE = Profile(id="p", name="P", summary="", prompt="")
SPEC = RunSpec(profile=PROFILE, description="", instructions="", cwd=Path("/work"))
REQUEST = RunRequest(task_id=TaskId("t"), session_id=SessionId("s"), prompt="p", spec=SPEC)


class Heard:
    def __init__(self) -> None:
        self.events: list[Any] = []

    def emit(self, event: object) -> None:
        """Keep it."""
        self.events.append(event)


def told(agent: Agent, *updates: dict[str, Any], served: dict[str, str] | None = None) -> list[Any]:
    sink = Heard()
    report = Report("mine", agent, REQUEST, sink)
    report.serves(served or {})
    report.update({"sessionId": "s", "update": said("of the past")})
    report.begins("s", Checkpoint())
    for update in updates:
        report.update({"sessionId": "s", "update": update})
    report.ends({"stopReason": "end_turn"})
    return [one for one in sink.events if one.kind != "checkpointed"]


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}, **more}


def call(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "x", **fields}


def update(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "c", **fields}


def calls_in(events: list[Any]) -> list[Any]:
    return [one for one in events if isinstance(one, ToolStarted | ToolUpdated | ToolEnded)]


def test_a_call_without_arguments_waits_for_them() -> None:
    meta = {"_meta": {"claudeCode": {"toolName": "Bash"}}}
    content = [{"type": "content", "content": {"type": "text", "text": "```console\na\n```"}}]
    assert calls_in(
        told(
            CLAUDE,
            call(kind="execute", title="Terminal", status="pending", rawInput={}, **meta),
            update(kind="execute", title="ls", rawInput={"command": "ls"}, content=content, **meta),
            update(status="completed", rawOutput="a", content=content, **meta),
        )
    ) == [
        ToolStarted(call_id="c", tool="Bash", args='{"command":"ls"}'),
        ToolEnded(call_id="c", tool="Bash", status="success", text="a"),
    ]


def test_arguments_that_come_in_parts_are_told_whole() -> None:
    assert calls_in(
        told(
            OPENCODE,
            call(kind="execute", title="bash", status="pending", rawInput={"cwd": "/work"}),
            update(kind="execute", title="bash", status="in_progress", rawInput={"command": "ls"}),
            update(title="List files", status="failed", rawOutput={"error": "no"}),
        )
    ) == [
        ToolStarted(call_id="c", tool="bash", args='{"command":"ls"}'),
        ToolEnded(call_id="c", tool="bash", status="error", text='{"error":"no"}'),
    ]


def test_a_call_of_which_nothing_more_is_told_is_told_before_what_comes_next() -> None:
    events = told(OTHER, call(kind="read", status="pending"), said("Read."))
    assert [one.kind for one in events] == ["tool_started", "text_delta", "usage_added"]


def test_a_tool_without_a_name_has_that_of_its_kind_or_its_title() -> None:
    for fields, name in (({"kind": "search"}, "search"), ({"kind": "other", "title": "Fly\nfar"}, "Fly"), ({}, "x")):
        started, _ = calls_in(told(OTHER, call(**fields), update(status="completed")))
        assert started.tool == name


def test_what_a_terminal_prints_is_told_in_pieces_and_whole() -> None:
    def printed(text: str) -> dict[str, Any]:
        return update(status="in_progress", _meta={"terminal_output": {"terminal_id": "c", "data": text}})

    events = told(OTHER, call(kind="execute", status="in_progress"), printed("a\n"), printed("b\n"))
    assert [one.text for one in events if isinstance(one, ToolUpdated)] == ["a\n", "b\n"]
    ended = told(OTHER, call(kind="execute"), printed("a\n"), printed("b\n"), update(status="completed"))[-2]
    assert ended == ToolEnded(call_id="c", tool="execute", status="success", text="a\nb\n")


@pytest.mark.parametrize(
    ("agent", "fields"),
    [
        (CLAUDE, {"_meta": {"claudeCode": {"toolName": "mcp__ohm__add"}}}),
        (OPENCODE, {"title": "ohm_add"}),
        (CODEX, {"title": "Tool: ohm/add"}),
        (OTHER, {"title": "add (ohm MCP Server)"}),
        (OTHER, {"title": "add"}),
    ],
)
def test_a_call_of_a_tool_of_ours_is_told_where_it_runs_alone(agent: Agent, fields: dict[str, Any]) -> None:
    events = told(agent, call(**fields), update(status="completed"), served={"add": "add"})
    assert calls_in(events) == []


@pytest.mark.parametrize("title", ["ohm_add_more", "xohm_add", "add", "cat ohm/add", "ohm_add\nrm -rf ."])
def test_a_call_of_another_tool_is_none_of_ours(title: str) -> None:
    assert calls_in(told(OPENCODE, call(title=title), update(status="completed"), served={"add": "add"}))
    named = {"title": "ohm_add", "_meta": {"claudeCode": {"toolName": "Bash"}}}
    assert calls_in(told(CLAUDE, call(**named), update(status="completed"), served={"add": "add"}))


def test_usage_of_each_request_is_counted_as_it_comes() -> None:
    usage = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120, "thoughtTokens": 5, "cachedReadTokens": 40}
    events = told(OTHER, said("", _meta={"usage": usage}), said("Done.", _meta={"usage": usage}))
    counted = [one.usage for one in events if isinstance(one, UsageAdded)]
    assert [(one.requests, one.input_tokens, one.output_tokens, one.cached_tokens) for one in counted] == [
        (1, 100, 20, 40),
        (1, 100, 20, 40),
    ]


def test_a_cost_in_another_currency_is_no_cost() -> None:
    def cost(amount: float, currency: str) -> dict[str, Any]:
        return {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": amount, "currency": currency}}

    events = told(OTHER, cost(1, "EUR"), cost(0.25, "USD"), cost(0.75, "USD"))
    assert [str(one.usage.cost_usd) for one in events if isinstance(one, UsageAdded)] == ["0.25", "0.50", "None"]


def test_a_warning_of_codex_is_no_part_of_its_answer() -> None:
    events = told(CODEX, said("Model metadata for `m` not found. Defaulting to fallback metadata."), said("Done."))
    assert [one.text for one in events if isinstance(one, TextDelta)] == ["Done."]
    assert [one.diagnostic.message for one in events if isinstance(one, DiagnosticRaised)] == [
        "Model metadata for `m` not found. Defaulting to fallback metadata."
    ]
