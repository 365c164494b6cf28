"""The answers of the server of `ohm ui` about tasks."""

import json

import pytest
import ui_scene
from ui_client import client_of, got, told

from ohm_subagents.contract import Approve, Deny, Err, ErrorCode, OhmError, Text, TextDelta, ToolEnded, ToolStarted
from ohm_subagents.ui.words import answered_words

pytestmark = pytest.mark.anyio


async def test_the_list_has_all_tasks_below_their_lead_with_their_numbers(played):
    _, ids, client = played
    page = await got(client, "/api/tasks")
    assert [page["total"], page["kept"], page["tasks"][0]["id"]] == [5, 5, ids["lead"]]
    assert [row["depth"] for row in page["tasks"]] == [0, 1, 1, 1, 1]
    assert page["counts"] == {
        "queued": 0,
        "running": 3,
        "succeeded": 1,
        "failed": 1,
        "cancelled": 0,
        "asking": 1,
        "stuck": 0,
    }
    assert (await got(client, f"/api/tasks/{ids['lead']}"))["counts"] == page["counts"]
    assert page["profiles"] == ["finder", "oracle", "task"]
    assert page["used"]["cost"] == "$0.0052"
    rows = {row["id"]: row for row in page["tasks"]}
    assert rows[ids["asker"]]["asks"] == 1
    assert rows[ids["lead"]]["tree"]["requests"] == 2
    assert {row["id"]: row["below"] for row in page["tasks"] if row["below"]} == {ids["lead"]: 4}
    assert {row["id"]: row["open_below"] for row in page["tasks"] if row["open_below"]} == {ids["lead"]: 2}
    assert rows[ids["sleeper"]]["where"].startswith("pid ")
    assert rows[ids["reader"]]["where"] == ""


async def test_the_list_tells_what_each_task_does_and_why_one_has_failed(played):
    _, ids, client = played
    rows = {row["id"]: row for row in (await got(client, "/api/tasks"))["tasks"]}
    assert rows[ids["asker"]]["last"] == "Asks: edit src/app.py +1 -1 (config: every call of it needs an approval)"
    assert rows[ids["sleeper"]]["last"] == "bash make slow"
    assert rows[ids["lead"]]["last"] == "Waits for 2 of 4 tasks below: 1 asking"
    assert rows[ids["failing"]]["error"] == "The model gave up."
    cut = "It is cut in _views/answer.py, at a character that a reader can see: def cut(text: str, limit: int) -> str:"
    assert rows[ids["reader"]]["last"] == cut


async def test_a_success_says_in_one_plain_line_what_it_answered(tmp_path):
    answers = {
        "marked": "Compared in **constant time** with `compare_digest`.\n\n- one file",
        "listed": "\n---\n* <b>One</b> [file](https://example.org) changed",
        "silent": "",
    }

    async def act(request, _sink):
        return answers[request.prompt]

    async with ui_scene.opened(tmp_path, act=act) as ohm, client_of(ohm) as client:
        for prompt in answers:
            await ohm.run("finder", prompt, description=prompt)
        rows = (await got(client, "/api/tasks"))["tasks"]
    assert {row["description"]: row["last"] for row in rows} == {
        "marked": "Compared in constant time with compare_digest.",
        "listed": "<b>One</b> file changed",
        "silent": "Finder: silent",
    }


async def test_one_that_was_cancelled_says_how_far_it_came(played):
    ohm, ids, client = played
    await ohm.handle(ids["sleeper"]).cancel()
    await ohm.handle(ids["asker"]).cancel()
    rows = {row["id"]: row for row in (await got(client, "/api/tasks", status="cancelled"))["tasks"]}
    said = "Cancelled after 1 tool call: It was cancelled by a program."
    assert rows[ids["sleeper"]]["last"] == f"{said} In bash make slow."
    assert rows[ids["asker"]]["last"] == f"{said} Before edit src/app.py +1 -1."


