"""The documented JSON file: exact, whole, and salvaged when it is not."""

import json
from dataclasses import replace

import pytest
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import (
    AgentEnded,
    FileChanged,
    FollowUpTaken,
    Ok,
    Recorded,
    RunEnded,
    RunStarted,
    Succeeded,
    TextDelta,
)
from ohm_subagents.store import RetentionPolicy

pytestmark = pytest.mark.anyio
FILE = "ohm.subagents.tasks.json"


def entry(task_id, **changes):
    record = {
        "id": task_id,
        "subagentType": "finder",
        "description": "d",
        "prompt": "p",
        "state": "succeeded",
        "totalToolCalls": 1,
        "activeToolCalls": 0,
        "startedAtEpochMs": 999_000,
        "updatedAtEpochMs": 999_500,
        "endedAtEpochMs": 999_500,
    }
    fields = {"summary": "s", "output": f"of {task_id}", "backend": "b", "invocation": "task-routed", "events": []}
    return {"record": {**record, **changes.pop("record", {})}, **fields, **changes}


def text_of(*entries):
    return json.dumps({"schemaVersion": 1, "savedAtEpochMs": 1, "entries": entries}, indent=2)


@pytest.fixture
def file(tmp_path):
    return tmp_path / FILE


def names(folder):
    return sorted(path.name for path in folder.iterdir())


async def test_the_file_tells_of_a_running_task_and_its_follow_ups(tmp_path, file):
    clock = Clock()
    async with opened("snapshot", tmp_path, clock) as store:
        hand = Hand(store, clock)
        task = hand.started("task_1", RunEnded(outcome=Succeeded(), output="one"))
        hand.tell(task, RunStarted(prompt=" more "), FollowUpTaken(prompt="and?"))
        await store.flush()
        written = file.read_text()
        (told,) = json.loads(written)["entries"]
        assert told["record"] == {
            "id": "task_1",
            "subagentType": "finder",
            "description": "look",
            "prompt": "p",
            "state": "running",
            "totalToolCalls": 2,
            "activeToolCalls": 1,
            "startedAtEpochMs": 1_000_000,
            "updatedAtEpochMs": 1_000_000,
        }
        assert (told["output"], told["followUpPrompts"]) == ("one", ["more", "and?"])
        assert written == json.dumps(json.loads(written), indent=2) + "\n"
        assert names(tmp_path) == [FILE]


async def test_an_event_that_the_format_has_no_form_for_is_left_out(tmp_path, file):
    clock = Clock()
    async with opened("snapshot", tmp_path, clock) as store:
        task = Hand(store, clock).started("task_1", TextDelta(text="a"), AgentEnded())
        events = (*task.activity.events, Recorded(at_ms=1, event=FileChanged(path="a")))
        store.save(replace(task, activity=replace(task.activity, events=events)), FileChanged(path="a"))
        await store.flush()
        (told,) = json.loads(file.read_text())["entries"]
    assert [one["type"] for one in told["events"]] == ["assistant_text_delta", "task_terminal"]


async def test_a_run_of_the_file_has_ended_when_it_did_and_one_that_was_at_work_ends_now(tmp_path, file):
    at_work = entry("task_2", record={"state": "running", "activeToolCalls": 1, "endedAtEpochMs": None})
    file.write_text(text_of(entry("task_1"), at_work))
    async with opened("snapshot", tmp_path, Clock()) as store:
        ended = [store.get(name).ok_value.runs[-1].ended_ms for name in ("task_1", "task_2")]
    assert ended == [999_500, 1_000_000]


async def test_one_bad_entry_costs_itself_only(tmp_path, file):
    damaged = text_of(entry("t1"), entry("t2", backend=" "), 3, entry("t3"))
    file.write_text(damaged)
    async with opened("snapshot", tmp_path, Clock()) as store:
        assert [task.output for task in store.tasks()] == ["of t1", "of t3"]
        (told,) = store.diagnostics
        kept = tmp_path / f"{FILE}.corrupt-1000000"
        assert told.message.startswith(
            f"Recovered corrupt task registry snapshot: {kept}. Kept 2 task(s): 't1', 't3'. Left out 2: 't2' (backend: "
        )
        assert "an entry without an id" in told.message
        assert kept.read_text() == damaged
        assert [one["record"]["id"] for one in json.loads(file.read_text())["entries"]] == ["t1", "t3"]
    async with opened("snapshot", tmp_path, Clock()) as store:
        assert [task.id for task in store.tasks()] == ["t1", "t3"]
        assert store.diagnostics == ()


@pytest.mark.parametrize("cut", [0.55, 0.8, 0.97])
async def test_of_a_torn_file_every_whole_entry_is_saved(tmp_path, file, cut):
    entries = [entry(f"t{number}") for number in range(10)]
    whole = text_of(*entries)
    file.write_text(whole[: int(len(whole) * cut)])
    async with opened("snapshot", tmp_path, Clock()) as store:
        saved = [task.id for task in store.tasks()]
        assert saved == [f"t{number}" for number in range(len(saved))]
        assert int(10 * cut) - 1 <= len(saved) < 10
        assert f"'t{len(saved)}'" in store.diagnostics[0].message


