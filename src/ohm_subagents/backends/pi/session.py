"""The session file of `pi`: the conversation of one run, put there before it and taken from there after it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from ohm_subagents.backends.pi.records import record_in
from ohm_subagents.plugin import UNREADABLE_SESSION, Checkpointed, Diagnostic, DiagnosticRaised, RunRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


_FORMAT: Final = 3
_GROWTH: Final = 1.25
_MAX_BYTES: Final = 64_000_000
_LONG_AGO: Final = "1970-01-01T00:00:00.000Z"
_TOO_LARGE: Final = "The conversation of this session is too large to be kept; a follow-up does not see this run."
_NO_USAGE: Final[Mapping[str, object]] = {
    **dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0),
    "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0),
}


class SessionFile:
    """The file that `--session` names.

    A state holds the whole conversation, so one a turn would cost quadratic time. One is reported when it has grown
    by a quarter, and by `flush`, however the run ends.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told = 0
        self._is_given_up = False

    def write(self, request: RunRequest) -> Iterable[DiagnosticRaised]:
        """Put the session so far there: its checkpoint; else its history. Nothing, if there is neither."""
        checkpoint, cwd = request.checkpoint, str(request.cwd)
        text = _moved(checkpoint, cwd) if checkpoint is not None else None
        if text is None:
            text = _built(request)
        if text:
            self._path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
            self._told = self._path.stat().st_size
        if checkpoint is None or _is_session(checkpoint):
            return ()
        return (DiagnosticRaised(diagnostic=UNREADABLE_SESSION),)

    def grown(self) -> Iterable[Checkpointed | DiagnosticRaised]:
        """Return the state after a turn, if it has grown by a quarter since the last report."""
        return self._state() if self._size() >= self._told * _GROWTH else ()

    def flush(self) -> Iterable[Checkpointed | DiagnosticRaised]:
        """Return the state after the run, unless it was reported."""
        return self._state() if self._size() != self._told else ()

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:  # an old release makes it with the first answer
            return 0

    def _state(self) -> Iterable[Checkpointed | DiagnosticRaised]:
        size = self._size()
        if size > _MAX_BYTES:
            if self._is_given_up:
                return ()
            self._is_given_up = True
            return (DiagnosticRaised(diagnostic=Diagnostic(subject="session", message=_TOO_LARGE)),)
        try:
            whole, _, _torn = self._path.read_bytes().rpartition(b"\n")
        except OSError:
            return ()
        text = whole.decode("utf-8", "replace")
        # Until the model has said something, the prompts are all there is to continue from.
        if not _is_session(text) or '"role":"assistant"' not in text:
            return ()
        self._told = size
        return (Checkpointed(state=f"{text}\n"),)


def _header(text: str) -> dict[str, object]:
    line, _, _ = text.partition("\n")
    return dict(record_in(line.encode(errors="replace")))


def _is_session(text: str) -> bool:
    header = _header(text)
    return header.get("type") == "session" and header.get("version") == _FORMAT


def _moved(text: str, cwd: str) -> str | None:
    """Return the session as one of `cwd`: the directory in its header is where `pi` works, wherever it was started."""
    if not _is_session(text):
        return None
    _, _, entries = text.partition("\n")
    return f"{_line({**_header(text), 'cwd': cwd})}{entries}"


def _built(request: RunRequest) -> str:
    """Return a session of what was asked and answered before."""
    if not request.history:
        return ""
    name = hashlib.sha256(request.session_id.encode()).hexdigest()
    lines = [
        _line(
            {"type": "session", "version": _FORMAT, "id": _uuid(name), "timestamp": _LONG_AGO, "cwd": str(request.cwd)}
        )
    ]
    for exchange in request.history:
        asked = {"role": "user", "content": _content(exchange.prompt), "timestamp": 0}
        lines.append(_entry(len(lines), asked))
        if exchange.output:
            answer = {
                "role": "assistant",
                "content": _content(exchange.output),
                "timestamp": 0,
                "stopReason": "stop",
                "api": "",
                "provider": "",
                "model": "",
                "usage": _NO_USAGE,
            }
            lines.append(_entry(len(lines), answer))
    return "".join(lines)


def _uuid(name: str) -> str:
    return "-".join((name[:8], name[8:12], name[12:16], name[16:20], name[20:32]))


def _content(text: str) -> list[object]:
    return [{"type": "text", "text": text}]


def _entry(number: int, message: Mapping[str, object]) -> str:
    parent = f"{number - 1:08x}" if number > 1 else None
    entry = {"type": "message", "id": f"{number:08x}", "parentId": parent, "timestamp": _LONG_AGO, "message": message}
    return _line(entry)


def _line(record: Mapping[str, object]) -> str:
    return f"{json.dumps(record, ensure_ascii=True, separators=(',', ':'))}\n"
