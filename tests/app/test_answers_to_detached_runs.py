"""Answers to runs that wait at their backend while no process is there: none is spent in vain, and none is lost."""

from contextlib import asynccontextmanager

import pytest
from loops import one_loop

from ohm_subagents import Approve, Deny, Err, Ohm, Ok
from ohm_subagents.plugin import BackendSpec, Capability, Options, RunOutput, hookimpl

pytestmark = pytest.mark.anyio


class AskingAgain:
    """A backend whose run asks about a call, and asks about it again where another `Ohm` attaches to it."""

    async def run(self, request, sink):
        del sink
        refusal = await request.gate.tool("edit", {"path": request.prompt})
        return Ok(RunOutput(text=refusal or f"edited {request.prompt}"))

    attach = run

    @hookimpl
    def ohm_backends(self):
        @asynccontextmanager
        async def opened(_options):
            yield self

        does = frozenset({Capability.ATTACHES, Capability.CALL_RULES})
        return (BackendSpec(id="asking", summary="", options=Options, open=opened, capabilities=does),)


def opened(directory, backend="asking"):
    rules = {"task": {"tools": {"ask": ["edit"]}}}
    config = {"subagentBackend": backend, "subagents": {"store": "sqlite", "onClose": "detach", **rules}}
    env = {"PI_CONFIG_DIR": str(directory), "HOME": str(directory), "OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
    plugins = [AskingAgain()] if backend == "asking" else []
    return Ohm.open(cwd=directory, env=env, config=config, plugins=plugins)


async def asked(ohm):
    """The request that is open, once there is one."""
    while not ohm.requests():
        [task] = ohm.store.recent()
        async for _ in ohm.handle(task.id).events():
            if ohm.requests():
                break
    [request] = ohm.requests()
    return request


async def left(directory):
    """The request of a task that was left to its backend."""
    async with opened(directory) as ohm:
        await ohm.start("task", "a.py")
        return await asked(ohm)


@one_loop
async def test_an_answer_from_where_its_backend_is_not_is_refused_and_not_spent(tmp_path):
    request = await left(tmp_path)
    async with opened(tmp_path, "none") as ohm:
        assert isinstance(refused := await ohm.answer(request.id, Deny("no")), Err)
        assert "its process has ended, and no backend 'asking' here takes it up" in refused.err_value.message
        assert ohm.requests() == (request,)
        assert ohm.task(request.task_id).status == "running"
    async with opened(tmp_path) as ohm:
        again = await asked(ohm)
        assert (await ohm.answer(again.id, Approve())).is_ok()
        assert (await ohm.handle(request.task_id).wait()).unwrap().output == "edited a.py"


@one_loop
async def test_an_answer_to_a_request_that_is_made_again_counts_for_the_new_one(tmp_path):
    request = await left(tmp_path)
    async with opened(tmp_path) as ohm:
        answered = (await ohm.answer(request.id, Deny("no way"))).unwrap()
        assert (answered.id != request.id, answered.digest) == (True, request.digest)
        assert "denied: no way" in (await ohm.handle(request.task_id).wait()).unwrap().output
        assert (await ohm.answer(request.id, Approve())).unwrap_err().code == "request_closed"


@one_loop
async def test_another_process_is_told_under_which_id_a_request_is_made_again(tmp_path):
    request = await left(tmp_path)
    async with opened(tmp_path) as owner, opened(tmp_path) as other:
        again = await asked(owner)
        await owner.store.flush()  # the owner knows of it before it is stored, the other from the store
        refused = (await other.answer(request.id, Approve())).unwrap_err()
        assert (refused.code, again.id in refused.advice) == ("request_closed", True)
        assert (await other.answer(again.id, Approve())).is_ok()
        assert (await owner.handle(request.task_id).wait()).unwrap().output == "edited a.py"
