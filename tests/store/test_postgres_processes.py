"""Processes on one database: their tasks, deliveries and requests, and what a kill leaves."""

import json
import random
from contextlib import ExitStack

import anyio
import asking_process
import postgres_child
import pytest
from anyio import to_thread
from asking_process import EditingModel
from forking import forked
from postgres_child import opened

from ohm_postgres import writer
from ohm_subagents import Approve
from ohm_subagents._orchestrator.run.answers import task_of
from ohm_subagents.store import TaskQuery

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
CHILD = postgres_child.__file__


@pytest.fixture
def stores(database):
    return database


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.timeout(300)
async def test_two_processes_with_500_tasks_each_lose_nothing_and_each_is_delivered_once(stores, tmp_path):
    async with opened(tmp_path, stores.url) as ohm:
        deliveries = ohm.deliveries("parent")
        with ExitStack() as stack:
            starts = [forked(CHILD, tmp_path / f"{number}", stores.url, 500) for number in range(2)]
            children = [stack.enter_context(one) for one in starts]
            for child in children:
                assert child.stdout.readline() == "open\n"
                child.stdin.write("go\n")
            delivered = []
            with anyio.fail_after(60):
                async for delivery in deliveries:
                    delivered.append(delivery.task_id)
                    await delivery.ack()
                    if len(delivered) == 1000:
                        break
            ids = [line for child in children for line in child.stdout.read().split()]
            assert [child.wait() for child in children] == [0, 0]
        assert len({*ids}) == 1000
        assert sorted(delivered) == sorted(ids)
        assert {task.status for task in ohm.store.tasks()} == {"succeeded"}
        assert (ohm.store.count(), ohm.diagnostics) == (1000, ())


async def test_of_20_processes_that_are_killed_no_answer_is_lost_and_every_task_is_delivered_once(stores, tmp_path):
    answered, delivered, chance = set(), [], random.Random(7)
    async with opened(tmp_path, stores.url) as ohm:
        deliveries = ohm.deliveries("parent")
        for _ in range(20):
            with forked(CHILD, tmp_path / "child", stores.url, 0) as child:
                assert child.stdout.readline() == "open\n"
                child.stdin.write("go\n")
                for _ in range(chance.randrange(1, 40)):
                    answered.add((await to_thread.run_sync(child.stdout.readline)).strip())
                child.kill()
                child.wait()
            assert unsettled(ohm) == []
            await ohm.store.flush()
            for delivery in deliveries.pending():
                delivered.append(delivery.task_id)
                await delivery.ack()
        status = {task.id: task.status for task in ohm.store.tasks()}
        assert {status[task_id] for task_id in answered} == {"succeeded"}
        assert {*status.values()} <= {"succeeded", "failed"}
        assert sorted(delivered) == sorted(status)


def unsettled(ohm):
    return [one for one in ohm.store.list(TaskQuery()) if one.ok_value.ended_ms is None]


async def test_a_request_of_a_killed_process_is_answered_from_another_and_its_task_goes_on(stores, tmp_path):
    with forked(asking_process.__file__, tmp_path, "a", 1, stores.url) as child:
        [request] = json.loads(await to_thread.run_sync(child.stdout.readline))
        model = EditingModel(tmp_path)
        async with asking_process.opened(tmp_path, model, url=stores.url) as model.ohm:
            [open_request] = model.ohm.requests()
            assert open_request.id == request
            assert model.ohm.store.is_foreign(open_request.task_id)
            child.kill()
            child.wait()
            assert (await model.ohm.answer(request, Approve())).unwrap() == open_request
            envelope = (await model.ohm.handle(open_request.task_id).wait()).unwrap()
            assert json.loads(envelope.output) == {"a": "edited"}
            assert (tmp_path / "edited").read_text() == "a\n"


async def test_a_request_of_a_living_process_is_answered_from_another(stores, tmp_path):
    with forked(asking_process.__file__, tmp_path, "a", 1, stores.url) as child:
        [request] = json.loads(await to_thread.run_sync(child.stdout.readline))
        model = EditingModel(tmp_path)
        async with asking_process.opened(tmp_path, model, url=stores.url) as model.ohm:
            (await model.ohm.answer(request, Approve())).unwrap()
            with anyio.fail_after(20):
                while unsettled(model.ohm):  # noqa: ASYNC110  another process sets no event here
                    await anyio.sleep(0.05)
        assert (tmp_path / "edited").read_text() == "a\n"


async def test_whoever_answers_for_the_program_hears_of_a_process_that_is_killed_later(stores, tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "HEARTBEAT_S", 0.05)
    asked = []

    async def approve(request):
        asked.append(request.id)
        return Approve()

    async with asking_process.opened(tmp_path, EditingModel(tmp_path), url=stores.url, approvals=approve) as ohm:
        with forked(asking_process.__file__, tmp_path, "a", 1, stores.url) as child:
            [first] = json.loads(await to_thread.run_sync(child.stdout.readline))
            assert asked == []
            child.kill()
        while not (task := ohm.task(task_of(first))).is_terminal:  # noqa: ASYNC110  it may not be taken over yet
            await anyio.sleep(0.05)
    assert (task.status, asked) == ("succeeded", [first])
    assert (tmp_path / "edited").read_text() == "a\n"
