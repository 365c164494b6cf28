"""`sandboxRules.network`: on or off as a whole, or a list of servers by host and port."""

from __future__ import annotations

import pytest

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC


@pytest.mark.anyio
@pytest.mark.parametrize(
    "network",
    ["pypi.org:443", ["pypi.org"], ["a:0"], ["a:65536"], ["*:443"], ["http://a:80"], [1], [], {"a": 443}, True],
)
async def test_what_names_no_server_by_host_and_port_is_refused_and_the_network_stays_off(network: object) -> None:
    async with Ohm.open(env=HERMETIC, config={"subagents": {"sandboxRules": {"network": network}}}) as ohm:
        (told,) = (f"{one}" for one in ohm.diagnostics if one.subject == "subagents.sandboxRules.network")
        assert ohm.config.subagents.sandbox_rules.network == "off"
    assert "has to be 'off', 'on' or a list of servers, each 'host:port' or '*.host:port'; it is ignored" in told


@pytest.mark.anyio
async def test_servers_are_named_by_host_and_port() -> None:
    network = ["PyPI.org:443", "*.pythonhosted.org:443", "127.0.0.1:8080", "[::1]:80"]
    async with Ohm.open(env=HERMETIC, config={"subagents": {"sandboxRules": {"network": network}}}) as ohm:
        assert ohm.config.subagents.sandbox_rules.network == ("pypi.org:443", *network[1:])
