"""When our own process is killed, nothing that it started is left. The hosts here are real, and so is SIGKILL."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from leaks import MARKER

from ohm_subagents.shell import orphans, reaper
from ohm_subagents.shell.inheritance import launched

PATIENCE_S = 60
HOST = """
import json, os, signal, sys
from pathlib import Path
import anyio
from ohm_subagents.shell.process import Launch, Supervisor

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may have left it ignored
loop, script, mark, fork = json.loads(sys.argv[1])

async def main():
    async with Supervisor.open(grace_s=0.1) as supervisor:
        env = {"PATH": os.environ["PATH"], "OHM_SUBAGENT_RUN_ID": mark}
        child = (await supervisor.start(Launch(command=("sh", "-c", script), cwd=Path("/"), env=env))).unwrap()
        assert await anext(child.lines()) == b"up"
        (supervisor.folder / "auth.json").write_text("a key")
        other = os.fork() if fork else None
        if other == 0:
            signal.pause()
        print(child.pid, other or 0, supervisor.folder, flush=True)
        await anyio.sleep_forever()

anyio.run(main, backend=loop)
"""
POLITE = "trap 'exit 143' TERM; echo up; while :; do sleep 1000 & wait; done"
DEAF = "trap '' TERM HUP; echo up; while :; do sleep 1000; done"
DAEMON = "setsid -f sleep 1000; echo up; sleep 1000"
DEAF_DAEMON = "setsid -f sh -c \"trap '' TERM; while :; do sleep 1000; done\"; echo up; sleep 1000"
FROZEN = "setsid -f sleep 1000; echo up; kill -STOP $$; sleep 1000"
LEAVERS = {
    "a polite child": POLITE,
    "a deaf child": DEAF,
    "a frozen child": FROZEN,
    "a daemon": DAEMON,
    "a daemon that ignores SIGTERM": DEAF_DAEMON,
}


class Host:
    def __init__(self, process, child, fork, folder):
        self.secret = Path(folder) / "auth.json"
        self.process = process
        self.child = psutil.Process(child)
        self.fork = psutil.Process(fork) if fork else None
        below = psutil.Process(process.pid).children()
        (self.reaper,) = [each for each in below if each.pid not in {child, fork}]

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def host(started):
    """Starts a host with a child, which is up."""

    @contextmanager
    def host(loop, script, *, fork=False):
        words = json.dumps([loop, script, started.env[MARKER], fork])
        with subprocess.Popen([sys.executable, "-c", HOST, words], stdout=subprocess.PIPE, text=True) as process:
            child, other, folder = process.stdout.readline().split()
            one = Host(process, int(child), int(other), folder)
            try:
                yield one
            finally:
                process.kill()
                if fork:
                    one.fork.kill()
                assert gone(one.reaper)

    return host


def gone(process):
    """Wait for its end; whoever inherited it may reap it much later."""
    try:
        end = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    ends = select.poll()
    ends.register(end, select.POLLIN)
    try:
        return ends.poll(PATIENCE_S * 1000) != []
    finally:
        os.close(end)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("loop", "script"),
    [
        *(pytest.param("asyncio", script, id=f"{name}-asyncio") for name, script in LEAVERS.items()),
        pytest.param("trio", DEAF_DAEMON, id="a daemon that ignores SIGTERM-trio"),
        *(
            pytest.param("trio", script, id=f"{name}-trio", marks=pytest.mark.slow)
            for name, script in LEAVERS.items()
            if script != DEAF_DAEMON
        ),
    ],
)
def test_a_killed_host_leaves_nothing(host, started, loop, script):
    with host(loop, script) as one:
        assert len(started.left) > 0
        assert one.secret.read_text() == "a key"
        one.kill()
        assert gone(one.reaper)
        assert started.left == []
        assert not one.secret.parent.exists()


def test_on_asyncio_the_kernel_asks_the_child_to_end_without_a_reaper(host, started):
    with host("asyncio", POLITE) as one:
        one.reaper.kill()
        one.kill()
        assert gone(one.child)
        assert one.secret.exists(), "nobody was left to remove it"
    orphans.end(started.mark)
    shutil.rmtree(one.secret.parent)


@pytest.mark.slow
def test_the_reaper_sees_the_end_of_a_host_whose_fork_lives_on(host, started):
    with host("trio", DEAF_DAEMON, fork=True) as one:
        one.kill()
        assert gone(one.reaper)
        assert one.fork.is_running()
        assert started.left == []


@pytest.mark.slow
def test_a_host_without_its_reaper_ends_as_ever(host, started):
    with host("trio", DAEMON) as one:
        one.reaper.send_signal(signal.SIGKILL)
        os.kill(one.process.pid, signal.SIGINT)
        assert one.process.wait() != 0
        assert started.left == []


@pytest.mark.slow
def test_the_reaper_has_no_marker_no_environment_and_a_session_of_its_own(host):
    with host("asyncio", POLITE) as one:
        assert one.reaper.environ() == {}
        assert os.getsid(one.reaper.pid) == one.reaper.pid
        descriptors = Path(f"/proc/{one.reaper.pid}/fd")
        assert [f"{(descriptors / number).readlink()}" for number in "12"] == ["/dev/null"] * 2


def test_a_launcher_whose_host_has_gone_starts_nothing(started):
    reading, writing = os.pipe()
    words = launched(["/bin/echo"], parent=1, status=writing)
    finished = subprocess.run(words, pass_fds=(writing,), capture_output=True, env=started.env, check=False)
    os.close(writing)
    assert (finished.returncode, finished.stdout, os.read(reading, 1)) == (-signal.SIGKILL, b"", b"")
    os.close(reading)


@pytest.mark.anyio
async def test_a_host_that_cannot_have_a_reaper_says_once_what_that_costs(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(reaper.sys, "executable", f"{tmp_path}/gone")
    monkeypatch.setattr(reaper, "has_interpreter", lambda: True)
    reaper._tell_unguarded.cache_clear()
    for _ in range(2):
        assert await reaper.Reaper.start("nobody", 0.1, tmp_path) is None
    assert [one.message for one in caplog.records] == [
        "If this process is killed, its child processes may go on: the reaper cannot be started "
        "(No such file or directory)."
    ]
