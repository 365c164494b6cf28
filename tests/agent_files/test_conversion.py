"""Agents of other programs, written as profiles of ours."""

from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._profiles.markdown import parse_profile
from ohm_subagents.agent_files.conversion import profile_text
from ohm_subagents.contract import Budget, Limits, ModelPattern, Profile, ToolPolicy

LINES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=40).filter(
    str.strip
)
TOOLS = st.lists(st.sampled_from(["read", "bash", "mcp__a__b"]), unique=True).map(tuple)


@given(
    st.builds(
        Profile,
        id=st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True),
        name=LINES.map(str.strip),
        summary=LINES.map(str.strip),
        prompt=LINES.map(str.strip),
        model=st.none() | st.just(ModelPattern(provider="acme", model="big", thinking="low")),
        internal=st.booleans(),
        tools=st.builds(ToolPolicy, allowed=st.none() | TOOLS) | st.builds(ToolPolicy, denied=TOOLS),
        limits=st.none() | st.builds(Limits, cap_ms=st.integers(1, 10**9)),
        budget=st.none() | st.builds(Budget, requests=st.integers(1, 10**6)),
    )
)
def test_a_profile_that_is_written_is_read_back(profile):
    assert parse_profile(profile_text(profile), source="", stem="x").unwrap().profile == profile


def test_a_model_that_is_inherited_is_written_so():
    profile = Profile(id="a", name="A", summary="S", prompt="P", model_name="inherit")
    assert parse_profile(profile_text(profile), source="", stem="x").unwrap().profile == profile
