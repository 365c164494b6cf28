"""A program with a cluster of its own: it says where that listened, and what is left of it at the end."""

import os
import sys

import anyio
import psutil

from ohm_subagents import Ohm

OF_RAY = {"PYTHONBREAKPOINT", "RAY_CLIENT_MODE"}
"""Variables that it leaves by itself."""
CONFIG = {"subagentBackend": "ray", "subagents": {"backends": {"ray": {"run": "none"}}}}


async def run():
    """The addresses of all processes, those of the cluster, and its directory."""
    async with Ohm.open(config=CONFIG) as ohm:
        (await ohm.run("finder", "say")).unwrap()
        cluster = psutil.Process().children(recursive=True)
        connections = [each for one in (psutil.Process(), *cluster) for each in one.net_connections("tcp")]
        [words] = [one.cmdline() for one in cluster if one.name() == "gcs_server"]
    listening = {one.laddr.ip.removeprefix("::ffff:") for one in connections if one.status == psutil.CONN_LISTEN}
    [directory] = {word.split("=")[1].split("/session")[0] for word in words if "=/tmp/ohm-ray-" in word}
    return listening, cluster, directory


if __name__ == "__main__":
    before = dict(os.environ)
    listening, cluster, directory = anyio.run(run)
    _, alive = psutil.wait_procs(cluster, 10)
    names = {*os.environ, *before} - OF_RAY
    changed = sorted(name for name in names if os.environ.get(name) != before.get(name))
    sys.stdout.write(f"{' '.join(listening)}\n{len(alive)}\n{os.path.exists(directory)}\n{changed}\n")
