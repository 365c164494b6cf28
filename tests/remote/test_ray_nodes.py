"""Runs on several nodes of one Ray cluster: where they are, what a kill costs, and releases that differ."""

import json
import os
import select
import signal
import sys

import anyio
import pytest
import ray_old_release
from anyio import to_thread
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic_core import to_json
from ray_chaos import SHARING, VICTIMS, Chaos
from ray_clusters import cluster_of_tests
from ray_submitter import opened

from ohm_ray.actors import Actors
from ohm_ray.options import RayOptions
from ohm_subagents import ErrorCode
from ohm_subagents.contract import TextDelta
from ohm_subagents.remote import UndeliveredError
from ohm_subagents.testing import EventLog

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]
TASKS = int(os.environ.get("OHM_RAY_CHAOS_TASKS", "15"))


@pytest.fixture
def anyio_backend():
    """Ray runs on asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="module")
def cluster():
    with cluster_of_tests() as running:
        running.env["OHM_RAY_ADDRESS"] = running.address
        running.have_nodes("here", "there", slots=2)
        yield running


def ended_first(processes):
    """Wait until one of these processes has ended, and return how many have by then."""
    handles = [os.pidfd_open(one.pid) for one in processes]
    try:
        return len(select.select(handles, [], [], 60)[0])
    finally:
        for handle in handles:
            os.close(handle)


def numbers(task):
    return [int(word) for word in task.text.split()]


async def said(log, handle, text=""):
    """Wait until a task has said this."""
    await log.until(lambda task, event: task.id == handle.id and isinstance(event, TextDelta) and text in event.text)


async def test_each_task_of_a_batch_ends_once_with_all_its_text_and_within_its_budget_whatever_is_killed(
    cluster, tmp_path
):
    async with Chaos(cluster, tmp_path, seed=1, tasks=TASKS, runners=2).playing() as chaos:
        for victim in VICTIMS:
            await chaos.round(victim)
            assert victim in {"submitter", "ledger"} or await chaos.left() == ([], [])
        assert (await chaos.left())[0] == []
    assert chaos.found["tasks"] == (TASKS + SHARING) * len(VICTIMS)


async def test_a_runner_above_the_least_number_ends_when_nobody_needs_it(cluster, tmp_path):
    before, bounds = {*cluster.runners()}, {"min": 1, "max": 2, "idleMs": 5000}
    async with opened(tmp_path, cluster.env, pool="shrinking", runners=bounds, runsPerRunner=1) as ohm:
        for handle in [await ohm.start("finder", "count 50") for _ in range(2)]:
            (await handle.wait()).unwrap()
        runners = [one for one in cluster.runners() if one not in before]
        assert await to_thread.run_sync(ended_first, runners) == 1
        handles = [await ohm.start("finder", "count 50") for _ in range(2)]
        assert [(await handle.wait()).unwrap().output for handle in handles] == ["Done: count 50"] * 2
        assert len({*cluster.runners()} - before) == 2


async def test_a_run_of_an_older_submitter_is_taken_up_by_a_newer_one(cluster, tmp_path):
    options = json.dumps({"pool": "newer"})
    command = [sys.executable, ray_old_release.__file__, f"{tmp_path}", '["count 300"]', options]
    async with await anyio.open_process(command, env=cluster.env, stderr=None) as submitter:
        task_id = (await BufferedByteReceiveStream(submitter.stdout).receive_until(b"\n", 100)).decode()
        submitter.kill()
    async with opened(tmp_path, cluster.env, pool="newer") as ohm:
        assert (await ohm.handle(task_id).wait()).unwrap().output == "Done: count 300"
        assert numbers(ohm.task(task_id)) == [*range(1, 301)]


async def test_a_pool_may_have_runners_of_two_releases_and_a_run_goes_on_from_one_to_the_other(cluster, tmp_path):
    def note(text: str) -> str:
        """Take a note."""
        return f"noted {text}"

    log, options = EventLog(), {"pool": "mixed", "runners": 2, "onLost": "retry"}
    async with (
        opened(tmp_path, cluster.env, pool="newer") as joined,
        opened(tmp_path, cluster.env, log, **options) as ohm,
    ):
        (await joined.run("finder", "say")).unwrap()
        before = {*cluster.runners()}
        await start_old_runner("ohm/mixed/0")
        [old] = {*cluster.runners()} - before
        assert (await ohm.run("finder", "note", tools=[note])).unwrap().output == "Done: note"
        handle = await ohm.start("finder", "count 200")
        await said(log, handle)
        os.kill(old.pid, signal.SIGKILL)
        assert (await handle.wait()).unwrap().output == "Done: count 200"
        assert {*numbers(ohm.task(handle.id))} == {*range(1, 201)}


async def start_old_runner(name):
    """Start a runner of an older release in the place of one of a pool."""
    import ray

    settings = to_json({"run": "told", "options": {}, "idle_s": None})
    options = {"name": name, "namespace": "ohm", "lifetime": "detached", "num_cpus": 0, "max_concurrency": 100}
    await ray.remote(ray_old_release.OldRunner).options(**options).remote(settings).hello.remote()


async def test_a_killed_node_costs_the_runs_of_its_runners_only(cluster, tmp_path):
    log, before = EventLog(), {*cluster.runners()}
    async with opened(tmp_path, cluster.env, log, pool="nodes", runners=2, resources={"place": 1}) as ohm:
        handles = [await ohm.start("finder", "hang") for _ in range(2)]
        for handle in handles:
            await said(log, handle)
        [victim] = [node for node in cluster.nodes if node.place == "here"]  # the other one is needed again
        lost = len({*victim.runners()} - before)
        assert lost == 1
        await to_thread.run_sync(cluster.kill_node, victim)
        await log.until(lambda *_: log.kinds().count("task_settled") == lost)
        for handle in handles:
            await handle.cancel()
        codes = [(await handle.wait()).unwrap_err().code for handle in handles]
        assert {*codes} == {ErrorCode.RUNNER_LOST, ErrorCode.TASK_ABORTED}
        assert [ohm.task(handle.id).text for handle in handles] == ["I hang"] * 2
        assert cluster.listeners() == {"127.0.0.1"}


async def test_a_killed_head_costs_no_run_at_other_nodes_and_is_told_of_where_it_is_needed(cluster, tmp_path):
    """The last test of this cluster; the runner is at the node of its label."""
    log = EventLog()
    [there] = [node for node in cluster.nodes if node.place == "there"]
    before = {*there.runners()}
    async with opened(tmp_path, cluster.env, log, pool="headless", labels={"place": "there"}) as ohm:
        handle = await ohm.start("finder", "count 500")
        await said(log, handle)
        assert {*there.runners()} - before  # one of a killed node may be begun anew here too
        [head] = [one for one in cluster.head.processes() if one.name() == "gcs_server"]
        head.kill()
        head.wait()
        assert (await handle.wait()).unwrap().output == "Done: count 500"
        await anyio.sleep(2)  # after which the runner is asked anew who it is
        assert (await ohm.run("finder", "say")).unwrap().output == "Done: say"

        import ray

        with pytest.raises(UndeliveredError, match=r"does not answer\. Nothing answers at"):
            await Actors(ray, RayOptions(pool="other")).find(0)
