"""Answers that have to be handed in: what counts, what is corrected, and how it ends (003)."""

import sys
from dataclasses import replace

import anyio
import pytest
from acting import ALL, ActingBackend
from loops import one_loop

from ohm_subagents import Budget, ErrorCode, Limits, Ohm
from ohm_subagents._plugins.suites import finalization
from ohm_subagents.contract import Err, OhmError, Profile, ToolEnded, ToolStarted
from ohm_subagents.plugin import Capability, ToolCall
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

FINALIZE = "subagent_finalize"
SCOUT = Profile(id="scout", name="Scout", summary="Looks.", prompt="Look.", finalize="required")
SUCCESS = {"status": "SUCCESS", "result": "In src/auth.ts"}


def final(**arguments):
    return FINALIZE, arguments


class Script:
    """The calls of each run, the last of which repeats; a text is what is answered after them, an error how it ends."""

    def __init__(self, *runs):
        self.runs = [*runs]
        self.prompts = []
        self.answers = []

    async def __call__(self, request, sink):
        self.prompts.append(request.prompt)
        run = self.runs.pop(0) if len(self.runs) > 1 else self.runs[0]
        answer = "done"
        for number, one in enumerate(run):
            if isinstance(one, tuple):
                await self.call(request, sink, f"{number}", *one)
            elif isinstance(one, anyio.Event):
                await one.wait()
            else:
                answer = one
        return Err(answer) if isinstance(answer, OhmError) else answer

    async def call(self, request, sink, call_id, name, arguments):
        sink.emit(ToolStarted(call_id=call_id, tool=name))
        tool = next((one for one in request.child_tools if one.name == name), None)
        result = None if tool is None else await tool.execute(ToolCall(arguments=arguments))
        text, wrong = ("", False) if result is None else (result.text, result.is_error)
        self.answers.append(text)
        sink.emit(ToolEnded(call_id=call_id, tool=name, status="error" if wrong else "success", text=text))


async def task_of(script, *, profile=SCOUT, capabilities=ALL, clock=None, **asked):
    backend = ActingBackend(script, capabilities=capabilities)
    config = {"subagentBackend": "acting"}
    options = {} if clock is None else {"clock": clock}
    async with Ohm.open(env=HERMETIC, plugins=[backend], profiles=[profile], config=config, **options) as ohm:
        handle = await ohm.start("scout", "look", **asked)
        await handle.wait()
        return ohm.task(handle.id)


async def test_what_is_handed_in_is_the_answer_and_what_is_said_beside_it_is_not():
    script = Script([final(**SUCCESS), "bye"])
    task = await task_of(script)

    assert (task.status, task.output, len(task.runs)) == ("succeeded", "In src/auth.ts", 1)
    assert task.activity.finalized.status == "SUCCESS"


async def test_a_run_that_hands_in_nothing_is_told_so_twice_and_then_it_fails():
    script = Script(["a"], ["b"], ["c"])
    task = await task_of(script)

    assert (task.status, task.error.code) == ("failed", ErrorCode.FINALIZE_MISSING)
    assert FINALIZE in task.error.message
    assert "3 attempts" in task.error.message
    first, second, third = script.prompts
    assert first == "look"
    assert FINALIZE in second
    assert "you did not call it at all" in third


async def test_a_correction_continues_the_same_session():
    async def act(request, sink):
        requests.append(request)
        return await script(request, sink)

    requests, script = [], Script(["a"], [final(**SUCCESS)])
    task = await task_of(act)

    assert (task.status, task.output) == ("succeeded", "In src/auth.ts")
    assert [(one.prompt, one.output) for one in requests[1].history] == [("look", "a")]
    assert requests[0].session_id == requests[1].session_id


async def test_an_invalid_call_is_answered_with_the_reason_and_can_be_repeated_in_the_same_run():
    script = Script([final(status="SUCCESS", result=" "), final(**SUCCESS)])
    task = await task_of(script)

    assert "result" in script.answers[0]
    assert (task.output, len(task.runs)) == ("In src/auth.ts", 1)


async def test_the_reason_of_an_invalid_call_is_in_the_correction():
    script = Script([final(status="DONE")], [final(**SUCCESS)])
    await task_of(script)

    assert 'DONE"; allowed: SUCCESS or ERROR' in script.prompts[1]


async def test_a_correction_tells_of_its_own_run_even_if_no_time_has_passed():
    script = Script([final(status="DONE")], ["nothing"], [final(**SUCCESS)])
    await task_of(script, clock=lambda: 0)

    assert "'status' is" in script.prompts[1]
    assert "you did not call it at all" in script.prompts[2]


