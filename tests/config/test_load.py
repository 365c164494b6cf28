"""ohm.json and the environment, merged; what is wrong is named and never silently obeyed."""

import json
import os
from pathlib import Path
from types import MappingProxyType

import pytest

from ohm_subagents._config.load import load_config
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.subagents import SubagentEntry
from ohm_subagents._config.tool_rules import ToolRules
from ohm_subagents._config.trust import trust_everything, trust_nothing
from ohm_subagents._config.values import UnclearModel
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.limits import Limits
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.result import Err


def given(config, **env):
    loaded = load_config(cwd=Path("/nowhere"), config=config, env=env)
    assert not isinstance(loaded, Err), loaded
    return loaded.ok_value


def test_without_files_everything_is_the_default(home):
    loaded = home.load()
    assert loaded.config == OhmConfig()
    assert (loaded.diagnostics, loaded.loaded_from, loaded.origin("outputMaxChars")) == ((), (), "default")


def test_a_later_layer_wins_key_by_key(home):
    home.write(
        user='{"subagentBackend": "none", "defaultMode": "rush", "features": {"handoff": false}}',
        project='{\n"subagentBackend": "interactive-sdk", "features": {"painterImagegen": false}}',
    )
    loaded = home.load(OHM_SUBAGENTS_OUTPUT_MAX_CHARS="50")
    config = loaded.config
    assert (config.subagent_backend, config.default_mode, config.output_max_chars) == ("interactive-sdk", "rush", 50)
    assert (config.features.handoff, config.features.painter_imagegen) == (False, False)
    assert loaded.origin("subagentBackend") == f"{home.cwd}/.pi/ohm.json:2"
    assert loaded.origin("defaultMode") == f"{home.user}/ohm.json:1"
    assert loaded.origin("outputMaxChars") == "env OHM_SUBAGENTS_OUTPUT_MAX_CHARS"


def test_ohm_json_may_have_comments_trailing_commas_and_a_byte_order_mark(home):
    home.write(project='\ufeff{\n  // which engine\n  "subagentBackend": "none",\n}\n')
    loaded = home.load()
    assert loaded.config.subagent_backend == "none"
    assert loaded.diagnostics == ()


def test_a_file_may_name_its_schema_for_an_editor(home):
    home.write(user='{"$schema": "./ohm.schema.json", "subagentBackend": "none"}')
    loaded = home.load()
    assert (loaded.config.subagent_backend, loaded.diagnostics) == ("none", ())


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            '{\n  "subagents": {\n    "permissions": { "default": "deny" \n',
            "expecting ',' delimiter at line 4, column 1",
        ),
        ('{\n  "a": 1\n  "b": 2\n}', "expecting ',' delimiter at line 3, column 3"),
        ("", "the file is empty"),
        ("[]", "the text has to be an object in braces at line 1, column 1"),
        ("null", "the text has to be an object in braces at line 1, column 1"),
    ],
)
@pytest.mark.parametrize("which", ["user", "project"])
def test_a_file_that_is_not_a_jsonc_object_is_an_error_with_line_and_column(home, which, text, what):
    home.write(**{which: text})
    error = home.fail()
    path = home.user / "ohm.json" if which == "user" else home.cwd / ".pi" / "ohm.json"
    assert error.code == ErrorCode.CONFIG_INVALID
    assert error.message == f"Cannot read the configuration {path}: {what}."


def test_a_file_that_is_not_utf8_is_an_error_with_its_line(home):
    (home.user / "ohm.json").write_bytes(b'{\n"a": "\xff"}')
    assert home.fail().message.endswith("it is not UTF-8 text at line 2, column 7.")


