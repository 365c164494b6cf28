"""`Ohm.inspect`: what a program needs for a `doctor` of its own."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from ohm_subagents import Ohm, Ok
from ohm_subagents.plugin import Decision, PermissionRequest, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio


class Curfew:
    """A plugin that lets no subagent run."""

    @hookimpl
    def ohm_permission(self, request: PermissionRequest) -> Decision:
        return Decision(verdict="deny", source="curfew", reason=request.profile.id)


async def test_a_program_sees_what_its_ohm_is_made_of(tmp_path) -> None:
    config = {"subagentBackend": "none", "suites": ["task", "todos"]}
    async with Ohm.open(cwd=tmp_path, env=HERMETIC, config=config, plugins=[Curfew()]) as ohm:
        parts = ohm.inspect()
        assert isinstance(parts.loaded, Ok)
        assert parts.loaded.ok_value.origin("subagentBackend") == "config"
        assert parts.place.cwd == tmp_path
        assert {profile.id for profile in ohm.profiles} <= {profile.id for profile in parts.profiles}
        assert "none" in parts.backends
        assert "delegate" in parts.suites
        assert ("Curfew", "passed in") in [(one.name, one.origin) for one in parts.plugins]
        tools = [(one.tool.name, one.suite, one.plugin) for one in parts.tools if not one.for_subagents]
        assert ("task", "task", "suites") in tools
        request = PermissionRequest(profile=parts.profiles[0], description="", prompt="", cwd=tmp_path, tools=())
        assert [one.source for one in parts.opinions(request)] == ["curfew"]
        assert any(one.severity == "info" for one in parts.checks([]))


async def test_what_was_seen_stays_as_it_was(tmp_path) -> None:
    async with Ohm.open(cwd=tmp_path, env=HERMETIC, config={"suites": ["task"]}) as ohm:
        before = ohm.inspect()
        await ohm.reconfigure(config={"suites": ["task", "todos"]})
        assert len(before.tools) < len(ohm.inspect().tools)
        with pytest.raises(FrozenInstanceError):
            before.tools = ()
