"""The default store: what it keeps beside the rows, who owns what, and what it does about trouble."""

import os
import sqlite3
import sys
import threading
from contextlib import AsyncExitStack

import anyio
import pytest
from store_tasks import Clock, FullDisk, Hand, opened
from wire_samples import EVENTS

from ohm_subagents.contract import (
    Checkpointed,
    Err,
    FileChanged,
    LaunchRecord,
    Ok,
    RunEnded,
    Succeeded,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    UsageAdded,
)
from ohm_subagents.contract.usage import Usage
from ohm_subagents.store import ListedTask, Process, RetentionPolicy, TaskQuery, history_of_log
from ohm_subagents.stores.sqlite.eviction import MANY
from ohm_subagents.stores.sqlite.place import network_file_system
from ohm_subagents.stores.sqlite.stored import chunk_checksum

pytestmark = pytest.mark.anyio
FILE = "ohm.subagents.tasks.sqlite3"
DONE = (RunEnded(outcome=Succeeded(), output="done"), TaskSettled(outcome=Succeeded()))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def registry(tmp_path, clock):
    """Opens the store in this test's directory."""

    def open_it(*, fault_point=lambda _step: None, **policy):
        return opened("sqlite", tmp_path, clock, policy=RetentionPolicy(**policy), fault_point=fault_point)

    return open_it


def tables(tmp_path, statement, *values):
    connection = sqlite3.connect(tmp_path / FILE)
    try:
        found = connection.execute(statement, values).fetchall()
        connection.commit()
    finally:
        connection.close()
    return found


async def test_a_whole_task_comes_back_as_it_was(registry, clock):
    async with registry() as store:
        events = (
            ThinkingDelta(text="hm"),
            TextDelta(text="a"),
            UsageAdded(usage=Usage(requests=1, input_tokens=5, tool_calls=1)),
            ToolStarted(call_id="c", tool="write", args="f"),
            FileChanged(path="f"),
            ToolEnded(call_id="c", tool="write", status="success"),
            TextDelta(text="b"),
            Checkpointed(state='{"messages": []}'),
        )
        before = Hand(store, clock).settled("task_1", *events)
    async with registry() as store:
        after = store.get("task_1").ok_value
        assert (after.text, after.activity.files, after.activity.checkpoint) == ("a\n\nb", ("f",), '{"messages": []}')
        assert after.activity.usage == before.activity.usage
        assert after == before


async def test_streamed_events_are_in_the_log_and_do_not_touch_the_index(registry, clock, tmp_path):
    async with registry() as store:
        task = Hand(store, clock).started("task_1")
        await store.flush()
        before = tables(tmp_path, "SELECT * FROM tasks")
        Hand(store, clock).tell(task, *(TextDelta(text=f"{number} ") for number in range(1000)))
        await store.flush()
        assert tables(tmp_path, "SELECT * FROM tasks") == before
        log = b"".join(lines for (lines,) in tables(tmp_path, "SELECT lines FROM events ORDER BY n"))
        assert log.count(b"\n") < 100
        assert [one.event.text for one in history_of_log(log)[2:]] == [f"{number} " for number in range(1000)]


@pytest.mark.parametrize("event", [one for one in EVENTS if one.kind != "sang"], ids=lambda event: event.kind)
async def test_whatever_happens_to_a_task_others_list_it_as_it_is_then(registry, clock, event):
    async with registry() as store, registry() as other:
        task = Hand(store, clock).started("task_1")
        await store.flush()
        clock.now += 1000
        task = Hand(store, clock).tell(task, event)
        await store.flush()
        assert [*other.list(TaskQuery())] == [Ok(ListedTask.of(task))]


async def test_lines_of_a_later_version_cost_themselves_only(registry, clock, tmp_path):
    async with registry() as store:
        Hand(store, clock).settled("task_1", TextDelta(text="whole"))
    ((seq, lines),) = tables(tmp_path, "SELECT task, lines FROM events")
    lines = lines.replace(b'{"at_ms"', b'{"at_ms":1,"kind":"telepathy"}\n{"at_ms"', 1)
    lines = lines.replace(b'"status":"queued"', b'"status":"queued","mood":"fine"')
    tables(tmp_path, "UPDATE events SET lines = ?, checksum = ?", lines, chunk_checksum(seq, 1, lines))
    async with registry() as store:
        assert store.get("task_1").ok_value.text == "whole"


