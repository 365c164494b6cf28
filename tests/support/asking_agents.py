"""The real agents that ask before a call: pi, Claude Code and two that speak ACP, on a scripted model.

`python asking_agents.py <agent> <home> <url of the model> <prompts>` starts the subagent `runner` of this agent for
each prompt, two levels below the task that is started, and says the ids of the requests that it makes, and of the
processes that it needs. It may be killed at any time.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import psutil
from acting import ActingBackend
from real_agents import CLAUDE, OPENCODE
from real_agents import installed as from_npm
from real_pi import NEW
from real_pi import installed as real_pi

import ohm_acp
import ohm_backend_cli
from ohm_subagents import Err, Ohm
from ohm_subagents.config import process_env
from ohm_subagents.plugin import CallRules, Profile, ToolPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

CLAUDE_ACP = ("@zed-industries/claude-agent-acp", "0.23.1", "claude-agent-acp")
RUNNER = Profile(
    id="runner",
    name="Runner",
    summary="Runs.",
    prompt="You run.",
    tools=ToolPolicy(allowed=("read", "bash"), call_rules=(CallRules(ask=("echo *",), source="a rule"),)),
)
LEAD = Profile(id="lead", name="Lead", summary="Leads.", prompt="You lead.")
OPENCODE_CONFIG = (
    '{{"provider": {{"scripted": {{"npm": "@ai-sdk/openai-compatible", "options": {{"baseURL": "{url}/v1", '
    '"apiKey": "k"}}, "models": {{"m": {{"name": "m"}}}}}}}}}}'
)


def acp(package: tuple[str, str, str], *words: str) -> Callable[[], dict[str, Any]]:
    return lambda: {"type": "acp", "command": [from_npm(*package), *words]}


@dataclass(frozen=True)
class Real:
    """An agent, as a backend."""

    backend: str
    options: Callable[[], dict[str, Any]]
    model: str
    shell: str
    """Its name for the shell."""
    arguments: dict[str, str] = field(default_factory=lambda: {"description": "Run it."})
    """More arguments that it wants."""

    def call(self, command: str) -> tuple[str, dict[str, str]]:
        """The call of a scripted model that runs a command."""
        return f"={self.shell}", {"command": command, **self.arguments}

    def config(self, url: str, expire_ms: int) -> dict[str, Any]:
        return {
            "subagentBackend": "acting",
            "subagents": {
                "model": self.model,
                "runner": {"backend": self.backend},
                "backends": {self.backend: self.options()},
                "requests": {"expireMs": expire_ms},
                "budget": {"depth": 3},
            },
            "providers": {
                "scripted": {"baseUrl": f"{url}/v1", "apiKeyEnv": "SCRIPTED_KEY", "models": [{"id": "m"}]},
            },
        }

    def env(self, url: str, home: Path) -> dict[str, str]:
        env = {"PATH": process_env()["PATH"], "HOME": f"{home}", "SCRIPTED_KEY": "k"}
        env |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": f"{home / 'claude'}"}
        env |= {"PI_CONFIG_DIR": f"{home / 'ohm'}", "PI_OFFLINE": "1"}
        if self.backend == "opencode-acp":
            env["OPENCODE_CONFIG_CONTENT"] = OPENCODE_CONFIG.format(url=url)
        return env


REAL = {
    "claude": Real("claude", lambda: {"command": [from_npm(*CLAUDE)]}, "anthropic/claude-fake-1", "Bash"),
    "claude-acp": Real("claude-acp", acp(CLAUDE_ACP), "anthropic/claude-fake-1", "Bash"),
    "opencode-acp": Real("opencode-acp", acp(OPENCODE, "acp"), "scripted/m", "bash"),
    "pi": Real("interactive-shell", lambda: {"command": list(real_pi(NEW).command)}, "scripted/m", "bash", {}),
}


class Above:
    """The tasks above a runner: each starts the next one, and says what that has said."""

    def __init__(self) -> None:
        self.ohm: Ohm | None = None

    async def act(self, request: Any, _sink: Any) -> str:
        assert self.ohm is not None
        below = "lead" if request.depth == 1 else "runner"
        result = await self.ohm.run(below, request.prompt)
        return f"{result.err_value!r}" if isinstance(result, Err) else result.ok_value.output


def opened(
    real: Real, url: str, home: Path, *, above: Above | None = None, expire_ms: int = 600_000, **options: Any
) -> Any:
    """An `Ohm` whose runners are this agent, in a home of their own."""
    work = home / "work"
    work.mkdir(exist_ok=True)
    return Ohm.open(
        cwd=work,
        env=real.env(url, home) | {"OHM_SUBAGENTS_STORE": "sqlite"},
        config=real.config(url, expire_ms),
        profiles=[LEAD, RUNNER],
        plugins=[ohm_acp, ohm_backend_cli, ActingBackend((above or Above()).act)],
        **options,
    )


async def main(agent: str, home: Path, url: str, *prompts: str) -> None:
    above = Above()
    async with opened(REAL[agent], url, home, above=above) as above.ohm:
        ohm = above.ohm
        for number, prompt in enumerate(prompts, 1):  # one by one: in an empty home some agents get in each other's way
            handle = await ohm.start("lead", prompt)
            while len(ohm.requests()) < number:
                await anyio.sleep(0.02)
                if (task := ohm.task(handle.id)) is not None and task.is_terminal:
                    sys.exit(f"{task.output}")
        await ohm.store.flush()
        family = psutil.Process().children(recursive=True)
        said = {"requests": [one.id for one in ohm.requests()], "pids": [one.pid for one in family]}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
