"""Rules for a run in a clone: a path below it is that of the original, and the original itself is outside."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ohm_subagents.config import judge_call
from ohm_subagents.contract.call_rules import CloneOf, split_calls
from ohm_subagents.contract.tool_ceiling import (
    Delegation,
    ToolCeiling,
    cloned,
    cloned_delegation,
    delegation_from_json,
    delegation_to_json,
)

PATHS = st.lists(
    st.sampled_from(["src", "secrets", "deep", "..", ".", "out", "hidden", "link", "self", "a", "~", "SRC", ""]),
    max_size=6,
).map("/".join)
PATTERNS = ("src/**", "secrets", "link/**", "**/deep", "{original}/src", "src/hidden/**", "../other", ".")


def rules_of(allow=None, ask=(), deny=()):
    return split_calls(None if allow is None else tuple(allow), tuple(deny), tuple(ask)).unwrap().rules


def plant(work):
    """Make a tree with links to inside and outside."""
    (work / "src" / "deep").mkdir(parents=True)
    (work / "secrets").mkdir()
    (work / "src" / "hidden").symlink_to("../secrets")
    (work / "src" / "out").symlink_to("/")
    (work / "link").symlink_to("src")
    (work / "src" / "self").symlink_to("self")
    return work


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    base = tmp_path_factory.mktemp("trees")
    return plant(base / "a" / "original"), plant(base / "b" / "clone")


def moved(rules, original, *clones):
    """The rules of a run in the last of the clones, each made of the one before it."""
    for source, clone in zip((original, *clones), clones, strict=False):
        rules = cloned(rules, f"{source}", CloneOf(original=f"{source}", clone=f"{clone}"))
    return rules


def verdict(rules, tool, cwd, **arguments):
    return judge_call(rules, tool, arguments, cwd=cwd).verdict


@given(st.data())
def test_a_path_of_a_clone_is_judged_as_the_same_path_of_the_original(trees, data):
    original, clone = trees
    tool = data.draw(st.sampled_from(["read", "edit", "grep", "ls"]))
    kind = data.draw(st.sampled_from(["allow", "ask", "deny"]))
    pattern = data.draw(st.sampled_from(PATTERNS)).format(original=original)
    path = data.draw(PATHS)
    leads_to = Path(os.path.realpath(original / path))
    beside = leads_to.is_relative_to(original.parents[1]) and not leads_to.is_relative_to(original)
    assume(not beside)  # there, each has another neighbour
    is_absolute = data.draw(st.booleans())
    rules = rules_of(**{kind: [f"{tool}: {pattern}"]})

    def judged(in_force, cwd):
        return verdict(in_force, tool, cwd, path=f"{cwd}/{path}" if is_absolute else path)

    assert judged(moved(rules, original, clone), clone) == judged(rules, original)


@given(PATHS, st.sampled_from(["read", "edit", "grep", "ls"]))
def test_nothing_allows_a_path_into_the_original(trees, path, tool):
    original, clone = trees
    rules = moved(rules_of(allow=[f"{tool}: **", f"{tool}: {original}/**"]), original, clone)
    whole = f"{original}/{path}"
    if os.path.realpath(whole).startswith(f"{original}"):
        assert verdict(rules, tool, clone, path=whole) == "deny"
    denied = moved(rules_of(deny=[f"{tool}: {original}"]), original, clone)
    if os.path.realpath(whole).startswith(f"{original}"):
        assert verdict(denied, tool, clone, path=whole) == "deny"


def test_a_refusal_names_the_path_as_the_rules_do(trees):
    original, clone = trees
    rules = moved(rules_of(allow=["read: src/**"]), original, clone)
    found = judge_call(rules, "read", {"path": f"{clone}/secrets/x"}, cwd=clone)
    assert found.reason == f"no pattern allows '{original}/secrets/x'"
    found = judge_call(rules, "read", {"path": f"{original}/src/x"}, cwd=clone)
    assert found.reason == f"'{original}/src/x' is outside of the clone that the subagent works in"


def test_a_link_that_only_the_clone_has_leads_where_it_leads_there(tmp_path):
    original, clone = plant(tmp_path / "original"), plant(tmp_path / "clone")
    (clone / "way").symlink_to("secrets")
    (clone / "home").symlink_to(original / "src")
    rules = moved(rules_of(deny=["read: secrets/**"]), original, clone)
    assert verdict(rules, "read", clone, path="way/key") == "deny"
    allowed = moved(rules_of(allow=["read: **"]), original, clone)
    assert verdict(allowed, "read", clone, path="home/a") == "deny"
    assert verdict(allowed, "read", clone, path="way/key") == "allow"


def test_a_rule_about_a_link_that_only_the_clone_has_holds_where_that_leads(tmp_path):
    original, clone = plant(tmp_path / "original"), plant(tmp_path / "clone")
    (clone / "way").symlink_to("secrets")
    rules = moved(rules_of(deny=["read: way/**"]), original, clone)
    assert verdict(rules, "read", clone, path="secrets/key") == "deny"


def test_a_clone_of_a_clone_is_judged_as_the_first_original(tmp_path):
    first, second, third = (plant(tmp_path / name) for name in ("first", "second", "third"))
    rules = moved(rules_of(allow=["read: src/**"], deny=["read: src/deep"]), first, second, third)
    paths = ("src/a", f"{third}/src/a", f"{third}/src/deep/x", f"{second}/src/a", f"{first}/src/a", "secrets/a")
    assert [verdict(rules, "read", third, path=path) for path in paths] == ["allow", "allow", *["deny"] * 4]


def test_a_clone_below_its_original_is_no_part_of_it(tmp_path):
    original = plant(tmp_path / "original")
    clone = plant(original / ".cache" / "clone")
    rules = moved(rules_of(allow=["read: src/**"]), original, clone)
    paths = (f"{clone}/src/a", f"{clone}/secrets/a", f"{original}/src/a")
    assert [verdict(rules, "read", clone, path=path) for path in paths] == ["allow", "deny", "deny"]


def test_rules_of_a_directory_above_hold_in_a_clone_of_a_part_of_it(trees):
    original, clone = trees
    written = cloned(
        rules_of(deny=["read: src/deep"]), f"{original}", CloneOf(original=f"{original}", clone=f"{clone}")
    )
    assert verdict(written, "read", clone / "src", path="deep/x") == "deny"
    assert verdict(written, "read", clone / "src", path="../src/deep/x") == "deny"
    assert verdict(written, "read", clone / "src", path="a") == "allow"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("touch a", "allow"),
        ("touch {clone}/src/a", "allow"),
        ("cd {clone}/src && touch a", "allow"),
        ("touch {original}/src/a", "ask"),
        ("cd {original} && touch a", "ask"),
        ("echo x > ../a", "ask"),
        ("touch src/out/tmp/x", "ask"),
    ],
)
def test_a_command_in_a_clone_that_writes_to_the_original_writes_outside(trees, line, expected):
    original, clone = trees
    rules = moved(rules_of(ask=["bash: @outside"]), original, clone)
    assert verdict(rules, "bash", clone, command=line.format(original=original, clone=clone)) == expected


def test_a_command_below_writes_outside_of_the_run_above_wherever_it_works(tmp_path):
    above, below = tmp_path / "above", tmp_path / "below"
    (above / "sub").mkdir(parents=True)
    below.mkdir()
    (rule,) = rules_of(ask=["bash: @outside"])
    rooted = [replace(rule, cwd=f"{above}")]
    assert verdict(rooted, "bash", above / "sub", command="touch ../a") == "allow"
    assert verdict(rooted, "bash", below, command="touch a") == "ask"


def test_what_a_run_in_a_clone_passes_on_holds_there_and_travels(trees):
    original, clone = trees
    own = ToolCeiling(call_rules=rules_of(deny=["edit: src/**"]))
    above = ToolCeiling(call_rules=rules_of(deny=["edit: secrets"]))
    there = CloneOf(original=f"{original}", clone=f"{clone}")
    passed = cloned_delegation(Delegation(own=own, above=above), f"{original}", there)
    assert delegation_from_json(delegation_to_json(passed)) == passed
    rules = (*passed.own.call_rules, *passed.above.call_rules)
    assert [verdict(rules, "edit", clone, path=f"{clone}/{one}") for one in ("src/a", "secrets/a", "a")] == [
        "deny",
        "deny",
        "allow",
    ]
