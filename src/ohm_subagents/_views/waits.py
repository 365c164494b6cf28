"""The wait of a task: for an answer, its turn, a provider, a budget; without progress, for a tool or its model."""

from __future__ import annotations

from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.call_rows import ASKED, seen_calls
from ohm_subagents._views.cells import cells, cut_lines, one_line, wrap
from ohm_subagents._views.quantities import age_text, clock_text, duration_text
from ohm_subagents._views.request_texts import landing_text, request_text
from ohm_subagents._views.tool_calls import call_subject
from ohm_subagents._views.work_facts import amiss_text, progress_at_ms
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents._views.live_task import LiveTask
    from ohm_subagents._views.spans import Span
    from ohm_subagents.contract.events import RequestHeld
    from ohm_subagents.contract.requests import Request
    from ohm_subagents.contract.task import Task

_CHARS: Final = 4_000
_COUNTED_MS: Final = 1_000
_SILENT_MS: Final = 5_000
"""Words that a model has said so long ago are not told as if it went on."""
_STARTS: Final = "task"
"""The tool that waits for tasks which an earlier call has started."""
_HELD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "slots": "Waits for a free slot: {} answers other requests.",
        "rate_limit": "Waits: {} asked to slow down.",
        "budget": "Waits: other requests have reserved the rest of the budget.",
    }
)


def wait_lines(task: Task) -> list[list[Span]]:
    """Return what a task waits for: an answer, its turn, or with a model request for a slot, a provider or a budget.

    What it asks is followed by the id of the request, as a piece of its own.
    """
    if task.requests:
        return [[("warning", _asks(one, task)), ("dim", _named(one))] for one in task.requests]
    if task.status == "queued":
        return [[("muted", queued_text())]]
    if task.activity.wait.held is not None:
        return [[("warning", held_text(task.activity.wait.held))]]
    return []


def below_line(live: LiveTask) -> list[Span]:
    """Return for how many of the tasks that it has started a task waits, and what is amiss with them.

    Empty where it does something else meanwhile: it thinks, or a tool that it has called since works.
    """
    awaited = live.awaited
    if awaited is None or live.task.is_terminal:
        return []
    opened = [call for call in seen_calls(live.task.activity.calls) if call.status is None]
    newest = opened[-1] if opened else None
    if newest is None and live.thinking:
        return []
    if newest is not None and newest.tool != _STARTS and (newest.began_ms or 0) > awaited.since_ms:
        return []
    amiss = amiss_text({"asking": awaited.asking, "stuck": awaited.stuck})
    of_all = f" of {awaited.total}" if awaited.total > awaited.going else ""
    which = f": {amiss}" if amiss else ""
    return [("warning" if amiss else "muted", f"Waits for {awaited.going}{of_all} below{which}")]


def queued_text(place: int = 1, together: int = 1) -> str:
    """Return what a queued task waits for, which has this place among those that were queued together."""
    where = f" ({place} of {together})" if together > 1 else ""
    return f"Waits for its turn{where}."


def held_text(held: RequestHeld) -> str:
    """Return what a model request waits for that is not made yet; a wait of less than a second has no length."""
    who, told_ms = one_line(held.provider), round((held.wait_s or 0) * 1000)
    if held.why == "rate_limit" and held.status not in {None, HTTPStatus.TOO_MANY_REQUESTS}:
        again = f"; tries again after {clock_text(told_ms)}" if told_ms >= _COUNTED_MS else ""
        return f"Waits: {who} answered {held.status}{again}."
    asked = _HELD[held.why].format(who)
    return f"{asked[:-1]} for {clock_text(told_ms)}." if told_ms >= _COUNTED_MS else asked


def asked_lines(
    task: Task, *, width: int, limit: int, with_ids: bool = True, below_rows: bool = False
) -> list[list[Span]]:
    """Return what a task asks in at most `limit` lines of `width` cells, broken between words; last each request's id.

    Where there is no room for all of a request, its end and its id give theirs first. `below_rows`: the rows of its
    tool calls stand above, so that of a call which is whole there only the reason to ask is told.
    """
    lines: list[list[Span]] = []
    for number, request in enumerate(task.requests, 1):
        room = max(1, (limit - len(lines)) // (len(task.requests) - number + 1))
        if len(lines) < limit:
            words = (_reason(request, task, width) if below_rows else "") or _asks(request, task)
            lines += _asked(words, _named(request) if with_ids else "", width, room)
    return lines


def _reason(request: Request, task: Task, width: int) -> str:
    """Return why a call is asked about whose row is above, and not cut; empty for any other request."""
    calls = [one for one in seen_calls(task.activity.calls) if one.call_id == request.call_id and one.status is None]
    if request.kind != "tool" or not calls:
        return ""
    cwd = "" if task.launch is None else task.launch.cwd
    row = f"? {calls[-1].tool} {call_subject(calls[-1].tool, calls[-1].args, cwd)}{ASKED}"
    return "" if cells(row) > width else f"Asks because of {one_line(request.reason)}" if request.reason else "Asks."


def _asked(words: str, named: str, width: int, limit: int) -> list[list[Span]]:
    lines = cut_lines(wrap(words, width), width=width, limit=limit)
    asked: list[list[Span]] = [[("warning", line)] for line in lines]
    if cells(lines[-1]) + cells(named) <= width:
        asked[-1].append(("dim", named))
    elif len(lines) < limit:
        asked.append([("dim", named.lstrip())])
    return asked


def awaited_text(task: Task) -> str:
    """Return what a task that makes no progress waits for: its newest open tool call, or its model."""
    opened = [call for call in seen_calls(task.activity.calls) if call.status is None]
    if opened:
        cwd = "" if task.launch is None else task.launch.cwd
        return one_line(f"Waits for {opened[-1].tool[:_CHARS]} {call_subject(*opened[-1][:2], cwd)}")
    if task.route.model == UNAVAILABLE:
        return "Waits for its model."
    return one_line(f"Waits for {task.route.provider}/{task.route.model}.")


def model_line(task: Task, *, now_ms: int) -> list[Span]:
    """Return that a task waits for its model, of which nothing has come for some seconds; empty for any other."""
    quiet_ms = now_ms - (progress_at_ms(task) or now_ms)
    is_over = task.status != "running" or task.activity.open_calls or quiet_ms < _SILENT_MS
    return [] if is_over else [("muted", awaited_text(task))]


def request_words(request: Request, cwd: str = "") -> str:
    """Return a request on one line: the question with its options, or the tool with what the call is about."""
    if request.kind == "question" or landing_text(request):
        return one_line(request_text(request)[:_CHARS])
    said = f"{request.tool} {call_subject(request.tool, request.arguments, cwd)}".rstrip()
    return one_line((f"{said} ({request.reason})" if request.reason else said)[:_CHARS])


def asked_times(request: Request, *, now_ms: int) -> list[str]:
    """Return how long ago something was asked, and when it is denied if nobody answers."""
    asked = f"asked {age_text(now_ms - request.asked_ms)}"
    if request.expires_ms is None:
        return [asked]
    return [asked, f"denied in {duration_text(max(0, request.expires_ms - now_ms))}"]


def asked_text(request: Request, cwd: str = "") -> str:
    """Return what is asked, as what the task that asks does now."""
    return f"Asks: {request_words(request, cwd)}"


def _asks(request: Request, task: Task) -> str:
    return asked_text(request, "" if task.launch is None else task.launch.cwd)


def _named(request: Request) -> str:
    return f" ({one_line(request.id)})"
