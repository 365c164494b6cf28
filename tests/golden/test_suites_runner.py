"""The runner of the suite cases: what it reads, what it lets pass, and what it never lets pass."""

import pytest
from golden_calls import play
from golden_children import ScriptedChildren, ended, script, told
from golden_expectations import differences
from golden_suites import case, filled

from ohm_subagents.contract import Err, Ok, TextDelta, ToolEnded, ToolStarted, UsageAdded

pytestmark = pytest.mark.anyio

PLACES = {"$CWD": "/desk", "$AGENT_DIR": "/agent"}
FINE = {
    "id": "X-1",
    "suite": "delegate",
    "call": {"tool": "list_subagent_profiles"},
    "expect": {"details": {"count": 0}},
}
ASSISTANT = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}


class Said:
    """A call of which only these subjects were seen."""

    def __init__(self, **subjects):
        self._subjects = subjects

    async def subject(self, name):
        return self._subjects[name]


async def told_of(expect, **subjects):
    return await differences(expect, Said(**subjects))


# Markers and parts of a case


@pytest.mark.parametrize(
    ("marker", "value"),
    [
        ({"$repeat": {"text": "ab", "count": 3}}, "ababab"),
        ({"$concat": ["a", {"$repeat": {"text": "b", "count": 2}}]}, "abb"),
        ({"$todos": {"count": 2, "text": "t {i}"}}, [{"text": "t 0"}, {"text": "t 1"}]),
        ({"$todos": {"count": 1, "text": "t", "status": "completed"}}, [{"text": "t", "status": "completed"}]),
        ({"$tasks": 2}, [{"name": "t0", "prompt": "p"}, {"name": "t1", "prompt": "p"}]),
        ({"$messages": 1}, [{"role": "user", "content": "m"}]),
        ({"$size": 3}, b"aaa"),
        ({"$hex": "ff00"}, b"\xff\x00"),
        ({"$lines": 3}, "l1\nl2\nl3"),
        ({"$ls": {"files": 1, "dirs": 2}}, "file0.txt\ndir0/\ndir1/"),
    ],
)
def test_a_marker_stands_for_its_value(marker, value):
    assert filled({"k": [marker]}, {}) == {"k": [value]}


def test_sessions_and_runs_count_their_starts():
    sessions = filled({"$sessions": {"count": 2, "id": "s-{i}", "start": 5, "step": 10}}, {})
    runs = filled({"$runs": {"count": 2, "id": "s", "task": "run-{i}"}}, {})
    assert [(one["sessionId"], one["startedAt"], one["status"]) for one in sessions] == [
        ("s-0", 5, "completed"),
        ("s-1", 15, "completed"),
    ]
    assert [(one["sessionId"], one["taskName"]) for one in runs] == [("s", "run-0"), ("s", "run-1")]


def test_placeholders_are_filled_in_keys_and_texts():
    assert filled({"$CWD/a": ["see $CWD/b and $AGENT_DIR"]}, PLACES) == {"/desk/a": ["see /desk/b and /agent"]}


def test_a_marker_that_nobody_knows_is_an_error():
    with pytest.raises(ValueError, match=r"\$never"):
        filled({"$never": 1}, {})


@pytest.mark.parametrize("wrong", [{"expects": {}}, {"expect": {}}, {"call": {}}])
async def test_a_case_with_an_unknown_part_or_without_a_needed_one_fails(wrong, tmp_path):
    assert len(await play(case(FINE | wrong), tmp_path)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"setup": {"weather": "fine"}},
        {"setup": {"children": {"t": {"exits_at": 3}}}},
        {"call": {"summon": "a", "args": {}}},
        {"call": FINE["call"] | {"repeat": 3}},
        {"call": {"fn": "never_heard_of", "args": []}},
    ],
)
async def test_a_setup_or_a_call_that_nobody_knows_fails(wrong, tmp_path):
    with pytest.raises((ValueError, ExceptionGroup)):
        await play(case(FINE | wrong), tmp_path)


async def test_a_case_is_played_and_what_differs_is_told(tmp_path):
    assert await play(case(FINE), tmp_path) == []


async def test_a_throw_that_was_not_expected_fails_whatever_else_is_right(tmp_path):
    throws = case(
        FINE | {"call": {"tool": "get_subagent_output", "args": {"sessionId": "x"}}, "expect": {"spawned": 0}}
    )
    (said,) = await play(throws, tmp_path)
    assert said.startswith("it threw")


@pytest.mark.parametrize(
    ("suite", "call", "is_skipped"),
    [
        ("core", {"mount_all": ["devkit", "sticky"], "tool": "subagent"}, True),
        ("core", {"mount_all": ["devkit", "sticky"], "tool": "subagent_sticky"}, False),
        ("core", {"mount_all": ["delegate", "sticky"], "tool": "subagent"}, False),
        ("core", {"mount_all": ["devkit", "sticky"]}, False),
        ("devkit", {"tool": "subagent"}, False),
    ],
)
def test_only_a_call_of_one_tool_for_two_suites_is_skipped(suite, call, is_skipped):
    made = case({"id": "X-1", "suite": suite, "call": call, "expect": {"text": "x"}})
    assert (made.why_skipped is not None) is is_skipped


