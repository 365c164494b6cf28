"""However a process ends, nothing that it started is left: the rows of the table of signals, groups and orphans."""

import asyncio
import dataclasses
import inspect
import os
import signal
import sys
from contextlib import suppress

import anyio
import anyio.lowlevel
import psutil
import pytest

from ohm_subagents.shell.pipes import Outlet
from ohm_subagents.shell.process import Child, Supervisor

pytestmark = pytest.mark.anyio

GRACE_S = 0.1
NEVER_S = 1000
POLITE = "trap 'exit 143' TERM; echo up; while :; do sleep 1000 & wait; done"
DEAF = "trap '' TERM HUP; echo up; while :; do sleep 1000; done"
BACKGROUND = "sleep 1000 & echo up"
OWN_SESSION = "setsid sleep 1000 & echo up"
DAEMON = "setsid -f sleep 1000; echo up"
DEAF_DAEMON = "setsid -f sh -c \"trap '' TERM; while :; do sleep 1000; done\"; echo up"
DOUBLE_FORK = f"""{sys.executable} -c "
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    print('up', flush=True)
    os._exit(0)
os.wait()
" """
# Each lives for about a millisecond, and is gone before whoever saw it can say so. It ends by itself after a while.
CHAIN = f"""{sys.executable} -c "
import os, time
if os.fork():
    print('up', flush=True)
    os._exit(0)
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
" """
LEAVERS = {
    "a background job": BACKGROUND,
    "a session of its own": OWN_SESSION,
    "a daemon": DAEMON,
    "a daemon that ignores SIGTERM": DEAF_DAEMON,
    "a daemon by two forks": DOUBLE_FORK,
    "a chain of forks": CHAIN,
}
leavers = pytest.mark.parametrize("leaver", LEAVERS.values(), ids=LEAVERS.keys())


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.slow)])
def anyio_backend(request):
    """In real time."""
    return request.param


async def up(supervisor, launch):
    """The child, once it says so."""
    child = (await supervisor.start(launch)).unwrap()
    assert await anext(child.lines()) == b"up"
    return child


# Stopped while it runs


async def test_a_process_that_goes_when_asked_is_not_waited_for(started):
    async with Supervisor.open(grace_s=NEVER_S) as supervisor:
        child = await up(supervisor, started.sh(POLITE))
        child.stop()
        ended = await child.ended()
    assert (ended.code, ended.was_stopped) == (143, True)


async def test_the_signal_is_never_an_interrupt(started):
    script = "trap 'echo INT' INT; trap 'echo HUP' HUP; trap 'echo TERM; exit 0' TERM; echo up; while :; do :; done"
    async with Supervisor.open(grace_s=NEVER_S) as supervisor:
        child = await up(supervisor, started.sh(script))
        child.stop()
        assert [line async for line in child.lines()] == [b"TERM"]
        assert (await child.ended()).code == 0


async def test_a_process_that_ignores_the_signal_is_killed(started):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(DEAF))
        child.stop()
        assert (await child.ended()).code == -signal.SIGKILL


async def test_a_frozen_process_is_killed_with_what_it_started(started):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(f"{DAEMON}; sleep 1000"))
        os.kill(child.pid, signal.SIGSTOP)
        await anyio.to_thread.run_sync(os.waitid, os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        child.stop()
        assert (await child.ended()).code == -signal.SIGKILL


@pytest.mark.sample(2)
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
@pytest.mark.parametrize("turns", [1, 2, 5, 20])
async def test_a_start_that_asyncio_cancels_is_left_at_once_and_its_process_ends(started, turns):
    """As an agent loop does that cancels the tasks of its tools: no shield holds that back."""
    gone = anyio.Event()
    launch = dataclasses.replace(started.sh(DAEMON + "; sleep 1000"), on_gone=gone.set)
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        starting = asyncio.create_task(supervisor.start(launch))
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        if starting.cancel():  # a fast machine has started it by then
            with pytest.raises(asyncio.CancelledError):
                await starting
            await gone.wait()
            assert started.left == []
    await gone.wait()
    assert started.left == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("turns", [0, 1, 2, 5, 20])
async def test_a_start_that_is_cancelled_with_all_around_it_ends_with_its_process(started, turns):
    launch = started.sh("sleep 1000")
    with anyio.CancelScope() as scope:
        async with Supervisor.open(grace_s=GRACE_S) as supervisor, anyio.create_task_group() as group:

            async def cancel():
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

            group.start_soon(cancel)
            await supervisor.start(launch)
            await anyio.sleep_forever()
    assert started.left == []


@leavers
async def test_what_a_process_started_ends_when_it_is_stopped(started, leaver):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(f"{leaver}; sleep 1000"))
        child.stop()
        await child.ended()
        assert started.left == []