async def test_each_task_comes_back_with_the_launch_record_that_it_had(registry, clock):
    finder, worker = (LaunchRecord(profile=each, instructions="", backend="none") for each in ("finder", "worker"))
    had = [finder, finder, worker, None, worker, finder]
    async with registry() as store:
        for number, launch in enumerate(had):
            Hand(store, clock).settled(f"task_{number}", launch=launch)
    async with registry() as store:
        assert [task.launch for task in store.tasks()] == had


async def test_a_large_output_leaves_with_its_task_and_lies_in_no_other_file(registry, clock, tmp_path):
    large = "ä" * 300_000
    async with registry(max_entries=1) as store:
        Hand(store, clock).settled("task_1", TextDelta(text="t"), output=large)
    async with registry(max_entries=1) as store:
        assert store.get("task_1").ok_value.output == large
        Hand(store, clock).new("task_2")
    assert tables(tmp_path, "SELECT count(*) FROM events") == [(1,)]
    assert not (tmp_path / "ohm.subagents.tasks").exists()


async def test_a_conversation_that_is_too_long_is_not_kept_and_that_is_told(registry, clock):
    async with registry() as store:
        Hand(store, clock).settled("task_1", Checkpointed(state="x" * 5_000_000))
        await store.flush()
        (told,) = store.diagnostics
        assert "The conversation of task 'task_1' is longer than 4194304 characters" in told.message
    async with registry() as store:
        assert store.get("task_1").ok_value.activity.checkpoint is None


async def test_a_task_that_was_taken_away_is_never_overwritten(registry, clock, tmp_path):
    async with registry() as store:
        task = Hand(store, clock).started("task_1")
        await store.flush()
        tables(tmp_path, "UPDATE tasks SET owner = 99, status = 'failed', ended_ms = 1000001")
        Hand(store, clock).tell(task, *DONE)
        await store.flush()
        assert tables(tmp_path, "SELECT owner, status FROM tasks") == [(99, "failed")]
        (told,) = store.diagnostics
        assert told.message.startswith("Task 'task_1' belongs to another process now")


async def test_stores_that_share_a_file_give_different_ids_and_a_slot_is_used_again(registry):
    async with registry() as first:
        async with registry() as second, registry() as third:
            assert [store.first_sequence for store in (first, second, third)] == [1, 1_000_001, 2_000_001]
        async with registry() as fourth:
            assert fourth.first_sequence == 1_000_001


async def test_two_stores_see_each_other(registry, clock):
    async with registry() as one, registry() as other:
        task = Hand(one, clock).started("task_1", TextDelta(text="hi"))
        await one.flush()
        assert other.get("task_1").ok_value == task
        assert (one.is_foreign("task_1"), other.is_foreign("task_1")) == (False, True)
        Hand(one, clock).tell(task, *DONE)
        await one.flush()
        assert other.get("task_1").ok_value.output == "done"
        assert not other.is_foreign("task_1")


async def test_the_last_word_of_an_owner_that_leaves_while_we_look_counts(registry, clock, monkeypatch):
    async with AsyncExitStack() as leaving, registry() as other:
        one = await leaving.enter_async_context(registry())
        hand = Hand(one, clock)
        hand.started("task_1")
        await one.flush()
        is_alive = other._neighbours.is_alive

        def meanwhile(owner):
            hand.tell(one.get("task_1").ok_value, *DONE)
            one.close()
            return is_alive(owner)

        monkeypatch.setattr(other._neighbours, "is_alive", meanwhile)
        assert [(task.status, task.output) for task in other.tasks()] == [("succeeded", "done")]
        assert other.diagnostics == ()


@pytest.mark.parametrize(("age_s", "status"), [(20, "running"), (40, "failed")])
async def test_an_owner_on_another_machine_is_dead_when_it_is_silent(registry, clock, tmp_path, age_s, status):
    from ohm_subagents.stores.sqlite.owners import wall_clock_ms

    async with registry() as store:
        Hand(store, clock).started("task_1")
        await store.flush()
        heard_ms = wall_clock_ms() - age_s * 1000
        tables(tmp_path, "UPDATE owners SET boot = 'elsewhere', heartbeat_ms = ?", heard_ms)
        async with registry() as other:
            assert other.get("task_1").ok_value.status == status


def test_a_process_is_told_from_a_later_one_with_its_number():
    from dataclasses import replace

    here = Process.current()
    assert here.is_seen_here
    assert here.is_running()
    assert not replace(here, started="0").is_running()
    assert not replace(here, boot="another machine").is_seen_here


