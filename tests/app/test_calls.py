"""A program begins calls of tools, follows them by their ids, and finds them again, after a restart too."""

import anyio
import pytest
from another_process import another_process
from loops import slow_on_trio

from ohm_subagents import Call, ErrorCode, Handle, Ohm
from ohm_subagents.contract import Checkpointed, TextDelta
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio
RESUME = {"subagents": {"sendToFinished": "resume"}}
DEEP = {"subagents": {"budget": {"depth": 2}}}
ASYNC = {"subagents": {"asyncStart": "allow"}}


def start(prompt="p", **more):
    return {"op": "start", "subagent_type": "finder", "description": "d", "prompt": prompt, **more}


def batch(*prompts, **more):
    tasks = [{"subagent_type": "finder", "description": "d", "prompt": prompt} for prompt in prompts]
    return {"op": "start", "tasks": tasks, **more}


def seen(events):
    return [(each.task_id, each.event.kind) for each in events]


async def followed(call, **options):
    return [each async for each in call.events(**options)]


async def test_a_call_that_was_begun_has_the_result_of_one_that_was_waited_for():
    async with quick_ohm("done", "done") as ohm:
        called = await ohm.call("task", start())
        begun = await ohm.begin("task", start())
        result = await begun.wait()

    different = {"task_id", "session_id"}
    assert {**result.details, **dict.fromkeys(different)} == {**called.details, **dict.fromkeys(different)}
    assert (begun.task_ids, result.is_error) == (("task_2",), False)


async def test_the_tasks_of_a_call_are_known_as_it_starts_them():
    gate = anyio.Event()
    async with quick_ohm(Step(text="a", gate=gate), Step(text="b", gate=gate), config={"subagents": {}}) as ohm:
        call = await ohm.begin("task", batch("one", "two", parallel=True))
        await anyio.wait_all_tasks_blocked()
        assert call.task_ids == ("task_1", "task_2")
        assert ohm.handle(call.id).task_ids == call.task_ids
        assert [ohm.task(task_id).assignment.call for task_id in call.task_ids] == [call.id, call.id]
        gate.set()
        result = await call.wait()

    assert (result.details["batch_status"], result.details["accepted_count"]) == ("completed", 2)


async def test_the_events_of_a_call_are_the_past_then_the_present_of_all_its_tasks_and_end_with_them():
    gates = [anyio.Event(), anyio.Event()]
    steps = [Step(events=(TextDelta(text="a"), Checkpointed(state="[]")), gate=gate, text="done") for gate in gates]
    async with quick_ohm(*steps) as ohm, anyio.create_task_group() as group:
        call = await ohm.begin("task", batch("one", "two", parallel=True))
        await anyio.wait_all_tasks_blocked()
        read = []

        async def listen():
            read.extend(await followed(call))

        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        gates[1].set()
        await anyio.wait_all_tasks_blocked()
        gates[0].set()
        await call.wait()

    ended = ["run_ended", "task_settled"]
    assert seen(read) == [
        *(("task_1", "text_delta"), ("task_2", "text_delta")),
        *(("task_2", kind) for kind in ended),
        *(("task_1", kind) for kind in ended),
    ]


async def test_events_read_from_the_beginning_leave_out_the_conversation_unless_it_is_asked_for():
    talk = Step(events=(Checkpointed(state="[1]"),), text="done")
    async with quick_ohm(talk, talk) as ohm:
        for with_checkpoints in (False, True):
            call = await ohm.begin("task", start())
            kinds = {each.event.kind for each in await followed(call, with_checkpoints=with_checkpoints)}
            assert ("checkpointed" in kinds) is with_checkpoints
            assert {"task_queued", "run_started", "task_settled"} <= kinds


async def test_whoever_reads_a_finished_call_gets_what_is_kept():
    async with quick_ohm(Step(events=(TextDelta(text="a"),), text="done")) as ohm:
        call = await ohm.begin("task", start())
        await call.wait()
        assert seen(await followed(call)) == [("task_1", "text_delta"), ("task_1", "task_settled")]
        assert await call.cancel() is False


async def test_the_run_of_a_follow_up_streams_through_its_call():
    async with quick_ohm("one", Step(events=(TextDelta(text="b"),), text="two"), config=RESUME) as ohm:
        handle = await ohm.start("finder", "first")
        await handle.wait()
        sent = await ohm.begin("task", {"op": "send", "id": handle.id, "prompt": "second"})
        events = seen(await followed(sent))
        result = await sent.wait()

    assert sent.task_ids == ("task_2",)
    assert ("task_2", "text_delta") in events
    assert events[-1] == ("task_2", "task_settled")
    assert (result.details["output"], result.details["resumed_from"]) == ("two", "task_1")


