"""A match over events has an arm for each, or is named here with what the other events, and new ones, are to it."""

import ast
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, get_args

from ohm_subagents.contract import Event

Sources: TypeAlias = Callable[..., dict[str, str]]
KINDS: Final = {one.__name__ for one in get_args(Event)}
OURS: Final = "src/ohm_subagents/"
OPEN: Final = {
    "_app/streams.py:_joined": "no pieces of one text",
    "_orchestrator/observe/log.py:_own": "a line without fields of their own",
    "_orchestrator/observe/tracing.py:TaskSpan.notify": "no span",
    "_orchestrator/observe/tracing.py:_about": "not on a span",
    "_orchestrator/run/redaction.py:EventRedactor.events": "for `redacted_event`, which has an arm for each",
    "_orchestrator/run/routed.py:_Attempt.emit": "judged by `effect_of`, which has an arm for each",
    "_orchestrator/run/sink.py:RunSink.emit": "recorded as they are",
    "_terminal/board.py:Board.notify": "told by the state of the task",
    "_views/call_rows.py:seen_calls": "not about a tool",
    "_views/hearing.py:Hearing.see": "neither a call nor a follow-up",
    "_views/messages.py:MessageLog.add": "no messages",
    "_views/task_texts.py:tool_row": "not about a tool",
    "contract/activity.py:settled_later": "nothing that happens to a settled task",
    "remote/run_log.py:Entry.report": "no pieces of one text",
    "stores/snapshot/text.py:_printed_event": "without a form in that file",
    "suites/delegate/live_window.py:LiveWindow.add": "not seen in a window",
    "suites/single/child_run.py:ChildRun.notify": "not counted",
    "testing/conformance.py:BackendConformance.test_tool_calls_start_and_end_in_pairs": "no calls",
    "ui/entries.py:Entries.add": "looked at by `_about_it`",
    "ui/entries.py:Entries._about_it": "in no transcript",
    "ui/timeline.py:Timeline.add": "without a time of their own",
}


def open_matches(text: str) -> list[str]:
    """Return the functions with a match over events whose last arm is for all others."""
    return [*_within(ast.parse(text), "")]


def _within(node: ast.AST, place: str) -> Iterator[str]:
    for each in ast.iter_child_nodes(node):
        name = each.name if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) else ""
        if isinstance(each, ast.Match) and _names_events(each) and _is_for_all(each.cases[-1]):
            yield place
        yield from _within(each, f"{place}.{name}".strip(".") if name else place)


def _names_events(match: ast.Match) -> bool:
    patterns = [one for case in match.cases for one in ast.walk(case.pattern) if isinstance(one, ast.MatchClass)]
    return any(ast.unparse(one.cls).rpartition(".")[2] in KINDS for one in patterns)


def _is_for_all(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None


def test_a_match_over_events_without_an_arm_for_each_is_named_with_the_reason(sources: Sources) -> None:
    code = sources("src/**/*.py", "plugins/*/src/**/*.py")
    found = [f"{file.removeprefix(OURS)}:{place}" for file, text in code.items() for place in open_matches(text)]
    assert sorted(found) == sorted(OPEN)


def test_a_last_arm_for_all_others_is_seen_wherever_the_match_is() -> None:
    arms = "   case {}:\n    pass\n   case {}:\n    pass\n"
    outer = "class A:\n def f(self, event):\n  match event:\n"
    assert open_matches(outer + arms.format("TextDelta(text=text)", "_")) == ["A.f"]
    assert open_matches(outer + arms.format("(Ok(events.AgentEnded()), 1)", "other")) == ["A.f"]
    assert open_matches(outer + arms.format("TextDelta()", "_ if event")) == []
    assert open_matches(outer + arms.format("TextDelta()", "AgentEnded()")) == []
    assert open_matches(outer + arms.format("Ok(1)", "_")) == []
