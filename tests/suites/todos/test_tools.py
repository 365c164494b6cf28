"""The todo tools of a parent agent, through `Ohm`."""

import pytest
from loops import one_loop

from ohm_subagents import Ohm
from ohm_subagents._views.cells import cells
from ohm_subagents.plugin import ToolResult
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio


def opened(**options):
    return Ohm.open(**{"config": {}, "env": HERMETIC, "suites": ["todos"], **options})


async def written(ohm, *texts):
    return await ohm.call("write_todos", {"mode": "replace", "todos": [{"text": text} for text in texts]})


async def listed(ohm):
    return (await ohm.call("list_todos", {})).text


WRONG = {
    "no object": ("write_todos", "x", 'The arguments must be a JSON object, not "x".'),
    "no mode": ("write_todos", {"todos": []}, "'mode' is missing; it is required."),
    "no list": ("write_todos", {"mode": "append", "todos": "x"}, "'todos' is \"x\"; allowed: a list."),
    "a number as text": (
        "write_todos",
        {"mode": "append", "todos": [{"text": 1}]},
        "'todos.0.text' is 1; allowed: a text.",
    ),
    "a text as todo": ("write_todos", {"mode": "append", "todos": ["x"]}, "'todos.0' is \"x\"; allowed: an object."),
    "half a place": (
        "write_todos",
        {"mode": "insert", "index": 0.5, "todos": []},
        "'index' is 0.5; allowed: a whole number.",
    ),
    "true as a place": ("edit_todos", {"action": "start", "indices": [True]}, "'indices.0' is true; allowed: a whole"),
    "nothing as a place": ("edit_todos", {"action": "start", "indices": [None]}, "'indices.0' is null; allowed: a"),
    "a text as a place": ("edit_todos", {"action": "start", "indices": ["0"]}, "'indices.0' is \"0\"; allowed: a"),
    "a place far away": (
        "write_todos",
        {"mode": "insert", "index": 10**17, "todos": []},
        "'index' is 100000000000000000; allowed: a whole number, 9007199254740991 or less.",
    ),
    "a place of 5000 digits": (
        "edit_todos",
        {"action": "start", "indices": [10**5000]},
        "'indices.0' is too long to show; allowed: a whole number, 9007199254740991 or less.",
    ),
    "a place of 5000 digits below": (
        "write_todos",
        {"mode": "insert", "index": -(10**5000), "todos": []},
        "'index' is too long to show; allowed: a whole number, -9007199254740991 or more.",
    ),
    "half a character": ("write_todos", {"mode": "\ud800", "todos": []}, "unknown mode '?'"),
    "half a character as a place": (
        "edit_todos",
        {"action": "start", "indices": ["\ud800"]},
        "'indices.0' is \"?\"; allowed: a whole number.",
    ),
    "51 places": ("edit_todos", {"action": "start", "indices": [0] * 51}, "51 indices exceed maximum of 50"),
}


@pytest.mark.parametrize(("tool", "arguments", "said"), WRONG.values(), ids=WRONG)
@one_loop
async def test_what_no_schema_lets_through_changes_nothing_and_is_told_in_a_sentence(tool, arguments, said):
    host = MemoryHost()
    async with opened(host=host) as ohm:
        await written(ohm, "a")
        host.calls.clear()
        refused = await ohm.call(tool, arguments)
        assert refused.text.startswith(f"Error: {said}")
        assert refused.text == f"Error: {refused.details['error']}"
        assert (refused.is_error, refused.details["todos"], host.calls) == (False, [], [])
        assert "[0] a" in await listed(ohm)


async def test_a_whole_number_may_be_written_with_a_point():
    async with opened() as ohm:
        await written(ohm, "a")
        done = await ohm.call("edit_todos", {"action": "start", "indices": [0.0]})
        assert done.text == "Started [0]\n\n● [0] a"


async def test_half_a_character_is_marked_so_that_everything_can_be_written_down(host):
    async with opened(host=host) as ohm:
        done = await written(ohm, "a\ud800b", "\udfff" * 1000)
        assert done.details["todos"][0]["text"] == "a?b"
        done = await ohm.call("edit_todos", {"action": "start", "indices": [0]})
        for text in (done.text, done.render(), host.statuses["til-done-active"], await listed(ohm), str(done.details)):
            assert text.encode()


async def test_a_call_with_a_number_of_5000_digits_can_be_shown():
    async with opened() as ohm:
        line = ohm.tools["edit_todos"].render_call({"action": "start", "indices": [0, 10**5000]})
        assert line == "edit_todos start [0, too long to show]"


async def test_the_details_are_a_copy():
    async with opened() as ohm:
        done = await written(ohm, "a")
        done.details["todos"][0]["text"] = "spoilt"
        assert "[0] a" in await listed(ohm)


