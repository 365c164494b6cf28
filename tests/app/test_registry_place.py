"""The place of the registry: beside ohm.json, whatever the variables hold."""

import pytest

from ohm_subagents import Ohm
from ohm_subagents.testing import ScriptedBackend

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("given", ["", "  ", "~", " ~/kept "])
@pytest.mark.parametrize(
    ("store", "name"), [("snapshot", "ohm.subagents.tasks.json"), ("sqlite", "ohm.subagents.tasks.sqlite3")]
)
async def test_the_registry_is_in_the_directory_of_the_configuration(tmp_path, monkeypatch, given, store, name):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    (home / "kept").mkdir(parents=True)
    env = {"HOME": str(home), "PI_CONFIG_DIR": given, "OHM_SUBAGENTS_STORE": store}
    async with Ohm.open(env=env, config={"subagentBackend": "scripted"}, plugins=[ScriptedBackend("done")]) as ohm:
        await ohm.run("finder", "p")

    folder = {"~": home, " ~/kept ": home / "kept"}.get(given, home / ".pi" / "agent")
    assert [path for path in tmp_path.rglob("*") if path.name == name] == [folder / name]
