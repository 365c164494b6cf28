"""Calls that a rule asks about: the run waits for one answer, and no clock counts while it does."""

from contextlib import asynccontextmanager

import anyio
import pytest
from acting import ActingBackend
from anyio.lowlevel import checkpoint

from ohm_subagents import Approve, Deny, ErrorCode, Limits, Ohm, Ok, Text
from ohm_subagents._orchestrator.run.approvals import UNANSWERED
from ohm_subagents._views.status import status_line
from ohm_subagents.contract import AnswerAwaited, AnswerGiven, ToolEnded, ToolStarted
from ohm_subagents.plugin import ToolCall
from ohm_subagents.testing import HERMETIC, EventLog

pytestmark = pytest.mark.anyio
ASKS = {"task": {"tools": {"ask": ["edit", "write"]}}}


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


def editing(*paths, parallel=False):
    """A run that edits each path, one after another or all at once, and answers what became of it."""

    async def act(request, sink):
        said = {}

        async def edit(path):
            refusal = await request.gate.tool("edit", {"path": path}, call_id=path)
            said[path] = "edited" if refusal is None else refusal

        if parallel:
            async with anyio.create_task_group() as group:
                for path in paths:
                    group.start_soon(edit, path)
        else:
            for path in paths:
                await edit(path)
        return "\n".join(said[path] for path in paths)

    return act


@asynccontextmanager
async def opened(act, *, subagents=None, plugins_too=(), **options):
    config = {"subagentBackend": "acting", "subagents": {**ASKS, **(subagents or {})}}
    begun = anyio.current_time()

    def stamps():
        return round((anyio.current_time() - begun) * 1000)

    backend = act if isinstance(act, ActingBackend) else ActingBackend(act)
    async with Ohm.open(env=HERMETIC, config=config, plugins=[backend, *plugins_too], clock=stamps, **options) as ohm:
        yield ohm


async def asked(ohm, number=1):
    """Wait until so many requests are open."""
    while len(ohm.requests()) < number:  # noqa: ASYNC110  time is virtual, and costs nothing
        await anyio.sleep(0.01)
    return ohm.requests()


async def test_an_approved_call_is_made_and_a_denied_one_is_told_to_the_model():
    async with opened(editing("a", "b")) as ohm:
        handle = await ohm.start("task", "p")
        [first] = await asked(ohm)
        assert (first.kind, first.tool, first.arguments) == ("tool", "edit", '{"path":"a"}')
        assert first.path == (handle.id,)
        assert ohm.task(handle.id).requests == (first,)
        assert await ohm.answer(first.id, Approve()) == Ok(first)
        [second] = await asked(ohm)
        await ohm.answer(second.id, Deny("not that one."))
        envelope = (await handle.wait()).unwrap()
    edited, refused = envelope.output.split("\n")
    assert edited == "edited"
    assert refused.startswith("The call of 'edit' was not made, because it was denied: not that one. ")


async def test_a_call_that_nobody_has_approved_when_its_run_is_cancelled_was_not_made():
    async def act(request, sink):
        sink.emit(ToolStarted(call_id="c", tool="edit", args="{}"))
        await request.gate.tool("edit", {"path": "a"}, call_id="c")

    log = EventLog()
    async with opened(act, plugins_too=(log,)) as ohm:
        handle = await ohm.start("task", "p")
        await asked(ohm)
        await handle.cancel()
    (ended,) = [event for _, event in log.entries if isinstance(event, ToolEnded)]
    assert (ended.status, ended.text) == ("interrupted", "not made: nobody has approved it")


async def test_two_open_requests_of_one_run_are_answered_independently():
    async with opened(editing("a", "b", parallel=True)) as ohm:
        handle = await ohm.start("task", "p")
        first, second = await asked(ohm, 2)
        await ohm.answer(second.id, Approve())
        assert [one.id for one in ohm.requests()] == [first.id]
        await ohm.answer(first.id, Deny())
        outputs = (await handle.wait()).unwrap().output.split("\n")
    made = {"a": outputs[0] == "edited", "b": outputs[1] == "edited"}
    paths = {one.id: one.call_id for one in (first, second)}
    assert made == {paths[first.id]: False, paths[second.id]: True}


