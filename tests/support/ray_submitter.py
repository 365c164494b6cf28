"""A program that starts tasks at the runners of a cluster, says their ids, and goes on until it is killed."""

import json
import os
import sys

import anyio

import ohm_ray
from ohm_subagents import Budget, Ohm
from ohm_subagents.contract import TextDelta
from ohm_subagents.testing import HERMETIC


def opened(directory, env, *plugins, store="sqlite", providers=None, subagents=None, **options):
    """An `Ohm` with the backend `ray`, which keeps its tasks in a directory."""
    kept = {"PI_CONFIG_DIR": str(directory), "OHM_SUBAGENTS_STORE": store}
    backend = {"address": env["OHM_RAY_ADDRESS"], "run": "told", **options}
    config = {
        "subagentBackend": "ray",
        "subagents": {"backends": {"ray": backend}, **(subagents or {})},
        "providers": providers or {},
    }
    return Ohm.open(env={**HERMETIC, **kept, **env}, config=config, plugins=[ohm_ray, *plugins])


async def main(directory, prompts, options, requests="1000"):
    """Start a task for each of the prompts, which may make so many requests; say their ids once all have begun."""
    async with opened(directory, os.environ, **json.loads(options)) as ohm:
        budget = Budget(requests=int(requests))
        handles = [await ohm.start("finder", prompt, budget=budget) for prompt in json.loads(prompts)]
        for handle in handles:
            async for each in handle.events():
                if isinstance(each, TextDelta):
                    break
        await ohm.store.flush()
        sys.stdout.write(f"{' '.join(handle.id for handle in handles)}\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
