"""What a model is told: who the subagent is (task-v1, 21.3), and what it is asked (000)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._orchestrator.attachments import block
from ohm_subagents.contract.finalization import FINALIZE

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.contract.commands import StartItem
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
    """The system text: what the subagent is for, how it works, where it is, and who reads its answer.

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


def assembled(item: StartItem, cwd: Path) -> str:
    """The files of an item, its context, then its prompt, with blank lines between. Reads, so call it in a thread."""
    blocks = [block(wanted, cwd, is_confined=item.confines_files) for wanted in item.files]
    return "\n\n".join(part for part in (*blocks, item.context, item.prompt) if part)
