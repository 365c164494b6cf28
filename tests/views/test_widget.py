from __future__ import annotations

import pytest
from made_tasks import with_fields

from ohm_subagents._views.cells import cells
from ohm_subagents._views.status import widget_lines
from ohm_subagents.contract import TextDelta, ToolEnded, ToolStarted


def shown(*tasks, now_ms: int = 0, compact: bool = False, width: int = 100) -> list[str]:
    return widget_lines(tasks, now_ms=now_ms, compact=compact, width=width)


def test_the_newest_of_what_a_subagent_says_and_does_stays_visible(running) -> None:
    calls = [
        event
        for n in range(6)
        for event in (
            ToolStarted(call_id=str(n), tool="read", args=f"f{n}"),
            ToolEnded(call_id=str(n), tool="read", status="success", text=f"{n} lines"),
        )
    ]
    task = running(*calls, TextDelta(text="\n".join(f"line {n}" for n in range(9))))
    assert shown(task) == [
        "  ⠋ Finder · Auth scan",
        "    ├── Trace auth",
        "    ├── … 4 earlier tool call(s)",
        "    ├── ○ read f2",
        "    ├── ✓ read 2 lines",
        "    ├── ○ read f3",
        "    ├── ✓ read 3 lines",
        "    ├── ○ read f4",
        "    ├── ✓ read 4 lines",
        "    ├── ○ read f5",
        "    ├── ✓ read 5 lines",
        "    ╰── line 5",
        "        line 6",
        "        line 7",
        "        line 8",
    ]
    assert shown(task, compact=True) == [
        "  ⠋ Finder · Auth scan",
        "    ├── Trace auth",
        "    ├── … 10 earlier tool call(s)",
        "    ├── ○ read f5",
        "    ├── ✓ read 5 lines",
        "    ╰── line 8",
    ]


def test_running_tasks_come_before_queued_ones_and_the_newest_update_first(running, succeeded) -> None:
    def named(name: str, **fields):
        return with_fields(running(), description=name, **fields)

    tasks = [
        named("queued", status="queued", started_ms=None, updated_ms=9),
        named("old", updated_ms=1),
        named("new", updated_ms=2),
        succeeded(),
    ]
    titles = [line for line in shown(*tasks) if line.startswith("  ⠋")]
    assert titles == ["  ⠋ Finder · new", "  ⠋ Finder · old", "  ⠋ Finder · queued"]


def test_the_spinner_turns_with_the_time_since_the_start(running) -> None:
    frames = [shown(running(), now_ms=1 + 120 * n)[0][2] for n in range(11)]
    assert "".join(frames) == "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏⠋"


def test_a_growing_paragraph_keeps_its_line_breaks(running) -> None:
    said = " ".join(f"word{n}" for n in range(40))
    before = shown(running(TextDelta(text=said)), width=40)
    after = shown(running(TextDelta(text=said + " more")), width=40)
    assert before[-2] == after[-2]


@pytest.mark.parametrize("width", [16, 30, 100])
def test_no_line_is_wider_than_asked_for(running, width: int) -> None:
    task = running(TextDelta(text="日本語 text " * 50), prompt="検索 " * 40)
    assert all(cells(line) <= width for line in shown(task, width=width))


def test_what_streams_in_cannot_drive_the_terminal(running) -> None:
    assert shown(running(TextDelta(text="\x1b[2Jfound")))[-1] == "    ╰── found"