DELEGATED = {"tool": "delegate_to_subagents", "args": {"tasks": [{"name": "t", "prompt": "p"}]}}
TURN_OVER = {"event": "agent_end", "args": {"messages": [{"role": "assistant", "content": [], "stopReason": "stop"}]}}


@pytest.mark.parametrize(
    ("part", "expect"),
    [
        ({"call": DELEGATED | {"abort_at": 2}, "setup": {"children": {"t": {"hang": True}}}}, {"sigterm_at": 2}),
        (
            {"call": DELEGATED, "setup": {"children": {"t": {"final": "x", "stderr_noise": "warning: y"}}}},
            {"details_paths": {"windows.0.status": {"equals": "completed"}}, "text_not_contains": ["warning"]},
        ),
        (
            {
                "suite": "devkit",
                "call": {"tool": "subagent", "args": {"agent": "explorer", "task": "x"}, "as_child": True},
            },
            {"text_contains": "depth"},
        ),
        ({"call": {"sequence": [DELEGATED, {"tool": "list_subagent_profiles"}]}}, {"saved_superset": ["r1", "r2"]}),
        (
            {
                "suite": "todos",
                "setup": {"todos": [{"text": "a"}], "send_user_message_raises": True},
                "call": TURN_OVER | {"advance_ms": 4000},
            },
            {"user_messages_len": 2, "user_message_last_line_regex": "."},
        ),
        ({"suite": "todos", "setup": {"todos": [{"text": "a"}]}, "call": TURN_OVER}, {"last_widget_len": 3}),
        (
            {
                "setup": {"session_entries": [{"type": "custom", "customType": "x", "data": {}}] * 3},
                "call": {"event": "session_start", "args": {"reason": "resume"}},
            },
            {"entries_read": 3},
        ),
        ({"call": {"fn": "sanitize_output", "args": ["see $HOME"]}, "suite": "devkit"}, {"value": "see $HOME"}),
    ],
    ids=("abort_at", "stderr_noise", "as_child", "saved", "raises", "last_widget", "entries_read", "literal home"),
)
async def test_a_word_of_a_case_does_what_it_says(part, expect, tmp_path):
    assert await play(case(FINE | part | {"expect": expect}), tmp_path) == []


# Expectations


@pytest.mark.parametrize("key", ["never_heard_of", "text_never", "details_never", "valuable"])
async def test_an_expectation_that_nobody_knows_fails(key):
    (said,) = await told_of({key: "x"}, text="x", details={}, value="x")
    assert said == f"{key}: the runner knows no such expectation"


async def test_an_expectation_of_something_that_the_call_has_not_fails():
    assert await told_of({"schema_valid": True}, text="x") == ["schema_valid: this call has no schema_valid"]


