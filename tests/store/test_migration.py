"""Registries of earlier versions are brought up to date.

Version 3 had a row of JSON a task, with transcripts and large outputs in files beside it; version 4 the log of today
and no column of what lists show. `export.jsonl` is what that version exported, without what the export leaves out.
"""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from store_tasks import Clock, Hand, opened

from ohm_subagents._store.records import task_from_json, task_to_json
from ohm_subagents.cli.export import task_fields
from ohm_subagents.cli.reading import event_fields
from ohm_subagents.contract import Ok
from ohm_subagents.store import ListedTask, TaskQuery

pytestmark = pytest.mark.anyio
VERSION_3 = Path(__file__).with_name("registry_version_3")
VERSION_4 = Path(__file__).with_name("registry_version_4")
FILE = "ohm.subagents.tasks.sqlite3"
TOO_FAST = "task_fast"
"""Its transcript was not as fast as its events: it says what some of them added up to."""


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def clock():
    return Clock(2_000_000)


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(VERSION_3, tmp_path / "registry")
    return tmp_path / "registry"


@pytest.fixture
def with_log(tmp_path):
    shutil.copytree(VERSION_4, tmp_path / "with_log")
    return tmp_path / "with_log"


def expected(version=VERSION_3):
    """Return the exported tasks, with what fields that are newer than the version have for its events and runs."""
    lines = (json.loads(line) for line in (version / "export.jsonl").read_text().splitlines())
    found = {line["task_id"]: line for line in lines if line["task_id"] != "task_damaged"}
    for event in (event for line in found.values() for event in line["events"]):
        if event["kind"] == "diagnostic_raised":
            event["diagnostic"] = {"advice": "", **event["diagnostic"]}
        elif event["kind"] == "route_resolved":
            event |= {"served_model": "", "program": "", "program_version": ""}
        elif event["kind"] == "request_held":
            event |= {"wait_s": None, "status": None}
    for run in (run for line in found.values() for key in ("runs", "inherited_runs") for run in line.get(key) or ()):
        run["checked"] = None
    return found


async def exported(store):
    found = {}
    for task in store.tasks():
        fields = task_fields(task, [event_fields(one) for one in await store.history(task)])
        activity = task.activity
        fields |= {"checkpoint": activity.checkpoint, "text": task.text, "event_total": activity.event_total}
        fields |= {"files": [*activity.files], "diagnostics": [each.message for each in task.diagnostics]}
        found[task.id] = json.loads(json.dumps(fields).encode(errors="replace"))
    return found


async def test_every_task_is_what_it_was_also_when_it_is_read_again(folder, clock):
    for _ in range(2):
        async with opened("sqlite", folder, clock) as store:
            before, after = expected(), await exported(store)
            assert [*after] == [*before]
            for task_id, fields in before.items():
                if task_id == TOO_FAST:
                    del fields["events"], after[task_id]["events"]
                assert after[task_id] == fields, task_id
            Hand(store, clock).settled("task_new")
            assert store.get("task_new").ok_value.output == "done"
            await store.flush()
        with sqlite3.connect(folder / FILE) as tables:
            tables.execute("DELETE FROM tasks WHERE id = 'task_new'")
        tables.close()


async def test_text_of_events_that_were_not_written_one_by_one_is_in_the_history(folder, clock):
    async with opened("sqlite", folder, clock) as store:
        task = store.get(TOO_FAST).ok_value
        told = [one.event for one in await store.history(task)]
        assert "".join(event.text for event in told if event.kind == "text_delta") == "first " + "".join(
            f"{number} " for number in range(300)
        )
        assert task.activity.event_total == 304
        assert [event.kind for event in told[:6]] == [
            *("task_queued", "run_started", "tool_started", "tool_updated", "tool_ended", "text_delta")
        ]


async def test_what_is_damaged_or_gone_is_told_as_before_and_the_files_are_taken_in(folder, clock):
    async with opened("sqlite", folder, clock) as store:
        aside = folder / "ohm.subagents.tasks" / "task_damaged.damaged.json"
        assert [one.message for one in store.diagnostics] == [
            f"Task 'task_damaged' cannot be read: its row is damaged, it is not what was written."
            f" It was put aside: '{aside}'.",
            *(
                f"Task '{task_id}' restored from non-terminal '{status}' state and marked failed"
                for task_id, status in (("task_lost", "running"), ("task_waiting", "queued"))
            ),
        ]
        assert json.loads(aside.read_text())["id"] == "task_damaged"
        for task_id, why in (
            ("task_evicted", "evicted by capacity policy after reaching max 12 tasks"),
            ("task_never_began", "expired by retention policy after 100ms"),
        ):
            assert store.get(task_id).err_value.message == f"Task id '{task_id}' {why}"
        assert store.count() == 10
        assert [task.id for task in store.session("session_1")][:3] == [
            "task_succeeded",
            "task_follow_ups",
            "task_resumed",
        ]
        assert [path.name for path in aside.parent.iterdir()] == ["task_damaged.damaged.json"]
    clock.now = 1_400_000
    async with opened("sqlite", folder, clock) as store:
        assert store.get("task_never_began").ok_value.status == "cancelled"


