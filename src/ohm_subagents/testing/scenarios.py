"""The requests that the conformance kit gives a backend."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

from ohm_subagents._plugins.backends.request import RunRequest, RunSpec
from ohm_subagents._plugins.suites.tool import Tool, ToolCall, ToolResult
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import Profile

if TYPE_CHECKING:
    from pydantic import JsonValue

NOTE: Final = "conformance_note"
RUNS: Final = "conformance_runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenarios:
    """Prompts that make a backend do a thing, and what each run gets besides.

    A law without its prompt is skipped, and the skip says so. What a backend declares has to be shown.
    """

    says: str = "Say hello."
    """Is answered, with or without more words after it."""
    hangs: str | None = None
    """Goes on until it is cancelled."""
    fails: str | None = None
    """Ends with an error."""
    calls_two_tools: str | None = None
    """Calls two of `tools`."""
    recalls: tuple[str, str] | None = None
    """A follow-up to `says`, and a word that its answer contains only if the session was seen; for `SESSIONS`."""
    calls_child_tool: str | None = None
    """Calls the child tool `conformance_note` with the argument `text`, then answers; for `CHILD_TOOLS`."""
    calls_bash: str | None = None
    """Calls `bash` once, with a command that adds a line to the file `conformance_runs` in `cwd`, then answers whatever
    became of it; for `CALL_RULES`."""
    tools: tuple[str, ...] = ()
    """The child tools of each run."""
    model: ModelPattern | None = None
    """The model of each run."""
    cwd: Path = field(default_factory=Path.cwd)
    """The working directory of each run."""


def note_tool(notes: list[JsonValue]) -> Tool:
    """A child tool that keeps the arguments of its calls in `notes`."""

    async def execute(call: ToolCall) -> ToolResult:
        await checkpoint()
        notes.append(call.arguments)
        return ToolResult(text="Noted.", details={})

    return Tool(
        name=NOTE,
        label="Note",
        description="Takes a note.",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        execute=execute,
        call_view=lambda _payload, _theme: NOTE,
    )


def request_for(prompt: str, scenarios: Scenarios, *, session: str = "1") -> RunRequest:
    """A plain request in a session of its own."""
    return RunRequest(
        task_id=TaskId(f"task_{session}"),
        session_id=SessionId(f"session_{session}"),
        prompt=prompt,
        spec=RunSpec(
            profile=Profile(id="tester", name="Tester", summary="Runs conformance prompts.", prompt=""),
            description="conformance",
            instructions="You are a test subject.",
            cwd=scenarios.cwd,
            tools=scenarios.tools,
            model=scenarios.model,
        ),
    )
