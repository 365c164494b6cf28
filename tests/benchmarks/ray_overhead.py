"""The cost of a run at a Ray runner beyond one in process: `python tests/benchmarks/ray_overhead.py`.

It starts a cluster on loopback, with two runners, and fails if a target is missed. What it prints is of this machine,
and of what else runs on it. With `submit` it is one of the programs that submit at the same time.
"""

import gc
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import anyio
import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from ray_clusters import cluster_of_tests
from ray_submitter import opened

from ohm_subagents.contract import TextDelta
from ohm_subagents.testing import EventLog

USUAL = gc.get_threshold()
SELDOM = (50_000, 10, 10)
"""The threshold that the guide on capacity gives to programs which start hundreds of tasks at once."""
BURSTS = 5
PROGRAMS = 2
RUNNERS = 2
BURST, QUEUED, ONE_BY_ONE, DELTAS = 1000, 2000, 300, 500


missed = []


def told(what, value, unit, *, most=None, least=None):
    """Print a number, and its target if it has one."""
    target = "" if most is least is None else f"at least {least:,}" if most is None else f"at most {most:,}"
    is_met = (most is None or value <= most) and (least is None or value >= least)
    verdict = f"{target}: {'yes' if is_met else 'NO'}" if target else ""
    sys.stdout.write(f"{what:<64} {value:>10,.2f} {unit:<10} {verdict}\n")
    missed.extend([] if is_met else [what])


def p99(values):
    return sorted(values)[int(len(values) * 0.99)]


async def one_by_one(ask):
    """The milliseconds that each of some calls takes."""
    spent = []
    for _ in range(ONE_BY_ONE):
        began = time.perf_counter()
        await ask()
        spent.append((time.perf_counter() - began) * 1000)
    return spent


def cpu_s(processes):
    """The seconds of the processor that some processes have used."""
    return sum(sum(one.cpu_times()[:2]) for one in processes)


async def together(ohm, prompt):
    """The seconds until all tasks of a burst have ended."""
    began = time.perf_counter()

    async def one():
        (await ohm.run("finder", prompt)).unwrap()

    async with anyio.create_task_group() as group:
        for _ in range(BURST):
            group.start_soon(one)
    return time.perf_counter() - began


async def bursts(name, ohm, log, runners, of_ray, least=None):
    took_s, here, there = [], time.thread_time(), cpu_s(runners)
    threads, around = time.process_time() - here, cpu_s(of_ray)
    for _ in range(BURSTS):
        log.entries.clear()
        took_s.append(await together(ohm, "say"))
    told(f"{name}: burst of {BURST:,}, median of {BURSTS}", BURST / median(took_s), "tasks/s", least=least)
    told(f"{name}: CPU of the program", (time.thread_time() - here) / BURST / BURSTS * 1000, "ms a task")
    if runners:
        threads = time.process_time() - time.thread_time() - threads
        told(f"{name}: CPU of Ray's threads in it", threads / BURST / BURSTS * 1000, "ms a task")
        told(f"{name}: CPU of the runners", (cpu_s(runners) - there) / BURST / BURSTS * 1000, "ms a task")
        told(f"{name}: CPU of Ray's own processes", (cpu_s(of_ray) - around) / BURST / BURSTS * 1000, "ms a task")


async def first_event(ohm, log):
    """Between the begin of a burst and the first thing that a runner says."""
    firsts = []
    for _ in range(BURSTS):
        heard = []

        def notify(_task, event, heard=heard):
            if isinstance(event, TextDelta) and not heard:
                heard.append(time.perf_counter())

        log.notify = notify
        began = time.perf_counter()
        await together(ohm, "clock 1")
        firsts.append(heard[0] - began)
    told(f"ray: first event of a burst of {BURST:,}, median of {BURSTS}", median(firsts), "s", most=0.3)


async def measured(ohm, name, log, cluster=None, least=None):
    for _ in range(6):
        (await ohm.run("finder", "say")).unwrap()
    spent = await one_by_one(lambda: ohm.run("finder", "say"))
    told(f"{name}: one task after another, median", median(spent), "ms")
    told(f"{name}: one task after another, p99", p99(spent), "ms")
    await together(ohm, "say")  # one runner has enough to do for one task after another, and the pool only that one
    runners = [] if cluster is None else cluster.runners()
    assert cluster is None or len(runners) == RUNNERS
    of_ray = [] if cluster is None else [one for one in cluster.processes() if one not in runners]
    gc.unfreeze()
    gc.set_threshold(*USUAL)
    await bursts(f"{name}, Python's own gc", ohm, log, runners, of_ray)
    collect_seldom()
    await bursts(f"{name}, gc as the guide says", ohm, log, runners, of_ray, least)
    return median(spent)


def collect_seldom():
    """Do what the guide on capacity says."""
    gc.freeze()
    gc.set_threshold(*SELDOM)


