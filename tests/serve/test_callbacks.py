"""Requests of a server to a connected program: answers to requests, and calls of its functions."""

import anyio
import pytest
from loops import real_clocks, real_clocks_slow_on_trio

from ohm_subagents import Approve, Deny, ErrorCode
from ohm_subagents.contract import AnswerGiven, ToolUpdated
from ohm_subagents.plugin import Tool, ToolResult, call_child_tool
from ohm_subagents.store import TaskQuery

pytestmark = pytest.mark.anyio
CONFIG = {"subagentBackend": "acting", "subagents": {"task": {"tools": {"ask": ["edit"]}}}}
DEEP = {"subagents": {"budget": {"depth": 2}}}


async def editing(request, sink):
    """A run that edits a file, and answers what became of it."""
    return await request.gate.tool("edit", {"path": request.prompt}, call_id="1") or "edited"


def calling(tool, **arguments):
    """A run that calls a child tool, and answers with its result."""

    async def act(request, sink):
        [found] = [one for one in request.child_tools if one.name == tool]
        return (await call_child_tool(found, arguments, call_id="1", sink=sink)).text

    return act


class Person:
    """Somebody who is asked, and answers when it is told."""

    def __init__(self, answer=None):
        self.asked = []
        self.news = anyio.Event()
        self.answer = answer

    async def __call__(self, request):
        self.asked.append(request)
        self.news.set()
        if self.answer is None:
            await anyio.sleep_forever()
        return self.answer

    async def is_asked(self):
        with anyio.fail_after(5):
            await self.news.wait()


@real_clocks
async def test_the_approvals_of_a_program_are_asked_and_their_answer_counts(desk):
    person = Person(Approve())
    async with desk.server(), desk.acting(editing, config=CONFIG, approvals=person) as ohm:
        envelope = (await ohm.run("task", "a.py")).unwrap()
        [request] = person.asked
        events = [one.event for one in await ohm.store.history(ohm.task(envelope.task_id))]
    assert envelope.output == "edited"
    assert (request.tool, request.arguments, request.task_id) == ("edit", '{"path":"a.py"}', envelope.task_id)
    assert AnswerGiven(request_id=request.id, answer=Approve(), by="callback") in events


@real_clocks_slow_on_trio
async def test_an_answer_of_the_program_goes_through_its_server(desk):
    async with desk.server(), desk.acting(editing, config=CONFIG) as ohm, anyio.create_task_group() as group:
        handle = await ohm.start("task", "a.py")
        group.start_soon(handle.wait)
        while not ohm.requests():  # noqa: ASYNC110  the request is in the store of another process
            await anyio.sleep(0.01)
        [request] = ohm.requests()
        assert (await ohm.answer(request.id, Deny("not that one"))).unwrap() == request
        late = (await ohm.answer(request.id, Approve())).err_value
        assert "not that one" in (await handle.wait()).unwrap().output
    assert late.code == ErrorCode.REQUEST_CLOSED


@real_clocks_slow_on_trio
async def test_a_callback_that_fails_denies_the_request_and_the_task_says_why(desk):
    async def broken(_request):
        raise OSError("the desk is closed")

    async with desk.server(), desk.acting(editing, config=CONFIG, approvals=broken) as ohm:
        task = ohm.task((await ohm.run("task", "a.py")).unwrap().task_id)
    assert "the program that was asked failed (OSError: the desk is closed)" in task.diagnostics[-1].message


@real_clocks_slow_on_trio
async def test_a_program_is_asked_about_its_own_tasks_and_not_about_those_of_another(desk):
    own, other = Person(Approve()), Person(Deny())
    async with (
        desk.server(),
        desk.acting(editing, config=CONFIG, approvals=other) as another,
        desk.program(config=CONFIG, approvals=own) as ohm,
    ):
        assert (await ohm.run("task", "a.py")).unwrap().output == "edited"
        assert "denied" in (await another.run("task", "b.py")).unwrap().output
    assert [[one.arguments for one in person.asked] for person in (own, other)] == [
        ['{"path":"a.py"}'],
        ['{"path":"b.py"}'],
    ]


@real_clocks_slow_on_trio
async def test_a_request_waits_when_the_program_is_gone_and_the_next_one_is_asked_from_whichever_shell(desk):
    first, second = Person(), Person(Approve())
    shell = {"SHLVL": "2", "_": "/usr/bin/python", "TERM": "dumb", "OLDPWD": "/"}
    async with desk.server():
        async with desk.acting(editing, config=CONFIG, approvals=first) as ohm:
            task_id = (await ohm.start("task", "a.py")).id
            await first.is_asked()
        async with desk.program(config=CONFIG, approvals=second, env={**shell, **desk.env}) as later:
            assert (await later.handle(task_id).wait()).unwrap().output == "edited"
    assert [one.id for one in first.asked] == [one.id for one in second.asked]