@pytest.mark.sample(3)
@leavers
async def test_what_a_process_started_ends_though_it_ignores_the_signal(started, leaver):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(f"trap '' TERM; {leaver}; while :; do sleep 1000; done"))
        child.stop()
        assert (await child.ended()).code == -signal.SIGKILL
        assert started.left == []


async def test_what_has_no_environment_ends_too(started):
    """In a group and a session of its own, found as a descendant; as on a system that shows nobody's environment."""
    script = "setsid env -i sh -c 'echo $$; exec sleep 1000' & wait"
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = (await supervisor.start(started.sh(script))).unwrap()
        stray = psutil.Process(int(await anext(child.lines())))
        child.stop()
        await child.ended()
        assert not stray.is_running() or stray.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("hidden", ["OHM_SUBAGENT_RUN_ID=other setsid -f", "setsid -f env -i"])
async def test_a_daemon_that_has_lost_the_mark_ends_too(started, hidden):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = (await supervisor.start(started.sh(f"{hidden} sh -c 'echo $$; exec sleep 1000'; sleep 1000"))).unwrap()
        stray = psutil.Process(int(await anext(child.lines())))
        try:
            child.stop()
            await child.ended()
            assert not stray.is_running() or stray.status() == psutil.STATUS_ZOMBIE
        finally:
            with suppress(psutil.NoSuchProcess):
                stray.kill()


def test_stopping_does_not_wait():
    assert not inspect.iscoroutinefunction(Child.stop)


async def test_a_stop_returns_before_anything_has_happened(started):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(POLITE))
        child.stop()
        child.stop()
        assert psutil.Process(child.pid).is_running()
        await child.gone()
        assert not psutil.pid_exists(child.pid)


async def test_a_stop_after_the_end_changes_nothing(started):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = (await supervisor.start(started.sh("exit 3"))).unwrap()
        ended = await child.ended()
        child.stop()
        await child.sweep()
        assert await child.ended() == ended
        assert (ended.code, ended.was_stopped) == (3, False)


# Ended by itself


@pytest.mark.sample(3)
@leavers
async def test_what_a_process_leaves_when_it_ends_by_itself_ends(started, leaver):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(f"{leaver}; exit 3"))
        ended = await child.ended()
        assert (ended.code, ended.was_stopped) == (3, False)
        assert started.left == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
async def test_what_a_process_leaves_when_something_else_kills_it_ends(started, number):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(f"{DAEMON}; kill -STOP $$"))
        os.kill(child.pid, number)
        with suppress(ProcessLookupError):  # a kill does not wait for it to go on
            os.kill(child.pid, signal.SIGCONT)
        ended = await child.ended()
        assert (ended.code, ended.was_stopped) == (-number, False)
        assert started.left == []


async def test_the_lines_end_with_the_process_though_something_holds_its_output_open(started):
    script = "setsid -f sh -c 'while :; do echo noise; done'; echo mine; exit 3"
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = (await supervisor.start(started.sh(script))).unwrap()
        lines = [line async for line in child.lines()]
        assert b"mine" in lines
        assert (await child.ended()).code == 3


async def test_what_was_written_before_the_end_is_read_after_it(started):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = (await supervisor.start(started.sh("sleep 1000 & echo one; printf two"))).unwrap()
        await child.gone()
        assert [line async for line in child.lines()] == [b"one", b"two"]


async def test_a_process_that_takes_too_long_is_stopped(started):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(DEAF))
        ended = await child.ended(within_s=0.05)
        assert (ended.code, ended.was_stopped) == (-signal.SIGKILL, True)