@pytest.mark.parametrize(
    ("text", "load", "block", "told"),
    [
        ('{"loadPlugins": "mine"}', ("mine",), (), 0),
        ('{"blockPlugins": "evil"}', None, ("evil",), 0),
        ('{"loadPlugins": "none"}', (), (), 0),
        ('{"loadPlugins": " b, a,"}', ("b", "a"), (), 0),
        ('{"loadPlugins": ["a", " NONE "], "blockPlugins": "none"}', ("a",), (), 0),
        ('{"blockPlugins": "a, review"}', None, ("a", "review"), 0),
        ('{"blockPlugins": ["a,review", "b"]}', None, ("a", "review", "b"), 0),
        ('{"blockPlugins": ["a", " "]}', None, ("a",), 1),
        ('{"loadPlugins": 3}', (), (), 1),
        ('{"loadPlugins": {"mine": true}}', (), (), 1),
        ('{"blockPlugins": {"evil": true}}', (), (), 1),
        ('{"blockPlugins": ["evil"], "blockPlugins": []}', (), (), 2),
        ('{"loadPlugins": [3]}', (), (), 1),
        ('{"loadPlugins": null, "blockPlugins": []}', None, (), 0),
    ],
)
def test_a_list_of_plugins_is_read_with_commas_and_loads_none_if_it_cannot_be_understood(home, text, load, block, told):
    home.write(user=text)
    loaded = home.load()
    assert (loaded.config.load_plugins, loaded.config.block_plugins) == (load, block)
    assert len(loaded.diagnostics) == told


@pytest.mark.parametrize(
    ("load", "block", "allowed"),
    [
        (None, "", "abc"),
        ("none", "", ""),
        ("b, a", "", "ab"),
        (None, "b", "ac"),
        (None, "none", "abc"),
        ("a,b", "b,c", "a"),
    ],
)
def test_a_plugin_is_allowed_unless_it_is_blocked_or_others_alone_are_named(home, load, block, allowed):
    home.write(user=json.dumps({"loadPlugins": load, "blockPlugins": [block] if block else []}))
    config = home.load().config
    assert "".join(filter(config.allows_plugin, "abc")) == allowed
    assert "".join(filter(config.allows_own_plugin, "abc")) == "".join(sorted({*"abc"} - {*config.block_plugins}))


def test_a_file_that_is_a_pipe_is_an_error_and_not_waited_for(home):
    os.mkfifo(home.user / "ohm.json")
    assert home.fail().message == f"Cannot read the configuration {home.user}/ohm.json: it is not a regular file."


def test_a_file_that_cannot_be_read_is_an_error(home):
    (home.user / "ohm.json").mkdir()
    assert home.fail().message == f"Cannot read the configuration {home.user}/ohm.json: is a directory."


def test_a_project_whose_pi_is_a_file_has_no_ohm_json(home):
    (home.cwd / ".pi").write_text("not a directory")
    assert home.load().diagnostics == ()


def test_one_file_that_is_both_the_users_and_the_projects_is_read_once(home):
    home.write(project='{"subagents": {"permissions": {"default": "deny", "subagents": {"finder": "allow"}}}}')
    loaded = home.load(PI_CONFIG_DIR=str(home.cwd / ".pi"))
    assert loaded.loaded_from == (f"{home.cwd}/.pi/ohm.json",)
    assert loaded.config.subagents.permissions.decision("finder").verdict == "allow"


