"""The bounds of a run of an agent of 003: the guards of every run, and whatever the configuration sets."""

import os
from itertools import pairwise

import anyio
import anyio.lowlevel
import pytest
from model_server import Call, ModelServer, Say
from real_pi import NEW, installed
from sticky_place import ASK, FINALIZE, found, hand_in

from ohm_subagents import Ohm
from ohm_subagents.contract import Err, ErrorCode, OhmError, TextDelta, ToolEnded, ToolStarted
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

LOOKING = {"tool": "read", "args": "{}"}


def circling(times, *, text="same"):
    """An agent that makes one call so often, each time by itself, before it hands in its answer."""

    async def act(request, sink):
        for n in range(times):
            sink.emit(ToolStarted(call_id=f"{n}", **LOOKING))
            sink.emit(ToolEnded(call_id=f"{n}", tool="read", status="success", text=text))
            await anyio.lowlevel.checkpoint()
        return await found(request, sink)

    return act


async def test_an_agent_that_goes_in_circles_is_stopped_like_any_other(opened):
    async with opened(circling(20)) as ohm:
        result = await ohm.call("subagent", ASK)
        runs = len(ohm.acting.requests)

    assert runs == 1
    assert result.details["finalized"]["status"] == "ERROR"
    assert "The tool read was called 7 times in a row with the same arguments." in result.text
    assert "subagents.loop.polling of ohm.json" in result.text


@pytest.mark.parametrize(
    ("loop", "status"),
    [
        ({"identicalCalls": 2}, "ERROR"),
        ({"identicalCalls": 0, "sameResults": 0}, "SUCCESS"),
        ({"identicalCalls": 0, "sameResults": 2}, "ERROR"),
        ({"polling": ["read"]}, "SUCCESS"),
    ],
)
async def test_the_rules_of_ohm_json_are_those_that_hold(opened, loop, status):
    async with opened(circling(4 if "polling" not in loop else 20), config={"subagents": {"loop": loop}}) as ohm:
        result = await ohm.call("subagent", ASK)

    assert result.details["finalized"]["status"] == status


async def test_answers_that_are_refused_over_and_over_are_a_circle_whatever_is_wrong_with_them(opened):
    tries = 0

    async def act(request, sink):
        nonlocal tries
        for n in range(40):
            tries += 1
            wrong = {"status": "SUCCESS", "result": "", "n": n} if n % 2 else {"status": "ERROR", "n": n}
            sink.emit(ToolStarted(call_id=f"{n}", tool=FINALIZE, args=f'{{"n": {n}}}'))
            sink.emit(ToolEnded(call_id=f"{n}", tool=FINALIZE, status="error", text=str(wrong)))
            await anyio.lowlevel.checkpoint()
        return ""

    async with opened(act) as ohm:
        result = await ohm.call("subagent", ASK)

    assert tries == 12
    assert result.details["finalized"]["status"] == "ERROR"


@pytest.mark.parametrize(
    ("config", "env", "said"),
    [
        ({"subagents": {"limits": {"capMs": 40}}}, {}, "longer than its cap of 40 ms"),
        ({"subagents": {"limits": {"idleMs": 40}}}, {}, "heard nothing from the model for 40 ms"),
        ({"backendTimeoutMs": 40}, {}, "timed out"),
        ({}, {"OHM_SUBAGENTS_BACKEND_TIMEOUT_MS": "40"}, "timed out"),
    ],
)
async def test_a_clock_that_the_configuration_sets_holds(opened, config, env, said):
    async def endless(_request, sink):
        sink.emit(TextDelta(text="Let me think."))
        await anyio.sleep_forever()

    async with opened(endless, config=config, env=env) as ohm:
        result = await ohm.call("subagent", ASK)
        runs = len(ohm.acting.requests)

    assert runs == 1
    assert result.details["finalized"]["status"] == "ERROR"
    assert said in result.text
    assert "task_" not in result.text.partition("---")[2]
    assert result.details["finalized"]["result"] == "Let me think."


