"""A project's file takes tools away and never adds one; what cannot be understood gives none (house 9.7, 9.10)."""

import json

import pytest

from ohm_subagents._policy.tools import resolve_tools
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.profile import CHILD_TOOLS, ToolPolicy
from ohm_subagents.contract.result import Err

READ_ONLY = ToolPolicy(allowed=("read", "grep", "ls"))


def entry(tools: str) -> str:
    return f'{{"subagents": {{\n"task": {{"tools": {tools}}}}}}}'


def given(loaded, policy: ToolPolicy) -> tuple[str, ...]:
    resolved = resolve_tools(policy, loaded.config.subagents.entry("task").tools)
    assert not isinstance(resolved, Err), resolved
    return resolved.ok_value.names


@pytest.mark.parametrize(
    ("user", "project", "policy", "names"),
    [
        ('{"deny": ["bash"]}', '["bash"]', ToolPolicy(), ()),
        ('{"deny": ["bash"]}', '["bash", "read"]', ToolPolicy(), ("read",)),
        ('{"deny": ["bash"]}', '{"allow": null, "deny": []}', READ_ONLY, ("read", "grep", "ls")),
        ('{"deny": ["ls"]}', "null", READ_ONLY, ("read", "grep")),
        ('{"deny": ["ls"]}', '{"deny": ["grep"]}', READ_ONLY, ("read",)),
        ("null", '["bash", "read"]', READ_ONLY, ("read",)),
        ("null", '["bash"]', READ_ONLY, ()),
        ('["bash", "read"]', '["bash", "edit"]', READ_ONLY, ("bash",)),
        ('["bash", "read"]', "null", READ_ONLY, ("read", "bash")),
        ('["bash", "read"]', '{"deny": ["bash"]}', READ_ONLY, ("read",)),
        ('["Bash", "READ"]', '[" bash "]', READ_ONLY, ("bash",)),
        ('{"deny": ["Bash"]}', "null", ToolPolicy(), tuple(name for name in CHILD_TOOLS if name != "bash")),
    ],
)
def test_a_project_takes_tools_away_and_never_adds_one(home, user, project, policy, names):
    home.write(user=entry(user), project=entry(project))
    assert given(home.load(), policy) == names


def test_what_the_user_withholds_from_a_project_is_named_with_its_place(home):
    home.write(user=entry('{"deny": ["bash"]}'), project=entry('["bash", "read"]'))
    assert home.told(home.load()) == [
        ".pi/ohm.json:2: 'subagents.task.tools' lists 'bash', which the user's file does not allow; it is not given."
    ]


def test_both_forms_of_an_entry_deny_together(home):
    home.write(
        user='{"subagents": {"profiles": {" TASK": {"tools": {"deny": ["ls"]}}}, "task": {"tools": ["ls", "read"]}}}'
    )
    assert given(home.load(), ToolPolicy()) == ("read",)


UNCLEAR = [
    '{"deny": "bash"}',
    '{"denied": ["bash"]}',
    '{"allow": "read"}',
    '"read"',
    '{"deny": ["bash", 3]}',
    '["read", " "]',
    '{"deny": null}',
    '{"allow": ["bash"], "deny": ["BASH"]}',
    '["read"], "tools": ["bash"]',
    '{"deny": ["bash"], "deny": []}',
    "false",
]


@pytest.mark.parametrize("which", ["user", "project"])
@pytest.mark.parametrize("tools", UNCLEAR)
def test_a_subagent_whose_tools_cannot_be_understood_does_not_run(home, which, tools):
    home.write(**{which: entry(tools)})
    loaded = home.load()
    told = [line for line in home.told(loaded) if "does not run until it is corrected" in line]
    assert len(told) == 1
    assert "ohm.json:2: 'subagents.task.tools' " in told[0]
    resolved = resolve_tools(ToolPolicy(), loaded.config.subagents.entry("task").tools)
    assert isinstance(resolved, Err)
    assert resolved.err_value.code == ErrorCode.CONFIG_INVALID
    assert "'subagents.task.tools'" in resolved.err_value.message


@pytest.mark.parametrize("key", ["tool", "Tools", "toolz", "deny", "allow", "permission"])
def test_a_restriction_under_a_misspelt_key_is_not_lost(home, key):
    home.write(user=json.dumps({"subagents": {"task": {key: ["read"]}}}))
    loaded = home.load()
    assert home.told(loaded) == [
        f"~/ohm.json:1: 'subagents.task.{key}' is not a known key; the subagent does not run until it is corrected. "
        "Did you mean 'tools'?"
    ]
    assert isinstance(resolve_tools(ToolPolicy(), loaded.config.subagents.entry("task").tools), Err)


def test_the_tools_of_one_subagent_are_no_concern_of_another(home):
    home.write(user=entry('"read"'))
    assert home.load().config.subagents.entry("finder").tools is None


def test_what_holds_can_be_written_down_again(home):
    home.write(user=entry('{"deny": ["bash"]}'), project=entry('["bash", "read"]'))
    written = home.load().config.model_dump(mode="json", by_alias=True)["subagents"]["profiles"]["task"]["tools"]
    assert written == {"allow": ["read"], "deny": ["bash"]}
