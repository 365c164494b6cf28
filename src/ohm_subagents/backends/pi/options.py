"""The id, the command and the options of `interactive-shell`."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from ohm_subagents.shell import ShellOptions

BACKEND_ID: Final = "interactive-shell"
SUMMARY: Final = "Runs the subagent as a nested pi, a process of its own."
INSTALL: Final = "npm install -g @earendil-works/pi-coding-agent"
COMMAND: Final = ("pi",)


class PiOptions(ShellOptions):
    """`subagents.backends."interactive-shell"` of ohm.json; the first four as for any command-line agent.

    `mode`: `rpc` keeps pi running for follow-ups, `json` starts one a prompt, `text` is the documented plain command
    line, without events; `auto` is `rpc` where pi can and a follow-up may come, else `json`. `idleTtlMs`: how long a pi
    waits for a follow-up, in milliseconds; 0 ends it with its answer.
    """

    mode: Literal["auto", "rpc", "json", "text"] = "auto"
    idle_ttl_ms: int = Field(default=60_000, ge=0)

    @property
    def idle_ttl_s(self) -> float:
        """`idleTtlMs` in seconds."""
        return self.idle_ttl_ms / 1000
