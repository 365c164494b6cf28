"""The views of this suite: calls, and sub-agents in windows one below the other."""

from __future__ import annotations

import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from ohm_subagents.suites.delegate.details import Windows
from ohm_subagents.suites.delegate.outcome import seconds_text
from ohm_subagents.views import PLAIN, cells, fit, one_line, printable, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents.suites.delegate.details import Line, SessionStatus, Window
    from ohm_subagents.views import Theme, View

DELEGATE: Final = "delegate_to_subagents"
LIST_PROFILES: Final = "list_subagent_profiles"
NO_DETAILS: Final = "(no sub-agent details)"
_MIN_WIDTH: Final = 20
_LEAST: Final = 4
"""So many cells of a name are left where there is no room for it."""
_INDENT: Final = "  "
_TAB: Final = "   "
_MARKS: Final[Mapping[SessionStatus, tuple[str, str]]] = MappingProxyType(
    {"running": ("⏳", "warning"), "completed": ("✓", "success"), "error": ("✗", "error")}
)
_CHANGE: Final = re.compile(r"(?P<call>(?:edit|write) → .* )(?P<added>\+\d+)(?:/(?P<removed>-\d+))?")


def call_line(tool: str, arguments: JsonValue, theme: Theme = PLAIN) -> str:
    """Return a call of a tool of this suite, also of arguments that are not all there yet."""
    if tool == LIST_PROFILES:
        return theme.fg("toolTitle", theme.bold(tool))
    given = arguments if isinstance(arguments, dict) else {}
    title = theme.fg("toolTitle", theme.bold(f"{tool} "))
    if tool != DELEGATE:
        return title + theme.fg("accent", _text(given, "sessionId") or "...")
    tasks = given.get("tasks")
    named = [_text(task, "profile") for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
    count = len(tasks) if isinstance(tasks, list) else 0
    line = title + theme.fg("accent", f"{count} sub-agent{'' if count == 1 else 's'}")
    if default := _text(given, "profile"):
        line += theme.fg("dim", f" (default profile: {default})")
    return line + (theme.fg("dim", f" profiles: [{', '.join(filter(None, named))}]") if any(named) else "")


def summary_text(statuses: Iterable[SessionStatus]) -> str:
    """`2 running, 1 done, 1 error`."""
    return ", ".join(text for _, text in _counts(statuses)) or "processing..."


def global_header(statuses: Iterable[SessionStatus], theme: Theme = PLAIN) -> str:
    """`Sub-agents: 2 running, 1 done, 1 error`."""
    parts = [theme.fg(token, text) for token, text in _counts(statuses)]
    return theme.fg("toolTitle", theme.bold("Sub-agents: ")) + theme.fg("dim", ", ").join(parts)


def window_header(window: Window, *, now_ms: int, width: int = 0, theme: Theme = PLAIN) -> str:
    """`⏳ NAME • PROFILE (provider/model thinking) • 7 tools • [2/5] • 45s/600s`; time stops at the end.

    If it is wider than `width` cells, the name is cut first; 0 is no limit.
    """
    mark, token = _MARKS[window.status]
    parts = [f"{window.tool_count} tools"]
    if window.profile_name:
        parts.insert(0, one_line(_profile(window)))
    if window.todo_total and window.todo_completed != window.todo_total:
        parts.append(f"[{window.todo_completed or 0}/{window.todo_total}]")
    parts.append(f"{_elapsed_s(window, now_ms)}s/{seconds_text(window.timeout)}s")
    facts = "".join(f" • {part}" for part in parts)
    name = one_line(window.name)
    if width:
        room = max(_MIN_WIDTH, width) - cells(mark) - 1
        name = fit(name, max(_LEAST, room - cells(facts)))
        facts = fit(facts, room - cells(name))
    return f"{theme.fg(token, mark)} {theme.fg('accent', theme.bold(name))}{theme.fg('dim', facts)}"


def windows_text(details: Mapping[str, JsonValue], view: View, *, now_ms: int) -> str:
    """Return all sub-agents of a call, live or over; whole or the newest lines of each."""
    try:
        windows = Windows.model_validate(details)
    except ValidationError:
        return NO_DETAILS
    return "\n".join(all_lines(windows, view, now_ms))


def truncated_text(text: str, max_lines: int, view: View) -> str:
    """The first `max_lines` lines as wide as the view, and how many there are besides; all of them when expanded."""
    lines = simple_text(text, view).split("\n")
    hidden = 0 if view.expanded else max(0, len(lines) - max_lines)
    note = f"... ({hidden} more {'line' if hidden == 1 else 'lines'})"
    return "\n".join([*lines[: len(lines) - hidden], *([view.theme.fg("dim", note)] if hidden else [])])


def simple_text(text: str, view: View) -> str:
    """Return the text as wide as the view."""
    return "\n".join(wrap(_lines(text), max(_MIN_WIDTH, view.width)))


def _counts(statuses: Iterable[SessionStatus]) -> Iterator[tuple[str, str]]:
    counted = Counter(statuses)
    failed = counted["error"]
    for count, token, what in (
        (counted["running"], "warning", "running"),
        (counted["completed"], "success", "done"),
        (failed, "error", "error" if failed == 1 else "errors"),
    ):
        if count:
            yield token, f"{count} {what}"


def all_lines(windows: Windows, view: View, now_ms: int) -> Iterator[str]:
    """Return the text of `windows_text`, line by line."""
    theme = view.theme
    yield global_header((window.status for window in windows.windows), theme)
    yield ""
    for window in windows.windows:
        yield window_header(window, now_ms=now_ms, width=view.width, theme=theme)
        yield from _body(window, view)
        yield ""
    running = sum(window.status == "running" for window in windows.windows)
    if running:
        yield theme.fg("muted", f"{running} running...")
        return
    width = max(_MIN_WIDTH, view.width)
    yield from (theme.fg("dim", line) for line in wrap("Session IDs (use with get_subagent_output):", width))
    for window in windows.windows:
        session_id = one_line(window.session_id)
        name, room = one_line(window.name), width - cells(session_id) - 6
        if room >= _LEAST:
            yield f"    {fit(name, room)}: {theme.fg('accent', session_id)}"
        else:
            yield f"    {fit(name, width - 5)}:"
            yield f"    {theme.fg('accent', session_id)}"


def _body(window: Window, view: View) -> Iterator[str]:
    theme = view.theme
    lines = window.all_messages if view.expanded else window.lines
    if not lines:
        yield theme.fg("muted", f"{_INDENT}{'(no output)' if view.expanded else '(starting...)'}")
    for line in lines:
        yield from _drawn(line, view)
    if window.error_message:
        yield from _told("error", f"Error: {window.error_message}", view)
    for note in (*(window.left_out or ()), *(window.notes or ())):
        yield from _told("warning", f"Note: {note}", view)


def _drawn(line: Line, view: View) -> Iterator[str]:
    """Draw a tool call in one line; a text in as many as it needs when expanded, else each of its lines in one."""
    inner = max(_MIN_WIDTH, view.width) - len(_INDENT)
    if line.kind == "tool":
        yield _INDENT + _coloured(fit(" ".join(_lines(line.text).split("\n")), inner), view.theme)
        return
    text = _lines(line.text)
    for shown in wrap(text, inner) if view.expanded else (fit(one, inner) for one in text.split("\n")):
        yield _INDENT + shown


def _told(token: str, text: str, view: View) -> Iterator[str]:
    for line in wrap(_lines(text), max(_MIN_WIDTH, view.width) - len(_INDENT)):
        yield view.theme.fg(token, _INDENT + line)


def _coloured(call: str, theme: Theme) -> str:
    change = _CHANGE.fullmatch(call)
    if change is None:
        return theme.fg("muted", call)
    removed = change["removed"]
    tail = "" if removed is None else theme.fg("muted", "/") + theme.fg("error", removed)
    return theme.fg("muted", change["call"]) + theme.fg("success", change["added"]) + tail


def _profile(window: Window) -> str:
    model = "/".join(filter(None, (window.provider, window.model)))
    facts = " ".join(filter(None, (model, window.thinking_level)))
    return f"{window.profile_name} ({facts})" if facts else f"{window.profile_name}"


def _elapsed_s(window: Window, now_ms: int) -> int:
    if window.started_at is None:
        return 0
    until = now_ms if window.completed_at is None else window.completed_at
    return max(0, until - window.started_at) // 1000


def _text(values: Mapping[str, JsonValue], key: str) -> str:
    value = values.get(key)
    return one_line(value) if isinstance(value, str) else ""


def _lines(text: str) -> str:
    return printable(text).replace("\t", _TAB)
