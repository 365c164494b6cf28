"""Requests whose process has ended are put to whoever answers for the next program, and their tasks go on."""

import json
from contextlib import asynccontextmanager

import anyio
import asking_process
import pytest
from asking_process import EditingModel, opened
from forking import forked
from loops import one_loop, real_clocks

from ohm_subagents import Approve, Deny
from ohm_subagents.stores.sqlite import writer

pytestmark = pytest.mark.anyio


class Person:
    """Answers by the path that is to be edited; without an answer it thinks for ever."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []
        self.cancelled = []
        self.news = anyio.Event()

    async def __call__(self, request):
        path = json.loads(request.arguments)["path"]
        self.asked.append(path)
        self.news.set()
        if path not in self.answers:
            try:
                await anyio.sleep_forever()
            finally:
                self.cancelled.append(path)
        return self.answers[path]


async def leave(directory, *prompts, **options):
    """Start a task for each prompt, and close while they wait; return their requests by the paths to be edited."""
    model = EditingModel(directory)
    async with opened(directory, model, **options) as model.ohm:
        for paths, levels in prompts:
            await model.ohm.start("task", asking_process.prompt(paths, levels))
        while len(model.ohm.requests()) < len(prompts):  # noqa: ASYNC110  time is short
            await anyio.sleep(0.01)
        return {json.loads(one.arguments)["path"]: one for one in model.ohm.requests()}


async def ended(ohm, request):
    while not ohm.task(request.task_id).is_terminal:  # noqa: ASYNC110  it may not be taken over yet
        await anyio.sleep(0.01)
    return ohm.task(request.task_id)


def edited(directory):
    file = directory / "edited"
    return sorted(file.read_text().split()) if file.exists() else []


@real_clocks
async def test_approvals_is_asked_about_what_an_earlier_ohm_left_and_the_tasks_go_on(tmp_path):
    left = await leave(tmp_path, ("a1,a2", 1), ("b1,b2", 3))
    person = Person(a1=Approve(), a2=Approve(), b1=Deny(), b2=Approve("always"))
    async with opened(tmp_path, EditingModel(tmp_path), approvals=person) as ohm:
        tasks = [await ended(ohm, request) for request in left.values()]
    assert [task.status for task in tasks] == ["succeeded", "succeeded"]
    assert sorted(person.asked) == ["a1", "a2", "b1", "b2"]
    assert edited(tmp_path) == ["a1", "a2", "b2"]


@one_loop
async def test_a_process_that_lives_is_left_in_peace_and_one_that_was_killed_is_not(tmp_path):
    with forked(asking_process.__file__, tmp_path, "dead", 1) as dead:
        [request_id] = json.loads(dead.stdout.readline())
        dead.kill()
    person = Person(lives=Approve(), dead=Approve())
    async with opened(tmp_path, EditingModel(tmp_path)) as lives:
        handle = await lives.start("task", asking_process.prompt("lives", 1))
        while not lives.task(handle.id).requests:  # noqa: ASYNC110  time is short
            await anyio.sleep(0.01)
        async with opened(tmp_path, EditingModel(tmp_path), approvals=person) as ohm:
            [request] = [one for one in ohm.requests() if one.id == request_id]
            assert (await ended(ohm, request)).status == "succeeded"
            assert len(ohm.requests()) == 1
        await handle.cancel()
    assert person.asked == ["dead"]
    assert edited(tmp_path) == ["dead"]


@one_loop
async def test_requests_of_a_process_that_ends_later_are_heard_too_and_each_once(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "HEARTBEAT_S", 0.02)
    person = Person(a=Approve(), b=Deny())
    async with opened(tmp_path, EditingModel(tmp_path), approvals=person) as ohm:
        for path in ("a", "b"):
            left = await leave(tmp_path, (path, 1))
            assert (await ended(ohm, left[path])).status == "succeeded"
    assert person.asked == ["a", "b"]
    assert edited(tmp_path) == ["a"]


@asynccontextmanager
async def somebody_who_answers(ohm, person, by):
    with ohm.answering(person, by=by):
        await anyio.wait_all_tasks_blocked()
        yield


@one_loop
async def test_a_callback_for_the_program_is_asked_while_it_is_there_and_one_for_a_call_is_not(tmp_path):
    left = await leave(tmp_path, ("a", 1))
    person = Person()
    async with opened(tmp_path, EditingModel(tmp_path)) as ohm:
        for by in ("terminal", "editor", "client"):
            async with somebody_who_answers(ohm, person, by):
                assert person.asked == []
        async with somebody_who_answers(ohm, person, "program"):
            assert person.asked == ["a"]
        await anyio.wait_all_tasks_blocked()
        assert person.cancelled == ["a"]
        person.answers["a"] = Approve()
        async with somebody_who_answers(ohm, person, "host"):
            await ended(ohm, left["a"])
    assert edited(tmp_path) == ["a"]


@one_loop
async def test_what_is_answered_otherwise_is_asked_no_more(tmp_path):
    left = await leave(tmp_path, ("a", 1))
    person = Person()
    async with opened(tmp_path, EditingModel(tmp_path), approvals=person) as ohm:
        await person.news.wait()
        await ohm.answer(left["a"].id, Approve())
        await ended(ohm, left["a"])
        assert person.cancelled == ["a"]
    assert edited(tmp_path) == ["a"]


@one_loop
async def test_another_program_in_another_directory_is_not_asked(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    left = await leave(tmp_path, ("a", 1), cwd=tmp_path / "there")
    person = Person(a=Approve())
    async with opened(tmp_path, EditingModel(tmp_path), approvals=person, cwd=tmp_path / "here") as ohm:
        await anyio.wait_all_tasks_blocked()
        assert ohm.requests() == (left["a"],)
    assert person.asked == []


@one_loop
async def test_a_callback_that_fails_is_no_approval_and_two_programs_make_a_call_once(tmp_path):
    async def broken(request):
        raise RuntimeError("no")

    left = await leave(tmp_path, ("a", 1))
    async with opened(tmp_path, EditingModel(tmp_path), approvals=broken) as ohm:
        assert "was denied" in (await ended(ohm, left["a"])).output
    left = await leave(tmp_path, ("b", 1))
    people = Person(b=Approve()), Person(b=Approve())
    one, other = (opened(tmp_path, EditingModel(tmp_path), approvals=person) for person in people)
    async with one as first, other as second:
        await ended(first, left["b"])
        await ended(second, left["b"])
    assert edited(tmp_path) == ["b"]
