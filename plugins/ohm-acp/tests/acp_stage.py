"""An `Ohm` whose subagents a scripted ACP agent runs."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ohm_acp
from ohm_subagents import Ohm
from ohm_subagents.plugin import Profile, ToolPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

READER = Profile(
    id="reader", name="Reader", summary="Reads.", prompt="You read.", tools=ToolPolicy(allowed=("read", "grep"))
)
FREE = Profile(id="free", name="Free", summary="Does.", prompt="You do.")


def command_of(home: Path, *words: str) -> tuple[str, ...]:
    """The command of an agent that is what the words say and keeps its sessions in a directory."""
    return (sys.executable, "-I", "-S", str(Path(__file__).with_name("scripted_agent.py")), *words, str(home))


@dataclass(frozen=True)
class Stage:
    """Where a scripted agent runs."""

    here: Path
    words: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=lambda: {"agent": "claude"})

    def noted(self, what: str) -> list[Any]:
        """What the agent was told, in order."""
        file = self.here / f"{what}.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @asynccontextmanager
    async def ohm(self, **settings: Any) -> AsyncGenerator[Ohm]:
        """An `Ohm` with the backend `mine`, of the type `acp`."""
        backend = {"type": "acp", "command": list(command_of(self.here, *self.words)), "graceMs": 200, **self.options}
        subagents = {"sendToFinished": "resume", "backends": {"mine": backend}, **settings}
        env = {"PI_CONFIG_DIR": str(self.here), "OHM_SUBAGENTS_STORE": "memory", "PATH": "/usr/bin:/bin"}
        work = self.here / "work"
        work.mkdir(exist_ok=True)
        async with Ohm.open(
            cwd=work,
            env=env,
            config={"subagentBackend": "mine", "subagents": subagents},
            profiles=[READER, FREE],
            plugins=[ohm_acp],
        ) as ohm:
            yield ohm
