"""The records of new tasks: of admitted items, of refused ones, and of those that continue another."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.activity import Activity, maker
from ohm_subagents.contract.ids import SessionId
from ohm_subagents.contract.result import Ok
from ohm_subagents.contract.task import UNAVAILABLE, Assignment, Route, Task

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.call_context import CallContext
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.commands import StartItem
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.replies import ItemRejected
    from ohm_subagents.contract.task import Run

MAX_INHERITED: Final = 50
"""The number of earlier runs that a continuing task knows; a checkpoint has all of them anyway."""


def refused_task(task_id: TaskId, refused: ItemRejected, now_ms: int) -> Task:
    """Return the task of a refused item, still without its error."""
    item = refused.item
    profile = refused.profile or item.profile_id
    return Task(
        id=task_id,
        session_id=_session_of(item, task_id),
        assignment=Assignment(
            profile=profile,
            name=profile,
            description=item.description.strip(),
            prompt=item.prompt.strip(),
            invocation=item.invocation,
            backend=UNAVAILABLE,
            created_ms=now_ms,
            cwd=None if item.overrides.cwd is None else str(item.overrides.cwd),
        ),
        activity=Activity(),
        route=Route(runtime=UNAVAILABLE, route=UNAVAILABLE),
        updated_ms=now_ms,
        summary=refused.error.message,
    )


def _session_of(item: StartItem, task_id: TaskId) -> SessionId:
    return SessionId(f"session_{task_id.removeprefix('task_')}") if item.session is None else item.session.id


_task, _assignment = maker(Task), maker(Assignment)


@lru_cache(maxsize=8)
def _no_activity(max_events: int) -> Activity:
    return Activity(max_events=max_events)


@lru_cache(maxsize=64)
def _unknown_route(label: str) -> Route:
    return Route(runtime=label, route=label)


def new_task(task_id: TaskId, admitted: Plan, now_ms: int, caller: CallContext) -> Task:
    """Return the task of an admitted item; the texts that it stores are trimmed."""
    item, profile = admitted.item, admitted.spec.profile
    return _task(
        id=task_id,
        session_id=_session_of(item, task_id),
        assignment=_assignment(
            profile=profile.id,
            name=profile.name,
            description=item.description.strip(),
            prompt=item.prompt.strip(),
            invocation=item.invocation,
            backend=admitted.label,
            created_ms=now_ms,
            parent=caller.task_id or caller.outside,
            call=caller.call,
            answer=None if profile.result_schema is None else "json",
            suite=profile.suite,
            unkept=admitted.unkept,
            outlives=admitted.can_attach,
            nonce=token_hex(4) if admitted.can_attach else None,
            shares=caller.shares,
            cwd=None if item.overrides.cwd is None else str(item.overrides.cwd),
        ),
        activity=_no_activity(admitted.max_events),
        route=_unknown_route(admitted.label),
        launch=admitted.launch,
        updated_ms=now_ms,
        summary=f"Queued {profile.name}: {item.description}",
    )


def newest_run(store: Store, item: StartItem) -> Task | None:
    """Return the newest stored task of the session that an item continues, if any has run."""
    if item.session is None or not item.session.resumes:
        return None
    ran = [task.id for task in store.session(item.session.id) if task.runs]
    found = store.get(ran[-1]) if ran else None
    return found.ok_value if isinstance(found, Ok) else None


def continuing(task: Task, former: Task) -> Task:
    """Return the new task in the session of `former`; the conversation state is kept on the same backend only."""
    state = former.activity.checkpoint if former.assignment.backend == task.assignment.backend else None
    return replace(
        task,
        session_id=former.session_id,
        assignment=replace(task.assignment, resumed_from=former.id, inherited=_known_runs(former)),
        activity=replace(task.activity, checkpoint=state),
    )


def _known_runs(former: Task) -> tuple[Run, ...]:
    """Return the runs that a continuation knows; of one that was cut off, the text that it streamed."""
    if not former.runs:
        return former.assignment.inherited
    *earlier, newest = former.runs
    if newest.output is None and former.text:
        newest = replace(newest, output=former.text)
    return (*former.assignment.inherited, *earlier, newest)[-MAX_INHERITED:]
