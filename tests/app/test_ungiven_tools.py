"""A tool that a subagent was not given does not run: by what it is shown, by the gate, and after a resume."""

import pytest
from acting import ActingBackend

from ohm_subagents import Ohm, tool
from ohm_subagents.contract import Profile, ToolPolicy
from ohm_subagents.contract.profile import CHILD_TOOLS

pytestmark = pytest.mark.anyio
ARGUMENTS = {"bash": {"command": "ls"}}


@tool
def price(of: str) -> str:
    """Return the price of a thing."""
    return of


@pytest.fixture
def opened(tmp_path):
    def opened(profile, seen):
        async def act(request, _sink):
            named = (*CHILD_TOOLS, "ask_parent", "price", "subagent_finalize", "Read", "BASH")
            passed = {one for one in named if await request.gate.tool(one, ARGUMENTS.get(one.lower(), {})) is None}
            seen.append((set(request.tools), passed))
            return "done"

        config = {"subagentBackend": "acting", "subagents": {"sendToFinished": "resume"}}
        env = {"HOME": str(tmp_path), "PI_CONFIG_DIR": str(tmp_path / "home")}
        return Ohm.open(cwd=tmp_path, env=env, config=config, profiles=[profile], plugins=[ActingBackend(act)])

    return opened


@pytest.mark.parametrize(
    "policy",
    [
        ToolPolicy(allowed=("read",)),
        ToolPolicy(allowed=("bash", "ask_parent")),
        ToolPolicy(allowed=()),
        ToolPolicy(denied=("bash", "write")),
    ],
)
async def test_the_gate_lets_through_what_the_model_is_shown_and_so_it_does_after_a_resume(opened, policy):
    profile, seen = Profile(id="p", name="P", summary="", prompt="", tools=policy), []
    async with opened(profile, seen) as ohm:
        first = (await ohm.run("p", "Go.")).unwrap()
    async with opened(profile, seen) as ohm:
        (await ohm.handle(first.task_id).send("Go on.")).unwrap()
    (shown, passed), again = seen
    folded = {one.lower() for one in passed}
    assert folded == shown
    assert ("BASH" in passed, "Read" in passed) == ("bash" in shown, "read" in shown)  # as agents write it
    assert again == (shown, passed)


async def test_a_function_of_the_call_is_given(opened):
    profile, seen = Profile(id="p", name="P", summary="", prompt="", tools=ToolPolicy(allowed=())), []
    async with opened(profile, seen) as ohm:
        await ohm.run("p", "Go.", tools=[price])
    assert seen == [({"price"}, {"price"})]


async def test_where_nothing_limits_the_tools_an_agent_may_use_its_own(opened):
    profile, seen = Profile(id="p", name="P", summary="", prompt=""), []
    async with opened(profile, seen) as ohm:
        await ohm.run("p", "Go.")
    assert {*CHILD_TOOLS, "Read", "BASH"} <= seen[0][1]
