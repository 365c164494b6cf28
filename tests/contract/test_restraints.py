"""Arguments that restrain a subagent, by their names and values."""

import pytest

from ohm_subagents.contract.restraints import is_restraint


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("isolation", "worktree"),
        ("working-directory", "/x"),
        ("workingDirectory", "/x"),
        ("tools", []),
        ("allowed_tools", ["read"]),
        ("permissionMode", "plan"),
        ("readOnly", True),
    ],
)
def test_an_argument_that_asks_for_less_is_a_restraint(key, value):
    assert is_restraint(key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [("isolation", None), ("sandbox", False), ("denied_tools", []), ("speed", 3), ("toolset", ["read"])],
)
def test_an_argument_that_asks_for_nothing_is_none(key, value):
    assert not is_restraint(key, value)