async def test_a_follow_up_to_a_task_that_goes_on_streams_too():
    gate = anyio.Event()
    steps = Step(text="one", gate=gate), Step(events=(TextDelta(text="b"),), text="two")
    async with quick_ohm(*steps) as ohm, anyio.create_task_group() as group:
        handle = await ohm.start("finder", "first")
        await anyio.wait_all_tasks_blocked()
        sent, read = await ohm.begin("task", {"op": "send", "id": handle.id, "prompt": "second"}), []

        async def listen():
            read.extend(await followed(sent))

        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        gate.set()

    assert sent.task_ids == ()
    assert ("task_1", "text_delta") in seen(read)


async def test_a_handle_follows_the_task_that_its_follow_up_has_become():
    gate, kinds = anyio.Event(), []
    async with quick_ohm("one", Step(text="two", gate=gate), config=RESUME) as ohm, anyio.create_task_group() as group:
        handle = await ohm.start("finder", "first")
        await handle.wait()
        group.start_soon(handle.send, "second")
        await anyio.wait_all_tasks_blocked()
        assert (handle.id, handle.task_ids) == ("task_2", ("task_2",))

        async def listen():
            kinds.extend([event.kind async for event in handle.events()])

        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        gate.set()

    assert kinds == ["run_ended", "task_settled"]


async def test_cancelling_a_call_settles_all_its_tasks_at_once():
    steps = Step(gate=anyio.Event()), Step(gate=anyio.Event())
    async with quick_ohm(*steps) as ohm:
        call = await ohm.begin("task", batch("one", "two", parallel=True))
        await anyio.wait_all_tasks_blocked()

        assert await call.cancel() is True
        assert [ohm.task(task_id).status for task_id in call.task_ids] == ["cancelled", "cancelled"]
        result = await call.wait()
        assert [item["status"] for item in result.details["items"]] == ["cancelled", "cancelled"]
        assert await call.cancel() is False


async def test_a_call_that_is_cancelled_before_it_begins_starts_nothing():
    async with quick_ohm() as ohm:
        call = await ohm.begin("task", start())
        assert await call.cancel() is True
        assert (await call.wait()).details["status"] == "cancelled"
        assert [task.status for task in ohm.store.tasks()] in (["cancelled"], [])


async def test_cancelling_a_call_ends_its_tasks_in_the_background():
    async with quick_ohm(Step(gate=anyio.Event()), config=ASYNC) as ohm:
        call = await ohm.begin("task", {**start(), "async": True})
        assert (await call.wait()).details["status"] in {"queued", "running"}
        await anyio.wait_all_tasks_blocked()
        assert await call.cancel() is True
        assert ohm.task("task_1").status == "cancelled"


async def test_the_events_of_a_call_go_on_until_its_tasks_in_the_background_are_over():
    gate, read = anyio.Event(), []
    async with quick_ohm(Step(text="done", gate=gate), config=ASYNC) as ohm, anyio.create_task_group() as group:
        call = await ohm.begin("task", {**start(), "async": True})

        async def listen():
            read.extend(await followed(call))

        group.start_soon(listen)
        await call.wait()
        await anyio.wait_all_tasks_blocked()
        gate.set()

    assert seen(read)[-1] == ("task_1", "task_settled")


async def test_a_waiter_that_goes_away_cancels_nothing():
    gate = anyio.Event()
    async with quick_ohm(Step(events=(TextDelta(text="so far"),), text="done", gate=gate)) as ohm:
        call = await ohm.begin("task", start())
        await anyio.wait_all_tasks_blocked()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await call.wait()
        reader = call.events()
        await anext(reader)
        await reader.aclose()
        gate.set()
        assert (await call.wait()).details["output"] == "done"


async def test_a_second_call_with_the_id_of_the_first_is_the_first():
    async with quick_ohm("done") as ohm:
        calls = [await ohm.begin("task", start(), call_id="request-7") for _ in range(2)]
        results = [await call.wait() for call in calls]

    assert [call.id for call in calls] == ["request-7", "request-7"]
    assert [result.details["task_id"] for result in results] == ["task_1", "task_1"]


@pytest.mark.parametrize("call_id", ["", "a\nb", "x" * 201, 7])
async def test_an_id_that_cannot_be_one_is_the_answer_of_its_call(call_id):
    async with quick_ohm("done") as ohm:
        result = await (await ohm.begin("task", start(), call_id=call_id)).wait()
        assert (result.is_error, result.details["error_code"]) == (True, ErrorCode.INVALID_TOOL_ARGUMENTS)
        assert result.text == f"call_id is {call_id!r:.60}; allowed: 1 to 200 printable characters."
        assert [*ohm.store.tasks()] == []
        await ohm.run("finder", "p")


