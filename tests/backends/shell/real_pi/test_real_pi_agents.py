"""A profile of 000 at a real `pi`, seen by the model that it asks."""

import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from model_server import Call, ModelServer, Say
from pi_desk import GRACE_MS
from pi_streams import pattern, request
from real_pi import NEW, NEWEST, OLD
from subagent_runs import EventLog

from ohm_subagents.backends.pi.options import PiOptions
from ohm_subagents.backends.pi.spec import interactive_shell_spec
from ohm_subagents.contract import AgentOptions, DiagnosticRaised, ErrorCode, Ok, Profile, ToolPolicy
from ohm_subagents.contract.profile import CHILD_TOOLS
from ohm_subagents.contract.services import CompatibleModel, CompatibleProvider

pytestmark = [pytest.mark.anyio, pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]

# The newest is here as one file, without what loads extensions.
with_extensions = pytest.mark.parametrize("pi", [OLD, NEW], indirect=True)
newest_version = pytest.mark.parametrize("pi", [NEWEST], indirect=True)
ACME = pattern("acme/m1")
EXTENSION = """
export default function (pi) {
  pi.registerTool({ name: "shout", label: "Shout", description: "Shouts.",
    parameters: { type: "object", properties: {} },
    async execute() { return { content: [{ type: "text", text: "HEY" }], details: {} }; } });
}
"""
SKILL = "---\nname: knots\ndescription: How to tie knots.\n---\nOver, under.\n"


def profile(agent, *, instructions="", policy=None, own=ACME):
    return Profile(
        id="Writer",
        name="Writer",
        summary="Writes.",
        prompt=instructions,
        tools=policy or ToolPolicy(),
        model=own,
        agent=agent,
    )


class Bench:
    """Runs of one backend at a desk."""

    def __init__(self, desk, backend):
        self._desk = desk
        self._backend = backend
        self.told = []

    async def tries(self, agent, prompt="go", *, tools=None, env=(), model=ACME, one_shot=True, **of_profile):
        """Return what becomes of a run of a profile; without `agent` it is one of another kind."""
        log = EventLog()
        asked = request(
            prompt,
            profile=profile(agent, **of_profile),
            cwd=self._desk.work,
            env={**self._desk.env, **dict(env)},
            tools=CHILD_TOOLS if tools is None else tools,
            tools_are_bounded=tools is not None,
            model=model,
            is_one_shot=one_shot,
        )
        result = await self._backend.run(asked, log)
        self.told += [event.diagnostic.message for event in log.of(DiagnosticRaised)]
        return result

    async def asks(self, *given, **changes):
        """Return what a run answers."""
        result = await self.tries(*given, **changes)
        assert isinstance(result, Ok), result.err_value.message
        return result.ok_value.text


@pytest.fixture
def bench(desk):
    @asynccontextmanager
    async def opened(server, **options):
        models = (CompatibleModel(id="m1", supports_thinking=True, context_window=100_000),)
        acme = CompatibleProvider(name="acme", base_url=server.url, api_key_env="ACME_KEY", models=models)
        known = PiOptions.model_validate({"command": desk.pi.command, "graceMs": GRACE_MS, **options})
        async with interactive_shell_spec([acme]).open(known) as backend:
            yield Bench(desk, backend)

    return opened


@pytest.mark.parametrize(
    ("pi", "one_shot"), [(OLD, True), (NEW, False), (NEWEST, True), (NEWEST, False)], indirect=["pi"]
)
async def test_what_a_profile_says_reaches_the_model(desk, bench, one_shot):
    skill = desk.agent / "skills" / "knots" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    agent = AgentOptions(
        provider="acme",
        model="m1",
        thinking="high",
        appended_prompt="- And be brief.",
        skill_paths=(str(skill),),
        extra_args=("--append-system-prompt", "From the extra arguments."),
    )
    policy = ToolPolicy(allowed=("ls", "read"))
    prompt = "--help @nobody\n- all of it"
    async with ModelServer(Say("Yes.")) as server, bench(server) as runs:
        answer = await runs.asks(
            agent, prompt, instructions="- You tie knots.", policy=policy, tools=("read", "ls"), one_shot=one_shot
        )
    assert answer == "Yes."
    (asked,) = server.requests
    system = asked.messages[0]["content"]
    assert system.startswith("- You tie knots.")
    assert "- And be brief." in system
    assert "From the extra arguments." in system
    assert "How to tie knots." in system
    assert asked.prompt == prompt
    assert sorted(asked.tool_names) == ["ls", "read"]
    assert asked.body["model"] == "m1"
    assert asked.body["reasoning_effort"] == "high"
    assert runs.told == []


async def test_the_key_of_a_profile_is_the_key_that_its_provider_gets(desk, bench):
    (desk.agent / "auth.json").write_text(json.dumps({"acme": {"type": "api_key", "key": "sk-a-login-of-the-user"}}))
    agent = AgentOptions(provider="acme", model="m1", api_key="sk-of-the-profile")
    telling = Say(Call("bash", {"command": "cat $PI_CODING_AGENT_DIR/auth.json; ps -eo args"}))
    async with ModelServer(telling, Say("Yes."), Say("Yes.")) as server, bench(server) as runs:
        await runs.asks(agent)
        await runs.asks(replace(agent, api_key=None))
    keyed, also_keyed, plain = server.requests
    assert keyed.headers["authorization"] == also_keyed.headers["authorization"] == "Bearer sk-of-the-profile"
    assert plain.headers["authorization"] == "Bearer sk-a-login-of-the-user"
    assert "sk-of-the-profile" not in also_keyed.tool_results[0]
    assert runs.told == []


