"""Privacy with a real `pi`, which sees and changes its own copies, the key of its model, nothing else."""

import json

import pytest
from model_server import Call, ModelServer, Say
from pi_desk import FOREIGN
from real_pi import NEWEST

pytestmark = [pytest.mark.anyio, pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]


async def told(desk, command, **options):
    """Return what a bash tool of the child prints."""
    async with ModelServer(Say(Call("bash", {"command": command})), Say("Done.")) as server:
        async with desk.ohm(server, **options) as ohm:
            assert (await ohm.run("task", "go")).ok_value.output == "Done."
        return server.requests[1].tool_results[0]


async def test_no_key_but_that_of_its_model_is_in_its_environment(desk):
    lines = (await told(desk, "env")).splitlines()
    env = dict(line.split("=", 1) for line in lines if "=" in line)
    assert {*FOREIGN}.isdisjoint(env)
    assert "sk-foreign" not in "\n".join(lines)
    assert (env["PI_SUBAGENT_DEPTH"], env["PI_SUBAGENT_CHILD"]) == ("1", "1")
    assert env["HOME"] == str(desk.home)


@pytest.mark.parametrize("pi", [NEWEST], indirect=True)
async def test_variables_of_the_options_are_set_for_it_and_passed_on_to_it(desk):
    options = {"env": {"COLOUR": "blue", "SOME_TOKEN": None}}
    lines = (await told(desk, "env", **options)).splitlines()
    assert {"COLOUR=blue", "SOME_TOKEN=sk-foreign"} <= {*lines}


async def test_the_users_own_files_are_copied_and_never_touched(desk):
    def state():
        return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in desk.agent.iterdir()}

    before = state()
    script = "cd $PI_CODING_AGENT_DIR && stat -c '%a %n' . auth.json && cat auth.json settings.json"
    mode, login, *files = (await told(desk, script)).splitlines()
    assert (mode, login) == ("700 .", "600 auth.json")
    assert "sk-a-login-of-the-user" in "\n".join(files)
    assert "baseDelayMs" in "\n".join(files)
    assert state() == before
    assert [*desk.home.iterdir()] == [desk.home / ".pi"]


async def test_a_provider_of_the_users_own_models_file_is_used(desk):
    async with ModelServer(Say("From there.")) as server:
        mine = {"baseUrl": server.url, "api": "openai-completions", "apiKey": "sk-mine", "models": [{"id": "m9"}]}
        (desk.agent / "models.json").write_text(json.dumps({"providers": {"mine": mine}}))
        async with desk.ohm(server) as ohm:
            envelope = (await ohm.run("task", "go", model="mine/m9")).ok_value
    assert (envelope.output, envelope.provider, envelope.model) == ("From there.", "mine", "m9")
    assert server.requests[0].headers["authorization"] == "Bearer sk-mine"
