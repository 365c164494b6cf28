"""A name of the menu stands for several models: the next is asked when one fails, and nothing is done twice."""

from dataclasses import replace

import anyio
import pytest
from trio.testing import MockClock

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents._views.listing import task_fact_lines
from ohm_subagents.contract import (
    AgentOptions,
    Budget,
    Checkpointed,
    Err,
    FileChanged,
    Finalized,
    ModelPattern,
    ModelSelected,
    OhmError,
    Profile,
    RouteResolved,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)
from ohm_subagents.plugin import Capability
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

pytestmark = pytest.mark.anyio

MENU = {"fast": {"model": "acme/small", "fallback": ["deep", "other/spare"]}, "deep": "acme/big:high"}
FINDER = Profile(id="finder", name="Finder", summary="Finds.", prompt="Find.")
QUOTA = OhmError(code=ErrorCode.PROVIDER_QUOTA_EXCEEDED, message="The quota is used up.", advice="Add credit.")
OVERLOAD = OhmError(code=ErrorCode.PROVIDER_RATE_LIMITED, message="It is rate-limited.", retryable=True)
DOWN = OhmError(code=ErrorCode.PROVIDER_UNAVAILABLE, message="It is down.", retryable=True)
KEYLESS = OhmError(code=ErrorCode.PROVIDER_AUTHENTICATION, message="It refused the key.")
REJECTED = OhmError(code=ErrorCode.PROVIDER_REQUEST_REJECTED, message="It takes no tools.")


def wrote(path="a.txt"):
    return (
        ToolStarted(call_id="1", tool="write", args=f'{{"path": "{path}"}}'),
        ToolEnded(call_id="1", tool="write", status="success", text="written"),
    )


def config(**subagents):
    return {"subagentBackend": "scripted", "subagents": {"models": MENU, **subagents}}


def opened(backend, **subagents):
    return Ohm.open(env=HERMETIC, config=config(**subagents), plugins=[backend], profiles=[FINDER])


def models(backend):
    return [str(call.model) for call in backend.calls]


def used(envelope):
    return [(one.model, one.why) for one in envelope.models_used or ()]


@pytest.mark.parametrize(
    ("error", "why"),
    [(QUOTA, "quota"), (OVERLOAD, "overload"), (DOWN, "unavailable"), (KEYLESS, "authentication")],
)
async def test_the_next_model_is_asked_after_each_class_of_failure(error, why):
    backend = ScriptedBackend(Step(error=error), "done")
    async with opened(backend) as ohm:
        envelope = (await ohm.run("finder", "x", model="fast")).unwrap()
    assert envelope.output == "done"
    assert used(envelope) == [("acme/small", "asked as fast"), ("acme/big:high", f"{why} of acme/small")]
    assert backend.calls[1].prompt == "x"
    assert envelope.diagnostics == [f"acme/big:high is asked instead of acme/small: {error.message}"]


async def test_the_last_error_lists_how_the_others_have_failed():
    backend = ScriptedBackend(Step(error=QUOTA), Step(error=OVERLOAD), Step(error=KEYLESS))
    async with opened(backend) as ohm:
        error = (await ohm.run("finder", "x", model="fast")).err_value
        task = ohm.task(error.task_id)
    assert models(backend) == ["acme/small", "acme/big:high", "other/spare"]
    assert (error.code, error.message, error.retryable) == (KEYLESS.code, KEYLESS.message, True)
    assert error.advice == (
        "acme/small failed before it: The quota is used up. acme/big:high failed before it: It is rate-limited."
    )
    assert [one.model for one in task.route.models_used] == models(backend)


async def test_other_failures_are_those_of_the_task():
    refused = OhmError(code=ErrorCode.CONTENT_FILTERED, message="Filtered.")
    backend = ScriptedBackend(Step(error=refused))
    async with opened(backend) as ohm:
        assert (await ohm.run("finder", "x", model="fast")).err_value.code == ErrorCode.CONTENT_FILTERED
    assert len(backend.calls) == 1


async def test_only_the_configured_classes_count():
    backend = ScriptedBackend(Step(error=DOWN))
    async with opened(backend, modelFallback={"on": ["quota"]}) as ohm:
        assert (await ohm.run("finder", "x", model="fast")).err_value.message == DOWN.message
    assert len(backend.calls) == 1