async def test_filters_choose_and_a_page_is_a_part(played):
    _, ids, client = played
    failed = await got(client, "/api/tasks", status="failed")
    assert [row["id"] for row in failed["tasks"]] == [ids["failing"]]
    assert (failed["counts"]["running"], failed["kept"]) == (3, 5)
    both = await got(client, "/api/tasks", status="failed,succeeded", profile="finder")
    assert {row["id"] for row in both["tasks"]} == {ids["failing"], ids["reader"]}
    asking = await got(client, "/api/tasks", status="asking")
    assert [row["id"] for row in asking["tasks"]] == [ids["asker"]]
    found = await got(client, "/api/tasks", q="SLEEPER batch")
    assert [row["id"] for row in found["tasks"]] == [ids["sleeper"]]
    part = await got(client, "/api/tasks", offset=4, limit=3)
    whole = await got(client, "/api/tasks")
    assert (part["total"], part["tasks"][0]["id"], len(part["tasks"])) == (5, whole["tasks"][4]["id"], 1)
    session = found["tasks"][0]["session"]
    assert (await got(client, "/api/tasks", session=session))["total"] == 1


WRONG = {
    "/api/tasks?status=odd": "No task is ever 'odd'. Allowed: asking, cancelled, failed, queued, running, stuck, "
    "succeeded.",
    "/api/tasks?stauts=failed": "There is no parameter 'stauts'. Did you mean 'status'?",
    "/api/tasks?age=1": "There is no parameter 'age'. Allowed: q, status, profile, session, offset, limit.",
    "/api/tasks?limit=-1": "'offset' and 'limit' are whole numbers from 0 on.",
    "/api/cost?by=age": "'by' is 'age'; allowed: profile, model, day, session.",
}


async def test_what_is_asked_wrong_is_told(played):
    _, ids, client = played
    for path, sentence in WRONG.items():
        assert (await got(client, path, code=400))["error"] == {"code": "invalid_request", "message": sentence}
    after = await got(client, f"/api/tasks/{ids['lead']}/transcript?after=x", code=400)
    assert after["error"]["message"] == "'after' is a whole number from 0 on."
    for path in ("/api/tasks/task_9", "/api/tasks/task_9/transcript", "/api/tasks/task_9/export"):
        assert (await got(client, path, code=404))["error"]["code"] == "unknown_task_id"
    assert (await got(client, "/api/odd", code=404))["error"]["code"] == "nothing_here"
    costs = await client.get("/costs", follow_redirects=True)
    assert (costs.url.path, "<html" in costs.text) == ("/cost", True)


async def test_a_browser_gets_a_page_where_there_is_nothing(played):
    _, _, client = played
    browsing = {"accept": "text/html,*/*;q=0.8"}
    page = await client.get("/odd/<b>", headers=browsing)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is nothing at &#x27;/odd/&lt;b&gt;&#x27;." in page.text
    assert '<a href="/">' in page.text
    for path, asked in (("/api/odd", browsing), ("/odd", {"accept": "application/json"})):
        told = await client.get(path, headers=asked)
        assert (told.status_code, told.json()["error"]["code"]) == (404, "nothing_here")


async def test_a_picture_has_the_tree_of_the_start_with_what_each_child_does(played):
    _, ids, client = played
    picture = await got(client, f"/api/tasks/{ids['asker']}")
    assert picture["task"]["id"] == ids["asker"]
    tree = picture["tree"]
    assert {row["id"] for row in tree} == {*ids.values()}
    assert (tree[0]["id"], tree[0]["children"], {row["depth"] for row in tree[1:]}) == (ids["lead"], 4, {1})
    last = {row["id"]: row["last"] for row in tree}
    assert last[ids["asker"]] == "Asks: edit src/app.py +1 -1 (config: every call of it needs an approval)"
    assert last[ids["sleeper"]] == "bash make slow"
    assert last[ids["lead"]] == "Waits for 2 of 4 tasks below: 1 asking"
    (failing,) = [row for row in tree if row["id"] == ids["failing"]]
    assert failing["error"] == "The model gave up."
    (asked,) = picture["requests"]
    title = "edit src/app.py +1 -1 (config: every call of it needs an approval)"
    assert (asked["task"], asked["title"]) == (ids["asker"], title)
    assert (asked["subject"], asked["reason"]) == ("src/app.py +1 -1", "config: every call of it needs an approval")
    assert asked["arguments"].startswith("path: ")
    assert [line[:1] for line in asked["diff"]] == ["-", "+", " "]
    assert "requests" in picture["left"]
    assert picture["cost"]["requests"] == 2
    facts = {fact["label"]: fact["text"] for fact in picture["task"]["facts"]}
    assert facts["backend"] == "acting"
    assert not {"started by", "left"} & {*facts}  # the page has them elsewhere


