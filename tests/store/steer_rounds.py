"""Cancels tasks of another process again and again, and measures when each has settled and its processes are gone.

By hand: `python tests/store/steer_rounds.py --rounds 100`. Prints the median, the 99th percentile and the longest.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import steered_process  # noqa: E402  after the path above
from forking import forked  # noqa: E402  as above

from ohm_subagents import Ohm  # noqa: E402  after the path above
from ohm_subagents.testing import HERMETIC  # noqa: E402  after the path above


async def cancelled(rounds, folder):
    """Return, for each round, the seconds until the task had settled, and until its processes were gone."""
    found = []
    env = HERMETIC | {"PI_CONFIG_DIR": str(folder), "OHM_SUBAGENTS_STORE": "sqlite"}
    with forked(steered_process.__file__, folder) as owner:
        async with Ohm.open(env=env) as ohm:
            for _ in range(rounds):
                owner.stdin.write("\n")
                owner.stdin.flush()
                task_id, *pids = (await anyio.to_thread.run_sync(owner.stdout.readline)).split()
                began = time.monotonic()
                assert await ohm.handle(task_id).cancel()
                assert ohm.task(task_id).status == "cancelled"
                settled = time.monotonic() - began
                with anyio.fail_after(10):
                    while any(map(is_running, pids)):  # noqa: ASYNC110  they are no children of this process
                        await anyio.sleep(0.005)
                found.append((settled, time.monotonic() - began))
    return found


def is_running(pid):
    """Return True for a process that is there, and no zombie."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def percentile(times, share):
    """Return the time that so many have kept to."""
    return sorted(times)[min(len(times) - 1, round(share * len(times)) - 1)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        found = anyio.run(cancelled, rounds, folder)
    for name, times in zip(("settled", "processes gone"), zip(*found, strict=True), strict=True):
        told = (statistics.median(times), percentile(times, 0.99), max(times))
        sys.stdout.write(
            f"{name}: median {told[0] * 1000:.0f} ms, p99 {told[1] * 1000:.0f} ms, longest {told[2] * 1000:.0f} ms\n"
        )
    sys.stdout.write(
        f"{rounds} rounds; CPU of this process {time.process_time():.1f} s, load {os.getloadavg()[0]:.1f}\n"
    )


if __name__ == "__main__":
    main()
