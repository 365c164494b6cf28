"""Read the kept tasks, without a model, a suite or a plugin of tools."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeAlias

from ohm_subagents.commands import directory, find_task, finish, system_clock, with_store
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.store import TaskQuery, event_to_json
from ohm_subagents.views import CONCERNS, account_now, concern_of, patient_tasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import Account, ListedTask, OhmError, Recorded, Result, Task
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.store import Store
    from ohm_subagents.views import Concern

STUCK: Final = (
    "What is stuck has made no progress for 30s or more; a long call may only be slow. 'ohm task <id>' shows what it "
    "did, 'ohm cancel <id>' stops it, and 'ohm send <id> \"…\"' tells it something once the call that it is in "
    "has ended."
)
Show: TypeAlias = "Callable[[Store, OhmConfig], Awaitable[int]]"


def read(show: Show, *, cwd: Path, config: Path | None, as_json: bool = False) -> NoReturn:
    """Open the store of a directory as typed, and leave with the exit code of `show`.

    Leave with 2 if the directory or the configuration cannot be read, with 1 if the store cannot.
    """
    finish(partial(with_store, show, directory(cwd, as_json=as_json), config))


def owner_of(task: Task | ListedTask, store: Store) -> str:
    """Return who runs a task, for people; empty for a settled one."""
    return "" if task.is_terminal else store.owner(task.id)


class Below(NamedTuple):
    """The tree of a task that was typed, or that of any."""

    typed: str | None = None
    """A task as typed: only it and those below it; None for any."""
    file: Path | None = None
    """The ohm.json of `--config`."""

    def ids(self, store: Store, config: OhmConfig, *, as_json: bool) -> frozenset[TaskId] | int | None:
        """Return the ids of its tasks, and None for any; or say why there is no such task, and return a code."""
        if self.typed is None:
            return None
        found = find_task(self.typed, store, config, op="status", file=self.file, as_json=as_json)
        if isinstance(found, int):
            return found
        ids, above = {found.id}, [found.id]
        while above:
            children = store.list(TaskQuery(parent=above.pop()))
            new = {one.ok_value.id for one in children if isinstance(one, Ok)} - ids
            ids |= new
            above += new
        return frozenset(ids)


ANY: Final = Below()


def listed(
    query: TaskQuery, store: Store, among: frozenset[TaskId] | None = None
) -> Iterator[Result[ListedTask, OhmError]]:
    """Yield the tasks that a query chooses, `among` these, newest first; its status may also be one of `CONCERNS`."""
    for found in _matching(query, store):
        if among is None or (isinstance(found, Ok) and found.ok_value.id in among):
            yield found


def _matching(query: TaskQuery, store: Store) -> Iterator[Result[ListedTask, OhmError]]:
    if query.status not in CONCERNS:
        yield from store.list(query)
        return
    concerns = concerns_in(store)
    for found in store.list(replace(query, status="running")):
        if isinstance(found, Err) or concerns.get(found.ok_value.id) == query.status:
            yield found


def concerns_in(store: Store) -> dict[TaskId, Concern]:
    """Return what is amiss with the tasks that run."""
    asked = [store.list(TaskQuery(status=status)) for status in ("running", "queued")]
    unsettled = [one.ok_value for found in asked for one in found if isinstance(one, Ok)]
    patient = patient_tasks(unsettled)
    concerns: dict[TaskId, Concern] = {}
    for found in (store.get(task.id) for task in unsettled if task.status == "running"):
        if isinstance(found, Ok):
            task = found.ok_value
            concern = concern_of(task, now_ms=system_clock(), is_patient=task.id in patient)
            concerns |= {task.id: concern} if concern else {}
    return concerns


class Accounts:
    """Reads what is left now of the budgets of tasks at work: others that share them have spent of them since."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._starts: dict[str, list[ListedTask]] = {}

    def of(self, task: Task) -> Account | None:
        """Return the account of a task; of one that has settled as it was at its end."""
        account, shares, parent = task.activity.account, task.assignment.shares, task.assignment.parent
        if account is None or account.remaining is None or task.is_terminal:
            return account
        above = Err(None) if parent is None else self._store.get(parent)
        return account_now(
            task,
            parent=self.of(above.ok_value) if isinstance(above, Ok) else None,
            together=() if shares is None else self._started(shares.id),
        )

    def _started(self, start: str) -> list[ListedTask]:
        if start not in self._starts:
            found = self._store.list(TaskQuery(start=start))
            self._starts[start] = [one.ok_value for one in found if isinstance(one, Ok)]
        return self._starts[start]


def event_fields(recorded: Recorded) -> dict[str, JsonValue]:
    """Return an event as it is printed: its time, its kind, then its fields."""
    written = event_to_json(recorded.event)
    fields = {name: value for name, value in written.items() if name not in {"version", "kind"}}
    return {"at_ms": recorded.at_ms, "kind": written["kind"], **fields}
