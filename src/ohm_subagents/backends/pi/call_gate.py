"""The extension of `pi` that asks before each call of a tool, and the answers that it gets."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ohm_subagents.backends.pi.options import BACKEND_ID
from ohm_subagents.backends.pi.records import as_record, as_text, record_in
from ohm_subagents.contract import DiagnosticRaised
from ohm_subagents.plugin import ErrorCode, OhmError, has_written_rules, unasked_calls
from ohm_subagents.shell import command_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.backends.pi.probe import PiVersion
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.plugin import Gate, RunRequest

FILE: Final = "gate.mjs"
_NAME: Final = "ohm-gate"
_REQUEST: Final = "extension_ui_request"


def is_gated(request: RunRequest) -> bool:
    """Return True if calls of tools have rules, so that each has to be asked for."""
    return bool(request.call_rules) and request.gate is not None


def gate_flags(request: RunRequest, folder: Path) -> Iterator[str]:
    """Yield the flags that load the extension, if there are rules."""
    if is_gated(request):
        yield from ("--extension", str(folder / FILE))


def write_gate(request: RunRequest, folder: Path) -> None:
    """Put the extension where the flags name it."""
    if is_gated(request):
        text = files("ohm_subagents.backends.pi").joinpath(FILE).read_text(encoding="utf-8")
        (folder / FILE).write_text(text, encoding="utf-8")


def can_gate(pi: PiVersion, mode: str) -> bool:
    """Return True if this release can be asked about each call in a `mode` of the options."""
    return pi.can_stay and mode in {"auto", "rpc"}


def ungated(request: RunRequest, pi: PiVersion, mode: str) -> OhmError | None:
    """Return why rules cannot be kept in a `mode` of the options by this release, or None."""
    if not has_written_rules(request) or can_gate(pi, mode):
        return None
    setting = command_setting(BACKEND_ID)
    why, advice = (
        (f'it is kept in mode "{mode}"', f'Set its mode to "auto" or "rpc" in {setting.replace(".command", ".mode")}.')
        if pi.can_stay
        else (f"pi {pi.text} is too old", f"Install pi 0.87.0 or newer, or change {setting}.")
    )
    return OhmError(
        code=ErrorCode.TOOLS_UNSUPPORTED,
        message=f"pi cannot be asked about each call, as the rules of profile '{request.profile.id}' demand: {why}.",
        advice=advice,
    )


def unasked(request: RunRequest, pi: PiVersion, mode: str) -> Iterator[RunEvent]:
    """Yield which calls nobody is asked about in a `mode` of the options, because this release cannot be asked."""
    if not can_gate(pi, mode):
        yield from (DiagnosticRaised(diagnostic=told) for told in unasked_calls(request, BACKEND_ID))


def unloaded(request: RunRequest) -> OhmError:
    """Return the error of a `pi` that has not loaded the extension: nothing was asked of its model."""
    return OhmError(
        code=ErrorCode.TOOLS_UNSUPPORTED,
        message=f"pi did not load the extension that keeps the rules of profile '{request.profile.id}'.",
        advice="Install another release of pi, or run the profile on 'interactive-sdk'.",
    )


class AskedCall(NamedTuple):
    """A call of a tool that the extension asks about."""

    request_id: object
    tool: str
    arguments: Mapping[str, JsonValue]
    call_id: str

    async def answer(self, gate: Gate, on_wait: Callable[[], None]) -> bytes:
        """Return the command that answers, once it was decided; `on_wait` is called where that takes somebody."""
        refusal = await gate.tool(self.tool, self.arguments, call_id=self.call_id, on_wait=on_wait)
        value = json.dumps({"isAllowed": refusal is None, "refusal": refusal})
        response = {"type": "extension_ui_response", "id": self.request_id, "value": value}
        return json.dumps(response).encode() + b"\n"


class CallGate:
    """The calls that the extension of one process asks about."""

    def __init__(self) -> None:
        self.is_ready = False
        """The extension has said that it was loaded."""

    def asks(self, line: bytes) -> AskedCall | None:
        """Return the call that a line asks about; note that the extension is ready."""
        if _NAME.encode() not in line or _REQUEST.encode() not in line:
            return None
        record = record_in(line)
        if record.get("type") != _REQUEST:
            return None
        self.is_ready = self.is_ready or record.get("statusKey") == _NAME
        if record.get("method") != "input" or record.get("title") != _NAME:
            return None
        call = record_in(as_text(record.get("placeholder")).encode())
        arguments = cast("Mapping[str, JsonValue]", as_record(call.get("arguments")))
        return AskedCall(record.get("id"), as_text(call.get("tool")), arguments, as_text(call.get("callId")))