async def test_a_damaged_entry_in_the_middle_does_not_hide_those_behind_it(tmp_path, file):
    file.write_text(text_of(entry("t1"), entry("t2"), entry("t3")).replace('"of t2"', '"of t2'))
    async with opened("snapshot", tmp_path, Clock()) as store:
        assert [task.id for task in store.tasks()] == ["t1", "t3"]
        assert "Left out 1: 't2'" in store.diagnostics[0].message


async def test_a_change_is_written_soon_without_a_flush(tmp_path, file):
    import anyio

    clock = Clock()
    async with opened("snapshot", tmp_path, clock) as store:
        Hand(store, clock).settled("task_1")
        timer = store._timer
        await anyio.to_thread.run_sync(timer.join)
        assert [one["record"]["id"] for one in json.loads(file.read_text())["entries"]] == ["task_1"]


async def test_a_second_user_of_the_file_keeps_its_tasks_in_memory_and_the_file_as_it_is(tmp_path, file):
    clock = Clock()
    async with opened("snapshot", tmp_path, clock) as first:
        Hand(first, clock).started("task_1")
        await first.flush()
        async with opened("snapshot", tmp_path, clock) as second:
            Hand(second, clock).settled("task_2")
            await second.flush()
            assert isinstance(second.get("task_2"), Ok)
            (told,) = second.diagnostics
            assert told.message == f"Tasks are kept in memory only: another process uses the snapshot in '{tmp_path}'."
        assert first.get("task_1").ok_value.status == "running"
        assert [one["record"]["id"] for one in json.loads(file.read_text())["entries"]] == ["task_1"]


async def test_what_the_file_has_no_place_for_is_not_kept(tmp_path):
    from ohm_subagents.contract import Checkpointed, UsageAdded
    from ohm_subagents.contract.usage import Usage

    clock = Clock()
    async with opened("snapshot", tmp_path, clock) as store:
        events = (UsageAdded(usage=Usage(requests=2)), Checkpointed(state="{}"), TextDelta(text="t"))
        Hand(store, clock).settled("task_1", *events, session="session_x")
    async with opened("snapshot", tmp_path, clock) as store:
        task = store.get("task_1").ok_value
        assert (task.activity.usage.requests, task.activity.checkpoint, task.session_id) == (0, None, "session_1")


async def test_a_padded_id_is_known_without_its_padding(tmp_path, file):
    file.write_text(text_of(entry(" t1 \n", output="of t1"), entry("t2")))
    async with opened("snapshot", tmp_path, Clock()) as store:
        assert store.get("t1").ok_value.output == "of t1"
        assert [task.id for task in store.tasks()] == ["t1", "t2"]


async def test_padded_texts_are_read_without_their_padding(tmp_path, file):
    padded = {"description": " Auth scan ", "prompt": "\n Trace auth \n", "subagentType": " finder "}
    file.write_text(text_of(entry("t1", record=padded)))
    async with opened("snapshot", tmp_path, Clock()) as store:
        asked = store.get("t1").ok_value.assignment
        assert (asked.description, asked.prompt, asked.profile) == ("Auth scan", "Trace auth", "finder")


@pytest.mark.parametrize("state", ["cancelled", "succeeded"])
async def test_what_a_file_tells_of_an_error_is_there_however_often_it_is_written(tmp_path, file, state):
    record = {"state": state, "lastErrorCode": "task_aborted", "lastErrorMessage": "Stopped by hand."}
    file.write_text(text_of(entry("t1", record=record), entry("t2", record={"state": "cancelled"})))
    clock = Clock()
    for number in range(2):
        async with opened("snapshot", tmp_path, clock) as store:
            one = store.get("t1").ok_value
            assert (one.status, str(one.error.code), one.error.message) == (state, "task_aborted", "Stopped by hand.")
            assert store.get("t2").ok_value.error is None
            Hand(store, clock).settled(f"task_{number}")
    record = json.loads(file.read_text())["entries"][0]["record"]
    assert (record["lastErrorCode"], record["lastErrorMessage"]) == ("task_aborted", "Stopped by hand.")


@pytest.mark.parametrize("kind", ["snapshot", "sqlite"])
async def test_of_the_events_in_the_file_the_newest_are_kept(tmp_path, file, kind):
    events = [{"type": "assistant_text_delta", "delta": f"{number} ", "atEpochMs": 999_000} for number in range(9)]
    file.write_text(text_of(entry("t1", events=events)))
    async with opened(kind, tmp_path, Clock(), policy=RetentionPolicy(max_events=3)) as store:
        task = store.get("t1").ok_value
        assert [recorded.event.text for recorded in task.activity.events] == ["6 ", "7 ", "8 "]
        assert task.activity.event_total == 9
