"""The system text of a subagent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.profile import FINALIZE

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.contract.profile import Profile

_ALONE: Final = "You work alone on one task and cannot ask back."
_LAST_MESSAGE: Final = (
    f"{_ALONE} Only your last message reaches the caller: make it complete, with concrete findings, and do not repeat "
    "the task."
)
_HANDED_IN: Final = (
    f"{_ALONE} Only what you hand in with {FINALIZE}, as your last action, reaches the caller: make it complete, with "
    "concrete findings, and do not repeat the task."
)


def instructions(profile: Profile, cwd: Path) -> str:
    """Return the system text: what the subagent is for, how it works, where it is, and who reads its answer.

    An agent profile speaks for itself.
    """
    if profile.agent is not None:
        return profile.prompt
    uses = "\n".join(f"- {use}" for use in profile.when_to_use)
    sections = [
        f"You are {profile.name}, a subagent: {profile.summary}",
        f"When to use:\n{uses}" if uses else "",
        profile.prompt.strip(),
        f"Working directory: {cwd}",
        _HANDED_IN if profile.finalize else _LAST_MESSAGE,
    ]
    return "\n\n".join(section for section in sections if section)
