"""Tasks for tests, made and changed by the names of their fields, whichever of its records a field is in."""

from dataclasses import fields, replace

from ohm_subagents.contract import Activity, Assignment, Route, SessionId, Task, TaskId

_ASSIGNMENT = {field.name for field in fields(Assignment)}
_ACTIVITY = {field.name for field in fields(Activity)}


def queued_task(task_id="task_1", **values) -> Task:
    """A task that was admitted at `created_ms` and has not begun."""
    backend, created_ms = values.get("backend", "b"), values.get("created_ms", 0)
    task = Task(
        id=TaskId(task_id),
        session_id=SessionId("session_1"),
        assignment=Assignment(
            profile="finder",
            name="Finder",
            description="scan",
            prompt="look",
            invocation="task-routed",
            backend=backend,
            created_ms=created_ms,
        ),
        activity=Activity(),
        route=Route(runtime=backend, route=backend),
        updated_ms=created_ms,
        summary="Queued",
    )
    return with_fields(task, **values)


def with_fields(task: Task, **values) -> Task:
    """The task with other values."""
    own = {name: value for name, value in values.items() if name not in _ASSIGNMENT | _ACTIVITY}
    assigned = {name: value for name, value in values.items() if name in _ASSIGNMENT}
    reported = {name: value for name, value in values.items() if name in _ACTIVITY}
    return replace(
        task, assignment=replace(task.assignment, **assigned), activity=replace(task.activity, **reported), **own
    )
