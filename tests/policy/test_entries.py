"""A misspelt id in ohm.json does not pass unseen."""

from ohm_subagents._config.load import load_config
from ohm_subagents._policy.entries import unmatched_entries
from ohm_subagents.contract.result import Err


def told(tmp_path, text: str) -> list[str]:
    path = tmp_path / "ohm.json"
    path.write_text(text)
    loaded = load_config(cwd=tmp_path, config=path, env={})
    assert not isinstance(loaded, Err)
    found = unmatched_entries(loaded.ok_value, ["finder", "Straße"])
    return [str(one).replace(str(path), "ohm.json") for one in found]


def test_settings_of_a_subagent_that_there_is_not_are_named_with_their_place(tmp_path):
    assert told(tmp_path, '{"subagents": {\n"findr": {\n"model": "a/b"}, "x": {"tools": ["read"]}}}') == [
        "ohm.json:3: the settings for 'findr' name no subagent. Did you mean 'finder'? Available: Straße, finder.",
        "ohm.json:3: the settings for 'x' name no subagent. Available: Straße, finder.",
    ]


def test_settings_match_their_subagent_however_the_id_is_spelt(tmp_path):
    assert told(tmp_path, '{"subagents": {" FINDER": {"model": "a/b"}, "STRASSE": {"model": "a/b"}}}') == []
