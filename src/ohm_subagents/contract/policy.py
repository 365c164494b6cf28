"""Requests to permission rules, and their decisions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ohm_subagents.contract.profile import Profile

Verdict = Literal["allow", "deny"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """The start of a task, which a rule may deny."""

    profile: Profile
    """The profile that is to run."""
    description: str
    """What the task is called."""
    prompt: str
    """What it is asked."""
    cwd: Path
    """Where it is to work."""
    tools: tuple[str, ...]
    """The child tools that it is to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict; the most restrictive one wins."""

    verdict: Verdict
    """Allow or deny."""
    source: str
    """Where it comes from: the file and the key, or the plugin."""
    reason: str = ""
    """Why, for people."""
