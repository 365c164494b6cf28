"""Work that a nested `pi` could not do on one model is done on the next, from where it stopped."""

import json

import pytest
from model_server import Call, ModelServer, Say, Status
from real_pi import NEW, NEWEST

from ohm_subagents import Ohm

pytestmark = [pytest.mark.anyio, pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]

newest_version = pytest.mark.parametrize("pi", [NEWEST], indirect=True)
KEYLESS = Status(401, "no such key")


def opened(desk, first, second, mode):
    config = desk.config(first, mode=mode)
    other = {"baseUrl": second.url, "apiKeyEnv": "ACME_KEY", "models": [{"id": "m2", "contextWindow": 100_000}]}
    config["providers"]["other"] = other
    config["subagents"] |= {"model": "fast", "models": {"fast": {"model": "acme/m1", "fallback": ["other/m2"]}}}
    (desk.agent / "settings.json").write_text(json.dumps({"retry": {"enabled": False}}))
    return Ohm.open(cwd=desk.work, config=config, env=desk.env)


@newest_version
@pytest.mark.parametrize("mode", ["json", "rpc"])
async def test_another_model_is_asked_where_the_first_has_done_nothing(desk, mode):
    async with (
        ModelServer(lambda _: KEYLESS) as first,
        ModelServer(Say("whole")) as second,
        opened(desk, first, second, mode) as ohm,
    ):
        envelope = (await ohm.run("oracle", "Say it.")).unwrap()
    assert (envelope.output, envelope.provider, envelope.model) == ("whole", "other", "m2")
    assert envelope.models_used[-1].why == "authentication of acme/m1"
    assert second.requests[0].prompt == "Say it."


@pytest.mark.parametrize("pi", [NEW], indirect=True)  # the newest is installed without what loads extensions
@pytest.mark.parametrize("mode", ["json", "rpc"])
async def test_a_command_that_has_run_is_not_run_again(desk, mode):
    asked = Say("Counting. ", Call("bash", {"command": "echo once >> count"}))
    replies = [asked, KEYLESS]
    async with (
        ModelServer(lambda _: replies.pop(0) if replies else KEYLESS) as first,
        ModelServer(Say("done")) as second,
        opened(desk, first, second, mode) as ohm,
    ):
        envelope = (await ohm.run("task", "Count.")).unwrap()
    (request,) = second.requests
    assert envelope.output == "done"
    assert (desk.work / "count").read_text() == "once\n"
    assert request.prompt.startswith("You take over from another model")
    assert len(request.tool_results) == 1