async def test_a_call_of_no_tool_answers_so():
    async with quick_ohm() as ohm:
        result = await (await ohm.begin("nothing", {})).wait()
    assert (result.is_error, result.details["error_code"]) == (True, "unknown_tool")


async def test_arguments_that_no_tool_can_take_are_the_answer_of_its_call():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    circle = {"op": "start"}
    circle["again"] = circle
    async with quick_ohm() as ohm:
        for arguments in (deep, circle, object(), start(prompt="x" * 1_000_000)):
            result = await (await ohm.begin("task", arguments)).wait()
            assert result.is_error is (arguments is deep or arguments is circle or not isinstance(arguments, dict))
        while deep:
            deep = deep.pop()


async def test_progress_frames_of_a_begun_call_are_those_of_any_call():
    frames = []
    async with quick_ohm("done") as ohm:
        call = await ohm.begin("task", start(), on_update=frames.append)
        await call.wait()
    assert frames[-1].details["status"] == "succeeded"


async def test_an_ohm_that_closes_ends_its_calls_and_their_waiters():
    results, read = [], []
    async with anyio.create_task_group() as group, quick_ohm(Step(gate=anyio.Event())) as ohm:
        call = await ohm.begin("task", start())

        async def wait():
            results.append(await call.wait())

        async def listen():
            read.extend(seen(await followed(call)))

        group.start_soon(wait)
        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()

    assert results[0].details["status"] == "cancelled"
    assert read[-1] == ("task_1", "task_settled")


async def test_the_events_of_all_tasks_come_with_their_ids_until_the_ohm_closes():
    read, gate = [], anyio.Event()
    async with anyio.create_task_group() as group, quick_ohm(Step(text="a", gate=gate), "b") as ohm:
        first = await ohm.start("finder", "one")
        await anyio.wait_all_tasks_blocked()

        async def listen():
            read.extend([each async for each in ohm.events()])

        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        gate.set()
        await first.wait()
        await ohm.run("finder", "two")

    assert seen(read) == [
        *(("task_1", kind) for kind in ("run_ended", "task_settled")),
        *(("task_2", kind) for kind in ("task_queued", "run_started", "run_ended", "task_settled")),
    ]


async def test_a_task_is_found_by_its_id_and_nothing_by_another():
    gate = anyio.Event()
    async with quick_ohm(Step(text="done", gate=gate)) as ohm:
        started = await ohm.start("finder", "p")
        found = ohm.handle(started.id)
        assert isinstance(found, Handle)
        gate.set()
        assert (await found.wait()).ok_value.output == "done"
        assert ohm.handle("task_9") is None


async def test_a_call_of_a_subagent_is_not_part_of_the_call_above_it():
    """A task that a subagent starts is kept with its parent, and not with the call of the program."""
    ohms = []

    class Nesting(ScriptedBackend):
        async def run(self, request, sink):
            if request.depth == 1:
                await ohms[0].run("finder", "below")
            return await super().run(request, sink)

    async with quick_ohm(backend=Nesting(default=Step(text="done")), config=DEEP) as ohm:
        ohms.append(ohm)
        call = await ohm.begin("task", start())
        await call.wait()

        assert call.task_ids == ("task_1",)
        assert (ohm.task("task_2").assignment.parent, ohm.task("task_2").assignment.call) == ("task_1", None)


async def test_tasks_that_a_start_without_an_id_begins_together_have_one_and_are_found_by_it():
    """Whichever tool starts them, or however it is called; one alone, and those of a subagent, need none."""
    ohms = []

    class Nesting(ScriptedBackend):
        async def run(self, request, sink):
            if request.depth == 1 and request.prompt == "one":
                await ohms[0].call("task", batch("below", "beside"))
            return await super().run(request, sink)

    async with quick_ohm(backend=Nesting(default=Step(text="done")), config=DEEP) as ohm:
        ohms.append(ohm)
        await ohm.call("task", start())
        await ohm.call("task", batch("one", "two"))
        await ohm.call("task", batch("three", "four"))
        tasks = {task.assignment.prompt: task for task in ohm.store.tasks()}
        calls = {prompt: task.assignment.call for prompt, task in tasks.items()}
        found = ohm.handle(calls["one"])
        assert found.task_ids == (tasks["one"].id, tasks["two"].id)
        assert (await found.wait()).details["accepted_count"] == 2

    assert calls["one"] == calls["two"] != calls["three"] == calls["four"]
    assert {calls["p"], calls["below"], calls["beside"]} == {None}


