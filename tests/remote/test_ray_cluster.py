"""Runs on a real Ray cluster of this machine, which the tests start."""

import os
import signal
import sys
from hashlib import sha256
from pathlib import Path

import anyio
import pytest
import ray_submitter
from anyio.streams.buffered import BufferedByteReceiveStream
from git_trees import fingerprint, git, repository
from ray_clusters import CANARY
from ray_submitter import opened

from ohm_subagents import Budget, ErrorCode
from ohm_subagents.contract import TextDelta
from ohm_subagents.testing import EventLog

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture
def anyio_backend():
    """Ray runs on asyncio alone."""
    return "asyncio"


@pytest.fixture
def cluster(ray_cluster):
    return ray_cluster


def joined(cluster, directory, *plugins, **options):
    return opened(directory, cluster.env, *plugins, **options)


async def said(log, handle, text=""):
    """Wait until a task has said this."""
    await log.until(lambda task, event: task.id == handle.id and isinstance(event, TextDelta) and text in event.text)


async def test_a_run_streams_and_answers(cluster, tmp_path):
    log = EventLog()
    async with joined(cluster, tmp_path, log) as ohm:
        envelope = (await ohm.run("finder", "count 50")).unwrap()
        assert envelope.output == "Done: count 50"
        assert [int(word) for word in ohm.task(envelope.task_id).text.split()] == [*range(1, 51)]


async def test_everything_listens_on_loopback_only(cluster, tmp_path):
    async with joined(cluster, tmp_path) as ohm:
        (await ohm.run("finder", "say")).unwrap()
        assert cluster.listeners() == {"127.0.0.1"}


