"""No field pretends: without the mark `reserved` it is read by an Ohm at work, with it by nothing."""

from dataclasses import fields, is_dataclass
from typing import get_args

import anyio
import pytest
from pydantic import BaseModel

from ohm_subagents import Ohm
from ohm_subagents._config.reserved import RESERVED
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.section import Section
from ohm_subagents._plugins.suites.settings import Settings
from ohm_subagents.plugin import ToolSuiteSpec, hookimpl
from ohm_subagents.testing import HERMETIC, MemoryHost, ScriptedBackend, Step

pytestmark = pytest.mark.anyio

CONFIG = {
    "subagentBackend": "scripted",
    "providers": {"acme": {"baseUrl": "http://127.0.0.1:1", "models": [{"id": "m", "contextWindow": 9}]}},
    "mcpServers": {"calc": {"command": "calc"}},
    "subagents": {
        "asyncStart": "allow",
        "sendToFinished": "resume",
        "models": {"fast": {"model": "acme/m", "thinking": "low"}},
        "loop": {"identicalCalls": 5},  # what is read of a default is remembered, from test to test
        "finder": {"tools": {"allow": ["read"], "deny": ["ls"]}, "limits": {"softMs": 9000}},
    },
    "suites": ["task", "curious", "delegate"],
    "suiteOptions": {"curious": {"about": "all"}},
    "uiMode": "compact",
}
TASK = {"subagent_type": "finder", "description": "d", "prompt": "p"}


def declared(schema: type[BaseModel] = OhmConfig, *, within=False):
    """Every field of every section, and whether it is reserved."""
    for name, field in schema.model_fields.items():
        reserved = within or field.json_schema_extra == RESERVED
        yield (schema, name), reserved
        for inner in (field.annotation, *get_args(field.annotation)):
            if isinstance(inner, type) and issubclass(inner, Section):
                yield from declared(inner, within=reserved)


@pytest.fixture
def reads(monkeypatch):
    """Return what was read of any section, or of what is handed on of one, since the test began."""
    seen = set()

    def recording(owner):
        plain = owner.__getattribute__

        def read(self, name):
            seen.add((type(self), name))
            return plain(self, name)

        monkeypatch.setattr(owner, "__getattribute__", read)

    for owner in (Section, Settings):
        recording(owner)
    return seen


class Curious:
    """A suite without tools that has options."""

    @hookimpl
    def ohm_tool_suites(self):
        return [ToolSuiteSpec(name="curious", summary="", build=self.build)]

    def build(self, context):
        assert context.settings().options == {"about": "all"}
        return ()


async def work():
    """A day in the life of an Ohm: every op, a batch, a background start, a delegation, a host with a screen."""
    backend = ScriptedBackend(default=Step(text="done", delay_s=1))
    async with Ohm.open(env=HERMETIC, config=CONFIG, plugins=[backend, Curious()], host=MemoryHost()) as ohm:
        result = await ohm.call("task", {"op": "start", "tasks": [TASK, TASK], "parallel": True}, on_update=print)
        assert result.details["batch_status"] == "completed", result.text
        assert result.render(expanded=False)
        await ohm.call("task", {"op": "start", "async": True, **TASK})
        done = result.details["items"][0]["id"]
        assert not (await ohm.call("task", {"op": "send", "id": done, "prompt": "and?"})).is_error
        assert not (await ohm.run("painter", "p")).is_err()
        assert (await ohm.call("delegate_to_subagents", {"tasks": [{"name": "d", "prompt": "p"}]})).text
        assert (await ohm.call("task", {"op": "status", "id": done})).text
        await anyio.sleep(60)  # the screen is cleared


class TestInVirtualTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_every_field_without_the_mark_is_read_by_an_ohm_at_work(self, reads):
        await work()
        missed = {unread(place) for place, reserved in declared() if not reserved and place not in reads}
        # Plugins read these of the JSON that hooks are given, the editor's agent reads the first, commands the second.
        elsewhere = {"OhmConfig.editor_subagent", "Subagents.server"}
        elsewhere |= {"Subagents.agent_files", "Subagents.agent_profiles"}
        assert missed == elsewhere | {"Subagents.model_aliases"}

    async def test_a_field_with_the_mark_is_read_by_nothing(self, reads):
        await work()
        assert [unread(place) for place, reserved in declared() if reserved and place in reads] == []

    async def test_what_is_handed_on_is_read_where_it_arrives(self, reads):
        await work()
        assert is_dataclass(Settings)
        missed = {unread((Settings, field.name)) for field in fields(Settings)} - {unread(place) for place in reads}
        assert missed == set()


def unread(place):
    schema, name = place
    return f"{schema.__name__}.{name}"


def test_the_fields_are_all_there():
    places = {unread(place): reserved for place, reserved in declared()}
    assert {"OhmConfig.output_max_chars", "SubagentEntry.model", "SubagentEntry.tools", "ProviderModel.id"} <= {*places}
    assert {name for name, reserved in places.items() if reserved and name.startswith("OhmConfig.")} == {
        "OhmConfig.painter"
    }