async def test_a_key_needs_no_other(bench):
    agent = AgentOptions(provider="acme", model="m1", api_key="sk-of-the-profile")
    async with ModelServer(Say("Yes.")) as server, bench(server) as runs:
        assert await runs.asks(agent, env={"ACME_KEY": ""}) == "Yes."
    assert server.requests[0].headers["authorization"] == "Bearer sk-of-the-profile"


@newest_version
async def test_a_key_goes_to_nobody_but_the_provider_of_its_profile(bench):
    agent = AgentOptions(provider="openai", model="gpt-6", api_key="sk-of-the-profile")
    async with ModelServer(Say("Yes.")) as server, bench(server) as runs:
        await runs.asks(agent, model=ACME, own=pattern("openai/gpt-6"))
    assert server.requests[0].headers["authorization"] == "Bearer sk-acme"
    assert runs.told == ['The apiKey of profile "Writer" is not used: provider "acme" runs.']


@with_extensions
async def test_a_profile_without_tools_gives_none_to_the_model(desk, bench):
    (desk.agent / "extensions").mkdir()
    (desk.agent / "extensions" / "shout.ts").write_text(EXTENSION)
    async with ModelServer(Say("Yes.")) as server, bench(server) as runs:
        await runs.asks(AgentOptions(), policy=ToolPolicy(allowed=()), tools=())
    assert server.requests[0].tool_names == []


@pytest.mark.parametrize("pi", [NEW], indirect=True)
async def test_the_users_extensions_load_unless_the_profile_says_no(desk, bench):
    (desk.agent / "extensions").mkdir()
    (desk.agent / "extensions" / "shout.ts").write_text(EXTENSION)
    (desk.agent / "AGENTS.md").write_text("The user's own rules.")
    async with ModelServer(*[Say("Yes.")] * 5) as server, bench(server) as runs:
        await runs.asks(AgentOptions(), policy=ToolPolicy(allowed=("read", "shout")), tools=("read", "shout"))
        await runs.asks(AgentOptions())
        await runs.asks(AgentOptions(), tools=CHILD_TOOLS)
        await runs.asks(AgentOptions(no_extensions=True, no_context_files=True))
        await runs.asks(None)
    listed, free, ruled, without, of_another = server.requests
    assert sorted(listed.tool_names) == ["read", "shout"]
    assert {"read", "bash", "edit", "write", "shout"} <= {*free.tool_names}
    assert "shout" not in ruled.tool_names
    for asked in (without, of_another):
        assert "shout" not in asked.tool_names
        assert "The user's own rules." not in asked.messages[0]["content"]
    assert "The user's own rules." in free.messages[0]["content"]
    assert runs.told == []


@with_extensions
async def test_an_extension_that_the_profile_names_loads_all_the_same(desk, bench):
    (desk.work / "shout.ts").write_text(EXTENSION)
    agent = AgentOptions(no_extensions=True, extensions=("shout.ts",))
    async with ModelServer(Say(Call("shout", {})), Say("Yes.")) as server, bench(server) as runs:
        assert await runs.asks(agent) == "Yes."
    assert server.requests[1].tool_results == ["HEY"]


@newest_version
async def test_a_profile_of_the_user_sees_the_whole_environment_and_one_of_a_project_does_not(bench):
    telling = Say(Call("bash", {"command": "env"}))
    agent = AgentOptions(api_key="sk-of-the-profile")
    async with ModelServer(telling, Say("Yes."), telling, Say("Yes.")) as server, bench(server) as runs:
        await runs.asks(agent)
        await runs.asks(AgentOptions(is_local=True))
    _, users, _, projects = (asked.tool_results for asked in server.requests)
    assert {"OPENAI_API_KEY=sk-foreign", "PI_API_KEY=sk-of-the-profile"} <= {*users[0].splitlines()}
    assert "sk-foreign" not in projects[0]
    assert "PI_API_KEY" not in projects[0]


async def test_the_text_mode_has_the_same_flags(desk, bench):
    agent = AgentOptions(appended_prompt="Be brief.", thinking="low")
    policy = ToolPolicy(allowed=("read",))
    async with ModelServer(Say("Yes.")) as server, bench(server, mode="text") as runs:
        assert await runs.asks(agent, "@go", instructions="You write.", policy=policy, tools=("read",)) == "Yes."
    (asked,) = server.requests
    assert asked.messages[0]["content"].startswith("You write.")
    assert "Be brief." in asked.messages[0]["content"]
    assert (asked.prompt, asked.tool_names) == ("@go", ["read"])
    assert asked.body["reasoning_effort"] == "low"


@pytest.mark.parametrize("pi", [OLD], indirect=True)
async def test_an_old_pi_is_not_started_on_the_extensions_of_a_project(desk, bench):
    (desk.work / ".pi" / "extensions").mkdir(parents=True)
    async with ModelServer(Say("Yes.")) as server, bench(server) as runs:
        refused = (await runs.tries(AgentOptions())).err_value
        assert await runs.asks(AgentOptions(no_extensions=True)) == "Yes."
    assert refused.code == ErrorCode.COMMAND_UNUSABLE
    assert refused.message == (
        f'pi 0.74.2 would take the extensions of the project, "{desk.work}/.pi/extensions", which are programs.'
    )
