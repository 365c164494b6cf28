"""A sticky session is used by one call at a time, whoever else keeps it."""

import asyncio
import errno
import fcntl
import gc
import os
import threading
from functools import partial
from pathlib import Path

import anyio
import pytest
from loops import slow_on_trio
from session_holder import session_holder
from sticky_place import ASK, ID, files, found

from ohm_subagents._concurrency import file_lock
from ohm_subagents._concurrency.file_lock import locked
from ohm_subagents.suites.sticky.turns import Turns

pytestmark = pytest.mark.anyio

SESSION = ASK | {"sessionId": ID}
CANCELLED = f"**Status:** ERROR\n**Session ID:** `{ID}`\n\n---\n\nThe subagent was cancelled."


def locks(place):
    return [*(place / ".pi" / "subagent-sessions").glob("*/*.lock")]


def open_locks():
    """The lock files that this process has open, locked or not."""
    opened = (str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
    return [file for file in opened if file.removesuffix(" (deleted)").endswith(".lock")]


def lock_threads():
    return [thread for thread in threading.enumerate() if thread.name == "ohm-subagents session lock"]


async def ended(threads):
    for thread in threads:
        await anyio.to_thread.run_sync(thread.join, 30)


@slow_on_trio
async def test_a_call_waits_for_the_agent_of_another_process_and_goes_on_where_that_ended(place, opened):
    with session_holder(place, ID) as process:
        async with opened() as ohm, anyio.create_task_group() as group:
            group.start_soon(ohm.call, "subagent", SESSION | {"task": "second"})
            await anyio.wait_all_tasks_blocked()
            process.stdin.write("\n")
        assert process.wait() == 0

    assert [request.checkpoint for request in ohm.acting.requests] == ["first;"]
    assert [file.read_text() for file in files(place)] == ["first;second;"]
    assert locks(place) == []


@slow_on_trio
async def test_a_process_that_is_killed_leaves_its_session_to_the_next(place, opened):
    with session_holder(place, ID) as process:
        async with opened() as ohm, anyio.create_task_group() as group:
            group.start_soon(ohm.call, "subagent", SESSION | {"task": "second"})
            await anyio.wait_all_tasks_blocked()
            assert ohm.acting.requests == []
            process.kill()

    assert [file.read_text() for file in files(place)] == ["second;"]


@slow_on_trio
async def test_a_call_that_waits_for_another_process_hears_the_abort_and_does_not_keep_the_session(place, opened):
    abort, results = anyio.Event(), []

    async def call():
        results.append(await ohm.call("subagent", SESSION, abort=abort))

    with session_holder(place, ID) as process:
        async with opened() as ohm:
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await anyio.wait_all_tasks_blocked()
                abort.set()
            process.stdin.write("\n")
            assert process.wait() == 0
            await ohm.call("subagent", SESSION)

    assert [result.text for result in results] == [CANCELLED]
    assert [file.read_text() for file in files(place)] == ["first;Find auth;"]


@slow_on_trio
async def test_calls_that_are_broken_off_share_what_waits_for_the_other_process(place, opened):
    with session_holder(place, ID) as process:
        async with opened() as ohm:
            for _ in range(3):
                abort = anyio.Event()
                async with anyio.create_task_group() as group:
                    group.start_soon(partial(ohm.call, "subagent", SESSION, abort=abort))
                    await anyio.wait_all_tasks_blocked()
                    abort.set()
            waiting = lock_threads()
            async with opened() as other, anyio.create_task_group() as group:
                group.start_soon(ohm.call, "subagent", SESSION | {"task": "second"})
                group.start_soon(other.call, "subagent", SESSION | {"task": "second"})
                await anyio.wait_all_tasks_blocked()
                assert lock_threads() == waiting
                assert len(waiting) == 1
                assert len(open_locks()) <= 1
                process.stdin.write("\n")

    await ended(waiting)
    assert [file.read_text() for file in files(place)] == ["first;second;second;"]
    assert open_locks() == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_caller_that_asyncio_cancels_leaves_no_session_locked(opened):
    async with opened() as ohm:
        for steps in range(12):
            call = asyncio.create_task(ohm.call("subagent", SESSION))
            for _ in range(steps):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            assert open_locks() == []


async def enter(file):
    async with locked(file) as reason:
        return reason


@pytest.fixture
def others(tmp_path):
    """A lock file that somebody else has locked: what has it open is theirs."""
    file = tmp_path / "x.lock"
    with file.open("w") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield file, opened


@pytest.mark.parametrize("is_closed", [True, False])
def test_an_event_loop_that_stops_while_a_call_waits_leaves_the_session_to_others(others, is_closed):
    file, opened = others
    loop = asyncio.new_event_loop()
    call = loop.create_task(enter(file))
    while not lock_threads():
        loop.run_until_complete(asyncio.sleep(0))
    (thread,) = lock_threads()
    if is_closed:
        loop.close()
    opened.close()
    thread.join(30)
    assert not thread.is_alive()
    assert open_locks() == []
    assert anyio.run(enter, file) is None
    if not is_closed:
        assert loop.run_until_complete(call) is None
        loop.close()


@pytest.mark.slow
async def test_a_session_that_nobody_uses_any_more_is_forgotten(tmp_path):
    def known():
        gc.collect()
        return sum(isinstance(one, anyio.Lock) for one in gc.get_objects())

    turns, before = Turns(), known()
    for number in range(5):
        async with turns.turn(tmp_path / f"{number}.jsonl", None) as notes:
            assert notes == ()
    assert known() <= before


async def test_a_lock_file_that_cannot_be_looked_at_is_not_kept_locked(tmp_path, monkeypatch):
    stat = Path.stat

    def refused(path, **named):
        if path.suffix == ".lock":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return stat(path, **named)

    monkeypatch.setattr(Path, "stat", refused)
    async with locked(tmp_path / "x.lock") as reason:
        assert isinstance(reason, PermissionError)
        assert open_locks() == []


def test_a_call_whose_loop_is_closed_may_be_collected_while_another_begins_to_wait(others, monkeypatch):
    file, opened = others
    loop = asyncio.new_event_loop()
    calls = [loop.create_task(enter(file))]
    while not lock_threads():
        loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    (thread,) = lock_threads()
    opened.close()
    thread.join(30)

    class Collecting(threading.Thread):
        def start(self):
            calls.clear()
            gc.collect()
            super().start()
            taken.close()

    monkeypatch.setattr(file_lock, "Thread", Collecting)
    with file.open("w") as taken:
        fcntl.flock(taken, fcntl.LOCK_EX)
        assert anyio.run(enter, file) is None
    assert (calls, open_locks()) == ([], [])


async def test_a_wait_that_the_disk_refuses_is_over_at_once(others, monkeypatch):
    file, _ = others
    flock = fcntl.flock

    def refused(opened, how):
        if not how & fcntl.LOCK_NB:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        flock(opened, how)

    monkeypatch.setattr(fcntl, "flock", refused)
    reason = await enter(file)
    assert (reason.errno, reason.strerror) == (errno.ENOLCK, os.strerror(errno.ENOLCK))
    assert open_locks() == [str(file)], "theirs"


async def test_a_session_that_cannot_be_locked_is_used_all_the_same_and_the_caller_told(place, opened, monkeypatch):
    def refused(_opened, _how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refused)
    async with opened() as ohm:
        result = await ohm.call("subagent", SESSION)

    (file,) = files(place)
    problem = "another process may use it too: no locks available"
    assert result.details["notes"] == [f"The session file '{file}' cannot be locked, so {problem}."]
    assert result.details["finalized"]["status"] == "SUCCESS"


async def test_two_ohms_of_one_process_take_turns(place, opened):
    begun, gate = anyio.Event(), anyio.Event()

    async def slow(request, sink):
        begun.set()
        await gate.wait()
        return await found(request, sink)

    async with opened(slow) as one, opened() as other, anyio.create_task_group() as group:
        group.start_soon(one.call, "subagent", SESSION | {"task": "first"})
        await begun.wait()
        group.start_soon(other.call, "subagent", SESSION | {"task": "second"})
        await anyio.wait_all_tasks_blocked()
        gate.set()

    assert [file.read_text() for file in files(place)] == ["first;second;"]


@pytest.fixture
def held(opened):
    """An `Ohm` whose agent works until the gate is open, which is never."""
    begun = anyio.Event()

    async def endless(_request, _sink):
        begun.set()
        await anyio.sleep_forever()

    return begun, opened(endless)


async def test_a_call_that_waits_for_its_turn_hears_the_abort(held):
    begun, opening = held
    abort, results = anyio.Event(), []

    async def call():
        results.append(await ohm.call("subagent", SESSION, abort=abort))

    async with opening as ohm, anyio.create_task_group() as group:
        group.start_soon(ohm.call, "subagent", SESSION)
        await begun.wait()
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            abort.set()
        assert [result.text for result in results] == [CANCELLED]
        group.cancel_scope.cancel()


async def test_a_call_that_waits_when_the_ohm_closes_is_answered_in_the_same_shape(held):
    begun, opening = held
    results = []

    async def call():
        results.append(await ohm.call("subagent", SESSION))

    async with anyio.create_task_group() as group, opening as ohm:
        group.start_soon(call)
        await begun.wait()
        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()

    first, second = results
    assert first.text == CANCELLED
    assert second.text.startswith(f"**Status:** ERROR\n**Session ID:** `{ID}`\n\n---\n\nThis Ohm is closed")


async def test_calls_take_turns_in_their_order_where_the_disk_cannot_lock_too(place, opened, monkeypatch):
    def refused(_opened, _how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refused)
    at_work, most, gate = 0, 0, anyio.Event()

    async def slow(request, sink):
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await gate.wait()
        at_work -= 1
        return await found(request, sink)

    async with opened(slow) as ohm, anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(ohm.call, "subagent", SESSION | {"task": str(number)})
            await anyio.wait_all_tasks_blocked()
        gate.set()

    assert most == 1
    assert [file.read_text() for file in files(place)] == ["0;1;2;3;"]
