"""A program that is killed while its subagent works: `python real_pi_host.py <cwd>`, the configuration on its input."""

import json
import sys

import anyio

from ohm_subagents import Ohm


async def main(cwd, config):
    async with Ohm.open(cwd=cwd, config=config) as ohm:
        await ohm.run("task", "go")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], json.load(sys.stdin))
