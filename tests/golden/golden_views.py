"""The recorded lines of the status line, the widget, the short forms of a task and the collapsed preview."""

from golden_differences import same
from golden_recording import Json

from ohm_subagents._views.status import elapsed_text, status_line, task_line, task_lines
from ohm_subagents._views.widget import widget_lines
from ohm_subagents.contract import OpenCall, Route, SessionId, Task, TaskId, Usage
from ohm_subagents.plugin import ToolResult


def presentation(vector: Json) -> None:
    tasks = [_task(snapshot) for snapshot in vector["snapshots"]]
    options = {"now_ms": vector["now"], "max_tasks": vector.get("maxItems", 5), "width": vector.get("maxWidth", 100)}
    drawn = {
        "status_line": status_line(tasks),
        "widget_lines": widget_lines(tasks, compact=False, **options),
        "compact_widget_lines": widget_lines(tasks, compact=True, **options),
    }
    same({name: vector["expect"][name] for name in drawn}, drawn)


def snapshot_lines(vector: Json) -> None:
    task = _task(vector["snapshot"])
    options = {"now_ms": vector["now"], "width": vector.get("max_width", 100)}
    same(vector["expect"], {"two_line": list(task_lines(task, **options)), "compact": task_line(task, **options)})


def elapsed(vector: Json) -> None:
    same(vector["expect"], elapsed_text(vector["ms"]))


def collapsed_component(vector: Json) -> None:
    result = ToolResult(text=vector["text"], details={}, preview_max_lines=vector["max_visual_lines"])
    same("\n".join(vector["expect"]), result.preview(width=vector["width"]))


def _task(snapshot: Json) -> Task:
    """A record of the reference; what it calls tool calls are runs (Q44), here they are what the name says."""
    open_calls = snapshot["activeToolCalls"]
    return Task(
        id=TaskId(snapshot["id"]),
        session_id=SessionId("session_1"),
        profile=snapshot["subagentType"],
        name="Finder",
        description=snapshot["description"],
        prompt=snapshot["prompt"],
        invocation="task-routed",
        backend="b",
        route=Route(runtime="b", route="b"),
        created_ms=snapshot["startedAtEpochMs"],
        started_ms=None if snapshot["state"] == "queued" else snapshot["startedAtEpochMs"],
        updated_ms=snapshot["updatedAtEpochMs"],
        ended_ms=snapshot.get("endedAtEpochMs"),
        status=snapshot["state"],
        summary=snapshot["summary"],
        open_calls=tuple(OpenCall(call_id=str(n), tool="read") for n in range(open_calls)),
        usage=Usage(tool_calls=snapshot["totalToolCalls"] - open_calls),
    )
