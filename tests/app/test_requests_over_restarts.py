"""Requests outlive their process: an approved tool runs exactly once, in whichever process, a denied one never."""

import json
import signal
import time
from contextlib import contextmanager

import anyio
import asking_process
import pytest
import working_process
from anyio.lowlevel import checkpoint
from asking_process import EditingModel, opened
from forking import forked
from loops import one_loop
from model_server import Call, ModelServer, Say

from ohm_subagents import Approve, Budget, Deny, ErrorCode, Ohm
from ohm_subagents._orchestrator import elsewhere
from ohm_subagents._orchestrator.run.answers import task_of
from ohm_subagents.contract import AnswerGiven, RunEnded, TaskSettled, Usage, UsageAdded
from ohm_subagents.plugin import hookimpl
from ohm_subagents.store import SentCommand
from ohm_subagents.suite import UNMOUNTED, ToolSuiteSpec

pytestmark = pytest.mark.anyio


@contextmanager
def process(directory, paths, levels=1):
    """A process with a task for each part of `paths`; gives it and the ids of its requests."""
    with process_of(asking_process, directory, paths, levels) as found:
        yield found


@contextmanager
def process_of(module, *words):
    with forked(module.__file__, *words) as child:
        yield child, json.loads(child.stdout.readline())


_INTERRUPTED = "The tool call was interrupted before a result was produced."


def edited(directory):
    file = directory / "edited"
    return sorted(file.read_text().split()) if file.exists() else []


async def other_requests(ohm, *known, number=1):
    """Wait for requests beside those that are known."""
    while len(found := [one for one in ohm.requests() if one.id not in known]) < number:  # noqa: ASYNC110  as in the process
        await anyio.sleep(0.02)
    return found


async def settled(ohm, task_id):
    return (await ohm.handle(task_id).wait()).unwrap()


@one_loop
async def test_a_request_whose_process_was_killed_is_answered_by_the_next_one(tmp_path):
    with process(tmp_path, "a,b") as (child, [first]):
        child.kill()
    model = EditingModel(tmp_path)
    async with opened(tmp_path, model) as ohm:
        [request] = ohm.requests()
        assert request.id == first
        assert ohm.task(request.task_id).status == "running"
        assert (await ohm.answer(first, Approve())).unwrap() == request
        second = (await ohm.answer(first, Approve())).err_value
        assert second.code == ErrorCode.REQUEST_CLOSED
        assert second.message.endswith("is not open any more: it has the answer 'approved [program]'.")
        later = await other_requests(ohm, first)
        assert later[0].arguments == '{"path":"b"}'
        await ohm.answer(later[0].id, Deny())
        envelope = await settled(ohm, request.task_id)
    async with opened(tmp_path, model) as ohm:
        assert ohm.task(request.task_id).output == envelope.output
    told = json.loads(envelope.output)
    assert (envelope.usage.requests, envelope.remaining.requests) == (3, 497), "one before the kill, two after it"
    assert told["a"] == "edited"
    assert "was denied" in told["b"]
    assert edited(tmp_path) == ["a"]


@one_loop
async def test_who_waits_for_a_task_that_outlived_its_process_waits_for_its_answer_and_its_end(tmp_path):
    with process(tmp_path, "a") as (child, [first]):
        child.kill()
    async with opened(tmp_path, EditingModel(tmp_path)) as ohm:
        asked = await ohm.call("task", {"op": "wait", "id": task_of(first)})
        assert asked.details["wait_status"] == "asked"
        async with anyio.create_task_group() as group:
            ended = []

            async def wait():
                ended.append(await settled(ohm, task_of(first)))

            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert ended == []
            await ohm.answer(first, Approve())
    assert json.loads(ended[0].output) == {"a": "edited"}


@one_loop
async def test_a_request_of_a_process_that_lives_is_answered_from_another_one(tmp_path):
    with process(tmp_path, "a") as (_, [first]):
        async with opened(tmp_path, EditingModel(tmp_path)) as ohm:
            [request] = ohm.requests()
            assert (await ohm.answer(first, Approve())).unwrap() == request
            envelope = await settled(ohm, request.task_id)
            assert (await ohm.answer(first, Approve())).err_value.code == ErrorCode.REQUEST_CLOSED
    assert json.loads(envelope.output) == {"a": "edited"}
    assert edited(tmp_path) == ["a"]


