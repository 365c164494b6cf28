"""The view of any tool, whatever was said, fits, and nothing in it drives the terminal."""

import json
import re

import anyio.lowlevel
import pytest
from acting import ActingBackend

from ohm_subagents import Ohm
from ohm_subagents._views.cells import cells
from ohm_subagents.contract import TextDelta, ToolEnded, ToolStarted
from ohm_subagents.plugin import Tool, ToolResult, ToolSuiteSpec, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

DRIVING = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
SAID = (
    "\x1b]0;title\x07\x1b[2J\x9b2J\x9d0;x\x9c\x08\rA\u202eB\u2066C\u200fD\x00\x7f\t"
    + ("long" * 100)
    + ("\nw\u00f6rd " * 30)
)
HOSTILE = f"\ud800{SAID}\udfff"
ENTITLED = {"description": HOSTILE, "prompt": HOSTILE}
CALLS = {
    "task": [
        ("task", {"op": "start", "subagent_type": "finder", **ENTITLED}),
        ("task", {"op": "start", "tasks": [{"subagent_type": "finder", **ENTITLED}] * 2}),
        ("task", {"op": "start", "subagent_type": HOSTILE, **ENTITLED}),
        ("task", {"op": "status", "ids": [HOSTILE]}),
        ("task", {"op": HOSTILE}),
    ],
    "primary": [("librarian", {"query": HOSTILE}), ("librarian", {HOSTILE: 1})],
    "delegate": [
        ("delegate_to_subagents", {"tasks": [{"name": HOSTILE, "prompt": HOSTILE}]}),
        ("delegate_to_subagents", {"tasks": [{"name": "a", "prompt": "p", "profile": HOSTILE}]}),
        ("get_subagent_output", {"sessionId": HOSTILE}),
        ("list_subagent_profiles", {}),
    ],
    "single": [
        ("subagent", {"agent": "explorer", "task": HOSTILE}),
        ("subagent", {"agent": HOSTILE, "task": HOSTILE}),
        ("subagent", {"agent": "explorer", "task": "fail"}),
        ("subagent", {HOSTILE: HOSTILE}),
    ],
    "sticky": [
        ("subagent", {"agent": "scout", "task": HOSTILE}),
        ("subagent", {"agent": HOSTILE, "task": HOSTILE}),
        ("subagent", {"agent": "scout", "task": "x", "sessionId": HOSTILE}),
    ],
    "todos": [
        ("write_todos", {"mode": "replace", "todos": [{"text": HOSTILE}, {"text": "b"}]}),
        ("list_todos", {}),
        ("edit_todos", {"action": HOSTILE, "indices": [0]}),
        ("edit_todos", {"action": "start", "indices": [HOSTILE]}),
        ("write_todos", {"mode": HOSTILE, "todos": []}),
    ],
}


async def saying(request, sink):
    sink.emit(TextDelta(text=SAID))
    sink.emit(ToolStarted(call_id="1", tool=SAID, args=json.dumps({"path": SAID})))
    sink.emit(ToolEnded(call_id="1", tool=SAID, status="error", text=SAID))
    await anyio.lowlevel.checkpoint()
    if "fail" in request.prompt:
        raise ValueError(SAID)
    return SAID


def opened(tmp_path, *plugins, suites, **env):
    env = HERMETIC | {"HOME": str(tmp_path)} | env
    config = {"subagentBackend": "acting", "onupdateThrottleMs": 1}
    return Ohm.open(cwd=tmp_path, env=env, config=config, suites=suites, plugins=[ActingBackend(saying), *plugins])


def check(shown, width):
    assert DRIVING.search(shown) is None, ascii(shown)
    assert max(map(cells, shown.split("\n"))) <= width


@pytest.mark.sample(2)
@pytest.mark.parametrize(("suite", "env"), [*((suite, {}) for suite in CALLS), ("task", {"OHM_DEBUG": "true"})])
async def test_no_view_of_a_suite_is_wider_than_asked_or_drives_the_terminal(suite, env, tmp_path):
    frames = []
    async with opened(tmp_path, suites=[suite], **env) as ohm:
        for name, arguments in CALLS[suite]:
            tool = ohm.tools[name]
            done = await ohm.call(name, arguments, on_update=frames.append)
            for result in (done, *frames):
                result.text.encode()
                json.dumps(result.details, ensure_ascii=False).encode()
                for width in (48 if suite == "delegate" else 24, 80, 120):
                    for expanded in (False, True):
                        check(result.render(width=width, expanded=expanded), width)
                        check(tool.render_result(result, width=width, expanded=expanded), width)
                        check(result.preview(width=width), width)
            called = tool.render_call(arguments)
            assert DRIVING.search(called) is None, ascii(called)
            assert "\n" not in called


