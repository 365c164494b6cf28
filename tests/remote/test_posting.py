"""The messages of a post: what its runs have in common travels once."""

from contextlib import asynccontextmanager

import anyio
import pytest
from acting import ActingBackend
from pydantic_core import to_json
from remote_backends import Remotely

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.testing import HERMETIC, ShakyTransport

pytestmark = pytest.mark.anyio
RUNS = 30


@asynccontextmanager
async def watched(act, versions=None):
    """An `Ohm` whose runs are `act` at a runner that knows these versions, and the transport between them."""
    wires = []

    def wrap(transport):
        wires.append(ShakyTransport(transport, seed=1, faults=0, versions=versions))
        return wires[-1]

    config = {"subagentBackend": "acting"}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[Remotely(ActingBackend(act), wrap)]) as ohm:
        yield ohm, wires


async def echoed(request, _sink):
    return f"{request.prompt} {request.profile.id} {request.instructions}"


def posts(wires):
    return [frame for wire in wires for frame in wire.frames if frame["kind"] == "post"]


async def burst(ohm):
    """The answers of many runs that are started at once."""
    answers = {}

    async def one(prompt):
        answers[prompt] = (await ohm.run("finder", prompt)).ok_value.output

    async with anyio.create_task_group() as group:
        for number in range(RUNS):
            group.start_soon(one, f"say {number}")
    return answers


async def test_runs_that_are_started_together_send_their_profile_and_their_instructions_once():
    async with watched(echoed) as (ohm, wires):
        answers = await burst(ohm)
    assert len(answers) == RUNS
    for prompt, answer in answers.items():
        assert answer.startswith(f"{prompt} finder You are Finder, a subagent")
    (largest,) = sorted(posts(wires), key=lambda post: len(post["messages"]))[-1:]
    assert len(largest["messages"]) > 1
    profile, instructions = largest["shared"]
    assert profile["id"] == "finder"
    assert instructions.startswith("You are Finder")
    size = len(to_json(largest))
    assert size < len(to_json(largest["shared"])) + 1000 * len(largest["messages"])


async def test_profiles_that_are_made_anew_for_each_run_are_sent_once_too():
    async with watched(echoed) as (ohm, wires), anyio.create_task_group() as group:

        async def one(number):
            (await ohm.run("finder", f"say {number}", result_type=dict[str, int])).err()

        for number in range(RUNS):
            group.start_soon(one, number)
    (largest,) = sorted(posts(wires), key=lambda post: len(post["messages"]))[-1:]
    assert len(largest["messages"]) > 1
    assert len(largest["shared"]) == 2


async def test_a_runner_of_an_older_release_gets_each_run_whole():
    async with watched(echoed, versions=(1, 2)) as (ohm, wires):
        answers = await burst(ohm)
    assert len(answers) == RUNS
    assert all(not post["shared"] for post in posts(wires))
    starts = [one for post in posts(wires) for one in post["messages"] if one["kind"] == "start"]
    assert {one["run"]["spec"]["profile"]["id"] for one in starts} == {"finder"}


async def test_runs_of_several_profiles_get_each_its_own():
    async def act(request, _sink):
        return request.profile.id

    async with watched(act) as (ohm, _), anyio.create_task_group() as group:

        async def one(name):
            assert (await ohm.run(name, "Who are you?")).ok_value.output == name

        for name in ("finder", "oracle", "librarian") * 5:
            group.start_soon(one, name)


async def test_a_run_that_refers_to_what_its_post_does_not_share_ends_with_a_sentence():
    class Forgetful(ShakyTransport):
        async def post(self, frame):
            return await super().post({**frame, "shared": frame["shared"][:1]})

    plugin = Remotely(ActingBackend(echoed), lambda transport: Forgetful(transport, seed=1, faults=0))
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "acting"}, plugins=[plugin]) as ohm:
        error = (await ohm.run("finder", "Is it?")).err_value
    assert error.code == ErrorCode.BACKEND_FAILED
    assert error.message == "The runner cannot read the run: It refers to part 1 of 1 that its post shares."
