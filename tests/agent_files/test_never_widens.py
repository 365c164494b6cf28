"""Whatever a file says of tools, in whatever order and however badly: a restriction is kept, or the agent has less."""

import json
from pathlib import Path
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._policy.tools import resolve_tools
from ohm_subagents.agent_files.dialects import DIALECTS
from ohm_subagents.agent_files.reader import parse_agent_file
from ohm_subagents.config import judge_call
from ohm_subagents.contract.profile import CHILD_TOOLS

OFFERED = ("mcp__docs__search", "deploy")
NO_ALIASES = MappingProxyType({})
CLAUDE_NAMES = {
    "Read": "read",
    "Write": "write",
    "Edit": "edit",
    "Bash": "bash",
    "Grep": "grep",
    "Glob": "find",
    "LS": "ls",
}
NAMES = st.sampled_from([*CLAUDE_NAMES, "WebFetch", "Nonsense", "mcp__docs__search"])
SCOPED = st.sampled_from(["Bash(git:*)", "Bash(git diff, ls)", "Edit(docs/**)", "Write(", "Agent(x)"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def tools_of(dialect, values):
    """The tools that a task of the agent gets, with every tool of a plugin at hand; None if the file is no agent."""
    found = resolved(dialect, values)
    return None if found is None else set(found.names)


def resolved(dialect, values):
    text = f"---\n{json.dumps({'name': 'a', 'description': 'd'} | values)}\n---\nWork."
    profile = parse_agent_file(text, DIALECTS[dialect], source="f", stem="a", aliases=NO_ALIASES).profile
    return None if profile is None else resolve_tools(profile.tools, None, offered=OFFERED).unwrap()


def runs(dialect, values, command):
    """Return True if a task of the agent may run a command."""
    found = resolved(dialect, values)
    arguments = {"command": command}
    return "bash" in found.names and judge_call(found.call_rules, "bash", arguments, cwd=Path("/")).verdict == "allow"


@given(st.lists(NAMES | SCOPED), st.lists(NAMES | SCOPED))
def test_an_agent_has_only_what_its_list_names_whole_and_nothing_that_is_taken_away(listed, denied):
    expected = {CLAUDE_NAMES.get(name, name) for name in listed} | ({"bash"} if "Bash(git:*)" in listed else set())
    for values in ({"tools": listed, "disallowedTools": denied}, {"disallowedTools": denied, "tools": listed}):
        got = tools_of("claude", values)
        assert got <= expected
        whole = (name for name in denied if name != "Bash(git:*)")
        assert not got & {CLAUDE_NAMES.get(name.partition("(")[0]) for name in whole}
        gives_git = {"Bash", "Bash(git:*)"} & {*listed} and "Bash(git:*)" not in denied
        assert not runs("claude", values, "git push") or gives_git
        assert not runs("claude", values, "ls") or "Bash" in listed


@given(JUNK.filter(lambda value: value is not None))
def test_a_list_of_tools_in_any_form_gives_no_tool_that_it_does_not_name(value):
    named = json.dumps(value).lower()
    got = tools_of("claude", {"tools": value})
    assert got is None or got <= {ours for name, ours in CLAUDE_NAMES.items() if name.lower() in named} or "*" in named


@given(JUNK.filter(lambda value: value is not None and value != []))
def test_a_denial_in_any_form_takes_away_what_it_names_or_everything(value):
    got = tools_of("claude", {"disallowedTools": value})
    is_readable = (isinstance(value, list) and all(isinstance(one, str) for one in value)) or isinstance(value, str)
    assert is_readable or got == set()


@given(st.sampled_from(["claude", "cursor"]), JUNK.filter(lambda value: value is not None))
def test_a_mode_in_any_form_is_none_or_a_reader(dialect, value):
    key = {"claude": "permissionMode", "cursor": "readonly"}[dialect]
    got = tools_of(dialect, {key: value})
    is_open = value in ("default", "acceptEdits", "auto", "bypassPermissions", "false") or value is False
    assert (
        is_open or (isinstance(value, str) and value.strip().lower() == "false") or not got & {"bash", "edit", "write"}
    )


VERDICTS = st.sampled_from(["allow", "ask", "deny", True, False]) | st.dictionaries(
    st.sampled_from(["*", "git *"]), st.sampled_from(["allow", "ask", "deny"])
)
OPENCODE = {
    "read": ["read"],
    "edit": ["edit", "write"],
    "write": ["write"],
    "bash": ["bash"],
    "list": ["ls"],
    "*": CHILD_TOOLS,
}


@given(st.dictionaries(st.sampled_from([*OPENCODE]), VERDICTS | JUNK.filter(lambda value: value is not None)))
def test_a_tool_is_given_only_if_the_last_verdict_on_it_plainly_allows_it(permission):
    plain = {}
    for name, verdict in permission.items():
        allows = (
            verdict in ("allow",)
            or verdict is True
            or (isinstance(verdict, dict) and {*map(str, verdict.values())} == {"allow"})
        )
        plain |= dict.fromkeys(OPENCODE[name], allows)
    got = tools_of("opencode", {"permission": permission})
    assert got <= {name for name in (*CHILD_TOOLS, *OFFERED) if plain.get(name, True)}


@given(
    st.lists(
        st.sampled_from(
            [
                "tools: Read",
                "tools:",
                "  - Bash",
                "  Bash: yes",
                "disallowedTools: Bash",
                "x: y: z",
                "tools: [Bash",
                "readonly: true",
            ]
        ),
        max_size=6,
    )
)
def test_front_matter_that_is_no_yaml_gives_no_tool_that_it_takes_away(lines):
    text = "\n".join(("---", "name: a", "description: use: it", *lines, "---", "Work."))
    profile = parse_agent_file(text, DIALECTS["claude"], source="f", stem="a", aliases=NO_ALIASES).profile
    got = set(resolve_tools(profile.tools, None, offered=OFFERED).unwrap().names)
    if "disallowedTools: Bash" in lines:
        assert "bash" not in got
    if "tools: Read" in lines:
        assert got <= {"read"}


@given(
    st.sampled_from(["mcp__docs__*", "mcp__*", "mcp__docs__search"]),
    st.sampled_from(["mcp__docs__search", "mcp__DOCS__Search", "mcp__docs__*", "mcp__*", "*"]),
)
def test_a_tool_of_a_server_that_is_taken_away_is_not_given_by_a_pattern(listed, denied):
    assert "mcp__docs__search" in tools_of("claude", {"tools": ["mcp__docs__search"]})
    assert "mcp__docs__search" not in tools_of("claude", {"tools": ["Read", listed], "disallowedTools": denied})