async def test_a_request_is_answered_once_and_every_later_answer_is_told_so():
    async with opened(editing("a")) as ohm:
        handle = await ohm.start("task", "p")
        [request] = await asked(ohm)
        assert isinstance(await ohm.answer(request.id, Deny()), Ok)
        late = await ohm.answer(request.id, Approve())
        await handle.wait()
        settled = await ohm.answer(request.id, Approve())
        unknown = await ohm.answer("req_1_task_9", Approve())
        wrong = await ohm.answer(request.id, "yes")
    assert str(settled.err_value) == (
        f"The request '{request.id}' is not open any more: it was answered, or denied when it expired or its run "
        f"ended. `ohm task {handle.id} --transcript` shows what came of it."
    )
    assert [one.err_value.code for one in (late, settled, unknown, wrong)] == [
        ErrorCode.REQUEST_CLOSED,
        ErrorCode.REQUEST_CLOSED,
        ErrorCode.UNKNOWN_REQUEST_ID,
        ErrorCode.INVALID_ANSWER,
    ]


async def test_no_clock_counts_while_somebody_thinks_and_the_request_itself_expires():
    limits = Limits(soft_ms=1000, cap_ms=2000)
    async with opened(editing("a", "b"), subagents={"requests": {"expireMs": 60_000}}) as ohm:
        handle = await ohm.start("task", "p", limits=limits)
        [request] = await asked(ohm)
        await anyio.sleep(50)
        await ohm.answer(request.id, Approve())
        begun = anyio.current_time()
        output = (await handle.wait()).unwrap().output
    assert 59 < anyio.current_time() - begun < 61
    edited, refused = output.split("\n")
    assert edited == "edited"
    assert "denied: nobody answered in time." in refused


async def test_the_clocks_of_a_run_go_on_after_the_answer():
    async def act(request, sink):
        await request.gate.tool("edit", {"path": "a"})
        await anyio.sleep_forever()

    async with opened(act) as ohm:
        handle = await ohm.start("task", "p", limits=Limits(cap_ms=2000, soft_ms=5000, idle_ms=5000))
        [request] = await asked(ohm)
        await anyio.sleep(30)
        await ohm.answer(request.id, Approve())
        begun = anyio.current_time()
        error = (await handle.wait()).err_value
    assert error.code == ErrorCode.BACKEND_TIMEOUT
    assert 1.9 < anyio.current_time() - begun < 2.1


async def test_the_wall_clock_of_a_budget_stands_still_for_what_begins_after_the_answer_too():
    async def act(request, sink):
        if request.depth == 2:
            await anyio.sleep(5)
            return "below"
        await request.gate.tool("edit", {"path": "a"})
        return (await holder[0].run("task", "p")).unwrap().output

    holder = []
    async with opened(act, subagents={"budget": {"depth": 2, "wallMs": 10_000}}) as ohm:
        holder.append(ohm)
        handle = await ohm.start("task", "p")
        [request] = await asked(ohm)
        before = ohm.task(handle.id).activity.account.remaining.wall_ends_ms
        await anyio.sleep(60)
        await ohm.answer(request.id, Approve())
        output = (await handle.wait()).unwrap().output
        after = ohm.task(handle.id).activity.account.remaining.wall_ends_ms
    assert output == "below"
    assert after - before == pytest.approx(60_000, abs=100)


async def test_a_slot_is_free_while_its_task_waits_for_an_answer():
    seen = []

    async def act(request, sink):
        if request.prompt == "asks":
            await request.gate.tool("edit", {"path": "a"})
        seen.append(request.prompt)
        return request.prompt

    async with opened(act, subagents={"maxRunning": 1}) as ohm:
        asks = await ohm.start("task", "asks")
        [request] = await asked(ohm)
        assert (await ohm.run("task", "other")).unwrap().output == "other"
        await ohm.answer(request.id, Approve())
        assert (await asks.wait()).unwrap().output == "asks"
    assert seen == ["other", "asks"]


