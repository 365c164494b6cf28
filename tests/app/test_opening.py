"""An `Ohm` for containers, fixtures and notebooks, for other threads, and for programs without an event loop."""

import asyncio
import gc
import threading

import anyio
import pytest
from anyio import to_thread

from ohm_subagents import CallSync, ClosedError, HandleSync, Ohm, Ok, WrongEventLoopError
from ohm_subagents.contract import TextDelta
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio
START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    """Real time: a virtual clock would jump to the deadline of a run while a thread works."""
    return request.param


def options(*steps, **more):
    backend = ScriptedBackend(*steps, default=Step(text="done"))
    return {"config": {"subagentBackend": "scripted"}, "env": HERMETIC, "plugins": [backend], **more}


class TestInAnyTask:
    async def test_one_task_opens_and_another_closes_it(self):
        opened = []

        async def open_it():
            opened.append(await Ohm.aopen(**options(Step(gate=anyio.Event()))))

        async with anyio.create_task_group() as group:
            group.start_soon(open_it)
        ohm = opened[0]
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as group:
            group.start_soon(ohm.aclose)
            group.start_soon(ohm.aclose)
        await ohm.aclose()

        assert ohm.task(handle.id).status == "cancelled"
        with pytest.raises(ClosedError, match="This Ohm is closed"):
            await ohm.run("finder", "p")

    async def test_a_task_that_is_cancelled_does_not_take_it_along(self):
        with anyio.CancelScope() as scope:
            ohm = await Ohm.aopen(**options())
            scope.cancel()
            await anyio.lowlevel.checkpoint()
        assert (await ohm.run("finder", "p")).ok_value.output == "done"
        await ohm.aclose()

    async def test_what_is_wrong_with_its_options_is_raised_by_opening(self):
        with pytest.raises(TypeError, match="config is 7"):
            await Ohm.aopen(config=7)
        with pytest.raises(
            TypeError, match=r"unexpected keyword argument 'tools'\. Ohm\.run and Ohm\.start have it\.$"
        ):
            await Ohm.aopen(tools=[])
        with pytest.raises(TypeError, match=r"unexpected keyword argument 'confg'\. Did you mean 'config'\?$"):
            await Ohm.aopen(confg={})

    async def test_an_opening_that_is_cancelled_leaves_nothing_open(self):
        closed = []

        with anyio.CancelScope() as scope:
            scope.cancel()
            closed.append(await Ohm.aopen(**options()))
        assert closed == []

    async def test_the_block_of_open_closes_its_own(self):
        async with Ohm.open(**options()) as ohm:
            with pytest.raises(RuntimeError, match=r"`aclose` is for `Ohm\.aopen`"):
                await ohm.aclose()
            assert isinstance(await ohm.run("finder", "p"), Ok)

    def test_an_event_loop_that_ends_first_ends_it_too(self, anyio_backend):
        ohms = []

        async def main():
            ohms.append(await Ohm.aopen(**options(Step(gate=anyio.Event()))))
            await ohms[0].start("finder", "p")
            await anyio.wait_all_tasks_blocked()

        anyio.run(main, backend=anyio_backend)
        assert [task.status for task in ohms[0].store.tasks()] == ["cancelled"]
        gc.collect()


