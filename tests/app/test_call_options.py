"""A program says where a task works, in which session, below which task, with which tools, and what its answer is."""

import json
import threading
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from typing import Annotated

import anyio
import pytest
from acting import ALL, ActingBackend
from loops import slow_on_trio
from pydantic import BaseModel, Field, field_validator

from ohm_subagents import ErrorCode, Ohm, tool
from ohm_subagents.contract import Finalized, OhmError
from ohm_subagents.plugin import Err, Profile, ToolCall, ToolResult
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio
MINE = Profile(id="mine", name="Mine", summary="s", prompt="Do as I say.")
DEEP = {"subagents": {"budget": {"depth": 2}}}
RESUME = {"subagents": {"sendToFinished": "resume"}}


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("odd")
        return number


def start(profile="finder", prompt="p", **more):
    return {"op": "start", "subagent_type": profile, "description": "d", "prompt": prompt, **more}


def handing_in(*results):
    return [Step(events=(Finalized(status="SUCCESS", result=result),), text="bye") for result in results]


@tool
async def lookup(word: Annotated[str, Field(description="The word.")], limit: int = 3) -> list[str]:
    """Look a word up."""
    if word == "boom":
        raise ValueError("no such book")
    return [word] * limit


def acting(act, capabilities=ALL, **options):
    backend, ids = ActingBackend(act, capabilities=capabilities), count(1)
    options = {"config": {"subagentBackend": "acting"}, "env": HERMETIC, **options}
    return Ohm.open(plugins=[backend], new_task_id=lambda: f"task_{next(ids)}", **options)


async def called(request, name, arguments):
    return await next(one for one in request.child_tools if one.name == name).execute(ToolCall(arguments=arguments))


class TestWhere:
    async def test_a_task_works_where_its_call_says(self, tmp_path):
        backend = ScriptedBackend(default=Step(text="done"))
        async with quick_ohm(backend=backend) as ohm:
            await ohm.run("finder", "p", cwd=tmp_path)
            handle = await ohm.start("finder", "p", cwd=str(tmp_path))
            await handle.wait()
            call = await ohm.begin("task", start(), cwd=tmp_path)
            await call.wait()

        assert [request.cwd for request in backend.calls] == [tmp_path] * 3

    async def test_a_directory_that_is_relative_is_refused(self):
        async with quick_ohm() as ohm:
            assert (await ohm.run("finder", "p", cwd="here")).err_value.code == ErrorCode.CWD_INVALID

    async def test_an_option_that_there_is_not_is_a_type_error(self):
        async with quick_ohm() as ohm:
            with pytest.raises(TypeError, match="unexpected keyword argument 'directory'"):
                await ohm.run("finder", "p", directory="/")
        with pytest.raises(TypeError, match="unexpected keyword argument 'confg'"):
            async with Ohm.open(confg={}):
                pass


async def test_what_of_a_call_counts_for_nothing_is_known_while_its_task_waits_and_is_told_once():
    may_end = anyio.Event()

    async def act(_request, _sink):
        await may_end.wait()
        return "done"

    async with acting(act, config={"subagentBackend": "acting", "subagents": {"maxRunning": 1}}) as ohm:
        first = await ohm.start("finder", "p")
        second = await ohm.start("finder", "p", allow=["raed"])
        known = ohm.task(second.id).diagnostics
        may_end.set()
        await first.wait()
        envelope = (await second.wait()).unwrap()
    (told,) = known
    assert "'raed'" in told.message
    assert len(envelope.diagnostics) == 1


class TestSession:
    async def test_tasks_of_one_session_continue_each_other(self):
        backend = ScriptedBackend("one", "two", "three")
        async with quick_ohm(backend=backend) as ohm:
            first = (await ohm.run("finder", "a", session="chat-1")).ok_value
            second = (await ohm.run("finder", "b", session="chat-1")).ok_value
            call = await ohm.begin("task", start(prompt="c"), session="chat-1")
            third = (await call.wait()).details

        assert [first.session_id, second.session_id, third["session_id"]] == ["chat-1"] * 3
        assert [exchange.prompt for exchange in backend.calls[2].history] == ["a", "b"]
        assert third["resumed_from"] == "task_2"

    async def test_a_session_is_for_one_task_at_a_time(self):
        gate = anyio.Event()
        async with quick_ohm(Step(text="done", gate=gate)) as ohm:
            handle = await ohm.start("finder", "a", session="chat-1")
            await anyio.wait_all_tasks_blocked()
            assert (await ohm.run("finder", "b", session="chat-1")).err_value.code == ErrorCode.SESSION_BUSY
            gate.set()
            await handle.wait()


