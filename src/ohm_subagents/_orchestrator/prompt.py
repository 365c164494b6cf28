"""The text that a backend is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.attachments import block

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.contract.commands import StartItem


def assembled(item: StartItem, cwd: Path) -> str:
    """The files of an item, its context, then its prompt, with blank lines between. Reads, so call it in a thread."""
    blocks = [block(wanted, cwd, is_confined=item.confines_files) for wanted in item.files]
    return "\n\n".join(part for part in (*blocks, item.context, item.prompt) if part)
