"""A call in the foreground that goes on in the background after some time, with its handle."""

import anyio
import pytest

from ohm_subagents.testing import Step, quick_ohm

START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}
ALLOWED = {"subagents": {"asyncStart": "allow", "backgroundAfterMs": 2000}}


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


pytestmark = pytest.mark.anyio


async def test_a_start_that_takes_long_returns_its_handle_and_the_task_goes_on():
    async with quick_ohm(Step(text="slow", delay_s=5), config=ALLOWED) as ohm:
        began = anyio.current_time()
        result = await ohm.call("task", START)
        assert anyio.current_time() - began == pytest.approx(2, abs=1e-6)
        assert (result.details["status"], result.details["task_id"]) == ("running", "task_1")
        assert result.text.splitlines()[-1] == (
            'The work goes on in the background. To get the answers, call task: {"op": "wait", "ids": ["task_1"]}'
        )
        answer = (await ohm.call("task", {"op": "wait", "ids": ["task_1"]})).details
        assert answer["items"][0]["output"] == "slow"


async def test_a_start_that_is_answered_in_time_says_nothing_of_it():
    async with quick_ohm(Step(text="quick", delay_s=1), config=ALLOWED) as ohm:
        result = await ohm.call("task", START)
    assert (result.details["output"], "background" in result.text) == ("quick", False)


async def test_a_batch_goes_on_with_what_has_not_begun():
    steps = [Step(text=f"answer {number}", delay_s=1.5) for number in range(3)]
    async with quick_ohm(*steps, config=ALLOWED) as ohm:
        one = {name: START[name] for name in ("subagent_type", "description", "prompt")}
        result = await ohm.call("task", {"op": "start", "tasks": [one] * 3})
        assert [item["status"] for item in result.details["items"]] == ["succeeded", "running", "queued"]
        ids = ["task_1", "task_2", "task_3"]
        answers = (await ohm.call("task", {"op": "wait", "ids": ids})).details["items"]
    assert [item["output"] for item in answers] == ["answer 0", "answer 1", "answer 2"]


UNHEEDED = (
    "'subagents.backgroundAfterMs' counts for nothing: calls of a model go on in the background only where"
    " 'subagents.asyncStart' is 'allow'."
)


async def test_without_async_start_the_setting_changes_nothing_and_that_is_told():
    async with quick_ohm(Step(text="slow", delay_s=5), config={"subagents": {"backgroundAfterMs": 1}}) as ohm:
        (told,) = [one for one in ohm.diagnostics if one.subject == "subagents.backgroundAfterMs"]
        details = (await ohm.call("task", START)).details
    assert (details["output"], details["diagnostics"]) == ("slow", [UNHEEDED])
    assert (told.message, told.severity) == (UNHEEDED, "warning")


async def test_the_description_of_task_says_that_a_long_start_goes_on_where_it_does():
    said = "A start that takes long goes on in the background by itself, and returns the task ids then."
    for config, is_said in ((ALLOWED, True), ({"subagents": {"asyncStart": "allow"}}, False), ({}, False)):
        async with quick_ohm(config=config) as ohm:
            assert (said in ohm.tools["task"].description) is is_said
            assert [one for one in ohm.diagnostics if "backgroundAfterMs" in one.subject] == []


async def test_a_program_may_say_so_for_one_call_whatever_is_configured():
    async with quick_ohm(Step(text="a", delay_s=5), Step(text="b", delay_s=5)) as ohm:
        result = await (await ohm.begin("task", START, background_after_ms=1000)).wait()
        assert result.details["status"] == "running"
        refused = (await ohm.run("finder", "p", background_after_ms=1000)).err_value
        assert (refused.code, refused.task_id, refused.retryable) == ("task_wait_timeout", "task_2", True)
        assert (await ohm.handle(refused.task_id).wait()).ok_value.output == "b"


@pytest.mark.parametrize("wrong", [-1, "soon", 1.5, True])
async def test_a_time_that_is_none_is_refused(wrong):
    async with quick_ohm() as ohm:
        with pytest.raises(TypeError, match=r"background_after_ms is .*; allowed: a whole number of milliseconds"):
            await ohm.run("finder", "p", background_after_ms=wrong)


HERE = {"asyncStart": "allow", "backgroundAfterMs": 2000}
ENDS = "counts for nothing: a call of this tool ends when its tasks have ended."


@pytest.mark.parametrize(
    ("subagents", "options", "told"),
    [
        ({}, {"background_after_ms": 1000}, [f"'background_after_ms' {ENDS}"]),
        (HERE, {}, [f"'subagents.backgroundAfterMs' {ENDS}"]),
        (HERE, {"background_after_ms": 1000}, [f"'background_after_ms' {ENDS}"]),
        ({"asyncStart": "allow"}, {}, None),
    ],
)
async def test_a_tool_whose_calls_do_not_go_on_says_so_in_each_task(subagents, options, told):
    async with quick_ohm(Step(text="slow", delay_s=5), config={"subagents": subagents}, suites=["delegate"]) as ohm:
        asked = {"tasks": [{"name": "one", "prompt": "p"}]}
        await (await ohm.begin("delegate_to_subagents", asked, **options)).wait()
        (task,) = ohm.store.tasks()
    assert ([one.message for one in task.diagnostics] or None) == told
