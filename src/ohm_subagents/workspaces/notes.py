"""The note beside a clone, by which its work is kept even if the process that made it has died."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from ohm_subagents.workspaces.work import Beginning

_FILE: Final = "note.json"


def write_note(place: Path, beginning: Beginning) -> None:
    """Note what the clone in a place is of; to be called once all of its files are there."""
    fields = {
        "task": beginning.task,
        "directory": os.fsdecode(beginning.directory),
        "within": beginning.within,
        "commit": beginning.commit,
    }
    (place / _FILE).write_text(json.dumps(fields))


def read_note(place: Path) -> Beginning | None:
    """Return what the clone in a place is of; None where there is none, or not all of it."""
    try:
        fields = json.loads((place / _FILE).read_text())
        return Beginning(
            task=fields["task"],
            directory=Path(fields["directory"]),
            within=fields["within"],
            commit=fields["commit"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
