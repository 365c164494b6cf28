"""The tools of a run: the profile's list, the configuration's override, what exists, in one order."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._config.tool_rules import ToolRules
from ohm_subagents._policy.tools import LaterTools, resolve_tools
from ohm_subagents.contract.call_rules import CallRules
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.profile import CHILD_TOOLS, ToolPolicy
from ohm_subagents.contract.result import Err


def names(policy: ToolPolicy, override: ToolRules | None = None, offered: tuple[str, ...] = ()) -> tuple[str, ...]:
    resolved = resolve_tools(policy, override, offered=offered)
    assert not isinstance(resolved, Err), resolved
    return resolved.ok_value.names


READ = ToolPolicy(allowed=("grep", "read"))


@pytest.mark.parametrize(
    ("policy", "override", "offered", "expected"),
    [
        (ToolPolicy(), None, (), CHILD_TOOLS),
        (ToolPolicy(), None, ("todo", "read"), (*CHILD_TOOLS, "todo")),
        (ToolPolicy(allowed=()), None, ("todo",), ()),
        (ToolPolicy(denied=("bash", "edit", "write")), None, (), ("read", "grep", "find", "ls", "code_search")),
        (READ, None, ("todo",), ("read", "grep")),
        (ToolPolicy(allowed=("todo", "ls", "ls")), None, ("todo",), ("ls", "todo")),
        (READ, ToolRules(allowed=("bash",)), (), ("bash",)),
        (READ, ToolRules(allowed=()), (), ()),
        (READ, ToolRules(denied=("grep",)), (), ("read",)),
        (
            ToolPolicy(denied=("bash",)),
            ToolRules(denied=("write",)),
            (),
            ("read", "edit", "grep", "find", "ls", "code_search"),
        ),
        (ToolPolicy(denied=("bash",)), ToolRules(allowed=("bash",)), (), ("bash",)),
        (READ, ToolRules(), (), ("read", "grep")),
        (READ, ToolRules(at_most=("READ", "bash")), (), ("read",)),
        (ToolPolicy(), ToolRules(at_most=("bash", "ls")), (), ("bash", "ls")),
        (READ, ToolRules(allowed=("bash", "ls"), at_most=("bash", "read")), (), ("bash",)),
        (READ, ToolRules(allowed=("bash", "ls"), denied=("Bash",)), (), ("ls",)),
        (ToolPolicy(denied=("bash",)), ToolRules(at_most=("bash", "ls")), (), ("ls",)),
        (ToolPolicy(allowed=("Read", "ls")), None, (), ("read", "ls")),
        (
            ToolPolicy(denied=("BASH", "Edit", "write")),
            None,
            ("myTool",),
            ("read", "grep", "find", "ls", "code_search", "myTool"),
        ),
    ],
)
def test_tools_are_resolved_in_canonical_order(policy, override, offered, expected):
    assert names(policy, override, offered) == expected


def test_a_tool_both_allowed_and_denied_is_an_error():
    resolved = resolve_tools(ToolPolicy(allowed=("read", "bash"), denied=("BASH",)), None)
    assert isinstance(resolved, Err)
    assert resolved.err_value.code == ErrorCode.PROFILE_INVALID
    assert resolved.err_value.message == "The profile both allows and denies the tool 'bash'."


def test_rules_that_nobody_understands_are_an_error():
    resolved = resolve_tools(ToolPolicy(), ToolRules(unclear="ohm.json:3: What is this?"))
    assert isinstance(resolved, Err)
    assert resolved.err_value.code == ErrorCode.CONFIG_INVALID
    assert resolved.err_value.message == "ohm.json:3: What is this?"


def test_what_a_project_would_add_to_a_profile_is_named_with_its_place():
    resolved = resolve_tools(READ, ToolRules(at_most=("read", "bash"), source=".pi/ohm.json:3"))
    assert not isinstance(resolved, Err)
    assert [str(one) for one in resolved.ok_value.diagnostics] == [
        ".pi/ohm.json:3: 'bash' is not given: the profile lacks it, and a project's file cannot add tools. "
        "The user's file can."
    ]


SWIM = CallRules(tool="swim", allow=("lake=*",))


def test_a_tool_that_does_not_exist_is_left_out_and_named():
    resolved = resolve_tools(
        ToolPolicy(allowed=("Raed", "ls", "fly")),
        ToolRules(at_most=("Raed", "ls", "fly"), call_rules=(SWIM,), source="f:2"),
        offered=("todo",),
    )
    assert not isinstance(resolved, Err)
    assert resolved.ok_value.names == ("ls",)
    assert [str(one) for one in resolved.ok_value.diagnostics] == [
        "The profile names 'Raed', 'fly', which are no tool of a subagents and are left out. Did you mean 'read'? "
        "Available: read, bash, edit, write, grep, find, ls, code_search, todo.",
        "The configuration (f:2) names 'swim', which is no tool of a subagent and is left out. "
        "Available: read, bash, edit, write, grep, find, ls, code_search, todo.",
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("bsah", "Did you mean 'bash'? "),
        ("shell", ""),
        ("bassh*", "Did you mean 'bash'? "),
        ("todoo", "Did you mean 'todo'? "),
        ("ask_parnt", "Did you mean 'ask_parent'? "),
        ("mcp__clac__*", "Did you mean 'mcp__calc__*'? "),
        ("mcp__clac__add", "Did you mean 'mcp__calc__*'? "),
    ],
)
@pytest.mark.parametrize("asks", [True, False])
def test_a_denied_or_asked_name_that_no_tool_has_keeps_the_subagent_from_running(name, meant, asks):
    rule = ToolPolicy(call_rules=(CallRules(tool=name, ask=("*",)),)) if asks else ToolPolicy(denied=(name,))
    rules = ToolRules(denied=rule.denied, call_rules=rule.call_rules, source="ohm.json:3")
    for policy, ours, owner, code in (
        (rule, None, "The profile", ErrorCode.PROFILE_INVALID),
        (ToolPolicy(), rules, "The configuration (ohm.json:3)", ErrorCode.CONFIG_INVALID),
    ):
        error = resolve_tools(policy, ours, offered=("todo",), sources=("mcp__calc__",)).unwrap_err()
        assert (error.code, error.message) == (
            code,
            f"{owner} denies or asks about '{name}', which is no tool of a subagent; "
            "the subagent does not run until it is corrected.",
        )
        assert error.advice is not None
        assert error.advice.startswith(f"{meant}Available: read, bash, ")


@pytest.mark.parametrize(
    "name", ["Bash", "*", "mcp__*", "mcp__calc__add", "mcp__mail__send", "web*", "ask_parent", "lookup"]
)
def test_a_denied_name_may_be_one_of_a_source_a_pattern_or_a_function_of_the_call(name):
    resolved = resolve_tools(ToolPolicy(denied=(name,)), None, sources=("mcp__calc__",), of_call=("lookup",))
    assert resolved.is_ok()


def test_what_a_list_in_ohm_json_replaces_keeps_nobody_from_running():
    assert names(ToolPolicy(denied=("bsah",)), ToolRules(allowed=("read",))) == ("read",)


TODO = {"offered": ("draw", "todo"), "only_if_named": ("todo",)}


@pytest.mark.parametrize(
    ("policy", "rules", "is_given"),
    [
        (ToolPolicy(), None, False),
        (ToolPolicy(denied=("bash",)), None, False),
        (ToolPolicy(allowed=("read", "Todo")), None, True),
        (ToolPolicy(), ToolRules(allowed=("todo",)), True),
        (ToolPolicy(allowed=("todo",)), ToolRules(denied=("todo",)), False),
        (ToolPolicy(allowed=("todo",)), ToolRules(at_most=("todo",)), True),
        (ToolPolicy(), ToolRules(at_most=("todo",), source=".pi/ohm.json:3"), False),
    ],
)
@pytest.mark.parametrize("is_agent", [True, False])
def test_a_tool_that_must_be_named_is_given_where_a_list_of_the_user_has_it(policy, rules, is_given, is_agent):
    resolved = resolve_tools(policy, rules, **TODO, is_agent=is_agent).unwrap()
    assert ("todo" in resolved.names) is is_given


def test_having_every_tool_is_having_none_that_must_be_named():
    assert resolve_tools(ToolPolicy(), None, **TODO).unwrap().names == (*CHILD_TOOLS, "draw")


def test_a_project_cannot_name_a_tool_for_a_profile_that_does_not():
    resolved = resolve_tools(ToolPolicy(), ToolRules(at_most=("todo",), source=".pi/ohm.json:3"), **TODO).unwrap()
    assert [str(one) for one in resolved.diagnostics] == [
        ".pi/ohm.json:3: 'todo' is not given: the profile lacks it, and a project's file cannot add tools. "
        "The user's file can."
    ]


@pytest.mark.parametrize("is_agent", [True, False])
@pytest.mark.parametrize(
    ("policy", "rules", "are_bounded"),
    [
        (ToolPolicy(), None, False),
        (ToolPolicy(), ToolRules(source="ohm.json"), False),
        (ToolPolicy(allowed=CHILD_TOOLS), None, True),
        (ToolPolicy(denied=("deploy",)), None, True),
        (ToolPolicy(), ToolRules(denied=("deploy",)), True),
        (ToolPolicy(), ToolRules(allowed=CHILD_TOOLS), True),
        (ToolPolicy(), ToolRules(at_most=CHILD_TOOLS), True),
    ],
)
def test_tools_are_bounded_once_anybody_says_something_about_them(policy, rules, are_bounded, is_agent):
    resolved = resolve_tools(policy, rules, offered=("deploy",), is_agent=is_agent)
    assert not isinstance(resolved, Err)
    assert resolved.ok_value.are_bounded is are_bounded


@pytest.mark.parametrize(
    ("policy", "rules", "expected", "lacking"),
    [
        (ToolPolicy(allowed=()), ToolRules(allowed=("bash",)), (), "'bash'"),
        (ToolPolicy(allowed=("todo", "ls")), ToolRules(allowed=("ls", "bash", "TODO")), ("todo", "ls"), "'bash'"),
        (ToolPolicy(allowed=("ls", "read")), ToolRules(allowed=("ls", "bash"), at_most=("ls",)), ("ls",), ""),
        (ToolPolicy(allowed=("ls", "todo")), ToolRules(denied=("Todo",)), ("ls",), ""),
        (ToolPolicy(denied=("bash",)), ToolRules(allowed=("bash", "ls")), ("ls",), "'bash'"),
        (ToolPolicy(), ToolRules(allowed=("todo", "ls")), ("ls", "todo"), ""),
        (ToolPolicy(), ToolRules(allowed=()), (), ""),
    ],
)
def test_of_an_agent_profile_the_configuration_only_takes_tools_away(policy, rules, expected, lacking):
    resolved = resolve_tools(policy, replace(rules, source="ohm.json:3"), is_agent=True)
    assert not isinstance(resolved, Err)
    assert resolved.ok_value.names == expected
    assert [str(one) for one in resolved.ok_value.diagnostics] == (
        [
            f"ohm.json:3: {lacking} is not given: the profile lacks it, and ohm.json cannot add tools to an agent "
            "profile. Its own file can."
        ]
        if lacking
        else []
    )


def test_of_an_agent_profile_nobody_here_knows_which_tools_there_are():
    denied = ToolRules(denied=("deploy",))
    resolved = resolve_tools(ToolPolicy(denied=("publish",)), denied, is_agent=True)
    assert not isinstance(resolved, Err)
    assert (resolved.ok_value.names, resolved.ok_value.diagnostics) == (CHILD_TOOLS, ())


NAMES = st.lists(st.sampled_from([*CHILD_TOOLS, "todo", "unknown"]), max_size=6).map(tuple)


@given(st.none() | NAMES, NAMES, NAMES)
def test_a_denied_tool_is_never_resolved_and_nothing_is_invented(allowed, denied, more):
    resolved = resolve_tools(ToolPolicy(allowed=allowed, denied=denied), ToolRules(denied=more), offered=("todo",))
    if isinstance(resolved, Err):
        assert set(allowed or ()) & set(denied) or "unknown" in {*denied, *more}
        return
    found = resolved.ok_value.names
    assert not set(found) & {*denied, *more}
    assert set(found) <= {*CHILD_TOOLS, "todo"}
    assert allowed is None or set(found) <= set(allowed)


@pytest.mark.parametrize(
    ("policy", "override", "expected"),
    [
        (ToolPolicy(allowed=("re*", "L*")), None, ("read", "ls")),
        (ToolPolicy(allowed=("*",), denied=("*s*", "edit")), None, ("read", "write", "grep", "find")),
        (ToolPolicy(denied=("*",)), None, ()),
        (ToolPolicy(), ToolRules(allowed=("code_*",)), ("code_search",)),
        (ToolPolicy(allowed=("*",)), ToolRules(at_most=("read", "f*")), ("read", "find")),
        (ToolPolicy(allowed=("r?ad", "[r]ead")), None, ()),
    ],
)
def test_a_star_in_a_list_stands_for_any_characters(
    policy: ToolPolicy, override: ToolRules | None, expected: tuple[str, ...]
) -> None:
    assert names(policy, override) == expected


CALC = "mcp__calc__"


def later(policy: ToolPolicy, override: ToolRules | None = None, *, is_agent: bool = False) -> LaterTools | None:
    resolved = resolve_tools(policy, override, sources=(CALC, "mcp__web__"), is_agent=is_agent)
    assert not isinstance(resolved, Err), resolved
    assert resolved.ok_value.diagnostics == ()
    return resolved.ok_value.later


@pytest.mark.parametrize(
    ("policy", "override", "given", "withheld"),
    [
        (ToolPolicy(allowed=("mcp__calc__*",)), None, "mcp__calc__add", "mcp__web__get"),
        (ToolPolicy(allowed=("mcp__calc__*",), denied=("mcp__*__sub",)), None, "mcp__calc__add", "mcp__calc__sub"),
        (ToolPolicy(allowed=("MCP__Calc__Add",)), None, "mcp__calc__add", "mcp__calc__sub"),
        (ToolPolicy(allowed=("mcp__calc__*",)), ToolRules(denied=("*sub",)), "mcp__calc__add", "mcp__calc__sub"),
        (ToolPolicy(allowed=("mcp__*",)), ToolRules(at_most=("mcp__calc__a*",)), "mcp__calc__add", "mcp__calc__sub"),
        (ToolPolicy(), ToolRules(allowed=("mcp__calc__add",)), "mcp__calc__add", "mcp__calc__sub"),
    ],
)
@pytest.mark.parametrize("is_agent", [False, True])
def test_tools_of_a_source_are_given_later_by_the_same_lists(
    policy: ToolPolicy, override: ToolRules | None, given: str, withheld: str, *, is_agent: bool
) -> None:
    found = later(policy, override, is_agent=is_agent)
    assert found is not None
    assert found.gives(given)
    assert not found.gives(withheld)
    assert CALC in found.sources


@pytest.mark.parametrize("policy", [ToolPolicy(), ToolPolicy(allowed=("read",)), ToolPolicy(denied=("mcp__calc__*",))])
def test_a_profile_that_names_no_tool_of_a_source_asks_none(policy: ToolPolicy) -> None:
    assert later(policy) is None


def test_a_name_that_no_source_may_have_is_reported() -> None:
    resolved = resolve_tools(ToolPolicy(allowed=("mcp__mail__*", "mcp__calc__add")), None, sources=(CALC,))
    assert not isinstance(resolved, Err)
    assert [one.message.partition(" and is")[0] for one in resolved.ok_value.diagnostics] == [
        "The profile names 'mcp__mail__*', which is no tool of a subagent"
    ]


@pytest.mark.parametrize("name", ["mcp__clac__*", "mcp__clac__add"])
def test_for_a_misspelt_source_the_one_that_was_perhaps_meant_is_named(name: str) -> None:
    resolved = resolve_tools(ToolPolicy(allowed=(name,)), None, sources=(CALC,))
    assert not isinstance(resolved, Err)
    assert [one.message.partition(" left out. ")[2] for one in resolved.ok_value.diagnostics] == [
        "Did you mean 'mcp__calc__*'? Available: read, bash, edit, write, grep, find, ls, code_search, mcp__calc__*."
    ]


@pytest.mark.parametrize("policy", [ToolPolicy(denied=("bash: git push *",)), ToolPolicy(allowed=("Bash:ls",))])
def test_a_rule_for_commands_in_a_file_that_cannot_have_one_is_an_error_and_no_unknown_name(policy: ToolPolicy) -> None:
    resolved = resolve_tools(policy, None, is_agent=True)
    assert isinstance(resolved, Err)
    assert resolved.err_value.code == ErrorCode.PROFILE_INVALID
    assert "which its kind of file cannot have" in resolved.err_value.message
