"""The extension of `pi` by which a subagent hands in its answer."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.backends.pi.records import as_record, as_text, record_in
from ohm_subagents.plugin import (
    FINALIZE,
    FINALIZE_DESCRIPTION,
    FINALIZE_HANDED_IN,
    Err,
    ErrorCode,
    OhmError,
    finalize_schema,
    parse_finalized,
    parse_fitting,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.plugin import Finalized, Profile, Result, RunRequest

FILE: Final = "finalize.mjs"


def finalizer_flags(request: RunRequest, folder: Path) -> Iterator[str]:
    """Yield the flags that load the extension, if the profile demands it."""
    if request.profile.finalize is not None:
        yield from ("--extension", str(folder / FILE))


def write_finalizer(request: RunRequest, folder: Path) -> None:
    """Put the extension where the flags name it, with the schema of this profile's result in it."""
    if request.profile.finalize is None:
        return
    text = files("ohm_subagents.backends.pi").joinpath(FILE).read_text(encoding="utf-8")
    schema = request.profile.result_schema
    terms = {
        "name": FINALIZE,
        "description": FINALIZE_DESCRIPTION,
        "parameters": finalize_schema(schema),
        "handedIn": FINALIZE_HANDED_IN,
        "takesText": schema is None,
    }
    (folder / FILE).write_text(text.replace("__TERMS__", json.dumps(json.dumps(terms))), encoding="utf-8")


class HandedIn:
    """The answers that were handed in, validated here: not every release of `pi` holds arguments to a schema."""

    def __init__(self, profile: Profile) -> None:
        self._schema = profile.result_schema
        self._seen: dict[str, Result[Finalized, str]] = {}

    async def look(self, line: bytes) -> None:
        """To be awaited before the line is read: to hold a result to its schema takes time."""
        if self._schema is None or FINALIZE.encode() not in line:
            return
        record = record_in(line)
        if as_text(record.get("type")) != "tool_execution_end" or as_text(record.get("toolName")) != FINALIZE:
            return
        details = cast("JsonValue", as_record(record.get("result")).get("details"))
        self._seen[as_text(record.get("toolCallId"))] = await parse_fitting(details, self._schema)

    def take(self, call_id: str, details: JsonValue) -> Result[Finalized, str]:
        """Return what a call has handed in."""
        if self._schema is None:
            return parse_finalized(details)
        return self._seen.pop(call_id, Err("The answer was not looked at."))


def without_events(request: RunRequest) -> OhmError | None:
    """Return why a profile that demands it cannot run in plain-text mode, or None."""
    if request.profile.finalize is None:
        return None
    return OhmError(
        code=ErrorCode.FINALIZE_UNSUPPORTED,
        message=f"Profile '{request.profile.id}' demands subagent_finalize, which pi cannot tell of in plain text.",
        advice="Take `mode: json` or `rpc` for backend 'interactive-shell'.",
    )
