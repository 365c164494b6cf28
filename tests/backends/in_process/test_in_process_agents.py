"""A profile of 000 at the in-process backend, seen by the model that it asks."""

import os
from dataclasses import replace

import pytest
from model_server import Call, ModelServer, Say, Status
from subagent_runs import ENV, KEY, EventLog, acme, answer, child_tool, error, opened, request

from ohm_subagents.backends.in_process.models import ModelBook
from ohm_subagents.backends.in_process.providers import builtin_model_specs
from ohm_subagents.contract import (
    AgentOptions,
    DiagnosticRaised,
    Err,
    ModelPattern,
    Ok,
    Profile,
    SkillText,
    ToolPolicy,
)
from ohm_subagents.contract.services import CompatibleModel
from ohm_subagents.plugin import ToolResult

pytestmark = pytest.mark.anyio

ACME = ModelPattern(provider="acme", model="m1")
OWN_KEY = "sk-of-the-profile-0123"
THINKS = CompatibleModel(id="m1", supports_thinking=True)
NAMING = AgentOptions(provider="acme", model="m1")


def asked_by(agent, *, prompt="You write.", own=ACME, **changes):
    who = Profile(
        id="Writer", name="Writer", summary="Writes.", prompt=prompt, model=own, tools=ToolPolicy(), agent=agent
    )
    return request(**{"profile": who, "instructions": prompt, "model": own, **changes})


async def asks(server, agent, *, models=(THINKS,), env=ENV, **changes):
    """The answer of a run, and what was told beside it."""
    log = EventLog()
    async with opened(acme(server, *models), env=env) as backend:
        said = answer(await backend.run(asked_by(agent, **changes), log))
    return said, [event.diagnostic.message for event in log.of(DiagnosticRaised)]


def system_of(asked):
    """All that the model is told before it is asked."""
    return "\n".join(each["content"] for each in asked.messages if each["role"] in {"system", "developer"})


async def test_the_appended_prompt_stands_below_the_profiles_own():
    async with ModelServer(Say("Yes.")) as server:
        assert await asks(server, AgentOptions(appended_prompt="Be brief."), own=None, model=ACME) == ("Yes.", [])
    assert system_of(server.requests[0]) == "You write.\n\nBe brief."


async def test_a_profile_that_says_nothing_tells_nothing():
    async with ModelServer(Say("Yes.")) as server:
        assert await asks(server, AgentOptions(), prompt="", own=None, model=ACME) == ("Yes.", [])
    assert system_of(server.requests[0]) == ""


async def test_what_is_honoured_by_nature_is_not_worth_a_word(tmp_path):
    (tmp_path / "AGENTS.md").write_text("Rules.")
    agent = AgentOptions(no_extensions=True, no_skills=True, no_context_files=True)
    async with ModelServer(Say("Yes.")) as server:
        assert await asks(server, agent, cwd=tmp_path, own=None, model=ACME) == ("Yes.", [])
    assert "Rules." not in system_of(server.requests[0])


@pytest.mark.parametrize(
    ("agent", "own", "model", "level"),
    [
        (replace(NAMING, thinking="high"), replace(ACME, thinking="high"), replace(ACME, thinking="high"), "high"),
        (AgentOptions(thinking="low"), None, ACME, "low"),
        (AgentOptions(thinking="low"), None, replace(ACME, thinking="high"), "high"),
        (replace(NAMING, model="m2", thinking="low"), replace(ACME, model="m2"), ACME, None),
    ],
    ids=["own", "of-the-profile", "of-the-call", "of-another-model"],
)
async def test_the_thinking_level_goes_with_the_model_it_is_meant_for(agent, own, model, level):
    async with ModelServer(Say("Yes.")) as server:
        assert await asks(server, agent, own=own, model=model) == ("Yes.", [])
    assert server.requests[0].body.get("reasoning_effort") == level


async def test_a_profile_without_tools_gives_none_to_the_model():
    async with ModelServer(Say("Yes.")) as server:
        await asks(server, AgentOptions(), own=None, model=ACME, tools=())
    assert server.requests[0].tool_names == []


