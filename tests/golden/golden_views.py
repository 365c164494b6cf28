"""The recorded lines of the status line, the widget, the short forms of a task and the collapsed preview."""

import json
import re

from golden_differences import same
from golden_recording import Json
from made_tasks import with_fields

from ohm_subagents._views.status import elapsed_text, status_line, task_line, task_lines, widget_lines
from ohm_subagents.contract import OpenCall, Task, Usage
from ohm_subagents.plugin import ToolResult
from ohm_subagents.stores.snapshot.reading import parsed

COUNTS = re.compile(
    r"subagents (?:(\d+) running · tools (\d+) active|idle) · done (\d+) · failed (\d+) · cancelled (\d+)"
)


def presentation(vector: Json) -> None:
    tasks = [_task(snapshot) for snapshot in vector["snapshots"]]
    options = {"now_ms": vector["now"], "max_tasks": vector.get("maxItems", 5), "width": vector.get("maxWidth", 100)}
    drawn = {
        "status_line": status_line(tasks),
        "widget_lines": widget_lines(tasks, compact=False, **options),
        "compact_widget_lines": widget_lines(tasks, compact=True, **options),
    }
    same(vector["expect"], drawn | _counted(drawn["status_line"]) | _plain(drawn["widget_lines"]))


def _counted(line: str) -> Json:
    """The numbers of the status line, which is where ours are."""
    found = COUNTS.fullmatch(line)
    assert found, line
    running, tools, done, failed, cancelled = (int(number or 0) for number in found.groups())
    return {
        "has_active": running > 0,
        "running": running,
        "active_tools": tools,
        "completed": done,
        "failed": failed,
        "cancelled": cancelled,
    }


def _plain(lines: list[str]) -> Json:
    """The reference's text without a screen is the lines of its widget; of none it says so."""
    return {"plain_text": "\n".join(lines) or "No task activity"}


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
    """A record of the reference, with its events and output; what it calls tool calls are runs (Q44), not so here."""
    open_calls = snapshot["activeToolCalls"]
    kept = {key: value for key, value in snapshot.items() if key not in RECORD}
    error = {"lastErrorMessage": "x"} if snapshot["state"] == "failed" else {}
    entry = {"record": error | {key: snapshot[key] for key in RECORD if key in snapshot}, **kept}
    text = json.dumps({"schemaVersion": 1, "entries": [entry]})
    contents = parsed(text, name_of=str.capitalize, max_events=120)
    assert contents.lost == ()
    (task,) = contents.tasks
    return with_fields(
        task,
        started_ms=None if task.status == "queued" else task.assignment.created_ms,
        open_calls=tuple(OpenCall(call_id=str(n), tool="read") for n in range(open_calls)),
        usage=Usage(tool_calls=snapshot["totalToolCalls"]),
    )


RECORD = (
    *("id", "subagentType", "description", "prompt", "state", "totalToolCalls", "activeToolCalls"),
    *("startedAtEpochMs", "updatedAtEpochMs", "endedAtEpochMs", "lastErrorCode", "lastErrorMessage"),
)