async def test_the_files_of_a_task_travel_and_what_is_done_to_them_comes_back(cluster, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    before = fingerprint(parent)
    env = cluster.env | {"XDG_CACHE_HOME": f"{tmp_path / 'cache'}"}
    async with opened(tmp_path, env, pool="travel", workspace="bundle") as ohm:
        envelope = (await ohm.run("finder", "edit b", cwd=f"{parent}")).unwrap()
    assert git(parent, "show", f"refs/ohm/{envelope.task_id}:b") == "edited in tree"
    assert fingerprint(parent) == before


async def test_the_recorded_prompt_of_the_echo_comes_back(cluster, tmp_path):
    async with joined(cluster, tmp_path, pool="echo", run="none") as ohm:
        envelope = (await ohm.run("finder", "Where is it?")).unwrap()
    assert "prompt: Where is it?" in envelope.output


async def test_a_cancelled_run_ends_at_the_runner(cluster, tmp_path):
    log = EventLog()
    async with joined(cluster, tmp_path, log) as ohm:
        handle = await ohm.start("finder", "hang")
        await said(log, handle)
        with anyio.fail_after(5):
            await handle.cancel()
        assert ohm.task(handle.id).status == "cancelled"


async def test_a_budget_is_kept(cluster, tmp_path):
    async with joined(cluster, tmp_path) as ohm:
        error = (await ohm.run("finder", "spend 9", budget=Budget(requests=3))).unwrap_err()
        assert error.code == ErrorCode.BUDGET_EXCEEDED
        assert ohm.task(error.task_id).text == "0 1 2 "


async def test_a_tool_of_the_program_is_called_from_the_runner(cluster, tmp_path):
    def note(text: str) -> str:
        """Take a note."""
        return f"{os.getpid()} noted {text}"

    async with joined(cluster, tmp_path) as ohm:
        envelope = (await ohm.run("finder", "note", tools=[note])).unwrap()
        assert ohm.task(envelope.task_id).text == f"{os.getpid()} noted seen"


async def test_a_killed_runner_costs_its_own_runs_only_and_ray_prints_nothing(cluster, tmp_path, capfd):
    log = EventLog()
    before = cluster.runners()
    async with joined(cluster, tmp_path, log, runners=2, pool="mortal") as ohm:
        lost = await ohm.start("finder", "hang")
        await said(log, lost)
        [victim] = set(cluster.runners()) - set(before)
        kept = await ohm.start("finder", "count 400")
        await said(log, kept)
        os.kill(victim.pid, signal.SIGKILL)
        with anyio.fail_after(20):
            error = (await lost.wait()).unwrap_err()
        assert (error.code, error.retryable) == (ErrorCode.RUNNER_LOST, True)
        assert ohm.task(lost.id).text == "I hang"
        assert (await kept.wait()).unwrap().output == "Done: count 400"
        assert (await ohm.run("finder", "say")).unwrap().output == "Done: say"
        told = {"lines": ["A worker died."], "pid": "raylet", "is_err": False}
        sys.modules["ray._private.worker"].print_to_stdstream(told, ignore_prefix=False)  # as it does some time later
    assert capfd.readouterr().out == ""


async def test_two_hundred_children_run_on_the_cluster_by_changing_one_line(cluster, tmp_path):
    example = Path(__file__).parents[2] / "examples/24_many_children.py"
    program = example.read_text().replace('BACKEND = "none"', 'BACKEND = "ray"')
    env = cluster.env | {"RAY_ADDRESS": cluster.address}
    done = await anyio.run_process([sys.executable, "-c", program], env=env, cwd=tmp_path, stderr=None)
    assert done.stdout.decode() == "prompt: Make one report of 200 findings.\n"


async def test_a_cluster_of_its_own_leaves_nothing_behind(tmp_path):
    """In a program of its own, which has no other cluster."""
    program = Path(ray_submitter.__file__).with_name("ray_local.py")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PI_CONFIG_DIR": str(tmp_path), "RAY_AUTH_MODE": "x"}
    done = await anyio.run_process([sys.executable, str(program)], env=env, cwd=tmp_path, stderr=None)
    listening, left, is_there, changed = done.stdout.decode().splitlines()
    assert (listening, left, is_there, changed) == ("127.0.0.1", "0", "False", "[]")


async def test_no_key_is_anywhere_but_at_the_runner(cluster, tmp_path):
    async with joined(cluster, tmp_path) as ohm:
        envelope = (await ohm.run("finder", f"key {CANARY}")).unwrap()
        (await ohm.run("finder", "say " + "a long prompt " * 20_000)).unwrap()
    assert cluster.holds("a long prompt a long prompt") != []  # which shows that the search finds what is there
    assert envelope.output == sha256(cluster.key.encode()).hexdigest()
    assert cluster.holds(cluster.key) == []


async def test_a_cluster_is_not_joined_without_its_token(cluster, tmp_path):
    env = {name: value for name, value in cluster.env.items() if name != "RAY_AUTH_TOKEN"}
    async with opened(tmp_path, env) as ohm:
        error = (await ohm.run("finder", "say")).unwrap_err()
    assert "RAY_AUTH_TOKEN" in str(error)


WITH_A_TOKEN = """
import os, sys, anyio, ray_submitter
async def main():
    async with ray_submitter.opened(sys.argv[1], os.environ) as ohm:
        print((await ohm.run("finder", "say")).unwrap_err())
anyio.run(main)
"""


async def test_a_wrong_token_is_one_sentence_and_ray_tries_it_no_more(cluster, tmp_path):
    env = cluster.env | {"RAY_AUTH_TOKEN": "0" * 64, "PYTHONPATH": str(Path(ray_submitter.__file__).parent)}
    said = await anyio.run_process([sys.executable, "-c", WITH_A_TOKEN, f"{tmp_path}"], env=env)
    assert said.stdout.decode() == (
        f"The Ray cluster '{env['OHM_RAY_ADDRESS']}' refuses the token of this program. Set RAY_AUTH_TOKEN to the "
        "token that the cluster was started with, or RAY_AUTH_TOKEN_PATH to a file that has it.\n"
    )
    assert said.stderr.count(b"InvalidAuthToken") <= 1, "Ray itself would write one line a second"


async def test_ray_that_was_imported_too_early_is_told_with_the_two_ways_out(cluster, tmp_path):
    hers = {"RAY_AUTH_MODE", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"}
    env = {name: value for name, value in cluster.env.items() if name not in hers}
    env["PYTHONPATH"] = f"{Path(ray_submitter.__file__).parent}"
    said = await anyio.run_process([sys.executable, "-c", f"import ray\n{WITH_A_TOKEN}", f"{tmp_path}"], env=env)
    assert said.stdout.decode() == (
        "This program imported ray before its first run on the backend 'ray', and without RAY_AUTH_MODE=token and "
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 in its environment, which Ray reads at that moment alone. Set both in the "
        "environment of the program, or import ray after that run.\n"
    )


async def test_a_program_that_gets_sigterm_ends_by_it_and_says_nothing_of_ray(cluster, tmp_path):
    command = [sys.executable, ray_submitter.__file__, f"{tmp_path}", '["count 300"]', "{}"]
    async with await anyio.open_process(command, env=cluster.env) as submitter:
        await BufferedByteReceiveStream(submitter.stdout).receive_until(b"\n", 100)
        submitter.terminate()
        assert await submitter.wait() == -signal.SIGTERM
        assert b"".join([piece async for piece in submitter.stderr]) == b""


async def test_a_runner_that_cannot_open_its_backend_says_why(cluster, tmp_path):
    async with joined(cluster, tmp_path, pool="unknown", run="nonne") as ohm:
        error = (await ohm.run("finder", "say")).unwrap_err()
    assert "no plugin offers the backend 'nonne'. Did you mean 'none'? Available: " in str(error)
    assert (error.code, error.retryable) == (ErrorCode.BACKEND_OPTIONS_INVALID, False)