def test_a_process_that_its_parent_has_not_collected_is_dead():
    import subprocess
    import sys

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        from ohm_subagents._store.processes import _started

        process = Process.current()
        living = Process(pid=child.pid, started=_started(child.pid), boot=process.boot, namespace=process.namespace)
        assert living.is_running()
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not living.is_running()


async def test_an_idle_store_says_that_it_lives(registry, tmp_path, monkeypatch):
    from ohm_subagents.stores.sqlite import writer

    monkeypatch.setattr(writer, "HEARTBEAT_S", 0.01)
    is_read, beats, beaten = threading.Event(), [], threading.Event()

    def fault_point(step):
        if step == "after commit" and is_read.is_set():
            beats.append(step)
            if len(beats) == 2:  # the first one may have been written before it was read
                beaten.set()

    async with registry(fault_point=fault_point):
        ((before,),) = tables(tmp_path, "SELECT heartbeat_ms FROM owners")
        is_read.set()
        assert beaten.wait(10)
        ((after,),) = tables(tmp_path, "SELECT heartbeat_ms FROM owners")
        assert after > before


async def test_an_owner_that_was_taken_for_dead_comes_back(registry, tmp_path, monkeypatch):
    from ohm_subagents.stores.sqlite import writer

    monkeypatch.setattr(writer, "HEARTBEAT_S", 0.01)
    forgotten, beaten = threading.Event(), threading.Event()

    def fault_point(step):
        if step == "after commit" and forgotten.is_set():
            beaten.set()

    async with registry(fault_point=fault_point):
        tables(tmp_path, "DELETE FROM owners")
        forgotten.set()
        assert beaten.wait(10)
        assert tables(tmp_path, "SELECT count(*) FROM owners") == [(1,)]
    assert tables(tmp_path, "SELECT count(*) FROM owners") == [(0,)]


async def test_a_disk_that_is_too_slow_costs_little_memory_and_no_event(registry, clock, monkeypatch):
    from ohm_subagents._store import writer_queue

    monkeypatch.setattr(writer_queue, "MANY", 50)
    stuck, released = threading.Event(), threading.Event()

    def fault_point(step):
        if step == "before commit" and is_slow:
            stuck.set()
            assert released.wait(10)

    is_slow, pieces = False, [f"{number} " for number in range(2000)]
    async with registry(fault_point=fault_point) as store:
        is_slow = True
        hand = Hand(store, clock)
        task = hand.started("task_1", TextDelta(text="first "))
        assert stuck.wait(10)
        task = hand.tell(task, *(TextDelta(text=piece) for piece in pieces))
        assert len(store._queue._batch.changes["task_1"].entries) <= 100
        released.set()
        await store.flush()
        task = hand.tell(task, TextDelta(text="last"), *DONE)
    async with registry() as store:
        after = store.get("task_1").ok_value
        assert after.text == "first " + "".join(pieces) + "last"
        assert after.activity.events == task.activity.events
        assert after.activity.event_total == task.activity.event_total == 2002
        assert len(await store.history(after)) == 2 + 2002 + 2


async def test_all_who_flush_in_one_turn_of_the_event_loop_wait_for_one_transaction(registry, clock, monkeypatch):
    from ohm_subagents._store import writer_queue

    steps, commits = [], 0
    monkeypatch.setattr(writer_queue, "LINGER_S", 60)  # or a slow turn has one more
    async with registry(fault_point=steps.append) as store:
        hand, known = Hand(store, clock), steps.count("after commit")

        async def kept(number):
            nonlocal commits
            hand.settled(f"task_{number}")
            await store.flush()
            commits = steps.count("after commit") - known

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(kept, number)
    assert commits == 1


async def test_a_write_that_fails_is_told_and_made_good_later(registry, clock, tmp_path):
    disk = FullDisk()
    async with registry(fault_point=disk) as store:
        disk.is_full.set()
        Hand(store, clock).settled("task_1")
        await store.flush()
        (told,) = store.diagnostics
        assert "database or disk is full" in told.message
        assert store.get("task_1").ok_value.output == "done"
        assert tables(tmp_path, "SELECT count(*) FROM tasks") == [(0,)]
        disk.is_full.clear()
        Hand(store, clock).settled("task_2")
        await store.flush()
        assert tables(tmp_path, "SELECT id FROM tasks ORDER BY seq") == [("task_1",), ("task_2",)]
        assert store.diagnostics == ()


