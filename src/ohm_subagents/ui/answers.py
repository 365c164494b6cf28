"""The JSON that the page is drawn from: what the server of `ohm ui` answers, and what an exported page holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from ohm_subagents.ui.shapes import Asked, Detail, Entry, Row, Span, TreeRow, Used


class Counts(TypedDict):
    """The number of tasks by status and by what is amiss, of those that the other filters choose."""

    queued: int
    """Tasks that wait for their turn."""
    running: int
    """Tasks that run."""
    succeeded: int
    """Tasks that have succeeded."""
    failed: int
    """Tasks that have failed."""
    cancelled: int
    """Tasks that were cancelled."""
    asking: int
    """Tasks that wait for an answer; they run."""
    stuck: int
    """Tasks that make no progress; they run."""


class TaskPage(TypedDict):
    """`GET /api/tasks`."""

    total: int
    """The number of the chosen tasks."""
    kept: int
    """The number of all kept tasks."""
    tasks: list[Row]
    """Those from `offset` on, at most `limit`: the newest start first, each task below the one that started it."""
    counts: Counts
    """The tasks by status; the filter by status does not count here."""
    profiles: list[str]
    """The profiles of all kept tasks, for a filter."""
    used: Used
    """The usage of all chosen tasks, each counted once."""
    place: str
    """The file or address of the tasks."""
    now_ms: int
    """The time of the answer."""


class TaskPicture(TypedDict):
    """`GET /api/tasks/{id}`."""

    task: Detail
    """The task."""
    tree: list[TreeRow]
    """All tasks of the same start, each below the one that started it, in the order of their starts."""
    counts: Counts
    """These tasks by status, counted as in the list."""
    spans: list[Span]
    """The timeline of the tree, by task and time."""
    requests: list[Asked]
    """The requests of the tree that wait for an answer, oldest first."""
    cost: Used
    """The usage of the whole tree."""
    unpriced: str
    """The loss of its budget of money besides, for requests that have no price, in words; empty for none."""
    is_whole: bool
    """False if `near` has left out what tasks further away do, and their spans."""
    left: str
    """The rest of the budgets of its start, as at the newest charge, in words; empty where nothing limits it."""
    own_left: str
    """The rest of budgets of the task itself where less is left of them, in words; else empty."""
    now_ms: int
    """The time of the answer."""


class TranscriptPage(TypedDict):
    """`GET /api/tasks/{id}/transcript`."""

    entries: list[Entry]
    """Those that are new or have changed after `after`, in the order of their places."""
    next: int
    """The number to ask after the next time."""


class CostLine(TypedDict):
    """The usage of the tasks with one profile, model, day or session."""

    name: str
    """The profile, model, day (`YYYY-MM-DD`) or session."""
    tasks: int
    """The number of tasks."""
    used: Used
    """The usage of them."""


class CostPage(TypedDict):
    """`GET /api/cost`."""

    by: str
    """profile, model, day or session."""
    rows: list[CostLine]
    """The highest cost first; days in order."""
    tasks: int
    """The number of all tasks."""
    all: Used
    """The sum."""


class RowsChanged(TypedDict):
    """The data of the stream's event `tasks`."""

    tasks: list[Row]
    """The rows that are new or have changed, newest first; all filters are the page's."""
    counts: Counts
    """All kept tasks by status."""
    now_ms: int
    """The time of the event."""


class TasksGone(TypedDict):
    """The data of the stream's event `gone`."""

    ids: list[str]
    """The tasks that are kept no more."""


class TreeChanged(TypedDict):
    """The data of the stream's event `tree`: ask for the task and its transcript again."""

    id: str
    """The task that the stream was opened for."""


class Done(TypedDict):
    """The answer to a cancel, a follow-up, or an answer."""

    message: str
    """The outcome, in one sentence."""
    task: str
    """The task that goes on: a follow-up to a settled one starts another."""


class Fault(TypedDict):
    """The reason of a refusal."""

    code: str
    """The code, such as `unknown_task_id`."""
    message: str
    """The fact, and the way out."""


class Refused(TypedDict):
    """Each answer with a status from 400 on."""

    error: Fault
    """The fault."""


class ExportData(TypedDict):
    """The data of an exported page, in its element `ohm-data`; a page that has it asks no server."""

    exported_ms: int
    """The time of the export."""
    picture: TaskPicture
    """The task with its tree."""
    transcripts: dict[str, list[Entry]]
    """The transcript of each task of the tree, by id."""
    costs: dict[str, CostPage]
    """The usage of the tree by profile and by model."""


class Hello(TypedDict):
    """The data of the stream's first event `hello`."""

    server: str
    """The name of this run of the server: another one, and everything has to be asked for again."""
    now_ms: int
    """The time of the event."""


class Told(TypedDict):
    """The data of the stream's event `told`: what came of a follow-up later."""

    message: str
    """The fact, in one sentence."""
    task: str
    """The task that it is about."""