async def test_a_model_in_place_of_another_that_cannot_do_the_work_is_passed_over():
    backend = ScriptedBackend(Step(error=QUOTA), Step(error=REJECTED), "done")
    async with opened(backend) as ohm:
        envelope = (await ohm.run("finder", "x", model="fast")).unwrap()
    assert used(envelope)[-1] == ("other/spare", "provider_request_rejected of acme/big")


async def test_a_task_does_not_begin_with_a_model_that_another_has_found_failing():
    backend = ScriptedBackend(Step(error=QUOTA), default=Step(text="done"))
    async with opened(backend) as ohm:
        await ohm.run("finder", "x", model="fast")
        second = (await ohm.run("finder", "x", model="fast")).unwrap()
    assert models(backend) == ["acme/small", "acme/big:high", "acme/big:high"]
    assert used(second) == [("acme/big:high", "cool-down of acme/small")]


async def test_a_cool_down_of_zero_asks_again_at_once():
    backend = ScriptedBackend(Step(error=QUOTA), default=Step(text="done"))
    async with opened(backend, modelFallback={"coolDownMs": 0}) as ohm:
        await ohm.run("finder", "x", model="fast")
        await ohm.run("finder", "x", model="fast")
    assert models(backend) == ["acme/small", "acme/big:high", "acme/small"]


@pytest.mark.parametrize("anyio_backend", [("trio", {"clock": MockClock(autojump_threshold=0)})])
async def test_where_all_models_cool_down_the_one_that_is_free_first_is_asked_and_no_other():
    backend = ScriptedBackend(*(Step(error=QUOTA) for _ in range(5)), default=Step(text="done"))
    async with opened(backend) as ohm:
        await ohm.run("finder", "x", model="fast")
        await anyio.sleep(20)
        again = (await ohm.run("finder", "x", model="fast")).err_value
        await anyio.sleep(20)
        await ohm.run("finder", "x", model="fast")
        last = (await ohm.run("finder", "x", model="fast")).unwrap()
    assert models(backend)[3:] == ["acme/small", "acme/big:high", "other/spare"]
    assert (again.message, again.retryable) == (QUOTA.message, True)
    assert again.advice.endswith(
        "acme/big:high was not asked: it cools down after a failure of the class 'quota', for 40 s more. "
        "other/spare was not asked: it cools down after a failure of the class 'quota', for 40 s more."
    )
    assert used(last) == [("other/spare", "last resort: all models cool down")]


async def test_where_all_others_cool_down_a_model_that_fails_leaves_the_run_to_the_one_that_is_free_first():
    backend = ScriptedBackend(Step(error=QUOTA), Step(error=DOWN), "done", Step(error=DOWN), "done again")
    async with opened(backend) as ohm:
        await ohm.run("finder", "x", model="fast")
        resorted = (await ohm.run("finder", "x", model="fast")).unwrap()
    assert models(backend)[3:] == ["other/spare", "acme/small"]
    assert resorted.output == "done again"
    assert used(resorted) == [("other/spare", "cool-down of acme/small"), ("acme/small", "unavailable of other/spare")]
    assert resorted.diagnostics == [
        "acme/small is asked instead of other/spare: It is down. No other is left that does not cool down."
    ]


async def test_a_tool_that_has_written_is_not_called_again():
    backend = ScriptedBackend(Step(events=wrote(), error=QUOTA), "done")
    async with opened(backend) as ohm:
        error = (await ohm.run("finder", "x", model="fast")).err_value
        task = ohm.task(error.task_id)
    assert len(backend.calls) == 1
    assert error.message == QUOTA.message
    assert [str(one) for one in task.diagnostics] == [
        "acme/big:high is not asked instead of acme/small: the run cannot be resumed after write."
    ]


async def test_a_file_that_changed_without_a_call_is_not_changed_again():
    backend = ScriptedBackend(Step(events=(FileChanged(path="a.txt"),), error=QUOTA), "done")
    async with opened(backend) as ohm:
        error = (await ohm.run("finder", "x", model="fast")).err_value
        task = ohm.task(error.task_id)
    assert len(backend.calls) == 1
    assert [str(one) for one in task.diagnostics] == [
        "acme/big:high is not asked instead of acme/small: the run cannot be resumed after a change of 'a.txt'."
    ]


