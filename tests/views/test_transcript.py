from __future__ import annotations

import json
import re

from made_tasks import with_fields
from rich.text import Text

from ohm_subagents._terminal.theme import Ansi
from ohm_subagents._views.transcript import Transcript, transcript_lines
from ohm_subagents.contract import (
    AgentEnded,
    AnswerAwaited,
    Cancelled,
    Diagnostic,
    DiagnosticRaised,
    ErrorCode,
    Failed,
    FileChanged,
    FollowUpTaken,
    GuardTripped,
    OhmError,
    Recorded,
    Request,
    RunEnded,
    RunStarted,
    SessionId,
    Succeeded,
    TaskId,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)

ASKED = RunStarted(prompt="Where?\nSay it.")


def told(task, *events) -> list[str]:
    """The blocks after the heading."""
    history = [Recorded(at_ms=1_000 * at, event=e) for at, e in enumerate(events)]
    return "\n".join(transcript_lines(task, history)).split("\n\n")[1:]


def test_what_is_too_wide_goes_on_in_the_next_line_with_its_colours(succeeded) -> None:
    asked = RunStarted(prompt="Where is the login, and who calls it?")
    call = ToolStarted(call_id="1", tool="bash", args='{"command": "pytest -q tests/test_login.py --maxfail=1"}')
    ended = ToolEnded(call_id="1", tool="bash", status="error", text="The login is not where it was.")
    history = [Recorded(at_ms=1_000 * at, event=each) for at, each in enumerate((asked, call, ended))]
    narrow = [*transcript_lines(succeeded(), history, width=24)]
    assert max(map(len, narrow)) <= 24
    prompt = narrow[narrow.index("prompt · +0s") + 1 :]
    assert prompt[:4] == ["  Where is the login,", "    and who calls it?", "", "✕ bash pytest -q"]
    coloured = [*transcript_lines(succeeded(), history, width=24, theme=Ansi())]
    assert [Text.from_ansi(line).plain for line in coloured] == narrow
    assert " ".join(narrow).split() == " ".join(transcript_lines(succeeded(), history)).split()


def test_everything_is_told_in_order_with_its_time(succeeded) -> None:
    ending = (AgentEnded(), RunEnded(outcome=Succeeded(), output="In a.py."), TaskSettled(outcome=Succeeded()))
    blocks = told(
        succeeded(),
        TaskQueued(),
        ASKED,
        ThinkingDelta(text="Hm"),
        ThinkingDelta(text="m."),
        ToolStarted(call_id="1", tool="read", args='{"path":"a.py"}'),
        ToolUpdated(call_id="1", tool="read", text="half"),
        ToolEnded(call_id="1", tool="read", status="success", text="one\n\ttwo"),
        ToolEnded(call_id="2", tool="grep", status="error", text="no"),
        FollowUpTaken(prompt="And?"),
        TextDelta(text="In "),
        TextDelta(text="a.py."),
        FileChanged(path="b.py"),
        GuardTripped(guard="loop", step="warn", message="Again."),
        DiagnosticRaised(diagnostic=Diagnostic(subject="m", message="Odd.")),
        *ending,
    )
    assert blocks == [
        "prompt · +1.0s\n  Where?\n  Say it.",
        "thinking · +2.0s\n  Hmm.",
        "✓ read a.py · 2s · +4.0s\n  one\n  \ttwo",
        "✕ grep · +7.0s\n  no",
        "follow-up · +8.0s\n  And?",
        "assistant · +9.0s\n  In a.py.",
        "wrote · +11.0s\n  b.py",
        "loop: warn · +12.0s\n  Again.",
        "diagnostic · +13.0s\n  Odd.",
        "✓ succeeded · +15.0s",
    ]


class Tagged:
    """Marks a text by the name of its token."""

    def fg(self, token: str, text: str) -> str:
        return f"<{token}:{text}>"

    def bold(self, text: str) -> str:
        return self.fg("bold", text)

    strikethrough = bold


def test_the_colours_of_a_transcript_are_those_of_the_other_views(failed) -> None:
    broken = OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke.", advice="")
    events = (
        ThinkingDelta(text="Hm.\nSo."),
        ToolStarted(call_id="1", tool="read", args="a.py"),
        ToolEnded(call_id="1", tool="read", status="success", text="one"),
        ToolEnded(call_id="2", tool="grep", status="error", text="no"),
        RunEnded(outcome=Failed(error=broken)),
    )
    history = [Recorded(at_ms=0, event=event) for event in events]
    lines = [*transcript_lines(failed(broken), history, theme=Tagged())]
    plain = [*transcript_lines(failed(broken), history)]
    at = "<dim: · +0s>"
    assert [re.sub("<[a-z]+:([^>]*)>", r"\1", line) for line in lines] == plain
    assert "\n".join(lines[1:]).split("\n\n") == [
        f"\n<dim:thinking>{at}\n<dim:  Hm.>\n<dim:  So.>",
        f"<success:✓> <bold:read> a.py{at}\n  one",
        f"<error:✕> <bold:grep>{at}\n<error:  no>",
        f"<error:✕ failed>{at}\n<error:  It broke.>",
    ]


def called(tool: str, text: str = "ok", **arguments: object) -> list[ToolStarted | ToolEnded]:
    started = ToolStarted(call_id=tool, tool=tool, args=json.dumps(arguments))
    return [started, ToolEnded(call_id=tool, tool=tool, status="success", text=text)]