async def test_tools_that_are_not_here_are_named_and_those_of_plugins_are_not():
    tools = {"tools": ("read", "shout", "web"), "child_tools": (child_tool("shout", ToolResult(text="", details={})),)}
    async with ModelServer(Say("Yes.")) as server:
        _, told = await asks(server, AgentOptions(), own=None, model=ACME, **tools)
    assert told == ['There is no tool "web" here; the subagent works without it.']
    assert sorted(server.requests[0].tool_names) == ["read", "shout"]
    assert system_of(server.requests[0]).endswith("You do not have these tools, whatever is said above: web.")


async def test_what_only_pi_can_do_is_said_once_each():
    agent = AgentOptions(extensions=("a.ts", "b.ts"), extra_args=("--api-key", "sk-not-to-be-shown"))
    async with ModelServer(Say("Yes.")) as server:
        _, told = await asks(server, agent, own=None, model=ACME)
    assert told == [
        'The extensions of profile "Writer" are for pi and are not loaded: a.ts, b.ts.',
        'The extraArgs of profile "Writer" are for the command line of pi and have no effect here.',
    ]


async def test_a_model_without_its_provider_is_replaced_and_that_is_said():
    log = EventLog()
    async with opened(env={}) as backend:
        own = Profile(
            id="Writer",
            name="Writer",
            summary="Writes.",
            prompt="",
            fallback_model=ModelPattern(provider="nobody", model="m"),
            agent=AgentOptions(model="sonnet"),
        )
        await backend.run(request(profile=own, model=None), log)
    [told] = log.of(DiagnosticRaised)
    assert told.diagnostic.message == 'The model "sonnet" of profile "Writer" has no provider, so "nobody/m" runs.'