async def test_a_task_that_was_answered_waits_for_a_slot_before_all_that_have_not_begun():
    seen, free = [], anyio.Event()

    async def act(request, sink):
        if request.prompt == "asks":
            await request.gate.tool("edit", {"path": "a"})
        elif request.prompt == "holds":
            await free.wait()
        seen.append(request.prompt)
        return request.prompt

    async with opened(act, subagents={"maxRunning": 1}) as ohm:
        handles = [await ohm.start("task", "asks")]
        [request] = await asked(ohm)
        handles += [await ohm.start("task", prompt) for prompt in ("holds", "later")]
        await ohm.answer(request.id, Approve())
        await anyio.sleep(1)
        assert seen == []
        free.set()
        for handle in handles:
            await handle.wait()
    assert seen == ["holds", "asks", "later"]


class Office:
    """Runs by their prompts: `a>b,c` starts b and c and waits for both, `b?` asks, `d!` is busy until it is let go."""

    def __init__(self):
        self.on = []
        self.over = []
        self.busy = {}
        self.ohm = None

    async def act(self, request, sink):
        name, _, below = request.prompt.partition(">")
        self.on.append(name)
        if below:
            async with anyio.create_task_group() as group:
                for each in below.split(",", 1) if ">" not in below else [below]:
                    group.start_soon(self.ohm.run, "task", each)
        elif name.endswith("?"):
            await request.gate.tool("edit", {"path": name})
        elif name.endswith("!"):
            await self.busy.setdefault(name, anyio.Event()).wait()
        self.over.append(name)
        return name

    @asynccontextmanager
    async def opened(self):
        async with opened(self.act, subagents={"maxRunning": 1, "budget": {"depth": 4}}) as self.ohm:
            yield self.ohm

    async def until(self, name, seen):
        while name not in seen:  # noqa: ASYNC110  time is virtual, and costs nothing
            await anyio.sleep(0.01)

    def request(self, name):
        return next(one for one in self.ohm.requests() if name in one.arguments)


async def test_the_slot_of_a_task_is_free_while_all_below_it_waits_for_answers():
    office = Office()
    async with office.opened() as ohm:
        await ohm.start("task", "root>middle>leaf?")
        await asked(ohm)
        await ohm.start("task", "other!")
        await office.until("other!", office.on)
        await ohm.answer(office.request("leaf?").id, Approve())
        await anyio.sleep(1)
        assert office.over == [], "it waits for the slot of its root"
        office.busy["other!"].set()
        await office.until("root", office.over)
    assert office.over == ["other!", "leaf?", "middle", "root"]


async def test_a_task_keeps_its_slot_while_something_below_it_works():
    office = Office()
    async with office.opened() as ohm:
        await ohm.start("task", "root>one?,two!")
        await asked(ohm)
        await ohm.start("task", "other")
        await anyio.sleep(1)
        assert "other" not in office.on
        office.busy["two!"].set()
        await office.until("other", office.over)
        await ohm.answer(office.request("one?").id, Approve())
        await office.until("root", office.over)
    assert office.over == ["two!", "other", "one?", "root"]


async def test_the_first_answer_below_a_task_takes_its_slot_again_and_a_cancel_at_once():
    office = Office()
    async with office.opened() as ohm:
        await ohm.start("task", "root>one?,two?")
        await asked(ohm, 2)
        await ohm.start("task", "other!")
        await office.until("other!", office.on)
        for name in ("two?", "one?"):
            await ohm.answer(office.request(name).id, Approve())
        await anyio.sleep(1)
        assert office.over == []
        office.busy["other!"].set()
        await office.until("root", office.over)
        await ohm.start("task", "again>three?")
        await asked(ohm)
        await ohm.start("task", "last!")
        await office.until("last!", office.on)
        await ohm.handle(office.request("three?").task_id).cancel()
        await office.until("again", office.over)
        office.busy["last!"].set()
        assert (await ohm.run("task", "end")).unwrap().output == "end"
    assert office.over[0] == "other!"
    assert office.over[3:] == ["root", "again", "last!", "end"]


