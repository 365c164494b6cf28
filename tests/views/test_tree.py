from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text

from ohm_subagents._terminal.theme import Ansi
from ohm_subagents._views.cells import cells
from ohm_subagents._views.theme import PLAIN
from ohm_subagents._views.tree import EXPANDED, TreeEntry, TreeLimits, collapsed, tree_lines

LIBRARY = TreeLimits(prompt_lines=6, rows=8, result_lines=4)
COMPACT = TreeLimits(prompt_lines=2, rows=2, result_lines=1)
VECTORS = {
    vector["name"]: vector
    for vector in json.loads((Path(__file__).parent / "tree_render.json").read_text(encoding="utf-8"))
}
# What ours says instead, and why.
REPLACED = {
    # Q40: the first rows are shown there, the newest here.
    "default limits": {
        "    ├── ✓ Read f0": "    ├── … 4 earlier tool call(s)",
        **{f"    ├── ✓ Read f{n}": f"    ├── ✓ Read f{n + 3}" for n in range(1, 8)},
        "    ├── … 4 more tool call(s)": "    ├── ✓ Read f11",
    },
    "compact limits": {
        "    ├── ✓ Read f0": "    ├── … 10 earlier tool call(s)",
        "    ├── ✓ Read f1": "    ├── ✓ Read f10",
        "    ├── … 10 more tool call(s)": "    ├── ✓ Read f11",
    },
    # Q41: no terminal escape codes, and the cut uses the room there is.
    "wrap width 1": {"  ⠋ Finder · \x1b[0m...": "  ⠋ Finder · Au…"},
    "wrap width 16": {"  ⠋ Finder · \x1b[0m...": "  ⠋ Finder · Au…"},
    "wrap width 20": {"  ⠋ Finder · Auth\x1b[0m...": "  ⠋ Finder · Auth s…"},
    "wide characters": {
        "  ⠋ 検索 · 結果結果結果結果結果結果結果結果結果結果結果結\x1b[0m...": "  ⠋ 検索 · " + "結果" * 12 + "…"
    },
}
IMPOSSIBLE = {
    "invalid limits fall to defaults": "limits are a typed record here",
    "spinner frame -3": "time does not run backwards; the next test says what a skewed clock shows",
}


def entry(**changes) -> TreeEntry:
    fields = {"status": "running", "title": "Finder · Auth scan", "prompt": "Trace auth", "result": "Working..."}
    return TreeEntry(**(fields | changes))


@pytest.mark.parametrize("name", sorted(set(VECTORS) - set(IMPOSSIBLE)))
def test_a_tree_is_drawn_as_documented(name: str) -> None:
    vector = VECTORS[name]
    options = vector.get("options", {})
    drawn = tree_lines(
        [
            entry(
                status=given_entry["status"],
                title=given_entry["title"],
                prompt=given_entry["prompt"],
                rows=tuple(given_entry["toolCalls"]),
                result=given_entry["result"],
                elapsed_ms=120 * given_entry.get("spinnerFrame", 0),
            )
            for given_entry in vector["entries"]
        ],
        limits=COMPACT if options.get("compact") else LIBRARY,
        width=vector["width"],
        spaced=options.get("includeSpacerBetweenEntries", True),
    )
    ours = REPLACED.get(name, {})
    assert set(ours) <= set(vector["expect"])
    assert drawn == [ours.get(line, line) for line in vector["expect"]]


def test_every_exception_names_a_vector() -> None:
    assert set(REPLACED) | set(IMPOSSIBLE) <= set(VECTORS)


@pytest.mark.parametrize(("elapsed_ms", "frame"), [(-360, "⠋"), (119, "⠋"), (120, "⠙"), (1199, "⠏"), (1200, "⠋")])
def test_the_spinner_turns_with_the_time_elapsed(elapsed_ms: int, frame: str) -> None:
    title = tree_lines([entry(elapsed_ms=elapsed_ms)], limits=EXPANDED, width=80)[0]
    assert title == f"  {frame} Finder · Auth scan"


def test_collapsed_shows_as_many_rows_as_asked_for() -> None:
    lines = tree_lines([entry(rows=("○ a", "○ b", "○ c"))], limits=collapsed(1), width=80)
    assert lines[2:4] == ["    ├── … 2 earlier tool call(s)", "    ├── ○ c"]


def test_a_row_of_several_lines_is_shown_as_one_that_says_there_is_more() -> None:
    assert tree_lines([entry(rows=("✓ bash a\nb",))], limits=EXPANDED, width=80)[2] == "    ├── ✓ bash a…"


@pytest.mark.parametrize(("row", "shown"), [("  ", "✓ (empty tool line)"), ("Read a", "✓ Read a"), ("⠙ b", "⠙ b")])
def test_a_row_without_a_marker_gets_one(row: str, shown: str) -> None:
    assert tree_lines([entry(rows=(row,))], limits=EXPANDED, width=80)[2] == f"    ├── {shown}"


def test_a_title_of_several_lines_stays_one_line() -> None:
    assert tree_lines([entry(title="a\nb")], limits=EXPANDED, width=80)[0] == "  ⠋ a b"


def test_escape_codes_of_a_tool_never_reach_the_tree() -> None:
    coloured = entry(title="\x1b[1mt", prompt="\x1b[2Jp", rows=("✓ ls \x1b[34mdir\x1b[0m",), result="\x1b]0;x\x07r")
    assert tree_lines([coloured], limits=EXPANDED, width=80) == [
        "  ⠋ t",
        "    ├── p",
        "    ├── ✓ ls dir",
        "    ╰── r",
    ]


def test_a_theme_marks_signs_and_changes_no_text() -> None:
    rows = ("○ read a", "✓ read 2 lines", "✕ bash exit 1", "… ls b")
    drawn = entry(status="failed", prompt="✓ not a row", result="✕ nor this", rows=rows)
    plain, marked = (tree_lines([drawn], limits=EXPANDED, width=40, theme=theme) for theme in (PLAIN, Ansi()))
    assert [Text.from_ansi(line).plain for line in marked] == plain
    assert "\x1b[31m✕\x1b[0m bash exit 1" in marked[4]
    assert (marked[1].endswith("✓ not a row"), marked[-1].endswith("✕ nor this")) == (True, True)


@settings(deadline=None)
@given(
    texts=st.tuples(st.text(), st.text(), st.text()),
    rows=st.lists(st.text(), max_size=30),
    width=st.integers(min_value=16, max_value=120),
)
def test_no_line_is_ever_wider_than_asked(texts: tuple[str, str, str], rows: list[str], width: int) -> None:
    title, prompt, result = texts
    drawn = entry(title=title, prompt=prompt, result=result, rows=tuple(rows))
    for limits in (EXPANDED, collapsed()):
        lines = tree_lines([drawn], limits=limits, width=width)
        assert all(cells(line) <= width for line in lines)
        assert len(lines) <= 2 + limits.prompt_lines + limits.rows + limits.result_lines
