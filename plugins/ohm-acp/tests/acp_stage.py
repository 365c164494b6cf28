"""An `Ohm` whose subagents a scripted ACP agent runs."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import ohm_acp
from ohm_subagents import Err, Ohm, Ok
from ohm_subagents.plugin import Profile, ToolEnded, ToolPolicy, ToolStarted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from ohm_subagents import Envelope, OhmError
    from ohm_subagents.plugin import Result, ToolResult

READER = Profile(
    id="reader", name="Reader", summary="Reads.", prompt="You read.", tools=ToolPolicy(allowed=("read", "grep"))
)
FREE = Profile(id="free", name="Free", summary="Does.", prompt="You do.")


def command_of(home: Path, *words: str) -> tuple[str, ...]:
    """The command of an agent that is what the words say and keeps its sessions in a directory."""
    return (sys.executable, "-I", "-S", str(Path(__file__).with_name("scripted_agent.py")), *words, str(home))


@dataclass(frozen=True)
class Stage:
    """A directory, and an `Ohm` in which a scripted agent runs."""

    here: Path
    words: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=lambda: {"agent": "claude"})
    store: str = "memory"

    def noted(self, what: str) -> list[Any]:
        """Return the messages that the agent got, in order."""
        file = self.here / f"{what}.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @asynccontextmanager
    async def ohm(self, *, profiles: Sequence[Profile] = (), **settings: Any) -> AsyncGenerator[Ohm]:
        """An `Ohm` with the backend `mine`, of the type `acp`."""
        backend = {"type": "acp", "command": list(command_of(self.here, *self.words)), "graceMs": 200, **self.options}
        subagents = {"sendToFinished": "resume", "backends": {"mine": backend}, **settings}
        env = {"PI_CONFIG_DIR": str(self.here), "OHM_SUBAGENTS_STORE": self.store, "PATH": "/usr/bin:/bin"}
        work = self.here / "work"
        work.mkdir(exist_ok=True)
        async with Ohm.open(
            cwd=work,
            env=env,
            config={"subagentBackend": "mine", "subagents": subagents},
            profiles=[READER, FREE, *profiles],
            plugins=[ohm_acp],
        ) as ohm:
            yield ohm


async def answered(ohm: Ohm, prompt: str, profile: str = "reader", **how: Any) -> Envelope:
    outcome: Result[Envelope, OhmError] = await ohm.run(profile, prompt, **how)
    if isinstance(outcome, Err):
        pytest.fail(str(outcome.err_value))
    return outcome.ok_value


async def failed(ohm: Ohm, prompt: str, profile: str = "reader", **how: Any) -> OhmError:
    outcome: Result[Envelope, OhmError] = await ohm.run(profile, prompt, **how)
    if isinstance(outcome, Ok):
        pytest.fail(f"succeeded with {outcome.ok_value.output!r}")
    return outcome.err_value


def told(envelope: Envelope) -> list[str]:
    return [*(envelope.diagnostics or ())]


async def calls_of(ohm: Ohm, envelope: Envelope) -> list[ToolStarted | ToolEnded]:
    handle = ohm.handle(envelope.task_id or "")
    assert handle is not None
    return [event async for event in handle.events() if isinstance(event, ToolStarted | ToolEnded)]


def details(sent: ToolResult) -> dict[str, Any]:
    """Return the envelope of a follow-up."""
    return cast("dict[str, Any]", sent.details)
