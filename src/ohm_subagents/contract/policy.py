"""What a permission rule is asked, and what it may answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ohm_subagents.contract.profile import Profile

Verdict = Literal["allow", "deny"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """May this profile run this prompt here, with these tools?"""

    profile: Profile
    description: str
    prompt: str
    cwd: Path
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict and who gave it: `source` names the file and key, or the plugin. The most restrictive one wins."""

    verdict: Verdict
    source: str
    reason: str = ""
