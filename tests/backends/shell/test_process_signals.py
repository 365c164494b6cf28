"""A process hears every signal, whatever the host ignores or blocks: `nohup`, `&`, a daemon, a server."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from anyio import to_thread
from deafness import HEARS_ALL, IGNORED, SHOW, deafened, heard, hearing

from ohm_subagents.backends.pi.startup_check import trouble
from ohm_subagents.shell import inheritance, reaper
from ohm_subagents.shell.inheritance import launched, masks_signals, with_default_signals
from ohm_subagents.shell.process import Supervisor


@pytest.fixture
def deaf():
    with deafened():
        yield


async def said(supervisor, launch):
    child = (await supervisor.start(launch)).unwrap()
    lines = [line.decode() async for line in child.lines()]
    ended = await child.ended()
    child.stop()
    return "\n".join(lines), ended


def test_the_host_of_these_tests_is_deaf(deaf):
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (_, blocked), (_, ignored) = heard(status)
    assert blocked & 1 << signal.SIGUSR2 - 1
    assert all(ignored & 1 << number - 1 for number in IGNORED)
    assert heard(subprocess.check_output(["sh", "-c", SHOW], text=True)) != HEARS_ALL


@pytest.mark.anyio
async def test_a_supervised_process_hears_every_signal(started, deaf):
    async with Supervisor.open(grace_s=0.1) as supervisor:
        assert heard((await said(supervisor, started.sh(SHOW)))[0]) == HEARS_ALL


@pytest.mark.anyio
async def test_a_process_hears_what_a_thread_of_the_host_has_blocked_before(started):
    """Trio forks in a worker thread, which keeps the mask that it was born with."""
    with deafened(ignored=()):
        await to_thread.run_sync(masks_signals)
    async with Supervisor.open(grace_s=0.1) as supervisor:
        assert heard((await said(supervisor, started.sh(SHOW)))[0]) == HEARS_ALL


@pytest.mark.sample(2)
@pytest.mark.anyio
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGPIPE])
async def test_a_signal_ends_a_supervised_process(started, deaf, number):
    async with Supervisor.open(grace_s=0.1) as supervisor:
        _, ended = await said(supervisor, started.sh(f"ulimit -c 0; kill -{number.value} $$; exec sleep 1000"))
        assert ended.code == -number


@pytest.mark.anyio
async def test_a_process_that_is_asked_to_end_ends_without_force(started, deaf):
    async with Supervisor.open(grace_s=60) as supervisor:
        child = (await supervisor.start(started.sh("echo up; exec sleep 1000"))).unwrap()
        assert await anext(child.lines()) == b"up"
        child.stop()
        assert (await child.ended()).code == -signal.SIGTERM


@pytest.mark.anyio
async def test_the_reaper_hears_every_signal(deaf, tmp_path, monkeypatch):
    script = tmp_path / "reaper_script.py"
    script.write_text("import shutil, sys; shutil.copy('/proc/self/status', sys.argv[4])", encoding="utf-8")
    monkeypatch.setattr(reaper, "_SCRIPT", script)
    watching = await reaper.Reaper.start("nobody", 0.1, tmp_path)
    assert await watching.process.wait() == 0
    await watching.dismiss()
    pythons_own = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    assert heard((tmp_path / "status").read_text(encoding="utf-8")) == [("SigBlk", 0), ("SigIgn", pythons_own)]


def test_a_pi_that_is_asked_for_its_version_hears_every_signal(deaf, tmp_path):
    pi = tmp_path / "pi"
    pi.write_text(f"#!/bin/sh\n{SHOW} > {tmp_path}/heard\necho 0.87.1\n", encoding="utf-8")
    pi.chmod(0o755)
    assert trouble((f"{pi}",), "rpc", {"PATH": os.environ["PATH"]}) is None
    assert heard((tmp_path / "heard").read_text(encoding="utf-8")) == HEARS_ALL


def test_one_that_does_not_start_is_told_in_a_sentence_all_the_same(deaf, tmp_path):
    pi = tmp_path / "pi"
    pi.write_text("#!/no/such/node\n", encoding="utf-8")
    pi.chmod(0o755)
    told = f"{trouble((f'{pi}',), 'rpc', {})}"
    assert told.startswith(f'The command "{pi}" does not start as pi: No such file or directory. Install')


def test_where_all_signals_are_heard_a_command_is_started_as_it_is():
    with hearing():
        assert not masks_signals()
        assert with_default_signals(["true", "1"]) == ("true", "1")


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_one_signal_that_is_not_heard_is_enough(monkeypatch, system):
    monkeypatch.setattr(inheritance, "sys", SimpleNamespace(platform=system, executable=sys.executable))
    with hearing():
        for ignored, blocked in [((signal.SIGQUIT,), ()), ((), (signal.SIGRTMAX,)), ((signal.SIGRTMAX,), ())]:
            with deafened(ignored, blocked):
                assert with_default_signals(["true"]) == launched(["true"])
        assert with_default_signals(["true"]) == ("true",)


def test_a_program_without_an_interpreter_starts_commands_as_they_are(monkeypatch, deaf):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert with_default_signals(["true"]) == ("true",)
