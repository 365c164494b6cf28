"""A later file can tighten, never loosen; what cannot be understood denies (house 9.10, 9.11)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._config.permissions import Rules, merge
from ohm_subagents.contract.profile import Decision, fold_id


def rules(text: str) -> str:
    return f'{{"subagents": {{"permissions": {text}}}}}'


def verdicts(loaded) -> tuple[str, str, str]:
    permissions = loaded.config.subagents.permissions
    return tuple(permissions.decision(one).verdict for one in ("finder", "oracle", "task"))


@pytest.mark.parametrize(
    ("user", "project", "finder", "oracle"),
    [
        ("{}", "{}", "allow", "allow"),
        ('{"default": "deny"}', "{}", "deny", "deny"),
        ('{"default": "deny", "subagents": {"finder": "allow"}}', "{}", "allow", "deny"),
        ('{"default": "deny"}', '{"subagents": {"finder": "allow"}}', "deny", "deny"),
        ('{"default": "deny"}', '{"default": "allow"}', "deny", "deny"),
        ('{"subagents": {"finder": "deny"}}', '{"subagents": {"finder": "allow"}}', "deny", "allow"),
        ('{"subagents": {"finder": "deny"}}', '{"subagents": {}}', "deny", "allow"),
        ('{"subagents": {"finder": "deny"}}', '{"subagents": {"oracle": "deny"}}', "deny", "deny"),
        ('{"subagents": {"finder": "allow"}}', '{"subagents": {"finder": "deny"}}', "deny", "allow"),
        ('{"subagents": {"finder": "allow"}}', '{"default": "deny"}', "deny", "deny"),
        ("{}", '{"default": "deny", "subagents": {"finder": "allow"}}', "allow", "deny"),
        ('{"default": "allow"}', '{"default": "deny", "subagents": {"oracle": "allow"}}', "deny", "allow"),
    ],
)
def test_a_project_tightens_and_never_opens(home, user, project, finder, oracle):
    home.write(user=rules(user), project=rules(project))
    assert verdicts(home.load())[:2] == (finder, oracle)


@pytest.mark.parametrize(
    ("user", "project", "routing"),
    [
        ("{}", "{}", False),
        ('{"allowInternalRouting": true}', "{}", True),
        ('{"allowInternalRouting": true}', '{"allowInternalRouting": false}', False),
        ('{"allowInternalRouting": false}', '{"allowInternalRouting": true}', False),
        ('{"allowInternalRouting": "on"}', "{}", True),
        ("{}", '{"allowInternalRouting": true}', False),
        ("{}", '{"allowInternalRouting": "on"}', False),
        ('{"allowInternalRouting": true}', '{"allowInternalRouting": true}', True),
        ('{"allowInternalRouting": "maybe"}', '{"allowInternalRouting": true}', False),
    ],
)
def test_internal_routing_follows_the_same_rule(home, user, project, routing):
    home.write(user=rules(user), project=rules(project))
    assert home.load().config.subagents.permissions.allow_internal_routing is routing


def test_an_allow_without_effect_is_named_with_the_rule_that_stands(home):
    home.write(
        user=rules('{\n"default": "deny",\n"allowInternalRouting": false}'),
        project=rules('{"default": "allow",\n"subagents": {"finder": "allow"}, "allowInternalRouting": true}'),
    )
    loaded = home.load()
    void, stands = "is 'allow', which has no effect:", "~/ohm.json:2 denies it."
    assert home.told(loaded) == [
        f".pi/ohm.json:1: 'subagents.permissions.default' {void} {stands}",
        f".pi/ohm.json:2: 'subagents.permissions.subagents.finder' {void} {stands}",
        ".pi/ohm.json:2: 'subagents.permissions.allowInternalRouting' is true, which has no effect: "
        "~/ohm.json:3 says false.",
    ]


def test_a_project_cannot_let_internal_subagents_in_where_the_user_is_silent(home):
    home.write(project=rules('{"allowInternalRouting": true}'))
    assert home.told(home.load()) == [
        ".pi/ohm.json:1: 'subagents.permissions.allowInternalRouting' is true, which has no effect: only the user's "
        "file can set it."
    ]


def test_a_rule_of_the_user_that_a_project_closes_is_named(home):
    home.write(
        user=rules(
            '{"default": "allow",\n"subagents": {"finder": "allow", "task": "allow"},\n"allowInternalRouting": "on"}'
        ),
        project=rules('{"default": "deny",\n"subagents": {"task": "allow"},\n"allowInternalRouting": "off"}'),
    )
    void, stands = "is 'allow', which has no effect:", ".pi/ohm.json:1 denies it."
    assert home.told(home.load()) == [
        f"~/ohm.json:1: 'subagents.permissions.default' {void} {stands}",
        f"~/ohm.json:2: 'subagents.permissions.subagents.finder' {void} {stands}",
        "~/ohm.json:3: 'subagents.permissions.allowInternalRouting' is true, which has no effect: "
        ".pi/ohm.json:3 says false.",
    ]


def test_every_decision_names_its_file_line_and_key(home):
    home.write(user=rules('{\n"default": "deny",\n"subagents": {\n" Finder ": "allow"}}'))
    permissions = home.load().config.subagents.permissions
    assert permissions.decision("FINDER ") == Decision(
        verdict="allow",
        source=f"{home.user}/ohm.json:4",
        reason="subagents.permissions.subagents. Finder  is 'allow'",
    )
    assert permissions.decision("oracle").source == f"{home.user}/ohm.json:2"
    assert home.load().origin("subagents.permissions.subagents.finder") == f"{home.user}/ohm.json:4"


@pytest.mark.parametrize("value", ['"denied"', '"DENY"', '"Allow"', '" allow"', "3", "true", "null", "[]", "{}", '""'])
def test_a_misspelt_rule_denies_and_is_named(home, value):
    home.write(project=rules(f'{{\n"subagents": {{"finder": {value}}}}}'))
    loaded = home.load()
    assert verdicts(loaded) == ("deny", "allow", "allow")
    (told,) = home.told(loaded)
    assert told.startswith(".pi/ohm.json:2: 'subagents.permissions.subagents.finder' is ")
    assert told.endswith("; it counts as 'deny'. Allowed: 'allow', 'deny'.")


@pytest.mark.parametrize("value", ['"denied"', "3", "null", "{}"])
def test_a_misspelt_default_denies(home, value):
    home.write(user=rules('{"subagents": {"finder": "allow"}}'), project=rules(f'{{"default": {value}}}'))
    loaded = home.load()
    assert verdicts(loaded) == ("deny", "deny", "deny")
    assert "it counts as 'deny'" in home.told(loaded)[-1]


def test_the_legacy_ask_denies_and_is_named(home):
    home.write(project=rules('{"default": "ask", "subagents": {"finder": "ask", "oracle": "allow"}}'))
    loaded = home.load()
    assert verdicts(loaded) == ("deny", "allow", "deny")
    assert all("is 'ask', which is no longer supported; it counts as 'deny'." in line for line in home.told(loaded))


@pytest.mark.parametrize(
    "section", ['"deny"', "[]", "null", '{"subagents": ["finder"]}', '{"defualt": "deny"}', '{"finder": "deny"}']
)
def test_a_section_that_cannot_be_understood_denies_every_subagent(home, section):
    home.write(user=rules('{"subagents": {"task": "allow"}}'), project=rules(section))
    loaded = home.load()
    assert verdicts(loaded) == ("deny", "deny", "deny")
    assert len([line for line in home.told(loaded) if "every subagent" in line]) == 1


def test_a_misspelt_key_of_the_rules_names_the_one_that_was_meant(home):
    home.write(user=rules('{"defualt": "deny"}'))
    (line,) = home.told(home.load())
    assert "(allowed: allowInternalRouting, default, subagents). Did you mean 'default'? Until it is corrected" in line


@pytest.mark.parametrize(
    "text",
    [
        '{"subagents": {"permission": {"default": "deny"}}}',
        '{"subagents": {"Permissions": {"subagents": {"finder": "deny"}}}}',
        '{"subagents": {"permisions": "deny"}}',
        '{"permissions": {"default": "deny"}}',
    ],
)
def test_rules_under_a_misspelt_key_are_not_lost(home, text):
    home.write(user=text)
    loaded = home.load()
    assert verdicts(loaded) == ("deny", "deny", "deny")
    (told,) = home.told(loaded)
    assert "is not a known key. Did you mean 'subagents.permissions'?" in told
    assert set(loaded.config.subagents.profiles) == set()


def test_an_unknown_key_leaves_the_rules_that_are_understood(home):
    home.write(user=rules('{"subagents": {"task": "allow"}, "modus": 1}'))
    assert verdicts(home.load()) == ("deny", "deny", "allow")


@pytest.mark.parametrize(
    "text",
    [
        rules('{"subagents": {"finder": "deny", "finder": "allow"}}'),
        rules('{"subagents": {"finder": "deny", " FINDER": "allow"}}'),
        rules('{"subagents": {" FINDER": "allow", "finder": "deny"}}'),
        '{"subagents": {"permissions": {"subagents": {"finder": "deny"}}}, "subagents": {"taskMaxConcurrency": 2}}',
        '{"subagents": {"permissions": {"subagents": {"finder": "deny"}}}, "subagents": null}',
        '{"subagents": {"permissions": {"subagents": {"finder": "deny"}}, "permissions": {"default": "allow"}}}',
    ],
)
def test_a_deny_does_not_vanish_behind_a_key_given_twice(home, text):
    home.write(user=text)
    assert verdicts(home.load())[0] == "deny"


def test_a_rule_for_a_blank_id_is_ignored_and_named(home):
    home.write(user=rules('{"subagents": {" ": "deny"}}'))
    loaded = home.load()
    assert verdicts(loaded) == ("allow", "allow", "allow")
    assert home.told(loaded) == [
        "~/ohm.json:1: 'subagents.permissions.subagents. ' names no subagent; the rule is ignored."
    ]


DECISIONS = st.sampled_from(["allow", "deny"]).map(lambda verdict: Decision(verdict=verdict, source="file:1"))
LAYERS = st.builds(
    Rules,
    default=st.none() | DECISIONS,
    subagents=st.dictionaries(st.sampled_from(["finder", "oracle", "task"]), DECISIONS),
    routing=st.none() | st.booleans(),
    may_only_tighten=st.booleans(),
)


@given(st.lists(LAYERS, max_size=3), LAYERS, st.sampled_from(["finder", "oracle", "task", "other"]))
def test_one_more_layer_never_turns_a_deny_into_an_allow(layers, another, profile_id):
    before, after = merge(layers), merge([*layers, another])
    if before.decision(profile_id).verdict == "deny":
        assert after.decision(profile_id).verdict == "deny"
    if another.opinion(profile_id) and another.opinion(profile_id).verdict == "deny":
        assert after.decision(profile_id).verdict == "deny"
    if any(one.routing is False for one in layers):
        assert not after.allow_internal_routing
    if another.may_only_tighten:
        assert before.allow_internal_routing or not after.allow_internal_routing


@given(
    st.dictionaries(
        st.text(max_size=8), st.none() | st.booleans() | st.text(max_size=8) | st.lists(st.integers(), max_size=2)
    )
)
def test_whatever_stands_in_a_rule_only_the_word_allow_allows(entries):
    from pathlib import Path

    from ohm_subagents._config.load import load_config
    from ohm_subagents.contract.result import Ok

    config = json.loads(json.dumps({"subagents": {"permissions": {"default": "deny", "subagents": entries}}}))
    loaded = load_config(cwd=Path("/nowhere"), config=config, env={})
    assert isinstance(loaded, Ok)
    for profile_id, rule in loaded.ok_value.config.subagents.permissions.subagents.items():
        written = [value for key, value in entries.items() if fold_id(key) == profile_id]
        assert (rule.verdict == "allow") == all(value == "allow" for value in written)


@pytest.mark.parametrize(("written", "typed"), [("Straße", "STRASSE"), (" Finder ", "FINDER"), ("ΣΟΦΟΣ", "σοφος")])
def test_a_rule_holds_however_the_id_is_spelt(home, written, typed):
    home.write(user=rules(json.dumps({"subagents": {written: "deny"}})))
    permissions = home.load().config.subagents.permissions
    assert permissions.decision(typed).verdict == "deny"
