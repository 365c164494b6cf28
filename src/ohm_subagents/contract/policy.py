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
    """The title of the task."""
    prompt: str
    """The prompt of the task."""
    cwd: Path
    """The working directory of the task."""
    tools: tuple[str, ...]
    """The child tools that it is to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict; the most restrictive one wins."""

    verdict: Verdict
    """Allow or deny."""
    source: str
    """The origin of the decision: the file and the key, or the plugin."""
    reason: str = ""
    """The reason, for people."""
