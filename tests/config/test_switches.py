"""A switch that cannot be understood is off: nobody finds out too late that it was not thrown."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ohm_subagents._config.schema import FEATURES
from ohm_subagents._config.values import parse_switch

UNTIL = "counts as false until it is corrected."
NO_SWITCHES = ["0", "1", "null", '"nope"', '""', "[]", '{"on": true}', "0.0", "-1"]


def features(loaded) -> set[str]:
    """The features that are on."""
    return {name for name in FEATURES if loaded.config.features.is_on(name)}


@pytest.mark.sample(5)
@pytest.mark.parametrize("value", NO_SWITCHES)
@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("who", ["user", "project"])
def test_a_feature_that_is_no_switch_is_off_and_told(home, who, name, value):
    home.write(**{who: f'{{"features": {{\n"{name}": {value}}}}}'})
    loaded = home.load()
    assert features(loaded) == {*FEATURES} - {name}
    (told,) = (one for one in loaded.diagnostics if one.severity != "info")
    assert (told.severity, told.line) == ("error", 2)
    assert told.message.startswith(f"'features.{name}' is ")
    assert told.message.endswith(f"but has to be true or false; it {UNTIL}")


@pytest.mark.parametrize("value", ["[]", "false", "0", "null", '"off"', "true"])
def test_where_the_features_are_no_object_every_one_is_off(home, value):
    home.write(user=f'{{"features": {value}}}')
    loaded = home.load()
    assert features(loaded) == set()
    assert f"but has to be an object; every feature {UNTIL}" in home.told(loaded)[0]


@pytest.mark.parametrize(
    ("text", "off", "told"),
    [
        ('{"features": {"subagent": false}}', {"subagents"}, "'features.subagent' is not a known key. Did you mean "),
        ('{"features": {"Subagents": "maybe"}}', {"subagents"}, "'features.Subagents' is not a known key."),
        ('{"feature": {"subagents": false}}', {"subagents"}, "'feature' is not a known key. Did you mean 'features'? "),
        ('{"Features": {"painterImageGen": 0}}', {"painterImagegen"}, "'Features' is not a known key."),
        ('{"feature": false}', {*FEATURES}, "'feature' is not a known key. Did you mean 'features'? "),
        ('{"features": {"subagents": true, "subagents": true}}', {"subagents"}, "'features.subagents' is given twice"),
    ],
)
def test_a_switch_under_a_misspelt_key_is_thrown_all_the_same(home, text, off, told):
    home.write(user=text)
    loaded = home.load()
    assert features(loaded) == {*FEATURES} - off
    assert any(told in line and UNTIL in line for line in home.told(loaded))


@pytest.mark.parametrize("text", ['{"features": {"subagent": true}}', '{"feature": {"subagents": "on"}}'])
def test_a_misspelt_key_that_asks_for_what_is_on_is_only_named(home, text):
    home.write(user=text)
    loaded = home.load()
    assert features(loaded) == {*FEATURES}
    assert [one.severity for one in loaded.diagnostics] == ["warning"]


ANYTHING = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FEATURES), ANYTHING)
def test_whatever_stands_there_only_a_word_for_true_leaves_a_feature_on(home, name, value):
    home.write(user=json.dumps({"features": {name: value}}))
    assert (name in features(home.load())) is (parse_switch(value) is True)


@pytest.mark.parametrize("text", ["flase", "disabled", "maybe", "2"])
def test_a_fallback_that_the_environment_cannot_be_understood_about_is_off(home, text):
    home.write(user='{"sdkFallbackToCli": true}')
    loaded = home.load(OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI=text)
    assert loaded.config.sdk_fallback_to_cli is False
    assert home.told(loaded) == [
        f"'OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI' is '{text}', but has to be true or false; it {UNTIL}"
    ]


@pytest.mark.parametrize("value", [*NO_SWITCHES, '"enabled"'])
def test_a_fallback_that_a_file_cannot_be_understood_about_is_off(home, value):
    home.write(user='{"sdkFallbackToCli": true}', project=f'{{"sdkFallbackToCli": {value}}}')
    loaded = home.load()
    assert loaded.config.sdk_fallback_to_cli is False
    assert len(loaded.diagnostics) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '{"requests": {"unattended": "dney"}}',
            "is 'dney', but has to be one of 'allow', 'deny' or 'wait'; it counts as 'deny'",
        ),
        ('{"requests": {"unattended": "maybe"}}', "is 'maybe', but has to be "),
        ('{"requests": {"unattended": true}}', "is true, but has to be "),
        ('{"requests": {"unatended": "wait"}}', "Did you mean 'subagents.requests.unattended'? That counts as 'deny'"),
        ('{"request": {"unattended": "deny"}}', "Did you mean 'subagents.requests.unattended'? That counts as 'deny'"),
        ('{"requests": "deny"}', "has to be an object; 'unattended' counts as 'deny'"),
        ('{"requests": {"unattended": "allow", "unattended": "allow"}}', "is given twice, and counts as 'deny'"),
    ],
)
def test_calls_that_nobody_answers_are_denied_where_the_setting_cannot_be_understood(home, text, told):
    home.write(user=f'{{"subagents": {text}}}')
    loaded = home.load()
    assert loaded.config.subagents.requests.unattended == "deny"
    assert any(told in line for line in home.told(loaded))


@pytest.mark.parametrize("text", ['{"unatended": "allow"}', '{"unattended": null}', "{}"])
def test_what_asks_for_no_restraint_closes_nothing(home, text):
    home.write(user=f'{{"subagents": {{"requests": {text}, "strictModl": false}}}}')
    loaded = home.load()
    assert loaded.config.subagents.requests.unattended is None
    assert loaded.config.subagents.strict_model is False


@pytest.mark.parametrize("text", ['"strictModel": "ture"', '"strict_model": true', '"strictModl": "yes"'])
@pytest.mark.parametrize("who", ["user", "project"])
def test_a_strict_model_that_cannot_be_understood_is_strict(home, who, text):
    home.write(**{who: f'{{"subagents": {{{text}, "finder": {{{text}}}}}}}'})
    loaded = home.load()
    assert loaded.config.subagents.strict_model is True
    assert loaded.config.subagents.entry("finder").strict_model is True
    assert sum("counts as true until it is corrected." in line for line in home.told(loaded)) == 2
