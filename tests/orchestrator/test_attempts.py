"""Attempts at one prompt, profiles that a surface brings, and a depth of its own."""

import anyio.lowlevel
import pytest
from acting import ActingBackend
from surface import item, mounted

from ohm_subagents.contract import (
    AgentOptions,
    Checkpointed,
    Err,
    ErrorCode,
    OhmError,
    Profile,
    Start,
)

pytestmark = pytest.mark.anyio


def flaky(*failures):
    left = list(failures)

    async def act(request, sink):
        await anyio.lowlevel.checkpoint()
        sink.emit(Checkpointed(state=f"state of {request.prompt}"))
        return Err(left.pop(0)) if left else f"answer to {request.prompt}"

    return ActingBackend(act)


BROKEN = OhmError(code=ErrorCode.PROVIDER_CONNECTION_FAILED, message="It broke.", retryable=True)
LASTING = OhmError(code=ErrorCode.BACKEND_FAILED, message="It is gone.")


def until(attempts):
    """The word of a surface: the same again after a broken connection, so often at most."""

    def again(task):
        outcome = task.runs[-1].outcome
        return len(task.runs) < attempts and outcome.kind == "failed" and outcome.error.retryable

    return again


async def started(surface, **fields):
    (one,) = (await surface.engine.execute(Start(items=(item(**fields),)))).items
    return one.task


@pytest.mark.parametrize(
    ("failures", "attempts", "runs", "status"),
    [
        ([BROKEN], 1, 1, "failed"),
        ([BROKEN], 2, 2, "succeeded"),
        ([BROKEN, BROKEN], 2, 2, "failed"),
        ([BROKEN, LASTING], 3, 2, "failed"),
        ([LASTING], 3, 1, "failed"),
    ],
)
async def test_a_prompt_is_run_again_while_the_surface_says_so(failures, attempts, runs, status):
    async with mounted(backend=flaky(*failures)) as surface:
        task = await started(surface, again=until(attempts))
    assert (len(task.runs), task.status) == (runs, status)
    assert task.error is None or task.error.message == failures[-1].message


async def test_an_answer_that_the_surface_does_not_take_is_asked_for_again():
    backend = flaky()
    async with mounted(backend=backend) as surface:
        task = await started(surface, again=lambda task: len(task.runs) < 3)
    assert (len(backend.requests), task.status) == (3, "succeeded")


async def test_another_attempt_knows_nothing_of_the_one_before():
    backend = flaky(BROKEN)
    async with mounted(backend=backend) as surface:
        await started(surface, again=until(2))
    assert [(one.prompt, one.history, one.checkpoint) for one in backend.requests] == [("p", (), None)] * 2


async def test_a_task_is_cancelled_in_the_middle_of_its_attempts():
    abort = anyio.Event()
    calls = []

    async def act(_request, _sink):
        calls.append(1)
        if len(calls) == 2:
            abort.set()
            await anyio.sleep_forever()
        await anyio.lowlevel.checkpoint()
        return Err(BROKEN)

    async with mounted(backend=ActingBackend(act)) as surface:
        (one,) = (await surface.engine.execute(Start(items=(item(again=until(5)),)), abort=abort)).items
    assert (one.task.status, len(calls)) == ("cancelled", 2)


async def test_a_profile_that_the_surface_brings_needs_no_catalogue_but_is_under_the_same_rules():
    brought = Profile(id="guest", name="Guest", summary="", prompt="You are a guest.", agent=AgentOptions())
    backend = flaky()
    async with mounted(backend=backend) as surface:
        task = await started(surface, profile=brought)
        await surface.ohm.reconfigure(
            config={"subagentBackend": "acting", "subagents": {"permissions": {"subagents": {"guest": "deny"}}}}
        )
        (refused,) = (await surface.engine.execute(Start(items=(item(profile=brought),)))).items
    assert (task.assignment.profile, backend.requests[0].instructions) == ("guest", "You are a guest.")
    assert refused.error.code == ErrorCode.PERMISSION_DENIED


async def test_what_ohm_json_says_of_an_id_is_not_about_a_profile_that_a_surface_brings_under_it():
    backend = flaky()
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
