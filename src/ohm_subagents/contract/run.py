"""One prompt given to one backend."""

from __future__ import annotations

from dataclasses import dataclass

from ohm_subagents.contract.events import Guard, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A tool call that has begun and not ended."""

    call_id: str
    tool: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """One prompt given to one backend."""

    prompt: str
    started_ms: int
    """Epoch milliseconds, as `ended_ms`."""
    follow_ups: tuple[str, ...] = ()
    """The follow-ups that the run took, oldest first."""
    ended_ms: int | None = None
    outcome: Outcome | None = None
    """The outcome of the run; None while it goes on."""
    output: str | None = None
    """The whole answer, uncut; None while the run goes on."""
    stopped_by: Guard | None = None
    """The guard that ended the run."""
    exit_code: int | None = None
    """That of the process that answered."""
    summary: str = ""
    """The backend's own summary of the answer."""
    is_follow_up: bool = False
    """True if it answers a follow-up, and not the prompt of the task."""
