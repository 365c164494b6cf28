"""The refusals of an agent profile, in 000's words."""

import pytest

from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.profile import Profile, ToolPolicy
from ohm_subagents.suites.delegate.rules import argument_refused, conflict, without_excluded


def profile(tools: ToolPolicy | None = None, **agent) -> Profile:
    return Profile(
        id="name", name="name", summary="", prompt="", tools=tools or ToolPolicy(), agent=AgentOptions(**agent)
    )


def refusal(*arguments: str, tools: ToolPolicy | None = None) -> str | None:
    error = argument_refused(profile(tools, extra_args=arguments))
    assert error is None or error.code == ErrorCode.PROFILE_ARGUMENT_REFUSED
    return error and error.message


def test_an_allowlist_beside_a_denylist_is_a_conflict():
    error = conflict(profile(ToolPolicy(allowed=("read",), denied=("bash",))))
    assert error is not None
    assert error.code == ErrorCode.PROFILE_TOOLS_CONFLICT
    assert error.message == (
        'Profile "name" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
        "These are mutually exclusive — choose one or the other."
    )


@pytest.mark.parametrize(
    "tools", [ToolPolicy(), ToolPolicy(allowed=("read",)), ToolPolicy(denied=("bash",)), ToolPolicy(allowed=())]
)
def test_one_list_alone_is_none(tools):
    assert conflict(profile(tools)) is None


def test_skills_without_skills_are_a_conflict_the_suggested_ones_first():
    both = conflict(profile(no_skills=True, suggested_skills=("a",), load_skills=("b",)))
    loaded = conflict(profile(no_skills=True, load_skills=("b",)))
    assert both is not None
    assert loaded is not None
    assert both.code == loaded.code == ErrorCode.PROFILE_SKILLS_CONFLICT
    assert both.message == (
        'Profile "name" has both "suggestedSkills" and "noSkills" set. '
        "These are mutually exclusive — --no-skills would override --skill flags."
    )
    assert loaded.message == (
        'Profile "name" has both "loadSkills" and "noSkills" set. '
        "These are mutually exclusive — --no-skills disables skill discovery."
    )
    assert conflict(profile(no_skills=True)) is None
    assert conflict(profile(suggested_skills=("a",), load_skills=("b",))) is None


@pytest.mark.parametrize("argument", ["--tools", "-t", "--no-tools", "-nt", "--tools=read", "-nt=", "--no-tools=1"])
@pytest.mark.parametrize("tools", [ToolPolicy(allowed=()), ToolPolicy(allowed=("read",)), ToolPolicy(denied=("bash",))])
def test_an_argument_cannot_undo_the_restriction_of_tools(argument, tools):
    assert refusal("--verbose", argument, tools=tools) == (
        f'Refusing extraArg "{argument}" which would override profile tool restrictions. '
        "Use the dedicated profile fields instead."
    )
    assert refusal("--verbose", argument) is None


def test_similar_arguments_pass():
    assert refusal("--toolset", "-tx", "--verbose", "a=b", "", tools=ToolPolicy(allowed=())) is None


@pytest.mark.parametrize(
    "argument",
    [" a", "\ta", "|a", "&a", ";a", "$(id)", "\\a", "`id`", "!a", "a && b", "a || b", "a;b", "a<b", "a>b", "a\n;b"],
)
def test_an_argument_that_a_shell_could_take_for_more_is_refused(argument):
    assert refusal(argument) == f"Refusing extraArg: potentially unsafe argument '{argument}'"


@pytest.mark.parametrize("argument", ["a$(id)", "a b", "a|b", "a&b", "a!b", "a`id`"])
def test_what_the_document_lets_pass_passes(argument):
    assert refusal(argument) is None


def test_a_null_byte_is_refused_before_the_rest_is_looked_at():
    assert refusal(";a\0b") == "Invalid extraArg: contains null byte"
    assert refusal("--tools=\0", tools=ToolPolicy(allowed=())).startswith("Refusing extraArg")


def test_of_a_long_argument_forty_characters_are_shown():
    assert refusal(";" + "x" * 60) == f"Refusing extraArg: potentially unsafe argument ';{'x' * 39}'"


def test_the_first_argument_that_is_refused_is_the_one_that_is_told():
    assert refusal("ok", ";a", "\0") == "Refusing extraArg: potentially unsafe argument ';a'"


def test_excluded_tools_are_the_parents_without_them_in_order():
    changed = without_excluded(profile(ToolPolicy(denied=("bash",))), ("write", "bash", "read", "mcp_search"))
    assert changed.tools == ToolPolicy(allowed=("write", "read", "mcp_search"))


@pytest.mark.parametrize("tools", [ToolPolicy(), ToolPolicy(allowed=("bash",))])
def test_without_a_denylist_the_policy_stays(tools):
    assert without_excluded(profile(tools), ("read",)).tools == tools
