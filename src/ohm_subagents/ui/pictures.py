"""The answers to what a page asks: lists, trees with their timelines, transcripts and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

from ohm_subagents.contract import Err, ErrorCode, OhmError, Ok
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.usage import NOTHING_USED
from ohm_subagents.store import TaskQuery
from ohm_subagents.ui.answers import CostLine, CostPage, ExportData, RowsChanged, TaskPage, TaskPicture, TranscriptPage
from ohm_subagents.ui.readings import Readings
from ohm_subagents.ui.registry import Registry, counts_of
from ohm_subagents.ui.rows import asked_of, detail_of, own_left_of, row_of, used_by, used_of, work_of
from ohm_subagents.ui.shapes import TreeRow, Work
from ohm_subagents.ui.words import waited_words
from ohm_subagents.views import account_now, cost_rows, one_line, queued_text, remaining_text, unpriced_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ohm_subagents.contract import ListedTask, Result
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.store import Store
    from ohm_subagents.ui.filters import Filters
    from ohm_subagents.ui.readings import Reading
    from ohm_subagents.ui.shapes import Asked, Entry, Row
    from ohm_subagents.views import Concern, CostKey

_MOST_ENDED: Final = 10_000
"""So many settled tasks are remembered with their ends: as many as a store keeps, and each is a line."""
_UNREAD: Final = Work(
    asks=0, error="", last="", progress_ms=None, continues=None, follow_up="", waits_below=False, is_stuck=False
)
_OLD_MS: Final = 10_000
"""A page hears of progress so much later at the most, and takes no task for stuck that is not."""
NOTHING_KEPT: Final = "nothing: subagents.store is memory, and tasks are gone with their process"


class Pictures:
    """Views of a store. They read, and change nothing."""

    def __init__(self, store: Store, clock: Clock, *, resumes: bool = False) -> None:
        """Look at a store; `clock` gives the time of an answer. `resumes`: a settled task takes follow-ups too."""
        self._resumes = resumes
        self.registry = Registry(store)
        self.readings = Readings(store)
        self.now = clock
        self._store = store
        self._seen: dict[TaskId, tuple[object, ...]] = {}
        self._queue: tuple[int, dict[TaskId, tuple[int, int]]] = -1, {}
        self._ended: dict[TaskId, Work] = {}

    async def look(self) -> None:
        """Read what is new, and how the tasks that run get on."""
        self.registry.refresh()
        running = [task for task in self.registry.unsettled if task.status == "running"]
        seen = {task_id: _seen(work) for task_id, work in (await self._works(running)).items()}
        for task_id, work in seen.items():
            if work != self._seen.get(task_id):
                self.registry.touch(task_id)
        self._seen = seen

    async def page(self, filters: Filters, *, offset: int, limit: int) -> TaskPage:
        """Return a part of the list."""
        self.registry.refresh()
        works = await self._works(self.registry.unsettled)
        chosen, counts = self.registry.chosen(filters, _concerns_of(works))
        return TaskPage(
            total=len(chosen),
            kept=self.registry.kept,
            tasks=await self._rows(chosen[offset : offset + limit], works),
            counts=counts,
            profiles=[one_line(profile) for profile in self.registry.profiles],
            used=used_by(chosen),
            place=one_line(self._store.place or NOTHING_KEPT),
            now_ms=self.now(),
        )

    async def changes(self, version: int) -> RowsChanged | None:
        """Return the rows that have changed after a version; None for none."""
        changed = self.registry.changed_after(version)
        if not changed:
            return None
        works = await self._works(self.registry.unsettled)
        counts = self.registry.counts(_concerns_of(works))
        return RowsChanged(tasks=await self._rows(changed, works), counts=counts, now_ms=self.now())

    async def _rows(self, tasks: Iterable[ListedTask], works: Mapping[TaskId, Work]) -> list[Row]:
        return [self._row_with(task, works.get(task.id) or await self._work(task)) for task in tasks]

    async def _works(self, tasks: Iterable[ListedTask]) -> dict[TaskId, Work]:
        """Return how tasks get on; one that waits for tasks of its own tells how these do."""
        return self._waiting({task.id: await self._work(task) for task in tasks})

    def _waiting(self, works: dict[TaskId, Work]) -> dict[TaskId, Work]:
        concerns = _concerns_of(works)
        for task_id, work in works.items():
            if work["waits_below"]:
                work["last"] = waited_words(self.registry.children(task_id), concerns)
        return works

    async def _work(self, listed: ListedTask) -> Work:
        """Return how a task gets on; of a settled one its end, which is read once and without its events."""
        if listed.is_terminal:
            if (known := self._ended.get(listed.id)) is None:
                known = self._end(listed.id)
                await checkpoint()  # a hundred of them take a while, in which others are answered
            return known
        (read,) = await self.readings.of(listed)
        return self._work_of(read.ok_value) if isinstance(read, Ok) else _UNREAD

    def _work_of(self, reading: Reading) -> Work:
        children = self.registry.children(reading.task.id)
        work = work_of(reading.task, reading.timeline, children, now_ms=self.now())
        if place := self._places().get(reading.task.id):
            work["last"] = queued_text(*place)
        return work

    def _places(self) -> dict[TaskId, tuple[int, int]]:
        """Return the places of queued tasks, which are looked for once for each version."""
        version = self.registry.version
        if self._queue[0] != version:
            self._queue = version, self.registry.queue()
        return self._queue[1]

    def _end(self, task_id: TaskId) -> Work:
        found = self._store.get(task_id)
        if isinstance(found, Err):
            return _UNREAD
        self._ended[task_id] = work_of(found.ok_value, None, (), now_ms=self.now())
        for oldest in [*self._ended][:-_MOST_ENDED]:
            del self._ended[oldest]
        return self._ended[task_id]

    async def newest_changes(self, task_id: str) -> list[tuple[str, str, int]]:
        """Return how far each task of a tree has come, to be compared with what it was before."""
        tree = [task for task, _ in self.registry.tree(task_id)]
        progress = await self.readings.progress(*tree)
        return [(task.id, task.status, far) for task, far in zip(tree, progress, strict=True)]

    def _row_with(self, task: ListedTask, work: Work) -> Row:
        where = "" if task.is_terminal else one_line(self._store.owner(task.id))
        depth, below = self.registry.depth(task.id), self.registry.below(task.id)
        open_below = self.registry.open_below(task.id)
        return row_of(task, work, now_ms=self.now(), depth=depth, below=below, open_below=open_below, where=where)

    async def picture(self, task_id: str, *, near: int = 0) -> Result[TaskPicture, OhmError]:
        """Return a task with the tree and the timeline of its start.

        With `near`, only so many tasks around it are read: more are not in sight, and reading 200 takes a while.
        """
        self.registry.refresh()
        listed, tree = self.registry.get(task_id), self.registry.tree(task_id)
        root, in_order = self.registry.root(task_id), [each for each, _ in tree]
        near_it = in_order[_around(task_id, in_order, near)]
        read = dict(zip((each.id for each in near_it), await self.readings.of(*near_it), strict=True))
        readings = {each: found.ok_value for each, found in read.items() if isinstance(found, Ok)}
        if listed is None or root is None or (chosen := readings.get(listed.id)) is None:
            return Err(self._unknown(task_id))
        shown = [each for each in in_order if each.id in readings or each.id not in read]
        works = self._waiting({task_id: self._work_of(reading) for task_id, reading in readings.items()})
        rows = [self._tree_row(each, works.get(each.id, _UNREAD)) for each in shown]
        asked = [each for reading in readings.values() for each in _asked_of(reading)]
        concerns = _concerns_of({each.id: row for each, row in zip(shown, rows, strict=True)})
        return Ok(
            TaskPicture(
                task=detail_of(
                    self._row_with(listed, works[listed.id]),
                    chosen.task,
                    origin=self.registry.get(chosen.task.assignment.resumed_from or ""),
                    now_ms=self.now(),
                    can_send=self._resumes or not chosen.task.is_terminal,
                ),
                tree=rows,
                counts=counts_of(in_order, concerns),
                spans=[span for reading in readings.values() for span in reading.timeline.spans],
                requests=sorted(asked, key=lambda one: one["asked_ms"]),
                cost=used_by(in_order),
                is_whole=len(near_it) == len(tree),
                unpriced="" if (read_root := readings.get(root.id)) is None else unpriced_text(read_root.task),
                left=await self._left(root),
                own_left=own_left_of(listed, root, now_ms=self.now()),
                now_ms=self.now(),
            )
        )

    async def _left(self, root: ListedTask) -> str:
        """Write what is left now of the budgets of a task that goes on, of which others of its start may have spent."""
        if root.is_terminal:
            return ""
        (read,) = await self.readings.of(root)
        if isinstance(read, Err):
            return ""
        found = () if root.start is None else self._store.list(TaskQuery(start=root.start))
        together = [one.ok_value for one in found if isinstance(one, Ok)]
        return remaining_text(account_now(read.ok_value.task, together=together), at_ms=self.now())

    def _tree_row(self, listed: ListedTask, work: Work) -> TreeRow:
        row = self._row_with(listed, work)
        return TreeRow(**row, children=len(self.registry.children(listed.id)))

    async def transcript(self, task_id: str, after: int) -> Result[TranscriptPage, OhmError]:
        """Return the entries of a task that are new or have changed after a number."""
        self.registry.refresh()
        listed = self.registry.get(task_id)
        if listed is None:
            return Err(self._unknown(task_id))
        (read,) = await self.readings.of(listed)
        if isinstance(read, Err):
            return read
        entries = read.ok_value.entries
        return Ok(TranscriptPage(entries=entries.after(after), next=entries.newest))

    def cost(self, by: CostKey) -> CostPage:
        """Return what all kept tasks have used."""
        self.registry.refresh()
        tasks = self.registry.changed_after(-1)
        return _cost_page(tasks, by)

    async def export(self, task_id: str) -> Result[ExportData, OhmError]:
        """Return all that a page needs to show a task with its tree and asks no server for."""
        pictured = await self.picture(task_id)
        if isinstance(pictured, Err):
            return pictured
        picture = pictured.ok_value
        task = picture["task"]
        task["can_cancel"] = task["can_land"] = task["can_send"] = False
        transcripts: dict[str, list[Entry]] = {}
        tasks = [listed for listed, _ in self.registry.tree(task_id)]
        for listed in tasks:
            told = await self.transcript(listed.id, 0)
            transcripts[listed.id] = told.ok_value["entries"] if isinstance(told, Ok) else []
        return Ok(
            ExportData(
                exported_ms=self.now(),
                picture=picture,
                transcripts=transcripts,
                costs={"profile": _cost_page(tasks, "profile"), "model": _cost_page(tasks, "model")},
            )
        )

    def _unknown(self, task_id: str) -> OhmError:
        """Return why there is no such task, in the words of the store."""
        found = self._store.get(TaskId(task_id))
        if isinstance(found, Err):
            return found.err_value
        message = f"Task '{task_id}' cannot be read."
        return OhmError(code=ErrorCode.UNKNOWN_TASK_ID, message=message, advice="Ask again.")


def _around(task_id: str, tasks: Sequence[ListedTask], most: int) -> slice:
    """Return where a task is, with others around it, so many in all; 0 is all of them."""
    if not 0 < most < len(tasks):
        return slice(None)
    place = next(at for at, task in enumerate(tasks) if task.id == task_id)
    first = max(0, min(place - most // 2, len(tasks) - most))
    return slice(first, first + most)


def _asked_of(reading: Reading) -> list[Asked]:
    cwd = "" if reading.task.launch is None else reading.task.launch.cwd
    return [asked_of(request, cwd=cwd) for request in reading.task.requests]


def _concerns_of(works: Mapping[TaskId, Work]) -> dict[TaskId, Concern]:
    """Return what is amiss with tasks, of those with which something is."""
    found: dict[TaskId, Concern] = {}
    for task_id, work in works.items():
        if work["asks"] or work["is_stuck"]:
            found[task_id] = "asking" if work["asks"] else "stuck"
    return found


def _seen(work: Work) -> tuple[object, ...]:
    """Return what has to change for a page to be told of it."""
    return work["asks"], work["last"], work["is_stuck"], (work["progress_ms"] or 0) // _OLD_MS


def _cost_page(tasks: Sequence[ListedTask], by: CostKey) -> CostPage:
    rows = cost_rows(tasks, by)
    return CostPage(
        by=by,
        rows=[CostLine(name=one_line(row.name), tasks=row.tasks, used=used_of(row.usage)) for row in rows],
        tasks=len(tasks),
        all=used_of(sum((row.usage for row in rows), NOTHING_USED)),
    )
