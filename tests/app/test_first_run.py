"""The first run of a process: what it imports is imported off the event loop, once, and before its clocks begin."""

import asyncio
import json
import sys
import threading

import anyio
import pytest
from advancing_loop import AdvancingLoop
from model_server import ModelServer, Say
from pydantic_ai.models.test import TestModel

from ohm_subagents import ErrorCode, Limits, Ohm
from ohm_subagents.backends.in_process import spec
from ohm_subagents.contract import Err, OhmError, Ok
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
        self._has_given_up = False
        self.opened_in = []

    @hookimpl
    def ohm_models(self):
        return (ModelSpec(provider="plug", summary="A plugin's.", open=self._open),)

    def _open(self, _pattern):
        self.opened_in.append(threading.current_thread())
        self._entered.set()
        self._has_given_up = not self._released.wait(PATIENCE_S)
        assert not self._has_given_up, "never released"
        return self._answer or Ok(TestModel(call_tools=[], custom_output_text="done"))

    async def entered(self):
        await anyio.to_thread.run_sync(self._entered.wait, PATIENCE_S)

    def release(self):
        self._released.set()

    @property
    def is_released(self):
        """Return True if the thread was let go, or has given up."""
        return self._released.is_set() or self._has_given_up


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
        await pass_time(500)
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


async def test_a_model_that_is_never_open_costs_ten_minutes_and_the_next_run_opens_it_anew():
    plug = Plug()
    try:
        async with opened(plug) as ohm:
            handle = await ohm.start("task", "p")
            await plug.entered()
            await pass_time(601)
            error = (await handle.wait()).unwrap_err()
            assert (error.code, error.retryable) == (ErrorCode.BACKEND_TIMEOUT, True)
            assert error.message == "The backend 'interactive-sdk' was not ready within 10 minutes."
            plug.release()
            assert (await ohm.run("task", "p")).unwrap().output == "done"
        assert len(plug.opened_in) == 2
    finally:
        plug.release()


async def test_neither_a_cancelled_run_nor_the_exit_waits_for_a_model_that_is_being_opened():
    plug = Plug()
    try:
        async with opened(plug) as ohm:
            handle = await ohm.start("task", "p", limits=SHORT)
            await plug.entered()
            await handle.cancel()
            assert (await handle.wait()).unwrap_err().code == ErrorCode.TASK_ABORTED
        assert not plug.is_released, "the exit waited for the thread"
    finally:
        plug.release()


async def test_neither_a_cancelled_run_nor_the_exit_waits_for_an_import(monkeypatch):
    importing = Plug()
    monkeypatch.setattr(spec, "_import", lambda: importing._open("pydantic_ai"))
    try:
        async with opened(Plug()) as ohm:
            handle = await ohm.start("task", "p", limits=SHORT)
            await importing.entered()
            await handle.cancel()
            assert (await handle.wait()).unwrap_err().code == ErrorCode.TASK_ABORTED
        assert not importing.is_released, "the exit waited for the thread"
    finally:
        importing.release()


async def test_a_model_that_cannot_be_opened_is_the_error_of_the_run_and_a_diagnostic_of_the_warm_up():
    plug = Plug(Err(OhmError(code=ErrorCode.PROVIDER_NOT_INSTALLED, message="There is no SDK.", advice="Install it.")))
    plug.release()
    async with opened(plug) as ohm:
        (told,) = await ohm.warm_up("task")
        error = (await ohm.run("task", "p")).unwrap_err()
    assert (told.subject, told.message) == ("task", "Subagent 'task' is not warmed up: There is no SDK. Install it.")
    assert (error.code, f"{error}") == (ErrorCode.PROVIDER_NOT_INSTALLED, "There is no SDK. Install it.")


async def test_a_key_that_is_missing_is_told_by_the_warm_up_and_nobody_is_asked():
    acme = {"baseUrl": "", "apiKeyEnv": "ACME_KEY", "models": ["small"]}
    async with ModelServer() as server:
        config = {
            "providers": {"acme": {**acme, "baseUrl": server.url}, "free": {"baseUrl": server.url}},
            "subagents": {"model": "acme/small", "finder": {"model": "free/any"}},
        }
        async with Ohm.open(env=HERMETIC, config=config) as ohm:
            told = await ohm.warm_up("oracle", "finder")
            assert [one.subject for one in told] == ["oracle"]
            assert "ACME_KEY" in told[0].message
        assert server.connections == 0


PROGRAM = """
import json, sys, threading
from itertools import groupby

import anyio

imported = []

class Witness:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"openai", "google", "pydantic_ai"}:
            imported.append((name.partition(".")[0], threading.current_thread() is threading.main_thread()))

sys.meta_path.insert(0, Witness())

from ohm_subagents import Ohm

async def main():
    url, env = json.loads(sys.argv[1])
    config = {
        "providers": {"acme": {"baseUrl": url, "models": ["small"]}},
        "subagents": {"model": "acme/small", "oracle": {"model": "google/gemini-2.5-pro"}},
    }
    async with Ohm.open(env=env, config=config) as ohm:
        assert imported == []
        told = await ohm.warm_up("finder", "oracle")
        sdks = [sdk for sdk, _ in groupby(name for name, _ in imported if name != "pydantic_ai")]
        from pydantic_ai.conversation import ConversationTypeAdapter
        from pydantic_ai.messages import ModelMessagesTypeAdapter
        built = [each.pydantic_complete for each in (ConversationTypeAdapter, ModelMessagesTypeAdapter)]
        before = set(sys.modules)
        answer = (await ohm.run("finder", "p")).unwrap().output
        new = [name for name in set(sys.modules) - before if name.partition(".")[0] in {"pydantic_ai", "openai"}]
        print(json.dumps([
            [str(each) for each in told], any(is_main for _, is_main in imported), sorted(sdks), built, new, answer
        ]))

anyio.run(main)
"""


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.slow
async def test_a_warm_up_leaves_nothing_to_import_and_imports_one_sdk_after_the_other_in_threads():
    async with ModelServer(Say("hello")) as server:
        given = json.dumps([server.url, HERMETIC | {"GEMINI_API_KEY": "k"}])
        done = await anyio.run_process([sys.executable, "-W", "error", "-c", PROGRAM, given], check=False, stderr=None)
    told, on_the_loop, sdks, built, new, answer = json.loads(done.stdout)
    assert told == []
    assert not on_the_loop
    assert sdks == ["google", "openai"], "two threads took turns"
    assert built == [True, True], "schemas that the loop would build"
    assert (new, answer) == ([], "hello")
