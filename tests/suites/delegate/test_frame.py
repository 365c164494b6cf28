from __future__ import annotations

import pytest

from ohm_subagents._views.theme import View
from ohm_subagents.suites.delegate.details import Line, Window, Windows
from ohm_subagents.suites.delegate.frame import frame_lines


def details(*windows: Window) -> dict:
    return Windows(
        windows=windows,
        max_lines_per_window=15,
        global_status="running",
        session_ids=tuple(window.session_id for window in windows),
    ).payload()


def window(name: str, *, lines: int = 0, error: str | None = None) -> Window:
    told = tuple(Line(text=f"{name} {n}") for n in range(lines))
    return Window(name=name, session_id=name, lines=told, error_message=error)


def test_where_there_is_room_every_line_is_shown() -> None:
    assert frame_lines(details(window("a", lines=2), window("b")), View(), height=24, now_ms=0) == [
        "Sub-agents: 2 running",
        "",
        "⏳ a • 0 tools • 0s/600s",
        "  a 0",
        "  a 1",
        "",
        "⏳ b • 0 tools • 0s/600s",
        "  (starting...)",
        "",
        "2 running...",
    ]


@pytest.mark.parametrize("height", [10, 24, 40])
def test_the_newest_lines_are_shown_where_there_is_room_for_some(height: int) -> None:
    lines = frame_lines(
        details(window("a", lines=15), window("b", lines=15, error="x")), View(), height=height, now_ms=0
    )
    assert height - 2 < len(lines) <= height or len(lines) == 38
    assert {"  a 14", "  b 14", "2 running..."} <= set(lines)


def test_many_windows_on_a_small_screen_are_their_headers() -> None:
    many = details(*(window(f"w{n}", lines=9) for n in range(16)))
    lines = frame_lines(many, View(), height=23, now_ms=0)
    assert lines == ["Sub-agents: 16 running", "", *(f"⏳ w{n} • 0 tools • 0s/600s" for n in range(16))]
    assert frame_lines(many, View(), height=5, now_ms=0) == lines[:5]


def test_time_goes_by_in_a_frame_of_old() -> None:
    begun = details(Window(name="a", session_id="s", started_at=1_000))
    headers = [frame_lines(begun, View(), height=24, now_ms=now_ms)[2] for now_ms in (1_000, 2_500)]
    assert headers == ["⏳ a • 0 tools • 0s/600s", "⏳ a • 0 tools • 1s/600s"]


def test_details_of_another_make_are_no_frame() -> None:
    assert frame_lines({}, View(), height=24, now_ms=0) == []