WRONG = [
    (
        '{"defaultMode": "quick"}',
        "'defaultMode' is 'quick', but has to be one of 'rush', 'smart' or 'deep'; it is ignored.",
    ),
    ('{"defaultMode": null}', "'defaultMode' is null, but has to be one of 'rush', 'smart' or 'deep'; it is ignored."),
    ('{"outputMaxChars": 0}', "'outputMaxChars' is 0, but has to be a positive integer; it is ignored."),
    ('{"outputMaxChars": "9"}', "'outputMaxChars' is '9', but has to be a positive integer; it is ignored."),
    ('{"outputMaxChars": true}', "'outputMaxChars' is true, but has to be a positive integer; it is ignored."),
    ('{"outputMaxChars": 1.5}', "'outputMaxChars' is 1.5, but has to be a positive integer; it is ignored."),
    ('{"outputMaxChars": 1e300}', "'outputMaxChars' is 1e+300, but has to be a positive integer; it is ignored."),
    ('{"subagents": [1]}', "'subagents' is [1], but has to be an object; it is ignored."),
    ('{"suites": "task"}', "'suites' is 'task', but has to be a list; it is ignored."),
    ('{"suites": ["task", 3]}', "'suites.1' is 3, but has to be a text that is not blank; it is ignored."),
    ('{"subagentBackend": " "}', "'subagentBackend' is ' ', but has to be a text that is not blank; it is ignored."),
    (
        '{"subagents": {"backends": {"none": 3}}}',
        "'subagents.backends.none' is 3, but has to be an object; it is ignored.",
    ),
    (
        '{"subagents": {"finder": {"limits": {"softMs": -1}}}}',
        "'subagents.finder.limits.softMs' is -1, but has to be a positive integer; it is ignored.",
    ),
    ('{"outputMaxChar": 9}', "'outputMaxChar' is not a known key, and is ignored. Did you mean 'outputMaxChars'?"),
    (
        '{"output_max_chars": 9}',
        "'output_max_chars' is not a known key, and is ignored. Did you mean 'outputMaxChars'?",
    ),
    (
        '{"subagents": {"finder": {"modle": "a/b"}}}',
        "'subagents.finder.modle' is not a known key, and is ignored. Did you mean 'model'?",
    ),
    (
        '{"providers": {"acme": {"baseUrl": "http://x", "models": [{"id": "m", "thinking": true}]}}}',
        "'providers.acme.models.0.thinking' is not a known key, and is ignored. "
        "Known here: contextWindow, id, supportsImages, supportsThinking.",
    ),
    (
        '{"subagents": {"maxRuning": 3}}',
        "'subagents.maxRuning' is not known, and is ignored. Did you mean 'maxRunning'? For a subagent ",
    ),
    (
        '{"subagents": {"profiles": {"Permissions": {"model": "a/b"}}}}',
        "'subagents.profiles.Permissions' is a reserved key and cannot be a subagent; it is ignored. "
        "The setting is 'subagents.permissions'.",
    ),
    (
        '{"subagents": {"taskmaxconcurrency": 4}}',
        "'subagents.taskmaxconcurrency' is a reserved key and cannot be a subagent; it is ignored. "
        "The setting is 'subagents.taskMaxConcurrency'.",
    ),
    (
        '{"subagents": {"backend": {"http": {"url": "x"}}}}',
        "'subagents.backend' is not known, and is ignored. Did you mean 'subagents.backends'? A subagent of that name "
        "is configured as 'subagents.profiles.backend'.",
    ),
    (
        '{"subagents": {"Profile": {"finder": {}}}}',
        "'subagents.Profile' is not known, and is ignored. Did you mean 'subagents.profiles'? ",
    ),
    ('{"model": "a/b"}', "'model' is not a known key, and is ignored. Did you mean 'subagents.model'?"),
    ('{"agentFiles": true}', "'agentFiles' is not a known key, and is ignored. Did you mean 'subagents.agentFiles'?"),
    ('{"enabled": true}', "'enabled' is not a known key, and is ignored. `ohm config schema` shows what is known."),
    ('{"costUsd": 1}', "'costUsd' is not a known key, and is ignored. Did you mean 'subagents.budget.costUsd'?"),
    ('{"subagents": {"suites": ["task"]}}', "'subagents.suites' is not known, and is ignored. Did you mean 'suites'?"),
    ('{"subagents": {" ": {}}}', "'subagents. ' names no subagent; it is ignored."),
    (
        '{"suites": [], "suites": ["todos"]}',
        "'suites' is given twice; objects are merged, of other values the last one counts.",
    ),
    ('{"providers": {"acme": {}}}', "'providers.acme' lacks 'baseUrl'; it is ignored."),
    (
        '{"providers": {"acme": {"baseUrl": "http://x", "models": [{}]}}}',
        "'providers.acme.models.0' lacks 'id'; it is ignored.",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_what_is_wrong_is_ignored_and_named_with_file_line_key_value_and_what_is_allowed(home, text, sentence):
    home.write(user="// first line\n" + text)
    loaded = home.load()
    (told,) = home.told(loaded)
    assert told.startswith(f"~/ohm.json:2: {sentence}")
    assert loaded.loaded_from == (f"{home.user}/ohm.json",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"subagentBackand": 1}', "1:2: 'subagentBackand' is not a known key, and is ignored. Did you mean "),
        (
            '{\n  "zzz": 1, "debug": 7}',
            "2:3: 'zzz' is not a known key, and is ignored. `ohm config schema` shows what ",
        ),
        ('{\n  "debug": 7}', "2:3: 'debug' is 7, but has to be "),
        ('{"suites": ["task",\n  3]}', "2:3: 'suites.1' is 3, but has to be "),
        ('{"subagents": {\n\t"finder": {"mdel": 1}}}', "2:13: 'subagents.finder.mdel' is not a known key"),
        ('{"subagents": {"x": 1}}', "1:16: 'subagents.x' is not known, and is ignored. `ohm config schema` shows "),
    ],
)
def test_what_is_wrong_is_told_with_line_and_column_and_no_wall_of_keys(home, text, told):
    home.write(user=text)
    first = home.placed(home.load())[0]
    assert first.startswith(f"~/ohm.json:{told}")
    assert len(first) < 200


