from __future__ import annotations

import pytest
from rich.text import Text

from ohm_subagents._terminal.terminal import styled
from ohm_subagents._terminal.theme import STYLES, Ansi, terminal_theme
from ohm_subagents._views.theme import PLAIN


@pytest.mark.parametrize("token", [*STYLES, "unheard of"])
def test_marks_are_around_the_text_and_end_behind_it(token: str) -> None:
    theme = Ansi()
    marked = theme.fg(token, theme.bold(theme.strikethrough("a text")))
    assert Text.from_ansi(marked).plain == "a text"
    assert marked.endswith("\x1b[0m")


def test_errors_are_red_and_names_are_bold() -> None:
    assert Ansi().fg("error", "boom") == "\x1b[31mboom\x1b[0m"
    assert Ansi().bold("name") == "\x1b[1mname\x1b[0m"


def test_where_nobody_looks_there_are_no_marks() -> None:
    assert terminal_theme() is PLAIN


def test_colours_reach_the_terminal_and_nothing_else_does() -> None:
    hostile = "\x1b[31mred\x1b[0m\x1b[2J\x1b]0;ti\x1b[1mtle\x07\x9b1A\x1b[38:2::1mx\rz"
    assert styled(hostile) == "\x1b[31mred\x1b[0m" + "0;ti\x1b[1mtle1Axz"