async def test_a_call_that_never_ended_was_cut_off():
    async def act(request, sink):
        prompts.append(request.prompt)
        sink.emit(ToolStarted(call_id="1", tool=FINALIZE))
        return "" if len(prompts) == 1 else Err(OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke."))

    prompts = []
    await task_of(act)

    assert ["your call was cut off" in prompt for prompt in prompts] == [False, True, True]


async def test_the_last_valid_call_counts():
    task = await task_of(Script([final(status="ERROR", error="first"), final(**SUCCESS), final(status="DONE")]))

    assert (task.status, task.output) == ("succeeded", "In src/auth.ts")


async def test_any_other_call_after_it_voids_it():
    script = Script([final(**SUCCESS), ("read", {})], [final(status="SUCCESS", result="late")])
    task = await task_of(script)

    assert task.output == "late"
    assert "`read` after it" in script.prompts[1]


async def test_an_error_that_is_handed_in_is_how_the_task_fails():
    task = await task_of(Script([final(status="ERROR", error="No such file", result="Half of it")]))

    assert (task.status, task.error.code) == ("failed", ErrorCode.FINALIZED_WITH_ERROR)
    assert (task.error.message, task.activity.finalized.result) == ("No such file", "Half of it")
    assert len(task.runs) == 1


async def test_a_crash_is_corrected_as_well_and_one_after_the_call_does_not_matter():
    broken = OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke.")
    corrected = await task_of(Script([broken], [final(**SUCCESS)]))
    harmless = await task_of(Script([final(**SUCCESS), broken]))

    assert (corrected.status, len(corrected.runs)) == ("succeeded", 2)
    assert (harmless.status, len(harmless.runs)) == ("succeeded", 1)


async def test_what_cannot_start_is_not_tried_again():
    absent = OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="No pi.")
    task = await task_of(Script([absent]))

    assert (task.status, task.error.code, len(task.runs)) == ("failed", ErrorCode.COMMAND_UNUSABLE, 1)


async def test_a_cancelled_run_is_not_tried_again():
    script = Script([anyio.Event()])
    backend = ActingBackend(script)
    async with Ohm.open(env=HERMETIC, plugins=[backend], profiles=[SCOUT], config={"subagentBackend": "acting"}) as ohm:
        handle = await ohm.start("scout", "look")
        await anyio.wait_all_tasks_blocked()
        await handle.cancel()
        await handle.wait()
        task = ohm.task(handle.id)

    assert (task.status, len(script.prompts)) == ("cancelled", 1)


async def test_a_run_whose_time_is_over_is_not_tried_again_and_what_it_handed_in_counts():
    late = await task_of(Script([anyio.Event()]), limits=Limits(soft_ms=1))
    handed_in = await task_of(Script([final(**SUCCESS), anyio.Event()]), limits=Limits(soft_ms=1, extend_ms=0))

    assert (late.error.code, len(late.runs)) == (ErrorCode.BACKEND_TIMEOUT, 1)
    assert (handed_in.status, handed_in.output) == ("succeeded", "In src/auth.ts")


async def test_handing_in_the_answer_is_no_work_that_a_budget_is_for():
    profile = replace(SCOUT, budget=Budget(tool_calls=1))
    enough = await task_of(Script([("read", {}), final(**SUCCESS)]), profile=profile)
    too_much = await task_of(Script([("read", {}), ("read", {}), anyio.Event()]), profile=profile)

    assert (enough.status, enough.output) == ("succeeded", "In src/auth.ts")
    assert too_much.error.code == ErrorCode.BUDGET_EXCEEDED


async def test_a_follow_up_has_to_hand_in_its_answer_too_and_is_answered_once():
    gate = anyio.Event()
    script = Script([gate, final(**SUCCESS)], ["nothing"], [final(status="SUCCESS", result="more")])
    backend = ActingBackend(script, capabilities=frozenset({Capability.CHILD_TOOLS}))
    replies = []

    async def send(task_id):
        replies.append(await ohm.call("task", {"op": "send", "id": task_id, "prompt": "and?"}))

    async with Ohm.open(env=HERMETIC, plugins=[backend], profiles=[SCOUT], config={"subagentBackend": "acting"}) as ohm:
        handle = await ohm.start("scout", "look")
        async with anyio.create_task_group() as group:
            group.start_soon(send, handle.id)
            await anyio.wait_all_tasks_blocked()
            gate.set()
        await handle.wait()
        task = ohm.task(handle.id)

    assert [reply.details["output"] for reply in replies] == ["more"]
    assert (task.status, len(task.runs)) == ("succeeded", 3)


async def test_a_backend_that_gives_no_tools_says_so_before_anything_runs():
    backend = ActingBackend(Script(["a"]), capabilities=frozenset())
    config = {"subagentBackend": "acting"}
    async with Ohm.open(env=HERMETIC, plugins=[backend], profiles=[SCOUT], config=config) as ohm:
        error = (await ohm.run("scout", "look")).err_value

    assert (error.code, backend.requests) == (ErrorCode.FINALIZE_UNSUPPORTED, [])
    assert "acting" in error.message


async def test_only_who_has_to_finalize_is_given_the_tool():
    plain = Profile(id="scout", name="Scout", summary="Looks.", prompt="Look.")
    seen = []

    async def act(request, _sink):
        seen.append(request)
        return "done"

    await task_of(act, profile=plain)
    assert FINALIZE not in [*seen[0].tools, *(tool.name for tool in seen[0].child_tools)]