@pytest.mark.parametrize("scope", ["task", "always"])
async def test_an_approval_for_more_than_one_call_holds_for_the_same_arguments_alone(scope):
    async with opened(editing("a", "a", "b")) as ohm:
        handle = await ohm.start("task", "p")
        [first] = await asked(ohm)
        await ohm.answer(first.id, Approve(scope))
        [other] = await asked(ohm)
        assert other.arguments == '{"path":"b"}'
        await ohm.answer(other.id, Deny())
        await handle.wait()
        again = await ohm.start("task", "p")
        [third] = await asked(ohm)
        assert third.arguments == ('{"path":"a"}' if scope == "task" else '{"path":"b"}')
        await again.cancel()


async def test_a_backend_hears_that_a_call_begins_to_wait_before_anybody_is_asked_and_of_no_other_call():
    heard = []

    async def approve(request):
        heard.append("asked")
        return Approve("task")

    async def act(request, _sink):
        for number, tool in enumerate(("edit", "edit", "read", "edit")):
            arguments = {"path": "secret" if number == 3 else "a"}
            await request.gate.tool(tool, arguments, on_wait=lambda number=number: heard.append(number))
        return "done"

    async with opened(act, approvals=approve) as ohm:
        await ohm.run("task", "p")
        await ohm.run("task", "p", deny=["edit"])
    assert heard == [0, "asked", 3, "asked"]
    async with opened(act, subagents={"requests": {"unattended": "deny"}}) as ohm:
        await ohm.run("task", "p")
    assert len(heard) == 4


async def test_a_callback_answers_and_one_that_fails_is_no_approval():
    async def approve(request):
        return {"a": Approve(), "b": Deny("no"), "c": "yes", "d": Text("go on")}[request.call_id]

    async with opened(editing("a", "b", "c", "d", "e"), approvals=approve) as ohm:
        envelope = (await ohm.run("task", "p")).unwrap()
    edited, denied, *wrong, raised = envelope.output.split("\n")
    assert edited == "edited"
    assert "denied: no." in denied
    assert all("gave no answer to it" in one for one in wrong)
    assert "KeyError" in raised
    told = [str(one) for one in envelope.diagnostics or ()]
    assert len(told) == 3
    assert "'yes' is no answer to a request. Allowed: Approve()" in told[0]
    assert "which no text answers. Approve the call, or deny it" in told[1]
    assert "KeyError" in told[2]


async def test_a_callback_that_is_no_async_function_is_no_approval_and_is_told_how_to_write_it():
    async with opened(editing("a"), approvals=lambda request: Approve()) as ohm:
        output = (await ohm.run("task", "p")).unwrap().output
    assert "the callback is no async function: define it with 'async def'" in output


async def test_text_leaves_the_request_for_a_call_open():
    async with opened(editing("a")) as ohm:
        handle = await ohm.start("task", "p")
        [request] = await asked(ohm)
        refused = (await ohm.answer(request.id, Text("go on"))).unwrap_err()
        assert (refused.code, refused.message) == (
            ErrorCode.INVALID_ANSWER,
            f"The request '{request.id}' is for a call of 'edit', which no text answers.",
        )
        assert ohm.requests() == (request,)
        await ohm.answer(request.id, Approve())
        assert (await handle.wait()).unwrap().output == "edited"


async def test_a_callback_that_hangs_is_no_approval_and_another_may_answer_before_it():
    async def hang(request):
        await anyio.sleep_forever()

    async with opened(editing("a", "b"), approvals=hang, subagents={"requests": {"expireMs": 5000}}) as ohm:
        handle = await ohm.start("task", "p")
        [request] = await asked(ohm)
        await ohm.answer(request.id, Approve())
        edited, refused = (await handle.wait()).unwrap().output.split("\n")
    assert edited == "edited"
    assert "nobody answered in time" in refused


