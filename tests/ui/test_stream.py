"""The news of the registry, as they come to a page that is open."""

from decimal import Decimal

import anyio
import pytest
import ui_scene
from ui_client import client_at, client_of, free_port, got, served, streamed, told, until

from ohm_subagents.contract import Usage, UsageAdded, apply

pytestmark = pytest.mark.anyio


async def test_a_task_is_watched_cancelled_and_answered(played):
    _, ids, client = played
    await check_steered(client, ids)


@pytest.mark.slow
async def test_a_task_of_another_process_is_watched_cancelled_and_answered(tmp_path):
    with ui_scene.scene_in_a_process(tmp_path) as (ids, _):
        async with ui_scene.opened(tmp_path) as ohm, client_of(ohm) as client:
            await check_steered(client, ids)


async def check_steered(client, ids):
    async with streamed(client, task=ids["lead"]) as events:
        await until(events, lambda name, _: name == "hello")
        rows = {row["id"]: row for row in (await got(client, "/api/tasks"))["tasks"]}
        assert rows[ids["asker"]]["asks"] == 1
        cancelled = await told(client, f"/api/tasks/{ids['sleeper']}/cancel")
        assert cancelled == {"message": "It is cancelled.", "task": ids["sleeper"]}
        await until(events, lambda name, data: name == "tasks" and has(data, ids["sleeper"], "cancelled"))
        (asked,) = (await got(client, f"/api/tasks/{ids['lead']}"))["requests"]
        answered = await told(client, f"/api/requests/{asked['id']}/answer", answer="approve")
        assert (answered["task"], answered["message"]) == (ids["asker"], "approved on the page")
        await until(events, lambda name, data: name == "tasks" and has(data, ids["lead"], "succeeded"))
        picture = await got(client, f"/api/tasks/{ids['lead']}")
        assert {row["id"]: row["status"] for row in picture["tree"]} == {
            ids["lead"]: "succeeded",
            ids["reader"]: "succeeded",
            ids["asker"]: "succeeded",
            ids["sleeper"]: "cancelled",
            ids["failing"]: "failed",
        }
        entries = (await got(client, f"/api/tasks/{ids['sleeper']}/transcript"))["entries"]
        assert entries[-1]["text"] == "It was cancelled on the page."
        again = await told(client, f"/api/tasks/{ids['sleeper']}/cancel")
        assert again["message"] == "It was over before: cancelled."
        closed = await told(client, f"/api/requests/{asked['id']}/answer", code=409, answer="deny")
        assert closed["error"]["code"] == "request_closed"


def has(data, task_id, status):
    return any((row["id"], row["status"]) == (task_id, status) for row in data["tasks"])


async def test_a_follow_up_to_a_settled_task_goes_on_in_another_one(played):
    _, ids, client = played
    async with streamed(client) as events:
        await until(events, lambda name, _: name == "hello")
        done = await told(client, f"/api/tasks/{ids['reader']}/send", prompt="And where is it tested?")
        assert done["task"] not in ids.values()
        await until(events, lambda name, data: name == "tasks" and has(data, done["task"], "succeeded"))
    task = (await got(client, f"/api/tasks/{done['task']}"))["task"]
    assert (task["continues"], task["origin"]) == (ids["reader"], "Finder · The reader of the batch")
    rows = {row["id"]: row for row in (await got(client, "/api/tasks"))["tasks"]}
    assert rows[done["task"]]["follow_up"] == "And where is it tested?"
    assert (rows[ids["reader"]]["continues"], rows[ids["reader"]]["follow_up"]) == (None, "")
    entries = (await got(client, f"/api/tasks/{done['task']}/transcript"))["entries"]
    assert [each["html"] for each in entries if each["kind"] == "answer"] == [
        "<p>You said: And where is it tested?</p>\n"
    ]


async def test_a_follow_up_to_a_task_that_works_is_told_later(played):
    ohm, ids, client = played
    async with streamed(client) as events:
        await until(events, lambda name, _: name == "hello")
        done = await told(client, f"/api/tasks/{ids['sleeper']}/send", prompt="Are you there?")
        assert done == {"message": "The follow-up was sent.", "task": ids["sleeper"]}
        await ohm.handle(ids["sleeper"]).cancel()
        late = await until(events, lambda name, _: name == "told")
    assert late == {"message": "It is cancelled.", "task": ids["sleeper"]}


