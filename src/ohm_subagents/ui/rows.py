"""Tasks as rows and facts for the page, in the words that terminals have for them; pure."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.account import Account, Remaining
from ohm_subagents.contract.usage import Usage
from ohm_subagents.ui.entries import MOST_CHARS, MOST_DIFF
from ohm_subagents.ui.markup import markup
from ohm_subagents.ui.shapes import Asked, Detail, Fact, Failure, Row, Used, Work
from ohm_subagents.ui.words import last_words
from ohm_subagents.views import (
    argument_lines,
    awaited_text,
    changed_lines,
    concern_of,
    elapsed_ms,
    failure_line,
    landing_text,
    named_call,
    one_line,
    patient_tasks,
    price_text,
    printable,
    progress_at_ms,
    remaining_text,
    request_words,
    shown_error,
    status_marker,
    task_fact_lines,
    task_title,
    used_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from ohm_subagents.contract import ListedTask, OhmError, Request, Task
    from ohm_subagents.ui.shapes import Span
    from ohm_subagents.ui.timeline import Timeline

_LABEL: Final = 14
"""The width of a label in the lines of facts."""
_APART: Final = frozenset({"task", "status", "asks", "files", "error", "left", "started by", "resumed from"})
"""Facts that have a place of their own."""
_ASKED_CHARS: Final = 200
_LEFT: Final = [field.name for field in fields(Remaining)]


def used_of(usage: Usage) -> Used:
    """Return the usage of one or several tasks."""
    return Used(
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        tool_calls=usage.tool_calls,
        cost_usd=None if usage.cost_usd is None else f"{usage.cost_usd:f}",
        tokens=f"{tokens:,} tokens" if (tokens := usage.input_tokens + usage.output_tokens) else "",
        cost=price_text(usage),
        text=used_text(usage),
    )


def used_by(tasks: Iterable[ListedTask]) -> Used:
    """Return what several tasks used themselves, so that none counts twice."""
    return used_of(Usage.total(task.usage for task in tasks))


def work_of(task: Task, timeline: Timeline | None, children: Sequence[ListedTask], *, now_ms: int) -> Work:
    """Return how a task gets on; a settled one needs no timeline. One that waits for `children` is not stuck."""
    is_waiting = task.activity.wait.held is not None or task.id in patient_tasks(children)
    is_busy = task.status == "running" and not is_waiting
    is_stuck = concern_of(task, now_ms=now_ms, is_patient=not is_busy) == "stuck"
    spans = [] if timeline is None else timeline.spans
    continues = task.assignment.resumed_from
    return Work(
        asks=len(task.requests),
        error="" if task.error is None else one_line(failure_line(task.error)),
        last=awaited_text(task) if is_stuck else last_words(task, spans),
        progress_ms=progress_at_ms(task) if is_busy else None,
        continues=continues and one_line(continues),
        follow_up="" if continues is None else one_line(task.assignment.prompt[:_ASKED_CHARS]),
        waits_below=task.activity.wait.held is None and _waits_below(task, spans, children),
        is_stuck=is_stuck,
    )


def _waits_below(task: Task, spans: list[Span], children: Sequence[ListedTask]) -> bool:
    """Return True if a task has begun no call and said nothing since the newest of those it has started."""
    begun = [child.created_ms for child in children if not child.is_terminal]
    if task.status != "running" or task.requests or not begun:
        return False
    calls = [span["start_ms"] for span in spans if span["kind"] == "tool" and span["end_ms"] is None]
    return max(calls, default=task.activity.progress_ms or 0) <= max(begun)


def row_of(
    task: ListedTask, work: Work, *, now_ms: int, depth: int, below: int, open_below: int, where: str = ""
) -> Row:
    """Return a task in a list, so many tasks down, and with so many below it; `where` is the process that runs it."""
    taken_ms = elapsed_ms(task, now_ms=now_ms)
    return Row(
        **work,
        id=one_line(task.id),
        title=one_line(task_title(task.profile, task.description)),
        profile=one_line(task.profile),
        description=one_line(task.description),
        status=task.status,
        icon=status_marker(task.status, 0),
        session=one_line(task.session_id),
        parent=task.parent and one_line(task.parent),
        call=task.call and one_line(task.call),
        model=task.model and one_line(task.model),
        where="" if task.is_terminal else where,
        created_ms=task.created_ms,
        started_ms=task.started_ms,
        ended_ms=task.ended_ms,
        elapsed_ms=taken_ms,
        used=used_of(task.usage),
        tree=used_of(task.tree_usage),
        depth=depth,
        below=below,
        open_below=open_below,
    )


def detail_of(row: Row, task: Task, *, origin: ListedTask | None, now_ms: int, can_send: bool) -> Detail:
    """Return a task with all that is known of it but its transcript; `origin` is the one that it goes on with."""
    error, kept = task.error, task.activity.workspace
    return Detail(
        **row,
        prompt_html=markup(task.assignment.prompt[:MOST_CHARS]),
        output_html=markup((task.output or task.text)[:MOST_CHARS]),
        summary=one_line(task.summary),
        facts=[one for one in _facts(task, now_ms) if one["label"] not in _APART],
        files=[one_line(file) for file in task.activity.files],
        failure=None if error is None else _failure(error, can_send=can_send),
        origin="" if origin is None else one_line(task_title(origin.profile, origin.description)),
        can_cancel=not task.is_terminal,
        can_land=task.is_terminal and kept is not None and kept.landed in {"no", "conflict"},
        can_send=can_send,
    )


def _failure(error: OhmError, *, can_send: bool) -> Failure:
    shown = shown_error(error)
    advice = "A follow-up goes on with it." if can_send and shown is not error else shown.advice
    return Failure(code=error.code, message=printable(shown.message), advice=printable(advice))


def own_left_of(task: ListedTask, root: ListedTask, *, now_ms: int) -> str:
    """Write what is left of budgets that the task does not share with the root of its tree: less, or of another kind.

    What it knows of shared ones is older than what the root knows, and never less.
    """
    own, shared = (None if one.account is None else one.account.remaining for one in (task, root))
    if own is None or task.id == root.id or task.is_terminal:
        return ""
    around = {} if shared is None else {name: getattr(shared, name) for name in _LEFT}
    less = {name: left for name in _LEFT if _is_less(left := getattr(own, name), around.get(name))}
    return remaining_text(Account(remaining=Remaining(**less)), at_ms=now_ms)


def _is_less(left: Decimal | None, shared: Decimal | None) -> bool:
    return left is not None and (shared is None or left < shared)


def asked_of(request: Request, *, cwd: str = "") -> Asked:
    """Return a request that waits for an answer."""
    call = named_call(request.tool, request.arguments)
    return Asked(
        id=request.id,
        task=request.task_id,
        profile=one_line(request.profile),
        kind=request.kind,
        tool=one_line(request.tool),
        title=one_line(request.question[:MOST_CHARS]) if request.kind == "question" else request_words(request, cwd),
        subject="" if request.kind == "question" else landing_text(request) or one_line(call.subject(cwd)),
        diff=[printable(line) for line in changed_lines(request.tool, request.arguments)[:MOST_DIFF]],
        arguments=printable("\n".join(argument_lines(call))),
        question=printable(request.question),
        options=[one_line(option) for option in request.options],
        reason=one_line(request.reason),
        asked_ms=request.asked_ms,
        expires_ms=request.expires_ms,
    )


def _facts(task: Task, now_ms: int) -> list[Fact]:
    """Return the facts that `ohm task` prints: a label and its text, whose further lines are indented."""
    facts: list[Fact] = []
    for line in task_fact_lines(task, now_ms=now_ms):
        label, text = line[:_LABEL].strip(), line[_LABEL:]
        if label:
            facts.append(Fact(label=label, text=text))
        else:
            facts[-1]["text"] += f"\n{text}"
    return facts
