"""Tasks, at work or settled, as a person at a terminal sees them: one row a tool call, in the colours of a theme."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.call_rows import call_row, change_rows, seen_calls
from ohm_subagents._views.cells import cut_lines, fit, last_lines, one_line, printable, wrapped
from ohm_subagents._views.doing import SAID_CHARS, said_end, why_cancelled, why_failed
from ohm_subagents._views.quantities import counted, duration_text, usage_parts
from ohm_subagents._views.spans import Span, painted, span_cells
from ohm_subagents._views.task_texts import NEVER_BEGUN, STATUS_TOKENS, UPDATED, elapsed_ms, has_begun
from ohm_subagents._views.titles import asked_again, title_line
from ohm_subagents._views.tree import BLANK, BRANCH, DOWN, LAST, MIN_WIDTH, PREFIX
from ohm_subagents._views.verification import verified_line
from ohm_subagents._views.waits import asked_lines, awaited_text, below_line, model_line, wait_lines
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    from ohm_subagents._views.live_task import LiveTask
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.task import Task

    Line = list[Span]

_PROMPT_LINES: Final = 3
_SAID_LINES: Final = 8
_MOST_ROWS: Final = 20
_MOST_NOTES: Final = 2
_CHANGED_LINES: Final = 8
_PARAGRAPHS: Final = re.compile(r"\n\s*\n")


def task_block(
    live: LiveTask,
    *,
    now_ms: int,
    width: int,
    height: int = sys.maxsize,
    theme: Theme,
    is_chosen: bool = False,
    with_kind: bool = True,
    with_left: bool = True,
    with_why: bool = True,
) -> list[str]:
    """Draw a task as a tree: prompt, tool calls with changes of files, and what it says, waits for, or how it ended.

    At most `height` lines, if that is 3 or more, of at most `width` cells; the newest rows stay. Without `with_kind`
    its title does not tell its type, without `with_left` not what is left, and without `with_why` its end not why it
    has failed, for a reader who is told that below the tree.
    """
    indent, width = "  " * live.depth, max(MIN_WIDTH, width)
    inner = max(MIN_WIDTH, width - len(indent)) - PREFIX
    limit = min(_SAID_LINES, max(1, (height - 1) // 2))
    is_over = live.task.is_terminal
    last = _ended(live.task, inner, limit, with_why=with_why) if is_over else _last(live, now_ms, inner, limit)
    room = height - 1 - len(last)
    told = {"is_chosen": is_chosen, "with_kind": with_kind, "with_left": with_left}
    title = title_line(live, now_ms=now_ms, width=width, theme=theme, **told)
    prompt = [] if asked_again(live.task) in title else _prompt(live.task, inner, min(_PROMPT_LINES, room // 3))
    blocks = [*([prompt] if prompt else []), *_rows(live, now_ms, room - len(prompt)), last]
    lines = [title]
    for number, block in enumerate(blocks, 1):
        first, following = (LAST, BLANK) if number == len(blocks) else (BRANCH, DOWN)
        for at, line in enumerate(block):
            lines.append(painted([("dim", indent + (following if at else first)), *line], width, theme))
    return lines


def _prompt(task: Task, width: int, limit: int) -> list[list[Span]]:
    """Return the first lines of the prompt, if it says more than the title."""
    prompt = task.assignment.prompt[:SAID_CHARS].strip()
    if limit <= 0 or one_line(prompt) == one_line(task.assignment.description[:SAID_CHARS]):
        return []
    return [[("muted", line)] for line in cut_lines(wrapped(prompt, width), width=width, limit=limit)]


def _rows(live: LiveTask, now_ms: int, room: int) -> list[list[Line]]:
    """Return the newest tool calls, below a note that counts the others, with changes of files; then the newest notes.

    In all at most `room` lines.
    """
    task, calls = live.task, seen_calls(live.task.activity.calls)
    said = () if task.is_terminal else task.diagnostics[-_MOST_NOTES:]
    notes: list[list[Line]] = [
        [[("warning", f"! {one_line(one.text[:SAID_CHARS])}")]] for one in said[: max(0, room - 2)]
    ]
    total, most = max(task.activity.usage.tool_calls, len(calls)), max(0, min(_MOST_ROWS, room - len(notes)))
    if total > most == room - len(notes) > 1:
        most -= 1  # for the note
    shown = calls[-most:] if most > 0 else []
    hidden = total - len(shown)
    is_noted = hidden > 0 and room > len(notes) + len(shown)
    blocks: list[list[Line]] = []
    spare = max(0, room - len(notes) - len(shown) - is_noted)
    for call in reversed(shown):
        changes = change_rows(call, min(_CHANGED_LINES, spare))
        spare -= len(changes)
        blocks.append([call_row(call, task, now_ms=now_ms, waits=live.waits), *changes])
    if is_noted:
        blocks.append([[("dim", f"{UPDATED} {counted(hidden, 'earlier tool call')}")]])
    return [*reversed(blocks), *notes]


def _last(live: LiveTask, now_ms: int, width: int, limit: int) -> list[list[Span]]:
    """Return the paragraph that a task says, and what it waits for or thinks."""
    task = live.task
    with_ids, below_rows = not live.is_answered_here, limit > 1
    waiting = asked_lines(task, width=width, limit=limit, with_ids=with_ids, below_rows=below_rows)
    waiting = waiting or wait_lines(task)[:limit]
    waiting = waiting or [*filter(None, [below_line(live)])]
    if not waiting and live.concern(now_ms=now_ms) == "stuck":
        waiting = [[("warning", awaited_text(task))]]
    elif not waiting and (waits := model_line(task, now_ms=now_ms)):
        waiting = [waits]
    elif not waiting and live.thinking:
        waiting = [[("dim", f"Thinking: {line}") for line in last_lines(one_line(live.thinking), width=width, limit=1)]]
    room = limit - len(waiting)
    newest = _PARAGRAPHS.split(printable(said_end(task)).strip())[-1]
    said = last_lines(newest, width=width, limit=room) if room else []
    return [*([("", line)] for line in said), *waiting] or [[("dim", "Working...")]]


def _ended(task: Task, width: int, limit: int, *, with_why: bool) -> list[Line]:
    """Return how a task ended, then why it has failed and what to do, or by whom it was cancelled.

    With room for one line only, that is the reason.
    """
    told = why_failed(task.error) if task.error is not None and with_why else []
    told += [("", why)] if (why := why_cancelled(task)) else []
    lines: list[Line] = [[(mark, line)] for mark, text in told for line in wrapped(text, width)]
    room = max(1, limit - 1)
    if len(lines) > room:
        mark, line = lines[room - 1][0]
        lines = [*lines[: room - 1], [(mark, fit(f"{line}…", width))]]
    return lines if lines and limit == 1 else [_ending(task, width), *lines]


def _ending(task: Task, room: int) -> list[Span]:
    """Return how a task ended and what it used; where there is no room, without its model, then without more."""
    route = task.route
    who = one_line(route.runtime if route.model == UNAVAILABLE else f"{route.provider}/{route.model}")
    worked = f" after {duration_text(elapsed_ms(task, now_ms=task.updated_ms))}"
    said = task.status.capitalize() + (worked if has_begun(task) else f", {NEVER_BEGUN}")
    verified = verified_line(task)
    token = "success" if verified is not None and verified.startswith("passed") else "warning"
    checks: list[Span] = [(token, f" · checks {verified}")] if verified else []
    parts: list[Span] = [("dim", f" · {part}") for part in (who, *usage_parts(task.activity.usage))]
    while len(parts) > 1 and len(said) + span_cells([*parts, *checks]) > room:
        del parts[0]
    return [(STATUS_TOKENS[task.status], said), *parts, *checks]