@pytest.mark.parametrize(("unattended", "is_made"), [("allow", True), ("deny", False)])
async def test_where_nobody_is_there_the_configuration_decides(unattended, is_made):
    async with opened(editing("a"), subagents={"requests": {"unattended": unattended}}) as ohm:
        envelope = (await ohm.run("task", "p")).unwrap()
    assert (envelope.output == "edited") == is_made
    told = [one for one in envelope.diagnostics or () if "nobody was there" in one]
    assert bool(told) == is_made


async def test_somebody_who_answers_for_another_task_is_not_there_for_this_one():
    asked_for = []

    async def approve(request):
        await checkpoint()
        asked_for.append(request.task_id)
        return Approve()

    unattended = {"requests": {"unattended": "deny"}, "maxRunning": 1}
    async with opened(editing("a"), subagents=unattended) as ohm:
        one = await ohm.start("task", "p")
        other = await ohm.start("task", "p")
        with ohm.answering(approve, by="client", attends=lambda path: path == (one.id,)):
            outputs = [(await each.wait()).unwrap().output for each in (one, other)]
    assert asked_for == [one.id]
    assert outputs[0] == "edited"
    assert "was not made" in outputs[1]


async def test_of_several_who_answer_the_first_answer_counts_and_the_others_are_cancelled():
    cancelled, log = [], EventLog()

    async def waits(request):
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(request.tool)

    async def leaves_it_to_others(_request):
        await checkpoint()

    async def denies(request):
        await checkpoint()
        return Deny(f"no {request.tool}")

    async with opened(editing("a"), subagents={"requests": {"unattended": "allow"}}) as ohm:
        with (
            ohm.answering(waits, by="editor"),
            ohm.answering(leaves_it_to_others, by="client"),
            ohm.answering(denies, by="terminal"),
        ):
            denied = (await ohm.run("task", "p", observer=log)).unwrap()
        allowed = (await ohm.run("task", "p")).unwrap()
    given = [event for _, event in log.entries if isinstance(event, AnswerGiven)]
    assert "was denied: no edit" in denied.output
    assert cancelled == ["edit"]
    assert [one.by for one in given] == ["terminal"]
    assert allowed.output == "edited"


async def test_cancelling_a_task_closes_its_request_and_leaves_its_siblings():
    async with opened(editing("a")) as ohm:
        one, other = [await ohm.start("task", "p") for _ in range(2)]
        first, second = await asked(ohm, 2)
        assert await one.cancel()
        assert [each.id for each in ohm.requests()] == [second.id]
        assert ohm.task(one.id).requests == ()
        assert (await ohm.answer(first.id, Approve())).err_value.code == ErrorCode.REQUEST_CLOSED
        await ohm.answer(second.id, Approve())
        assert (await other.wait()).unwrap().output == "edited"


async def test_closing_ends_a_task_that_waits_for_an_answer():
    async with opened(editing("a")) as ohm:
        handle = await ohm.start("task", "p")
        await asked(ohm)
        store = ohm.store
    task = store.get(handle.id).ok_value
    assert (task.status, task.requests) == ("cancelled", ())


async def test_secrets_in_arguments_are_not_shown():
    async def act(request, sink):
        await request.gate.tool("write", {"path": "a", "content": "token = 'ghp_0123456789abcdefghij0123456789abcdef'"})
        return "done"

    async with opened(act) as ohm:
        handle = await ohm.start("task", "p")
        [request] = await asked(ohm)
        await handle.cancel()
    assert "ghp_0123" not in request.arguments


async def test_a_call_in_the_foreground_waits_for_the_answer_of_a_subagent_three_levels_down():
    async def act(request, sink):
        if request.depth < 3:
            inner = await holder[0].run("task", f"level {request.depth + 1}")
            return inner.unwrap().output
        refusal = await request.gate.tool("edit", {"path": "a"})
        return "edited" if refusal is None else refusal

    holder = []
    budget = {"budget": {"depth": 3}, "limits": {"capMs": 5000}, "maxRunning": 1}
    async with opened(act, subagents=budget) as ohm:
        holder.append(ohm)
        handle = await ohm.start("task", "level 1")
        [request] = await asked(ohm)
        assert len(request.path) == 3
        assert request.path[0] == handle.id
        await anyio.sleep(60)
        await ohm.answer(request.id, Approve())
        assert (await handle.wait()).unwrap().output == "edited"


