"""Permission to run: the strictest opinion, in the document's words, naming who gave it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._config.permissions import Permissions
from ohm_subagents._policy.permissions import may_run, misspelt_denials, unmatched, visible
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.profile import Decision, Profile
from ohm_subagents.contract.result import Err, Ok

ALLOW = Decision(verdict="allow", source="~/ohm.json:3", reason="a rule")
DENY = Decision(verdict="deny", source="~/ohm.json:7", reason="subagents.permissions.default is 'deny'")
PLUGIN_ALLOWS = Decision(verdict="allow", source="plugin yes")
PLUGIN_DENIES = Decision(verdict="deny", source="plugin no")


def profile(profile_id: str = "finder", *, internal: bool = False) -> Profile:
    return Profile(id=profile_id, name="N", summary="S", prompt="P", internal=internal)


@pytest.mark.parametrize(
    ("rule", "opinions", "denied_by"),
    [
        (ALLOW, [], None),
        (ALLOW, [PLUGIN_ALLOWS], None),
        (ALLOW, [PLUGIN_ALLOWS, PLUGIN_DENIES], "plugin no"),
        (DENY, [], "~/ohm.json:7"),
        (DENY, [PLUGIN_ALLOWS], "~/ohm.json:7"),
        (DENY, [PLUGIN_DENIES], "~/ohm.json:7"),
    ],
)
def test_a_deny_from_anywhere_stands(rule, opinions, denied_by):
    decided = may_run(profile=profile(), permissions=Permissions(default=rule), opinions=lambda: opinions)
    if denied_by is None:
        assert decided == Ok(rule)
        return
    assert isinstance(decided, Err)
    error = decided.err_value
    assert error.code == ErrorCode.PERMISSION_DENIED
    assert error.message == "Subagent 'finder' is denied by task permission policy"
    assert f"comes from {denied_by}" in error.advice


def test_the_rule_of_a_profile_is_stronger_than_the_default():
    permissions = Permissions(default=DENY, subagents={"finder": ALLOW})
    assert may_run(profile=profile("Finder"), permissions=permissions, opinions=lambda: ()) == Ok(ALLOW)
    assert isinstance(may_run(profile=profile("oracle"), permissions=permissions, opinions=lambda: ()), Err)


@pytest.mark.parametrize("rules", [{}, {"finder": ALLOW}, {"finder": DENY}])
def test_an_internal_profile_is_hidden_even_when_a_rule_allows_it(rules):
    permissions = Permissions(subagents=rules)
    decided = may_run(profile=profile(internal=True), permissions=permissions, opinions=lambda: [PLUGIN_ALLOWS])
    assert isinstance(decided, Err)
    assert decided.err_value.code == ErrorCode.INTERNAL_SUBAGENT_HIDDEN
    assert decided.err_value.message == "Subagent 'finder' is internal and unavailable by current policy"


@pytest.mark.parametrize(
    ("rule", "is_internal", "is_asked"), [(ALLOW, False, True), (DENY, False, False), (ALLOW, True, False)]
)
def test_plugins_see_no_task_that_the_configuration_refuses(rule, is_internal, is_asked):
    asked = []
    permissions = Permissions(default=rule)
    may_run(profile=profile(internal=is_internal), permissions=permissions, opinions=lambda: asked.append(1) or ())
    assert bool(asked) is is_asked


def test_internal_routing_leaves_the_other_rules_in_force():
    routed = Permissions(allow_internal_routing=True)
    assert isinstance(may_run(profile=profile(internal=True), permissions=routed, opinions=lambda: ()), Ok)
    denied = Permissions(allow_internal_routing=True, default=DENY)
    refused = may_run(profile=profile(internal=True), permissions=denied, opinions=lambda: ())
    assert isinstance(refused, Err)
    assert refused.err_value.code == ErrorCode.PERMISSION_DENIED


def test_the_roster_has_internal_profiles_only_while_routing_is_allowed():
    both = (profile("a"), profile("b", internal=True))
    assert visible(both, Permissions()) == both[:1]
    assert visible(both, Permissions(allow_internal_routing=True)) == both
    assert visible(both, Permissions(default=DENY)) == both[:1]


def test_a_rule_that_names_no_subagent_is_told():
    permissions = Permissions(subagents={"finder": ALLOW, "findr": DENY})
    assert [str(one) for one in unmatched(permissions, ["oracle", "finder"])] == [
        "~/ohm.json:7: the rule for 'findr' names no subagent; it denies nothing, and 'finder' may run. "
        "Did you mean 'finder'? Available: finder, oracle."
    ]


def test_a_name_that_may_be_ruled_and_is_no_subagent_is_known_and_not_offered():
    permissions = Permissions(subagents={"delegate": DENY, "findr": DENY})
    assert [str(one) for one in unmatched(permissions, ["finder", "delegate"], unlisted=["delegate"])] == [
        "~/ohm.json:7: the rule for 'findr' names no subagent; it denies nothing, and 'finder' may run. "
        "Did you mean 'finder'? Available: finder."
    ]


def test_only_a_deny_that_is_like_the_name_of_a_subagent_is_an_error():
    permissions = Permissions(subagents={"findr": DENY, "oracel": ALLOW, "reviewer": DENY})
    found = unmatched(permissions, ["oracle", "finder"])
    assert {one.subject.rpartition(".")[2]: one.severity for one in found} == {
        "findr": "error",
        "oracel": "warning",
        "reviewer": "warning",
    }
    assert misspelt_denials(profile("Finder"), permissions, ["oracle", "Finder"]) == tuple(
        one for one in unmatched(permissions, ["oracle", "Finder"]) if one.severity == "error"
    )
    assert misspelt_denials(profile("oracle"), permissions, ["oracle", "Finder"]) == ()


@pytest.mark.parametrize(
    "rules", [{"default": DENY, "subagents": {"findr": DENY}}, {"subagents": {"findr": DENY, "finder": DENY}}]
)
def test_no_subagent_that_is_denied_anyway_is_said_to_run(rules):
    permissions = Permissions(**rules)
    assert [(one.severity, one.message) for one in unmatched(permissions, ["oracle", "finder"])] == [
        (
            "warning",
            "~/ohm.json:7: the rule for 'findr' names no subagent. Did you mean 'finder'? Available: finder, oracle.",
        )
    ]
    assert misspelt_denials(profile("finder"), permissions, ["oracle", "finder"]) == ()


def test_no_subagent_that_is_hidden_is_said_to_run():
    permissions = Permissions(subagents={"gohst": DENY})
    told = {one.severity for hidden in ([], ["Ghost"]) for one in unmatched(permissions, ["Ghost"], hidden=hidden)}
    assert told == {"error", "warning"}
    (quiet,) = unmatched(permissions, ["Ghost"], hidden=["Ghost"])
    assert "may run" not in quiet.message


def test_a_rule_matches_its_subagent_however_the_id_is_spelt():
    permissions = Permissions(subagents={"reviewer": ALLOW, "strasse": DENY})
    assert unmatched(permissions, ["Reviewer", "Straße"]) == ()


OPINIONS = st.lists(st.sampled_from([ALLOW, DENY, PLUGIN_ALLOWS, PLUGIN_DENIES]), max_size=4)


@given(st.sampled_from([ALLOW, DENY]), OPINIONS, OPINIONS)
def test_one_more_opinion_never_loosens(rule, opinions, more):
    permissions = Permissions(default=rule)
    if isinstance(may_run(profile=profile(), permissions=permissions, opinions=lambda: opinions), Err):
        assert isinstance(may_run(profile=profile(), permissions=permissions, opinions=lambda: [*opinions, *more]), Err)
