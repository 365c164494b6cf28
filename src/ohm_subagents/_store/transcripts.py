"""The streaming side of the writer: every task's transcript, and what is behind because the disk was."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ohm_subagents._store.owner import HEARTBEAT_S
from ohm_subagents._store.transcript import STREAMED, lines, state_line
from ohm_subagents.contract.events import TaskQueued

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ohm_subagents._store.files import TaskFiles
    from ohm_subagents._store.transcript import Stamped
    from ohm_subagents._store.writer_queue import Batch
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task


class Transcripts:
    """Appends to them, in the thread of the writer.

    `failed` gets the reason when a file cannot be written now; the task is then behind, and one line with all that it
    streamed makes it good as soon as a file can be written. `dropped` gets the task of what can never be written.
    """

    def __init__(
        self,
        files: TaskFiles,
        *,
        failed: Callable[[OSError], None],
        dropped: Callable[[TaskId, Exception], None],
        seam: Callable[[str], None],
    ) -> None:
        self._files = files
        self._failed = failed
        self._dropped = dropped
        self._seam = seam
        self._untouched: set[TaskId] = set()
        self._behind: dict[TaskId, Task] = {}
        self._failed_s: float | None = None
        self._lost: set[TaskId] = set()

    @property
    def is_behind(self) -> bool:
        """Whether something was streamed that is in no file."""
        return bool(self._behind)

    def write(self, batch: Batch) -> None:
        """What the batch brought, and what is behind: at once if somebody waits, else with the next heartbeat."""
        streamed: dict[TaskId, list[Stamped]] = {}
        newest: dict[TaskId, Task] = {}
        begun: set[TaskId] = set()
        for task, event in batch.saved:
            newest[task.id] = task
            streamed.setdefault(task.id, []).append((task.updated_ms, event))
            if type(event) in STREAMED:
                begun.add(task.id)
            elif isinstance(event, TaskQueued):
                self._untouched.add(task.id)
        self._behind |= {task_id: task for task_id, task in newest.items() if task_id in self._behind}
        self._behind |= batch.behind
        for task_id, stamped in streamed.items():
            if task_id not in self._behind and (task_id in begun or task_id not in self._untouched):
                self._append(newest[task_id], self._lines(task_id, stamped))
        if self._failed_s is None or batch.waiting or time.monotonic() - self._failed_s >= HEARTBEAT_S:
            self._catch_up()
        for task_id, task in newest.items():
            if task.is_terminal and task_id not in self._behind:
                self._files.close(task_id)
                self._untouched.discard(task_id)

    def lose(self, task_ids: Iterable[TaskId]) -> None:
        """They are somebody else's: nothing more is written of them."""
        self._lost.update(task_ids)
        self.forget(task_ids)

    def forget(self, task_ids: Iterable[TaskId]) -> None:
        """They are gone."""
        for task_id in task_ids:
            self._behind.pop(task_id, None)

    def _lines(self, task_id: TaskId, stamped: Sequence[Stamped]) -> bytes:
        try:
            return lines(stamped)
        except Exception as exc:  # noqa: BLE001  a backend's event may hold anything; it costs itself only
            self._dropped(task_id, exc)
            return b"".join(self._line(each) for each in stamped)

    @staticmethod
    def _line(stamped: Stamped) -> bytes:
        try:
            return lines((stamped,))
        except Exception:  # noqa: BLE001  told by whom it broke first
            return b""

    def _catch_up(self) -> None:
        for task_id, task in tuple(self._behind.items()):
            try:
                line = state_line(task)
            except Exception as exc:  # noqa: BLE001  as above
                self._dropped(task_id, exc)
                del self._behind[task_id]
            else:
                self._append(task, line)

    def _append(self, task: Task, content: bytes) -> None:
        if not content or task.id in self._lost:
            self._behind.pop(task.id, None)
            return
        try:
            self._seam("before transcript")
            self._files.append(task.id, content, is_new=task.id in self._untouched)
        except OSError as exc:
            self._behind[task.id] = task
            self._failed_s = time.monotonic()
            self._failed(exc)
        else:
            self._untouched.discard(task.id)
            self._behind.pop(task.id, None)
            self._failed_s = None
        self._seam("after transcript")