async def test_more_tasks_leave_at_once_than_a_statement_of_sqlite_takes_values(registry, clock, tmp_path, monkeypatch):
    connect, disk = sqlite3.connect, FullDisk()

    def limited(*where, **options):
        connection = connect(*where, **options)
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
        return connection

    monkeypatch.setattr(sqlite3, "connect", limited)
    async with registry(fault_point=disk, max_entries=1) as store:
        disk.is_full.set()
        for number in range(1_100):
            Hand(store, clock).settled(f"task_{number}")
        await store.flush()
        disk.is_full.clear()
        Hand(store, clock).settled("task_last")
        await store.flush()
        assert store.diagnostics == ()
    assert tables(tmp_path, "SELECT id FROM tasks") == [("task_last",)]


async def test_what_is_never_written_is_told_by_its_name_at_the_end(registry, clock):
    disk = FullDisk()
    async with registry(fault_point=disk) as store:
        disk.is_full.set()
        Hand(store, clock).settled("task_1")
        Hand(store, clock).settled("task_2")
    assert [told.message for told in store.diagnostics] == [
        "2 task(s) were never written and are gone with this process: task_1, task_2.",
        "Tasks could not be written and are kept in memory until they can: database or disk is full.",
    ]


async def test_histories_that_are_read_at_once_are_each_that_of_its_task(registry, clock, restless):
    """From Python 3.12 on two threads that ask one connection the same at once may get each other's rows."""
    names = [f"task_{number}" for number in range(20)]
    async with registry() as store:
        for name in names:
            Hand(store, clock).settled(name, *[TextDelta(text=f"{name} ")] * 50)
    async with registry() as store, anyio.create_task_group() as readers:

        async def read(name):
            for _ in range(15):
                history = await store.history(store.get(name).ok_value)
                assert {one.event.text for one in history if isinstance(one.event, TextDelta)} == {f"{name} "}
                followed, _ = await store.log.after(name, 0)
                assert followed == history

        for name in names:
            readers.start_soon(read, name)


@pytest.fixture
def restless():
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


async def test_a_list_reads_as_many_rows_as_it_shows(registry, clock):
    async with registry() as store:
        for number in range(50):
            Hand(store, clock).settled(f"task_{number}")
        await store.flush()
        read = []
        store._reader._connection.set_progress_handler(lambda: read.append(1), 20)
        shown = [found.ok_value.id for found, _ in zip(store.list(TaskQuery()), range(2), strict=False)]
        few = len(read)
        assert shown == ["task_49", "task_48"]
        assert store.count(TaskQuery(status="succeeded", profile="Finder", session="session_1")) == 50
        assert store.count(TaskQuery(profile="oracle")) == 0
        assert [found.ok_value.id for found in store.list(TaskQuery(id_part="task_4"))][-1] == "task_4"
        assert len([*store.list(TaskQuery())]) == 50
        assert few < len(read) / 20


async def test_the_tasks_of_a_call_are_found_without_a_look_at_each_other(registry, clock, monkeypatch):
    async with registry() as store:
        for number in range(50):
            Hand(store, clock).settled(f"task_{number}", call=f"call_{number % 25}")
        await store.flush()
        looks = []
        monkeypatch.setattr(
            store._loader, "listed", lambda row, look=store._loader.listed: looks.append(row) or look(row)
        )
        assert [found.ok_value.id for found in store.list(TaskQuery(call="call_3"))] == ["task_28", "task_3"]
        assert len(looks) == 2


async def test_a_list_reads_no_answers(registry, clock):
    async with registry() as store:
        Hand(store, clock).settled("task_1", TextDelta(text="word "), output="word " * 50_000)
    async with registry() as store:
        asked = []
        store._reader._connection.set_trace_callback(asked.append)
        (listed,) = store.list(TaskQuery())
        assert listed.ok_value.description == "look"
        assert not [statement for statement in asked if "events" in statement]


async def test_a_file_that_is_no_database_is_kept_beside_a_new_one(registry, clock, tmp_path):
    (tmp_path / FILE).write_text("this is no database, whatever its name says" * 100)
    async with registry() as store:
        (told,) = store.diagnostics
        assert told.message == f"Recovered corrupt task registry: {tmp_path / FILE}.corrupt-1000000"
        Hand(store, clock).settled("task_1")
    async with registry() as store:
        assert isinstance(store.get("task_1"), Ok)


async def test_a_file_of_a_later_version_is_left_alone(registry, tmp_path):
    async with registry():
        pass
    tables(tmp_path, "PRAGMA user_version = 99")
    async with registry() as store:
        (told,) = store.diagnostics
        assert "it has version 99, and this version of the library knows 7" in told.message
        assert store.place is None


