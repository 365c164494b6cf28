"""Open backends while their options change."""

from contextlib import asynccontextmanager

import anyio
import pytest

from ohm_subagents import Ohm
from ohm_subagents.plugin import BackendSpec, Ok, Options, RunOutput, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio


class NumberedOptions(Options):
    number: int = 0


class NumberedBackend:
    """Answers with the number in its options, at once or when its gate is opened; knows which are open."""

    def __init__(self):
        self.gates = {}
        self.is_open = []

    @hookimpl
    def ohm_backends(self):
        return (BackendSpec(id="numbered", summary="", options=NumberedOptions, open=self._opened),)

    @asynccontextmanager
    async def _opened(self, options):
        async with anyio.create_task_group():  # closes in the task that opened it, or raises
            self.is_open.append(options.number)
            yield _Numbered(options.number, self.gates.get(options.number))
            self.is_open.remove(options.number)


class _Numbered:
    def __init__(self, number, gate):
        self.number, self.gate = number, gate

    async def run(self, _request, _sink):
        if self.gate is not None:
            await self.gate.wait()
        return Ok(RunOutput(text=f"of {self.number}"))


def numbered(number):
    return {"subagentBackend": "numbered", "subagents": {"backends": {"numbered": {"number": number}}}}


async def test_a_backend_whose_options_change_is_closed_when_it_has_no_run():
    plugin = NumberedBackend()
    async with Ohm.open(env=HERMETIC, plugins=[plugin], config=numbered(0)) as ohm:
        for number in range(1, 6):
            assert (await ohm.run("finder", "p")).ok_value.output == f"of {number - 1}"
            await ohm.reconfigure(config=numbered(number))
        await ohm.run("finder", "p")
        await anyio.wait_all_tasks_blocked()
        assert plugin.is_open == [5]
    assert plugin.is_open == []


async def test_a_backend_whose_options_change_stays_open_until_its_last_run_has_ended():
    plugin = NumberedBackend()
    gate = plugin.gates[0] = anyio.Event()
    async with Ohm.open(env=HERMETIC, plugins=[plugin], config=numbered(0)) as ohm:
        first, second = await ohm.start("finder", "p"), await ohm.start("finder", "q")
        await anyio.wait_all_tasks_blocked()
        await ohm.reconfigure(config=numbered(1))
        await second.cancel()
        assert (await ohm.run("finder", "p")).ok_value.output == "of 1"
        await anyio.wait_all_tasks_blocked()
        assert plugin.is_open == [0, 1]

        gate.set()
        assert (await first.wait()).ok_value.output == "of 0"
        await anyio.wait_all_tasks_blocked()
        assert plugin.is_open == [1]


async def test_a_backend_that_is_retired_while_it_opens_still_does_the_run_that_opened_it():
    plugin = NumberedBackend()
    async with Ohm.open(env=HERMETIC, plugins=[plugin], config=numbered(0)) as ohm:
        handle = await ohm.start("finder", "p")
        while not plugin.is_open:
            await anyio.lowlevel.checkpoint()
        await ohm.reconfigure(config=numbered(1))
        assert (await handle.wait()).ok_value.output == "of 0"
        await anyio.wait_all_tasks_blocked()
        assert plugin.is_open == []