@one_loop
async def test_an_answer_that_its_process_did_not_live_to_take_counts_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(elsewhere, "TAKEN_WITHIN_S", 0.2)
    with process(tmp_path, "a/b") as (child, [first, second]):
        child.send_signal(signal.SIGSTOP)
        async with opened(tmp_path, EditingModel(tmp_path)) as ohm:
            stuck = (await ohm.answer(first, Approve())).err_value
            monkeypatch.setattr(elsewhere, "TAKEN_WITHIN_S", 30)
            async with anyio.create_task_group() as group:
                answered = []

                async def answer():
                    answered.append(await ohm.answer(second, Approve()))

                group.start_soon(answer)
                await anyio.sleep(0.1)
                assert answered == []
                child.kill()
            other = (await ohm.answer(first, Deny())).err_value
            for request_id in (first, second):
                await settled(ohm, task_of(request_id))
    assert (stuck.code, stuck.retryable) == (ErrorCode.ANSWER_NOT_TAKEN, True)
    assert answered[0].unwrap().id == second
    assert other.code == ErrorCode.REQUEST_CLOSED, "the approval was given before"
    assert edited(tmp_path) == ["a", "b"]


@one_loop
async def test_an_answer_that_only_a_later_version_can_read_is_none(tmp_path):
    async with opened(tmp_path, EditingModel(tmp_path)) as ohm:
        handle = await ohm.start("task", asking_process.prompt("a", 1))
        [request] = await other_requests(ohm)
        ohm.store.control.send(SentCommand(id="c1", task_id=request.task_id, command='{"kind":"postpone"}'))
        with anyio.fail_after(10):
            while ohm.store.control.state("c1").status != "answered":  # noqa: ASYNC110  as below
                await anyio.sleep(0.01)
        await ohm.answer(request.id, Approve())
        await handle.wait()
    assert edited(tmp_path) == ["a"]


class Acts:
    """A model that does what a test says."""

    def __init__(self, act):
        self.act = act


@one_loop
@pytest.mark.parametrize("content", ["secret = 'ghp_0123456789abcdefghij0123456789abcdef'", "long " * 2000, "short"])
async def test_the_prompt_that_goes_on_shows_arguments_only_as_they_were(tmp_path, content):
    prompts = []

    async def act(request, sink):
        prompts.append(request.prompt)
        refusal = await request.gate.tool("edit", {"path": "a", "content": content})
        return "edited" if refusal is None else refusal

    async with opened(tmp_path, Acts(act)) as ohm:
        await ohm.start("task", "p")
        [request] = await other_requests(ohm)
    async with opened(tmp_path, Acts(act)) as ohm:
        await ohm.answer(request.id, Approve())
        assert (await settled(ohm, request.task_id)).output == "edited"
    said = prompts[1].partition("Your call of 'edit' with the arguments ")[2].partition(" is approved: make it now")[0]
    hint = 'that the conversation shows in whole, and this redacted or cut: {"path":"a",'
    assert said == request.arguments if content == "short" else said.startswith(hint)
    assert len(said) < 500