async def test_what_is_answered_wrong_is_told(played):
    ohm, _, client = played
    (request,) = ohm.requests()
    path = f"/api/requests/{request.id}/answer"
    for body, sentence in (
        ({"answer": "text"}, "The text is missing"),
        ({"answer": "approve", "text": "yes"}, "An approval has no text"),
        ({"answer": "text", "text": "maybe"}, "The request"),
    ):
        refused = await told(client, path, code=400, **body)
        assert (refused["error"]["code"], refused["error"]["message"][: len(sentence)]) == ("invalid_answer", sentence)
    assert (await told(client, path, code=400, answer="perhaps"))["error"]["message"].startswith("'answer': ")
    assert (await told(client, "/api/requests/req_9/answer", code=404, answer="deny"))["error"]["code"]


async def test_a_tree_is_told_when_one_of_its_tasks_does_something(tmp_path):
    goes_on = anyio.Event()

    async with ui_scene.opened(tmp_path, act=speaking_after(goes_on)) as ohm, client_of(ohm) as client:
        handle = await ohm.start("finder", "speak")
        async with streamed(client, task=handle.id) as events:
            await until(events, lambda name, _: name == "hello")
            before = await got(client, f"/api/tasks/{handle.id}/transcript")
            goes_on.set()
            data = await until(events, lambda name, _: name == "tree")
            assert data == {"id": handle.id}
            await handle.wait()
            after = await got(client, f"/api/tasks/{handle.id}/transcript", after=before["next"])
    assert [each["kind"] for each in after["entries"]][-2:] == ["answer", "end"]


def speaking_after(event):
    async def act(_request, _sink):
        await event.wait()
        return "I have spoken."

    return act


async def test_a_page_goes_on_over_a_restart_and_hears_what_it_has_missed(tmp_path):
    async with ui_scene.opened(tmp_path) as ohm:
        port = free_port()
        async with served(ohm, port=port) as url, client_at(url) as client, streamed(client) as events:
            first = await until(events, lambda name, _: name == "hello")
            await ohm.run("finder", "hello")
            await until(events, lambda name, data: name == "tasks" and data["counts"]["succeeded"] == 1)
        async with served(ohm, port=port) as again, client_at(again) as client:
            assert again == url
            async with streamed(client, last_id=f"{first['server']}-1") as events:
                second = await until(events, lambda name, _: name == "hello")
    assert second["server"] != first["server"]


async def test_one_who_reads_on_is_told_what_has_happened_meanwhile(played):
    ohm, ids, client = played
    async with streamed(client) as events:
        _, _, last_id = await anext(events)
    await ohm.handle(ids["sleeper"]).cancel()
    async with streamed(client, last_id=last_id) as events:
        await until(events, lambda name, data: name == "tasks" and has(data, ids["sleeper"], "cancelled"))


async def test_a_task_that_is_kept_no_more_is_told(tmp_path):
    config = {**ui_scene.CONFIG, "taskMaxEntries": 2}
    async with ui_scene.opened(tmp_path, config=config) as ohm, client_of(ohm) as client:
        first = (await ohm.run("finder", "one")).unwrap().task_id
        async with streamed(client) as events:
            await until(events, lambda name, _: name == "hello")
            assert (await got(client, "/api/tasks"))["total"] == 1
            for prompt in ("two", "three", "four"):
                await ohm.run("finder", prompt)
            data = await until(events, lambda name, _: name == "gone")
        assert first in data["ids"]
        assert (await got(client, f"/api/tasks/{first}", code=404))["error"]["code"] == "task_expired"


async def test_what_was_used_after_the_end_is_told_to_a_page_left_open(played):
    ohm, ids, client = played
    async with streamed(client, task=ids["failing"]) as events:
        await until(events, lambda name, _: name == "hello")
        before = await got(client, f"/api/tasks/{ids['failing']}")
        late = UsageAdded(usage=Usage(requests=1, input_tokens=700, cost_usd=Decimal("0.25")))
        ohm.store.save(apply(ohm.task(ids["failing"]), late, at_ms=0), late)
        await until(events, lambda name, _: name == "tree")
    after = await got(client, f"/api/tasks/{ids['failing']}")
    assert (before["task"]["used"]["cost"], after["task"]["used"]["cost"]) == ("", "$0.2500")
    row = {row["id"]: row for row in (await got(client, "/api/tasks"))["tasks"]}[ids["failing"]]
    assert row["used"]["cost"] == "$0.2500"