async def test_a_process_that_is_quick_enough_is_not_stopped(started):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = (await supervisor.start(started.sh("read a; exit 4", prompt=b"go\n"))).unwrap()
        ended = await child.ended(within_s=NEVER_S)
        assert (ended.code, ended.was_stopped) == (4, False)


async def test_when_nothing_is_left_it_is_said_once(started):
    said = []
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        launch = started.sh(f"{DAEMON}; sleep 1000", on_gone=lambda: said.append(started.left))
        child = await up(supervisor, launch)
        assert said == []
        child.stop()
        await child.ended()
        await child.gone()
    assert said == [[]]


# Swept while it runs


@pytest.mark.sample(3)
@leavers
async def test_a_sweep_ends_what_a_process_has_left_running_but_not_the_process(started, leaver):
    held = started.cwd / "held"
    os.mkfifo(held)
    holders = Outlet(os.open(held, os.O_RDONLY | os.O_NONBLOCK))
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(f"{{ {leaver}; }} 9>held; read go; echo still here"))
        await child.sweep()
        assert await holders.read() == b"", "nobody holds it any more"
        await child.write(b"\n")
        assert [line async for line in child.lines()] == [b"still here"]
        assert (await child.ended()).code == 0


async def test_a_process_does_not_suffer_from_the_end_of_another(started):
    """Eleven of them: the marker of the first is how that of the tenth begins."""
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        children = [await up(supervisor, started.sh("echo up; read go; exit 5")) for _ in range(11)]
        first, *others = children
        await first.sweep()
        first.stop()
        await first.ended()
        for other in others:
            await other.write(b"\n")
            assert (await other.ended()).code == 5


# Leaving


async def test_leaving_ends_everything(started):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        scripts = [*LEAVERS.values(), DEAF]
        children = [await up(supervisor, started.sh(f"{script}; sleep 1000")) for script in scripts]
    assert started.left == []
    assert all([(await child.ended()).was_stopped for child in children])


async def test_leaving_ends_everything_though_it_is_cancelled(started):
    with anyio.CancelScope() as scope:
        async with Supervisor.open(grace_s=GRACE_S) as supervisor:
            await up(supervisor, started.sh(f"{DAEMON}; trap '' TERM; while :; do sleep 1000; done"))
            scope.cancel()
            await anyio.sleep_forever()
    assert started.left == []


async def test_leaving_ends_everything_though_it_is_by_an_error(started):
    async def fail():
        async with Supervisor.open(grace_s=GRACE_S) as supervisor:
            await up(supervisor, started.sh(f"{DAEMON}; sleep 1000"))
            raise LookupError

    with pytest.raises(ExceptionGroup) as raised:
        await fail()
    assert raised.group_contains(LookupError)
    assert started.left == []


async def test_a_start_that_is_cancelled_leaves_nothing(started):
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await supervisor.start(started.sh("sleep 1000"))
            await anyio.lowlevel.checkpoint()
    assert started.left == []


async def test_a_process_that_starts_while_we_leave_ends(started):
    async def start(supervisor):
        (await supervisor.start(started.sh("sleep 1000"))).unwrap()

    async with anyio.create_task_group() as group:
        async with Supervisor.open(grace_s=GRACE_S) as supervisor:
            group.start_soon(start, supervisor)
            await anyio.wait_all_tasks_blocked()
        assert started.left == []


async def test_the_reaper_goes_when_we_leave(started):
    before = {process.pid for process in psutil.Process().children()}
    async with Supervisor.open(grace_s=GRACE_S) as supervisor:
        child = await up(supervisor, started.sh(f"{BACKGROUND}; sleep 1000"))
        # By id: a process that is loading its program has no command line yet.
        (reaper,) = [each for each in psutil.Process().children() if each.pid not in {*before, child.pid}]
    assert not reaper.is_running()


async def test_nothing_stays_open_when_we_leave(started):
    async def once():
        async with Supervisor.open(grace_s=GRACE_S) as supervisor:
            child = await up(supervisor, started.sh(f"{DAEMON}; sleep 1000"))
            child.stop()
            await supervisor.start(started.command("no-such-agent"))

    await once()
    before = psutil.Process().num_fds()
    await once()
    assert psutil.Process().num_fds() == before
