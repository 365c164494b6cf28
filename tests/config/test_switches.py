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


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FEATURES), ANYTHING)
def test_whatever_stands_there_only_a_word_for_true_leaves_a_feature_on(home, name, value):
    only_true_leaves_on(home, name, value)


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FEATURES), ANYTHING)
def test_whatever_stands_in_many_files_only_a_word_for_true_leaves_a_feature_on(home, name, value):
    only_true_leaves_on(home, name, value)


def only_true_leaves_on(home, name, value):
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
