"""Nothing in the corpus drives a terminal, whichever view shows it, and nothing beside it is lost."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from itertools import groupby
from operator import attrgetter

import pytest
from harmful_texts import DRIVING, harmful_texts
from made_tasks import queued_task

from ohm_subagents.commands import print_prose
from ohm_subagents.contract import (
    AnswerAwaited,
    Diagnostic,
    DiagnosticRaised,
    Failed,
    GuardTripped,
    ListedTask,
    OhmError,
    Recorded,
    Request,
    RequestHeld,
    RunEnded,
    RunStarted,
    Succeeded,
    Task,
    TaskId,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    apply,
)
from ohm_subagents.views import (
    PLAIN,
    FleetRow,
    LiveTask,
    brief_lines,
    cells,
    fleet_lines,
    screen_lines,
    task_block,
    task_fact_lines,
    task_line,
    task_list_lines,
    transcript_lines,
)

SHORT = {kind: [one.text for one in texts] for kind, texts in groupby(harmful_texts(), attrgetter("kind"))}
WHOLE = [pytest.param(one.text, id=one.name) for one in harmful_texts(most=None) if one.kind == "size"]
COLOURS = re.compile("\x1b\\[[0-9;]*m")
NAME = 300
"""The most characters of a name, as the system has it."""


class Terminal(io.StringIO):
    """Standard output that says of itself that it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def history(said: str) -> list[Recorded]:
    """The record of a task whose model, tools and files bring such texts."""
    name = said[:NAME]
    request = Request(
        id=name,
        task_id=TaskId("task_1"),
        session_id="s",
        path=("task_1",),
        profile=name,
        tool=name,
        arguments=json.dumps({"command": said}),
        reason=name,
        question=said,
    )
    events = [
        RunStarted(prompt=said),
        ThinkingDelta(text=said),
        TextDelta(text=said),
        ToolStarted(call_id="1", tool=name, args=said),
        ToolUpdated(call_id="1", tool=name, text=said),
        ToolEnded(call_id="1", tool=name, status="error", text=said),
        ToolStarted(call_id="2", tool="read", args=json.dumps({"path": said})),
        ToolEnded(call_id="2", tool="read", status="success", text=said),
        ToolStarted(call_id="3", tool="edit", args=json.dumps({"path": name, "oldText": "a", "newText": said})),
        ToolStarted(call_id="4", tool="bash", args=json.dumps({"command": said})),
        ToolUpdated(call_id="4", tool="bash", text=said),
        GuardTripped(guard="loop", step="warn", message=said),
        DiagnosticRaised(diagnostic=Diagnostic(subject=name, message=said, advice=said)),
        AnswerAwaited(request=request),
    ]
    return [Recorded(at_ms=1_000 * at, event=event) for at, event in enumerate(events, 1)]


def states(said: str) -> list[tuple[Task, list[Recorded]]]:
    """The same task at work, after it has failed, and after it has succeeded, with what was recorded until then."""
    name = said[:NAME]
    error = OhmError(code="task_backend_execution_failed", message=said, advice=said)
    endings = ([], [Failed(error=error)], [Succeeded()])
    made = []
    for ending in endings:
        done = [
            one for outcome in ending for one in (RunEnded(outcome=outcome, output=said), TaskSettled(outcome=outcome))
        ]
        told = [*history(said), *(Recorded(at_ms=20_000, event=event) for event in done)]
        task = queued_task("task_1", profile=name, name=name, description=name, prompt=said, backend=name)
        for each in told:
            task = apply(task, each.event, at_ms=each.at_ms)
        made.append((task, told))
    return made


def drawn(task: Task, told: list[Recorded], width: int) -> list[str]:
    """Each view of a task that has a width."""
    name, size = task.assignment.name, {"now_ms": 30_000, "width": width}
    live = LiveTask(task, thinking=name)
    begun = apply(queued_task("task_2"), RunStarted(prompt=name), at_ms=1)
    other = live._replace(task=apply(begun, RequestHeld(provider=name, why="slots"), at_ms=2))
    return [
        *task_block(live, height=24, theme=PLAIN, **size),
        *brief_lines([live], theme=PLAIN, **size),
        *screen_lines([live, other], height=24, theme=PLAIN, **size),
        *fleet_lines([FleetRow(ListedTask.of(task), name)], sort="time", height=10, theme=PLAIN, **size),
        *task_list_lines(ListedTask.of(task), where=name, theme=PLAIN, **size),
        task_line(task, **size),
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", SHORT)
def test_every_view_that_has_a_width_is_harmless_and_fits(kind: str) -> None:
    for harmful in SHORT[kind]:
        for task, told in states(f"before {harmful} and after"):
            for width in (60, 120):
                for line in drawn(task, told, width):
                    assert (DRIVING.search(line), "\n" in line) == (None, False), ascii(line[:200])
                    assert cells(line) <= width, ascii(line)


@pytest.mark.parametrize("kind", SHORT)
def test_every_view_that_has_none_is_harmless_and_whole(kind: str) -> None:
    for harmful in SHORT[kind]:
        for task, told in states(f"before {harmful} and after"):
            transcript = "\n".join(transcript_lines(task, told))
            facts = "\n".join(task_fact_lines(task, now_ms=30_000, where=task.assignment.name))
            assert DRIVING.search(transcript + facts) is None, ascii(harmful[:200])
            assert transcript.count("after") >= len(told) // 2, ascii(harmful[:200])


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", SHORT)
@pytest.mark.parametrize(
    "form", ["{}", "# Title\n\n{}\n", "- {}\n", "`{}`", "```html\n{}\n```", "| a |\n|---|\n| {} |"]
)
def test_what_is_printed_is_harmless_and_whole(kind: str, form: str) -> None:
    for harmful in SHORT[kind]:
        text = form.format(f"before {harmful} and after") + "\n\nThe end.\n"
        for stream in (io.StringIO(), Terminal()):
            with redirect_stdout(stream):
                print_prose(text)
            shown = stream.getvalue()
            assert DRIVING.search(COLOURS.sub("", shown)) is None, ascii(shown[:500])
            assert all(word in shown for word in ("before", "after", "The end.")), ascii(shown[:500])


@pytest.mark.slow
@pytest.mark.parametrize("harmful", WHOLE)
def test_ten_megabytes_are_as_harmless(harmful: str) -> None:
    task, told = states(f"before {harmful} and after")[0]
    assert all(cells(line) <= 80 and DRIVING.search(line) is None for line in drawn(task, told, 80))
    shown = Terminal()
    with redirect_stdout(shown):
        print_prose(harmful)
    assert DRIVING.search(shown.getvalue()) is None
