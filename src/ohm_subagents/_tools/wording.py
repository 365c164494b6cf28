"""Texts of tools: a short title, a failure without an id, work in the background, and guidance for a system prompt."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.truncation import shortened

if TYPE_CHECKING:
    from collections.abc import Collection

    from ohm_subagents._plugins.suites.interface import Tool
    from ohm_subagents._views.reply_lines import ReplyLines
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.redaction.redactor import Redaction

ASYNC: Final = "Return the task ids at once; the work goes on in the background, and op wait of task gives the answers."
"""The description of the argument `async`."""
MAX_CHARS: Final = 60
_BACKEND = "backend failed: "


def title_of(task: str, redaction: Redaction) -> str:
    """Return the first line of a task, at most `MAX_CHARS`; redacted first, since half a secret is not recognised."""
    first_line, *_ = redaction.text(task).strip().split("\n")
    return shortened(first_line, MAX_CHARS)


def plain_failure(error: OhmError, *, who: str) -> OhmError:
    """Return the failure with `who` in place of the task's id."""
    said = error.message.removeprefix(f"Task {error.task_id} ")
    if error.task_id is None or said == error.message:
        return error
    failed = said.removeprefix(_BACKEND)
    return replace(error, message=f"{who} {said}" if failed == said else f"{who} failed: {failed}")


def how_to_collect(reply: ReplyLines) -> str:
    """Say what to do next about work that goes on in the background; empty for all other work."""
    ids = [task.id for task in reply.tasks if not task.is_terminal]
    if not ids or reply.op != "start":
        return ""
    waiting = json.dumps({"op": "wait", "ids": ids})
    return f"\n\nThe work goes on in the background. To get the answers, call task: {waiting}"


def tool_guidance(tools: Collection[Tool]) -> str:
    """Return the guidance of the tools for a system prompt, each sentence once; empty if there is none."""
    named: dict[str, list[str]] = {}
    for tool in tools:
        if tool.prompt_snippet:
            named.setdefault(tool.prompt_snippet, []).append(tool.name)
    lines = [f"- {', '.join(names)}: {snippet}" for snippet, names in named.items()]
    lines += dict.fromkeys(f"- {line}" for tool in tools for line in tool.prompt_guidelines)
    return "\n".join(["About your tools:", *lines]) if lines else ""
