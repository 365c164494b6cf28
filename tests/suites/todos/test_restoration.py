"""The list that the session of the host tells of, whatever else that session holds."""

import pytest
from loops import one_loop

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio


def told(todos, tool="write_todos", **message):
    return {
        "type": "message",
        "message": {"role": "toolResult", "toolName": tool, "details": {"todos": todos}, **message},
    }


def item(text, status="not_started"):
    return {"text": text, "status": status}


async def restored(host):
    """Return what is there after `session_start`, in place of a list of the session before."""
    async with Ohm.open(config={}, env=HERMETIC, suites=["todos"], host=host) as ohm:
        await ohm.call("write_todos", {"mode": "replace", "todos": [{"text": "of the session before"}]})
        await ohm.emit("session_start", {})
        return (await ohm.call("list_todos", {})).text, host.statuses.get("til-done")


FOREIGN = [
    None,
    "x",
    3,
    [],
    {},
    {"type": ["message"]},
    {"type": "message"},
    {"type": "message", "message": None},
    {"type": "message", "message": "x"},
    {"type": "message", "message": {"role": "toolResult"}},
    told([item("foreign")], tool=["write_todos"]),
    told([item("foreign")], tool={"write_todos": 1}),
    told([item("foreign")], tool=None),
    told([item("foreign")], role=["toolResult"]),
    told({"text": "foreign"}),
    told([], details=None),
    told([], details=["todos"]),
]


@pytest.mark.parametrize("entry", FOREIGN, ids=repr)
@one_loop
async def test_an_entry_of_any_other_shape_is_passed_over(entry):
    assert await restored(MemoryHost(branch=[told([item("mine")]), entry])) == ("\N{EN DASH} [0] mine", "📋 0/1")
    assert await restored(MemoryHost(branch=[entry])) == ("No todos", None)


@pytest.mark.parametrize(
    "item_of_any_shape", [None, "x", 3, [], {}, {"text": [], "status": []}, item("a", {}), item({})]
)
@one_loop
async def test_an_item_of_any_other_shape_is_left_out(item_of_any_shape):
    host = MemoryHost(branch=[told([item_of_any_shape, item("mine", "completed")])])
    assert await restored(host) == ("✓ [0] mine", "✓ Done (1 items)")


async def test_a_session_that_cannot_be_read_has_no_list(caplog):
    class Broken(MemoryHost):
        def branch(self):
            raise OSError("no session")

    assert await restored(Broken()) == ("No todos", None)
    assert "The session could not be read; its list of todos is empty." in caplog.text


async def test_a_host_that_gives_no_branch_at_all_has_no_list():
    class Silent(MemoryHost):
        def branch(self):
            return None

    assert await restored(Silent()) == ("No todos", None)


async def test_half_a_character_in_a_session_is_marked():
    assert await restored(MemoryHost(branch=[told([item("a\ud800")])])) == ("\N{EN DASH} [0] a?", "📋 0/1")
