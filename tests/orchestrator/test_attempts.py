"""Attempts at one prompt, profiles that a surface brings, and a depth of its own."""

import anyio.lowlevel
import pytest
from acting import ActingBackend
from surface import item, mounted

from ohm_subagents._orchestrator.transient import is_transient
from ohm_subagents.contract import (
    AgentOptions,
    Checkpointed,
    Err,
    ErrorCode,
    Failed,
    OhmError,
    Profile,
    Start,
    Succeeded,
)

pytestmark = pytest.mark.anyio


def failed(code=ErrorCode.BACKEND_FAILED, message="x", **fields):
    return Failed(error=OhmError(code=code, message=message, **fields))


@pytest.mark.parametrize(
    "message",
    [
        "internal_server_error",
        "Stream Error",
        "read ECONNRESET",
        "connect ECONNREFUSED 127.0.0.1",
        "ETIMEDOUT",
        "getaddrinfo ENOTFOUND",
        "Rate limit reached",
        "rate_limit_error",
        "Overloaded",
        "Temporarily unavailable",
        "Request timeout",
        "timed out: time-out",
    ],
)
def test_known_words_tell_that_it_may_pass(message):
    assert is_transient(failed(message=message))


@pytest.mark.parametrize(
    "outcome",
    [
        Succeeded(),
        failed(message="no such file"),
        failed(code=ErrorCode.BACKEND_TIMEOUT, message="timeout", retryable=True),
        failed(code=ErrorCode.LOOP_DETECTED, message="timeout"),
        failed(code=ErrorCode.BUDGET_EXCEEDED, message="rate limit"),
        failed(code=ErrorCode.MODEL_UNKNOWN, message="timeout"),
    ],
)
def test_everything_else_lasts(outcome):
    assert not is_transient(outcome)


def flaky(*failures):
    left = list(failures)

    async def act(request, sink):
        await anyio.lowlevel.checkpoint()
        sink.emit(Checkpointed(state=f"state of {request.prompt}"))
        return Err(left.pop(0)) if left else f"answer to {request.prompt}"

    return ActingBackend(act)


BROKEN = OhmError(code=ErrorCode.PROVIDER_CONNECTION_FAILED, message="It broke.", retryable=True)
LASTING = OhmError(code=ErrorCode.BACKEND_FAILED, message="It is gone.")


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
async def test_a_prompt_is_run_again_while_it_may_help(failures, attempts, runs, status):
    async with mounted(backend=flaky(*failures)) as surface:
        task = await started(surface, attempts=attempts)
    assert (len(task.runs), task.status) == (runs, status)
    assert task.error is None or task.error.message == failures[-1].message


async def test_another_attempt_knows_nothing_of_the_one_before():
    backend = flaky(BROKEN)
    async with mounted(backend=backend) as surface:
        await started(surface, attempts=2)
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
        (one,) = (await surface.engine.execute(Start(items=(item(attempts=5),)), abort=abort)).items
    assert (one.task.status, len(calls)) == ("cancelled", 2)


async def test_a_profile_that_the_surface_brings_needs_no_catalogue_but_is_under_the_same_rules():
    brought = Profile(id="guest", name="Guest", summary="", prompt="You are a guest.", agent=AgentOptions())
    backend = flaky()
    async with mounted(backend=backend) as surface:
        task = await started(surface, profile="anything", prepared=brought)
        await surface.ohm.reconfigure(
            config={"subagentBackend": "acting", "subagents": {"permissions": {"subagents": {"guest": "deny"}}}}
        )
        (refused,) = (await surface.engine.execute(Start(items=(item(prepared=brought),)))).items
    assert (task.profile, backend.requests[0].instructions) == ("guest", "You are a guest.")
    assert refused.error.code == ErrorCode.PERMISSION_DENIED


@pytest.mark.parametrize(("max_depth", "is_refused"), [(None, True), (1, True), (2, False)])
async def test_a_surface_may_have_a_depth_of_its_own(max_depth, is_refused):
    from ohm_subagents.testing import HERMETIC

    async with mounted(env=HERMETIC | {"PI_SUBAGENT_DEPTH": "1"}) as surface:
        (one,) = (await surface.engine.execute(Start(items=(item(),), max_depth=max_depth))).items
    assert (one.kind == "refused") is is_refused
    assert not is_refused or one.error.code == ErrorCode.DEPTH_EXCEEDED
