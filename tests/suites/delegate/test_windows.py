from __future__ import annotations

import pytest

from ohm_subagents._views.cells import cells
from ohm_subagents._views.theme import View
from ohm_subagents.suites.delegate.details import Line, Window, Windows
from ohm_subagents.suites.delegate.windows import (
    call_line,
    global_header,
    simple_text,
    summary_text,
    truncated_text,
    window_header,
    windows_text,
)


class Marks:
    """Says in brackets which token marks a text, and in asterisks what is bold."""

    def fg(self, token: str, text: str) -> str:
        return f"[{token}]{text}[/]"

    def bold(self, text: str) -> str:
        return f"**{text}**"

    def strikethrough(self, text: str) -> str:
        return f"~~{text}~~"


def window(**fields: object) -> Window:
    return Window(**{"name": "task", "session_id": "sid-1", **fields})


def payload(*windows: Window) -> dict:
    is_running = any(one.status == "running" for one in windows)
    return Windows(
        windows=windows,
        max_lines_per_window=15,
        global_status="running" if is_running else "done",
        session_ids=tuple(one.session_id for one in windows),
    ).payload()


def shown(*windows: Window, expanded: bool = False, width: int = 120, theme: object = None) -> list[str]:
    view = View(expanded=expanded, width=width) if theme is None else View(expanded=expanded, width=width, theme=theme)
    return windows_text(payload(*windows), view, now_ms=0).split("\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            {"profile": "researcher", "tasks": [{"profile": "writer"}, {"profile": "researcher"}, {}]},
            "delegate_to_subagents 3 sub-agents (default profile: researcher) profiles: [writer, researcher]",
        ),
        ({"tasks": [{"name": "build"}]}, "delegate_to_subagents 1 sub-agent"),
        ({"tasks": [None, {"profile": 3}]}, "delegate_to_subagents 2 sub-agents"),
        ({"profile": ["x"]}, "delegate_to_subagents 0 sub-agents"),
        ("not yet", "delegate_to_subagents 0 sub-agents"),
        (
            {"profile": "a\n\x1b[2Jb", "tasks": [{"profile": "c\x07"}]},
            "delegate_to_subagents 1 sub-agent (default profile: a b) profiles: [c]",
        ),
    ],
)
def test_a_delegation_is_called_in_one_line(arguments: object, line: str) -> None:
    assert call_line("delegate_to_subagents", arguments) == line


@pytest.mark.parametrize("tool", ["get_subagent_output", "get_subagent_session"])
@pytest.mark.parametrize(("arguments", "told"), [({"sessionId": "test-123"}, "test-123"), ({}, "..."), (None, "...")])
def test_a_retrieval_is_called_by_the_session(tool: str, arguments: object, told: str) -> None:
    assert call_line(tool, arguments) == f"{tool} {told}"


def test_calls_are_marked_by_what_they_mean() -> None:
    line = call_line("delegate_to_subagents", {"profile": "p", "tasks": []}, Marks())
    assert line == "[toolTitle]**delegate_to_subagents **[/][accent]0 sub-agents[/][dim] (default profile: p)[/]"
    assert call_line("list_subagent_profiles", {}, Marks()) == "[toolTitle]**list_subagent_profiles**[/]"


@pytest.mark.parametrize(
    ("statuses", "text"),
    [
        (["running", "completed", "error", "error"], "1 running, 1 done, 2 errors"),
        (["error", "running", "running"], "2 running, 1 error"),
        (["completed", "completed"], "2 done"),
        ([], "processing..."),
    ],
)
def test_statuses_are_counted(statuses: list, text: str) -> None:
    assert summary_text(statuses) == text


def test_the_global_header_is_marked_by_status() -> None:
    assert global_header(["completed", "error"]) == "Sub-agents: 1 done, 1 error"
    marked = "[toolTitle]**Sub-agents: **[/][success]1 done[/][dim], [/][error]1 error[/]"
    assert global_header(["error", "completed"], Marks()) == marked


FULL = {
    "name": "full",
    "tool_count": 7,
    "profile_name": "researcher",
    "provider": "anthropic",
    "model": "claude-sonnet-4-5",
    "thinking_level": "high",
    "todo_total": 5,
    "todo_completed": 2,
    "started_at": 1_000,
}


