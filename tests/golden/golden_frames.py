"""Recorded progress frames beside ours: how many, when, what they hold and what they say."""

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from golden_quirks import comparable_lines, masked
from golden_recording import Json
from golden_texts import as_trees

from ohm_subagents.contract import ADDITIONS

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TURN_MS = 120
HEAD = re.compile(r"subagents (?:idle|\d+ running · tools \d+ active) · done \d+ · failed \d+ · cancelled \d+")
LINE = re.compile(rf"([{SPINNER}]) \S+ · .* · (\d\d:\d\d) · tools \d+/\d+")
AT_WORK = {"queued", "running"}
MOST_LINES = 5

Difference = tuple[str, Any, Any]


@dataclass(kw_only=True)
class Frame:
    """One progress frame and when it came."""

    at_ms: int
    details: Json
    text: str


@dataclass(frozen=True, kw_only=True)
class Screen:
    """The screen on which the frames of a case are seen; `has_ui` of the reference's host, `shows_status` of ours."""

    throttle_ms: int
    has_ui: bool
    shows_status: bool


def frame_differences(
    recorded: list[Json], wanted: list[Json], ours: list[Frame], screen: Screen
) -> Iterator[Difference]:
    """Yield what differs. `wanted` are the recorded details put right.

    Each recorded frame is among ours, in its place and in time; ours are whole, keep the pace and are never alike.
    More of ours are a follow-up that waits for its turn (Q64), and a last step before a pause, which the reference
    drops and ours shows when its time has come (Q42): at that very moment it is in place of one that follows.
    """
    kept = [frame for frame in ours if frame.details["status"] != "queued"]
    yield from _pace(kept, screen.throttle_ms)
    at = 0
    for theirs, details in zip(recorded, wanted, strict=True):
        found = next((n for n in range(at, len(kept)) if _is_like(kept[n], details)), None)
        if found is None:
            found = next(
                (n for n in range(at, len(kept)) if _is_a_step_before(kept[n], details, theirs["at_ms"])), None
            )
            if found is not None:
                at = found + 1
                continue
        if found is None:
            yield "a frame is missing", details, [frame.details for frame in kept[at:]]
            return
        at, frame = found + 1, kept[found]
        if frame.at_ms > theirs["at_ms"]:
            yield "a frame comes late", theirs["at_ms"], frame.at_ms
        yield from _text(theirs["text"], details, frame, screen)
    if not recorded and kept:
        yield "frames that nobody recorded", [], [frame.details for frame in kept]


def _pace(ours: list[Frame], throttle_ms: int) -> Iterator[Difference]:
    for earlier, later in pairwise(ours):
        if earlier.details == later.details:
            yield "a frame is repeated", earlier.details, later.details
        if later is not ours[-1] and later.at_ms - earlier.at_ms < throttle_ms:
            yield "a frame comes too soon", earlier.at_ms + throttle_ms, later.at_ms
    for frame in ours:
        if frame.details.get("contract_version") != "task.v1":
            yield "a frame is no whole envelope", "task.v1", frame.details


def _is_like(frame: Frame, wanted: Json) -> bool:
    """Keys that a recorded frame lacks (Q09) are not compared."""
    ours = masked(documented(frame.details), wanted)
    return {key: ours.get(key) for key in wanted} == wanted


def _is_a_step_before(frame: Frame, wanted: Json, at_ms: int) -> bool:
    """The same task at the same moment, a few events earlier."""
    later = wanted.get("assistant_text", ""), wanted.get("tool_rows", [])
    said, rows = frame.details.get("assistant_text", ""), frame.details.get("tool_rows", [])
    is_earlier = frame.details.get("event_count", 0) < wanted.get("event_count", 0)
    is_part = later[0].startswith(said) and later[1][: len(rows)] == rows
    now = {key: wanted[key] for key in ("assistant_text", "tool_rows", "event_count") if key in wanted}
    same = _is_like(Frame(at_ms=at_ms, details=frame.details | now, text=""), wanted)
    return frame.at_ms == at_ms and is_earlier and is_part and same


def _text(recorded: str, details: Json, frame: Frame, screen: Screen) -> Iterator[Difference]:
    head, _, view = ("", "", frame.text) if screen.shows_status else frame.text.partition("\n\n")
    at_work = [part for part in details.get("items", [details]) if part.get("status") in AT_WORK]
    if not screen.shows_status:
        yield from _head(head, len(at_work), frame.at_ms)
    blocks = recorded.split("\n\n")
    above = 0 if screen.has_ui else len(at_work) or 1
    widget = {_still(tree).partition("\n")[0]: _still(tree) for tree in blocks[:above] if at_work}
    below = _still(as_trees("\n\n".join(blocks[above:]), details, is_frame=True)).split("\n\n")
    wanted = "\n\n".join(_as_in(widget, tree) for tree in below)
    if operator.ne(*comparable_lines(wanted, _still(view), set())):
        yield "the view of a frame", wanted, view
    for glyph in re.findall(rf"^  ([{SPINNER}])", view, re.MULTILINE):
        if glyph != SPINNER[frame.at_ms // TURN_MS % len(SPINNER)]:
            yield "the spinner of a frame", frame.at_ms, glyph


def _as_in(widget: dict[str, str], tree: str) -> str:
    """The tree of a task at work as the widget above has it, which says more; what stands below it stays."""
    title, _, rest = tree.partition("\n")
    if title not in widget:
        return tree
    below = [line for line in rest.split("\n") if not line.startswith("    ")]
    return "\n".join([widget[title], *below])


def _head(head: str, at_work: int, at_ms: int) -> Iterator[Difference]:
    status, *lines = head.split("\n")
    if HEAD.fullmatch(status) is None:
        yield "the status line of a frame", "subagents …", status
    elapsed = f"{at_ms // 60_000:02}:{at_ms // 1000 % 60:02}"
    told = [found and found[2] for found in map(LINE.fullmatch, lines)]
    if told != [elapsed] * min(at_work, MOST_LINES):
        yield "a line a task at work", elapsed, lines


def _still(text: str) -> str:
    return re.sub(rf"^(  )[{SPINNER}]", r"\1⠋", text, flags=re.MULTILINE)


def documented(details: Json) -> Json:
    """Details without our additions, with stamps as they are recorded."""
    kept = {key: 0 if key.endswith("_at_epoch_ms") else value for key, value in details.items() if key not in ADDITIONS}
    if isinstance(kept.get("items"), list):
        kept["items"] = [documented(item) for item in kept["items"]]
    return kept