@real_clocks_slow_on_trio
async def test_a_program_that_is_there_is_asked_about_the_tasks_of_one_that_leaves(desk):
    first, second = Person(), Person(Approve())
    async with desk.server(), desk.acting(editing, config=CONFIG, approvals=second) as ohm:
        async with desk.program(config=CONFIG, approvals=first) as leaving:
            task_id = (await leaving.start("task", "a.py")).id
            await first.is_asked()
            assert not second.asked
        assert (await ohm.handle(task_id).wait()).unwrap().output == "edited"
    assert len(second.asked) == 1


@real_clocks_slow_on_trio
async def test_a_callback_is_asked_only_about_the_tasks_that_it_attends(desk):
    person, others = Person(Approve()), Person(Deny())
    attended = set()
    async with desk.server(), desk.acting(editing, config=CONFIG, approvals=others) as ohm:
        with ohm.answering(person, by="client", attends=lambda path: not attended.isdisjoint(path)):
            left = (await ohm.run("task", "a.py")).unwrap()
            attended.add(left.task_id)
            attended.add((handle := await ohm.start("task", "b.py")).id)
            await handle.wait()
    assert "denied" in left.output
    assert [one.arguments for one in others.asked] == ['{"path":"a.py"}', '{"path":"b.py"}']
    assert {one.arguments for one in person.asked} <= {'{"path":"b.py"}'}


@real_clocks
async def test_a_function_of_the_program_is_a_tool_of_the_task(desk):
    def price(item: str) -> str:
        """Return the price of an item."""
        return f"{item}: 5"

    async with desk.server(), desk.acting(calling("price", item="cup")) as ohm:
        assert (await ohm.run("finder", "look", tools=[price])).unwrap().output == "cup: 5"
        assert not ohm._engine.orchestrator._link._callbacks._functions  # it is not kept for tasks that are over


@real_clocks_slow_on_trio
async def test_a_function_that_fails_or_is_called_with_bad_arguments_says_so_to_the_model(desk):
    def price(item: str) -> str:
        """Return the price of an item."""
        raise LookupError(item)

    async with desk.server(), desk.acting(calling("price", item="cup")) as ohm:
        failed = (await ohm.run("finder", "look", tools=[price])).unwrap().output
    async with desk.server(), desk.acting(calling("price", colour="red")) as ohm:
        wrong = (await ohm.run("finder", "look", tools=[price])).unwrap().output
    assert failed == "Tool 'price' failed: cup."
    assert "was not called" in wrong


@real_clocks_slow_on_trio
async def test_the_progress_of_a_function_is_an_event_of_its_task(desk):
    async def execute(call):
        call.on_update(ToolResult(text="half", details={}))
        return ToolResult(text="done", details={"n": 1})

    tool = Tool(
        name="slowly",
        label="Slowly",
        description="",
        input_schema={"type": "object"},
        execute=execute,
        call_view=lambda _arguments, _theme: "",
    )
    async with desk.server(), desk.acting(calling("slowly")) as ohm:
        envelope = (await ohm.run("finder", "look", tools=[tool])).unwrap()
        events = [one.event for one in await ohm.store.history(ohm.task(envelope.task_id))]
    assert ToolUpdated(call_id="1", tool="slowly", text="half") in events


@real_clocks_slow_on_trio
async def test_what_a_function_starts_is_a_child_of_the_task_that_calls_it(desk):
    async def act(request, sink):
        return await calling("ask")(request, sink) if request.child_tools else f"depth {request.depth}"

    async with desk.server(), desk.acting(act, config={"subagentBackend": "acting", **DEEP}) as ohm:

        async def ask() -> str:
            """Ask another."""
            return (await ohm.run("finder", "inner")).unwrap().output

        call = await ohm.begin(
            "task", {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}, tools=[ask]
        )
        result = await call.wait()
        [outer] = call.task_ids
        [inner] = [one.ok_value for one in ohm.store.list(TaskQuery()) if one.ok_value.id != outer]
        inner = ohm.task(inner.id)
    assert "depth 2" in result.text
    assert inner.assignment.parent == outer


@real_clocks
async def test_a_function_of_a_program_that_is_gone_is_a_clear_error_for_the_model(desk):
    begun = anyio.Event()

    async def act(request, sink):
        first = await calling("forever")(request, sink)
        second = await calling("forever")(request, sink)
        return f"{first}\n{second}"

    async def forever() -> str:
        """Never return."""
        begun.set()
        await anyio.sleep_forever()
        return ""

    async with desk.server():
        async with desk.acting(act) as ohm:
            task_id = (await ohm.start("finder", "look", tools=[forever])).id
            await begun.wait()
        async with desk.program() as later:
            output = (await later.handle(task_id).wait()).unwrap().output
    interrupted, second = output.split("\n")
    assert "is a function of the program that has started this task" in interrupted
    assert "may have been made" in interrupted
    assert "was not made" in second


@real_clocks_slow_on_trio
async def test_a_function_is_cancelled_with_the_task_that_calls_it(desk):
    begun, ended = anyio.Event(), anyio.Event()

    async def forever() -> str:
        """Never return."""
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return ""

    async with desk.server(), desk.acting(calling("forever")) as ohm:
        handle = await ohm.start("finder", "look", tools=[forever])
        await begun.wait()
        assert await handle.cancel()
        with anyio.fail_after(5):
            await ended.wait()
