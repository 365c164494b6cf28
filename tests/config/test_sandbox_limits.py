"""The limits of `sandboxRules`: one that cannot be understood is no missing limit."""

from __future__ import annotations

import pytest

from ohm_subagents import Ohm
from ohm_subagents.contract import Err, Ok
from ohm_subagents.testing import HERMETIC


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ({"memoryMb": "4 GB"}, "sandboxRules.memoryMb' is '4 GB', but has to be a positive integer; it "),
        ({"cpuS": 0, "network": "on"}, "sandboxRules.cpuS' is 0, but has to be a positive integer; it "),
        ({"memory": 4096}, "sandboxRules.memory' is not a known key, and "),
        (4096, "sandboxRules' is 4096, but has to be an object; it "),
    ],
)
async def test_a_limit_that_cannot_be_understood_keeps_every_subagent_from_running(rules: object, fault: str) -> None:
    config = {"subagentBackend": "none", "subagents": {"sandboxRules": rules}}
    async with Ohm.open(env=HERMETIC, config=config) as ohm:
        refused = await ohm.run("finder", "look")
        told = [one for one in ohm.diagnostics if one.severity == "error"]
        network = ohm.config.subagents.sandbox_rules.network
    assert isinstance(refused, Err)
    assert f"'subagents.{fault}keeps every subagent from running until it is corrected." in refused.err_value.message
    assert [f"{one}" for one in told] == [refused.err_value.message]
    assert network == ("on" if isinstance(rules, dict) and "network" in rules else "off")


@pytest.mark.anyio
async def test_limits_that_are_understood_hold() -> None:
    config = {"subagentBackend": "none", "subagents": {"sandboxRules": {"memoryMb": 4096, "cpuS": 600}}}
    async with Ohm.open(env=HERMETIC, config=config) as ohm:
        assert isinstance(await ohm.run("finder", "look"), Ok)
        rules = ohm.config.subagents.sandbox_rules
    assert (rules.memory_mb, rules.cpu_s, rules.processes) == (4096, 600, None)