def test_a_call_is_one_row_in_words_with_all_that_was_asked_below_it(succeeded) -> None:
    assert told(
        succeeded(),
        *called("edit", path="a.py", oldText="x = 1\ny", newText="x = 2\ny"),
        *called("bash", command="cat <<E\nhi\nE", timeout=5),
        *called("task", description="Look", tasks=[{"prompt": "Where?", "background": True}]),
        *called("read", path="a.py", offset=3, limit=2),
    ) == [
        "✓ edit a.py +1 -1 · 1s · +0s\n  - x = 1\n  + x = 2\n    y\n  ok",
        "✓ bash cat <<E hi E · 1s · +2.0s\n  command: cat <<E\n  hi\n  E\n  timeout: 5\n  ok",
        "✓ task Look · 1s · +4.0s\n  tasks.0.prompt: Where?\n  tasks.0.background: true\n  ok",
        "✓ read a.py:3-4 · 1s · +6.0s\n  ok",
    ]


def test_a_request_that_waits_is_told_in_words_with_all_arguments_of_its_call(succeeded) -> None:
    common = {"task_id": TaskId("t"), "session_id": SessionId("s"), "path": (), "profile": "p"}
    arguments = json.dumps({"command": "git push", "timeout": 5})
    call = Request(id="req_1", tool="bash", arguments=arguments, reason="config: asked", **common)
    question = Request(id="req_2", kind="question", question="Where to?", options=("left", "right"), **common)
    assert told(succeeded(), AnswerAwaited(request=call), AnswerAwaited(request=question)) == [
        "○ asks: bash git push (config: asked) · +0s\n  command: git push\n  timeout: 5",
        "○ asks: Where to? (left / right) · +1.0s",
    ]


def test_a_call_without_an_end_is_told_as_far_as_it_came(succeeded) -> None:
    begun = ToolStarted(call_id="1", tool="bash", args='{"command":"make"}')
    half = ToolUpdated(call_id="1", tool="bash", text="half")
    assert told(succeeded(), begun, half) == ["○ bash make · +0s\n  half"]
    over = told(succeeded(), begun, half, RunEnded(outcome=Cancelled(reason="Enough.")))
    assert over == ["✕ bash make · +0s\n  half", "○ cancelled · +2.0s\n  Enough."]


def test_nothing_of_a_long_call_is_cut(succeeded) -> None:
    text = "\n".join(["x" * 600] * 100)
    [block] = told(succeeded(), *called("write", path="a.py", content=text))
    assert block == "✓ write a.py +100 · 1s · +0s\n  content: " + text.replace("\n", "\n  ") + "\n  ok"


def test_the_heading_names_the_task_and_what_it_continues(succeeded) -> None:
    assert [*transcript_lines(succeeded(), [])] == ["Finder · Auth scan · task_1 · 1970-01-01 00:00:00 UTC"]
    continued = with_fields(succeeded(), resumed_from=TaskId("task_0"))
    assert [*transcript_lines(continued, [])][1] == "Continues task_0."


def test_an_answer_that_was_not_streamed_is_told(succeeded) -> None:
    ended = RunEnded(outcome=Succeeded(), output="Here.")
    assert told(succeeded(), ASKED, TextDelta(text="Wait"), ended)[1:] == [
        *("assistant · +1.0s\n  Wait", "answer · +2.0s\n  Here.", "✓ succeeded · +2.0s")
    ]


def test_what_is_said_is_told_line_by_line_while_it_is_said(succeeded) -> None:
    transcript = Transcript(succeeded())
    pieces = ("\n", "\nOne", "\nTwo\n", "\n\n", "Three\nFo", "ur\n", "\n")
    lines = [[*transcript.add(Recorded(at_ms=0, event=TextDelta(text=text)))] for text in pieces]
    told = ["", "assistant · +0s", "  One", "  Two"]
    assert lines == [[], [], told, [], ["", "", "  Three"], ["  Four"], []]
    assert [*transcript.end()] == []
    ended = RunEnded(outcome=Succeeded(), output="".join(pieces))
    assert [*transcript.add(Recorded(at_ms=0, event=ended))] == ["", "✓ succeeded · +0s"]


def test_the_same_answer_in_two_runs_is_told_twice(succeeded) -> None:
    ended = RunEnded(outcome=Succeeded(), output="Yes.")
    blocks = told(succeeded(), ASKED, TextDelta(text="Yes."), ended, ASKED, ended)
    assert [block.partition(" ")[0] for block in blocks] == ["prompt", "assistant", "✓", "prompt", "answer", "✓"]


def test_how_a_run_ended_is_told_with_its_reason(succeeded) -> None:
    error = OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke.", advice="Repair it.")
    assert told(succeeded(), RunEnded(outcome=Failed(error=error))) == ["✕ failed · +0s\n  It broke. Repair it."]
    assert told(succeeded(), RunEnded(outcome=Cancelled(reason="Enough."))) == ["○ cancelled · +0s\n  Enough."]


def test_nothing_is_cut_and_nothing_drives_the_terminal(succeeded) -> None:
    result = ToolEnded(call_id="1", tool="read", status="success", text="x" * 100_000 + "\x1b]0;owned\x07\x1b[2J.")
    [block] = told(succeeded(), result)
    assert block == f"✓ read · +0s\n  {'x' * 100_000}."
