import pytest

from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.profile import Profile, ToolPolicy
from ohm_subagents.suites.delegate.profile_summary import masked, profile_summary


def summary(*, prompt: str = "", tools: ToolPolicy | None = None, **agent) -> str:
    return profile_summary(
        Profile(id="p", name="p", summary="", prompt=prompt, tools=tools or ToolPolicy(), agent=AgentOptions(**agent))
    )


def test_a_profile_without_wishes_is_its_name():
    assert summary() == "profile: p"


def test_a_model_stands_above_its_provider_and_thinking_follows():
    assert summary(provider="acme", model="acme/big", thinking="high") == "profile: p, model=acme/big, thinking=high"
    assert summary(provider="acme") == "profile: p, provider=acme"


def test_prompts_are_only_named():
    assert summary(prompt="x", appended_prompt="y") == "profile: p, custom-system-prompt, appended-system-prompt"


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        (ToolPolicy(allowed=()), "no-tools"),
        (ToolPolicy(allowed=("read", "bash")), "tools=[read,bash]"),
        (ToolPolicy(denied=("bash", "edit")), "excludeTools=[bash,edit]"),
    ],
)
def test_tools_are_told_in_one_of_three_ways(tools, told):
    assert summary(tools=tools) == f"profile: p, {told}"


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ({"model": "m\nprofile: evil"}, "model=m profile: evil"),
        ({"model": "m\r\n\t \u2028x\u0085"}, "model=m x"),
        ({"provider": "\x1b[2Ja\x07\x00c\x1b]0;t\x07me"}, "provider=acme"),
        ({"tools": ToolPolicy(allowed=("re\nad",))}, "tools=[re ad]"),
    ],
)
def test_it_is_one_line_whatever_a_file_says(agent, told):
    assert summary(**agent) == f"profile: p, {told}"


def test_of_a_key_only_the_ends_are_shown_and_nothing_of_a_short_one():
    assert masked("sk-1234567890abcd") == "sk-1****abcd"
    assert masked("123456789") == "1234****6789"
    assert masked("12345678") == "****"
    assert masked("") == "****"
