"""The table of variables, and what each may hold."""

import os
import pwd
from pathlib import Path

import pytest

from ohm_subagents._config.env import VARIABLES, cache_dir, config_dir, nesting_depth, process_env
from ohm_subagents._config.load import load_config
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.values import UnclearModel
from ohm_subagents.contract.result import Err

INTEGERS = [one for one in VARIABLES if one.kind == "integer"]


def load(**env: str):
    loaded = load_config(cwd=Path("/nowhere"), config={}, env=env)
    assert not isinstance(loaded, Err)
    return loaded.ok_value


def field(config: OhmConfig, path):
    value = config.model_dump(mode="json", by_alias=True)
    for part in path:
        value = value[part]
    return value


@pytest.mark.parametrize("variable", INTEGERS, ids=lambda one: one.name)
def test_an_integer_variable_sets_its_field_over_any_file(variable):
    loaded = load(**{variable.name: " 4321 "})
    assert field(loaded.config, variable.path) == 4321
    assert loaded.diagnostics == ()
    assert loaded.origin(".".join(variable.path)) == f"env {variable.name}"


NO_INTEGERS = ["3xyz", "2.9", "3.0", "1e3", "1_000", "1,000", "+5", "7 8", "abc", "0x3", "0", "00", "-1", ".5", "٣"]


@pytest.mark.sample(6)
@pytest.mark.parametrize("text", [*NO_INTEGERS, "99999999999999999999", "9" * 5000])
@pytest.mark.parametrize("variable", INTEGERS, ids=lambda one: one.name)
def test_what_is_no_positive_integer_is_refused_and_the_default_is_kept(variable, text):
    loaded = load(**{variable.name: text})
    assert loaded.config == OhmConfig()
    (told,) = loaded.diagnostics
    assert str(told).startswith(f"'{variable.name}' is ")
    assert "has to be a positive integer" in str(told)
    assert text[:9] in str(told)


@pytest.mark.parametrize("text", ["", "  ", " , "])
def test_a_blank_list_of_the_plugins_to_load_has_none_in_it(text):
    loaded = load(OHM_SUBAGENTS_LOAD_PLUGINS=text)
    assert (loaded.config.load_plugins, loaded.diagnostics) == ((), ())


@pytest.mark.parametrize("variable", [one for one in VARIABLES if not one.blank_counts], ids=lambda one: one.name)
def test_a_blank_variable_is_an_unset_one(variable):
    loaded = load(**{variable.name: "  "})
    assert (loaded.config, loaded.diagnostics) == (OhmConfig(), ())


@pytest.mark.parametrize(
    ("text", "on"), [("1", True), ("TRUE", True), ("yes", True), ("on", True), ("0", False), ("off", False)]
)
def test_switches_are_words(text, on):
    assert load(OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI=text).config.sdk_fallback_to_cli is on


def test_the_switch_to_pi_is_not_thrown_by_a_word_that_the_document_does_not_know():
    loaded = load(OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI="enabled")
    assert loaded.config.sdk_fallback_to_cli is False
    assert [one.message for one in loaded.diagnostics] == [
        "'OHM_SUBAGENTS_SDK_FALLBACK_TO_CLI' is 'enabled', but has to be true or false; it counts as "
        "false until it is corrected."
    ]


@pytest.mark.parametrize(("text", "on"), [("1", True), (" TRUE ", True), ("0", False), ("yes", False), ("on", False)])
def test_debug_knows_fewer_words(text, on):
    assert load(OHM_DEBUG=text).config.debug is on


def test_a_switch_that_is_no_known_word_stays_off_and_is_named():
    loaded = load(OHM_DEBUG="maybe")
    assert loaded.config.debug is False
    assert [str(one) for one in loaded.diagnostics] == [
        "'OHM_DEBUG' is 'maybe', but has to be 1, true, 0 or false; it is ignored."
    ]


def test_plugins_are_lists_of_names():
    config = load(OHM_SUBAGENTS_LOAD_PLUGINS="a, b,,", OHM_SUBAGENTS_BLOCK_PLUGINS="c").config
    assert (config.load_plugins, config.block_plugins) == (("a", "b"), ("c",))