async def test_a_hundred_calls_that_are_over_are_remembered_and_the_others_by_their_tasks():
    async with quick_ohm() as ohm:
        calls = [await ohm.begin("task", {"op": "status", "ids": ["task_9"]}) for _ in range(101)]
        for call in calls:
            await call.wait()
        await ohm.begin("task", {"op": "status", "ids": ["task_9"]})
        assert [ohm.handle(call.id) is None for call in (calls[0], calls[1], calls[2], calls[-1])] == [
            *(True, True),
            *(False, False),
        ]


@pytest.mark.parametrize("op", ["status", "wait", "send", "cancel"])
async def test_options_of_a_call_that_starts_no_task_are_told(op):
    async with quick_ohm("one") as ohm:
        first = await (await ohm.begin("task", start(), background_after_ms=60_000)).wait()
        about = {"ids": ["task_1"]} if op in ("status", "wait") else {"id": "task_1", "prompt": "again"}
        result = await (await ohm.begin("task", {"op": op, **about}, background_after_ms=0, deny=["bash"])).wait()
        plain = await (await ohm.begin("task", {"op": op, **about}, cwd=None)).wait()

    assert first.details.get("diagnostics") is None
    told = "Ignored 'background_after_ms', 'deny': this call starts no task."
    assert [told in one.details.get("diagnostics", []) for one in (result, plain)] == [True, False]
    assert told not in result.text


class TestAfterARestart:
    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(self, request):
        """Real time: a virtual clock would jump while the disk is waited for."""
        return request.param

    def opened(self, folder, store="sqlite", *steps):
        env = HERMETIC | {"PI_CONFIG_DIR": str(folder), "OHM_SUBAGENTS_STORE": store}
        backend = ScriptedBackend(*steps, default=Step(text="done"))
        return Ohm.open(env=env, config={"subagentBackend": "scripted"}, plugins=[backend])

    @pytest.mark.parametrize("store", ["sqlite", "snapshot"])
    async def test_a_call_is_found_by_its_id_with_the_result_that_its_tasks_add_up_to(self, tmp_path, store):
        async with self.opened(tmp_path, store) as ohm:
            one, two = await ohm.begin("task", start()), await ohm.begin("task", batch("a", "b"))
            results = [await call.wait() for call in (one, two)]
        async with self.opened(tmp_path, store) as ohm:
            assert ohm.handle("call_of_nobody") is None
            found = [ohm.handle(call.id) for call in (one, two)]
            assert [call.task_ids for call in found] == [one.task_ids, two.task_ids]
            again = [await call.wait() for call in found]
            assert seen(await followed(found[0]))[-1] == (one.task_ids[0], "task_settled")
            assert await found[0].cancel() is False
            assert all(isinstance(call, Call) for call in found)

        keys = {"op", "status", "output", "task_id", "batch_status", "accepted_count"}
        for before, after in zip(results, again, strict=True):
            assert {key: after.details.get(key) for key in keys} == {key: before.details.get(key) for key in keys}

    async def test_a_call_that_was_cut_off_says_what_became_of_it(self, tmp_path):
        with anyio.CancelScope() as scope:
            async with self.opened(tmp_path, "sqlite", Step(gate=anyio.Event())) as ohm:
                call = await ohm.begin("task", start(), call_id="mine")
                async for each in call.events():
                    if each.event.kind == "run_started":
                        scope.cancel()
        async with self.opened(tmp_path) as ohm:
            found = await ohm.begin("task", start(), call_id="mine")
            result = await found.wait()
            assert (found.task_ids, result.details["status"]) == (call.task_ids, "cancelled")

    @slow_on_trio
    async def test_a_task_that_another_process_runs_is_followed_to_its_end(self, tmp_path):
        with another_process(tmp_path) as (task_id, process):
            async with self.opened(tmp_path) as ohm:
                handle, kinds = ohm.handle(task_id), []
                async for event in handle.events():
                    kinds.append(event.kind)
                    if event.kind == "tool_started":
                        process.kill()
                        process.wait()

        assert kinds[-5:] == ["text_delta", "tool_started", "tool_ended", "run_ended", "task_settled"]

    @slow_on_trio
    async def test_a_call_of_another_process_is_followed_to_its_end(self, tmp_path):
        with another_process(tmp_path) as (task_id, process):
            async with self.opened(tmp_path) as ohm:
                call, read = ohm.handle("elsewhere"), []
                assert call.task_ids == (task_id,)
                async for each in call.events():
                    read.append(each)
                    if each.event.kind == "tool_started":
                        process.kill()
                        process.wait()
                result = await call.wait()

        assert seen(read) == [(task_id, kind) for kind in ("text_delta", "tool_started", "task_settled")]
        assert result.details["error_code"] == ErrorCode.REHYDRATED_INCOMPLETE