SCHEMA = {"type": "object", "required": ["files"], "properties": {"files": {"type": "array"}}}


# A result is held to its schema by a process, whose time is that of the world and not that of a test.
on_real_loops = pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])


@pytest.mark.sample(4)
@on_real_loops
@pytest.mark.parametrize("files", [{"files": ["a"]}, '{"files": ["a"]}'], ids=["as JSON", "as a text"])
async def test_a_result_that_has_a_schema_fits_it_and_is_handed_on_as_json(files):
    profile = replace(SCOUT, result_schema=SCHEMA)
    script = Script([final(status="SUCCESS", result={"paths": []}), final(status="SUCCESS", result=files)])
    task = await task_of(script, profile=profile)

    assert "'files' is a required property" in script.answers[0]
    assert task.output == '{"files":["a"]}'


HALVES = {f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)} | {"a60": {"type": "null"}}
ENDLESS = [
    ({"pattern": "^(a+)+$"}, "a" * 60 + "!"),
    ({"patternProperties": {"^(a+)+$": {}}}, {"a" * 60 + "!": 1}),
    ({"propertyNames": {"pattern": "(a|aa)+$"}}, {"a" * 90 + "!": 1}),
    ({"not": {"items": {"pattern": "(.*a){30}$"}}}, ["a" * 60 + "!"]),
    ({"$defs": HALVES, "$ref": "#/$defs/a0"}, 1),
    ({"uniqueItems": True}, [{"a": n} for n in range(60_000)]),
]


async def refused(schema, result):
    """Return the answer of the tool to a result that nobody can hold to the schema, while another task is done."""
    script = Script([final(status="SUCCESS", result=result), final(status="ERROR", error="too hard")])
    profile = replace(SCOUT, result_schema=schema)
    done = []

    async def other():
        done.append(await task_of(Script([final(**SUCCESS)])))

    async with anyio.create_task_group() as both:
        both.start_soon(other)
        await task_of(script, profile=profile)
        assert done, "the loop goes on meanwhile"
    return script.answers[0]


@pytest.mark.parametrize("anyio_backend", ["asyncio", pytest.param("trio", marks=pytest.mark.slow)])
async def test_a_pattern_without_end_costs_its_answer_and_not_the_host(monkeypatch):
    soon_at_an_end(monkeypatch)
    assert "'result' cannot be held to its schema" in await refused(*ENDLESS[0])


@pytest.mark.slow
@one_loop
@pytest.mark.parametrize(("schema", "result"), ENDLESS, ids=[f"{[*schema][-1]}" for schema, _ in ENDLESS])
async def test_a_schema_without_end_costs_its_answer_and_not_the_host(anyio_backend, monkeypatch, schema, result):
    """The last of them has the time that a result really has."""
    del anyio_backend
    if schema is not ENDLESS[-1][0]:
        soon_at_an_end(monkeypatch)
    assert "'result' cannot be held to its schema" in await refused(schema, result)


def soon_at_an_end(monkeypatch):
    """Give no result more than a second."""
    monkeypatch.setattr(finalization, "_LIMITS", replace(finalization._LIMITS, seconds=1))


@on_real_loops
async def test_no_answer_is_taken_where_no_process_can_judge_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", f"{tmp_path}/python3")
    script = Script([final(status="SUCCESS", result=1), final(status="ERROR", error="no")])
    await task_of(script, profile=replace(SCOUT, result_schema={"type": "integer"}))
    assert "no process starts" in script.answers[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"result_schema": {"type": "nothing"}}, "'nothing' is not valid"),
        ({"result_schema": {"$ref": "http://127.0.0.1:9/s.json"}}, "nothing is fetched"),
        ({"result_schema": {"$ref": "#/$defs/nope"}}, "leads nowhere"),
        ({"result_schema": {"$ref": "#"}}, "in a circle"),
        ({"result_schema": SCHEMA, "finalize": None}, "not handed in"),
    ],
)
async def test_a_profile_made_in_python_is_judged_before_anything_runs(changes, said):
    backend = ActingBackend(Script(["a"]))
    profile, config = replace(SCOUT, **changes), {"subagentBackend": "acting"}
    async with Ohm.open(env=HERMETIC, plugins=[backend], profiles=[profile], config=config) as ohm:
        error = (await ohm.run("scout", "look")).err_value

    assert (error.code, backend.requests) == (ErrorCode.PROFILE_INVALID, [])
    assert said in error.message
    assert "'scout'" in error.message


async def test_what_the_last_run_failed_of_is_told():
    down = OhmError(code="acme_down", message="The service is down.", advice="Try later.")
    task = await task_of(Script([down]))

    assert task.error.code == ErrorCode.FINALIZE_MISSING
    assert str(task.error).endswith("in 3 attempts. The last one failed: The service is down. Try later.")