def test_a_wrong_value_leaves_the_value_of_the_layer_below(home):
    home.write(
        user='{"outputMaxChars": 100, "defaultMode": "rush"}', project='{"outputMaxChars": -1, "defaultMode": 3}'
    )
    loaded = home.load(OHM_SUBAGENTS_OUTPUT_MAX_CHARS="many")
    assert (loaded.config.output_max_chars, loaded.config.default_mode) == (100, "rush")
    assert len(loaded.diagnostics) == 3


def test_all_wrong_values_are_named_in_reading_order(home):
    home.write(user='{\n"x": 1,\n"suites": [1, 2, "task"],\n"defaultMode": 3}', project='{"y": 1}')
    told = [line.partition(" ")[0] for line in home.told(home.load(OHM_SUBAGENTS_UI_MODE="huge"))]
    assert told == [
        "~/ohm.json:2:",
        "~/ohm.json:3:",
        "~/ohm.json:3:",
        "~/ohm.json:4:",
        ".pi/ohm.json:1:",
        "'OHM_SUBAGENTS_UI_MODE'",
    ]
    assert home.load().config.suites == ("task",)


def test_a_provider_with_a_wrong_address_is_left_out(home):
    home.write(user='{"providers": {\n"Acme": {"baseUrl": "ftp://x"}}}')
    loaded = home.load()
    assert loaded.config.providers == {}
    assert home.told(loaded) == [
        "~/ohm.json:2: 'providers.Acme.baseUrl' is 'ftp://x', but has to be an address that begins with "
        "http:// or https://; it is ignored.",
        "~/ohm.json:2: 'providers.Acme' lacks 'baseUrl'; it is ignored.",
    ]


def test_a_key_pasted_where_its_variable_belongs_is_never_shown(home):
    home.write(user='{"providers": {"acme": {"baseUrl": "http://x", "apiKeyEnv": "sk-live-123"}}}')
    loaded = home.load()
    assert "sk-live" not in str(loaded.diagnostics)
    assert home.told(loaded) == [
        "~/ohm.json:1: 'providers.acme.apiKeyEnv' has to be the name of an environment variable, never a key itself; "
        "it is ignored."
    ]
    home.write(user='{"providers": {"acme": {"baseUrl": "http://x", "apiKey": "sk-live-123"}}}')
    assert "sk-live" not in str(home.load().diagnostics)


def test_a_provider_has_an_address_a_key_variable_and_models(home):
    home.write(
        user="""{"providers": {"Acme": {
            "baseUrl": "https://acme.test/v1", "apiKeyEnv": "ACME_KEY",
            "models": ["small", {"id": "big", "supportsThinking": true, "contextWindow": 1e5}]}}}""",
    )
    loaded = home.load()
    assert loaded.diagnostics == ()
    provider = loaded.config.providers["acme"]
    assert (provider.base_url, provider.api_key_env) == ("https://acme.test/v1", "ACME_KEY")
    assert [(m.id, m.supports_thinking, m.context_window) for m in provider.models] == [
        ("small", False, None),
        ("big", True, 100_000),
    ]