class TestFromAThread:
    async def test_every_method_works_from_another_thread(self):
        async with quick_ohm("one", Step(events=(TextDelta(text="b"),), text="two"), "three") as ohm:

            def work():
                sync = ohm.from_thread
                output = sync.run("finder", "p").ok_value.output
                call = sync.begin("task", START)
                kinds = [each.event.kind for each in call.events()]
                handle = sync.start("finder", "p")
                answer = handle.wait().ok_value.output
                return output, kinds[-1], call.wait().details["output"], answer, sync.task("task_1").status

            assert await to_thread.run_sync(work) == ("one", "task_settled", "two", "three", "succeeded")

    async def test_a_thread_that_nobody_of_ours_has_started_may_use_it(self):
        answers, done = [], threading.Event()
        async with quick_ohm("done") as ohm:

            def work():
                answers.append(ohm.from_thread.run("finder", "p"))
                done.set()

            threading.Thread(target=work).start()
            await to_thread.run_sync(done.wait)
        assert answers[0].ok_value.output == "done"

    async def test_its_own_thread_must_not_wait_for_itself(self):
        async with quick_ohm() as ohm:
            with pytest.raises(WrongEventLoopError, match="await its methods"):
                ohm.from_thread.run("finder", "p")

    async def test_a_foreign_use_names_the_way(self):
        async with quick_ohm() as ohm:
            with pytest.raises(WrongEventLoopError, match=r"use `ohm\.from_thread\.run\(profile, prompt\)`"):
                await to_thread.run_sync(lambda: asyncio.run(ohm.run("finder", "p")))

    async def test_a_closed_ohm_says_so_there_too(self):
        async with quick_ohm() as ohm:
            pass

        def use():
            with pytest.raises(ClosedError):
                ohm.from_thread.run("finder", "p")

        await to_thread.run_sync(use)

    def test_an_event_loop_that_has_ended_is_a_closed_ohm(self):
        ohms = []

        async def main():
            async with Ohm.open(**options()) as ohm:
                ohms.append(ohm)

        thread = threading.Thread(target=lambda: asyncio.run(main()))
        thread.start()
        thread.join()
        with pytest.raises(ClosedError):
            ohms[0].from_thread.run("finder", "p")


class TestSync:
    def test_a_program_without_an_event_loop_does_everything(self):
        with Ohm.sync(**options("one", "two", "three", Step(events=(TextDelta(text="b"),), text="four"))) as ohm:
            assert ohm.run("finder", "p").ok_value.output == "one"
            assert ohm.call("task", START).details["output"] == "two"
            handle = ohm.start("finder", "p")
            assert handle.wait().ok_value.output == "three"
            assert handle.task_ids == (handle.id,)
            assert (handle.cancel(), [event.kind for event in handle.events()]) == (False, ["task_settled"])
            call = ohm.begin("task", START, call_id="mine")
            assert call.wait().details["output"] == "four"
            assert [each.event.kind for each in call.events()] == ["text_delta", "task_settled"]
            assert isinstance(ohm.handle("mine"), CallSync)
            assert isinstance(ohm.handle(handle.id), HandleSync)
            assert ohm.handle("nothing") is None
            assert ohm.envelope(handle.id).output == "three"
            assert "task" in ohm.tools
        with pytest.raises(ClosedError, match=r"inside `with Ohm\.sync\(\.\.\.\)`"):
            ohm.run("finder", "p")

    def test_many_threads_share_one(self):
        with Ohm.sync(**options()) as ohm:
            answers = []
            threads = [
                threading.Thread(target=lambda: answers.append(ohm.run("finder", "p").ok_value.output))
                for _ in range(16)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert answers == ["done"] * 16

    def test_a_reader_that_stops_leaves_nothing_behind(self):
        with Ohm.sync(**options(Step(events=(TextDelta(text="b"),), gate=anyio.Event()))) as ohm:
            call = ohm.begin("task", START)
            for each in call.events():
                if each.event.kind == "text_delta":
                    break
            assert call.cancel() is True
            assert call.wait().details["status"] == "cancelled"

    def test_what_its_block_raises_comes_out(self):
        with pytest.raises(KeyError, match="mine"), Ohm.sync(**options()):
            raise KeyError("mine")

    def test_what_is_wrong_with_its_options_comes_out(self):
        with pytest.raises(TypeError, match="config is 7"), Ohm.sync(config=7):
            pass

    def test_the_events_of_all_tasks_can_be_read_in_another_thread(self):
        kinds, is_listening = [], threading.Event()
        with Ohm.sync(**options()) as ohm:

            def listen():
                events = ohm.events()
                is_listening.set()
                for each in events:
                    kinds.append(each.event.kind)
                    if each.event.kind == "task_settled":
                        break
                events.close()

            thread = threading.Thread(target=listen)
            thread.start()
            is_listening.wait()
            while not kinds:
                ohm.run("finder", "p")
            thread.join()
        assert kinds[-1] == "task_settled"
