"""The record of a subagent: its messages, one JSON object a line, without secrets."""

from __future__ import annotations

import errno
import json
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

from ohm_subagents._surfaces.private_file import write_private

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._plugins.suites import JsonObject, SuiteContext
    from ohm_subagents._views.redaction import Redaction

_RESULTS: Final = "results"
_TRIES: Final = 8


def session_folder(context: SuiteContext) -> Path:
    """The new folder of a run, whose name is its id: beside the parent's session, else among the temporary results.

    Raises `OSError`, and `ValueError` for a path that cannot be one.
    """
    parent = context.session_file()
    if parent is None:
        results = context.memory.get(_RESULTS)
        if not isinstance(results, Path) or not results.is_dir():
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


def session_path(folder: Path, attempt: int) -> Path:
    """The file of an attempt, from 1."""
    return folder / ("session.jsonl" if attempt <= 1 else f"session-attempt-{attempt}.jsonl")


def write_session(
    path: Path, context: SuiteContext, *, run_id: str, messages: Iterable[JsonObject], redaction: Redaction
) -> None:
    """Write what was said and done, for the owner alone. Raises `OSError`."""
    stamp = datetime.fromtimestamp(context.clock() / 1000, tz=UTC).isoformat(timespec="milliseconds")
    header: JsonObject = {"type": "session", "id": run_id, "timestamp": stamp, "cwd": str(context.cwd)}
    records = (header, *(_record(message) for message in messages))
    lines = (json.dumps(redaction.json(record), ensure_ascii=False, separators=(",", ":")) for record in records)
    write_private(path, "".join(f"{line}\n" for line in lines))


def _record(message: JsonObject) -> JsonObject:
    return {"type": "message", "message": message}
