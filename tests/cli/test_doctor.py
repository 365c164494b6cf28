from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import version

import pytest

SECRET = "sk-not-to-be-shown"


def section(text: str, name: str) -> list[str]:
    return text.partition(f"{name}:\n")[2].partition("\n\n")[0].splitlines()


def test_it_tells_what_is_installed(ohm) -> None:
    lines = section(ohm("doctor").stdout, "Installation")
    assert lines[0] == f"  ✓ ohm-subagents {version('ohm-subagents')} on Python {platform.python_version()}"
    assert "ripgrep" in lines[1]


def test_it_names_the_files_that_are_read_and_those_that_are_not_there(ohm, tmp_path) -> None:
    assert section(ohm("doctor").stdout, "Configuration") == [
        f"  ✓ {tmp_path}/config/ohm.json",
        f"  ○ {tmp_path}/project/.pi/ohm.json: not there",
        "  ✓ the project has no file for subagents",
    ]


def test_keys_are_found_by_name_and_never_shown(ohm) -> None:
    ohm.env |= {"OPENAI_API_KEY": SECRET, "XAI_API_KEY": " "}
    done = ohm("doctor")
    assert "  ✓ OPENAI_API_KEY" in section(done.stdout, "Keys")
    assert "  ○ XAI_API_KEY: not set" in section(done.stdout, "Keys")
    assert "  ○ GROQ_API_KEY: not set" in section(done.stdout, "Keys")
    assert SECRET not in done.stdout + done.stderr


def test_no_command_shows_a_key(ohm) -> None:
    ohm.env["OPENAI_API_KEY"] = SECRET
    for command in (("config", "show"), ("plugins",), ("subagents",), ("subagent", "finder")):
        done = ohm(*command)
        assert SECRET not in done.stdout + done.stderr


def test_it_tells_which_model_each_subagent_runs_on_and_why(ohm) -> None:
    ohm.configure({})
    lines = section(ohm("doctor").stdout, "Subagents")
    assert "  ✓ finder: local/search, because nothing names a model and no key is set" in lines
    assert any(line.startswith("  ○ oracle: no model; set subagents.oracle.model") for line in lines)


def test_a_key_and_a_setting_decide_the_model(ohm, tmp_path) -> None:
    ohm.env["OPENAI_API_KEY"] = SECRET
    path = ohm.configure('{\n  "subagents": {\n    "finder": {"model": "openai/one"}\n  }\n}')
    lines = section(ohm("doctor").stdout, "Subagents")
    assert f"  ✓ finder: openai/one, set by subagents.finder.model ({path}:3)" in lines
    assert any(line.startswith("  ✓ oracle: openai/") and line.endswith("a key of openai is set") for line in lines)


def test_a_model_whose_sdk_is_not_installed_is_not_called_well(ohm, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    ohm.env["ANTHROPIC_API_KEY"] = SECRET
    ohm.configure({"subagents": {"oracle": {"model": "anthropic/claude-sonnet-5-5"}}})
    lines = section(ohm("doctor").stdout, "Subagents")
    lacking = "the SDK of no provider with a key is installed"
    assert f"  ✓ finder: local/search, because nothing names a model and {lacking}" in lines
    assert any(line.startswith("  ✕ oracle: anthropic/") and "needs pip install" in line for line in lines)


def test_what_another_backend_runs_is_what_was_named_or_its_own_choice(ohm) -> None:
    ohm.configure({"subagentBackend": "stage"})
    lines = section(ohm("doctor").stdout, "Subagents")
    assert {f"  ✓ {one}: stage, which chooses the model itself" for one in ("finder", "oracle")} <= {*lines}
    path = ohm.configure({"subagents": {"finder": {"backend": "stage", "model": "acme/one"}}})
    lines = section(ohm("doctor").stdout, "Subagents")
    assert f"  ✓ finder: acme/one, set by subagents.finder.model ({path}:1)" in lines
    assert "model: acme/one" in ohm("subagent", "finder").stdout


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("script", "mode", "told"),
    [
        ("echo 0.74.2", "auto", None),
        ("echo 0.72.0", "auto", "is pi 0.72.0, and 0.73.0 is the oldest that works here. Install"),
        ("echo 0.74.2", "rpc", 'pi 0.74.2 cannot serve mode "rpc": that needs 0.87.0 or newer. Set'),
        ("echo 'SyntaxError: no such thing' >&2; exit 1", "auto", "does not start as pi: SyntaxError: no such thing."),
    ],
)
def test_a_pi_that_cannot_be_used_is_not_called_well(ohm, tmp_path, script: str, mode: str, told: str | None) -> None:
    pi = tmp_path / "pi"
    pi.write_text(f"#!/bin/sh\n{script}\n")
    pi.chmod(0o755)
    options = {"command": [str(pi)], "mode": mode}
    ohm.configure({"subagentBackend": "interactive-shell", "subagents": {"backends": {"interactive-shell": options}}})
    done = ohm("doctor")
    (line,) = (one for one in section(done.stdout, "Backends") if "interactive-shell" in one)
    assert line.startswith("  ✓" if told is None else "  ○")
    assert told is None or told in line
    assert done.returncode == (0 if told is None else 1)