async def test_the_next_model_goes_on_from_the_checkpoint_after_a_tool_that_has_written():
    first = Step(events=(*wrote(), Checkpointed(state="so far")), error=QUOTA)
    backend = ScriptedBackend(first, Step(error=DOWN), "done")
    async with opened(backend) as ohm:
        envelope = (await ohm.run("finder", "x", model="fast")).unwrap()
    prompts = [call.prompt for call in backend.calls]
    assert prompts[0] == "x"
    assert prompts[1].startswith("You take over from another model")
    assert prompts[2] == prompts[1]
    assert [call.checkpoint for call in backend.calls] == [None, "so far", "so far"]
    assert envelope.diagnostics[0] == "acme/big:high goes on from where acme/small stopped: The quota is used up."


async def test_a_tool_that_only_reads_may_run_again():
    read = (ToolStarted(call_id="1", tool="Read"), ToolEnded(call_id="1", tool="Read", status="success"))
    backend = ScriptedBackend(Step(events=read, error=QUOTA), "done")
    async with opened(backend) as ohm:
        assert (await ohm.run("finder", "x", model="fast")).is_ok()
    assert backend.calls[1].prompt == "x"


async def test_what_was_said_is_kept_and_what_was_used_is_counted():
    spent = UsageAdded(usage=Usage(requests=1, input_tokens=10))
    backend = ScriptedBackend(
        Step(events=(TextDelta(text="half an ans"), spent), error=DOWN),
        Step(events=(TextDelta(text="whole"), spent), text="whole"),
    )
    async with opened(backend) as ohm:
        envelope = (await ohm.run("finder", "x", model="fast")).unwrap()
        task = ohm.task(envelope.task_id)
    assert (task.text, envelope.output) == ("half an ans\n\nwhole", "whole")
    assert (envelope.usage.requests, envelope.usage.input_tokens) == (2, 20)


async def test_a_call_that_a_model_left_open_is_closed_before_the_next_is_asked():
    backend = ScriptedBackend(Step(events=(ToolStarted(call_id="1", tool="grep"),), error=DOWN), "done")
    async with opened(backend) as ohm:
        envelope = (await ohm.run("finder", "x", model="fast")).unwrap()
        task = ohm.task(envelope.task_id)
    assert [one.event.kind for one in task.activity.calls] == ["tool_started", "tool_ended"]


async def test_a_budget_holds_over_all_models():
    spent = UsageAdded(usage=Usage(requests=2))
    backend = ScriptedBackend(Step(events=(spent,), error=QUOTA), Step(events=(spent,), delay_s=60))
    async with opened(backend) as ohm:
        result = await ohm.run("finder", "x", model="fast", budget=Budget(requests=3))
    assert isinstance(result, Err)
    assert result.err_value.code == ErrorCode.BUDGET_EXCEEDED


async def test_a_name_may_stand_wherever_a_model_may():
    profiles = [FINDER, replace(FINDER, id="oracle", model_name="deep"), replace(FINDER, id="task")]
    backend = ScriptedBackend(default=Step(text="done"))
    written = config(model="fast", task={"model": "deep"})
    async with Ohm.open(env=HERMETIC, config=written, plugins=[backend], profiles=profiles) as ohm:
        found = [used((await ohm.run(one, "x")).unwrap()) for one in ("finder", "oracle", "task")]
    assert found == [
        [("acme/small", "configured as fast")],
        [("acme/big:high", "its profile's as deep")],
        [("acme/big:high", "configured as deep")],
    ]


async def test_nothing_is_said_of_models_where_none_was_to_choose():
    backend = ScriptedBackend(default=Step(text="done"))
    async with opened(backend) as ohm:
        envelope = (await ohm.run("finder", "x", model="acme/small")).unwrap()
        task = ohm.task(envelope.task_id)
    assert "models_used" not in envelope.payload()
    assert task.route.models_used == ()


