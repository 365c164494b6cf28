"""A third-party distribution, installed by a package installer and found by its entry point."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json
import anyio
from ohm_subagents import Ohm

async def main():
    async with Ohm.open(config={"subagentBackend": "upper"}) as ohm:
        result = await ohm.call(
            "task", {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "hello there"}
        )
        said = [str(diagnostic) for diagnostic in ohm.diagnostics]
        print(json.dumps({"details": result.details, "diagnostics": said}))

anyio.run(main)
"""


@pytest.mark.slow
def test_its_backend_serves_a_task_and_its_broken_twins_cost_one_diagnostic_each(install):
    path = str(install("ohm-example-backend", "ohm-broken-import", "ohm-broken-hook"))
    env = os.environ | {"PYTHONPATH": path, "PI_CONFIG_DIR": "/dev/null", "OHM_SUBAGENTS_STORE": "memory"}
    env["OHM_SUBAGENTS_BLOCK_PLUGINS"] = "local-model"
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env, check=True)
    answer = json.loads(done.stdout)

    assert (answer["details"]["status"], answer["details"]["output"]) == ("succeeded", "HELLO THERE")
    assert answer["details"]["backend"] == "upper"
    broken = [line for line in answer["diagnostics"] if "ohm-broken" in line]
    assert len(broken) == 2
    assert "ohm-broken-import" in broken[0] + broken[1]
    assert "ohm-broken-hook" in broken[0] + broken[1]
