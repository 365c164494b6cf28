"""News of the host's session for suites, and their means to answer it."""

import uuid

import pytest
from surface import Surface, mounted

from ohm_subagents import Ohm
from ohm_subagents.plugin import ToolSuiteSpec, hookimpl
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio


class Notes:
    """A suite that notes every event it hears, and replays what it kept in the session of its host."""

    def __init__(self, name="notes", answer=None):
        self.name = name
        self.answer = answer
        self.heard = []

    @hookimpl
    def ohm_tool_suites(self):
        return [ToolSuiteSpec(name=self.name, summary="", build=self._build)]

    def _build(self, context):
        async def noted(payload):
            self.heard.append(payload)
            if context.host.program is not None:
                context.host.program.append_entry(self.name, {"n": len(self.heard), "of": context.clock()})
            return self.answer

        context.host.on("session_start", noted)
        return ()


def opened(*plugins, **options):
    names = [plugin.name for plugin in plugins]
    return Ohm.open(**{"env": HERMETIC, "config": {}, "plugins": plugins, "suites": names, **options})


async def test_an_event_goes_to_the_suites_in_the_order_of_mounting_and_their_answers_come_back():
    first, silent, last = Notes("first", {"n": 1}), Notes("silent"), Notes("last", {"n": 3})
    async with opened(first, silent, last, suites=["last", "silent", "first"]) as ohm:
        answers = await ohm.emit("session_start", {"reason": "resume"})
        nobody = await ohm.emit("session_end", {})

    assert answers == ({"n": 3}, {"n": 1})
    assert nobody == ()
    assert first.heard == silent.heard == last.heard == [{"reason": "resume"}]


async def test_a_handler_that_raises_is_logged_and_costs_nothing_else(caplog):
    def build(context):
        async def broken(payload):
            payload["reason"] = "spoilt"
            raise LookupError("no luck")

        context.host.on("session_start", broken)

    notes = Notes(answer={})
    async with mounted(surface=Surface(build), plugins=[notes], suites=["surface", "notes"]) as surface:
        answers = await surface.ohm.emit("session_start", {"reason": "resume"})

    assert (answers, notes.heard) == (({},), [{"reason": "resume"}])
    [record] = [record for record in caplog.records if record.message == "handler.raised"]
    assert (record.host_event, record.exc_info[0]) == ("session_start", LookupError)


async def test_each_handler_has_the_payload_as_json_for_itself():
    def build(context):
        async def greedy(payload):
            payload["list"].clear()

        context.host.on("session_start", greedy)

    notes = Notes()
    async with mounted(surface=Surface(build), plugins=[notes], suites=["surface", "notes"]) as surface:
        await surface.ohm.emit("session_start", {"list": (1, 2)})
        await surface.ohm.emit("session_start")

    assert notes.heard[0] == {"list": [1, 2]}


async def test_only_suites_that_are_mounted_hear_of_it():
    notes = Notes()
    async with opened(notes, suites=["task"]) as ohm:
        await ohm.emit("session_start")

    assert notes.heard == []


async def test_a_suite_that_is_mounted_anew_hears_an_event_once():
    notes = Notes()
    async with opened(notes) as ohm:
        await ohm.reconfigure()
        await ohm.emit("session_start")

    assert notes.heard == [{}]


async def test_a_suite_hears_when_a_mounting_of_it_is_over():
    heard = []

    class Numbered(Notes):
        def _build(self, context):
            number = len(heard) + 1

            async def over(payload):
                heard.append((number, payload))

            context.host.on("unmounted", over)
            return ()

    async with opened(Numbered("numbered"), suites=None, config={"suites": ["numbered"]}) as ohm:
        await ohm.reconfigure()
        assert heard == [(1, {})]
        await ohm.reconfigure(config={"suites": []})
        await ohm.reconfigure()
        assert [number for number, _ in heard] == [1, 1]
        await ohm.reconfigure(config={"suites": ["numbered"]})
    assert [number for number, _ in heard] == [1, 1, 3]


async def test_a_suite_reaches_the_host_and_the_clock_and_what_ids_are_made_of():
    host, surface = MemoryHost(), Surface()
    one = uuid.UUID(int=7)
    notes = Notes()
    async with mounted(
        surface=surface,
        plugins=[notes],
        suites=["surface", "notes"],
        host=host,
        clock=lambda: 42,
        new_uuid=lambda: one,
    ):
        await surface.ohm.emit("session_start")

    context = surface.context
    assert (context.host.program, context.clock(), context.new_uuid()) == (host, 42, one)
    assert host.branch() == ({"type": "custom", "customType": "notes", "data": {"n": 1, "of": 42}},)


async def test_a_host_is_told_everything_as_a_suite_says_it():
    host, surface = MemoryHost(), Surface()
    async with mounted(surface=surface, host=host):
        ours = surface.ohm._engine.assembly.sources.host
        for told in (ours, surface.context.host.program):
            told.send_message("note", "a", display=False)
            told.send_user_message("b", follow_up=True)
            told.set_widget("w", ["c"], placement="belowEditor")
            told.append_entry("kind", {"d": 1})
            told.set_status("s", "e")
    once = [
        ("send_message", "note", "a", False),
        ("send_user_message", "b", True),
        ("set_widget", "w", ("c",), "belowEditor"),
        ("append_entry", "kind", {"d": 1}),
        ("set_status", "s", "e"),
    ]
    assert host.calls == [*once, *once]


async def test_a_suite_for_parents_and_subagents_hears_an_event_once():
    class Shared(Notes):
        @hookimpl
        def ohm_tool_suites(self):
            return [ToolSuiteSpec(name=self.name, summary="", build=self._build, audience="both")]

    shared = Shared(answer={"n": 1})
    async with opened(shared) as ohm:
        assert await ohm.emit("session_start", {"reason": "new"}) == ({"n": 1},)
    assert shared.heard == [{"reason": "new"}]


async def test_without_a_host_there_is_none_and_ids_are_random():
    async with mounted() as surface:
        context = surface.context
        assert context.host.program is None
        assert context.new_uuid() != context.new_uuid()
        assert context.new_uuid().version == 4
