"""The details of results, for machines: camelCase, like the session entries of a host."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from ohm_subagents.suite import DetailsModel

SessionStatus = Literal["running", "completed", "error"]


class Line(DetailsModel):
    """A line of a window: what the sub-agent said, or a tool call."""

    text: str
    kind: Literal["text", "tool"] = "text"


class Progress(DetailsModel):
    """The counts of a sub-agent's work so far."""

    todo_total: int | None = None
    todo_completed: int | None = None
    tool_count: int = 0
    file_count: int = 0


class ModelChoice(DetailsModel):
    """The model of a sub-agent."""

    model: str | None = None
    provider: str | None = None
    thinking_level: str | None = None


class Window(ModelChoice, Progress):
    """One sub-agent, live or over. Stamps are epoch milliseconds, `timeout` is in seconds.

    `lines` are the newest ones, as many as a window shows; `all_messages` are all that are kept. `notes` say what was
    not done as asked for, and why something failed where shorter words are fixed for it. `left_out` are the reasons
    why files that were named are not in the prompt.
    """

    name: str
    session_id: str
    status: SessionStatus = "running"
    lines: tuple[Line, ...] = ()
    all_messages: tuple[Line, ...] = ()
    exit_code: int | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    profile_name: str | None = None
    profile_info: str | None = None
    started_at: int | None = None
    completed_at: int | None = None
    timeout: float = 600
    notes: tuple[str, ...] | None = None
    left_out: tuple[str, ...] | None = None


class Windows(DetailsModel):
    """All sub-agents of one call, in the order of its tasks."""

    windows: tuple[Window, ...]
    max_lines_per_window: int
    global_status: Literal["running", "done"]
    session_ids: tuple[str, ...]


class SessionRun(DetailsModel):
    """One run of a session: what is kept of it, and what a host's session entry of the type `pi-subagents` holds.

    `prompt` is as it was given. `messages` are JSON objects as pi writes them: `role` (user, assistant, toolResult) and
    `content`, a text or a list of parts (`text`, `thinking`, `toolCall` with `name` and `arguments`, `image`).
    """

    session_id: str
    task_name: str
    prompt: str
    status: SessionStatus
    messages: tuple[dict[str, JsonValue], ...] = ()
    exit_code: int | None = None
    cwd: str | None = None
    profile_name: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    started_at: int = 0
