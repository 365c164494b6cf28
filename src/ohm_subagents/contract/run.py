"""One prompt given to one backend."""

from __future__ import annotations

from dataclasses import dataclass

from ohm_subagents.contract.events import Guard, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A tool call that has begun and not ended."""

    call_id: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One prompt given to one backend, and the follow-ups that the run took.

    `output` is the whole answer, uncut; None while the run goes on. `stopped_by` is the guard that ended
    it, if one did. `exit_code` is that of a process that answered, `summary` what its backend calls the answer.
    `is_follow_up`: it answers a follow-up, and not the prompt of the task.
    """

    prompt: str
    started_ms: int
    follow_ups: tuple[str, ...] = ()
    ended_ms: int | None = None
    outcome: Outcome | None = None
    output: str | None = None
    stopped_by: Guard | None = None
    exit_code: int | None = None
    summary: str = ""
    is_follow_up: bool = False