async def test_a_task_of_which_this_version_understands_nothing_costs_itself(registry, clock, tmp_path):
    async with registry() as store:
        for number in range(3):
            Hand(store, clock).settled(f"task_{number}")
    ((seq, lines),) = tables(
        tmp_path, "SELECT seq, lines FROM events JOIN tasks ON task = seq WHERE tasks.id = 'task_1'"
    )
    lines = lines.replace(b'"task-routed"', b'"telepathy"')
    tables(
        tmp_path, "UPDATE events SET lines = ?, checksum = ? WHERE task = ?", lines, chunk_checksum(seq, 1, lines), seq
    )
    async with registry() as store:
        assert [task.id for task in store.tasks()] == ["task_0", "task_2"]
        assert "Task 'task_1' cannot be read" in store.get("task_1").err_value.message


async def test_a_snapshot_file_is_taken_in_once(registry, clock, tmp_path):
    async with opened("snapshot", tmp_path, clock) as snapshot:
        Hand(snapshot, clock).settled("task_1", TextDelta(text="told"), output="kept")
        Hand(snapshot, clock).started("task_2")
        await snapshot.flush()
        left = (tmp_path / "ohm.subagents.tasks.json").read_bytes()
    (tmp_path / "ohm.subagents.tasks.json").write_bytes(left)
    async with registry() as store:
        one, two = store.tasks()
        assert (one.output, one.text, one.status) == ("kept", "told", "succeeded")
        assert str(two.error.code) == "task_rehydrated_incomplete"
        assert store.diagnostics[-1].message == f"Imported 2 task(s) from '{tmp_path / 'ohm.subagents.tasks.json'}'."
        assert (tmp_path / "ohm.subagents.tasks.json").read_bytes() == left
    async with registry() as store:
        assert [task.text for task in store.tasks()] == ["told", ""]
        assert store.count() == 2
        assert store.diagnostics == ()


async def test_a_snapshot_that_is_in_use_keeps_its_running_tasks(registry, clock, tmp_path):
    async with opened("snapshot", tmp_path, clock) as snapshot:
        Hand(snapshot, clock).settled("task_1")
        Hand(snapshot, clock).started("task_2")
        await snapshot.flush()
        async with registry() as store:
            assert [task.id for task in store.tasks()] == ["task_1"]


