"""Model requests from the runners of a real Ray cluster: all that a run and its submitter say to each other."""

import anyio
import pytest
from advancing_loop import advance, advancing
from model_server import Call, Gate, ModelServer, Say
from ray_clusters import CANARY
from ray_submitter import opened

from ohm_subagents import Approve, ErrorCode, Limits
from ohm_subagents.contract import AnswerAwaited, GuardTripped, TextDelta
from ohm_subagents.testing import EventLog

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(180)]


AT_MODELS = {"pool": "models", "run": "interactive-sdk"}


@pytest.fixture
def anyio_backend():
    """Ray runs on asyncio alone. A test moves the time of its own process on."""
    return advancing("asyncio")


class Desk:
    """The model server of all tests here, with a script for each prompt; its address is told to the runners once."""

    def __init__(self):
        self.scripts = {}
        self.server = ModelServer(self._next)

    def says(self, prompt, *replies):
        self.scripts[prompt] = list(replies)

    def _next(self, request):
        begun = next(text for text in map(str, request.messages) if any(prompt in text for prompt in self.scripts))
        return self.scripts[next(prompt for prompt in self.scripts if prompt in begun)].pop(0)

    def asked(self, prompt):
        return [one for one in self.server.requests if any(prompt in str(each) for each in one.messages)]


@pytest.fixture(scope="module")
def desk():
    desk = Desk()
    with desk.server:
        yield desk


@pytest.fixture
def cluster(ray_cluster):
    return ray_cluster


@pytest.fixture
def joined(cluster, desk, tmp_path):
    """Open an `Ohm` with a provider that its runners have never heard of, whose key is in their environment alone."""
    providers = {"acme": {"baseUrl": desk.server.url, "apiKeyEnv": CANARY, "models": ["small"]}}

    def join(*plugins, **subagents):
        subagents = {"model": "acme/small", **subagents}
        options = {"store": "memory", "providers": providers, "subagents": subagents, **AT_MODELS}
        return opened(tmp_path, cluster.env, *plugins, **options)

    return join


class Looking:
    """A tool of the submitter that answers when the test lets it."""

    def __init__(self):
        self.called, self.may_answer = anyio.Event(), anyio.Event()

    @property
    def tool(self):
        async def look() -> str:
            """Look."""
            self.called.set()
            await self.may_answer.wait()
            return "seen"

        return look


async def test_a_provider_of_the_program_is_asked_by_the_runner_with_the_key_of_its_machine(cluster, desk, joined):
    desk.says("Say hello.", Say("Hello."))
    async with joined() as ohm:
        assert (await ohm.run("task", "Say hello.")).unwrap().output == "Hello."
        error = (await ohm.run("task", "Say hello.", model="acme/large")).unwrap_err()
    [asked] = desk.asked("Say hello.")
    assert asked.headers["authorization"] == f"Bearer {cluster.key}"
    assert (error.code, "large" in error.message) == (ErrorCode.MODEL_UNKNOWN, True)


async def test_a_program_whose_provider_differs_is_told_and_runs_on_a_pool_of_its_own(cluster, desk, joined, tmp_path):
    desk.says("Say first.", Say("First."))
    desk.says("Say second.", Say("Second."))
    other = {"store": "memory", "subagents": {"model": "acme/small"}, **AT_MODELS}
    other["providers"] = {"acme": {"baseUrl": desk.server.url}}
    async with joined() as ohm, opened(tmp_path, cluster.env, **other) as stranger:
        assert (await ohm.run("task", "Say first.")).unwrap().output == "First."
        error = (await stranger.run("task", "Say second.")).unwrap_err()
    async with opened(tmp_path, cluster.env, **{**other, "pool": "other-models"}) as stranger:
        assert (await stranger.run("task", "Say second.")).unwrap().output == "Second."
    assert error.message == (
        "The runners of the pool 'models' were started without the provider 'acme' as this program has it."
    )


async def test_a_follow_up_reaches_a_run_whose_tool_of_the_program_is_at_work(desk, joined):
    desk.says("Look around.", Say(Call("look")), Say("Both are done."))
    looking = Looking()
    async with joined() as ohm, anyio.create_task_group() as group:
        handle = await ohm.start("task", "Look around.", tools=[looking.tool])
        await looking.called.wait()
        group.start_soon(handle.send, "And behind you.")
        await anyio.wait_all_tasks_blocked()  # it is on its way, before the answer of the tool
        looking.may_answer.set()
        assert (await handle.wait()).unwrap().output == "Both are done."
        assert len(ohm.task(handle.id).runs) == 1
    _, last = desk.asked("Look around.")
    assert last.tool_results == ["seen"]
    assert "And behind you." in str(last.messages)


async def test_a_run_is_asked_to_answer_before_its_soft_limit_and_does(desk, joined):
    desk.says("Take your time.", Say("I begin.", gate := Gate(), Call("look")), Say("So far: nothing."))
    looking, log = Looking(), EventLog()
    looking.may_answer.set()
    async with joined(log) as ohm:
        limits = Limits(soft_ms=100_000)
        handle = await ohm.start("task", "Take your time.", tools=[looking.tool], limits=limits)
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        advance(95)
        await log.until(lambda _task, event: isinstance(event, GuardTripped) and event.step == "finish")
        gate.open()
        assert (await handle.wait()).unwrap().output == "So far: nothing."
    _, last = desk.asked("Take your time.")
    assert last.tool_names == []
    assert "Answer now" in str(last.messages)


async def test_a_call_that_waits_for_a_person_is_made_at_the_runner_once_it_is_approved(desk, joined, tmp_path):
    desk.says("Make it.", Say(Call("bash", {"command": f"touch {tmp_path / 'made'}"})), Say("It is made."))
    log = EventLog()
    async with joined(log, task={"tools": {"ask": ["bash"]}}) as ohm:
        handle = await ohm.start("task", "Make it.")
        await log.until(lambda _task, event: isinstance(event, AnswerAwaited))
        assert not (tmp_path / "made").exists()
        [request] = ohm.requests()
        (await ohm.answer(request.id, Approve())).unwrap()
        assert (await handle.wait()).unwrap().output == "It is made."
    assert (tmp_path / "made").exists()


async def test_a_cancelled_run_leaves_its_model_at_once(desk, joined):
    desk.says("Never end.", Say("I go on.", gate := Gate(), "And on."))
    log, aborts = EventLog(), desk.server.aborts
    async with joined(log) as ohm:
        handle = await ohm.start("task", "Never end.")
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        await handle.cancel()
        await desk.server.until(lambda server: server.aborts == aborts + 1)
        assert (ohm.task(handle.id).status, ohm.task(handle.id).text) == ("cancelled", "I go on.")
    gate.open()