def test_a_subagents_entry_has_a_long_and_a_short_form_and_the_short_one_wins(home):
    home.write(
        user='{"subagents": {"finder": {"model": "a/b", "backend": "none"}}}',
        project="""{"subagents": {
            "profiles": {"Finder": {"model": "c/d", "limits": {"softMs": 5}}, "oracle": {"model": "E/f:HIGH"}},
            " FINDER ": {"model": "g/h", "tools": ["read"]}}}""",
    )
    loaded = home.load()
    assert loaded.diagnostics == ()
    finder = loaded.config.subagents.entry(" Finder")
    assert (finder.model, finder.backend) == (ModelPattern(provider="g", model="h"), "none")
    assert finder.tools == ToolRules(at_most=("read",), source=f"{home.cwd}/.pi/ohm.json:3")
    assert [one.limits for one in finder.sources] == [Limits(), Limits(soft_ms=5)]
    assert loaded.config.subagents.entry("oracle").model == ModelPattern(provider="e", model="f", thinking="high")
    assert loaded.config.subagents.entry("task") == SubagentEntry()
    assert loaded.origin("subagents.profiles.finder.model") == f"{home.cwd}/.pi/ohm.json:3"
    assert loaded.origin("subagents.profiles.finder.tools") == f"{home.cwd}/.pi/ohm.json:3"
    assert loaded.origin("subagents.profiles.finder.backend") == f"{home.user}/ohm.json:1"


UNCLEAR_MODELS = ['"gpt"', '"/x"', '"a/"', "5", "[]", '""', "{}"]


@pytest.mark.parametrize("value", UNCLEAR_MODELS)
def test_what_is_no_model_lets_no_other_one_run_and_is_told(home, value):
    home.write(
        user='{"subagents": {"model": "a/b", "finder": {"model": "a/c"}}}',
        project=f'{{"subagents": {{\n"Finder": {{"model": {value}}}}}}}',
    )
    loaded = home.load()
    assert isinstance(loaded.config.subagents.entry("finder").model, UnclearModel)
    assert str(loaded.config.subagents.model) == "a/b"
    (told,) = loaded.diagnostics
    assert (told.severity, told.line) == ("error", 2)
    assert told.message.startswith("'subagents.Finder.model' is ")
    assert told.message.endswith("it keeps the subagent from running until corrected.")


def test_a_model_that_a_later_file_names_makes_good_what_was_none(home):
    home.write(user='{"subagents": {"model": "gpt"}}', project='{"subagents": {"model": "a/b"}}')
    loaded = home.load()
    assert str(loaded.config.subagents.model) == "a/b"
    assert len(loaded.diagnostics) == 1


def test_null_resets_what_a_lower_layer_chose(home):
    home.write(user='{"subagents": {"model": "a/b"}}', project='{"subagents": {"model": null}}')
    loaded = home.load()
    assert loaded.config.subagents.model is None
    assert loaded.diagnostics == ()


@pytest.mark.parametrize(
    ("user", "project", "on"),
    [
        ("false", "true", False),
        ('"off"', '"yes"', False),
        ("true", "false", False),
        ("true", "true", True),
        ("null", "true", False),
        ("0", "true", False),
    ],
)
def test_a_project_turns_a_feature_off_and_never_on(home, user, project, on):
    home.write(user=f'{{"features": {{"subagents": {user}}}}}', project=f'{{"features": {{\n"subagents": {project}}}}}')
    assert home.load().config.features.subagents is on


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_project_forbids_that_work_lands_by_itself_and_never_allows_it(home, is_trusted):
    home.write(
        user='{"subagents": {"finder": {"land": "clean"}}}',
        project='{"subagents": {"land": "clean", "finder": {"land": "never"}, "oracle": {"land": "clean"}}}',
    )
    loaded = home.load(trusts=trust_everything if is_trusted else trust_nothing)
    subagents = loaded.config.subagents
    assert (subagents.land, subagents.entry("finder").land, subagents.entry("oracle").land) == (None, "never", None)
    told = [line for line in home.told(loaded) if "land" in line]
    assert [line.rpartition(": ")[2] for line in told] == ["a project's file may only say 'never'."] * 2


