"""The first run of a process: what it imports is imported off the event loop, once, and before its clocks begin."""

import asyncio
import threading

import anyio
import pytest
from advancing_loop import AdvancingLoop
from pydantic_ai.models.test import TestModel

from ohm_subagents import ErrorCode, Limits, Ohm
from ohm_subagents.contract import Ok
from ohm_subagents.plugin import ModelSpec, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

PATIENCE_S = 60
SHORT = Limits(soft_ms=2000, cap_ms=2000)


@pytest.fixture
def anyio_backend():
    """pydantic-ai runs on asyncio only."""
    return "asyncio", {"loop_factory": AdvancingLoop}


class Plug:
    """A provider whose models take until `release()` to be opened."""

    def __init__(self, answer=None):
        self._answer = answer
        self._entered, self._released = threading.Event(), threading.Event()
        self.opened_in = []

    @hookimpl
    def ohm_models(self):
        return (ModelSpec(provider="plug", summary="A plugin's.", open=self._open),)

    def _open(self, _pattern):
        self.opened_in.append(threading.current_thread())
        self._entered.set()
        assert self._released.wait(PATIENCE_S), "never released"
        return self._answer or Ok(TestModel(call_tools=[], custom_output_text="done"))

    async def entered(self):
        await anyio.to_thread.run_sync(self._entered.wait, PATIENCE_S)

    def release(self):
        self._released.set()


def opened(plug, **config):
    return Ohm.open(env=HERMETIC, config={"subagents": {"model": "plug/m"}, **config}, plugins=[plug])


async def pass_time(seconds):
    """Every wait that is over by then has ended."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep, seconds)
        await anyio.lowlevel.checkpoint()
        asyncio.get_running_loop().advance(seconds)


async def test_a_model_that_takes_longer_to_open_than_the_run_may_take_is_asked_all_the_same():
    plug = Plug()
    async with opened(plug) as ohm:
        handle = await ohm.start("task", "p", limits=SHORT)
        await plug.entered()
        await pass_time(3600)
        plug.release()
        assert (await handle.wait()).unwrap().output == "done"
    assert threading.main_thread() not in plug.opened_in


async def test_two_runs_at_once_open_a_model_once():
    plug = Plug()
    async with opened(plug) as ohm:
        first, second = await ohm.start("task", "p"), await ohm.start("oracle", "p")
        await plug.entered()
        plug.release()
        assert [(await handle.wait()).unwrap().output for handle in (first, second)] == ["done", "done"]
    assert len(plug.opened_in) == 1


async def test_neither_a_cancelled_run_nor_the_exit_waits_for_a_model_that_is_being_opened():
    plug = Plug()
    try:
        async with opened(plug) as ohm:
            handle = await ohm.start("task", "p", limits=SHORT)
            await plug.entered()
            await handle.cancel()
            assert (await handle.wait()).unwrap_err().code == ErrorCode.TASK_ABORTED
    finally:
        plug.release()