async def test_while_a_process_of_that_version_works_with_the_file_it_is_left_alone(folder, clock):
    from ohm_subagents.store import Process

    with sqlite3.connect(folder / FILE) as tables:
        here = Process.current()
        values = (here.pid, here.started, here.boot, here.namespace)
        tables.execute("UPDATE owners SET pid = ?, started = ?, boot = ?, namespace = ?", values)
    tables.close()
    async with opened("sqlite", folder, clock) as store:
        assert store.place is None
        (told,) = store.diagnostics
        assert "a process with an earlier version of the library works with it" in told.message
    with sqlite3.connect(folder / FILE) as tables:
        assert tables.execute("PRAGMA user_version").fetchone() == (3,)
    tables.close()
    assert (folder / "ohm.subagents.tasks" / "task_succeeded.jsonl").exists()


async def test_of_a_damaged_file_of_that_version_what_can_be_read_is_saved(folder, clock):
    content = bytearray((folder / FILE).read_bytes())
    page = content.index(b"task_cancelled") // 4096
    content[page * 4096 : (page + 1) * 4096] = bytes(4096)
    (folder / FILE).write_bytes(content)
    (folder / f"{FILE}.damaged").touch()
    async with opened("sqlite", folder, clock) as store:
        told = " ".join(one.message for one in store.diagnostics)
        assert "Recovered corrupt task registry" in told
        after = await exported(store)
        assert after
        for task_id, fields in after.items():
            if task_id not in {TOO_FAST, "task_lost", "task_waiting"}:
                assert fields == expected()[task_id]


async def test_tasks_that_had_a_log_are_read_and_listed_as_they_were(with_log, clock):
    for _ in range(2):
        async with opened("sqlite", with_log, clock) as store:
            assert await exported(store) == expected(VERSION_4)
            assert [one.ok_value for one in store.list(TaskQuery()) if isinstance(one, Ok)] == [
                ListedTask.of(task) for task in reversed([*store.tasks()])
            ]
            assert store.get("task_damaged").is_err()
            why = "evicted by capacity policy after reaching max 8 tasks"
            assert store.get("task_evicted").err_value.message == f"Task id 'task_evicted' {why}"


async def test_of_a_damaged_file_with_logs_what_can_be_read_is_saved(with_log, clock):
    (with_log / f"{FILE}.damaged").touch()
    async with opened("sqlite", with_log, clock) as store:
        assert "Recovered corrupt task registry" in store.diagnostics[0].message
        after = await exported(store)
    assert after.pop("task_damaged")["output"] == "readable", "its row is made anew from its log"
    assert after == expected(VERSION_4)


async def test_a_file_with_logs_is_left_alone_while_a_process_of_that_version_works_with_it(with_log, clock):
    from ohm_subagents.store import Process

    with sqlite3.connect(with_log / FILE) as tables:
        here = Process.current()
        values = (here.pid, here.started, here.boot, here.namespace)
        tables.execute("INSERT INTO owners VALUES (99, 1, ?, ?, ?, ?, 0)", values)
    tables.close()
    async with opened("sqlite", with_log, clock) as store:
        assert "a process with an earlier version of the library works with it" in store.diagnostics[0].message
    with sqlite3.connect(with_log / FILE) as tables:
        assert tables.execute("PRAGMA user_version").fetchone() == (4,)
    tables.close()


@pytest.mark.parametrize("damage", ["answer = 'a[b'", "answer = x'00'", "given_by = x'00'"])
async def test_an_answer_of_version_6_that_is_damaged_costs_itself_only_and_is_told(tmp_path, clock, damage):
    async with opened("sqlite", tmp_path, clock) as store:
        Hand(store, clock).started("task_1")
        Hand(store, clock).settled("task_2")
    with sqlite3.connect(tmp_path / FILE) as tables:
        tables.execute("DROP TABLE commands")
        tables.execute(
            "CREATE TABLE answers (request TEXT PRIMARY KEY, answer TEXT NOT NULL, given_by TEXT NOT NULL)"
            " WITHOUT ROWID"
        )
        given = [(f"req_{number}_task_1", '{"kind": "approve"}', "me") for number in (1, 2)]
        tables.executemany("INSERT INTO answers VALUES (?, ?, ?)", given)
        tables.execute(f"UPDATE answers SET {damage} WHERE request = 'req_1_task_1'")
        tables.execute("PRAGMA user_version = 6")
    tables.close()
    async with opened("sqlite", tmp_path, clock) as store:
        assert "1 answer(s) to requests are damaged and left out: give them again." in [
            each.message for each in store.diagnostics
        ]
        assert [task.id for task in store.tasks()] == ["task_1", "task_2"]
    with sqlite3.connect(tmp_path / FILE) as tables:
        assert tables.execute("SELECT id FROM commands").fetchall() == [("req_2_task_1",)]
    tables.close()
    assert not [*tmp_path.glob("*.corrupt-*")]


async def test_a_task_that_was_written_with_a_catalogue_has_the_suite_that_the_catalogue_was_of(folder, clock):
    async with opened("sqlite", folder, clock) as store:
        task = next(store.tasks())
    written = json.loads(task_to_json(task))
    assert task_from_json(written | {"catalog": "agents"}).unwrap().assignment.suite == "delegate"
    assert task_from_json(written | {"catalog": "subagents"}).unwrap().assignment.suite == ""
