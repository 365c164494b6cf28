"""`sandboxRules.network`: on or off as a whole, because no mechanism keeps a program to hosts or ports."""

from __future__ import annotations

import pytest

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC


@pytest.mark.anyio
@pytest.mark.parametrize("network", ["pypi.org:443", ["pypi.org:443"], {"allow": ["pypi.org"]}, True])
async def test_a_network_of_some_hosts_and_ports_is_refused_and_stays_off(network: object) -> None:
    async with Ohm.open(env=HERMETIC, config={"subagents": {"sandboxRules": {"network": network}}}) as ohm:
        (told,) = (f"{one}" for one in ohm.diagnostics if one.subject == "subagents.sandboxRules.network")
        assert ohm.config.subagents.sandbox_rules.network == "off"
    assert "has to be 'off' or 'on': no host and no port can be allowed by itself; it is ignored" in told
