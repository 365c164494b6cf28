"""A profile of a project that its user does not trust gains nothing in any of its fields."""

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._profiles.trust import overriding, tightened
from ohm_subagents.contract import Profile
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.limits import Budget, Ceiling, Limits
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import CHILD_TOOLS, READING_TOOLS, ToolPolicy

TEXT = {"id", "name", "summary", "prompt", "when_to_use", "inputs", "notes", "source"}
"""Fields that a project's file decides, since they are no right, and the record of where the profile is from."""
MODEL = ModelPattern(provider="evil", model="dear")
GREEDY = Profile(
    id="scout",
    name="Scout",
    summary="",
    prompt="",
    source="project.md",
    primary=True,
    internal=False,
    model=MODEL,
    model_name="dear",
    fallback_model=MODEL,
    backend="interactive-sdk",
    tools=ToolPolicy(allowed=("bash", "read")),
    feature=None,
    limits=Limits(cap_ms=2**40),
    budget=Budget(tokens=2**40),
    polling=("bash",),
    env=("SECRET",),
    agent=AgentOptions(provider="evil", extensions=("evil",), extra_args=("--evil",)),
    finalize=None,
    result_schema={"type": "string"},
)
FORMER = Profile(
    id="scout",
    name="Scout",
    summary="",
    prompt="",
    source="user.md",
    internal=True,
    feature="painterImagegen",
    tools=ToolPolicy(allowed=("read",)),
    limits=Limits(cap_ms=5),
    budget=Budget(tokens=5),
    finalize="required",
    result_schema={"type": "object"},
)


def test_of_every_field_that_is_a_right_the_one_that_is_overridden_decides():
    held, found = tightened(GREEDY, FORMER, is_trusted=False)
    rights = {field.name for field in fields(Profile)} - TEXT - {"ceiling", "agent"}
    assert {name for name in rights if getattr(held, name) != getattr(FORMER, name)} == set()
    assert held.agent == AgentOptions()
    assert held.ceiling == Ceiling(limits=GREEDY.limits, budget=GREEDY.budget, below="user.md")
    assert {one.source for one in found} == {"project.md"}


@pytest.mark.parametrize("is_trusted", [True, False])
def test_every_lost_right_is_named(is_trusted):
    _, found = tightened(GREEDY, FORMER, is_trusted=is_trusted)
    told = "\n".join(map(str, found))
    always = (
        "the tool 'bash'",
        "the right to be seen",
        "features.painterImagegen",
        "'bash' in 'polling'",
        "'SECRET' in",
    )
    unless_trusted = ("'interactive-sdk' as 'backend'", "the model 'evil/dear'", "a direct tool", "a 'resultSchema'")
    assert [one for one in (*always, *(() if is_trusted else unless_trusted)) if one not in told] == []
    assert is_trusted == all(one not in told for one in unless_trusted)


NAMES = st.lists(st.sampled_from([*CHILD_TOOLS, "web", "Read"]), unique=True, max_size=4).map(tuple)
MODELS = st.none() | st.sampled_from([MODEL, ModelPattern(provider="a", model="b")])
AGENTS = st.builds(
    AgentOptions,
    provider=st.none() | st.sampled_from(["a", "b"]),
    extensions=NAMES,
    no_extensions=st.booleans(),
    no_skills=st.booleans(),
    suggested_skills=NAMES,
    load_skills=NAMES,
    extra_args=NAMES,
    is_readonly=st.booleans(),
)
PROFILES = st.builds(
    Profile,
    id=st.just("scout"),
    name=st.just("Scout"),
    summary=st.just(""),
    prompt=st.sampled_from(["a", "b"]),
    primary=st.booleans(),
    internal=st.booleans(),
    model=MODELS,
    fallback_model=MODELS,
    backend=st.none() | st.sampled_from(["none", "interactive-sdk", "docker"]),
    tools=st.builds(ToolPolicy, allowed=st.none() | NAMES, denied=NAMES),
    feature=st.none() | st.sampled_from(["painterImagegen", "handoff"]),
    polling=NAMES,
    env=NAMES,
    agent=st.none() | AGENTS,
    finalize=st.none() | st.just("required"),
)


def given_tools(profile):
    """The tools of a profile, in lower case; of one without a list, all that there are."""
    allowed = (*CHILD_TOOLS, "web") if profile.tools.allowed is None else profile.tools.allowed
    return {name.lower() for name in allowed} - {name.lower() for name in profile.tools.denied}


@given(PROFILES, st.none() | PROFILES, st.booleans())
def test_whatever_a_projects_profile_says_no_right_grows(profile, former, is_trusted):
    held, _ = tightened(profile, former, is_trusted=is_trusted)
    base = former or Profile(id="scout", name="", summary="", prompt="", primary=True)
    assert held.prompt == profile.prompt
    assert given_tools(held) <= given_tools(base) & given_tools(profile)
    assert (held.polling, held.env, held.limits, held.budget) == (base.polling, base.env, base.limits, base.budget)
    assert held.internal >= base.internal
    assert base.feature in {None, held.feature}
    assert held.backend in {base.backend, "none", *(["interactive-sdk"] if is_trusted else [])}
    agent, theirs = held.agent, base.agent or AgentOptions()
    if agent is not None:
        assert {*agent.extensions} <= {*theirs.extensions}
        assert agent.extra_args in {(), theirs.extra_args}
        assert agent.no_extensions >= theirs.no_extensions
        assert not (theirs.no_skills and (agent.load_skills or agent.suggested_skills))
    if not is_trusted:
        assert given_tools(held) <= {*READING_TOOLS}
        assert (held.model, held.fallback_model) == (base.model, base.fallback_model)
        assert held.primary <= base.primary
        assert base.finalize in {None, held.finalize}
        assert agent is None or (agent.provider, agent.model) == (theirs.provider, theirs.model)
        assert agent is None or agent.is_readonly >= theirs.is_readonly


@pytest.mark.parametrize("is_trusted", [True, False])
def test_what_the_user_has_disabled_of_an_agent_no_project_brings_back(is_trusted):
    disabled = AgentOptions(no_extensions=True, no_skills=True, no_context_files=True)
    asked = AgentOptions(suggested_skills=("a",), load_skills=("b",))
    held, _ = tightened(replace(GREEDY, agent=asked), replace(FORMER, agent=disabled), is_trusted=is_trusted)
    assert held.agent == disabled


def test_a_file_gains_nothing_from_another_of_its_own_folder_and_a_trusted_one_counts_whole():
    read = [(GREEDY, False), (GREEDY, False), (GREEDY, True)]
    first, second, whole = overriding(iter(read), {FORMER.name: FORMER})
    assert first == second == tightened(GREEDY, FORMER, is_trusted=False)
    assert whole == (GREEDY, ())