async def submitting(address):
    """Be one of several programs: warm up, wait to be told, and say the seconds that the bursts took."""
    log = EventLog()
    with tempfile.TemporaryDirectory() as directory:
        env = {**os.environ, "OHM_RAY_ADDRESS": address}
        async with opened(directory, env, log, store="memory", runners=RUNNERS) as ohm:
            await together(ohm, "say")
            collect_seldom()
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            sys.stdin.readline()
            began = time.perf_counter()
            for _ in range(BURSTS):
                log.entries.clear()
                await together(ohm, "say")
            sys.stdout.write(f"{time.perf_counter() - began}\n")


def several(cluster):
    """Programs that submit at the same time, to the same runners."""
    command = [sys.executable, str(Path(__file__).resolve()), "submit", cluster.address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        programs = []
        for _ in range(PROGRAMS):
            own = stack.enter_context(tempfile.TemporaryDirectory())  # the keys of runs have it: ids alone may be equal
            programs.append(stack.enter_context(subprocess.Popen(command, env=cluster.env, cwd=own, **pipes)))
            stack.callback(programs[-1].kill)
        for one in programs:
            one.stdout.readline()
        for one in programs:
            one.stdin.write("go\n")
            one.stdin.flush()
        slowest = max(float(one.communicate()[0]) for one in programs)
    told(f"ray: {PROGRAMS} programs at once, gc as the guide says", PROGRAMS * BURSTS * BURST / slowest, "tasks/s")


async def latency(ohm, log):
    """Between what a runner says and what an observer here hears."""
    seen = []

    def notify(_task, event):
        if isinstance(event, TextDelta):
            seen.extend((time.monotonic_ns() - int(word)) / 1e6 for word in event.text.split())

    log.notify = notify
    (await ohm.run("finder", f"clock {DELTAS}")).unwrap()
    told("ray: latency of a text delta, median", median(seen), "ms")
    told("ray: latency of a text delta, p99", p99(seen), "ms", most=30)


async def memory(ohm, cluster):
    """Of tasks that are at a runner, in this process and at the runners."""
    everybody = [psutil.Process(), *cluster.runners()]
    before = [one.memory_full_info().pss for one in everybody]
    for _ in range(QUEUED):
        await ohm.start("finder", "hang")
    await anyio.sleep(3)
    here, *there = (one.memory_full_info().pss - was for one, was in zip(everybody, before, strict=True))
    told("ray: memory of a task in the program", here / QUEUED / 1000, "kB")
    told("ray: memory of a task at its runner", sum(there) / QUEUED / 1000, "kB")


async def queued(ohm, backend):
    """Of tasks that wait in this process for their turn at a runner."""
    subagents = {"maxRunning": 1, "backends": {"ray": backend}}
    await ohm.reconfigure(config={"subagentBackend": "ray", "subagents": subagents})
    await ohm.start("finder", "hang")
    before = psutil.Process().memory_full_info().pss
    for _ in range(QUEUED):
        await ohm.start("finder", "hang")
    grown = psutil.Process().memory_full_info().pss - before
    told("ray: memory of a task that is queued", grown / QUEUED / 1000, "kB", most=10)


async def plain():
    import ray

    @ray.remote(num_cpus=0)
    def echo(text):
        return text

    ray.get([echo.remote("say") for _ in range(20)])
    spent = await one_by_one(lambda: echo.remote("say"))
    told("plain Ray task: one after another, median", median(spent), "ms")
    began = time.perf_counter()
    ray.get([echo.remote("say") for _ in range(BURST)])
    told(f"plain Ray task: burst of {BURST:,}", BURST / (time.perf_counter() - began), "tasks/s")


async def main():
    sys.stdout.write(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    with cluster_of_tests() as cluster, tempfile.TemporaryDirectory() as directory:
        cluster.env["OHM_RAY_ADDRESS"] = cluster.address
        env = cluster.env | {"OHM_SUBAGENTS_STORE": "memory"}
        log = EventLog()
        async with opened(directory, env, log, runners=RUNNERS) as ohm:
            await ohm.reconfigure(config={"subagentBackend": "none"})
            alone = await measured(ohm, "in process", log)
        log = EventLog()
        async with opened(directory, env, log, runners=RUNNERS) as ohm:
            remote = await measured(ohm, "ray", log, cluster, 2000)
            told("ray: overhead of a task", remote - alone, "ms", most=10)
            await first_event(ohm, log)
            await latency(ohm, log)
            await plain()
            await memory(ohm, cluster)
        await anyio.to_thread.run_sync(several, cluster)
        async with opened(directory, env) as ohm:
            await queued(ohm, {"address": cluster.address, "run": "told"})
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    anyio.run(*([submitting, sys.argv[2]] if sys.argv[1:2] == ["submit"] else [main]))
