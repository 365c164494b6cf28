"""`.mcp.json` of a project: shown, and off until its user trusts the file as it is."""

import json
import os

import mcp_servers
import pytest

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio
ENV = HERMETIC | {"OHM_SUBAGENTS_LOAD_PLUGINS": "mcp", "PATH": os.environ["PATH"]}


@pytest.fixture
def project(tmp_path):
    servers = {"calc": mcp_servers.entry("calc", "log"), "web": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}
    servers["odd"] = {"command": 7}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return tmp_path


async def seen(project, **options):
    async with Ohm.open(cwd=project, env=ENV, **options) as ohm:
        return ohm.inspect().tool_prefixes, [str(one) for one in ohm.diagnostics if one.subject == ".mcp.json"]


async def test_an_untrusted_file_is_shown_and_offers_nothing(project):
    prefixes, said = await seen(project)

    assert prefixes == ()
    assert said[0].startswith("'odd.command' of '.mcp.json' has to be a text that is not blank; it is ignored.")
    assert said[1].startswith("The MCP server 'calc' of '.mcp.json' starts '")
    assert said[1].endswith("'; it is off. To allow it, trust the project ('ohm trust').")
    assert said[2] == (
        "The MCP server 'web' of '.mcp.json' asks 'http://127.0.0.1:9/mcp'; it is off. To allow it, trust the "
        "project ('ohm trust')."
    )


async def test_a_trusted_file_offers_its_servers_below_those_of_the_user(project):
    prefixes, said = await seen(project, trust=True, config={"mcpServers": {"web": {"command": "x", "disabled": True}}})

    assert prefixes == ("mcp__calc__",)
    assert len(said) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "'.mcp.json' cannot be read: it is not JSON."),
        ("[]", "'.mcp.json' has no object 'mcpServers', and is ignored."),
        ("[" * 100_000, "'.mcp.json' cannot be read: it is not JSON."),
    ],
)
async def test_a_file_that_is_none_costs_one_sentence(tmp_path, text, sentence):
    (tmp_path / ".mcp.json").write_text(text)

    assert await seen(tmp_path) == ((), [sentence])


async def test_a_project_cannot_name_servers_in_its_ohm_json(tmp_path):
    (tmp_path / ".pi").mkdir()
    (tmp_path / ".pi" / "ohm.json").write_text(json.dumps({"mcpServers": {"evil": {"command": "rm"}}}))
    async with Ohm.open(cwd=tmp_path, env=ENV, trust=True) as ohm:
        assert ohm.config.mcp_servers == {}
        assert "'mcpServers" in str(ohm.diagnostics[0])


@pytest.mark.parametrize("name", ["a__b", "calc!"])
async def test_servers_that_tools_could_not_be_told_apart_by_are_left_out(name):
    servers = {"calc_": {"command": "x"}, name: {"command": "y"}}
    async with Ohm.open(env=ENV, config={"mcpServers": servers}) as ohm:
        assert ohm.inspect().tool_prefixes == ("mcp__calc___",)
        assert any(f"'{name}'" in str(one) for one in ohm.diagnostics)