MOUNTS = """\
22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:40 / /home/me/far\\040away rw - nfs4 server:/x rw
31 22 0:41 / /mnt/c rw - 9p drvfs rw
32 22 0:42 / /mnt/ssh rw - fuse.sshfs me@there rw
33 22 0:43 / /mnt/fast rw - fuse.portal x rw
34 30 0:44 / /home/me/far\\040away/near rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/.pi/agent", None),
        ("/home/me/far away/.pi", "nfs4"),
        ("/home/me/far away/near/.pi", None),
        ("/mnt/c/Users", "9p"),
        ("/mnt/ssh", "fuse.sshfs"),
        ("/mnt/fast/x", None),
    ],
)
def test_a_network_file_system_is_seen(tmp_path, path, kind):
    from pathlib import Path

    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert network_file_system(Path(path), mounts) == kind


async def test_on_a_network_file_system_no_shared_memory_is_used(registry, clock, tmp_path, monkeypatch):
    from ohm_subagents.stores.sqlite import opening

    monkeypatch.setattr(opening, "network_file_system", lambda _path: "nfs4")
    async with registry() as store, registry() as other:
        Hand(store, clock).settled("task_1")
        await store.flush()
        assert other.get("task_1").ok_value.output == "done"
        assert tables(tmp_path, "PRAGMA journal_mode") == [("delete",)]
        assert not (tmp_path / f"{FILE}-shm").exists()
        assert "nfs4" in store.diagnostics[0].message


async def test_the_disk_is_waited_for_when_asked(tmp_path, clock):
    for sync, level in (("normal", 1), ("full", 2)):
        async with opened("sqlite", tmp_path, clock, sync=sync) as store:
            assert store._writer._connection.execute("PRAGMA synchronous").fetchone() == (level,)


async def test_tasks_in_memory_are_few_however_many_there_were(registry, clock):
    async with registry(max_entries=1000) as store:
        for number in range(500):
            Hand(store, clock).settled(f"task_{number}")
            if not number % 50:
                await store.flush()
        await store.flush()
        Hand(store, clock).settled("task_last")
        assert len(store.recent()) <= 129
        assert store.get("task_0").ok_value.output == "done"
        assert len([*store.tasks()]) == 501


async def test_a_file_that_may_not_be_written_costs_the_durability_only(registry, tmp_path, monkeypatch):
    async with registry():
        pass
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anything
    async with registry() as store:
        (told,) = store.diagnostics
        assert "it may not be written" in told.message


async def test_what_makes_room_is_gone_at_once_and_leaves_the_file_many_at_a_time(tmp_path, registry, clock):
    rows = "SELECT count(*) FROM tasks"
    async with registry(max_entries=2) as store:
        for number in range(MANY + 1):
            Hand(store, clock).settled(f"task_{number}")
            await store.flush()
        assert [task.id for task in store.tasks()] == [f"task_{MANY - 1}", f"task_{MANY}"]
        assert store.count() == 2
        assert tables(tmp_path, rows) == [(MANY + 1,)]
        Hand(store, clock).settled("task_last")
        await store.flush()
        assert store.count() == 2
    assert tables(tmp_path, rows) == [(2,)]
    assert tables(tmp_path, "SELECT count(*) FROM tombstones") == [(MANY,)]


async def after_writes(store):
    """Write more often than there are steps in which what is too much is removed."""
    for _ in range(6):
        store.control.withdraw("none")
        await store.flush()


async def test_a_file_with_too_much_is_within_its_limits_soon_whatever_is_past_its_time(registry, clock):
    async with registry(max_entries=10_000) as store:
        for number in range(1300):
            clock.now += 1000 * (number == 300)
            Hand(store, clock).settled(f"task_{number}")
    async with registry(retention_ms=1000, max_entries=200) as store:
        await after_writes(store)
        assert store.count() == 200


async def test_more_than_a_step_that_was_hidden_makes_room_soon(tmp_path, registry, clock):
    async with registry(retention_ms=1000, max_entries=10_000) as store:
        for number in range(1300):
            Hand(store, clock).settled(f"task_{number}")
        await store.flush()
        clock.now += 1000
    async with registry(retention_ms=1000, max_entries=10_000) as store:
        await after_writes(store)
    assert tables(tmp_path, "SELECT count(*) FROM tasks WHERE expired_ms IS NULL") == [(0,)]
    async with registry(retention_ms=1000, max_entries=200) as store:
        await after_writes(store)
        assert tables(tmp_path, "SELECT count(*) FROM tasks") == [(200,)]


async def test_what_has_made_room_does_not_come_back_while_it_leaves_the_file(tmp_path, registry, clock):
    async with registry(max_entries=2) as store:
        for number in range(MANY + 1):
            Hand(store, clock).settled(f"task_{number}")
            await store.flush()
        listed = store.list(TaskQuery())
        shown = [next(listed).ok_value.id]
        for task_id in ("task_more", "task_last"):
            Hand(store, clock).settled(task_id)
            await store.flush()
        assert tables(tmp_path, "SELECT count(*) FROM tasks") < [(MANY,)]
        shown += [one.ok_value.id for one in listed]
        assert shown == [f"task_{MANY}", f"task_{MANY - 1}"]  # as when it was asked


async def test_the_oldest_goes_first_though_another_process_has_removed_what_leaves(registry, clock):
    async with registry(max_entries=3) as store:
        for number in range(12):
            clock.now += 1
            Hand(store, clock).settled(f"task_{number:02}")
            await store.flush()
            if number == 5:  # the oldest three leave
                async with registry(max_entries=3):
                    pass
        gone = [f"task_{number:02}" for number in range(12) if isinstance(store.get(f"task_{number:02}"), Err)]
    assert gone == [f"task_{number:02}" for number in range(len(gone))]
    assert len(gone) > 3


async def test_a_task_that_made_room_may_come_back_under_its_id(registry, clock):
    async with registry(max_entries=1) as store:
        for task_id in ("task_1", "task_2", "task_1"):
            Hand(store, clock).settled(task_id)
            await store.flush()
        assert [task.id for task in store.tasks()] == ["task_1"]
        assert store.get("task_2").err_value.message.endswith("evicted by capacity policy after reaching max 1 tasks")


async def test_what_is_past_its_time_is_hidden_in_the_file_at_the_end(tmp_path, registry, clock):
    async with registry(retention_ms=100) as store:
        Hand(store, clock).settled("task_1")
        clock.now += 100
        Hand(store, clock).settled("task_2")
    assert tables(tmp_path, "SELECT id FROM tasks WHERE expired_ms IS NULL") == [("task_2",)]