def test_the_switch_to_pi_comes_before_the_last_resort_and_needs_a_pi(ohm, tmp_path) -> None:
    pi = tmp_path / "pi"
    pi.write_text("#!/bin/sh\necho 0.87.1\n")
    pi.chmod(0o755)
    command = {"subagents": {"backends": {"interactive-shell": {"command": [str(pi)]}}}}
    ohm.configure(json.dumps({"sdkFallbackToCli": True, **command}))
    lines = section(ohm("doctor").stdout, "Subagents")
    assert {"  ✓ finder", "  ✓ oracle"} <= {*lines}
    pi.unlink()
    lines = section(ohm("doctor").stdout, "Subagents")
    (told,) = (line for line in lines if str(pi) in line)
    assert told.startswith("  ✕ librarian: interactive-shell, which would run it: ")
    assert "  ✕ oracle: same as librarian" in lines


def test_it_names_the_store_and_how_many_tasks_it_holds(ohm, tmp_path) -> None:
    ohm.configure({"subagentBackend": "none"})
    ohm("run", "finder", "x")
    assert section(ohm("doctor").stdout, "Tasks") == [f"  ✓ sqlite: 1 in {tmp_path}/config/ohm.subagents.tasks.sqlite3"]
    ohm.env["OHM_SUBAGENTS_STORE"] = "memory"
    assert section(ohm("doctor").stdout, "Tasks") == ["  ✓ memory: gone with the process"]


def test_it_lists_backends_and_plugins(ohm) -> None:
    text = ohm("doctor").stdout
    assert "  ✓ none: Deterministic echo of the request; runs nothing." in section(text, "Backends")
    assert "  ✓ stage: Plays a scene." in section(text, "Backends")
    assert "  ✓ stage [loaded · ohm-cli-fixture 1.0]: ohm_backends, ohm_stores" in section(text, "Plugins")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("config", "mark", "exit_code"),
    [
        ({}, "○", 0),
        ({"subagents": {"backends": {"theatre": {"rows": 3}}}}, "✓", 0),
        ({"subagents": {"backends": {"theatre": {}}}}, "✕", 1),
        ({"subagents": {"finder": {"backend": "theatre"}}}, "○", 1),
    ],
)
def test_a_backend_that_nobody_uses_needs_no_options(ohm, config, mark, exit_code) -> None:
    ohm.configure({"subagentBackend": "none", **config})
    done = ohm("doctor")
    (line,) = (one for one in section(done.stdout, "Backends") if "theatre" in one)
    assert line.startswith(f"  {mark} theatre: ")
    assert any(one.startswith("  ✕ finder: ") for one in section(done.stdout, "Subagents")) is ("finder" in str(config))
    assert done.returncode == exit_code


def test_options_of_a_backend_that_nobody_offers_are_a_diagnostic(ohm) -> None:
    path = ohm.configure({"subagentBackend": "none", "subagents": {"backends": {"stage": {}}}})
    assert section(ohm("doctor").stdout, "Diagnostics") == ["  ✓ none"]
    ohm.env["OHM_SUBAGENTS_BLOCK_PLUGINS"] = "stage"
    (line,) = section(ohm("doctor").stdout, "Diagnostics")
    assert line.startswith(f"  ○ {path}:1: no plugin offers the backend 'stage', so its options have no effect. ")


def test_a_wrong_value_is_a_diagnostic_with_its_place(ohm) -> None:
    path = ohm.configure('{\n  "suites": ["task"],\n  "defaultMode": "lazy"\n}')
    done = ohm("doctor")
    assert done.returncode == 0
    assert any(f"{path}:3:3: " in line for line in section(done.stdout, "Diagnostics"))
    assert f"{path}:3:3: " in ohm("run", "finder", "x", "--backend", "none").stderr


def test_plugins_are_listed_with_state_version_and_hooks(ohm) -> None:
    ohm.env["OHM_SUBAGENTS_BLOCK_PLUGINS"] = "stage"
    assert "stage [blocked · ohm-cli-fixture 1.0]\n" in ohm("plugins").stdout


