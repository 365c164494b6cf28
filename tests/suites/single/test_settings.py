"""`config.json` of 001: documented defaults, and what a wrong value counts as."""

import json

import pytest

from ohm_subagents.suites.single.settings import FILE, LSP_ACTIONS, SingleSettings, load_settings


@pytest.fixture
def load(tmp_path):
    def load(section):
        file = tmp_path / FILE
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(section if isinstance(section, str) else json.dumps({"subagents": section}), encoding="utf-8")
        return load_settings(tmp_path)

    return load


def test_without_a_file_the_documented_defaults_hold(tmp_path):
    settings, diagnostics = load_settings(tmp_path)
    assert (settings, diagnostics) == (SingleSettings(), ())
    assert (settings.enabled, settings.max_depth, settings.timeout_ms, settings.idle_timeout_ms) == (
        True,
        1,
        120_000,
        None,
    )
    assert (settings.allow_write, settings.retries, settings.max_attempts) == (False, True, 2)


def test_every_key_is_read(load):
    settings, diagnostics = load(
        {
            "enabled": False,
            "maxDepth": 0,
            "timeoutMs": 5,
            "idleTimeoutMs": 6,
            "allowWrite": True,
            "allowLspTools": False,
            "allowedLspActions": ["hover"],
            "injectDelegationPolicy": False,
            "retry": {"enabled": False, "maxAttempts": 4},
        }
    )
    assert diagnostics == ()
    assert settings == SingleSettings(
        enabled=False,
        max_depth=0,
        timeout_ms=5,
        idle_timeout_ms=6,
        allow_write=True,
        allow_lsp_tools=False,
        allowed_lsp_actions=("hover",),
        injects_policy=False,
        retries=False,
        max_attempts=4,
    )


@pytest.mark.parametrize(
    "section",
    [
        {"enabled": "yes"},
        {"maxDepth": -1},
        {"maxDepth": 1.5},
        {"timeoutMs": 0},
        {"timeoutMs": True},
        {"idleTimeoutMs": "soon"},
        {"allowWrite": 1},
        {"allowedLspActions": "hover"},
        {"retry": {"maxAttempts": 0}},
        {"retry": []},
        "{",
        "[]",
    ],
    ids=repr,
)
def test_a_wrong_value_counts_as_its_default_and_is_told(load, section):
    settings, diagnostics = load(section)
    assert settings == SingleSettings()
    assert len(diagnostics) == 1


@pytest.mark.parametrize("value", [0, 1, "nope", "off", [], {}], ids=repr)
def test_the_suite_is_off_where_nobody_can_say_that_it_is_on(load, value):
    settings, (told,) = load({"enabled": value})
    assert settings == SingleSettings(enabled=False)
    assert told.message.endswith("but has to be true or false; it counts as false.")


def test_of_the_lsp_actions_those_that_change_something_are_left_out(load):
    settings, (told,) = load({"allowedLspActions": ["hover", "rename", "hover", 3]})
    assert settings.allowed_lsp_actions == ("hover",)
    assert '"rename"' in told.message or "'rename'" in told.message
    assert all(action in told.message for action in LSP_ACTIONS)