@pytest.mark.parametrize(
    ("fields", "header"),
    [
        (FULL, "⏳ full • researcher (anthropic/claude-sonnet-4-5 high) • 7 tools • [2/5] • 45s/600s"),
        ({"profile_name": "p", "thinking_level": "low"}, "⏳ task • p (low) • 0 tools • 0s/600s"),
        ({"profile_name": "p", "model": "m"}, "⏳ task • p (m) • 0 tools • 0s/600s"),
        ({"profile_name": "p"}, "⏳ task • p • 0 tools • 0s/600s"),
        ({"provider": "anthropic", "model": "m", "status": "completed"}, "✓ task • 0 tools • 0s/600s"),
        ({"todo_total": 5, "todo_completed": 5, "status": "error"}, "✗ task • 0 tools • 0s/600s"),
        ({"todo_total": 0, "todo_completed": 0}, "⏳ task • 0 tools • 0s/600s"),
        ({"todo_total": 3}, "⏳ task • 0 tools • [0/3] • 0s/600s"),
        ({"started_at": 1_000, "completed_at": 4_999, "timeout": 1.5}, "⏳ task • 0 tools • 3s/1.5s"),
        ({"timeout": 12_345.678}, "⏳ task • 0 tools • 0s/12345.678s"),
        ({"timeout": 1_234_567}, "⏳ task • 0 tools • 0s/1234567s"),
        ({"started_at": 90_000}, "⏳ task • 0 tools • 0s/600s"),
        ({"name": "a\nb\x1b[2J\x9b", "profile_name": "p\tq"}, "⏳ a b • p q • 0 tools • 0s/600s"),
    ],
)
def test_a_window_is_headed_by_what_is_known(fields: dict, header: str) -> None:
    assert window_header(window(**fields), now_ms=46_999) == header


def test_a_header_is_marked_by_status() -> None:
    marked = "[warning]⏳[/] [accent]**task**[/][dim] • 0 tools • 0s/600s[/]"
    assert window_header(window(), now_ms=0, theme=Marks()) == marked


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_a_header_fits_the_view_and_its_name_is_cut_first(width: int) -> None:
    header = window_header(window(**{**FULL, "name": "日本" * 60}), now_ms=46_000, width=width)
    assert cells(header) <= width
    assert header.startswith("⏳ 日")
    assert width < 120 or header.endswith(
        "… • researcher (anthropic/claude-sonnet-4-5 high) • 7 tools • [2/5] • 45s/600s"
    )


def test_a_name_is_given_up_before_the_time_is() -> None:
    header = window_header(window(name="a long name " * 5), now_ms=46_000, width=40)
    assert header == "⏳ a long name a lo… • 0 tools • 0s/600s"


@pytest.mark.parametrize("width", [20, 24, 30, 40, 120])
def test_the_ids_are_whole_whatever_the_width(width: int) -> None:
    over = window(name="a rather long name", status="completed", session_id="0123456789abcdef")
    lines = shown(over, width=width)
    assert all(cells(line) <= width for line in lines)
    assert any(line.endswith(" 0123456789abcdef") for line in lines)
    assert "Session IDs(usewithget_subagent_output):".replace(" ", "") in "".join(lines).replace(" ", "")


def test_windows_end_with_the_ids_when_all_is_done() -> None:
    lines = (Line(text="line 1"), Line(text="bash → ls", kind="tool"))
    first = window(name="a", status="completed", lines=lines)
    second = window(name="b", status="error", session_id="sid-2", error_message="boom", notes=("No skills.",))
    assert shown(first, second) == [
        "Sub-agents: 1 done, 1 error",
        "",
        "✓ a • 0 tools • 0s/600s",
        "  line 1",
        "  bash → ls",
        "",
        "✗ b • 0 tools • 0s/600s",
        "  (starting...)",
        "  Error: boom",
        "  Note: No skills.",
        "",
        "Session IDs (use with get_subagent_output):",
        "    a: sid-1",
        "    b: sid-2",
    ]


def test_expanded_windows_show_all_that_is_kept() -> None:
    told = tuple(Line(text=f"line {n}") for n in range(3))
    both = (window(all_messages=told, lines=told[-1:]), window(lines=told))
    assert shown(*both, expanded=True) == [
        "Sub-agents: 2 running",
        "",
        "⏳ task • 0 tools • 0s/600s",
        "  line 0",
        "  line 1",
        "  line 2",
        "",
        "⏳ task • 0 tools • 0s/600s",
        "  (no output)",
        "",
        "2 running...",
    ]


