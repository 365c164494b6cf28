"""A server that lies about its model: told, or an error where `strictModel` demands one model; work is kept."""

import pytest
from model_server import Call, ModelServer, Say

from ohm_subagents import Err, ErrorCode, Ohm, Ok

pytestmark = pytest.mark.anyio
TOLD = "The model 'big' was asked for, and 'cheap-model-mini' answers, as acme says."


@pytest.fixture
def anyio_backend():
    return "asyncio"


def opened(place, server, **subagents):
    config = {"providers": {"acme": {"baseUrl": server.url}}, "subagents": {"model": "acme/big", **subagents}}
    return Ohm.open(cwd=place, env={"HOME": str(place), "PATH": ""}, config=config)


async def test_another_model_than_the_one_asked_for_is_in_the_envelope_and_told_once(tmp_path):
    lie = [Say(Call("ls", {"path": "."}), model="cheap-model-mini"), Say("Done.", model="cheap-model-mini")]
    async with ModelServer(*lie) as server, opened(tmp_path, server) as ohm:
        envelope = (await ohm.run("finder", "look")).unwrap()
        task = ohm.task(envelope.task_id)

    assert (envelope.status, envelope.model, envelope.served_model) == ("succeeded", "big", "cheap-model-mini")
    assert [line for line in envelope.diagnostics if "answers" in line] == [TOLD]
    assert task.launch.model_name == "big"
    assert task.launch.digest == envelope.launch_digest


async def test_a_release_of_the_model_asked_for_is_shown_and_no_mismatch(tmp_path):
    async with ModelServer(Say("Done.", model="big-2025-08-07")) as server, opened(tmp_path, server) as ohm:
        envelope = (await ohm.run("finder", "look", strict_model=True)).unwrap()

    assert (envelope.model, envelope.served_model, envelope.diagnostics) == ("big", "big-2025-08-07", None)


async def test_the_model_asked_for_itself_is_not_repeated(tmp_path):
    async with ModelServer(Say("Done.")) as server, opened(tmp_path, server) as ohm:
        envelope = (await ohm.run("finder", "look")).unwrap()

    assert "served_model" not in envelope.payload()


@pytest.mark.parametrize(
    ("subagents", "options"),
    [({"strictModel": True}, {}), ({"finder": {"strictModel": True}}, {}), ({}, {"strict_model": True})],
    ids=["every subagent", "one subagent", "the call"],
)
async def test_where_only_one_model_may_answer_another_one_ends_the_run(tmp_path, subagents, options):
    lie = Say("Done.", model="cheap-model-mini")
    async with ModelServer(lie) as server, opened(tmp_path, server, **subagents) as ohm:
        result = await ohm.run("finder", "look", **options)
        task = ohm.task(result.err_value.task_id)

    assert isinstance(result, Err)
    assert (result.err_value.code, result.err_value.message) == (ErrorCode.MODEL_MISMATCH, TOLD)
    assert "strictModel" in result.err_value.advice
    assert (task.status, task.stopped_by, task.route.served_model) == ("failed", "model", "cheap-model-mini")


async def test_work_before_another_model_answers_is_kept(tmp_path):
    (tmp_path / "a.py").write_text("")
    replies = [Say("I look. ", Call("ls", {"path": "."})), Say("Done.", model="cheap-model-mini")]
    async with ModelServer(*replies) as server, opened(tmp_path, server, strictModel=True) as ohm:
        result = await ohm.run("finder", "look")
        task = ohm.task(result.err_value.task_id)

    assert result.err_value.code == ErrorCode.MODEL_MISMATCH
    assert "I look. " in task.text
    assert task.activity.usage.requests == 2


async def test_a_call_may_lift_what_the_configuration_demands(tmp_path):
    lie = Say("Done.", model="cheap-model-mini")
    async with ModelServer(lie) as server, opened(tmp_path, server, strictModel=True) as ohm:
        assert isinstance(await ohm.run("finder", "look", strict_model=False), Ok)