def test_the_configuration_that_holds_is_shown_as_json(ohm) -> None:
    ohm.env["OHM_SUBAGENTS_OUTPUT_MAX_CHARS"] = "77"
    shown = json.loads(ohm("config", "show").stdout)
    assert (shown["subagentBackend"], shown["outputMaxChars"]) == ("none", 77)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("config", "finder", "code"),
    [
        ({"subagents": {"permissions": {"subagents": {"finder": "deny"}}}}, "○ finder: denied by {path}:1", 0),
        ({"features": {"subagents": False}}, "○ finder: off: features.subagents is false ({path}:1)", 0),
        ({"subagentBackend": "nowhere"}, "✕ finder: no plugin offers the backend 'nowhere'. Available: ", 1),
        (
            {"subagentBackend": "stage", "subagents": {"backends": {"stage": {"speed": "sk-1"}}}},
            "✕ finder: {path}:1: 'subagents.backends.stage.speed' is not an option of backend 'stage'.",
            1,
        ),
        (
            {"subagents": {"finder": {"model": "openai/gpt-5"}}},
            "✕ finder: openai/gpt-5, set by subagents.finder.model ({path}:1), needs OPENAI_API_KEY",
            1,
        ),
        ({"subagents": {"finder": {"model": "acme/one"}}}, "✕ finder: no plugin offers the provider of acme/one, ", 1),
        ({"subagents": {"finder": {"tools": "read"}}}, "✕ finder: {path}:1: 'subagents.finder.tools' is 'read'; ", 1),
    ],
)
def test_what_cannot_run_is_not_called_well(ohm, config: dict, finder: str, code: int) -> None:
    path = ohm.configure(config)
    done = ohm("doctor")
    mark, _, why = finder.format(path=path).partition(" finder: ")
    (first,) = (line for line in section(done.stdout, "Subagents") if why in line)  # others are the same as that one
    assert first.startswith((f"  {mark} librarian: {why}", f"  {mark} finder: {why}"))
    assert (done.returncode, "sk-1" in done.stdout) == (code, False)
    (line,) = (line for line in ohm("subagents").stdout.splitlines() if line.startswith("- Finder (finder): "))
    assert "\navailable: no (" in ohm("subagent", "finder").stdout
    assert f"[unavailable: {finder.format(path=path).partition('finder: ')[2]}" in line


def test_a_configuration_that_cannot_be_read_is_a_diagnostic(ohm) -> None:
    path = ohm.configure("{")
    done = ohm("doctor")
    assert done.returncode == 2
    (line,) = section(done.stdout, "Diagnostics")
    assert line.startswith(f"  ✕ Cannot read the configuration {path}: ")


def test_a_plugin_that_failed_is_a_fault(ohm, tmp_path) -> None:
    broken = tmp_path / "broken"
    (broken / "broken-1.0.dist-info").mkdir(parents=True)
    (broken / "broken-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "broken-1.0.dist-info" / "entry_points.txt").write_text("[ohm_subagents]\nbroken = no_such_module\n")
    ohm.env["PYTHONPATH"] += f":{broken}"
    done = ohm("doctor")
    assert done.returncode == 1
    assert "  ✕ broken [failed · broken 1.0]" in section(done.stdout, "Plugins")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("config", "fault"),
    [
        (
            {"subagents": {"permissions": {"default": "alow"}}},
            "'subagents.permissions.default' is 'alow'; it counts",
        ),
        ({"subagents": {"permissions": {"defualt": "deny"}}}, "'subagents.permissions.defualt' is not a key of"),
        (
            {"suites": ["taks"]},
            ":1: no plugin offers the tool suite 'taks'. Did you mean 'task'? Available: ",
        ),
    ],
)
def test_a_typo_that_switches_everything_off_is_a_fault(ohm, config: dict, fault: str) -> None:
    ohm.configure({"subagentBackend": "none", "suites": ["task"], **config})
    done = ohm("doctor")
    (line,) = section(done.stdout, "Diagnostics")
    assert (done.returncode, line.startswith("  ✕ "), fault in line) == (1, True, True)


@pytest.mark.parametrize("folder", ["config/subagents", "home/.pi/agent/agent-profiles"])
def test_a_tool_that_there_is_not_is_named_with_its_profile(ohm, folder: str) -> None:
    ohm.configure({})
    path = ohm.root / folder / "p.md"
    path.parent.mkdir(parents=True)
    summary = "summary: S.\n" if "config" in folder else ""
    path.write_text(f"---\nname: p\n{summary}tools: [read, reed]\n---\nHelp.")
    named = (
        "p: The profile names 'reed', which is no tool of a subagent and is left out. Did you mean 'read'? Available: "
    )
    assert [line for line in section(ohm("doctor").stdout, "Diagnostics") if named in line]
    lines = ohm("subagent", "p").stdout.splitlines()
    at = lines.index("tools: read")
    assert lines[at + 1].startswith("tools left out: The profile names 'reed', which is no tool of a subagent")
    assert lines[at + 2] == f"file: {path}"