def test_windows_are_marked_by_what_they_mean() -> None:
    calls = ("read → a", "edit → src/a (2 edits) +3/-1", "write → b +12", "echo +3")
    lines = (Line(text="said"), *(Line(text=call, kind="tool") for call in calls))
    failed = window(status="error", lines=lines, error_message="boom", notes=("n",))
    assert shown(failed, theme=Marks())[3:] == [
        "  said",
        "  [muted]read → a[/]",
        "  [muted]edit → src/a (2 edits) [/][success]+3[/][muted]/[/][error]-1[/]",
        "  [muted]write → b [/][success]+12[/]",
        "  [muted]echo +3[/]",
        "[error]  Error: boom[/]",
        "[warning]  Note: n[/]",
        "",
        "[dim]Session IDs (use with get_subagent_output):[/]",
        "    task: [accent]sid-1[/]",
    ]
    assert "[muted]  (starting...)[/]" in shown(window(), theme=Marks())
    assert shown(window(), theme=Marks())[-1] == "[muted]1 running...[/]"


HOSTILE = "a\x1b]0;title\x07b\x9b2J\tc\n日本語 " + "long " * 60


@pytest.mark.parametrize("expanded", [False, True])
@pytest.mark.parametrize("width", [44, 120])
def test_nothing_a_stranger_wrote_breaks_a_line_or_drives_the_terminal(width: int, expanded: bool) -> None:
    lines = (Line(text=HOSTILE), Line(text=HOSTILE, kind="tool"))
    names = {"name": HOSTILE, "profile_name": HOSTILE, "model": HOSTILE, "session_id": "sid-1"}
    told = {"lines": lines, "all_messages": lines, "error_message": HOSTILE, "notes": (HOSTILE,)}
    drawn = shown(window(**names, **told, status="error"), width=width, expanded=expanded)
    assert all(cells(line) <= width for line in drawn)
    assert all(line.isprintable() for line in drawn)
    assert all(line.startswith("  ") for line in drawn[3:-3])
    assert drawn[-1].endswith(": sid-1")


def test_an_expanded_text_is_wrapped_and_a_collapsed_one_cut() -> None:
    long = window(lines=(Line(text="word " * 20),), all_messages=(Line(text="word " * 20),))
    assert len(shown(long, width=40)) == 6
    assert sum(line.count("word") for line in shown(long, width=40, expanded=True)) == 20


@pytest.mark.parametrize("details", [{}, {"windows": 3}, {"error": "x"}, {**payload(window()), "globalStatus": "odd"}])
def test_details_of_another_make_are_not_shown(details: dict) -> None:
    assert windows_text(details, View(), now_ms=0) == "(no sub-agent details)"


@pytest.mark.parametrize(
    ("lines", "limit", "shown"),
    [
        (3, 15, ["l1", "l2", "l3"]),
        (2, 2, ["l1", "l2"]),
        (3, 2, ["l1", "l2", "... (1 more line)"]),
        (52, 5, ["l1", "l2", "l3", "l4", "l5", "... (47 more lines)"]),
        (2, 0, ["... (2 more lines)"]),
    ],
)
def test_a_long_text_shows_its_beginning(lines: int, limit: int, shown: list[str]) -> None:
    text = "\n".join(f"l{n}" for n in range(1, lines + 1))
    assert truncated_text(text, limit, View()).split("\n") == shown
    assert truncated_text(text, limit, View(expanded=True)) == text


def test_a_paragraph_takes_no_more_lines_of_the_terminal_than_are_allowed() -> None:
    lines = truncated_text("word " * 400, 3, View(width=40)).split("\n")
    assert len(lines) == 4
    assert lines[-1] == "... (47 more lines)"


def test_a_text_is_as_wide_as_the_view_and_harmless() -> None:
    assert simple_text("one two three four five\x1b[2J six\n7", View(width=20)) == "one two three four\nfive six\n7"
    assert truncated_text("a\nb", 1, View(theme=Marks())) == "a\n[dim]... (1 more line)[/]"
