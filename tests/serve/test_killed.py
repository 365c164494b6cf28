"""Servers and programs that are killed, stopped, or of another release: what there is afterwards, and what is said."""

import json
import os
import random
from collections import Counter
from contextlib import asynccontextmanager, contextmanager

import anyio
import pytest
from anyio import to_thread
from forking import forked
from loops import one_loop, real_clocks_slow_on_trio

from ohm_subagents import Approve, ErrorCode, Ohm
from ohm_subagents._app.served import link
from ohm_subagents.contract import RunStarted, TaskSettled, TextDelta
from ohm_subagents.serve import ask_server

pytestmark = pytest.mark.anyio
SUPPORT = f"{__file__.rpartition('/')[0]}/../support"
ROUNDS = int(os.environ.get("OHM_SERVE_ROUNDS", "2"))
"""Rounds of kills; more of them on demand."""


ASKING = {"subagentBackend": "acting", "subagents": {"task": {"tools": {"ask": ["edit"]}}}}
COUNTING = {"subagentBackend": "counting", "subagents": {"onClose": "detach"}}


@contextmanager
def started(script, *words):
    with forked(f"{SUPPORT}/{script}", *words) as process:
        assert process.stdout.readline() == "ready\n"
        yield process


@pytest.fixture
def serving(desk):
    """Start a server of the desk in a process of its own."""
    return lambda: started("serving_process.py", desk.directory, desk.socket)


@pytest.fixture
def runner(desk):
    with started("counting_runner.py", desk.directory) as process:
        yield process


async def text_of(handle):
    """Wait until a task has said something."""
    async for event in handle.events():
        if isinstance(event, TextDelta):
            return


def numbers(text):
    return [int(word) for word in text.split()]


@pytest.mark.slow
@one_loop
@pytest.mark.usefixtures("runner")
async def test_when_a_server_is_killed_a_task_that_its_backend_goes_on_with_is_taken_up_by_the_next(desk, serving):
    async with desk.program(config=COUNTING) as ohm:
        with serving() as server:
            handle = await ohm.start("finder", "500")
            await text_of(handle)
            server.kill()
            error = (await handle.wait()).unwrap_err()
            assert (error.code, error.retryable) == (ErrorCode.SERVER_UNREACHABLE, True)
        with serving():
            envelope = (await handle.wait()).unwrap()
            history = [one.event for one in await ohm.store.history(ohm.task(handle.id))]
    kinds = Counter(type(one) for one in history)
    assert (kinds[RunStarted], kinds[TaskSettled]) == (1, 1)
    assert numbers(envelope.output) == [*range(1, 501)]


@pytest.mark.slow
@one_loop
async def test_when_a_server_is_killed_what_its_other_tasks_did_is_kept_and_called_a_failure(desk, serving):
    async with desk.program() as ohm:
        with serving() as server:
            handle = await ohm.start("finder", "p")
            await text_of(handle)
            server.kill()
            (await handle.wait()).unwrap_err()
        with serving():
            error = (await handle.wait()).unwrap_err()
            assert error.code == ErrorCode.REHYDRATED_INCOMPLETE
            assert ohm.task(handle.id).text == "working"


@pytest.mark.slow
@one_loop
async def test_when_a_server_is_killed_its_requests_wait_and_the_next_one_asks_again(desk, serving):
    asked, answers = [], anyio.Event()

    async def person(request):
        asked.append(request.id)
        if len(asked) == 1:
            answers.set()
            await anyio.sleep_forever()
        return Approve()

    async with desk.program(config=ASKING, approvals=person) as ohm:
        with serving() as server:
            handle = await ohm.start("task", "p")
            await answers.wait()
            server.kill()
            (await handle.wait()).unwrap_err()
        with serving():
            async for event in ohm.handle(handle.id).events():
                settled = event
    assert asked[0] == asked[1]
    assert isinstance(settled, TaskSettled)
    assert settled.outcome.kind == "succeeded"


async def lost(handle):
    """Wait until the connection of its program is gone."""
    assert (await handle.wait()).unwrap_err().code == ErrorCode.SERVER_UNREACHABLE


