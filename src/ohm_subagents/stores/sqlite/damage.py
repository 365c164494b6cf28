"""Files with what is left of damaged tasks, for people to look at."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from ohm_subagents.stores.sqlite.place import file_name, make_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ohm_subagents.stores.sqlite.stored import StoredTask


class Asides:
    """Files in a directory beside the database, one a damaged task."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def file(self, task_id: str) -> Path:
        """Return where the damaged task of this id is kept."""
        return self._directory / f"{file_name(str(task_id))}.damaged.json"

    def put(self, stored: StoredTask) -> Path:
        """Keep all that there is of a damaged task; raises OSError."""
        columns = {
            **stored.row._asdict(),
            "chunks": [chunk._asdict() for chunk in stored.chunks],
            "state": stored.state,
        }
        return self.put_columns(stored.row.id, columns)

    def put_columns(self, task_id: str, columns: Mapping[str, object]) -> Path:
        """Keep the columns of a damaged row, with bytes that are no text as surrogates; raises OSError."""
        file = self.file(task_id)
        make_private(self._directory)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as stream:  # noqa: PTH123  made private at once
            json.dump(columns, stream, indent=2, default=_legible)
        return file


def _legible(value: object) -> object:
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else repr(value)