def test_what_keeps_every_subagent_from_running_is_told_whole_once(ohm) -> None:
    path = ohm.configure({"subagents": {"budget": {"costUsd": "abc"}}})
    lines = section(ohm("doctor").stdout, "Subagents")
    fault = f"{path}:1:27: 'subagents.budget.costUsd' is 'abc', but has to be a number or a decimal text above 0; "
    assert lines[0].startswith(f"  ✕ librarian: {fault}")
    assert lines[1:] == [f"  ✕ {name}: same as librarian" for name in ("oracle", "finder", "task", "painter")]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"backnd": "x"}, "'suiteOptions.delegate.backnd' is not a known key. Did you mean 'backend'?"),
        ({"nothing": 1}, "'suiteOptions.delegate.nothing' is not a known key. Known here: filesOutsideCwd, backend."),
        ({"backend": 5}, "'suiteOptions.delegate.backend' is 5; allowed: a text."),
    ],
)
def test_a_wrong_option_of_a_suite_is_named_with_its_place(ohm, options: dict, fault: str) -> None:
    path = ohm.configure({"subagentBackend": "none", "suites": ["delegate"], "suiteOptions": {"delegate": options}})
    (line,) = section(ohm("doctor").stdout, "Diagnostics")
    assert line == f"  ✕ {path}:1: tool suite 'delegate' could not be built: {fault}"


def test_a_model_that_is_none_is_named_with_the_variable_that_has_it(ohm) -> None:
    ohm.configure({})
    ohm.env["OHM_MODEL"] = "gpt-5"
    fault = "'OHM_MODEL' is 'gpt-5', but has to be '<provider>/<model>' or "
    assert section(ohm("doctor").stdout, "Subagents")[0].startswith(f"  ✕ librarian: {fault}")
    refused = ohm("run", "finder", "x")
    assert refused.returncode == 2
    assert refused.stderr.count(fault) == 1


def test_a_misspelt_thinking_level_is_a_warning_and_a_name_with_a_colon_is_none(ohm) -> None:
    models = {"finder": {"model": "openrouter/x/y:free"}, "model": "anthropic/claude-sonnet-5-5:hihg"}
    ohm.configure({"subagentBackend": "none", "subagents": models})
    said = section(ohm("doctor").stdout, "Diagnostics")
    assert [line for line in said if "thinking level" in line] == [
        "  ○ 'hihg' of model 'anthropic/claude-sonnet-5-5:hihg' is no thinking level: a model of this whole name "
        "is asked. Did you mean 'high'? The levels are off, minimal, low, medium, high, xhigh."
    ]


def test_a_misspelt_deny_is_a_fault_and_a_run_that_it_was_meant_for_says_so(ohm) -> None:
    ohm.configure({"subagentBackend": "none", "subagents": {"permissions": {"subagents": {"fnder": "deny"}}}})
    checked, ran = ohm("doctor"), ohm("run", "finder", "Where?", "--json")
    assert checked.returncode == 1
    assert "  ✕ " in checked.stdout.partition("Diagnostics:")[2]
    assert "the rule for 'fnder' names no subagent; it denies nothing, and 'finder' may run." in checked.stdout
    assert "Did you mean 'finder'?" in checked.stdout
    assert ran.returncode == 0
    assert ran.stderr.count("Did you mean 'finder'?") == 1


def test_a_tool_of_a_server_that_is_configured_is_known_and_one_of_another_is_not(ohm, tmp_path) -> None:
    ohm.configure({"subagentBackend": "none", "mcpServers": {"calc": {"command": "calc", "env": {"KEY": SECRET}}}})
    profiles = tmp_path / "config" / "subagents"
    profiles.mkdir(parents=True)
    tools = "[mcp__calc__*, mcp__mail__send]"
    (profiles / "clerk.md").write_text(f"---\nname: clerk\ndescription: Works.\ntools: {tools}\n---\n\nWork.\n")

    said = [line for line in section(ohm("doctor").stdout, "Diagnostics") if "clerk" in line]
    assert len(said) == 1
    assert "clerk: The profile names 'mcp__mail__send', which is no tool of a subagent and is left out." in said[0]
    shown = ohm("config", "show").stdout
    assert SECRET not in shown
    assert '"KEY": "***"' in shown


def test_the_echo_is_not_said_to_choose_a_model(ohm) -> None:
    assert "  ✓ finder: none, which echoes the task and runs no model" in section(ohm("doctor").stdout, "Subagents")


def test_a_file_that_cannot_be_read_says_nothing_against_the_store(ohm) -> None:
    ohm.configure("{")
    assert section(ohm("doctor").stdout, "Tasks") == ["  ○ none are kept until the configuration can be read"]
