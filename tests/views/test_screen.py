"""Screens of tasks at work, drawn for terminals of several sizes.

`PYTHONPATH=tests/support:tests/views python tests/views/test_screen.py` draws those of `screens.txt` again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from pathlib import Path

import pytest
from made_tasks import queued_task
from rich.text import Text

from ohm_subagents._terminal.terminal import styled
from ohm_subagents._terminal.theme import Ansi
from ohm_subagents._views.cells import cells
from ohm_subagents.contract import (
    AccountCharged,
    AnswerAwaited,
    Diagnostic,
    DiagnosticRaised,
    Event,
    Failed,
    LaunchRecord,
    OhmError,
    Remaining,
    Request,
    RequestHeld,
    RunEnded,
    RunStarted,
    Succeeded,
    Task,
    TaskId,
    TaskSettled,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
    apply,
)
from ohm_subagents.views import PLAIN, LiveTask, brief_lines, screen_lines, task_block

SCREENS = Path(__file__).with_name("screens.txt")
NOW_MS = 75_000
HOSTILE = "\x1b]8;;https://evil\x07link\x1b]8;;\x07\x1b]52;c;eA==\x07\x1b[2J\x9b1A\u202etxt.exe\u2066\r\x08\x00 {}"


def called(number: int, tool: str, text: str | None, status: str = "success", **arguments: object) -> list[Event]:
    begun = ToolStarted(call_id=f"{number}", tool=tool, args=json.dumps(arguments))
    ended = [] if text is None else [ToolEnded(call_id=f"{number}", tool=tool, status=status, text=text)]
    return [begun, *ended]


def task(
    *events: Event, number: int = 1, title: str = "Where is login?", prompt: str = "", step_ms: int = 2_000
) -> Task:
    made = queued_task(f"task_{number}", description=title, prompt=prompt or title, created_ms=0)
    stamped = zip(range(5_000, NOW_MS, step_ms), events, strict=False)
    return reduce(lambda state, one: apply(state, one[1], at_ms=one[0]), stamped, made)


def begun(*events: Event, **fields: object) -> Task:
    return task(RunStarted(prompt="p"), *events, **fields)


def ended(*events: Event, output: str = "It is in src/auth.py.", **fields: object) -> Task:
    done = Succeeded()
    return begun(*events, RunEnded(outcome=done, output=output), TaskSettled(outcome=done), **fields)


def failed(*events: Event, **fields: object) -> Task:
    broken = Failed(error=OhmError(code="task_backend_execution_failed", message="The provider broke off."))
    return begun(*events, RunEnded(outcome=broken), TaskSettled(outcome=broken), **fields)


USED = UsageAdded(usage=Usage(requests=1, input_tokens=1_200, output_tokens=80, cost_usd=Decimal("0.0123")))
READ = called(1, "read", "a\n" * 40, path="src/auth.py", offset=10, limit=40)
GREP = called(2, "grep", "", "error", pattern="(", path="src")
EDIT = called(
    3,
    "edit",
    "Changed.",
    path="src/auth.py",
    oldText="def login():\n    pass\n",
    newText="def login(user):\n    check(user)\n",
)
TEST = called(4, "bash", None, command="pytest -q tests/test_login.py")
ASKED = Request(
    id="req_1",
    task_id=TaskId("task_3"),
    session_id="s",
    path=("task_3",),
    profile="finder",
    tool="bash",
    arguments='{"command":"git push"}',
    reason="ask of ohm.json:3",
)

QUESTION = replace(
    ASKED,
    kind="question",
    question="The change of parse_config breaks callers that pass bytes. Should the next release be 2.4.1, which hides "
    "the break, or 3.0.0, which tells everybody about it?",
    options=("2.4.1", "3.0.0"),
)


def scenes() -> dict[str, list[LiveTask]]:
    working = begun(
        *READ,
        *GREP,
        USED,
        *EDIT,
        AccountCharged(remaining=Remaining(cost_usd=Decimal("0.4877"))),
        DiagnosticRaised(diagnostic=Diagnostic(subject="loop", message="The tool read was called 3 times in a row.")),
        *TEST,
        TextDelta(
            text="The login is checked in `src/auth.py`, and 日本語 text is wide: 認証は二つの場所で行われます。"
        ),
        prompt="Where is login?\nSay which file, and who calls it.",
    )
    many = [
        LiveTask(begun(*READ, *TEST, number=1, title="Read all the callers of login")),
        LiveTask(begun(number=2, title="認証の仕組みを調べる"), thinking="The session is made before the check"),
        LiveTask(begun(AnswerAwaited(request=ASKED), number=3, title="Push it")),
        LiveTask(begun(RequestHeld(provider="openai", why="rate_limit"), number=4, title="Ask a slow provider")),
        LiveTask(failed(*READ, number=5, title="Break")),
        *(LiveTask(ended(*READ, USED, number=n, title=f"Part {n} of the work")) for n in range(6, 9)),
        *(LiveTask(task(number=n, title=f"Part {n} of the work")) for n in range(9, 17)),
    ]
    parent = begun(*READ, number=1, title="Find every login")
    tree = [LiveTask(parent), LiveTask(begun(*READ, number=2, title="In the API"), depth=1)]
    return {
        "working": [LiveTask(working, thinking="Who calls check()?")],
        "many": many,
        "asking": [LiveTask(begun(*READ, TextDelta(text="I read it."), AnswerAwaited(request=QUESTION), number=3))],
        "tree": tree,
        "done": [LiveTask(ended(*READ, *GREP, USED, *EDIT))],
    }


def drawn() -> str:
    parts: list[str] = []
    for name, tasks in scenes().items():
        for width, height in ((60, 20), (80, 12), (80, 24), (120, 40)):
            lines = screen_lines(tasks, now_ms=NOW_MS, width=width, height=height, theme=PLAIN, chosen="task_2")
            parts += [f"== {name}, {width} x {height}", *lines]
    return "\n".join(parts) + "\n"


def test_screens_are_those_that_were_looked_at() -> None:
    assert drawn() == SCREENS.read_text(encoding="utf-8")


@pytest.mark.parametrize("size", [(16, 5), (24, 6), (40, 10), (60, 12), (80, 24), (200, 60)])
def test_a_screen_fits_and_its_colours_change_no_text(size: tuple[int, int]) -> None:
    width, height = size
    for tasks in scenes().values():
        plain, coloured = (
            screen_lines(tasks, now_ms=NOW_MS, width=width, height=height, theme=theme, chosen="task_1")
            for theme in (PLAIN, Ansi())
        )
        assert len(plain) <= height
        assert max(map(cells, plain)) <= width
        assert [Text.from_ansi(styled(line)).plain for line in coloured] == plain


@pytest.mark.parametrize(
    "filler",
    [
        pytest.param("x" * 10_000_000, id="wide", marks=pytest.mark.slow),
        pytest.param("x" * 100_000, id="less wide"),
        pytest.param("line\n" * 10_000, id="long"),
        pytest.param("認" * 10_000, id="cjk"),
    ],
)
def test_what_a_model_or_a_tool_says_is_shown_harmless_however_long_it_is(filler: str) -> None:
    said = HOSTILE.format(filler)
    events = [
        *called(1, said[:200], said, path=said),
        *called(2, "bash", said, "error", command=said),
        *called(3, "edit", None, path=said, oldText="a", newText=said),
        ToolUpdated(call_id="3", tool="edit", text=said),
        DiagnosticRaised(diagnostic=Diagnostic(subject="s", message=said)),
        AnswerAwaited(request=ASKED),
        TextDelta(text=said),
    ]
    for made in (begun(*events, title=said[:400], prompt=said), failed(*events, title=said[:400])):
        live = LiveTask(made, thinking=said[:400])
        shown = task_block(live, now_ms=NOW_MS, width=80, height=24, theme=PLAIN)
        shown.extend(brief_lines([live], now_ms=NOW_MS, width=80, theme=PLAIN))
        assert len(shown) <= 25
        assert all(line.isprintable() and cells(line) <= 80 for line in shown)


def test_the_time_of_a_task_stands_alone_and_one_that_has_not_begun_has_none() -> None:
    limited = replace(begun(*READ), launch=LaunchRecord(profile="finder", instructions="", backend="b"))
    assert limited.launch.limits.soft_ms < 300_000
    for live, told in ((limited, " · 5m 00s · "), (task(), "… Finder · Where is login?")):
        (line,) = screen_lines([LiveTask(live)], now_ms=305_000, width=100, height=1, theme=PLAIN)[:1]
        assert told in line
        assert " of " not in line
    assert line.endswith("login?")


def test_the_first_line_of_an_answer_has_no_marks_of_markdown() -> None:
    done = LiveTask(ended(output="> Now in **constant time** with `compare_digest`, 2 ** 8 times.\n\nMore."))
    (line,) = brief_lines([done], now_ms=NOW_MS, width=120, theme=PLAIN)
    assert line.endswith(" · Now in constant time with compare_digest, 2 ** 8 times.")


def test_an_unfinished_todo_list_is_counted() -> None:
    listed = called(7, "write_todos", "✓ [0] one\n– [1] two", todos=[])  # noqa: RUF001  the dash that the list has
    (line,) = screen_lines([LiveTask(begun(*listed))], now_ms=6_000, width=100, height=1, theme=PLAIN)[:1]
    assert " · 1/2 todos · " in line


def test_a_task_that_does_nothing_for_long_says_so() -> None:
    (line,) = screen_lines([LiveTask(begun(*READ))], now_ms=120_000, width=100, height=1, theme=PLAIN)[:1]
    assert " · 1m 55s · stuck for 1m 51s" in line


def test_a_call_that_failed_with_json_tells_why() -> None:
    told = called(1, "edit", '[{"type": "missing", "msg": "Field required", "loc": ["path"]}]', "error", path="a.py")
    assert any(
        line.endswith("edit a.py · 2s · Field required")
        for line in screen_lines([LiveTask(begun(*told))], now_ms=6_000, width=80, height=9, theme=PLAIN)
    )


def test_what_is_said_is_the_newest_paragraph_and_begins_with_words() -> None:
    said = "I read the callers.\n\nTwo of them\npass bytes.\n \nThe third one\n"
    last = TextDelta(text=f"{said}\n\nThe fourth does not.\n\n")
    for told, line in ((TextDelta(text=said), "The third one"), (last, "The fourth does not.")):
        drawn = task_block(LiveTask(begun(told)), now_ms=8_000, width=80, theme=PLAIN)
        assert drawn[-1].strip() == f"╰── {line}"


def test_a_request_whose_call_has_a_row_is_told_once_and_its_id_only_to_whoever_needs_it() -> None:
    asked = AnswerAwaited(request=replace(ASKED, call_id="5"))
    working = LiveTask(begun(*called(5, "bash", None, command="git push"), asked))
    drawn = task_block(working, now_ms=8_000, width=80, theme=PLAIN)
    row = "    ├── ? bash git push · waits to be approved"
    assert drawn[-2:] == [row, "    ╰── Asks because of ask of ohm.json:3 (req_1)"]
    here = working._replace(is_answered_here=True)
    assert task_block(here, now_ms=8_000, width=80, theme=PLAIN)[-1] == "    ╰── Asks because of ask of ohm.json:3"
    assert "    ╰── Asks: bash git push (ask of" in task_block(here, now_ms=8_000, width=40, theme=PLAIN)
    (line,) = brief_lines([here], now_ms=8_000, width=120, theme=PLAIN)
    assert line.endswith(" · Asks: bash git push (ask of ohm.json:3)")


def test_all_rows_of_a_screen_with_a_tree_tell_the_type_that_the_tree_tells() -> None:
    tasks = [LiveTask(begun(number=1, title="log")), LiveTask(ended(number=2, title="login"))]
    for height, named in ((40, True), (3, False)):
        lines = screen_lines(tasks, now_ms=NOW_MS, width=80, height=height, theme=PLAIN)
        assert ["Finder · " in line for line in lines if " log" in line] == [named, named]


if __name__ == "__main__":
    SCREENS.write_text(drawn(), encoding="utf-8")
