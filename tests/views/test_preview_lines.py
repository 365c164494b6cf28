from __future__ import annotations

from ohm_subagents._views.cells import preview_lines

TWENTY = "\n".join(f"line {n}" for n in range(1, 21))


def test_the_last_lines_stay_below_a_note_that_counts_the_earlier_ones() -> None:
    lines = preview_lines(TWENTY, width=80)
    assert lines == ["... (8 earlier lines, ctrl+o to expand)", *(f"line {n}" for n in range(9, 21))]


def test_lines_are_counted_as_they_are_wrapped() -> None:
    assert preview_lines("one two three four", width=7, max_lines=1) == ["... (2…", "four"]


def test_a_host_says_how_to_expand() -> None:
    assert preview_lines(TWENTY, width=80, how="press e")[0] == "... (8 earlier lines, press e)"


def test_no_terminal_escape_code_is_left() -> None:
    assert preview_lines("\x1b[31mred\x1b[0m", width=80) == ["red"]
