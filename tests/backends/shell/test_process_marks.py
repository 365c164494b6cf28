"""Processes that carry a mark end; no other is ever touched."""

import os
import signal
import subprocess

import psutil
import pytest

from ohm_subagents.shell import orphans
from ohm_subagents.shell.tree import Tree


@pytest.mark.parametrize(
    ("marker", "is_carried"),
    [
        ("host.1", True),
        ("outer/host.1", True),
        ("host.1/inner.3", True),
        ("a/b/host.1/c/d", True),
        ("host.12", False),
        ("host.12/inner.3", False),
        ("ghost.1", False),
        ("host", False),
        ("host.2", False),
        ("", False),
    ],
)
def test_a_mark_is_a_whole_part_of_the_marker(marker, is_carried):
    environ = f"A=1\0OHM_SUBAGENT_RUN_ID={marker}\0B=2\0".encode()
    assert orphans.carries(environ, "host.1") is is_carried


def test_the_mark_of_a_host_is_carried_by_all_of_its_children_and_theirs():
    markers = ["host.1", "host.12", "a/host.3/b.4", "hosts.1", "other.1"]
    environs = [f"OHM_SUBAGENT_RUN_ID={marker}".encode() for marker in markers]
    assert [orphans.carries(environ, "host") for environ in environs] == [True, True, True, False, False]


def test_a_mark_in_another_variable_is_none():
    environ = b"X=OHM_SUBAGENT_RUN_ID=host.1\0MY_OHM_SUBAGENT_RUN_ID=host.1\0OHM_SUBAGENT_RUN_ID=b\0\xff=\xff"
    assert not orphans.carries(environ, "host.1")


@pytest.fixture
def process(started):
    with subprocess.Popen(["sleep", "1000"], env=started.env, start_new_session=True) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("looks", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_process_whose_program_is_just_being_loaded_is_found_too(started, looks):
    """For a moment it shows no environment, or an empty one; this one loads a program all the time."""
    again = 'exec sh -c "$AGAIN"'
    with subprocess.Popen(["sh", "-c", again], env={**started.env, "AGAIN": again}) as process:
        seen = [[pid for pid, _ in orphans.marked_processes(started.mark)] for _ in range(looks)]
        process.kill()
    assert all(seen)


def test_a_process_without_an_environment_does_not_hold_a_look_up():
    with subprocess.Popen(["sleep", "1000"], env={}) as process:
        assert [*orphans.marked_processes("host.1")] == []
        process.kill()


def test_a_pid_that_is_another_processs_by_now_is_not_signalled(process):
    pid, began = orphans.identified(process.pid)
    orphans.signal_to((pid, began - 1), signal.SIGKILL)
    orphans.signal_to((pid, began), signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM


def test_a_tree_whose_pid_is_another_processs_by_now_is_not_killed(process, monkeypatch):
    """The clock of the process table is set forward, so that the process seems to be a later one."""
    old = Tree(process.pid)
    identities = {process.pid: orphans.identified(process.pid)}
    monkeypatch.setattr(psutil.Process, "is_running", lambda self: self.pid not in identities)
    old.kill()
    monkeypatch.undo()
    Tree(process.pid).signal(signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM


def test_the_group_of_a_leader_that_has_gone_is_killed_while_its_pid_is_nobodys(started):
    script = "sleep 1000 & echo $!"
    with subprocess.Popen(
        ["sh", "-c", script], env=started.env, start_new_session=True, stdout=subprocess.PIPE
    ) as process:
        job = psutil.Process(int(process.stdout.readline()))
        group = Tree(process.pid)
        process.wait()
        group.kill()
        assert job.wait(timeout=60) is None


def test_a_process_that_has_gone_is_nobody(process):
    identity = orphans.identified(process.pid)
    lost = Tree(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert orphans.identified(process.pid) is None, "a zombie has ended"
    process.wait()
    orphans.signal_to(identity, signal.SIGKILL)
    for act in (lost.see, lost.kill, lambda: lost.signal(signal.SIGTERM), Tree(process.pid).kill):
        act()


def test_those_to_spare_are_spared(started):
    with subprocess.Popen(["cat"], env=started.env, stdin=subprocess.PIPE) as spared:
        with subprocess.Popen(["sleep", "1000"], env=started.env) as other:
            assert orphans.end(started.mark, spare={spared.pid})
            assert other.wait() == -signal.SIGKILL
        assert spared.poll() is None


def test_what_cannot_be_ended_in_time_is_told(started, monkeypatch):
    monkeypatch.setattr(orphans, "signal_to", lambda identity, number: None)
    with subprocess.Popen(
        ["cat"], env=started.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        process.stdin.write(b"up")
        assert process.stdout.read(2) == b"up"
        assert not orphans.end(started.mark, patience_s=0)