def test_a_feature_that_stays_off_is_named_with_the_file_that_says_so(home):
    home.write(user='{"features": {"subagents": false}}', project='{"features": {\n"subagents": true}}')
    loaded = home.load()
    assert home.told(loaded) == [
        ".pi/ohm.json:2: 'features.subagents' is true, which has no effect: ~/ohm.json:1 says false."
    ]
    assert loaded.origin("features.subagents") == f"{home.user}/ohm.json:1"


def test_a_project_cannot_choose_the_plugins(home):
    home.write(user='{"blockPlugins": ["a"]}', project='{"blockPlugins": [], "loadPlugins": ["evil"]}')
    loaded = home.load()
    assert (loaded.config.block_plugins, loaded.config.load_plugins) == (("a",), None)
    assert all("cannot be set by a project" in line for line in home.told(loaded))
    assert len(loaded.diagnostics) == 2


def test_a_project_cannot_send_a_key_to_an_address_of_its_choice(home):
    home.write(
        user='{"providers": {"acme": {"baseUrl": "https://acme.test/v1", "apiKeyEnv": "ACME_KEY"}}}',
        project='{"providers": {"acme": {"baseUrl": "https://evil.test"}}}',
    )
    loaded = home.load()
    assert loaded.config.providers["acme"].base_url == "https://acme.test/v1"
    assert home.told(loaded) == [
        ".pi/ohm.json:1: 'providers' cannot be set by a project, and is ignored; set it in the user's file."
    ]


def test_a_project_cannot_name_a_command_to_run(home):
    home.write(
        user='{"subagents": {"backends": {"interactive-shell": {"graceMs": 500}}}}',
        project='{"subagents": {"taskMaxConcurrency": 2, "backends": {"interactive-shell": {"command": ["./evil"]}}}}',
    )
    loaded = home.load()
    assert loaded.config.subagents.backends == {"interactive-shell": {"graceMs": 500}}
    assert loaded.config.subagents.task_max_concurrency == 2
    assert home.told(loaded) == [
        ".pi/ohm.json:1: 'subagents.backends' cannot be set by a project, and is ignored; set it in the user's file."
    ]


def test_a_project_cannot_choose_a_backend_whose_tools_are_not_confined(home):
    home.write(
        user='{"subagentBackend": "none", "subagents": {"oracle": {"backend": "claude"}, "task": {"model": "a/b"}}}',
        project='{"subagentBackend": "interactive-shell",\n"subagents": {"Finder": {"backend": "codex"},\n'
        '"oracle": {"backend": "claude"}, "librarian": {"backend": "interactive-sdk"},\n'
        '"task": {"backend": "interactive-shell", "model": "a/c"}}}',
    )
    loaded = home.load()
    entry = loaded.config.subagents.entry
    assert loaded.config.subagent_backend == "none"
    assert loaded.origin("subagentBackend") == f"{home.user}/ohm.json:1"
    backends = [entry(name).backend for name in ("finder", "oracle", "librarian", "task")]
    assert backends == [None, "claude", "interactive-sdk", None]
    assert str(entry("task").model) == "a/c"
    why = (
        "which has no effect: a project chooses none, interactive-sdk once it is trusted, and what the user has "
        "chosen. To choose it, set it in the user's file."
    )
    assert home.told(loaded) == [
        f".pi/ohm.json:1: 'subagentBackend' is 'interactive-shell', {why}",
        f".pi/ohm.json:2: 'subagents.Finder.backend' is 'codex', {why}",
        f".pi/ohm.json:4: 'subagents.task.backend' is 'interactive-shell', {why}",
    ]