class TestParent:
    async def test_a_task_ends_with_the_task_that_it_is_below(self):
        async with quick_ohm(Step(gate=anyio.Event()), Step(gate=anyio.Event()), config=DEEP) as ohm:
            above = await ohm.start("finder", "above")
            await anyio.wait_all_tasks_blocked()
            below = await ohm.start("finder", "below", parent=above.id)
            await anyio.wait_all_tasks_blocked()
            assert ohm.task(below.id).assignment.parent == above.id
            await above.cancel()
            assert ohm.task(below.id).status == "cancelled"

    async def test_it_is_charged_to_the_budget_of_that_task(self):
        config = {"subagents": {"budget": {"spawns": 1, "depth": 3}}}
        async with quick_ohm(Step(gate=anyio.Event()), "one", config=config) as ohm:
            above = await ohm.start("finder", "above")
            await anyio.wait_all_tasks_blocked()
            call = await ohm.begin("task", start(), parent=above.id)
            assert (await call.wait()).details["status"] == "succeeded"
            assert ohm.task("task_2").assignment.call == call.id
            over = await ohm.run("finder", "again", parent=above.id)
            assert over.err_value.code == ErrorCode.BUDGET_EXCEEDED
            await above.cancel()

    @pytest.mark.parametrize("parent", ["task_1", "task_9"])
    async def test_a_task_that_does_not_run_is_no_parent(self, parent):
        async with quick_ohm("done") as ohm:
            await ohm.run("finder", "p")
            error = (await ohm.run("finder", "p", parent=parent)).err_value
        assert (error.code, error.message) == (
            ErrorCode.UNKNOWN_TASK_ID,
            f"No task '{parent}' runs here, so none can be started below it.",
        )


class TestTools:
    async def test_a_function_is_a_tool_of_the_subagent(self):
        async def act(request, sink):
            given = next(one for one in request.child_tools if one.name == "lookup")
            assert (given.description, given.input_schema["required"]) == ("Look a word up.", ["word"])
            assert given.input_schema["properties"]["word"]["description"] == "The word."
            assert "lookup" in request.tools
            return (await called(request, "lookup", {"word": "a", "limit": 2})).text

        async with acting(act) as ohm:
            ran = (await ohm.run("finder", "p", tools=[lookup])).ok_value
            call = await ohm.begin("task", start(), tools=[lookup])
            begun = (await call.wait()).details
            plain = await ohm.run("finder", "p")
        assert (ran.output, begun["output"]) == ('["a","a"]', '["a","a"]')
        assert isinstance(plain, Err), "another call has no such tool"

    async def test_bad_arguments_and_exceptions_are_those_of_any_tool(self):
        texts = []

        async def act(request, sink):
            texts.append(await called(request, "lookup", {"limit": 2}))
            texts.append(await called(request, "lookup", {"word": "boom"}))
            return "done"

        async with acting(act) as ohm:
            await ohm.run("finder", "p", tools=[lookup])
        assert [result.is_error for result in texts] == [True, True]
        assert texts[0].text == "Tool 'lookup' was not called: 'arguments' does not fit: 'word' is a required property."
        assert texts[1].text == "Tool 'lookup' failed: no such book."

    async def test_a_function_may_take_the_call_and_give_a_result_of_its_own(self):
        @tool(name="whose", description="Say whose.")
        async def whose_is_it(call: ToolCall) -> ToolResult:
            return ToolResult(text=f"{call.session_id}", details={}, is_error=False)

        assert (whose_is_it.description, whose_is_it.input_schema["properties"]) == ("Say whose.", {})

        async def act(request, sink):
            return (await called(request, "whose", {})).text

        async with acting(act) as ohm:
            assert (await ohm.run("finder", "p", session="s", tools=[whose_is_it])).ok_value.output == "s"

    @pytest.mark.parametrize("function", [lambda word: word, lambda *words: words])
    def test_a_function_whose_parameters_cannot_be_arguments_says_so(self, function):
        with pytest.raises(TypeError, match=r"The parameter '\*?words?' of <lambda> has no"):
            tool(function)

    async def test_a_value_that_pydantic_refuses_is_told_to_the_model(self):
        def half(even: Even) -> int:
            return even.number // 2

        async def act(request, sink):
            return (await called(request, "half", {"even": {"number": 3}})).text

        async with acting(act) as ohm:
            output = (await ohm.run("finder", "p", tools=[half])).ok_value.output
        assert output == "half was not called. even.number: Value error, odd."

    async def test_a_tool_called_like_another_is_refused(self):
        async def act(request, sink):
            return "never"

        async with acting(act) as ohm:
            for given in ([tool(name="read")(where_is)], [lookup, lookup]):
                error = (await ohm.run("finder", "p", tools=given)).err_value
                assert "of the call is called like another tool of subagents" in error.message

    async def test_a_tool_that_the_profile_denies_is_refused(self):
        async def act(request, sink):
            return "never"

        config = {"subagentBackend": "acting", "subagents": {"finder": {"tools": {"deny": ["lookup"]}}}}
        async with acting(act, config=config) as ohm:
            error = (await ohm.run("finder", "p", tools=[lookup])).err_value
        assert (error.code, "denied to profile 'finder'" in error.message) == (ErrorCode.PERMISSION_DENIED, True)

    async def test_a_backend_that_gives_no_tools_refuses_them(self):
        async with quick_ohm() as ohm:
            error = (await ohm.run("finder", "p", tools=[lookup])).err_value
            await ohm.run("finder", "p")
        assert (error.code, error.message) == (
            "tools_unsupported",
            "Backend 'scripted' gives subagents no tools of a program, and the call has 'lookup'.",
        )