async def test_a_tool_that_takes_too_long_is_not_told_as_the_time_of_the_option(opened):
    async def waiting(_request, sink):
        sink.emit(ToolStarted(call_id="1", **LOOKING))
        await anyio.sleep_forever()

    config = {"subagents": {"limits": {"toolMs": 40}}}
    async with opened(waiting, options={"timeoutMs": 60_000}, config=config) as ohm:
        result = await ohm.call("subagent", ASK)

    assert "had a call of the tool read in flight for 40 ms" in result.text
    assert "timeoutMs" not in result.text


async def test_a_request_that_its_provider_will_never_take_is_not_sent_again(opened):
    async def refused(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return Err(OhmError(code=ErrorCode.PROVIDER_REQUEST_REJECTED, message="The model rejected the request."))

    async with opened(refused) as ohm:
        result = await ohm.call("subagent", ASK)
        assert len(ohm.acting.requests) == 1

    assert "rejected the request" in result.text


class TestOverTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_without_a_word_of_the_configuration_no_clock_ends_an_agent(self, opened):
        async def slow(request, sink):
            sink.emit(TextDelta(text="Let me think."))
            await anyio.sleep(48 * 3600)
            return await found(request, sink)

        async with opened(slow) as ohm:
            result = await ohm.call("subagent", ASK)

        assert result.details["finalized"]["status"] == "SUCCESS"

    async def test_what_is_said_and_done_is_seen_while_it_goes_on(self, opened):
        async def busy(request, sink):
            for n in range(3):
                sink.emit(TextDelta(text=f"Step {n}. "))
                sink.emit(ToolStarted(call_id=f"{n}", tool="read", args=f'{{"path":"{n}.py"}}'))
                await anyio.sleep(1)
                sink.emit(ToolEnded(call_id=f"{n}", tool="read", status="success", text=f"lines of {n}"))
            await hand_in(request, sink, status="SUCCESS", result="All found")
            return ""

        frames = []
        async with opened(busy) as ohm:
            result = await ohm.call("subagent", ASK, on_update=frames.append)

        told = [frame.text for frame in frames]
        assert told[0] == "(running...)"
        assert "Step 0." in told[1]
        assert '○ read {"path":"0.py"}' in told[1]
        assert any("Step 1." in text and '○ read {"path":"1.py"}' in text for text in told)
        assert all(one != other for one, other in pairwise(told))
        assert result.text.endswith("All found")


class TestOnAModel:
    @pytest.fixture
    def anyio_backend(self):
        """pydantic-ai runs on asyncio only."""
        return "asyncio"

    @pytest.mark.sample(2)
    @pytest.mark.parametrize(
        "call",
        [Call("read", {"path": "prompts/scout.md"}), Call(FINALIZE, {"status": "SUCCESS", "result": " "})],
        ids=["work", "answer"],
    )
    async def test_a_model_in_a_circle_costs_a_handful_of_requests(self, place, call):
        async with ModelServer(*(Say(call) for _ in range(30))) as server:
            config = {"providers": {"acme": {"baseUrl": server.url}}, "subagents": {"model": "acme/m1"}}
            env = HERMETIC | {"HOME": str(place)}
            async with Ohm.open(cwd=place / "work", env=env, config=config, suites=["sticky"]) as ohm:
                result = await ohm.call("subagent", ASK)
            asked = len(server.requests)

        assert asked == 7
        assert result.details["finalized"]["status"] == "ERROR"
        assert "7 times in a row" in result.text

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "call",
        [Call("read", {"path": "prompts/scout.md"}), Call(FINALIZE, {"status": "SUCCESS", "result": " "})],
        ids=["work", "answer"],
    )
    async def test_the_same_holds_on_a_real_pi(self, place, call):
        shell = {"command": list(installed(NEW).command)}
        async with ModelServer(*(Say(call) for _ in range(300))) as server:
            config = {
                "subagentBackend": "interactive-shell",
                "providers": {"acme": {"baseUrl": server.url, "models": ["m1"]}},
                "subagents": {"model": "acme/m1", "backends": {"interactive-shell": shell}},
            }
            env = HERMETIC | {"HOME": str(place), "PATH": os.environ["PATH"]}
            async with Ohm.open(cwd=place / "work", env=env, config=config, suites=["sticky"]) as ohm:
                result = await ohm.call("subagent", ASK)
            asked = len(server.requests)

        assert asked < 100  # a pi asks on while it is told to stop
        assert "7 times in a row" in result.text