MOVES = {
    "the general one": ({"subagentBackend": "docker"}, {"subagentBackend": "interactive-sdk"}),
    "one of a subagent": ({"subagents": {"oracle": {"backend": "docker"}}}, {"backend": "interactive-sdk"}),
    "one that another file gives": ({}, {"backend": "interactive-sdk"}),
    "one that is taken back": ({"subagents": {"oracle": {"backend": "docker"}}}, {"backend": None}),
    "from none": ({"subagentBackend": "none"}, {"subagentBackend": "interactive-sdk"}),
    "of a suite": ({"suiteOptions": {"ops": {"backend": "docker"}}}, {"suiteOptions": {"ops": {"backend": "x"}}}),
    "of agents": ({"suiteOptions": {"delegate": {"backend": "d"}}}, {"suiteOptions": {"delegate": {"backend": "x"}}}),
}


@pytest.mark.parametrize("kind", MOVES)
def test_a_project_that_is_not_trusted_changes_no_backend(home, kind):
    users, projects = MOVES[kind]
    if "backend" in projects:
        projects = {"subagents": {"Oracle": projects}}
    home.write(user=json.dumps(users), project=json.dumps(projects))
    loaded = home.load(trusts=trust_nothing)
    (home.cwd / ".pi" / "ohm.json").unlink()
    said, stands = (
        (one.config.subagent_backend, one.config.subagents.entry("oracle").backend, one.config.suite_options)
        for one in (loaded, home.load())
    )
    assert said == stands
    (told,) = loaded.diagnostics
    assert "has no effect" in told.message or "cannot be set by a project" in told.message


@pytest.mark.parametrize("is_trusted", [True, False])
def test_any_project_may_choose_to_have_no_backend(home, is_trusted):
    home.write(
        user='{"subagentBackend": "docker", "subagents": {"oracle": {"backend": "docker"}}}',
        project='{"subagentBackend": "none", "subagents": {"oracle": {"backend": "none"}}}',
    )
    loaded = home.load(trusts=trust_everything if is_trusted else trust_nothing)
    assert (loaded.config.subagent_backend, loaded.config.subagents.entry("oracle").backend) == ("none", "none")
    assert loaded.diagnostics == ()


def test_a_project_may_choose_the_backend_that_the_user_has_chosen(home):
    home.write(user='{"subagentBackend": "claude"}', project='{"subagentBackend": "claude"}')
    loaded = home.load()
    assert (loaded.config.subagent_backend, loaded.diagnostics) == ("claude", ())


@pytest.mark.parametrize(
    ("user", "project", "is_on", "said"),
    [
        ("{}", "true", False, ["the default is false"]),
        ('{"sdkFallbackToCli": false}', "true", False, ["~/ohm.json:1 says false"]),
        ('{"sdkFallbackToCli": true}', "true", True, []),
        ('{"sdkFallbackToCli": true}', "false", False, []),
    ],
)
def test_a_project_cannot_turn_the_fallback_to_the_cli_on(home, user, project, is_on, said):
    home.write(user=user, project=f'{{"sdkFallbackToCli": {project}}}')
    loaded = home.load()
    assert loaded.config.sdk_fallback_to_cli is is_on
    assert home.told(loaded) == [
        f".pi/ohm.json:1: 'sdkFallbackToCli' is true, which has no effect: {why}." for why in said
    ]


def test_a_project_cannot_decide_what_becomes_of_the_users_tasks(home):
    store = '{"store": "memory", "storeSync": "full", "taskRetentionMs": 1, "taskMaxConcurrency": 2}'
    suite = '"suiteOptions": {"delegate": {}, "sticky": {}}'
    home.write(
        user='{"taskMaxEntries": 50}',
        project=f'{{"taskMaxEntries": 1, "taskMaxExpiredEntries": 1, "subagents": {store}, {suite}}}',
    )
    loaded = home.load()
    config = loaded.config
    assert (config.task_max_entries, config.task_max_expired_entries) == (50, 500)
    subagents = config.subagents
    assert (subagents.store, subagents.store_sync, subagents.task_retention_ms) == ("sqlite", "normal", 86_400_000)
    assert subagents.task_max_concurrency == 2
    names = [
        "taskMaxEntries",
        "taskMaxExpiredEntries",
        "subagents.store",
        "subagents.storeSync",
        "subagents.taskRetentionMs",
        "suiteOptions.delegate",
        "suiteOptions.sticky",
    ]
    assert home.told(loaded) == [
        f".pi/ohm.json:1: '{name}' cannot be set by a project, and is ignored; set it in the user's file."
        for name in names
    ]
    assert loaded.origin("subagents.store") == "default"


