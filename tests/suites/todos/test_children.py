"""The todo tools inside a run: every subagent with a list of its own."""

import re

import pytest
from model_server import Call, ModelServer, Say

from ohm_subagents import Ohm
from ohm_subagents.contract import Profile, ToolPolicy
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio
TODOS = ("write_todos", "list_todos", "edit_todos")
PLANNER = Profile(
    id="planner", name="Planner", summary="Plans.", prompt="You plan.", tools=ToolPolicy(allowed=("read", *TODOS))
)
DOER = Profile(id="doer", name="Doer", summary="Does.", prompt="You do.")


@pytest.fixture
def anyio_backend():
    """pydantic-ai runs on asyncio only."""
    return "asyncio"


def opened(server, **options):
    config = {
        "providers": {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}},
        "subagents": {"model": "acme/small"},
        **options.pop("config", {}),
    }
    env = HERMETIC | {"ACME_KEY": "k"} | options.pop("env", {})
    return Ohm.open(**{"config": config, "env": env, "profiles": [PLANNER, DOER], **options})


def write(*texts, mode="replace"):
    return Say(Call("write_todos", {"mode": mode, "todos": [{"text": text} for text in texts]}))


def complete(*indices):
    return Say(Call("edit_todos", {"action": "complete", "indices": [*indices]}))


async def test_each_of_two_that_run_at_once_works_on_its_own_list():
    def script(request):
        name = re.search("plan (one|two)", request.messages[1]["content"])[1]
        steps = [write(f"{name} a", f"{name} b"), complete(0), Say(Call("list_todos")), Say("Done.")]
        return steps[len(request.tool_results)]

    async with ModelServer(script) as server, opened(server) as ohm:
        items = [{"subagent_type": "planner", "description": n, "prompt": f"plan {n}"} for n in ("one", "two")]
        done = await ohm.call("task", {"op": "start", "tasks": items})

    assert not done.is_error, done.text
    last = [request.tool_results[-1] for request in server.requests if len(request.tool_results) == 3]
    assert sorted(last) == [f"✓ [0] {name} a\n\N{EN DASH} [1] {name} b" for name in ("one", "two")]


async def test_a_follow_up_finds_the_list_that_its_conversation_tells_of():
    script = [write("a"), Say("Written."), complete(0), Say("Completed.")]
    config = {"subagents": {"model": "acme/small", "sendToFinished": "resume"}}
    async with ModelServer(*script) as server:
        config["providers"] = {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}}
        async with opened(server, config=config) as ohm:
            first = (await ohm.run("planner", "Write.")).ok_value
            sent = await ohm.call("task", {"op": "send", "id": first.task_id, "prompt": "Complete."})

    assert not sent.is_error, sent.text
    assert server.requests[-1].tool_results[-1] == "Completed [0]\n\n✓ [0] a"


async def test_only_one_whose_profile_names_them_gets_them_and_is_told_how_to_use_them():
    async with ModelServer(Say("Planned."), Say("Done.")) as server, opened(server) as ohm:
        await ohm.run("planner", "Plan.")
        await ohm.run("doer", "Do.")

    planner, doer = server.requests
    assert planner.tool_names == ["read", *TODOS]
    assert not {*TODOS} & {*doer.tool_names}
    assert "bash" in doer.tool_names
    told = planner.messages[0]["content"]
    assert "You plan." in told
    assert told.count("Manage a todo list: write (replace/append/insert)") == 1
    assert "Always call edit_todos with action 'start' on the next item before working on it" in told
    assert "_todos" not in doer.messages[0]["content"]


async def test_ohm_json_can_name_them_too():
    async with ModelServer(Say("Done.")) as server:
        subagents = {"model": "acme/small", "doer": {"tools": ["ls", "Write_Todos"]}}
        provider = {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}
        config = {"providers": {"acme": provider}, "subagents": subagents}
        async with opened(server, config=config) as ohm:
            await ohm.run("doer", "Do.")

    assert server.requests[0].tool_names == ["ls", "write_todos"]


async def test_the_list_of_the_parent_and_its_screen_are_not_touched():
    host = MemoryHost()
    async with (
        ModelServer(write("child"), Say("Done.")) as server,
        opened(server, host=host, suites=["todos", "task"]) as ohm,
    ):
        await ohm.call("write_todos", {"mode": "replace", "todos": [{"text": "parent"}]})
        host.calls.clear()
        await ohm.run("planner", "Plan.")
        assert (await ohm.call("list_todos", {})).text == "\N{EN DASH} [0] parent"
        assert [call for call in host.calls if call[0] == "set_status"] == []


async def test_a_window_of_delegated_work_shows_how_far_its_list_is(tmp_path):
    (tmp_path / "agent-profiles").mkdir()
    (tmp_path / "agent-profiles" / "planner.md").write_text(
        "---\nname: planner\nprovider: acme\nmodel: small\ntools: read, write_todos, edit_todos\n---\nYou plan.\n"
    )
    frames = []
    script = [write("a", "b", "c"), complete(0, 2), Say("Done.")]
    async with (
        ModelServer(*script) as server,
        opened(server, cwd=tmp_path, suites=["delegate"], env={"PI_CODING_AGENT_DIR": str(tmp_path)}) as ohm,
    ):
        done = await ohm.call(
            "delegate_to_subagents",
            {"tasks": [{"name": "plan", "prompt": "Plan.", "profile": "planner"}]},
            on_update=frames.append,
        )

    assert not done.is_error, done.text
    [window] = done.details["windows"]
    assert (window["todoCompleted"], window["todoTotal"]) == (2, 3)
    assert "[2/3]" in done.render()
    assert server.requests[0].tool_names == ["read", "write_todos", "edit_todos"]
    counted = [frame.details["windows"][0].get("todoTotal") for frame in frames]
    assert 3 in counted
