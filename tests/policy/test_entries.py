"""A misspelt id in ohm.json does not pass unseen."""

from ohm_subagents._config.load import load_config
from ohm_subagents._policy.entries import (
    unmatched_backends,
    unmatched_delegates,
    unmatched_entries,
    unmatched_plugins,
    unmatched_suites,
)
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.result import Err


def entries(loaded) -> tuple[object, ...]:
    return unmatched_entries(loaded, ["finder", "Straße"])


def backends(loaded) -> tuple[object, ...]:
    return unmatched_backends(loaded, ["none", "interactive-shell", "mine"], lambda: ["acp", "ray"])


def told(tmp_path, text: str, asked=entries) -> list[str]:
    path = tmp_path / "ohm.json"
    path.write_text(text)
    loaded = load_config(cwd=tmp_path, config=path, env={})
    assert not isinstance(loaded, Err)
    return [str(one).replace(str(path), "ohm.json") for one in asked(loaded.ok_value)]


def test_settings_of_a_subagent_that_there_is_not_are_named_with_their_place(tmp_path):
    assert told(tmp_path, '{"subagents": {\n"findr": {\n"model": "a/b"}, "x": {"tools": ["read"]}}}') == [
        "ohm.json:3: the settings for 'findr' name no subagent. Did you mean 'finder'? Available: Straße, finder.",
        "ohm.json:3: the settings for 'x' name no subagent. Available: Straße, finder.",
    ]


def test_settings_match_their_subagent_however_the_id_is_spelt(tmp_path):
    assert told(tmp_path, '{"subagents": {" FINDER": {"model": "a/b"}, "STRASSE": {"model": "a/b"}}}') == []


def test_options_of_a_backend_that_there_is_not_are_named_with_their_place(tmp_path):
    text = '{"subagents": {"backends": {\n"interactive-shel": {\n"mode": "json"}, "none": {}, "x": {}}}}'
    assert told(tmp_path, text, backends) == [
        "ohm.json:3: no plugin offers the backend 'interactive-shel', so its options have no effect. "
        "Did you mean 'interactive-shell'? Available: interactive-shell, mine, none.",
        "ohm.json:3: no plugin offers the backend 'x', so its options have no effect. "
        "Available: interactive-shell, mine, none.",
    ]


def test_a_backend_type_that_there_is_not_is_named_with_its_place(tmp_path):
    text = '{"subagents": {"backends": {\n"a": {\n"type": "acpp"}, "mine": {"type": "acp"}, "b": {"type": 7}}}}'
    assert told(tmp_path, text, backends) == [
        "ohm.json:3: no plugin offers the backend type 'acpp', so the options of 'a' have no effect. "
        "Did you mean 'acp'? Available: acp, ray.",
        "ohm.json:3: no plugin offers the backend type '7', so the options of 'b' have no effect. Available: acp, ray.",
    ]


def test_a_backend_that_there_is_not_is_named_with_whom_it_keeps_from_running(tmp_path):
    text = '{"subagentBackend": "Nonne",\n"subagents": {"finder": {"backend": "docker"}, "task": {"backend": "none"}}}'
    assert told(tmp_path, text, backends) == [
        "ohm.json:1: no plugin offers the backend 'Nonne', so no subagent without a backend of its own runs. "
        "Did you mean 'none'? Available: interactive-shell, mine, none.",
        "ohm.json:2: no plugin offers the backend 'docker', so 'finder' does not run. "
        "Available: interactive-shell, mine, none.",
    ]


def suites(loaded) -> tuple[object, ...]:
    return unmatched_suites(loaded, ["single", "sticky"])


def test_options_and_redaction_of_a_suite_that_there_is_not_are_named_with_their_place(tmp_path):
    text = '{"suiteOptions": {\n"stickie": {"timeoutMs": 5}, "single": {}},\n"subagents": {"redact": ["singel"]}}'
    assert told(tmp_path, text, suites) == [
        "ohm.json:2: no plugin offers the tool suite 'stickie', so its options have no effect. "
        "Did you mean 'sticky'? Available: single, sticky.",
        "ohm.json:3: no plugin offers the tool suite 'singel', so the name has no effect. "
        "Did you mean 'single'? Available: single, sticky.",
    ]
    assert told(tmp_path, '{"subagents": {"redact": true}}', suites) == []


def plugins(loaded) -> tuple[object, ...]:
    return unmatched_plugins(loaded, ["echo", "single"], tuple)


def test_a_plugin_that_is_not_installed_is_named_with_the_place_of_its_list(tmp_path):
    assert told(tmp_path, '{"loadPlugins": "echo, singel",\n"blockPlugins": ["x", "single", "x"]}', plugins) == [
        "ohm.json:1: 'loadPlugins' names 'singel', which is not installed. Did you mean 'single'? "
        "Available: echo, single.",
        "ohm.json:2: 'blockPlugins' names 'x', which is not installed. Available: echo, single.",
    ]
    loaded = load_config(cwd=tmp_path, config=None, env={"HOME": str(tmp_path), "OHM_SUBAGENTS_BLOCK_PLUGINS": "x"})
    assert [str(one) for one in plugins(loaded.unwrap())] == [
        "env OHM_SUBAGENTS_BLOCK_PLUGINS: 'blockPlugins' names 'x', which is not installed. Available: echo, single."
    ]


def lead(name: str, *delegate: str) -> Profile:
    return Profile(id=name, name=name, summary="", prompt="", source=f"{name}.md", delegate=delegate)


def test_a_delegate_that_there_is_not_is_named_with_its_place(tmp_path):
    profiles = (lead("lead", "tsak"), lead("finder", "nosuch"))

    def delegates(loaded) -> tuple[object, ...]:
        return unmatched_delegates(loaded, profiles, ["task", "finder", "lead"])

    assert told(tmp_path, '{"subagents": {\n"finder": {\n"delegate": ["Task", "fidner"]}}}', delegates) == [
        "ohm.json:3: 'delegate' of 'finder' names 'fidner', which is no subagent, and grants it nothing. "
        "Did you mean 'finder'? Available: finder, lead, task.",
        "lead.md: 'delegate' of 'lead' names 'tsak', which is no subagent, and grants it nothing. "
        "Did you mean 'task'? Available: finder, lead, task.",
    ]
