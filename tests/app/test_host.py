"""Views for a host, through the public door, on both event loops."""

import anyio
import pytest

from ohm_subagents import Ohm
from ohm_subagents.contract import ToolStarted
from ohm_subagents.testing import HERMETIC, MemoryHost, ScriptedBackend, Step

pytestmark = pytest.mark.anyio

KEY = "ohm-subagents"
START = {"op": "start", "subagent_type": "finder", "description": "Auth scan", "prompt": "Trace auth"}
COMPACT = {**HERMETIC, "OHM_SUBAGENTS_UI_MODE": "compact", "OHM_SUBAGENTS_UI_UPDATE_MS": "1"}


class WatchedHost(MemoryHost):
    """Says when its widget is there, and when it is gone."""

    def __init__(self):
        super().__init__()
        self.shown, self.cleared = anyio.Event(), anyio.Event()

    def set_widget(self, key, lines):
        super().set_widget(key, lines)
        (self.cleared if lines is None else self.shown).set()


async def test_a_host_shows_the_tasks_at_work_and_is_cleared_in_the_end():
    host, gate = WatchedHost(), anyio.Event()
    backend = ScriptedBackend(Step(text="done", events=(ToolStarted(call_id="1", tool="read"),), gate=gate))
    async with (
        Ohm.open(config={"subagentBackend": backend.id}, env=COMPACT, plugins=[backend], host=host) as ohm,
        anyio.create_task_group() as group,
    ):
        group.start_soon(ohm.call, "task", START)
        await host.shown.wait()
        assert host.statuses[KEY].startswith("subagents 1 running")
        assert host.widgets[KEY][:2] == ("  ⠋ Finder · Auth scan", "    ├── Trace auth")
        await ohm.reconfigure(env=HERMETIC)
        await host.cleared.wait()
        assert host.widgets == {}
        await anyio.wait_all_tasks_blocked()
        host.shown = anyio.Event()
        await ohm.reconfigure(env=COMPACT)
        with anyio.move_on_after(5):
            await host.shown.wait()
        assert KEY in host.widgets, "the new mode is in force at once, though nothing has happened since"
        gate.set()
    assert (host.statuses, host.widgets) == ({}, {})


async def test_a_host_is_told_nothing_unless_somebody_asks_for_it():
    host = MemoryHost()
    backend = ScriptedBackend("done")
    async with Ohm.open(config={"subagentBackend": backend.id}, env=HERMETIC, plugins=[backend], host=host) as ohm:
        await ohm.call("task", START)
    assert host.calls == []


@pytest.mark.parametrize(
    ("host", "env", "first", "last"),
    [
        (None, COMPACT, "subagents 1 running · tools 0 active · ", "subagents idle · done 1 · "),
        (MemoryHost(), HERMETIC, "subagents 1 running · tools 0 active · ", "subagents idle · done 1 · "),
        (MemoryHost(), COMPACT, "  ⠋ Finder · Auth scan", "  ✓ Finder · Auth scan"),
    ],
)
async def test_a_frame_begins_with_the_status_line_only_where_no_host_shows_it(host, env, first, last):
    backend = ScriptedBackend("done")
    frames = []
    async with Ohm.open(config={"subagentBackend": backend.id}, env=env, plugins=[backend], host=host) as ohm:
        await ohm.call("task", START, on_update=frames.append)
    assert frames[0].text.startswith(first)
    assert frames[-1].text.startswith(last)
    assert frames[-1].text.endswith("  ✓ Finder · Auth scan\n    ├── Trace auth\n    ╰── done")


async def test_debug_and_the_number_of_rows_are_asked_when_a_result_is_rendered():
    calls = tuple(ToolStarted(call_id=str(n), tool=f"tool{n}") for n in range(3))
    backend = ScriptedBackend(Step(text="done", events=calls))
    async with Ohm.open(config={"subagentBackend": backend.id}, env=HERMETIC, plugins=[backend]) as ohm:
        result = await ohm.call("task", START)
        assert "    ├── ○ tool0\n" in result.render()
        await ohm.reconfigure(env={**HERMETIC, "OHM_SUBAGENTS_TRANSCRIPT_TAIL_LINES": "1"})
        assert "    ├── … 2 earlier tool call(s)\n    ├── ○ tool2\n" in result.render()
        await ohm.reconfigure(env={**HERMETIC, "OHM_DEBUG": "1"})
        assert result.render().startswith("summary: Finder: Auth scan\ntask_id: ")


async def test_a_preview_keeps_the_newest_lines():
    backend = ScriptedBackend(Step(text="done", events=tuple(ToolStarted(call_id=n, tool=n) for n in "abcd")))
    env = {**HERMETIC, "OHM_SUBAGENTS_RESULT_PREVIEW_LINES": "2"}
    async with Ohm.open(config={"subagentBackend": backend.id}, env=env, plugins=[backend]) as ohm:
        result = await ohm.call("task", START)
    assert result.preview(width=60).splitlines() == [
        "... (5 earlier lines, ctrl+o to expand)",
        "    ├── ○ d",
        "    ╰── done",
    ]