async def test_a_tool_without_views_of_its_own_has_harmless_ones(tmp_path):
    class Plain:
        @hookimpl
        def ohm_tool_suites(self):
            async def execute(_call):
                await anyio.lowlevel.checkpoint()
                return ToolResult(text=HOSTILE, details={})

            tool = Tool(
                name="plain",
                label="Plain",
                description="d",
                input_schema={},
                execute=execute,
                call_view=lambda arguments, _theme: arguments["a"][0],
            )
            return [ToolSuiteSpec(name="plain", summary="s", build=lambda _context: (tool,))]

    async with opened(tmp_path, Plain(), suites=["plain"]) as ohm:
        done = await ohm.call("plain", {})
        check(done.render(width=40), 40)
        assert DRIVING.search(ohm.tools["plain"].render_call({"a": [HOSTILE]})) is None


async def test_a_list_is_shown_to_people_as_it_is(tmp_path):
    async with opened(tmp_path, suites=["todos"]) as ohm:
        await ohm.call("write_todos", {"mode": "replace", "todos": [{"text": "one [1] two"}, {"text": "three"}]})
        await ohm.call("edit_todos", {"action": "complete", "indices": [1]})
        listed = await ohm.call("list_todos", {})
        assert listed.details == {"action": "list", "todos": []}
        for shown in (listed.render(), ohm.tools["list_todos"].render_result(listed)):
            assert shown == "\N{EN DASH} [0] one [1] two\n✓ [1] three"
        await ohm.call("write_todos", {"mode": "replace", "todos": []})
        assert (await ohm.call("list_todos", {})).render() == "No todos"


async def test_an_item_without_words_is_refused_and_moves_no_other(tmp_path):
    async with opened(tmp_path, suites=["todos"]) as ohm:
        refused = await ohm.call("write_todos", {"mode": "append", "todos": [{"text": "a"}, {"text": " "}]})
        assert refused.text == "Error: todo item at index 1 has no text"
        assert (await ohm.call("list_todos", {})).text == "No todos"


KEY = "qzxv-9911-abcd-7788-" + "x1" * 40
REFUSED = [
    ("single", "subagent", {"agent": f"a {KEY}", "task": "x"}),
    ("task", "task", {"op": "start", "subagent_type": KEY, "description": "d", "prompt": "p"}),
    ("sticky", "subagent", {"agent": KEY, "task": "x"}),
    ("delegate", "get_subagent_output", {"sessionId": KEY}),
    ("todos", "write_todos", {"mode": KEY, "todos": []}),
]


@pytest.mark.parametrize(("suite", "name", "arguments"), REFUSED, ids=lambda one: one if isinstance(one, str) else "")
async def test_no_line_breaks_in_the_middle_of_a_secret_and_shows_its_halves(suite, name, arguments):
    config = {"subagentBackend": "none", "subagents": {"redact": True}}
    async with Ohm.open(env=HERMETIC | {"ACME_KEY": KEY}, config=config, suites=[suite]) as ohm:
        done, tool = await ohm.call(name, arguments), ohm.tools[name]
        kept = ToolResult(text=f"x {KEY} y", details={"a": 1})
        for width in (20, 40, 80):
            for expanded in (False, True):
                for shown in (
                    done.render(width=width, expanded=expanded),
                    tool.render_result(done, width=width, expanded=expanded),
                    tool.render_result(kept, width=width, expanded=expanded),
                ):
                    assert KEY[:8] not in shown
                    assert "x1x1x1" not in shown


async def test_the_name_of_a_tool_that_is_not_there_is_repeated_so_that_it_can_be_written(tmp_path):
    async with opened(tmp_path, suites=["task"]) as ohm:
        done = await ohm.call("a\ud800", {})
        done.text.encode()
        json.dumps(done.details, ensure_ascii=False).encode()