async def test_the_answer_is_an_event_of_the_task_with_who_gave_it():
    async with opened(editing("a")) as ohm:
        handle = await ohm.start("task", "p")
        events = []

        async def follow():
            events.extend([event async for event in handle.events()])

        async with anyio.create_task_group() as group:
            group.start_soon(follow)
            [request] = await asked(ohm)
            await ohm.answer(request.id, Deny("use another file"), by="terminal")
    [asked_event] = [one for one in events if isinstance(one, AnswerAwaited)]
    [given] = [one for one in events if isinstance(one, AnswerGiven)]
    assert asked_event.request == request
    assert (given.request_id, given.answer, given.by) == (request.id, Deny("use another file"), "terminal")


def asking(*questions):
    """A run that asks each question with its child tool, and answers what it was told."""

    async def act(request, sink):
        tool = next(one for one in request.child_tools if one.name == "ask_parent")
        told = [await tool.execute(ToolCall(arguments=one)) for one in questions]
        return "\n".join(one.text for one in told)

    return act


@pytest.mark.parametrize(
    ("answer", "told"),
    [(Text("The second."), "The second."), (Approve(), "Yes."), (Deny("Never."), "No: Never."), (Deny(), UNANSWERED)],
)
async def test_a_subagent_whose_tools_name_ask_parent_asks_and_reads_the_answer(answer, told):
    question = {"question": "Which one?", "options": ["first", "second"]}
    async with opened(asking(question), subagents={"task": {"tools": ["read", "ask_parent"]}}) as ohm:
        handle = await ohm.start("task", "p")
        [request] = await asked(ohm)
        assert (request.kind, request.question, request.options) == ("question", "Which one?", ("first", "second"))
        await ohm.answer(request.id, answer)
        assert (await handle.wait()).unwrap().output == told


@pytest.mark.parametrize("key", ["colour", "timeout_ms", "isolation", "cwd"])
async def test_a_question_with_an_argument_that_the_tool_does_not_have_is_asked_of_nobody_and_names_it(key):
    act = asking({"question": "Which?", key: "x"})
    async with opened(act, subagents={"task": {"tools": ["ask_parent"]}}) as ohm:
        told = (await ohm.run("task", "p")).unwrap().output
    assert told.startswith(f"'{key}': ")
    assert told.endswith("Allowed: a text 'question', and a list of texts 'options'.")


async def test_a_question_that_nobody_answers_does_not_hang_and_bad_arguments_are_told():
    bad = {"question": " "}
    act = asking(bad, {"question": "Which?"})
    subagents = {"task": {"tools": ["ask_parent"]}, "requests": {"expireMs": 1000}}
    async with opened(act, subagents=subagents) as ohm:
        first, second = (await ohm.run("task", "p")).unwrap().output.split("\n")
    assert first.startswith("'question': ")
    assert second.startswith("Nobody has answered.")


async def test_nobody_else_has_the_tool_for_questions():
    seen = []

    async def act(request, sink):
        seen.extend(tool.name for tool in request.child_tools)
        return "done"

    async with opened(act) as ohm:
        await ohm.run("task", "p")
    assert "ask_parent" not in seen


async def test_whoever_looks_at_a_task_that_waits_sees_what_it_asks():
    async with opened(editing("a")) as ohm:
        handle = await ohm.start("task", "p")
        [request] = await asked(ohm)
        [block] = ohm.envelope(handle.id).requests
        status = await ohm.call("task", {"op": "status", "ids": [handle.id]})
        line = status_line(ohm.store.recent())
        await ohm.answer(request.id, Approve())
        assert (await handle.wait()).unwrap().requests is None
    assert (block.id, block.tool, block.arguments) == (request.id, "edit", '{"path":"a"}')
    assert f"Asks ({request.id}): edit" in status.text
    assert status.details["items"][0]["requests"][0]["id"] == request.id
    assert "· 1 asking" in line