@one_loop
async def test_an_answer_is_not_spent_where_its_task_could_not_go_on(tmp_path):
    model = EditingModel(tmp_path)
    async with opened(tmp_path, model) as ohm:
        await ohm.start("task", asking_process.prompt("a", 1))
        [request] = await other_requests(ohm)
    env = {"PI_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path), "OHM_SUBAGENTS_LOAD_PLUGINS": "interactive-sdk"}
    without_a_model = {"subagentBackend": "interactive-sdk", "subagents": {"store": "sqlite"}}
    async with Ohm.open(cwd=tmp_path, env=env, config=without_a_model) as ohm:
        error = (await ohm.answer(request.id, Deny())).err_value
        assert f"The answer to '{request.id}' was not taken, for its task cannot go on here" in error.message
        assert "--config" in error.advice
        assert ohm.requests() == (request,)
    async with opened(tmp_path, model) as ohm:
        assert (await ohm.answer(request.id, Approve())).is_ok()
        await settled(ohm, request.task_id)
    assert edited(tmp_path) == ["a"]


@one_loop
async def test_whoever_is_cancelled_while_its_answer_is_stored_leaves_no_task_that_nobody_runs(tmp_path):
    model = EditingModel(tmp_path)
    async with opened(tmp_path, model) as ohm:
        await ohm.start("task", asking_process.prompt("a", 1))
        [request] = await other_requests(ohm)
    async with opened(tmp_path, model) as ohm:
        async with anyio.create_task_group() as group:
            group.start_soon(ohm.answer, request.id, Approve())
            await checkpoint()
            group.cancel_scope.cancel()
        with anyio.fail_after(10):
            await settled(ohm, request.task_id)
    assert edited(tmp_path) == ["a"]


@one_loop
async def test_the_budget_of_a_task_that_is_taken_over_counts_what_it_used_and_has_its_name(tmp_path, monkeypatch):
    async def act(request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        return await request.gate.tool("edit", {"path": "a"}) or "edited"

    settings = {"tools": {"ask": ["edit"]}, "budget": {"requests": 1}}
    monkeypatch.setitem(asking_process.CONFIG["subagents"], "task", settings)
    async with opened(tmp_path, Acts(act)) as ohm:
        await ohm.start("task", "p")
        [request] = await other_requests(ohm)
    async with opened(tmp_path, Acts(act)) as ohm:
        await ohm.answer(request.id, Approve())
        error = (await ohm.handle(request.task_id).wait()).err_value
    assert error.message == "The budget of 1 model request of subagent 'task' is spent."


@one_loop
async def test_a_task_that_is_taken_over_keeps_to_the_budget_of_its_call(tmp_path):
    async def act(request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        return await request.gate.tool("edit", {"path": "a"}) or "edited"

    async with opened(tmp_path, Acts(act)) as ohm:
        await ohm.start("task", "p", budget=Budget(requests=1))
        [request] = await other_requests(ohm)
    async with opened(tmp_path, Acts(act)) as ohm:
        await ohm.answer(request.id, Approve())
        error = (await ohm.handle(request.task_id).wait()).err_value
    assert error.message == "The budget of 1 model request of the call is spent."


@one_loop
async def test_an_approval_that_the_run_does_not_use_holds_for_no_later_one(tmp_path):
    has_follow_up = anyio.Event()

    async def act(request, sink):
        if "interrupted" in request.prompt:
            await has_follow_up.wait()
            return "in another way"
        return await request.gate.tool("edit", {"path": "a"}) or "edited"

    async with opened(tmp_path, Acts(act)) as ohm:
        await ohm.start("task", "p")
        [request] = await other_requests(ohm)
    async with opened(tmp_path, Acts(act)) as ohm, anyio.create_task_group() as group:
        await ohm.answer(request.id, Approve())
        group.start_soon(ohm.handle(request.task_id).send, "more")
        await anyio.wait_all_tasks_blocked()
        has_follow_up.set()
        [again] = await other_requests(ohm)
        await ohm.answer(again.id, Deny())
    assert again.digest == request.digest


@one_loop
async def test_a_request_that_expired_while_nobody_ran_it_fails_its_task(tmp_path):
    with process(tmp_path, "a") as (child, [first]):
        child.kill()
    late = round((time.time() + 700) * 1000)
    async with opened(tmp_path, EditingModel(tmp_path), clock=lambda: late) as ohm:
        assert ohm.requests() == ()
        task = ohm.task(task_of(first))
        assert task.error.code == ErrorCode.REHYDRATED_INCOMPLETE
        given = [one.event for one in await ohm.store.history(task) if isinstance(one.event, AnswerGiven)]
        assert [(one.request_id, one.by) for one in given] == [(first, "cancel")]
        assert (await ohm.answer(first, Approve())).err_value.code == ErrorCode.REQUEST_CLOSED
    assert edited(tmp_path) == []


@pytest.mark.parametrize("levels", [1, 3])
async def test_leaving_the_block_leaves_a_task_that_waits_for_an_answer_to_the_next_ohm(tmp_path, levels):
    model = EditingModel(tmp_path)
    async with opened(tmp_path, model) as model.ohm:
        root = await model.ohm.start("task", asking_process.prompt("a,b", levels))
        [first] = await other_requests(model.ohm)
    async with opened(tmp_path, model) as ohm:
        assert ohm.requests() == (first,)
        if levels > 1:
            assert ohm.task(root.id).status == "cancelled", "it waited for one below, and not for an answer"
        await ohm.answer(first.id, Approve())
        [later] = await other_requests(ohm)
        await ohm.answer(later.id, Deny())
        output = (await settled(ohm, first.task_id)).output
        history = [each.event for each in await ohm.store.history(ohm.task(first.task_id))]
    assert json.loads(output)["a"] == "edited"
    assert edited(tmp_path) == ["a"]
    assert [event.by for event in history if isinstance(event, AnswerGiven)] == ["program", "program"]
    assert [event.outcome.kind for event in history if isinstance(event, RunEnded)] == ["cancelled", "succeeded"]


async def test_whoever_waits_for_a_task_that_is_left_reads_what_it_waits_for(tmp_path):
    told = {}

    async def run():
        told["run"] = await model.ohm.run("task", asking_process.prompt("a", 1))

    async def wait():
        told["wait"] = await handle.wait()

    async def send():
        told["send"] = await handle.send("more")

    async def read():
        told["events"] = [each async for each in handle.events()]

    async def call():
        task = {"op": "start", "subagent_type": "task", "prompt": asking_process.prompt("a", 1), "description": "d"}
        told["call"] = await model.ohm.call("task", task)

    model = EditingModel(tmp_path)
    async with anyio.create_task_group() as group, opened(tmp_path, model) as model.ohm:
        handle = await model.ohm.start("task", asking_process.prompt("a", 1))
        for each in (run, wait, send, read, call):
            group.start_soon(each)
        requests = await other_requests(model.ohm, number=3)
        await anyio.wait_all_tasks_blocked()
    assert {told[one].err_value.code for one in ("run", "wait", "send")} == {ErrorCode.WAIT_TIMEOUT}
    assert "waits for an answer to the request 'req_" in told["wait"].err_value.message
    assert not any(isinstance(event, TaskSettled) for event in told["events"])
    assert told["call"].details["status"] == "running"
    async with opened(tmp_path, model) as ohm:
        assert set(ohm.requests()) == set(requests)
        assert (await ohm.handle(handle.id).wait(timeout_ms=1)).err_value == told["wait"].err_value
        assert (await ohm.call("task", {"op": "wait", "ids": [handle.id]})).details["wait_status"] == "asked"


@one_loop
async def test_a_task_that_was_left_can_be_cancelled(tmp_path):
    model = EditingModel(tmp_path)
    async with opened(tmp_path, model) as ohm:
        left = [await ohm.start("task", asking_process.prompt(path, 1)) for path in ("a", "b")]
        await other_requests(ohm, number=2)
    async with opened(tmp_path, model) as ohm:
        assert await ohm.handle(left[0].id).cancel()
        assert (await ohm.call("task", {"op": "cancel", "id": left[1].id})).details["status"] == "cancelled"
        assert not await ohm.handle(left[0].id).cancel()
        assert [ohm.task(one.id).status for one in left] == ["cancelled", "cancelled"]
        assert ohm.requests() == ()
    assert edited(tmp_path) == []


async def test_a_task_that_its_caller_cancels_or_that_no_store_keeps_is_not_left(tmp_path):
    model = EditingModel(tmp_path)
    async with opened(tmp_path, model) as ohm:
        cancelled = await ohm.start("task", asking_process.prompt("a", 1))
        await other_requests(ohm)
        await cancelled.cancel()
        async with anyio.create_task_group() as group:
            group.start_soon(ohm.run, "task", asking_process.prompt("b", 1))
            await other_requests(ohm)
            group.cancel_scope.cancel()
    async with opened(tmp_path, model) as ohm:
        assert ohm.requests() == ()
        assert {task.status for task in ohm.store.tasks()} == {"cancelled"}
    async with opened(tmp_path, model, store_id="snapshot") as ohm:
        lost = await ohm.start("task", asking_process.prompt("c", 1))
        await other_requests(ohm)
    async with opened(tmp_path, model, store_id="snapshot") as ohm:
        assert ohm.task(lost.id).status == "cancelled"


class Closing:
    """A suite whose `Ohm` does not get any further in closing before `until` returns."""

    def __init__(self, until):
        self.until = until

    @hookimpl
    def ohm_tool_suites(self):
        yield ToolSuiteSpec(name="closing", summary="Takes its time.", build=self.build)

    def build(self, context):
        context.host.on(UNMOUNTED, self.until)
        return ()


@one_loop
async def test_an_answer_that_comes_as_the_ohm_closes_is_not_lost(tmp_path):
    model, answers = EditingModel(tmp_path), []
    is_closing = anyio.Event()

    async def answer():
        await is_closing.wait()
        answers.append(await other.answer(request.id, Approve()))

    async def until_answered(_event):
        is_closing.set()
        while not other.store.control.left(request.task_id):  # noqa: ASYNC110  no news comes from the store
            await anyio.sleep(0.01)

    async with opened(tmp_path, model) as other, anyio.create_task_group() as group:
        group.start_soon(answer)
        async with opened(tmp_path, model, plugins=[Closing(until_answered)], suites=["task", "closing"]) as closing:
            handle = await closing.start("task", asking_process.prompt("a", 1))
            [request] = await other_requests(other)
        await settled(other, handle.id)
    assert answers[0].unwrap() == request
    assert edited(tmp_path) == ["a"]


@pytest.mark.slow
@one_loop
@pytest.mark.parametrize(("levels", "end"), [(1, "kill"), (3, "kill"), (3, "close")])
async def test_three_children_with_two_approvals_each_and_a_restart_in_between(tmp_path, levels, end):
    """One call is denied, one expires, one is approved for always: each that is approved is made exactly once."""
    if end == "kill":
        with process(tmp_path, "a,both/b,both/c1,c2", levels) as (child, _):
            child.kill()
    else:
        model = EditingModel(tmp_path)
        async with opened(tmp_path, model) as model.ohm:
            for paths in ("a,both", "b,both", "c1,c2"):
                await model.ohm.start("task", asking_process.prompt(paths, levels))
            await other_requests(model.ohm, number=3)
    async with opened(tmp_path, EditingModel(tmp_path), requests={"expireMs": 3000}) as ohm:
        first = {json.loads(one.arguments)["path"]: one for one in ohm.requests()}
        assert sorted(first) == ["a", "b", "c1"]
        assert {len(one.path) for one in first.values()} == {levels}
        known = [one.id for one in first.values()]
        await ohm.answer(first["a"].id, Approve())
        [both] = await other_requests(ohm, *known)
        await ohm.answer(both.id, Approve("always"))
        await settled(ohm, both.task_id)
        await ohm.answer(first["b"].id, Approve())
        assert json.loads((await settled(ohm, first["b"].task_id)).output) == {"b": "edited", "both": "edited"}
        await ohm.answer(first["c1"].id, Deny())
        [last] = await other_requests(ohm, *known, both.id)
        told = json.loads((await settled(ohm, last.task_id)).output)
        assert (await ohm.answer(last.id, Approve())).err_value.code == ErrorCode.REQUEST_CLOSED
    assert "was denied" in told["c1"]
    assert "denied: nobody answered in time" in told["c2"]
    assert edited(tmp_path) == ["a", "b", "both", "both"]


@one_loop
async def test_calls_beside_one_that_waits_are_not_made_again_after_a_kill(tmp_path):
    user, cwd = tmp_path / "user", tmp_path / "project"
    (user / "subagents").mkdir(parents=True)
    cwd.mkdir()
    profile = "---\nid: worker\nsummary: Works\nmodel: acme/m1\ntools: {ask: ['bash: touch *']}\n---\nWork."
    (user / "subagents" / "worker.md").write_text(profile)
    beside, asks = Call("bash", {"command": "echo x >> beside"}), Call("bash", {"command": "touch asked"})
    fails = Call("read", {"path": "nowhere"})
    with ModelServer(Say(beside, fails, asks), Say(asks), Say("Done.")) as server:
        acme = {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["m1"]}
        (user / "ohm.json").write_text(json.dumps({"providers": {"acme": acme}}))
        with process_of(working_process, user, cwd) as (child, [asked_id]):
            child.kill()
        assert not (cwd / "asked").exists()
        async with working_process.opened(user, cwd) as ohm:
            [request] = ohm.requests()
            assert (request.id, request.tool) == (asked_id, "bash")
            await ohm.answer(request.id, Approve())
            envelope = await settled(ohm, request.task_id)
    assert envelope.output == "Done."
    assert (cwd / "asked").exists()
    assert (cwd / "beside").read_text() == "x\n"
    messages = server.requests[1].body["messages"]
    results = [one["content"] for one in messages if one["role"] == "tool"]
    assert results == ["[no output]", '{"error":"No such file or directory: \\"nowhere\\"."}', _INTERRUPTED]
    assert "shows as failed since then was interrupted, too, and not refused" in messages[-1]["content"]
    assert "is approved: make it now" in messages[-1]["content"]


@one_loop
async def test_an_approval_for_always_holds_in_the_next_process_and_is_taken_back_by_removing_its_file(tmp_path):
    model = EditingModel(tmp_path)

    async def asked_for(ohm):
        handle = await ohm.start("task", asking_process.prompt("a", 1))
        async with anyio.create_task_group() as group:
            found = []

            async def look():
                found.extend(await other_requests(ohm))
                await ohm.answer(found[0].id, Approve("always"))

            group.start_soon(look)
            await handle.wait()
            group.cancel_scope.cancel()
        return len(found)

    seen = []
    for _ in range(2):
        async with opened(tmp_path, model) as ohm:
            seen.append(await asked_for(ohm))
    [file] = (tmp_path / "approved-calls").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["arguments"] == '{"path":"a"}'
    file.unlink()
    async with opened(tmp_path, model) as ohm:
        seen.append(await asked_for(ohm))
    assert seen == [1, 0, 1]
