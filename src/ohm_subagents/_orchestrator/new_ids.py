"""Ids of new tasks, each given once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.errors import OhmError


def trusted(ids: Callable[[], TaskId]) -> Callable[[], Result[TaskId, OhmError]]:
    """Take the ids of our own counter as they come: with a clock that runs, it gives none twice."""
    return lambda: Ok(ids())


def not_kept(ids: Callable[[], str], store: Store) -> Callable[[], Result[TaskId, OhmError]]:
    """Refuse an id that a kept task has: a generator, or a clock, that was passed in may repeat itself."""

    def new_id() -> Result[TaskId, OhmError]:
        task_id = TaskId(ids())
        return Err(refusals.duplicate(task_id)) if isinstance(store.get(task_id), Ok) else Ok(task_id)

    return new_id
