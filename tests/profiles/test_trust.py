"""A profile of a project that its user does not trust gains nothing in any of its fields."""

from dataclasses import fields

import pytest

from ohm_subagents._profiles.trust import tightened
from ohm_subagents.contract import Profile
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.limits import Budget, Ceiling, Limits
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import ToolPolicy

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