class TestInRealTime:
    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(self, request):
        """Real time: a virtual clock would jump to the deadline of the run while a thread or a process works."""
        return request.param

    async def test_any_function_will_do_and_a_sync_one_runs_in_a_thread(self):
        def where() -> dict[str, bool]:
            return {"main": threading.current_thread() is threading.main_thread()}

        async def act(request, sink):
            return (await called(request, "where", {})).text

        async with acting(act) as ohm:
            assert (await ohm.run("finder", "p", tools=[where])).ok_value.output == '{"main":false}'

    @slow_on_trio
    async def test_an_answer_that_a_validator_of_the_type_refuses_goes_back_to_the_subagent(self):
        texts = []

        async def act(request, sink):
            for number in (3, 4):
                handed_in = {"status": "SUCCESS", "result": {"number": number}}
                texts.append((await called(request, "subagent_finalize", handed_in)).text)
            return "done"

        async with acting(act) as ohm:
            assert (await ohm.run("finder", "p", result_type=Even)).ok_value.data == Even(number=4)
            call = await ohm.begin("task", start(), result_type=Even)
            assert (await call.wait()).details["output"] == '{"number":4}'
        assert texts[0] == texts[2] == "'result' does not fit: number: Value error, odd."


def where_is(word: str) -> str:
    """Say where."""
    return word


class TestProfile:
    async def test_a_profile_may_stand_where_an_id_does(self):
        backend = ScriptedBackend("a", "b", "c", "d")
        async with quick_ohm(backend=backend) as ohm:
            await ohm.run(MINE, "p")
            await (await ohm.start(MINE, "p")).wait()
            call = await ohm.begin("task", start(MINE))
            single = (await call.wait()).details
            both = {"op": "start", "tasks": [{"subagent_type": MINE, "description": "d", "prompt": "p"}]}
            await (await ohm.begin("task", both)).wait()

        assert [request.profile for request in backend.calls] == [MINE] * 4
        assert single["subagent_type"] == "mine"

    async def test_a_follow_up_to_a_settled_task_has_the_profile_and_tools_of_its_start(self):
        async def act(request, sink):
            return f"{request.profile.id} {[one.name for one in request.child_tools]}"

        async with acting(act, config={"subagentBackend": "acting", **RESUME}) as ohm:
            handle = await ohm.start(MINE, "p", tools=[lookup])
            await handle.wait()
            sent = await handle.send("more")
            assert sent.unwrap().output == "mine ['lookup']"
            assert ohm.handle(handle.id).id == "task_2"

    async def test_after_a_restart_they_have_to_be_given_again(self, tmp_path):
        async def act(request, sink):
            return f"{request.profile.id} {[one.name for one in request.child_tools]}"

        env = HERMETIC | {"PI_CONFIG_DIR": str(tmp_path), "OHM_SUBAGENTS_STORE": "sqlite"}
        kept = {"env": env, "config": {"subagentBackend": "acting", **RESUME}}
        async with acting(act, **kept) as ohm:
            await ohm.run(MINE, "p", tools=[lookup])
        backend = ActingBackend(act, capabilities=ALL)
        async with Ohm.open(plugins=[backend], **kept) as ohm:
            refused = (await ohm.handle("task_1").send("more")).err_value
            half = (await ohm.handle("task_1").send("more", profile=MINE)).err_value
            by_tool = (await ohm.call("task", {"op": "send", "id": "task_1", "prompt": "more"})).details
            sent = await ohm.handle("task_1").send("more", profile=MINE, tools=[lookup])

        assert str(refused) == (
            "Task 'task_1' was started with `profile` and `tools` of a program, which are not kept with it. Give "
            "`profile` and `tools` again: `ohm.handle('task_1').send(prompt, profile=..., tools=...)`."
        )
        assert "with `tools` of a program" in half.message
        assert by_tool["error_code"] == "task_not_resumable"
        assert sent.unwrap().output == "mine ['lookup']"

    async def test_a_profile_of_the_roster_is_no_profile_of_the_program(self):
        async with quick_ohm(Step(text="a"), Step(text="b"), config=RESUME) as ohm:
            handle = await ohm.start(ohm.profiles[0], "p")
            await handle.wait()
            assert (await ohm.handle("task_1").send("more")).unwrap().output == "b"


