"""The tool calls of a task, one row each: `○` while it goes on, then `✓` or `✕` in its place."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._views.call_waits import waited_ms
from ohm_subagents._views.cells import one_line, printable
from ohm_subagents._views.quantities import clock_text
from ohm_subagents._views.task_texts import DONE, FAILED
from ohm_subagents._views.tool_calls import call_subject, changed_lines, named_call
from ohm_subagents._views.tree import status_marker
from ohm_subagents._views.work_facts import CONCERN_MARKS
from ohm_subagents.contract.events import ToolEnded, ToolStarted, ToolUpdated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._views.call_waits import CallWait
    from ohm_subagents._views.spans import Span
    from ohm_subagents.contract.events import Recorded, ToolStatus
    from ohm_subagents.contract.task import Task

_GIST_CHARS: Final = 200
ASKED: Final = " · waits to be approved"
"""The end of the row of a call that waits for an answer."""
_SLOW_MS: Final = 1_000
_LIKE_JSON: Final = ('{"', "{\n", "[{", '["', "[\n")
_WHY: Final = re.compile(r'"(?:msg|message|error|reason)": *"((?:[^"\\\\]|\\\\[^u])+)"')
"""The reason in an error that is JSON; what is escaped in it by number is nothing to read."""
_MOST_SEARCHED: Final = 10_000
_EXIT_CODE: Final = re.compile(r"\[?(?:Exit|Command exited with) code:? (\d+)\.?\]?\s*$")
"""The end of the output of a command that has failed, of ours and of pi."""
CHANGE_TOKENS: Final = {"+": "success", "-": "error"}


class SeenCall(NamedTuple):
    """A tool call, as far as it has come."""

    tool: str
    """The name of the tool."""
    args: str
    """The arguments as text."""
    began_ms: int | None
    """The start in epoch milliseconds; None where it is not kept."""
    status: ToolStatus | None = None
    """The end; None while it goes on."""
    text: str = ""
    """The newest piece of its output, and at the end all of it."""
    ended_ms: int | None = None
    """The end in epoch milliseconds."""
    call_id: str = ""
    """The id of the call in its run."""


def seen_calls(events: Iterable[Recorded]) -> list[SeenCall]:
    """Return the calls that events tell of, in the order of their starts."""
    calls: list[SeenCall] = []
    places: dict[str, int] = {}
    for at_ms, event in ((one.at_ms, one.event) for one in events):
        match event:
            case ToolStarted():
                places[event.call_id] = len(calls)
                calls.append(SeenCall(event.tool, event.args, at_ms, call_id=event.call_id))
            case ToolUpdated() | ToolEnded():
                if event.call_id not in places:  # its start is not kept any more
                    places[event.call_id] = len(calls)
                    calls.append(SeenCall(event.tool, "", None, call_id=event.call_id))
                place = places[event.call_id]
                if isinstance(event, ToolUpdated):
                    calls[place] = calls[place]._replace(text=event.text)
                else:
                    del places[event.call_id]
                    calls[place] = calls[place]._replace(status=event.status, text=event.text, ended_ms=at_ms)
            case _:  # no other event is about a tool, and a new one is not either unless it is added above
                pass
    return calls


def call_row(call: SeenCall, task: Task, *, now_ms: int, waits: Iterable[CallWait] = ()) -> list[Span]:
    """Return the row of a call: its tool, its subject, the gist of its output, and its time if that is long.

    The time is that of its work; for how long it has waited for answers is told apart, as far as `waits` tell it.
    A call that waits to be approved has not begun; one that a settled task left open has been cut off.
    """
    if call.status is None and any(call.call_id and one.call_id == call.call_id for one in task.requests):
        words = call_words(call, task, took_ms=0)
        return [("warning", CONCERN_MARKS["asking"]), *words, ("warning", ASKED)]
    is_open = call.status is None and not task.is_terminal
    waited = waited_ms(call.call_id, waits, began_ms=call.began_ms, ended_ms=call.ended_ms)
    took_ms = taken_ms(call, now_ms=now_ms if is_open else call.ended_ms) - waited
    if is_open:
        mark: Span = ("accent", status_marker("running", took_ms))
    else:
        mark = ("success", DONE) if call.status == "success" else ("error", FAILED)
    row = [mark, *call_words(call, task, took_ms=took_ms, waited=waited)]
    is_said = call.status != "success" or named_call(call.tool, call.args).kind != "edit"
    if is_said and (gist := _gist(call.text, call.status)):
        row.append(("error" if call.status == "error" else "dim", f" · {gist}"))
    return row


def call_words(call: SeenCall, task: Task, *, took_ms: int, waited: int = 0) -> list[Span]:
    """Return a call in words: its tool, its subject, and its time, and that of its waits, where these are long."""
    subject = call_subject(call.tool, call.args, "" if task.launch is None else task.launch.cwd)
    words = [("", " "), ("bold", one_line(call.tool[:_GIST_CHARS])), ("", f" {subject}" if subject else "")]
    times = [clock_text(took_ms)] if took_ms >= _SLOW_MS else []
    times += [f"asked {clock_text(waited)}"] if waited >= _SLOW_MS else []
    return [*words, *(("dim", f" · {time}") for time in times)]


def taken_ms(call: SeenCall, *, now_ms: int | None) -> int:
    """Return how long a call has taken until a time, 0 where its start or that time is not known."""
    return 0 if call.began_ms is None or now_ms is None else now_ms - call.began_ms


def change_rows(call: SeenCall, limit: int) -> list[list[Span]]:
    """Return the lines of the change that a call makes in a file, at most `limit`; none for any other call."""
    lines = () if call.status == "error" or limit <= 0 else changed_lines(call.tool, call.args)
    more = len(lines) - limit
    shown = lines if more <= 0 else (*lines[: limit - 1], f"… {more + 1} more lines")
    return [[(CHANGE_TOKENS.get(line[:1], "dim"), printable(line).expandtabs(4))] for line in shown]


@lru_cache(maxsize=512)
def _gist(text: str, status: ToolStatus | None) -> str:
    """Return one line about an output: itself if it is one, or how much it is; of a failure its first line."""
    said = text[:_GIST_CHARS].strip()
    if said.startswith(_LIKE_JSON):
        why = _WHY.search(text[:_MOST_SEARCHED]) if status == "error" else None
        return f"{len(text):,} characters" if why is None else one_line(why[1][:_GIST_CHARS])
    lines = text.strip().count("\n") + 1
    if status == "error" and (code := _EXIT_CODE.search(text[-_GIST_CHARS:])) is not None:
        what = one_line(said.split("\n", 1)[0])
        return f"exit code {code[1]}" if lines == 1 else f"exit code {code[1]}: {what}"
    if lines == 1 or status == "error":
        return one_line(said.split("\n", 1)[0])
    return one_line(text[-_GIST_CHARS:].strip().rsplit("\n", 1)[-1]) if status is None else f"{lines:,} lines"
