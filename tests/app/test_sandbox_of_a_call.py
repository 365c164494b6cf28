"""`sandbox` of a call: it makes a task stricter, and never looser than what is demanded."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from ohm_subagents import Ohm
from ohm_subagents.plugin import Backend, BackendSpec, Capability, Ok, Options, RunOutput, hookimpl
from ohm_subagents.testing import HERMETIC

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from contextlib import AbstractAsyncContextManager

    from ohm_subagents.plugin import JsonObject, OhmError, Result, RunRequest, Sink
    from ohm_subagents.sandbox import SandboxMode

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """In real time, in which the machine is looked at."""
    return "asyncio"


class Teller:
    """A backend whose runs tell their sandbox; a prompt `outer` has another one tell it, twice."""

    ohm: Ohm

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        del sink
        if request.prompt != "outer":
            return Ok(RunOutput(text=request.sandbox.mode))
        plain = (await self.ohm.run("finder", "inner")).unwrap()
        looser = (await self.ohm.run("finder", "inner", sandbox="off")).unwrap()
        return Ok(RunOutput(text=f"{plain.output} {looser.output}"))

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Backend]:
            yield self

        can = frozenset({Capability.IN_PROCESS, Capability.CALL_RULES, Capability.SANDBOX})
        return [BackendSpec(id="teller", summary="Tells.", open=opened, options=Options, capabilities=can)]


def opened(teller: Teller, sandbox: SandboxMode = "off") -> AbstractAsyncContextManager[Ohm]:
    subagents = {"sandbox": sandbox, "budget": {"depth": 3}}
    return Ohm.open(env=HERMETIC, config={"subagentBackend": "teller", "subagents": subagents}, plugins=[teller])


async def test_the_tool_takes_a_sandbox_for_one_task_and_for_each_of_several() -> None:
    one: JsonObject = {"subagent_type": "finder", "description": "d", "prompt": "p"}
    async with opened(Teller()) as ohm:
        single = await ohm.call("task", {"op": "start", **one, "sandbox": "required"})
        several = await ohm.call("task", {"op": "start", "tasks": [{**one, "sandbox": "preferred"}, one]})
        wrong = await ohm.call("task", {"op": "start", **one, "sandbox": "yes"})
        sent = await ohm.call("task", {"op": "send", "id": "task_1", "prompt": "p", "sandbox": "required"})
    assert single.details["output"] == "required"
    assert [part in several.text for part in ("preferred", "off")] == [True, True]
    assert "required, preferred or off" in wrong.text
    assert "nothing is started without it" in sent.text


@pytest.mark.parametrize(
    ("demanded", "asked", "told"),
    [("required", "off", True), ("required", "preferred", True), ("preferred", "off", True), ("off", "off", False)],
)
async def test_a_call_that_asks_for_less_than_is_demanded_is_told_that_this_has_no_effect(
    demanded: SandboxMode, asked: SandboxMode, told: bool
) -> None:
    async with opened(Teller(), demanded) as ohm:
        envelope = (await ohm.run("finder", "p", sandbox=asked)).unwrap()
    assert envelope.output == demanded
    assert (f"sandbox '{asked}' has no effect: '{demanded}' is demanded" in f"{envelope.diagnostics}") == told


async def test_what_a_subagent_starts_is_held_at_least_as_strictly_as_itself() -> None:
    teller = Teller()
    async with opened(teller) as teller.ohm:
        assert (await teller.ohm.run("task", "outer", sandbox="required")).unwrap().output == "required required"
        assert (await teller.ohm.run("task", "outer")).unwrap().output == "off off"