async def test_an_unknown_name_is_refused_with_the_one_that_was_meant():
    async with opened(ScriptedBackend()) as ohm:
        error = (await ohm.run("finder", "x", model="fsat")).err_value
    assert error.code == ErrorCode.INVALID_MODEL
    assert error.advice.endswith("Did you mean 'fast'? Names of subagents.models are fast, deep.")


async def test_a_task_inherits_the_model_of_the_caller():
    backend = ScriptedBackend(default=Step(text="done"))
    async with opened(backend, model="acme/common") as ohm:
        said = (await ohm.run("finder", "x", model="inherit", parent_model="acme/parent:low")).unwrap()
        unknown = (await ohm.run("finder", "x", model="inherit")).unwrap()
    assert models(backend) == ["acme/parent:low", "acme/common"]
    assert used(said) == [("acme/parent:low", "inherited from the parent")]
    assert (used(unknown), said.diagnostics) == ([], None)
    assert unknown.diagnostics == [
        "The model of the parent is not known, so acme/common does the work, as configured. "
        "Name it by 'parent_model', or choose another model."
    ]


async def test_a_task_inherits_the_model_of_the_task_above_it():
    gate = anyio.Event()
    backend = ScriptedBackend(Step(text="parent", gate=gate), Step(text="child"))
    async with opened(backend, budget={"depth": 2}) as ohm:
        parent = await ohm.start("finder", "x", model="deep")
        await anyio.wait_all_tasks_blocked()
        await ohm.run("finder", "y", model="inherit", parent=parent.id)
        gate.set()
        await parent.wait()
    assert backend.calls[1].model == ModelPattern(provider="acme", model="big", thinking="high")


async def test_a_choice_is_an_event():
    backend = ScriptedBackend(Step(error=QUOTA), "done")
    seen = []
    async with opened(backend) as ohm:
        handle = await ohm.start("finder", "x", model="fast")
        async for each in handle.events():
            seen += [each] if isinstance(each, ModelSelected) else []
    assert [one.model for one in seen] == ["acme/small", "acme/big:high"]


async def test_a_strict_run_takes_the_model_that_was_asked_in_place_of_another():
    served = RouteResolved(provider="acme", served_model="big-2025-08-07")
    backend = ScriptedBackend(Step(error=QUOTA), Step(events=(served,), text="done"))
    async with opened(backend, strictModel=True) as ohm:
        envelope = (await ohm.run("finder", "x", model="fast")).unwrap()
    assert (envelope.output, len(envelope.diagnostics)) == ("done", 1)


async def test_a_profile_of_delegate_or_single_may_give_a_name_too():
    agent = replace(FINDER, id="oracle", agent=AgentOptions(model="fast"))
    backend = ScriptedBackend("done")
    async with Ohm.open(env=HERMETIC, config=config(), plugins=[backend], profiles=[agent]) as ohm:
        assert used((await ohm.run("oracle", "x")).unwrap()) == [("acme/small", "its profile's as fast")]


async def test_a_follow_up_that_was_taken_is_told_to_the_next_model():
    class Steered(ScriptedBackend):
        @property
        def spec(self):
            return replace(super().spec, capabilities=frozenset({Capability.STEERING}))

        async def run(self, request, sink):
            with request.inbox.steered_by(lambda _text: True):
                return await super().run(request, sink)

    gate = anyio.Event()
    backend = Steered(Step(gate=gate, error=DOWN), Step(error=DOWN), "done")
    async with opened(backend) as ohm:
        handle = await ohm.start("finder", "x", model="fast")
        await anyio.wait_all_tasks_blocked()
        async with anyio.create_task_group() as group:
            group.start_soon(handle.send, "and y")
            await anyio.wait_all_tasks_blocked()
            gate.set()
            await handle.wait()
    assert [call.prompt for call in backend.calls] == ["x", "x\n\nand y", "x\n\nand y"]


async def test_a_cancel_ends_the_run_whichever_model_it_is_on():
    gate = anyio.Event()
    backend = ScriptedBackend(Step(error=DOWN), Step(gate=gate))
    async with opened(backend) as ohm:
        handle = await ohm.start("finder", "x", model="fast")
        await anyio.wait_all_tasks_blocked()
        await handle.cancel()
        task = ohm.task(handle.id)
    assert (task.status, len(backend.calls)) == ("cancelled", 2)