async def test_the_timeline_has_everything_in_its_place(played):
    _, ids, client = played
    spans = (await got(client, f"/api/tasks/{ids['lead']}"))["spans"]
    of = {name: [(each["kind"], each["status"]) for each in spans if each["task"] == id_] for name, id_ in ids.items()}
    assert ("wait", "running") in of["asker"]
    assert ("tool", "running") in of["sleeper"]
    assert ("tool", "failed") in of["failing"]
    assert of["reader"].count(("tool", "done")) == 2
    assert all(("queued", "done") in each for each in of.values())
    assert all(each["end_ms"] is None or each["start_ms"] <= each["end_ms"] for each in spans)
    assert all(each["end_ms"] is not None for each in spans if each["task"] == ids["reader"])
    assert len({each["id"] for each in spans}) == len(spans)


@pytest.mark.parametrize(
    ("end", "status", "answered"),
    [
        ("denial", "failed", "denied on the page: not today"),
        ("cancel", "cancelled", "denied [the task has ended]"),
    ],
)
async def test_a_wait_fails_by_a_denial_and_by_no_end_of_its_task(played, end, status, answered):
    ohm, ids, client = played
    asker = ohm.handle(ids["asker"])
    if end == "denial":
        path = f"/api/requests/{ohm.requests()[0].id}/answer"
        assert (await told(client, path, answer="deny", text="not today"))["message"] == "denied on the page: not today"
        await asker.wait()
    else:
        await asker.cancel()
    (wait,) = [
        span
        for span in (await got(client, f"/api/tasks/{ids['asker']}"))["spans"]
        if (span["task"], span["kind"]) == (ids["asker"], "wait")
    ]
    assert wait["status"] == status
    (asked,) = [
        entry
        for entry in (await got(client, f"/api/tasks/{ids['asker']}/transcript"))["entries"]
        if entry["kind"] == "request"
    ]
    assert (asked["text"], asked["status"]) == (answered, status)


ANSWERED = {
    "approved on a terminal, for this task": (Approve("task"), "terminal"),
    "approved in an editor, always": (Approve("always"), "editor"),
    "denied by its parent: no": (Deny("no"), "tool"),
    "answered by a program: blue": (Text("blue"), "program"),
    "denied [nobody answered in time]": (Deny(), "expiry"),
}


@pytest.mark.parametrize("words", ANSWERED)
def test_an_answer_is_told_with_the_place_where_it_was_given(words):
    assert answered_words(*ANSWERED[words]) == words


async def test_a_transcript_is_drawn_here_and_read_on(played):
    _, ids, client = played
    path = f"/api/tasks/{ids['reader']}/transcript"
    page = await got(client, path)
    kinds = [(each["kind"], each["title"]) for each in page["entries"]]
    assert kinds[0] == ("prompt", "prompt")
    assert ("tool", "read src/answer.py:1-40") in kinds
    assert kinds[-1] == ("end", "succeeded")
    (answer,) = [each for each in page["entries"] if each["kind"] == "answer"]
    assert '<span class="k">def</span>' in answer["html"]
    assert "style=" not in answer["html"]
    assert 'href="https://example.org/guide" rel="noopener noreferrer"' in answer["html"]
    again = await got(client, path, after=page["next"])
    assert again == {"entries": [], "next": page["next"]}
    (edit,) = [
        each
        for each in (await got(client, f"/api/tasks/{ids['asker']}/transcript"))["entries"]
        if each["kind"] == "tool"
    ]
    assert edit["status"] == "asking"
    assert edit["diff"] == ["- limit = 10", "+ limit = 20", "  return limit"]


