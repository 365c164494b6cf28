"""Recorded streams of real CLIs, and how they are replayed without a process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ohm_backend_cli.program import PROGRAMS
from ohm_subagents.contract import RunEvent, SessionId, TaskId
from ohm_subagents.plugin import ModelPattern, OhmError, Profile, Result, RunOutput, RunRequest, RunSpec
from ohm_subagents.shell import Ended, Invocation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract import Thinking

STREAMS = Path(__file__).parent / "streams"
AGENTS = tuple(program.agent() for program in PROGRAMS)
DIALECTS = {agent.id: agent.dialect() for agent in AGENTS}
NAMES = sorted(file.name for file in STREAMS.glob("*.jsonl"))
ENDED = Ended(code=0)


@dataclass(frozen=True)
class Replayed:
    """A stream as it was told: events while it was read and after it, and the outcome."""

    events: list[RunEvent]
    outcome: Result[RunOutput, OhmError]


def asked(*, model: str = "", thinking: Thinking | None = None, **others: Any) -> RunRequest:
    """A request; `model` is `<provider>/<name>`."""
    provider, _, name = model.partition("/")
    fields: dict[str, Any] = {
        "profile": Profile(id="p", name="P", summary="", prompt=""),
        "description": "",
        "instructions": "",
        "cwd": Path("<cwd>"),
        "model": ModelPattern(provider=provider, model=name, thinking=thinking) if model else None,
    }
    fields |= others
    run: dict[str, Any] = {"task_id": TaskId("task_1"), "session_id": SessionId("session_1"), "prompt": "Do it."}
    run |= {name: fields.pop(name) for name in ("prompt", "history", "checkpoint", "depth") if name in fields}
    return RunRequest(**run, spec=RunSpec(**fields))


def cli_of(name: str) -> str:
    """Whose stream it is."""
    return name.partition("-")[0]


def lines(name: str) -> list[bytes]:
    """The lines of a stream."""
    return [line for line in (STREAMS / name).read_bytes().split(b"\n") if line]


def ended(name: str) -> Ended:
    """Return how the process of a stream ended."""
    one = json.loads((STREAMS / "index.json").read_text())[name]
    return Ended(code=one["exit_code"], stderr=one["stderr"])


def replayed(cli: str, said: Iterable[bytes], end: Ended = ENDED, request: RunRequest | None = None) -> Replayed:
    """Read these lines as the CLI's."""
    reader = DIALECTS[cli].reader(Invocation(request=request or asked(), folder=Path("/none")))
    events = [event for line in said for event in reader.read(line)]
    return Replayed([*events, *reader.last(end)], reader.outcome(end))
