"""The recorded loader of the reference, where ours decides alike; `OURS` says where and why not."""

import json
from pathlib import Path

import pytest

from ohm_subagents._config.load import load_config
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.trust import trust_everything
from ohm_subagents.contract.result import Err

CASES = json.loads((Path(__file__).parent / "config_load.json").read_text(encoding="utf-8"))
OURS = {
    "providers file beats project painter": "ohm.providers.json is not read (house 9.10)",
    "extension settings beat every file": "extension settings are not read (house 9.10)",
    "project overrides global": "a project does not choose a backend whose tools are not confined (test_load.py)",
    "allowInternalRouting text": "a project does not let internal subagents in (test_permission_rules.py)",
    "root array ignored": "a root that is not an object is an error: rules must not vanish silently",
    "root null ignored": "a root that is not an object is an error: rules must not vanish silently",
}


def differences(value, default):
    """Return what of a JSON object is not the default."""
    if not (isinstance(value, dict) and isinstance(default, dict)):
        return value
    return {key: differences(one, default.get(key)) for key, one in value.items() if one != default.get(key)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_configuration_is_loaded_as_recorded(case, tmp_path):
    if case["name"] in OURS or "quirks" in case:
        pytest.skip(OURS.get(case["name"], f"pins {case.get('quirks')}, which ours has not"))
    places = {name: tmp_path / name for name in ("cfg", "cwd", "alt")}
    for directory in places.values():
        directory.mkdir()
    (places["cwd"] / ".pi").mkdir()

    def at_home(text: str) -> str:
        for name, directory in places.items():
            text = text.replace(f"<{name}>", str(directory))
        return text

    for name, path in (("global", places["cfg"] / "ohm.json"), ("project", places["cwd"] / ".pi" / "ohm.json")):
        if name in case["files"]:
            content = case["files"][name]
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    env = {name: at_home(value) for name, value in case["env"].items() if value is not None}
    loaded = load_config(cwd=places["cwd"], config=None, env=env, trusts=trust_everything)
    assert not isinstance(loaded, Err), loaded
    assert list(loaded.ok_value.loaded_from) == [at_home(path) for path in case["expect"]["loaded_from"]]
    found = loaded.ok_value.config.model_dump(mode="json", by_alias=True, exclude_none=True)
    for entry in found["subagents"]["profiles"].values():
        assert entry.pop("limits") == entry.pop("budget") == {}
        assert entry.pop("loop") == {"polling": []}
    default = OhmConfig().model_dump(mode="json", by_alias=True, exclude_none=True)
    assert differences(found, default) == case["expect"]["changed_from_defaults"]