ASYNC = {"asyncStart": "allow"}
BEGIN = {"op": "start", "subagent_type": "task", "description": "d", "prompt": "p", "async": True}


@pytest.mark.parametrize(
    ("said", "output"),
    [
        ({"decision": "approve"}, "edited"),
        ({"decision": "deny", "text": "no."}, "The call of 'edit' was not made, because it was denied: no."),
    ],
)
async def test_a_parent_agent_answers_by_the_op_answer_where_a_subagent_may_ask(said, output):
    async with opened(editing("a"), subagents=ASYNC) as ohm:
        schema = ohm.tools["task"].input_schema["properties"]
        assert schema["op"]["description"].endswith(", cancel, answer")
        assert schema["scope"]["enum"] == ["call", "task"]
        assert "op=answer" in ohm.tools["task"].description
        assert "Supports start/status/wait/send/cancel/answer." in ohm.tools["task"].description.splitlines()[0]
        started = await ohm.call("task", BEGIN)
        task_id = started.details["task_id"]
        waited = await ohm.call("task", {"op": "wait", "ids": [task_id]})
        assert waited.details["wait_status"] == "asked"
        [request] = waited.details["items"][0]["requests"]
        answered = await ohm.call("task", {"op": "answer", "request": request["id"], **said})
        assert (answered.is_error, answered.details["op"], answered.details["task_id"]) == (False, "answer", task_id)
        again = await ohm.call("task", {"op": "answer", "request": request["id"], "decision": "approve"})
        assert again.details["error_code"] == "request_closed"
        await ohm.call("task", {"op": "wait", "ids": [task_id]})
        assert ohm.task(task_id).output.startswith(output)


async def test_no_model_approves_for_always_and_bad_answers_are_told():
    async with opened(editing(), subagents=ASYNC) as ohm:
        always = {"op": "answer", "request": "req_1_task_1", "decision": "approve", "scope": "always"}
        wrong = [await ohm.call("task", always), await ohm.call("task", {**always, "decision": "yes"})]
    assert [one.details["error_code"] for one in wrong] == ["invalid_task_tool_payload"] * 2
    assert "call or task" in wrong[0].text
    assert "approve, deny or text" in wrong[1].text


async def test_where_no_subagent_asks_there_is_no_op_for_answers():
    async with opened(editing(), subagents={**ASYNC, "task": {}}) as ohm:
        assert "decision" not in ohm.tools["task"].input_schema["properties"]
        refused = await ohm.call("task", {"op": "answer", "request": "r", "decision": "approve"})
    assert refused.details["error_code"] == "invalid_task_tool_payload"


async def test_a_subagent_answers_questions_below_it_and_approves_no_call():
    told = []

    async def act(request, sink):
        if request.depth == 1:
            started = await holder[0].call("task", BEGIN)
            below = started.details["task_id"]
            for _ in range(2):
                waited = await holder[0].call("task", {"op": "wait", "ids": [below]})
                [one] = waited.details["items"][0]["requests"]
                answer = {"op": "answer", "request": one["id"], "decision": "approve"}
                result = await holder[0].call("task", answer)
                told.append((one["kind"], result.details.get("error_code")))
            return "done"
        tool = next(one for one in request.child_tools if one.name == "ask_parent")
        await tool.execute(ToolCall(arguments={"question": "May I?"}))
        await request.gate.tool("edit", {"path": "a"})
        return "below"

    holder = []
    tools = {"allow": ["edit", "ask_parent"], "ask": ["edit"]}
    async with opened(act, subagents={**ASYNC, "task": {"tools": tools}, "budget": {"depth": 2}}) as ohm:
        holder.append(ohm)
        assert (await ohm.run("task", "p")).unwrap().output == "done"
    assert told == [("question", None), ("tool", "task_permission_denied")]
