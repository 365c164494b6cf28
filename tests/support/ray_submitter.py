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


async def begun(ohm, prompts, requests, sharing=0):
    """Start a task for each of the prompts, which may make so many requests; the last ones share a budget."""
    single = prompts[: len(prompts) - sharing]
    ids = [(await ohm.start("finder", prompt, budget=Budget(requests=requests))).id for prompt in single]
    if sharing:
        tasks = [{"subagent_type": "finder", "description": "d", "prompt": prompt} for prompt in prompts[-sharing:]]
        before = {one.id for one in ohm.store.tasks()}
        await ohm.call("task", {"op": "start", "parallel": True, "async": True, "tasks": tasks})
        ids += [one.id for one in ohm.store.tasks() if one.id not in before]
    missing = [ohm.store.get(one) for one in ids if ohm.task(one) is None]
    assert not missing, missing
    return ids


async def main(directory, prompts, options, requests="1000", sharing="0", subagents="{}"):
    """Start a task for each of the prompts, as `begun` does; say their ids once all have begun."""
    async with opened(directory, os.environ, subagents=json.loads(subagents), **json.loads(options)) as ohm:
        ids = await begun(ohm, json.loads(prompts), int(requests), int(sharing))
        handles = [ohm.handle(one) for one in ids]
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