@pytest.mark.slow
@one_loop
@pytest.mark.usefixtures("runner")
async def test_a_server_that_is_stopped_leaves_its_tasks_to_the_next(desk, serving):
    async with desk.program(config=COUNTING) as ohm:
        with serving():
            handle = await ohm.start("finder", "500")
            await text_of(handle)
            async with anyio.create_task_group() as group:
                group.start_soon(lost, handle)  # until then, a command may be on its way to the server that ends
                assert (await ask_server(desk.socket, stops=True)).unwrap().tasks == 1
        with serving():
            envelope = (await handle.wait()).unwrap()
    assert numbers(envelope.output) == [*range(1, 501)]


@pytest.mark.slow
@one_loop
@pytest.mark.usefixtures("runner")
async def test_whoever_is_killed_no_task_is_lost_and_none_ends_twice(desk, serving):
    """Servers and programs, at random moments."""
    chance, started_ids = random.Random(8), []
    client = f"{SUPPORT}/serving_client.py"
    for _ in range(ROUNDS):
        with serving() as server, forked(client, desk.directory, desk.socket, "counting", "300") as program:
            started_ids.append((await to_thread.run_sync(program.stdout.readline)).strip())
            await anyio.sleep(chance.uniform(0, 0.3))
            chance.choice([server, program]).kill()
            await anyio.sleep(chance.uniform(0, 0.1))
            server.kill()
    async with desk.program(config=COUNTING) as ohm:
        with serving():
            for task_id in started_ids:
                envelope = (await ohm.handle(task_id).wait()).unwrap()
                assert numbers(envelope.output) == [*range(1, 301)]
                history = [one.event for one in await ohm.store.history(ohm.task(task_id))]
                kinds = Counter(type(one) for one in history)
                assert (kinds[RunStarted], kinds[TaskSettled]) == (1, 1)


@pytest.mark.slow
@one_loop
async def test_code_without_an_event_loop_works_through_a_server(desk, serving):
    async def person(request):
        return Approve()

    def program():
        options = {"cwd": desk.directory, "env": desk.env, "config": ASKING, "approvals": person}
        with Ohm.sync(server=desk.socket, **options) as ohm:
            deliveries = ohm.deliveries("inbox")
            assert ohm.run("task", "p").unwrap().output == "edited"
            handle = ohm.start("task", "p")
            assert isinstance(list(handle.events())[-1], TaskSettled)
            assert handle.wait().unwrap().output == "edited"
            assert [next(deliveries).task.id for _ in range(2)][-1] == handle.id
            assert ohm.requests() == ()

    with serving():
        await to_thread.run_sync(program)


@asynccontextmanager
async def answering(desk, **first):
    """A server whose first message says this."""
    desk.socket.parent.mkdir(mode=0o700)

    async def handle(stream):
        async with stream:
            await stream.receive()
            await stream.send(json.dumps(first).encode() + b"\n")

    async with await anyio.create_unix_listener(desk.socket) as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handle)
        yield
        group.cancel_scope.cancel()


@real_clocks_slow_on_trio
@pytest.mark.parametrize(
    ("first", "said"),
    [
        ({"version": 9, "kind": "ohm_opened", "speaks": 9}, "The message has version 9; its reader knows"),
        (
            {"version": 2, "kind": "ohm_opened", "speaks": 9},
            "the server speaks version 9, this program versions",
        ),
        ({"version": 2, "kind": "ohm_refused", "reason": "Come later."}, "Come later."),
    ],
)
async def test_a_server_of_another_release_is_told_in_one_sentence(desk, first, said):
    async with answering(desk, **first), desk.program("none") as ohm:
        error = (await ohm.run("finder", "look")).unwrap_err()
    assert (error.code, said in error.message) == (ErrorCode.SERVER_UNREACHABLE, True)
    assert "ohm serve --stop" in error.advice


@real_clocks_slow_on_trio
async def test_a_program_of_an_older_release_is_served_in_its_version(desk, monkeypatch):
    monkeypatch.setattr(link, "VERSIONS", (1,))
    async with desk.server(), desk.program("none") as ohm:
        assert (await ohm.run("finder", "look")).is_ok()
        assert ohm._engine.orchestrator._link._frames.version == 1
