"""Everything that is known to have happened to a task, in order: its transcript, completed from its row."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from ohm_subagents._store.record import encoded
from ohm_subagents._store.transcript import Streamed, parsed
from ohm_subagents._views.transcript import Gap
from ohm_subagents.contract.activity import Activity
from ohm_subagents.contract.event_json import events
from ohm_subagents.contract.events import (
    AgentEnded,
    Cancelled,
    Failed,
    FollowUpTaken,
    Recorded,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)
from ohm_subagents.contract.task import apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydantic import JsonValue

    from ohm_subagents._store.files import TaskFiles
    from ohm_subagents._store.transcript import Stamped
    from ohm_subagents.contract.events import Outcome
    from ohm_subagents.contract.run import Run
    from ohm_subagents.contract.task import Task

    Entry = Recorded | Gap

_CALLS = (ToolStarted, ToolUpdated, ToolEnded)
_COUNTED = (TextDelta, AgentEnded, *_CALLS)
"""What `event_total` of a task counts."""


def history(task: Task, kept: Iterable[Stamped | Streamed]) -> list[Entry]:
    """`kept` is the transcript, which begins with the first streamed event and leaves the answers to the row."""
    prelude, *told = _by_run(_flat(task, kept))
    untold = task.runs[: max(0, len(task.runs) - len(told))]
    if untold:
        told, prelude = [*_by_time(prelude, untold), *told], []
    entries = (
        prelude
        if _has(prelude, TaskQueued)
        else [Recorded(at_ms=task.assignment.created_ms, event=TaskQueued()), *prelude]
    )
    for run, entries_of_run in zip_longest(task.runs, told, fillvalue=None):
        entries += entries_of_run or [] if run is None else _completed(run, entries_of_run or [])
    if task.is_terminal and not _has(entries, TaskSettled):
        entries.append(Recorded(at_ms=task.ended_ms or task.updated_ms, event=TaskSettled(outcome=_outcome(task))))
    return entries


def recorded(task: Task, kept: Iterable[Stamped | Streamed]) -> tuple[Recorded, ...]:
    """The same as events alone: what the assistant said in those that are not kept one by one is one of them."""
    return tuple(
        Recorded(at_ms=entry.at_ms, event=TextDelta(text=entry.text)) if isinstance(entry, Gap) else entry
        for entry in history(task, kept)
        if isinstance(entry, Recorded) or entry.text
    )


def written_down(task: Task, files: TaskFiles, unwritten: Task | None) -> tuple[Recorded, ...]:
    """What its transcript tells, and of a state that is not all in there, what that adds. Reads the file."""
    kept = parsed(files.streamed(task.id))
    return recorded(task, kept if unwritten is None else (*kept, Streamed.of(unwritten)))


def _by_time(entries: Iterable[Entry], runs: Sequence[Run]) -> list[list[Entry]]:
    """The entries of each of several runs, of which nothing says where they begin but the clock."""
    begun = [run.started_ms for run in runs]
    parts: list[list[Entry]] = [[] for _ in runs]
    for entry in entries:
        parts[max(0, bisect_right(begun, entry.at_ms) - 1)].append(entry)
    return parts


def _by_run(entries: Iterable[Entry]) -> list[list[Entry]]:
    """What came before any run, then each run from its beginning."""
    parts: list[list[Entry]] = [[]]
    for entry in entries:
        if isinstance(entry, Recorded) and isinstance(entry.event, RunStarted):
            parts.append([])
        parts[-1].append(entry)
    return parts


def _completed(run: Run, entries: list[Entry]) -> list[Entry]:
    """A run with its beginning, the follow-ups that it took, its answer and its end."""
    started: Entry = Recorded(at_ms=run.started_ms, event=RunStarted(prompt=run.prompt, is_follow_up=run.is_follow_up))
    if _has(entries, RunStarted):
        started, *entries = entries
    taken = sum(isinstance(entry, Recorded) and isinstance(entry.event, FollowUpTaken) for entry in entries)
    untold = run.follow_ups[: max(0, len(run.follow_ups) - taken)]
    follow_ups = (Recorded(at_ms=run.started_ms, event=FollowUpTaken(prompt=prompt)) for prompt in untold)
    whole: list[Entry] = [started, *follow_ups, *(_answered(entry, run) for entry in entries)]
    if run.outcome is not None and not _has(whole, RunEnded):
        output, code = run.output or "", run.exit_code
        ended = RunEnded(outcome=run.outcome, output=output, summary=run.summary, exit_code=code)
        whole.append(Recorded(at_ms=run.ended_ms or run.started_ms, event=ended))
    return whole


def _answered(entry: Entry, run: Run) -> Entry:
    if isinstance(entry, Recorded) and isinstance(entry.event, RunEnded):
        return replace(entry, event=replace(entry.event, output=run.output or ""))
    return entry


def _flat(task: Task, kept: Iterable[Stamped | Streamed]) -> Iterator[Entry]:
    """Single events; where the disk was too slow for them, the newest of them, and before those what was left out."""
    blank = replace(task, status="running", activity=Activity(max_events=task.activity.max_events))
    base, known = blank, list[Recorded]()
    for entry in kept:
        if isinstance(entry, Streamed):
            yield from _caught_up(_played(base, known), entry)
            base, known = entry.onto(blank), []
        else:
            known.append(Recorded(at_ms=entry[0], event=entry[1]))
            yield known[-1]


def _caught_up(before: Task, state: Streamed) -> Iterator[Entry]:
    """From what is known `before` to what is known to have been added up by then."""
    new = max(0, state.event_total - before.activity.event_total)
    tail = state.events[-new:] if new else ()
    if len(tail) < new:
        in_tail = sum(isinstance(one.event, _CALLS) for one in tail)
        calls = [one for one in state.calls[: len(state.calls) - in_tail] if one not in before.activity.calls]
        yield from calls
        after = _played(replace(before, activity=Activity()), tail).text
        text = "".join(state.said).removeprefix(before.text).removesuffix(after)
        missing = new - len(tail) - len(calls)
        if missing:
            yield Gap(at_ms=tail[0].at_ms if tail else before.updated_ms, missing=missing, text=text)
    yield from tail


def _played(task: Task, recorded: Iterable[Recorded]) -> Task:
    for one in recorded:
        if isinstance(one.event, _COUNTED):
            task = apply(task, one.event, at_ms=one.at_ms)
    return task


def _has(entries: Iterable[Entry], kind: type) -> bool:
    return any(isinstance(entry, Recorded) and isinstance(entry.event, kind) for entry in entries)


def _outcome(task: Task) -> Outcome:
    if task.status == "cancelled":
        return Cancelled(reason=task.summary)
    return Failed(error=task.error) if task.error is not None else Succeeded()


def event_fields(entry: Entry) -> dict[str, JsonValue]:
    """An event as it is written: its time, its kind, then what it says."""
    if isinstance(entry, Gap):
        return {"at_ms": entry.at_ms, "kind": "gap", "missing": entry.missing, "text": entry.text}
    return {"at_ms": entry.at_ms, **_kind_first(json.loads(encoded(events(), entry.event)))}


def _kind_first(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {"kind": fields["kind"], **fields}