def test_a_mapping_replaces_both_files_but_not_the_environment(home):
    home.write(user='{"defaultMode": "deep"}', project="not JSON at all")
    loaded = load_config(cwd=home.cwd, config={"subagentBackend": "none"}, env=home.env(OHM_DEBUG="1"))
    assert not isinstance(loaded, Err)
    config = loaded.ok_value.config
    assert (config.default_mode, config.subagent_backend, config.debug) == ("smart", "none", True)
    assert loaded.ok_value.loaded_from == ("config",)
    assert loaded.ok_value.origin("subagentBackend") == "config"


def test_a_mapping_is_checked_like_a_file():
    loaded = given({"defaultMode": "quick", "subagents": {" Finder ": {"model": 3}}})
    assert [str(one).partition(" is ")[0] for one in loaded.diagnostics] == [
        "config: 'subagents. Finder .model'",
        "config: 'defaultMode'",
    ]


def test_a_mapping_changed_later_changes_nothing():
    options = {"url": "a"}
    mapping = MappingProxyType({"subagents": {"backends": {"http": options}}})
    loaded = given(mapping)
    options["url"] = "b"
    assert loaded.config.subagents.backends == {"http": {"url": "a"}}


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, b"x"])
def test_a_mapping_that_is_not_json_is_an_error(value):
    loaded = load_config(cwd=Path("/nowhere"), config={"suites": value}, env={})
    assert isinstance(loaded, Err)
    assert loaded.err_value.code == ErrorCode.CONFIG_INVALID
    assert loaded.err_value.message.startswith("Cannot read the configuration `config`: it is not JSON")


def test_a_path_replaces_both_files(home, tmp_path):
    home.write(user='{"defaultMode": "deep"}')
    own = tmp_path / "own.jsonc"
    own.write_text('{"subagentBackend": "none", /* mine */}')
    loaded = load_config(cwd=home.cwd, config=own, env=home.env())
    assert not isinstance(loaded, Err)
    assert (loaded.ok_value.config.subagent_backend, loaded.ok_value.config.default_mode) == ("none", "smart")
    assert loaded.ok_value.loaded_from == (str(own),)


def test_a_path_that_does_not_exist_is_an_error(tmp_path):
    loaded = load_config(cwd=tmp_path, config=tmp_path / "gone.json", env={})
    assert isinstance(loaded, Err)
    assert loaded.err_value.message == f"The configuration file '{tmp_path}/gone.json' does not exist."


def test_the_configuration_is_a_printable_immutable_value(home):
    home.write(user='{"subagents": {"finder": {"model": "A/b:low"}, "permissions": {"subagents": {"task": "deny"}}}}')
    config = home.load().config
    with pytest.raises(ValueError, match="frozen"):
        config.default_mode = "deep"
    written = json.loads(json.dumps(config.model_dump(mode="json", by_alias=True)))
    assert written["subagents"]["profiles"]["finder"]["model"] == "a/b:low"
    assert written["subagents"]["permissions"] == {
        "default": "allow",
        "subagents": {"task": "deny"},
        "allowInternalRouting": False,
    }
    assert given(written).config == given(written).config
    assert given(written).diagnostics == ()


def test_features_are_flags_and_a_flag_that_does_not_exist_is_off():
    features = given({"features": {"painterImagegen": " Off ", "handoff": "enabled"}}).config.features
    assert (features.is_on("painterImagegen"), features.is_on("handoff"), features.is_on("teleport")) == (
        False,
        True,
        False,
    )
