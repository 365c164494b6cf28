from __future__ import annotations

import json

from ohm_subagents._config.jsonc import parse_jsonc
from ohm_subagents._config.tables import config_schema


def origin_of(text: str, key: str) -> str:
    (line,) = (line for line in text.splitlines() if line.strip().startswith(f'"{key}":'))
    return line.rpartition("  // ")[2]


def test_every_value_is_shown_with_its_origin(ohm, tmp_path) -> None:
    path = ohm.configure(
        '{\n  "suites": ["task"],\n  "subagents": {\n    "finder": {\n      "model": "acme/one",\n'
        '      "tools": ["read"]\n    },\n    "permissions": {"default": "deny"}\n  }\n}'
    )
    project = tmp_path / "project" / ".pi" / "ohm.json"
    project.parent.mkdir()
    project.write_text('{"subagentBackend": "none"}', encoding="utf-8")
    ohm.env["OHM_SUBAGENTS_OUTPUT_MAX_CHARS"] = "77"
    text = ohm("config", "show", "--origin").stdout
    assert origin_of(text, "suites") == f"{path}:2"
    assert f'"model": "acme/one",  // {path}:5' in text
    assert f'"allow": ["read"],  // {path}:6' in text
    assert origin_of(text, "subagentBackend") == f"{project}:1"
    assert origin_of(text, "outputMaxChars") == "env OHM_SUBAGENTS_OUTPUT_MAX_CHARS"
    assert origin_of(text, "allowInternalRouting") == "default"
    assert f'"default": "deny",  // {path}:8' in text
    assert origin_of(text, "taskMaxEvents") == "default"


def test_a_value_that_is_ignored_is_the_origin_of_none(ohm) -> None:
    """Nor is the object around it the origin of the defaults of its other keys."""
    path = ohm.configure({"subagents": {"limits": {"idleMs": "5s"}, "finder": {}}})
    done = ohm("config", "show", "--origin")
    assert "'subagents.limits.idleMs' is '5s'" in done.stderr
    assert {origin_of(done.stdout, key) for key in ("idleMs", "toolMs", "capMs")} == {"default"}
    shown = ohm("subagent", "finder").stdout
    assert f"{path}" not in shown
    assert "- idleMs: 180000 (set by subagents.limits.idleMs (default))" in shown


def test_what_is_shown_with_origins_is_the_same_configuration(ohm) -> None:
    ohm.configure({"suites": ["task"], "providers": {"acme": {"baseUrl": "http://127.0.0.1:1", "models": ["m"]}}})
    annotated = parse_jsonc(ohm("config", "show", "--origin").stdout).ok_value.value
    assert annotated == json.loads(ohm("config", "show").stdout)


def test_what_is_shown_can_be_used_as_ohm_json(ohm) -> None:
    shown = ohm("config", "show", "--origin").stdout
    ohm.configure(shown)
    again = ohm("config", "show")
    assert again.stderr == ""
    assert json.loads(again.stdout) == parse_jsonc(shown).ok_value.value


def test_limits_and_budgets_are_shown_with_their_origin_and_a_guard_that_is_off_as_null(ohm) -> None:
    path = ohm.configure(
        '{\n  "subagents": {\n    "budget": {"spawns": null, "costUsd": 0.5},\n    "limits": {"capMs": 9000},\n'
        '    "finder": {"limits": {"softMs": 5000}}\n  }\n}'
    )
    text = ohm("config", "show", "--origin").stdout
    assert origin_of(text, "spawns") == origin_of(text, "costUsd") == f"{path}:3"
    assert '"spawns": null' in text
    assert '"costUsd": "0.5"' in text
    assert origin_of(text, "depth") == "default"
    assert (origin_of(text, "capMs"), origin_of(text, "softMs")) == (f"{path}:4", f"{path}:5")
    ohm.configure(text)
    assert json.loads(ohm("config", "show").stdout) == parse_jsonc(text).ok_value.value


def test_the_schema_of_ohm_json_is_published(ohm) -> None:
    done = ohm("config", "schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == config_schema()


def test_config_alone_shows_the_configuration(ohm) -> None:
    ohm.configure({"suites": ["task"]})
    alone, shown = ohm("config"), ohm("config", "show")
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, shown.stdout, shown.stderr)
    assert "schema" in ohm("config", "--help").stdout