async def test_models_that_were_used_are_kept_with_the_task(tmp_path):
    env = HERMETIC | {"PI_CONFIG_DIR": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "sqlite"}
    backend = ScriptedBackend(Step(error=QUOTA), "done")
    async with Ohm.open(env=env, config=config(), plugins=[backend], profiles=[FINDER]) as ohm:
        envelope = (await ohm.run("finder", "x", model="fast")).unwrap()
    async with Ohm.open(env=env, config=config(), plugins=[ScriptedBackend()], profiles=[FINDER]) as ohm:
        kept = ohm.task(envelope.task_id)
    assert [(one.model, one.why) for one in kept.route.models_used] == used(envelope)


async def test_an_answer_that_was_handed_in_is_not_asked_for_again():
    called = ToolStarted(call_id="1", tool="subagent_finalize")
    events = (called, Finalized(status="SUCCESS", result="42"))
    backend = ScriptedBackend(Step(events=events, error=DOWN))
    form = replace(FINDER, finalize="required")
    async with Ohm.open(env=HERMETIC, config=config(), plugins=[backend], profiles=[form]) as ohm:
        await ohm.run("finder", "x", model="fast")
    assert len(backend.calls) == 1


async def test_an_answer_that_a_later_call_has_voided_is_asked_for_again():
    called = ToolStarted(call_id="1", tool="subagent_finalize")
    events = (called, Finalized(status="SUCCESS", result="42"), ToolStarted(call_id="2", tool="read"))
    handed_in = Step(events=(called, Finalized(status="SUCCESS", result="43")))
    backend = ScriptedBackend(Step(events=events, error=DOWN), handed_in)
    form = replace(FINDER, finalize="required")
    async with Ohm.open(env=HERMETIC, config=config(), plugins=[backend], profiles=[form]) as ohm:
        envelope = (await ohm.run("finder", "x", model="fast")).unwrap()
    assert models(backend) == ["acme/small", "acme/big:high"]
    assert envelope.output == "43"


async def test_a_model_that_fails_after_it_has_answered_goes_on_to_cool_down():
    events = (ToolStarted(call_id="1", tool="subagent_finalize"), Finalized(status="SUCCESS", result="42"))
    backend = ScriptedBackend(*[Step(error=DOWN)] * 3, Step(events=events, error=DOWN), "done")
    form = replace(FINDER, id="former", finalize="required")
    menu = {"models": {**MENU, "other": {"model": "acme/small", "fallback": ["acme/fresh"]}}}
    async with Ohm.open(env=HERMETIC, config=config(**menu), plugins=[backend], profiles=[FINDER, form]) as ohm:
        await ohm.run("finder", "x", model="fast")
        await ohm.run("former", "x", model="fast")
        await ohm.run("finder", "x", model="other")
    assert models(backend)[3:] == ["acme/small", "acme/fresh"]


async def test_an_error_names_the_models_that_were_not_asked_because_they_cool_down():
    backend = ScriptedBackend(Step(error=QUOTA), Step(error=QUOTA), "done", Step(error=DOWN), Step(error=OVERLOAD))
    async with opened(backend) as ohm:
        await ohm.run("finder", "x", model="fast")
        error = (await ohm.run("finder", "x", model="fast")).err_value
    assert models(backend)[3:] == ["other/spare", "acme/small"]
    assert error.advice == (
        "other/spare failed before it: It is down. "
        "acme/big:high was not asked: it cools down after a failure of the class 'quota', for 60 s more."
    )
    assert error.retryable


async def test_what_is_shown_of_a_task_has_its_models():
    backend = ScriptedBackend(Step(error=QUOTA), "done")
    async with opened(backend) as ohm:
        envelope = (await ohm.run("finder", "x", model="fast")).unwrap()
        lines = task_fact_lines(ohm.task(envelope.task_id), now_ms=0)
    shown = "acme/small (asked as fast), then acme/big:high (quota of acme/small)"
    assert any(line.startswith("models") and line.endswith(shown) for line in lines)
