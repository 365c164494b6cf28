"""The records of a subagent: of each attempt its messages, one JSON object a line, without secrets."""

from __future__ import annotations

import errno
import json
import os.path
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

from ohm_subagents.files import write_private

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.redaction import Redaction
    from ohm_subagents.suite import Clock, JsonObject, SuiteContext

_RESULTS: Final = "results"
_TRIES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFiles:
    """The files of a run, in a folder whose name is its id; `shown_as` and `cwd` are paths without secrets."""

    folder: Path
    shown_as: str
    cwd: str
    clock: Clock

    @classmethod
    def create(cls, context: SuiteContext, redaction: Redaction) -> SessionFiles:
        """Make the folder of a new run. Raises `OSError`, and `ValueError` for an impossible path."""
        folder, text = _session_folder(context), redaction.text
        return cls(folder=folder, shown_as=text(str(folder)), cwd=text(str(context.place.cwd)), clock=context.clock)

    @property
    def run_id(self) -> str:
        """The id of the run: the name of its folder."""
        return self.folder.name

    def write(self, attempt: int, messages: Iterable[JsonObject]) -> str:
        """Write the messages of an attempt (the first is 1), readable for the owner alone. Raises `OSError`.

        Returns the path without secrets. The messages have none: they are made of the engine's redacted events.
        """
        name = "session.jsonl" if attempt <= 1 else f"session-attempt-{attempt}.jsonl"
        stamp = datetime.fromtimestamp(self.clock() / 1000, tz=UTC).isoformat(timespec="milliseconds")
        header: JsonObject = {"type": "session", "id": self.run_id, "timestamp": stamp, "cwd": self.cwd}
        records = (header, *(_record(message) for message in messages))
        lines = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records)
        write_private(self.folder / name, "".join(f"{line}\n" for line in lines))
        return str(Path(self.shown_as, name))


def _session_folder(context: SuiteContext) -> Path:
    """Make a new folder: beside the parent's session, else among the temporary results."""
    parent = context.host.session_file()
    if parent is None:
        results = context.memory.get(_RESULTS)
        if not isinstance(results, Path) or not os.path.isdir(results):
            results = context.memory[_RESULTS] = Path(mkdtemp(prefix="ohm-subagents-"))
    else:
        results = parent.parent / parent.stem
    results.mkdir(mode=0o700, parents=True, exist_ok=True)
    for _ in range(_TRIES):
        folder = results / context.new_uuid().hex[:8]
        with suppress(FileExistsError):  # so short an id comes twice now and then
            folder.mkdir(mode=0o700)
            return folder
    raise FileExistsError(errno.EEXIST, "No new id was found for the run")


def _record(message: JsonObject) -> JsonObject:
    return {"type": "message", "message": message}
