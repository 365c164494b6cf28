"""The inline tree: who works, on what, with which tool calls, to what result."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._records import dataclass
from ohm_subagents._views.cells import cut_lines, fit, printable, wrap
from ohm_subagents._views.task_texts import DONE, FAILED, STARTED, STATUS_TOKENS, UPDATED
from ohm_subagents._views.theme import PLAIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.task import Status

SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINNER_FRAME_MS: Final = 120
MIN_WIDTH: Final = 16
TAIL_ROWS: Final = 4

PREFIX: Final = 8
"""Cells of the prefix of a child."""

BRANCH, LAST, DOWN, BLANK = "    ├── ", "    ╰── ", "    │   ", "        "
_HUNG: Final = len(BLANK)
"""Cells of each of them."""
_TITLE: Final = 3
"""The place in its line behind the marker of a title."""
_ROW_TOKENS: Final[Mapping[str, str]] = MappingProxyType(
    {DONE: "success", FAILED: "error", STARTED: "accent", UPDATED: "muted"}
)
_ROW_MARKERS: Final = (DONE, FAILED, STARTED, UPDATED, *SPINNER)


class TreeEntry(NamedTuple):
    """One piece of work as a tree shows it; `elapsed_ms` turns the spinner while it is queued or running.

    Without a prompt or a result it has no line for it.
    """

    status: Status
    title: str
    prompt: str | None
    result: str | None
    rows: tuple[str, ...] = ()
    elapsed_ms: int = 0

    @property
    def is_active(self) -> bool:
        """True while it is queued or running."""
        return self.status in {"queued", "running"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLimits:
    """The most lines of the prompt and of the result, and the most rows, that an entry shows."""

    prompt_lines: int
    rows: int
    result_lines: int


EXPANDED: Final = TreeLimits(prompt_lines=8, rows=20, result_lines=6)


@lru_cache(maxsize=8)
def collapsed(tail_rows: int = TAIL_ROWS) -> TreeLimits:
    """Return the limits of the short form; `tail_rows` is `OHM_SUBAGENTS_TRANSCRIPT_TAIL_LINES`."""
    return TreeLimits(prompt_lines=2, rows=tail_rows, result_lines=2)


def tree_lines(
    entries: Sequence[TreeEntry], *, limits: TreeLimits, width: int, spaced: bool = True, theme: Theme = PLAIN
) -> list[str]:
    """Draw the entries in lines of at most `max(16, width)` cells; `theme` marks what has begun, ended and failed.

    When there are more rows than `limits` allows the newest stay, below a note that counts the earlier ones.
    """
    lines: list[str] = []
    for entry in entries:
        if lines and spaced:
            lines.append("")
        lines += _entry_lines(entry, limits=limits, width=max(MIN_WIDTH, width), theme=theme)
    return lines


def marker(entry: TreeEntry) -> str:
    """Return the marker in front of an entry's title."""
    return status_marker(entry.status, entry.elapsed_ms)


def status_marker(status: Status, elapsed_ms: int) -> str:
    """Return `✓`, `✕`, `○`, or the spinner's frame for the time elapsed."""
    match status:
        case "succeeded":
            return DONE
        case "failed":
            return FAILED
        case "cancelled":
            return STARTED
        case "queued" | "running":
            return SPINNER[max(0, elapsed_ms) // SPINNER_FRAME_MS % len(SPINNER)]


def _entry_lines(entry: TreeEntry, *, limits: TreeLimits, width: int, theme: Theme) -> list[str]:
    inner = width - _HUNG
    title = printable(entry.title).replace("\n", " ")
    hidden = max(0, len(entry.rows) - limits.rows)
    children = [] if entry.prompt is None else [_block(entry.prompt, limit=limits.prompt_lines, width=inner)]
    rows = [[fit(f"{UPDATED} {hidden} earlier tool call(s)", inner)]] if hidden else []
    rows += [_block(_marked(row), limit=1, width=inner) for row in entry.rows[hidden:]]
    children += rows if theme is PLAIN else [[_row_in(theme, row[0])] for row in rows]
    if entry.result is not None:
        children.append(_block(entry.result, limit=limits.result_lines, width=inner))
    mark = marker(entry)
    lines = [fit(f"  {mark} {title}", width)]
    if theme is not PLAIN:
        lines = [f"  {theme.fg(STATUS_TOKENS[entry.status], mark)}{theme.bold(lines[0][_TITLE:])}"]
    for child in children[:-1]:
        lines += _hung(child, theme.fg("dim", BRANCH), theme.fg("dim", DOWN))
    for child in children[-1:]:
        lines += _hung(child, theme.fg("dim", LAST), BLANK)
    return lines


def _row_in(theme: Theme, row: str) -> str:
    """Mark the sign of a row."""
    return theme.fg(_ROW_TOKENS.get(row[:1], "accent"), row[:1]) + row[1:]


def _hung(block: list[str], first: str, following: str) -> list[str]:
    hung = [following + line for line in block]
    hung[0] = first + block[0]
    return hung


def _block(text: str, *, limit: int, width: int) -> list[str]:
    """Return the first `limit` wrapped lines; the last one ends with `…` if there were more."""
    if len(text) <= width and text.isascii() and text.isprintable():
        return [text.strip()]
    return cut_lines(wrap(printable(text).strip(), width), width=width, limit=limit)


def _marked(row: str) -> str:
    shown = printable(row).strip()
    if shown.startswith(_ROW_MARKERS):
        return shown
    return f"{DONE} {shown or '(empty tool line)'}"