@pytest.mark.parametrize(
    ("named", "env", "runs"),
    [
        ("openai", {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "openai"),
        ("OpenAI", {"ANTHROPIC_API_KEY": "k"}, "openai"),
        ("ollama", {"ANTHROPIC_API_KEY": "k"}, "anthropic"),
        (None, {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "anthropic"),
    ],
)
def test_the_default_model_of_the_provider_that_the_profile_names_runs(named, env, runs):
    chosen = ModelBook(builtin_model_specs(env), env).choose(None, asked_by(AgentOptions(provider=named)).profile)
    assert isinstance(chosen, Ok)
    assert chosen.ok_value.provider == runs


async def test_a_provider_without_a_default_model_is_told():
    log = EventLog()
    who = replace(
        asked_by(AgentOptions(provider="Acme"), own=None).profile,
        fallback_model=ModelPattern(provider="nobody", model="m"),
    )
    async with opened(env={}) as backend:
        await backend.run(request(profile=who, model=None), log)
    [told] = log.of(DiagnosticRaised)
    assert told.diagnostic.message == (
        'The provider "Acme" of profile "Writer" has no default model here, so "nobody/m" runs.'
    )


# Its key


async def test_the_key_of_a_profile_is_for_its_own_runs_alone():
    plain = request(model=ACME)
    async with ModelServer(Say("1"), Say("2"), Say("3"), Say("4")) as server, opened(acme(server)) as backend:
        for each in (plain, asked_by(replace(NAMING, api_key=OWN_KEY)), plain, asked_by(NAMING)):
            answer(await backend.run(each, EventLog()))
    given = [each.headers["authorization"] for each in server.requests]
    assert given == [f"Bearer {key}" for key in (KEY, OWN_KEY, KEY, KEY)]


async def test_the_key_of_a_profile_needs_no_other():
    async with ModelServer(Say("Yes.")) as server:
        assert await asks(server, replace(NAMING, api_key=OWN_KEY), env={}) == ("Yes.", [])
    assert server.requests[0].headers["authorization"] == f"Bearer {OWN_KEY}"


async def test_the_connections_of_a_key_are_closed_with_its_run():
    async with ModelServer(Say(Call("read", {"path": "x"})), Say("Yes.")) as server, opened(acme(server)) as backend:
        answer(await backend.run(asked_by(replace(NAMING, api_key=OWN_KEY), tools=("read",)), EventLog()))
        await server.until(lambda server: server.open_connections == 0)


async def test_a_key_goes_to_nobody_but_the_provider_of_its_profile():
    agent = AgentOptions(provider="openai", model="gpt-6", api_key=OWN_KEY)
    async with ModelServer(Say("Yes.")) as server:
        own = ModelPattern(provider="openai", model="gpt-6")
        _, told = await asks(server, agent, own=own, model=ACME)
    assert told == ['The apiKey of profile "Writer" is not used: provider "acme" runs.']
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_key_for_a_provider_that_takes_none_is_told():
    async with ModelServer(Say("Yes.")) as server:
        log = EventLog()
        async with opened(replace(acme(server), api_key_env=None)) as backend:
            answer(await backend.run(asked_by(replace(NAMING, api_key=OWN_KEY)), log))
    [told] = log.of(DiagnosticRaised)
    assert told.diagnostic.message == 'The apiKey of profile "Writer" is not used: provider "acme" cannot be given one.'
    assert OWN_KEY not in server.requests[0].headers["authorization"]


async def test_a_key_that_no_header_can_carry_is_an_error_that_does_not_show_it():
    async with ModelServer() as server, opened(acme(server)) as backend:
        failed = error(await backend.run(asked_by(replace(NAMING, api_key="sk-ключ")), EventLog()))
    assert "apiKey" in failed.message
    assert "ключ" not in str(failed)


async def test_the_key_of_a_profile_is_in_no_error():
    async with ModelServer(Status(400, f"what is {OWN_KEY}?")) as server, opened(acme(server)) as backend:
        failed = await backend.run(asked_by(replace(NAMING, api_key=OWN_KEY)), EventLog())
    assert isinstance(failed, Err)
    assert OWN_KEY not in str(failed.err_value)
    assert "what is ***?" in str(failed.err_value)


# Its skills


@pytest.fixture
def skills(tmp_path):
    """A skill of the project, and one of the user."""
    mine, theirs = (
        tmp_path / "work" / ".pi" / "skills" / "knots.md",
        tmp_path / "agent" / "skills" / "sails" / "SKILL.md",
    )
    mine.parent.mkdir(parents=True)
    mine.write_text("Over, under.\n")
    return (
        tmp_path / "work",
        SkillText(name="knots", description="Tie <knots>.", path=str(mine), body="Over, under."),
        SkillText(name="sails", description="Set: sails.", path=str(theirs), body="Over, under."),
    )


async def test_a_skill_that_can_be_read_is_listed_with_its_place(skills):
    cwd, mine, _ = skills
    reading = Say(Call("read", {"path": mine.path}))
    agent = AgentOptions(skill_paths=(mine.path,), skills=(mine,))
    async with ModelServer(reading, Say("Yes.")) as server:
        told = await asks(server, agent, own=None, model=ACME, cwd=cwd, tools=("read",))
    assert told == ("Yes.", [])
    system = system_of(server.requests[0])
    assert system.startswith("You write.\n\n")
    assert "<name>knots</name>\n<description>Tie &lt;knots&gt;.</description>" in system
    assert f"<location>{mine.path}</location>" in system
    assert "Over, under." not in system
    assert "Over, under." in server.requests[1].tool_results[0]


@pytest.mark.parametrize("tools", [("read",), ()])
async def test_a_skill_that_no_tool_could_read_is_there_in_full(skills, tools):
    cwd, mine, theirs = skills
    agent = AgentOptions(skills=(theirs if tools else mine,))
    async with ModelServer(Say("Yes.")) as server:
        assert await asks(server, agent, own=None, model=ACME, cwd=cwd, tools=tools) == ("Yes.", [])
    system = system_of(server.requests[0])
    assert "<text>\nOver, under.\n</text>" in system
    assert "<location>" not in system
    if tools:
        assert "<name>sails</name>\n<description>Set: sails.</description>" in system


async def test_a_file_whose_text_nobody_gave_is_told_and_not_read(tmp_path):
    os.mkfifo(tmp_path / "s.md")
    async with ModelServer(Say("Yes.")) as server:
        _, told = await asks(server, AgentOptions(skill_paths=("s.md",)), own=None, model=ACME, cwd=tmp_path)
    assert told == ['The skill file "s.md" is for pi and is not read here; the subagent works without it.']
    assert system_of(server.requests[0]) == "You write."