def test_ohm_model_is_the_model_of_every_subagent():
    assert str(load(OHM_MODEL="Acme/big:high").config.subagents.model) == "acme/big:high"
    loaded = load(OHM_MODEL="big")
    assert isinstance(loaded.config.subagents.model, UnclearModel)
    assert "<provider>/<model>" in str(loaded.diagnostics[0])
    assert "keeps every subagent without a model of its own from running" in str(loaded.diagnostics[0])


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "/home/me/.pi/agent"),
        ({"PI_CONFIG_DIR": "/a", "PI_CODING_AGENT_DIR": "/b", "PI_AGENT_DIR": "/c"}, "/a"),
        ({"PI_CODING_AGENT_DIR": "/b", "PI_AGENT_DIR": "/c"}, "/b"),
        ({"PI_AGENT_DIR": "/c"}, "/c"),
        ({"PI_CONFIG_DIR": "  ", "PI_AGENT_DIR": "/c"}, "/c"),
        ({"PI_CONFIG_DIR": "", "PI_CODING_AGENT_DIR": " "}, "/home/me/.pi/agent"),
        ({"PI_CONFIG_DIR": "  /a  "}, "/a"),
        ({"PI_CONFIG_DIR": "~"}, "/home/me"),
        ({"PI_CONFIG_DIR": " ~/x y"}, "/home/me/x y"),
        ({"PI_CONFIG_DIR": "/a/~"}, "/a/~"),
    ],
)
def test_the_directory_is_the_first_variable_that_is_set(env, expected):
    assert config_dir({"HOME": "/home/me", **env}) == Path(expected)


def test_without_a_home_the_users_own_is_taken():
    assert config_dir({}) == Path.home() / ".pi" / "agent"


def test_a_blank_home_is_none_and_not_the_root(monkeypatch):
    monkeypatch.setenv("HOME", "")
    assert config_dir({"HOME": ""}) == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".pi" / "agent"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/ohm-subagents"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/fast"}, "/fast/ohm-subagents"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}, "/home/me/.cache/ohm-subagents"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": " "}, "/home/me/.cache/ohm-subagents"),
        ({"XDG_CACHE_HOME": "/fast"}, "/fast/ohm-subagents"),
    ],
)
def test_the_cache_is_where_the_user_keeps_caches(env, expected):
    assert cache_dir(env) == Path(expected)


@pytest.mark.parametrize("env", [{}, {"HOME": ""}, {"HOME": "relative"}, {"XDG_CACHE_HOME": "relative"}])
def test_an_environment_that_names_no_home_has_no_cache(env):
    assert cache_dir(env) is None


def test_the_process_environment_is_a_copy(monkeypatch):
    monkeypatch.setenv("OHM_MODEL", "a/b")
    env = process_env()
    monkeypatch.setenv("OHM_MODEL", "c/d")
    assert env["OHM_MODEL"] == "a/b"


@pytest.mark.parametrize(("text", "depth"), [("", 0), (" ", 0), ("0", 0), (" 2 ", 2), ("007", 7)])
def test_the_depth_of_this_process_is_how_many_subagents_it_is_inside_of(text, depth):
    assert nesting_depth({}) == 0
    assert nesting_depth({"PI_SUBAGENT_DEPTH": text}) == depth
    assert load(PI_SUBAGENT_DEPTH=text).diagnostics == ()


@pytest.mark.parametrize("text", ["-1", "+1", "one", "1.0", "1_0", "٣", "9" * 5000])
def test_a_depth_that_cannot_be_read_is_the_limit_reached_and_told(text):
    assert nesting_depth({"PI_SUBAGENT_DEPTH": text}) is None
    (told,) = load(PI_SUBAGENT_DEPTH=text).diagnostics
    assert told.severity == "error"
    assert str(told).startswith("'PI_SUBAGENT_DEPTH' is '")
    assert str(told).endswith(
        "but has to be an integer, 0 or more; it counts as the depth limit reached, so no task may be started."
    )


def test_a_variable_sets_one_option_of_a_suite_and_leaves_the_others(home):
    home.write(user='{"suiteOptions": {"delegate": {"backend": "a", "filesOutsideCwd": "deny"}}}')
    options = home.load(OHM_SUBAGENTS_DELEGATE_BACKEND="b").config.suite_options["delegate"]
    assert options == {"backend": "b", "filesOutsideCwd": "deny"}