class Kind(StrEnum):
    BUG = "bug"


class Finding(BaseModel):
    file: str
    kind: Kind = Kind.BUG


@dataclass
class Count:
    number: int


class TestResultType:
    @pytest.mark.parametrize(
        ("result_type", "result", "data"),
        [
            (Finding, '{"file": "a.py"}', Finding(file="a.py")),
            (Count, '{"number": 3}', Count(3)),
            (list[Finding], '[{"file": "a.py"}]', [Finding(file="a.py")]),
            (list[str], f'["{"x" * 9000}"]', ["x" * 9000]),
            (int, "5", 5),
        ],
    )
    async def test_the_answer_is_an_object_of_the_type(self, result_type, result, data):
        async with quick_ohm(*handing_in(result, result, result)) as ohm:
            ran = (await ohm.run("finder", "p", result_type=result_type)).ok_value
            waited = (await (await ohm.start("finder", "p", result_type=result_type)).wait()).ok_value
            call = await ohm.begin("task", start(), result_type=result_type)
            await call.wait()
            kept = ohm.envelope(call.task_ids[0])

        assert (ran.data, waited.data) == (data, data)
        assert kept.data == json.loads(result)
        assert json.loads(json.dumps(ran.payload()["data"])) == ran.payload()["data"]
        assert ran.output == result

    async def test_the_schema_of_the_type_is_what_the_subagent_has_to_fit(self):
        backend = ScriptedBackend(*handing_in('{"file": "a.py"}'))
        async with quick_ohm(backend=backend) as ohm:
            await ohm.run("finder", "p", result_type=Finding)
        profile = backend.calls[0].profile
        assert (profile.finalize, profile.result_schema["required"]) == ("required", ["file"])

    async def test_an_answer_that_was_not_handed_in_is_the_error_of_any_such_answer(self):
        async with quick_ohm("so", "so", "so") as ohm:
            error = (await ohm.run("finder", "p", result_type=Finding)).err_value
        assert error.code == ErrorCode.FINALIZE_MISSING

    async def test_an_answer_that_only_pydantic_refuses_is_that_error_too(self):
        async with quick_ohm(*handing_in('{"file": 5}')) as ohm:
            error = (await ohm.run("finder", "p", result_type=Finding)).err_value
            assert ohm.task(error.task_id).output == '{"file": 5}'
        assert (error.code, error.message) == (
            ErrorCode.FINALIZE_MISSING,
            "The answer that subagent_finalize got does not fit: file: Input should be a valid string.",
        )

    async def test_a_failure_is_a_failure_whatever_its_type(self):
        failing = Step(error=OhmError(code=ErrorCode.PROVIDER_AUTHENTICATION, message="No key."))
        async with quick_ohm(failing) as ohm:
            error = (await ohm.run("finder", "p", result_type=Finding)).err_value
        assert error.code == ErrorCode.PROVIDER_AUTHENTICATION

    async def test_a_follow_up_has_an_answer_of_the_type_too(self):
        async with quick_ohm(*handing_in("5", "6"), config=RESUME) as ohm:
            handle = await ohm.start("finder", "p", result_type=int)
            await handle.wait()
            assert (await handle.send("more")).ok_value.data == 6
