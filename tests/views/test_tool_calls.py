"""Tool calls in words, of our tools and of those that other agents bring."""

from __future__ import annotations

import json

import pytest

from ohm_subagents.views import NamedCall, named_call


def call(tool: str, **arguments: object) -> NamedCall:
    return named_call(tool, json.dumps(arguments))


@pytest.mark.parametrize(
    ("made", "subject"),
    [
        (call("read", path="/w/src/a.py"), "src/a.py"),
        (call("read", path="src/a.py", offset=10, limit=40), "src/a.py:10-49"),
        (call("Read", file_path="/else/a.py", offset=3), "/else/a.py:3"),
        (call("ls", path="/w/"), "."),
        (call("grep", pattern="def login", path="src"), "def login in src"),
        (call("find", pattern="*.py"), "*.py"),
        (call("bash", command="pytest -q\n  tests"), "pytest -q tests"),
        (call("edit", path="a.py", oldText="a\nb", newText="c"), "a.py +1 -2"),
        (
            call("edit", path="a.py", edits=[{"oldText": "a", "newText": "b"}, {"oldText": "", "newText": "c\nd"}]),
            "a.py +3 -1",
        ),
        (call("edit", path="a.py", oldText="a\nb\nc", newText="a\nB\nc"), "a.py +1 -1"),
        (
            call("edit", path="long.py", oldText="same\n" * 9_000 + "b", newText="same\n" * 9_000 + "B\nC"),
            "long.py +2 -1",
        ),
        (call("MultiEdit", file_path="a.py", old_string="a", new_string=""), "a.py -1"),
        (call("write", path="a.py", content="one\ntwo\n"), "a.py +2"),
        (call("web_fetch", url="https://example.org"), "https://example.org"),
        (call("weather", city="Oslo", days=3, units={"t": "C"}), "city: Oslo, days: 3"),
        (call("todo"), ""),
        (named_call("shell", "make test"), "make test"),
        (named_call("read", '{"path": "cut off'), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else value.tool,
)
def test_the_subject_of_a_call_is_words_and_never_json(made: NamedCall, subject: str) -> None:
    assert made.subject("/w") == subject


def test_a_subject_is_one_harmless_line_of_bounded_length() -> None:
    made = call("bash", command="\x1b]52;c;eA==\x07rm\u202e\n\tx" + "y" * 1_000_000)
    subject = made.subject()
    assert subject.startswith("rm xyyy")
    assert (len(subject) <= 500, subject.isprintable()) == (True, True)