async def test_only_the_last_text_of_a_run_is_called_its_answer(tmp_path):
    async def act(request, sink):
        for number, text in enumerate(("I look.", "It is there.")):
            sink.emit(TextDelta(text=text))
            sink.emit(ToolStarted(call_id=f"{number}", tool="read", args="{}"))
            sink.emit(ToolEnded(call_id=f"{number}", tool="read", status="success", text="x"))
        if request.prompt == "fail":
            return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message="No.", advice=""))
        sink.emit(TextDelta(text="All is **done**."))
        return "All is **done**."

    async with ui_scene.opened(tmp_path, act=act) as ohm, client_of(ohm) as client:
        titles = {}
        for prompt in ("fail", "work"):
            handle = await ohm.start("finder", prompt)
            await handle.wait()
            entries = (await got(client, f"/api/tasks/{handle.id}/transcript"))["entries"]
            titles[prompt] = [each["title"] for each in entries if each["kind"] == "answer"]
    assert titles == {"fail": ["said", "said"], "work": ["said", "said", "answer"]}


async def test_costs_are_added_up(played):
    _, _, client = played
    for by in ("profile", "model", "day", "session"):
        page = await got(client, "/api/cost", by=by)
        assert (page["by"], page["tasks"], page["all"]["cost_usd"]) == (by, 5, "0.0052")
        assert sum(row["tasks"] for row in page["rows"]) == 5
    assert (await got(client, "/api/cost"))["rows"][0]["name"] == "finder"


async def test_what_can_be_done_with_a_task_is_told(tmp_path):
    config = {**ui_scene.CONFIG, "subagents": {**ui_scene.CONFIG["subagents"], "sendToFinished": "refuse"}}
    async with ui_scene.opened(tmp_path, config=config, new_task_id=lambda: "a/b c") as ohm, client_of(ohm) as client:
        await ohm.run("finder", "hello")
        path = "/api/tasks/a%2Fb%20c"
        task = (await got(client, path))["task"]
        assert (task["id"], task["can_cancel"], task["can_send"]) == ("a/b c", False, False)
        assert (await got(client, f"{path}/transcript"))["entries"]
        refused = await told(client, f"{path}/send", code=409, prompt="And?")
        assert refused["error"]["code"] == "task_not_resumable"
        assert refused["error"]["message"] == (
            "Task 'a/b c' is terminal (succeeded) and cannot be resumed. Start a new task, or set "
            'subagents.sendToFinished to "resume": then send continues its session.'
        )


async def test_an_export_can_do_nothing(played):
    _, ids, client = played
    page = (await client.get(f"/api/tasks/{ids['sleeper']}/export")).text
    data = json.loads(page.partition('id="ohm-data">')[2].partition("</script>")[0])
    assert (data["picture"]["task"]["can_cancel"], data["picture"]["task"]["can_send"]) == (False, False)
    assert {*data["transcripts"]} == {*ids.values()}
    assert data["costs"]["profile"]["all"] == data["picture"]["cost"]


async def test_the_page_loads_one_script_that_asks_for_no_other(played):
    _, _, client = played
    script = (await client.get("/page/main.js")).text
    assert ["class ListView" in script, "class Scroller" in script, 'from "./' in script] == [True, True, False]


async def test_a_page_may_ask_for_what_is_near_a_task_before_the_rest(played):
    _, ids, client = played
    path = f"/api/tasks/{ids['failing']}"
    near, whole = await got(client, path, near=2), await got(client, path)
    assert (near["is_whole"], whole["is_whole"]) == (False, True)
    assert [row["id"] for row in near["tree"]] == [row["id"] for row in whole["tree"]]
    assert near["task"]["error"] == whole["task"]["error"] == "The model gave up."
    read = {span["task"] for span in near["spans"]}
    assert ids["failing"] in read
    assert len(read) == 2
    await got(client, path, code=400, near="all")


async def test_a_browser_is_told_at_once_which_data_the_page_will_ask_for(played):
    _, ids, client = played
    for path, asked in (
        ("/", "/api/tasks?offset=0&amp;limit=100"),
        (f"/tasks/{ids['lead']}", f"/api/tasks/{ids['lead']}?near=40"),
        ("/tasks/%22%3E", "/api/tasks/%22%3E?near=40"),
        ("/?status=failed", None),
        ("/cost", None),
    ):
        page = (await client.get(path)).text
        wanted = f'<link rel="preload" href="{asked}" as="fetch" crossorigin>'
        assert page.count("preload") == page.count(wanted) == (asked is not None), path
