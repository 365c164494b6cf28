"""Texts that suites share: the title of a task, its failure in their own words, guidance for a system prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.truncation import shortened

if TYPE_CHECKING:
    from collections.abc import Collection

    from ohm_subagents._plugins.suites.tool import Tool
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.redaction.redactor import Redaction

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


def tool_guidance(tools: Collection[Tool]) -> str:
    """Return the guidance of the tools for a system prompt, each sentence once; empty if there is none."""
    named: dict[str, list[str]] = {}
    for tool in tools:
        if tool.prompt_snippet:
            named.setdefault(tool.prompt_snippet, []).append(tool.name)
    lines = [f"- {', '.join(names)}: {snippet}" for snippet, names in named.items()]
    lines += dict.fromkeys(f"- {line}" for tool in tools for line in tool.prompt_guidelines)
    return "\n".join(["About your tools:", *lines]) if lines else ""
