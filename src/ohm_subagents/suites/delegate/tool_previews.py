"""A tool call, and what it found, in one line each."""

from __future__ import annotations

import json
import os.path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents.views import fit, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    _Paths = Callable[..., str]

_UNKNOWN: Final = "..."
_LIMITS: Final = MappingProxyType({"ls": "entryLimitReached", "find": "resultLimitReached"})
_NOTHING: Final = MappingProxyType({"ls": "(empty directory)", "find": "No files found matching pattern"})
_CUT: Final = ("limit reached", "[Showing ")


def tool_call_preview(
    name: str, arguments: Mapping[str, JsonValue], *, width: int, cwd: str, home: str | None = None
) -> str:
    """`read → src/a.ts:10+50 (50 lines)` and its like, at most `width` cells; `NAME {json}` for a tool not known here.

    A path in `cwd` is shown relative to it, one in `home` from `~`.
    """

    def path(key: str = "path") -> str:
        return _shortened(_word(arguments, key), cwd, home)

    tell = _TELLERS.get(name)
    told = _anything(name, arguments) if tell is None else f"{name} → {tell(arguments, path)}"
    return fit(" ".join(printable(told).split("\n")), width)


def tool_result_summary(name: str, text: str, details: Mapping[str, JsonValue] | None = None) -> str | None:
    """`  2 files, 1 dir` for `ls`, `  3 matches` for `find`, with a `+` if there are more; None for another tool.

    The `+` depends on pi's `details`; without them, on the notices in the text.
    """
    if name not in _LIMITS:
        return None
    lines = [line for line in text.split("\n") if line.strip()]
    notices = [line for line in lines if line.startswith("[")]
    entries = [] if text.strip() == _NOTHING[name] else [line for line in lines if not line.startswith("[")]
    is_cut = (
        any(mark in notice for notice in notices for mark in _CUT) if details is None else details.get(_LIMITS[name])
    )
    more = "+" if is_cut else ""
    if name == "find":
        return f"  {_counted(len(entries), 'match', 'matches')}{more if entries else ''}"
    dirs = sum(entry.rstrip().endswith("/") for entry in entries)
    parts = [(len(entries) - dirs, "file", "files"), (dirs, "dir", "dirs")]
    listed = ", ".join(_counted(*part) for part in parts if part[0])
    return f"  {listed}{more}" if listed else "  (empty)"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _word(arguments: Mapping[str, JsonValue], key: str) -> str:
    """Return an argument as text: a string or a number; empty for anything else."""
    value = arguments.get(key)
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _shortened(path: str, cwd: str, home: str | None) -> str:
    if not path.startswith("/"):
        return path
    for base, name in ((cwd, ""), (home, "~/")):
        if base and path.rstrip("/") == base.rstrip("/"):
            return name.rstrip("/") or "."
        if base and path.startswith(f"{base.rstrip('/')}/"):
            return name + os.path.relpath(path, base) + ("/" if path.endswith("/") else "")
    return path


def _anything(name: str, arguments: Mapping[str, JsonValue]) -> str:
    if not arguments:
        return name
    try:
        return f"{name} {json.dumps(dict(arguments), ensure_ascii=False, separators=(',', ':'))}"
    except (ValueError, RecursionError):
        return name


def _ls(_arguments: Mapping[str, JsonValue], path: _Paths) -> str:
    return path() or "."


def _find(arguments: Mapping[str, JsonValue], path: _Paths) -> str:
    where = path()
    return (_word(arguments, "pattern") or _UNKNOWN) + (f" in {where}" if where else "")


def _grep(arguments: Mapping[str, JsonValue], path: _Paths) -> str:
    where = _word(arguments, "glob") or path()
    return f"/{_word(arguments, 'pattern') or _UNKNOWN}/" + (f" → {where}" if where else "")


def _read(arguments: Mapping[str, JsonValue], path: _Paths) -> str:
    offset, limit = _word(arguments, "offset"), _word(arguments, "limit")
    start = f":{offset}" if offset else ""
    return (path() or _UNKNOWN) + start + (f"+{limit} ({limit} lines)" if limit else "")


def _write(arguments: Mapping[str, JsonValue], path: _Paths) -> str:
    return f"{path() or path('filePath') or _UNKNOWN} +{_lines(arguments.get('content'))}"


def _edit(arguments: Mapping[str, JsonValue], path: _Paths) -> str:
    where = path() or path("filePath") or _UNKNOWN
    edits = arguments.get("edits")
    changes = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else [dict(arguments)]
    if not any("oldText" in edit or "newText" in edit for edit in changes):
        return where
    added = sum(_lines(edit.get("newText")) for edit in changes)
    removed = sum(_lines(edit.get("oldText")) for edit in changes)
    return f"{where} ({_counted(len(changes), 'edit', 'edits')}) +{added}/-{removed}"


def _bash(arguments: Mapping[str, JsonValue], _path: _Paths) -> str:
    return _word(arguments, "command").strip().split("\n", 1)[0] or _UNKNOWN


def _lines(text: JsonValue) -> int:
    """Lines that are not blank."""
    return sum(1 for line in text.split("\n") if line.strip()) if isinstance(text, str) else 0


_TELLERS: Final[Mapping[str, Callable[[Mapping[str, JsonValue], _Paths], str]]] = MappingProxyType(
    {"ls": _ls, "find": _find, "grep": _grep, "read": _read, "write": _write, "edit": _edit, "bash": _bash}
)
