"""The laws of permissions: more rules, or more runs above, never allow more; the order never matters."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ohm_subagents._policy.ceiling import delegation, lowered, met
from ohm_subagents._policy.tools import resolve_tools
from ohm_subagents.config import CallRules, judge_call
from ohm_subagents.contract.call_rules import split_calls
from ohm_subagents.contract.launch import LaunchRecord
from ohm_subagents.contract.profile import CHILD_TOOLS, Profile, ToolPolicy
from ohm_subagents.contract.tool_ceiling import ToolCeiling, delegation_from_json, delegation_to_json

CWD = Path("/work")
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
COMMANDS = ("bash: git push *", "bash: git diff *", "bash: ls", "bash: rm -rf *", "bash: git *")
PATHS = ("edit: src/**", "edit: src/a.py", "read: **/.env", "read: /etc", "grep: secrets", "edit: docs")
OTHERS = ("deploy: env=dev*", "deploy: env=prod")
NAMES = (*CHILD_TOOLS[:4], "grep", "deploy")
CALLS = [
    *(("bash", {"command": line}) for line in ("git push", "git diff; ls", "ls", "rm -rf x", "$X", "env git push")),
    *((tool, {"path": path}) for tool in ("edit", "read", "grep") for path in ("src/a.py", "/etc/x", ".env", ".")),
    *(("deploy", {"env": env}) for env in ("dev", "prod")),
    ("deploy", {}),
]


def entries(*more):
    return st.lists(st.sampled_from((*NAMES, *COMMANDS, *PATHS, *OTHERS, *more)), max_size=4).map(tuple)


def _lists(allow, ask, deny, source):
    denied = tuple(one for one in deny if allow is None or one not in allow)
    return split_calls(allow, denied, ask, source=source).unwrap()


LISTS = st.builds(_lists, st.none() | entries(), entries(), entries(), st.sampled_from(["a", "b"]))


def policy_of(lists):
    denied = tuple(name for name in lists.denied if name not in (lists.allowed or ()))
    return ToolPolicy(allowed=lists.allowed, denied=denied, call_rules=lists.rules)


def resolved(lists):
    return resolve_tools(policy_of(lists), None, offered=["deploy"], only_if_named=["deploy"]).unwrap()


def profile_of(lists, name="p"):
    return Profile(id=name, name=name, summary="", prompt="", tools=policy_of(lists))


def verdicts(tools):
    """The strictness of each call, a tool that is not given among them."""
    return [
        STRICTNESS[judge_call(tools.call_rules, tool, arguments, cwd=CWD).verdict] if tool in tools.names else 2
        for tool, arguments in CALLS
    ]


def passed(lists, above=None, delegate=()):
    """The rights of a run of these lists under a ceiling, and those that it passes on."""
    profile, tools = profile_of(lists), resolved(lists)
    if above is not None:
        tools = lowered(tools, above, profile)
    return tools, delegation(profile, tools, above, delegate=delegate, unasked=["deploy"], cwd=CWD)


RULES = LISTS.map(lambda lists: lists.rules)
LAWS = []


def law(*strategies):
    """Declare what holds of whatever these strategies give; it is tested below."""

    def declared(holds):
        LAWS.append(pytest.param(given(*strategies), holds, id=holds.__name__))
        return holds

    return declared


@law(RULES, RULES)
def a_further_rule_makes_no_verdict_milder(first, second):
    for tool, arguments in CALLS:
        before = judge_call(first, tool, arguments, cwd=CWD).verdict
        assert STRICTNESS[judge_call((*first, *second), tool, arguments, cwd=CWD).verdict] >= STRICTNESS[before]


@law(st.lists(RULES, max_size=3).map(lambda many: [one for rules in many for one in rules]), st.randoms())
def the_order_of_the_files_does_not_matter(rules, random):
    shuffled = random.sample(rules, len(rules))
    for tool, arguments in CALLS:
        one, other = (judge_call(some, tool, arguments, cwd=CWD) for some in (rules, shuffled))
        assert (one.verdict, one.is_default) == (other.verdict, other.is_default)


@law(RULES)
def a_rule_twice_says_no_more_than_once(rules):
    for tool, arguments in CALLS:
        assert judge_call((*rules, *rules), tool, arguments, cwd=CWD) == judge_call(rules, tool, arguments, cwd=CWD)


@law(entries(), entries())
def a_question_added_to_a_file_allows_nothing(asked, listed):
    before, after = (resolved(split_calls(listed, (), more).unwrap()) for more in ((), asked))
    assert set(after.names) <= set(before.names)
    assert all(now >= was for was, now in zip(verdicts(before), verdicts(after), strict=True))


@law(st.lists(LISTS, min_size=1, max_size=4))
def no_run_at_any_depth_may_do_more_than_one_above_it(chain):
    above, former = None, None
    for lists in chain:
        tools, passes = passed(lists, above)
        alone = verdicts(resolved(lists))
        now = verdicts(tools)
        assert all(here >= own for here, own in zip(now, alone, strict=True))
        if former is not None:
            assert all(here >= there for here, there in zip(now, former, strict=True))
        above, former = passes.own, now


@law(LISTS, LISTS, LISTS)
def a_grant_lifts_the_ceiling_of_one_run_and_not_of_those_above(top, controller, worker):
    _, outer = passed(top)
    _, inner = passed(controller, outer.own, delegate=["p"])
    free, _ = passed(worker, outer.own)
    granted, _ = passed(worker, inner.above)
    assert verdicts(granted) == verdicts(free)
    assert all(here >= there for here, there in zip(verdicts(granted), verdicts(passed(top)[0]), strict=True))


@law(LISTS, LISTS)
def a_ceiling_twice_is_that_ceiling(parent, child):
    ceiling = passed(parent)[1].own
    once = lowered(resolved(child), ceiling, profile_of(child))
    twice = lowered(once, ceiling, profile_of(child))
    assert (twice.names, verdicts(twice)) == (once.names, verdicts(once))


@law(LISTS, LISTS, LISTS)
def two_ceilings_hold_together_in_any_order(first, second, child):
    one, other = (passed(lists)[1].own for lists in (first, second))
    ways = [lowered(resolved(child), met(*pair), profile_of(child)) for pair in ((one, other), (other, one))]
    stepwise = lowered(lowered(resolved(child), one, profile_of(child)), other, profile_of(child))
    assert verdicts(ways[0]) == verdicts(ways[1]) == verdicts(stepwise)


@law(LISTS, LISTS, LISTS)
def a_call_leaves_no_more_than_parent_and_profile_whichever_is_met_first(parent, child, call):
    ceiling = passed(parent)[1].own
    left = ToolCeiling(names=call.allowed, denied=call.denied, call_rules=call.rules)
    before, alone = (verdicts(lowered(resolved(child), one, profile_of(child))) for one in (ceiling, left))
    ways = [lowered(resolved(child), met(*pair), profile_of(child)) for pair in ((ceiling, left), (left, ceiling))]
    stepwise = lowered(lowered(resolved(child), left, profile_of(child)), ceiling, profile_of(child))
    assert verdicts(ways[0]) == verdicts(ways[1]) == verdicts(stepwise)
    assert verdicts(stepwise) == [max(*both) for both in zip(before, alone, strict=True)]


@law(LISTS, LISTS)
def what_is_kept_and_read_again_says_the_same(parent, child):
    tools, passes = passed(child, passed(parent)[1].own)
    launch = LaunchRecord(
        profile="p", instructions="", backend="b", call_rules=tools.call_rules, tools=tools.names, ceiling=passes.above
    )
    kept = LaunchRecord.from_json(launch.as_json())
    assert kept == launch
    again = lowered(resolved(child), kept.ceiling, profile_of(child))
    assert (again.names, verdicts(again)) == (tools.names, verdicts(tools))
    assert delegation_from_json(delegation_to_json(passes)) == passes


@law(LISTS, LISTS)
def no_call_of_a_tool_that_is_not_shown_to_the_model_may_run(parent, child):
    """The names of the tools are the schema: what a list or a ceiling takes away is neither shown nor run."""
    tools, _ = passed(child, passed(parent)[1].own)
    shown = [set(_given(lists)) for lists in (parent, child)]
    assert set(tools.names) <= shown[0] & shown[1]


def _given(lists):
    """The tools that the lists of one file give."""
    listed = (*CHILD_TOOLS, "deploy") if lists.allowed is None else lists.allowed
    return [name for name in listed if name not in policy_of(lists).denied]


@pytest.mark.parametrize("examples", [20, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("given_all", "holds"), LAWS)
def test_it_is_a_law_that(given_all, holds, examples):
    settings(max_examples=examples)(given_all(holds))()


def test_an_empty_ceiling_allows_nothing():
    none = lowered(
        resolved(_lists(None, (), (), "a")), ToolCeiling(names=(), holder="x"), profile_of(_lists(None, (), (), "a"))
    )
    assert none.names == ()
    assert judge_call([CallRules(deny=("git push *",))], "bash", {"command": "git push"}, cwd=CWD).verdict == "deny"
