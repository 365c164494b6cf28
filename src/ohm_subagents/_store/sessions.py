"""The tasks of a session, as suites read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from ohm_subagents._plugins.suites.interface import SessionTask

if TYPE_CHECKING:
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.ids import SessionId


async def session_tasks(store: Store, session_id: SessionId) -> tuple[SessionTask, ...]:
    """Return the stored tasks of a session, oldest first; none if it is unknown."""
    await checkpoint()
    tasks = store.session(session_id)
    return tuple([SessionTask(task=task, history=await store.history(task)) for task in tasks])
