"""Which tools: the profile's list, the configuration's override, what exists, in one order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._policy.tools import resolve_tools
from ohm_subagents.contract.child_tools import CHILD_TOOLS
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.profile import ToolPolicy
from ohm_subagents.contract.result import Err


def names(policy: ToolPolicy, override: ToolPolicy | None = None, offered: tuple[str, ...] = ()) -> tuple[str, ...]:
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
        (READ, ToolPolicy(allowed=("bash",)), (), ("bash",)),
        (READ, ToolPolicy(allowed=()), (), ()),
        (READ, ToolPolicy(denied=("grep",)), (), ("read",)),
        (
            ToolPolicy(denied=("bash",)),
            ToolPolicy(denied=("write",)),
            (),
            ("read", "edit", "grep", "find", "ls", "code_search"),
        ),
        (ToolPolicy(denied=("bash",)), ToolPolicy(allowed=("bash",)), (), ("bash",)),
        (READ, ToolPolicy(), (), ("read", "grep")),
    ],
)
def test_tools_are_resolved_in_canonical_order(policy, override, offered, expected):
    assert names(policy, override, offered) == expected


@pytest.mark.parametrize(
    ("policy", "override", "code", "message"),
    [
        (
            ToolPolicy(allowed=("read", "bash"), denied=("bash",)),
            None,
            ErrorCode.PROFILE_INVALID,
            "The profile both allows and denies the tool 'bash'.",
        ),
        (
            ToolPolicy(),
            ToolPolicy(allowed=("ls", "read"), denied=("read", "ls")),
            ErrorCode.CONFIG_INVALID,
            "The configuration both allows and denies the tool 'ls', 'read'.",
        ),
    ],
)
def test_a_tool_both_allowed_and_denied_is_an_error(policy, override, code, message):
    resolved = resolve_tools(policy, override)
    assert isinstance(resolved, Err)
    assert (resolved.err_value.code, resolved.err_value.message) == (code, message)


def test_a_tool_that_does_not_exist_is_left_out_and_named():
    resolved = resolve_tools(ToolPolicy(allowed=("Read", "ls", "fly")), ToolPolicy(denied=("swim",)), offered=("todo",))
    assert not isinstance(resolved, Err)
    assert resolved.ok_value.names == ("ls",)
    assert [str(one) for one in resolved.ok_value.diagnostics] == [
        "The profile names 'Read', 'fly', which are no child tools and are left out. "
        "Available: read, bash, edit, write, grep, find, ls, code_search, todo.",
        "The configuration names 'swim', which is no child tool and is left out. "
        "Available: read, bash, edit, write, grep, find, ls, code_search, todo.",
    ]


NAMES = st.lists(st.sampled_from([*CHILD_TOOLS, "todo", "unknown"]), max_size=6).map(tuple)


@given(st.none() | NAMES, NAMES, NAMES)
def test_a_denied_tool_is_never_resolved_and_nothing_is_invented(allowed, denied, more):
    resolved = resolve_tools(ToolPolicy(allowed=allowed, denied=denied), ToolPolicy(denied=more), offered=("todo",))
    if isinstance(resolved, Err):
        assert set(allowed) & set(denied)
        return
    found = resolved.ok_value.names
    assert not set(found) & {*denied, *more}
    assert set(found) <= {*CHILD_TOOLS, "todo"}
    assert allowed is None or set(found) <= set(allowed)