async def test_a_reconfiguration_keeps_the_list(host):
    async with opened(host=host) as ohm:
        await written(ohm, "a")
        await ohm.reconfigure(config={"debug": True})
        assert "[0] a" in await listed(ohm)
        await ohm.emit("session_start", {})
        assert await listed(ohm) == "No todos"


@pytest.fixture
def host():
    return MemoryHost()


async def test_each_ohm_has_its_own_list():
    async with opened() as first, opened() as second:
        await written(first, "a")
        assert await listed(second) == "No todos"


async def test_a_host_whose_status_bar_is_broken_costs_no_call(caplog):
    class Broken(MemoryHost):
        def set_status(self, key, text):
            raise OSError("no bar")

    async with opened(host=Broken()) as ohm:
        assert (await written(ohm, "a")).text.startswith("Wrote 1 todo item(s)")
    assert "The status of the todos could not be shown." in caplog.text


async def test_a_host_that_cannot_say_whether_it_has_a_screen_has_none(caplog):
    class Broken(MemoryHost):
        def has_ui(self):
            raise OSError("no idea")

    host = Broken()
    async with opened(host=host) as ohm:
        done = await written(ohm, "a")
        assert done.details == {"action": "write", "todos": [{"text": "a", "status": "not_started"}]}
        await ohm.emit("agent_end", {})
        assert host.calls == []
    assert "Whether the host has a screen could not be learnt." in caplog.text


async def test_a_result_is_shown_as_its_list_and_cannot_move_the_cursor():
    async with opened() as ohm:
        done = await written(ohm, "a\x1b[2Jb", "c")
        assert done.render() == "\N{EN DASH} [0] ab\n\N{EN DASH} [1] c"
        line = ohm.tools["write_todos"].render_call({"mode": "\x1b]0;x\x07append", "todos": []})
        assert "\x1b" not in line
        assert "\x1b" not in ohm.render_message("til-done-complete", "\x1b[31mred")


async def test_no_text_drives_the_screen_or_forges_a_line_of_it(host):
    drives, forges = "\x1b[2J\x1b]0;t\x07red", "a\n✓ [9] forged\r\u2028✓ [8] too"
    async with opened(host=host) as ohm:
        await written(ohm, drives, forges)
        done = await ohm.call("edit_todos", {"action": "start", "indices": [0, 1]})
        assert host.statuses["til-done-active"] == "[0] red\n[1] a ✓ [9] forged ✓ [8] too"
        assert done.render() == "● [0] red\n● [1] a ✓ [9] forged ✓ [8] too"
        assert done.text == f"Started [0, 1]\n\n{done.render()}"
        assert [todo["text"] for todo in done.details["todos"]] == [drives, forges]
        refused = await ohm.call("write_todos", {"mode": f"{drives}\n✓ [0] forged", "todos": []})
        assert refused.render() == "Error: unknown mode 'red ✓ [0] forged'"
        write, edit = ohm.tools["write_todos"], ohm.tools["edit_todos"]
        line = write.render_call({"mode": "insert", "index": forges, "todos": []})
        assert line == "write_todos insert (0 items @a ✓ [9] forged ✓ [8] too)"
        assert edit.render_call({"action": drives, "indices": [forges, [drives]]}).isprintable()


@pytest.mark.parametrize("width", [12, 20, 40, 79])
async def test_a_result_keeps_within_its_width_and_loses_nothing(width):
    async with opened() as ohm:
        text = "very " * 30 + "w" * 90 + " 漢字" * 20
        done = await written(ohm, text, "b")
        lines = done.render(width=width).split("\n")
        assert max(map(cells, lines)) <= width
        assert lines[0].startswith("\N{EN DASH} [0] very")
        assert lines[-1] == "\N{EN DASH} [1] b"
        assert {line[:6] for line in lines[1:-1]} == {" " * 6}
        assert "".join("".join(lines[:-1]).split()).removeprefix("\N{EN DASH}[0]") == "".join(text.split())
        refused = await ohm.call("write_todos", {"mode": "w" * 200, "todos": []})
        assert max(map(cells, refused.render(width=width).split("\n"))) <= width
        foreign = ohm.tools["list_todos"].render_result(ToolResult(text=text, details={}), width=width)
        assert max(map(cells, foreign.split("\n"))) <= width


async def test_it_is_mounted_where_it_is_asked_for_and_its_tools_for_subagents_are_always_there():
    async with opened(suites=["task"]) as ohm:
        assert [*ohm.tools] == ["task"]
        assert {"write_todos", "list_todos", "edit_todos"} <= set(ohm.child_tools)
        assert (await ohm.emit("before_agent_start")) == ()
