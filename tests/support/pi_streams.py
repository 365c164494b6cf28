"""Recorded streams of `pi`, and what becomes of them in a reader."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from run_requests import run_request

from ohm_subagents._plugins.backends.request import RunRequest
from ohm_subagents.backends.pi.reader import PiReader
from ohm_subagents.contract import (
    DiagnosticRaised,
    ModelPattern,
    Profile,
    RunEvent,
    SessionId,
    TaskId,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)
from ohm_subagents.shell.dialect import Ended, Reader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._plugins.backends.request import RunRequest

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
ENDED = Ended(code=0)
PROFILE = Profile(
    id="finder",
    name="Finder",
    summary="FIN-SUMMARY",
    when_to_use=("FIN-WHEN-1",),
    prompt="FIN-SCAFFOLD",
)


def request(prompt: str = "Trace auth", **changes: Any) -> RunRequest:
    given = {
        "task_id": TaskId("task_1"),
        "session_id": SessionId("session"),
        "profile": PROFILE,
        "description": "Auth scan",
        "prompt": prompt,
        "instructions": "You are the finder.",
        "cwd": Path("/repo/tree"),
    }
    return run_request(**{**given, **changes})


def pattern(text: str) -> ModelPattern:
    provider, _, model = text.partition("/")
    return ModelPattern(provider=provider, model=model)


def version_of(file: Path) -> str:
    return file.name.split("-")[1]


def case_of(file: Path) -> str:
    return file.stem.rpartition("-")[2]


def json_streams() -> list[Path]:
    return sorted(TRANSCRIPTS.glob("pi-*-json-*.jsonl"))


def lines_of(file: Path) -> list[bytes]:
    return [line for line in file.read_bytes().split(b"\n") if line]


def reader_for(file: Path, **changes: Any) -> PiReader:
    return PiReader(request(**changes), settles=not version_of(file).startswith("0.7"), secrets=())


def told(reader: Reader, lines: Iterable[bytes]) -> list[RunEvent]:
    return [event for line in lines for event in reader.read(line)]


def rpc_runs(file: Path) -> list[tuple[str, list[bytes]]]:
    """(prompt, what `pi` wrote until the next prompt that it took) of a conversation in RPC mode."""
    runs: list[tuple[str, list[bytes]]] = []
    busy = False
    for recorded in map(json.loads, lines_of(file)):
        record = recorded["line"]
        if recorded["dir"] == "in":
            if isinstance(record, dict) and record.get("type") == "prompt" and not busy:
                runs.append((record["message"], []))
                busy = True
        elif runs:
            runs[-1][1].append(json.dumps(record).encode())
            busy = busy and record.get("type") not in {"agent_end", "agent_settled"}
    return runs


def outline(events: Iterable[RunEvent]) -> str:
    """Kinds of events with the names of tools; what repeats itself is said once."""
    return " ".join(word for word, _ in groupby(map(_word, events)))


def _word(event: RunEvent) -> str:
    match event:
        case ToolStarted(tool=tool):
            return f"○{tool}"
        case ToolUpdated(tool=tool):
            return f"…{tool}"
        case ToolEnded(tool=tool, status=status):
            return f"{'✓' if status == 'success' else '✕'}{tool}"
        case DiagnosticRaised(diagnostic=diagnostic):
            return f"({diagnostic.message})"
        case _:
            return event.kind