RIGHT = [
    ({"text": "abc"}, {"text": "abc"}),
    ({"text_contains": ["a", "c"], "text_not_contains": ["d"], "text_order": ["a", "c"]}, {"text": "abc"}),
    ({"text_prefix": "ab", "text_suffix": "bc", "text_regex": "^a.c$"}, {"text": "abc"}),
    ({"details": {"a": [{"b": 1}]}}, {"details": {"a": [{"b": 1, "c": 2}], "d": 3}}),
    ({"details": {"a": 1}, "details_exact": True}, {"details": {"a": 1}}),
    ({"details_absent": ["b", "a.c"], "details_equal_paths": [["a.x", "a.y"]]}, {"details": {"a": {"x": 1, "y": 1}}}),
    ({"details_paths": {"ids": {"len": 2, "each_regex": "^[a-z]$", "unique": True}}}, {"details": {"ids": ["a", "b"]}}),
    (
        {"updates_contain": [{"details": {"n": 1}}, "1 running"]},
        {"updates": [{"text": "1 running", "details": {"n": 1}}]},
    ),
    ({"sigterm_at": None}, {"sigterm_at": None}),
    ({"value_set": ["b", "a"], "value_superset": ["a"], "value_len": 2, "value_last": "b"}, {"value": ["a", "b"]}),
    ({"child_args_order": ["--a", "x"], "child_args_regex": {"after --a": "^x$"}}, {"child_args": ["--a", "x", "-p"]}),
    ({"appended_fields": [{"n": 2}, {"n": 1}], "appended_any_order": True}, {"appended": [{"n": 1}, {"n": 2, "m": 3}]}),
    ({"text_contains": ["a", ["b", "c"]]}, {"text": "abc"}),
    ({"value_contains": [["a", 1]], "value_not_contains": [["a", 2]]}, {"value": [["a", 1], ["b", 2]]}),
    ({"details_paths": {"t": {"contains": ["a", "c"]}}}, {"details": {"t": "abc"}}),
    ({"details": None}, {"details": {}}),
    ({"present": ["a"], "absent": ["c"]}, {"store_ids": ["a", "b"]}),
    ({"warns": True, "warns_contains": ["apiKey"]}, {"warns": "apiKey is refused"}),
]
WRONG = [
    ({"text_contains": ["a", ["b", "d"]]}, {"text": "abc"}),
    ({"value_contains": [["a", 3]]}, {"value": [["a", 1], ["b", 2]]}),
    ({"details_paths": {"t": {"contains": ["a", "d"]}}}, {"details": {"t": "abc"}}),
    ({"details": None}, {"details": {"a": 1}}),
    ({"text": "abc"}, {"text": "ab"}),
    ({"text_contains": ["d"]}, {"text": "abc"}),
    ({"text_not_contains": ["b"]}, {"text": "abc"}),
    ({"text_order": ["c", "a"]}, {"text": "abc"}),
    ({"text_order": ["ab", "bc"]}, {"text": "abc"}),
    ({"text_prefix": "b"}, {"text": "abc"}),
    ({"text_suffix": "b"}, {"text": "abc"}),
    ({"text_regex": "^b"}, {"text": "abc"}),
    ({"details": {"a": [{"b": 1}]}}, {"details": {"a": [{"b": 1}, {}]}}),
    ({"details": {"a": True}}, {"details": {"a": 1}}),
    ({"details": {"a": 1}, "details_exact": True}, {"details": {"a": 1, "b": 2}}),
    ({"details_absent": ["a.b"]}, {"details": {"a": {"b": None}}}),
    ({"details_equal_paths": [["a", "b"]]}, {"details": {"a": 1, "b": 2}}),
    ({"details_equal_paths": [["a", "b"]]}, {"details": {}}),
    ({"details_paths": {"ids": {"unique": True}}}, {"details": {"ids": ["a", "a"]}}),
    ({"details_paths": {"ids": {"never": True}}}, {"details": {"ids": []}}),
    ({"details_paths": {"ids": {"len": 0}}}, {"details": {}}),
    ({"updates_contain": [{"details": {"n": 2}}]}, {"updates": [{"text": "", "details": {"n": 1}}]}),
    ({"sigterm_at": None}, {"sigterm_at": 10}),
    ({"value": 0}, {"value": False}),
    ({"value_set": ["a"]}, {"value": ["a", "b"]}),
    ({"child_args_regex": {"after --a": "^y$"}}, {"child_args": ["--a", "x"]}),
    ({"child_args_regex": {"after --b": "x"}}, {"child_args": ["--a", "x"]}),
    ({"appended_fields": [{"n": 2}, {"n": 1}]}, {"appended": [{"n": 1}, {"n": 2}]}),
    ({"appended_fields": [{"n": 1}], "appended_any_order": True}, {"appended": [{"n": 1}, {"n": 2}]}),
    ({"present": ["c"]}, {"store_ids": ["a"]}),
    ({"absent": ["a"]}, {"store_ids": ["a"]}),
    ({"warns": True}, {"warns": ""}),
    ({"warns": False}, {"warns": "something"}),
    ({"runs": 2}, {"spawned": 1}),
]


@pytest.mark.parametrize(("expect", "seen"), RIGHT)
async def test_what_is_as_expected_passes(expect, seen):
    assert await told_of(expect, **seen) == []


@pytest.mark.parametrize(("expect", "seen"), WRONG)
async def test_what_is_not_as_expected_fails(expect, seen):
    assert len(await told_of(expect, **seen)) == 1


# Children


def test_a_child_script_with_an_unknown_key_is_an_error():
    with pytest.raises(ValueError, match="exits_at"):
        ScriptedChildren({"t": {"exits_at": 3}})


def test_a_childs_messages_are_told_as_a_backend_tells_them():
    call = {"role": "assistant", "content": [{"type": "toolCall", "name": "read", "arguments": {"path": "é"}}]}
    result = {"role": "toolResult", "content": [{"type": "text", "text": "found"}]}
    assert [*told([{"role": "user", "content": "asked"}, ASSISTANT, call, result])] == [
        TextDelta(text="hi"),
        *(event for event in told([ASSISTANT]) if isinstance(event, UsageAdded)),
        *(event for event in told([call]) if isinstance(event, UsageAdded)),
        ToolStarted(call_id="call_1", tool="read", args='{"path":"é"}'),
        ToolEnded(call_id="call_1", tool="read", status="success", text="found"),
    ]


def test_a_child_fails_by_its_exit_code_or_by_its_last_word():
    good, final = ended(script([ASSISTANT])), ended(script({"final": "so"}))
    assert isinstance(good, Ok)
    assert good.ok_value.text == "hi"
    assert isinstance(final, Ok)
    assert final.ok_value.text == "so"
    coded = ended(script({"exitCode": 3}))
    assert isinstance(coded, Err)
    assert coded.err_value.exit_code == 3
    assert coded.err_value.is_wordless
    said = ended(script([ASSISTANT | {"stopReason": "error", "errorMessage": "no credit"}]))
    assert isinstance(said, Err)
    assert said.err_value.message == "no credit"
