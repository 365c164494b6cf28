"""Profiles that a surface brings, and a depth of its own."""

import anyio.lowlevel
import pytest
from acting import ActingBackend
from surface import item, mounted

from ohm_subagents.contract import AgentOptions, ErrorCode, Profile, Start

pytestmark = pytest.mark.anyio


async def answers(request, _sink):
    await anyio.lowlevel.checkpoint()
    return f"answer to {request.prompt}"


async def started(surface, **fields):
    (one,) = (await surface.engine.execute(Start(items=(item(**fields),)))).items
    return one.task


async def test_a_profile_that_the_surface_brings_needs_no_catalogue_but_is_under_the_same_rules():
    brought = Profile(id="guest", name="Guest", summary="", prompt="You are a guest.", agent=AgentOptions())
    backend = ActingBackend(answers)
    async with mounted(backend=backend) as surface:
        task = await started(surface, profile=brought)
        await surface.ohm.reconfigure(
            config={"subagentBackend": "acting", "subagents": {"permissions": {"subagents": {"guest": "deny"}}}}
        )
        (refused,) = (await surface.engine.execute(Start(items=(item(profile=brought),)))).items
    assert (task.assignment.profile, backend.requests[0].instructions) == ("guest", "You are a guest.")
    assert refused.error.code == ErrorCode.PERMISSION_DENIED


async def test_what_ohm_json_says_of_an_id_is_not_about_a_profile_that_a_surface_brings_under_it():
    backend = ActingBackend(answers)
    config = {"subagents": {"finder": {"model": "acme/own"}}}
    async with mounted(backend=backend, config=config) as surface:
        (listed,) = (one for one in surface.context.profiles() if one.id == "finder")
        for prepared in (listed, "finder", listed):
            await started(surface, profile=prepared)
    assert [request.model and str(request.model) for request in backend.requests] == [None, "acme/own", None]


@pytest.mark.parametrize(("max_depth", "is_refused"), [(None, True), (1, True), (2, False)])
async def test_a_surface_may_have_a_depth_of_its_own(max_depth, is_refused):
    from ohm_subagents.testing import HERMETIC

    async with mounted(env=HERMETIC | {"PI_SUBAGENT_DEPTH": "1"}) as surface:
        (one,) = (await surface.engine.execute(Start(items=(item(),), max_depth=max_depth))).items
    assert (one.kind == "refused") is is_refused
    assert not is_refused or one.error.code == ErrorCode.DEPTH_EXCEEDED
