"""The page of `ohm ui` in a real browser, beside the processes whose tasks it shows."""

import re

import anyio
import kept_work
import pytest
import shown_tasks
import talking_task
import ui_scene
from browsers import DESKTOP, PATIENCE_MS, PHONE, browser, hurdles, opened, page_server, port_of
from forking import forked
from git_trees import repository

from ohm_subagents.contract import TextDelta, ThinkingDelta, Usage, UsageAdded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def program():
    with browser() as chromium:
        yield chromium


@pytest.fixture
def chromium(program):
    """Chromium, whose pages are closed after each test: one that is left open is drawn anew to the end of the last."""
    yield program
    for context in program.contexts:
        context.close()


@pytest.fixture(scope="module")
def see():
    """Playwright's assertions, which wait for what they assert."""
    sync_api = pytest.importorskip("playwright.sync_api")
    sync_api.expect.set_options(timeout=PATIENCE_MS)
    return sync_api.expect


@pytest.fixture
def scene(tmp_path):
    """A batch in another process, and a page: `ids`, `address`."""
    with ui_scene.scene_in_a_process(tmp_path) as (ids, _), page_server(tmp_path) as address:
        yield ids, address


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory):
    """The same for tests that look at it and change nothing."""
    home = tmp_path_factory.mktemp("home")
    with ui_scene.scene_in_a_process(home) as (ids, _), page_server(home) as address:
        yield ids, address


def row(page, text):
    return page.get_by_role("treeitem").filter(has_text=text)


def test_a_batch_of_another_process_is_watched_cancelled_answered_and_sent_to(chromium, see, scene, tmp_path):
    _, address = scene
    page = opened(chromium, address)
    stops = page.get_by_role("listitem").get_by_role("button", name="Cancel")
    see(stops).to_have_count(3)
    see(page.get_by_role("link", name="Answer", exact=True)).to_have_count(1)
    stop = page.get_by_role("listitem").filter(has_text="sleeper").get_by_role("button", name="Cancel")
    stop.click()
    see(page.get_by_text("The sleeper of the batch: Cancel this task?")).to_be_visible()
    see(stops).to_have_count(3)
    page.route("**/cancel", lambda route: (see(stop).to_have_text("Cancelling …"), route.continue_()))
    stop.click()
    see(page.get_by_text("The sleeper of the batch: It is cancelled.")).to_be_visible()
    see(stops).to_have_count(2)
    page.get_by_role("link", name="Find out how answers are cut").click()
    see(page.get_by_role("treeitem")).to_have_count(5)
    see(row(page, "failing")).to_contain_text("The model gave up.")
    see(row(page, "failing")).not_to_contain_text("0.0s")
    see(row(page, "sleeper")).to_contain_text("cancelled")

    transcript = page.get_by_role("region", name="Transcript")
    row(page, "asker").click()
    see(page.get_by_role("heading", level=1)).to_contain_text("The asker of the batch")
    page.keyboard.press("s")
    page.keyboard.type("and where is it tested?")
    page.keyboard.press("Control+Enter")
    see(page.get_by_text("The follow-up was sent.")).to_be_visible()
    see(page.get_by_role("article").locator(".added")).to_be_in_viewport()
    page.get_by_role("button", name="Approve once").click()
    see(transcript).to_contain_text("You said: and where is it tested?")
    see(page.get_by_role("region", name="Waiting for an answer")).to_be_hidden()

    row(page, "reader").click()
    see(transcript.get_by_role("heading", name="Where output is cut")).to_be_visible()
    see(transcript.get_by_role("cell", name="answer.py")).to_be_visible()
    see(transcript).to_contain_text("read src/answer.py")
    assert page.faults == []


COLOURS = """() => {
  const { width, height } = document.querySelector("[aria-selected=true] canvas");
  const pen = document.querySelector("[aria-selected=true] canvas").getContext("2d");
  const { data } = pen.getImageData(0, height / 2, width, 1), found = { d98a16: 0, d33a3a: 0 };
  for (let at = 0; at < data.length; at += 4) {
    const colour = [...data.slice(at, at + 3)].map((one) => one.toString(16).padStart(2, "0")).join("");
    if (colour in found) found[colour] += 1;
  }
  return found.d33a3a > 0 && found.d98a16 > 5 * found.d33a3a;
}"""


def test_a_wait_that_ended_with_a_no_stays_a_wait_with_a_red_end(chromium, see, scene):
    ids, address = scene
    page = opened(chromium, address)
    page.goto(f"{address.split('/?')[0]}/tasks/{ids['asker']}")
    page.get_by_role("button", name="Deny").click()
    page.wait_for_function(COLOURS)
    see(page.locator(".legend")).to_contain_text("failed")
    assert page.faults == []


def test_a_page_left_open_goes_on_after_a_restart_of_the_server(chromium, see, tmp_path):
    with ui_scene.scene_in_a_process(tmp_path) as (ids, _):
        with page_server(tmp_path) as address:
            page = opened(chromium, address)
            see(page.get_by_role("status").first).to_have_text("live")
        see(page.get_by_role("status").first).to_contain_text("not connected")
        with page_server(tmp_path, port_of(address)):
            see(page.get_by_role("status").first).to_have_text("live")
            page.get_by_role("link", name="The sleeper of the batch").click()
            see(page.get_by_role("button", name="Cancel task")).to_be_visible()
            page.keyboard.press("x")
            see(page.get_by_text("Cancel this task? Once more")).to_be_visible()
            page.keyboard.press("x")
            see(row(page, "sleeper")).to_contain_text("cancelled")
            assert page.url.endswith(ids["sleeper"])


def test_keys_of_the_list_answer_and_send_on_the_page_of_a_task(chromium, see, looked_at):
    ids, address = looked_at
    page = opened(chromium, address)
    see(page.get_by_role("listitem")).to_have_count(5)
    page.keyboard.press("a")
    see(page.get_by_role("button", name="Approve once")).to_be_focused()
    assert page.url.endswith(ids["asker"])
    page.goto(address.split("/?")[0])
    see(page.get_by_role("listitem")).to_have_count(5)
    for key in "jjjs":
        page.keyboard.press(key)
    see(page.get_by_role("textbox", name="Follow-up")).to_be_focused()
    assert page.url.endswith(ids["asker"])
    assert page.faults == []


def test_a_task_with_others_below_it_is_cancelled_once_that_was_asked_for_twice(chromium, see, scene):
    ids, address = scene
    page = opened(chromium, address)
    lead = page.get_by_role("listitem").first
    lead.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    see(page.get_by_text("Find out how answers are cut: Cancel this and 2 tasks below it?")).to_be_visible()
    see(lead.get_by_role("button", name="Cancel 3 tasks?")).to_be_focused()
    page.keyboard.press("Escape")
    see(lead.get_by_role("button", name="Cancel", exact=True)).to_be_focused()

    lead.get_by_role("link").click()
    button = page.get_by_role("button", name="Cancel")
    see(button).to_have_text("Cancel task")
    for key in ("Escape", "j"):
        page.keyboard.press("x")
        see(button).to_have_text("Cancel 3 tasks?")
        page.keyboard.press(key)
        see(button).to_have_text("Cancel task")
    page.keyboard.press("x")
    page.keyboard.press("x")
    for name in ("Find out how answers are cut", "asker", "sleeper"):
        see(row(page, name)).to_contain_text("cancelled")
    assert page.url.endswith(ids["lead"])
    assert page.faults == []


def test_the_address_holds_search_and_filters_and_keys_do_all_of_it(chromium, see, looked_at):
    _, address = looked_at
    page = opened(chromium, address)
    see(page.get_by_role("listitem")).to_have_count(5)
    see(page.get_by_role("listitem").first).to_contain_text("$0.0052with 4 below it")
    see(page.get_by_role("listitem").first.get_by_role("time")).to_have_text(re.compile(r"created \d+[sm] ago"))
    see(page.get_by_role("group", name="Status")).to_contain_text("running3of whichasking1stuck0queued0")
    page.keyboard.press("s")
    see(page.get_by_text("Choose a task first")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("batch")
    page.wait_for_url("**/?q=batch")
    page.get_by_role("button", name="asking").click()
    page.wait_for_url("**/?q=batch&status=asking")
    see(page.get_by_role("listitem")).to_have_count(1)
    see(page.locator(".sums")).to_contain_text("1 of 4 tasks")
    assert "running" not in page.locator(".sums").inner_text()
    page.get_by_role("button", name="failed").click()
    page.wait_for_url("**/?q=batch&status=failed")
    see(page.get_by_role("listitem")).to_have_count(1)
    page.reload()
    see(page.get_by_role("listitem")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tasks/*")
    see(page.get_by_role("heading", level=1)).to_contain_text("The failing of the batch")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.keyboard.press("a")
    see(page.get_by_role("link", name="1 other waits for your answer")).to_be_focused()
    page.keyboard.press("Enter")
    see(page.get_by_role("heading", level=1)).to_contain_text("Find out how answers are cut")
    page.keyboard.press("a")
    see(page.get_by_role("button", name="Approve once")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    see(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    see(page.get_by_role("row").filter(has_text="finder")).to_contain_text("$0.0031")
    page.get_by_role("button", name="model", exact=True).click()
    see(page.get_by_role("rowheader", name="openai/gpt-5-mini")).to_be_visible()
    assert page.faults == []


HARMFUL = (
    '<img src=x onerror="document.title=1"><script>document.title=2</script> [x](javascript:alert(1)) \u202egnp.exe'
)


def test_what_a_model_or_a_person_writes_is_text_and_never_markup(chromium, see, tmp_path):
    async def seed():
        async with ui_scene.opened(tmp_path) as ohm:
            done = await ohm.run("task", HARMFUL, description=HARMFUL)
            await ohm.store.flush()
            return done.unwrap().task_id

    task_id = anyio.run(seed, backend="trio")  # asyncio's loop is the browser's
    with page_server(tmp_path) as address:
        page = opened(chromium, address)
        see(page.get_by_role("listitem")).to_contain_text("<img src=x")
        page.goto(f"{address.split('/?')[0]}/tasks/{task_id}")
        see(page.get_by_role("region", name="Transcript")).to_contain_text("<script>document.title=2</script>")
        assert (
            page.locator("main :is(img, script, iframe, [onerror], [href^='javascript'], [style*='url'])").count() == 0
        )
        assert "\u202e" not in page.inner_text("body")
        assert page.faults == []


def test_a_phone_shows_all_of_a_task_in_its_width(chromium, see, looked_at):
    ids, address = looked_at
    page = opened(chromium, address, viewport=PHONE)
    for path in ("/", f"/tasks/{ids['lead']}", "/cost"):
        page.goto(address.split("/?")[0] + path)
        see(page.get_by_role("status").first).to_have_text("live")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.goto(address.split("/?")[0])
    statuses = page.get_by_role("group", name="Status").get_by_role("button")
    see(statuses.filter(has_text="failed")).to_be_visible()
    see(statuses.filter(has_text="queued")).to_be_hidden()  # there is none
    lead = page.get_by_role("listitem").first
    assert lead.bounding_box()["y"] < 230
    box, parts = (
        lead.bounding_box(),
        [part.bounding_box() for part in lead.locator(".what, .doing, .with, .took").all()],
    )
    assert all(box["y"] + 5 < part["y"] and part["y"] + part["height"] < box["y"] + box["height"] - 5 for part in parts)
    see(page.get_by_role("textbox", name="Profile")).to_be_hidden()
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("textbox", name="Profile").fill("oracle")
    see(page.get_by_role("listitem")).to_have_count(1)
    page.goto(f"{address.split('/?')[0]}/cost?by=session")
    ends = [page.get_by_role("rowheader").first.locator(one) for one in ("xpath=.", "bdi")]
    head, name = (one.evaluate("(one) => one.getBoundingClientRect().right") for one in ends)
    assert name <= head  # the ids differ at their ends
    page.goto(f"{address.split('/?')[0]}/cost")
    see(page.get_by_text("further right in the table")).to_be_visible()
    page.get_by_role("region", name="Numbers").evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    for part in (page.get_by_role("rowheader").first, page.get_by_role("columnheader", name="tool calls")):
        see(part).to_be_in_viewport(ratio=1)


TOKENS = {"big": (10_650_000, "10.7M tokens"), "middle": (225_486, "225k tokens"), "small": (2_048, "2,048 tokens")}


def test_many_tokens_are_written_in_few_characters(chromium, see, tmp_path):
    async def act(request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=1, input_tokens=TOKENS[request.prompt][0])))
        return "Read."

    async def seed():
        async with ui_scene.opened(tmp_path, act=act) as ohm:
            for prompt in TOKENS:
                await ohm.run("finder", prompt, description=prompt)
            await ohm.store.flush()

    anyio.run(seed, backend="trio")  # asyncio's loop is the browser's
    with page_server(tmp_path) as address:
        page = opened(chromium, address)
        for name, (_, written) in TOKENS.items():
            cell = page.get_by_role("listitem").filter(has_text=name).locator(".tokens")
            see(cell).to_have_text(written)
            assert cell.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")
        see(page.get_by_title("10,650,000 tokens")).to_be_visible()


SCROLLED_WITHIN = """[...document.querySelectorAll("main *")].filter((one) => one.scrollHeight > one.clientHeight + 1
  && ["auto", "scroll"].includes(getComputedStyle(one).overflowY) && one.tagName !== "TEXTAREA")
  .map((one) => one.className)"""


def test_a_task_is_asked_for_what_is_below_it_and_leads_to_the_rest(chromium, see, looked_at):
    ids, address = looked_at
    page = opened(chromium, address)
    card, rest = page.get_by_role("article"), page.get_by_role("link", name="1 other waits for your answer")
    for name, asks in (("lead", True), ("asker", True), ("reader", False)):
        page.goto(f"{address.split('/?')[0]}/tasks/{ids[name]}")
        see(page.get_by_role("region", name="Waiting for an answer")).to_be_visible()
        see(card).to_have_count(1 if asks else 0)
        see(rest).to_have_count(0 if asks else 1)
        if asks:
            see(card.get_by_role("heading")).to_have_text("Task · The asker of the batch wants to run edit")
            see(card.locator("pre.asked")).to_have_text("src/app.py +1 -1")
            see(card.get_by_text("every call of it needs an approval")).to_be_visible()
    facts = page.locator(".task-head .sums")
    see(facts).to_contain_text("$0.0031 · 1,280 tokens for this task")
    see(facts).to_contain_text("$0.0052 for all 5 tasks")
    see(facts).to_contain_text("left for all 5 tasks")
    see(facts).to_contain_text("started at")
    see(row(page, "Find out how answers are cut")).to_contain_text("own $0.0021")
    rest.click()
    see(page.get_by_role("heading", level=1)).to_contain_text("Find out how answers are cut")
    see(card).to_contain_text("The asker of the batch wants to")


def test_the_button_that_denies_is_beside_the_reason(chromium, see, looked_at):
    ids, address = looked_at
    for size in ({"width": 1280, "height": 800}, PHONE):
        page = opened(chromium, address, viewport=size)
        page.goto(f"{address.split('/?')[0]}/tasks/{ids['asker']}")
        reason = page.get_by_role("textbox", name="Reason for a denial")
        see(reason).to_be_visible()
        boxes = [one.bounding_box() for one in (reason, page.get_by_role("button", name="Deny"))]
        assert boxes[0]["y"] + boxes[0]["height"] == boxes[1]["y"] + boxes[1]["height"]
        assert boxes[0]["x"] < boxes[1]["x"]


def test_all_about_a_task_begins_with_its_id_and_ends_with_how_it_was_started(chromium, see, looked_at):
    ids, address = looked_at
    page = opened(chromium, address, viewport={"width": 1280, "height": 800})
    page.goto(f"{address.split('/?')[0]}/tasks/{ids['asker']}")
    page.get_by_text("All about this task").click()
    facts = page.locator(".all-facts")
    see(facts).to_contain_text(re.compile(f"^id{ids['asker']}started by{ids['lead']}session"))
    see(facts.get_by_text("sha256")).to_be_hidden()
    assert facts.evaluate("(box) => box.scrollHeight <= box.clientHeight")
    facts.get_by_text("How it was started").click()
    see(facts.get_by_text("sha256")).to_be_visible()


def test_a_follow_up_names_a_key_only_where_there_are_keys(chromium, see, looked_at):
    ids, address = looked_at
    for options, words in (
        ({}, "Follow-up (Ctrl+Enter sends it)"),
        ({"is_mobile": True, "has_touch": True}, "Follow-up"),
    ):
        page = opened(chromium, address, viewport=PHONE, **options)
        page.goto(f"{address.split('/?')[0]}/tasks/{ids['asker']}")
        see(page.get_by_role("textbox", name="Follow-up")).to_have_attribute("placeholder", words)


def test_a_page_has_room_for_eight_tasks_and_for_what_one_of_them_did(chromium, see, tmp_path):
    with forked(shown_tasks.__file__, f"{tmp_path}", "12", "0") as keeper, page_server(tmp_path) as address:
        asking = f"{address.split('/?')[0]}/tasks/{keeper.stdout.readline().strip()}_007"
        page = opened(chromium, address, viewport={"width": 1280, "height": 800})
        page.goto(asking)
        see(page.get_by_role("article")).to_contain_text("Rewrite the changelog for readers")
        tree, pane, transcript = (
            page.locator(each).evaluate("(box) => box.clientHeight") for each in (".scroller", ".pane", ".transcript")
        )
        assert (tree >= 8 * 50, transcript > pane / 2) == (True, True)

        page = opened(chromium, address, viewport=PHONE)
        page.goto(asking)
        see(page.get_by_role("treeitem")).to_have_count(3)
        assert page.evaluate(SCROLLED_WITHIN) == ["task"]
        page.get_by_role("button", name="Show all 13 tasks").click()
        see(page.get_by_role("treeitem", selected=True)).to_be_focused()
        see(page.get_by_role("treeitem").filter(has_text="Prepare release 2.4")).to_have_attribute("aria-posinset", "1")
        assert page.evaluate(SCROLLED_WITHIN) == ["task"]
        assert page.faults == []


def test_what_a_task_says_is_followed_from_its_newest_end_until_the_reader_scrolls_up(chromium, see, tmp_path):
    with forked(talking_task.__file__, f"{tmp_path}") as keeper, page_server(tmp_path) as address:
        page = opened(chromium, address)
        page.goto(f"{address.split('/?')[0]}/tasks/{keeper.stdout.readline().strip()}")
        transcript, newest = page.get_by_role("region", name="Transcript"), page.get_by_role("button", name="Newest")
        see(transcript.get_by_text("Now module 59.")).to_be_in_viewport()
        keeper.stdin.write("on\n")
        see(transcript.get_by_text("Now module 60.")).to_be_in_viewport()
        see(newest).to_be_hidden()

        transcript.focus()
        page.keyboard.press("Home")
        see(transcript.get_by_text("Now module 1.")).to_be_in_viewport()
        see(newest).to_be_visible()
        keeper.stdin.write("on\n")
        see(transcript.get_by_text("Now module 61.")).to_be_attached()
        see(transcript.get_by_text("Now module 1.")).to_be_in_viewport()

        newest.click()
        see(transcript.get_by_text("Now module 61.")).to_be_in_viewport()
        transcript.get_by_text("bash make module-61").click()
        keeper.stdin.write("on\n")
        see(transcript.get_by_text("Now module 62.")).to_be_attached()
        see(transcript.get_by_text("bash make module-61")).to_be_in_viewport()
        assert page.faults == []


def test_what_happens_between_the_first_reading_and_the_first_event_is_shown_too(chromium, see, tmp_path):
    with forked(talking_task.__file__, f"{tmp_path}") as keeper, page_server(tmp_path) as address:
        page, listening = opened(chromium, address), []

        def hold(route):
            listening.append(route)

        page.route("**/api/stream**", hold)
        page.goto(f"{address.split('/?')[0]}/tasks/{keeper.stdout.readline().strip()}")
        transcript = page.get_by_role("region", name="Transcript")
        see(transcript.get_by_text("Now module 59.")).to_be_attached()
        keeper.stdin.write("on\n")
        assert keeper.stdout.readline() == "60\n"
        listening[-1].continue_()
        see(transcript.get_by_text("Now module 60.")).to_be_attached()


def test_a_follow_up_to_a_settled_task_says_so_and_leads_to_it(chromium, see, tmp_path):
    async def seed():
        async with ui_scene.opened(tmp_path) as ohm:
            first = (await ohm.run("finder", "hello", description="Where is login?")).unwrap().task_id
            await ohm.call("task", {"op": "send", "id": first, "prompt": "And who else?"})
            await ohm.store.flush()
            return first

    first = anyio.run(seed, backend="trio")  # asyncio's loop is the browser's
    with page_server(tmp_path) as address:
        page = opened(chromium, address)
        page.get_by_role("link", name="follow-up: And who else? · Where is login?").click()
        see(page.get_by_role("treeitem")).to_contain_text("And who else?")
        page.get_by_text("follow-up of").get_by_role("link", name="Finder · Where is login?").click()
        page.wait_for_url(f"**/tasks/{first}")
        see(page.get_by_text("follow-up of")).to_be_hidden()
        assert page.faults == []


TABLE = """| file | line | what |
|:--|--:|:--|
| src/auth.py | 10 | the check |
| src/app.py | 8 | the only caller, which calls it ten times in a row, and prints on lines of their own what came |
"""
HEIGHTS = "(cells) => cells.map((cell) => cell.clientHeight)"


def test_where_nothing_is_found_or_to_be_done_there_is_no_empty_box(chromium, see, looked_at):
    ids, address = looked_at
    page = opened(chromium, address)
    page.goto(f"{address.split('/?')[0]}/?q=nothing+of+it")
    see(page.get_by_text("No task is like that; 5 tasks are kept.")).to_be_visible()
    see(page.locator(".sums")).to_have_text("0 of 5 tasks")
    see(page.locator(".table")).to_be_hidden()
    page.get_by_role("button", name="Clear the filters").click()
    see(page.get_by_role("listitem")).to_have_count(5)

    page.goto(f"{address.split('/?')[0]}/tasks/{ids['reader']}")
    see(page.get_by_role("region", name="Transcript")).to_contain_text("Where output is cut")
    see(page.locator(".steer")).to_be_hidden()  # it takes no follow-up
    row(page, "asker").click()
    see(page.locator(".steer")).to_be_visible()
    assert page.faults == []


def test_a_table_breaks_no_word(chromium, see, tmp_path):
    async def act(_request, _sink):
        return TABLE

    async def seed():
        async with ui_scene.opened(tmp_path, act=act) as ohm:
            done = await ohm.run("finder", "p")
            await ohm.store.flush()
            return done.unwrap().task_id

    task_id = anyio.run(seed, backend="trio")  # asyncio's loop is the browser's
    with page_server(tmp_path) as address:
        for size in ({"width": 1280, "height": 800}, PHONE):
            page = opened(chromium, address, viewport=size)
            page.goto(f"{address.split('/?')[0]}/tasks/{task_id}")
            see(page.get_by_role("cell", name="src/auth.py")).to_be_visible()
            one_line = page.get_by_role("columnheader").evaluate_all(HEIGHTS)
            assert page.get_by_role("row").nth(1).get_by_role("cell").evaluate_all(HEIGHTS) == one_line
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_answer_of_a_task_that_did_much_is_one_click_away(chromium, see, tmp_path, size):
    async def act(request, sink):
        for number in range(60 if request.prompt == "much" else 1):
            sink.emit(TextDelta(text=f"Now module {number}."))
            sink.emit(ThinkingDelta(text="And the next one."))
        sink.emit(TextDelta(text="All is documented."))
        return "All is documented."

    async def seed():
        async with ui_scene.opened(tmp_path, act=act) as ohm:
            ids = [(await ohm.run("task", prompt)).unwrap().task_id for prompt in ("much", "little")]
            await ohm.store.flush()
            return ids

    much, little = anyio.run(seed, backend="trio")  # asyncio's loop is the browser's
    with page_server(tmp_path) as address:
        page = opened(chromium, address, viewport=size)
        answer, to_it = page.get_by_text("All is documented.").last, page.get_by_role("button", name="Answer ↓")
        page.goto(f"{address.split('/?')[0]}/tasks/{much}")
        see(page.locator(".start")).to_be_visible()
        strip, pane = (page.locator(each).bounding_box() for each in (".start", ".pane"))
        assert (strip["width"], strip["height"] < 110) == (pane["width"], True)
        assert strip["y"] + strip["height"] < pane["y"]
        to_it.click()
        see(answer).to_be_in_viewport()
        see(to_it).to_be_hidden()
        page.goto(f"{address.split('/?')[0]}/tasks/{little}")
        see(page.get_by_role("region", name="Transcript")).to_contain_text("Now module 0.")
        see(to_it).to_be_hidden()
        assert page.faults == []


@pytest.mark.parametrize(
    ("size", "scheme"),
    [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light")],  # the colours are those of every size
    ids=["desktop", "desktop-dark", "phone"],
)
def test_nothing_keeps_anybody_from_using_the_page(chromium, see, looked_at, size, scheme):
    ids, address = looked_at
    options = {"viewport": size, "color_scheme": scheme, "reduced_motion": "reduce", "bypass_csp": True}
    page = opened(chromium, address, **options)
    shown = {
        "/": page.get_by_role("listitem").first,
        f"/tasks/{ids['asker']}": page.get_by_role("treeitem").first,
        f"/tasks/{ids['failing']}": page.get_by_text("The model gave up.").first,
        "/cost": page.get_by_role("rowheader").first,
        "/?status=cancelled": page.get_by_text("No task is like that;"),
        "/tasks/nothing": page.get_by_role("heading", name="This task cannot be shown"),
    }
    for path, place in shown.items():
        page.goto(address.split("/?")[0] + path)
        see(place).to_be_visible()
        see(page.get_by_role("status").first).to_have_text("live")
        assert hurdles(page) == {}, path
    page.keyboard.press("?")
    see(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert hurdles(page) == {}


def test_work_lands_and_is_discarded_by_two_buttons_which_then_are_gone(chromium, see, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")

    async def seed():
        async with kept_work.opened(tmp_path, "sqlite") as ohm:
            tasks = [await kept_work.worked(ohm, parent, f"by task {n}") for n in (1, 2)]
            await ohm.store.flush()
            return tasks

    one, other = anyio.run(seed, backend="trio")  # asyncio's loop is the browser's
    with page_server(tmp_path / "config", XDG_CACHE_HOME=f"{tmp_path}") as address:
        page = opened(chromium, f"{address}")
        land, discard = (page.get_by_role("button", name=f"{word} its changes") for word in ("Land", "Discard"))
        page.goto(f"{address.split('/?')[0]}/tasks/{one}")
        land.click()
        see(page.get_by_text("Its changes are in your files.")).to_be_visible()
        see(land).to_be_hidden()
        assert (parent / "a").read_text() == "by task 1"

        page.goto(f"{address.split('/?')[0]}/tasks/{other}")
        land.click()
        see(page.get_by_text("a line 1: both have changed it")).to_be_visible()
        discard.click()
        see(page.get_by_text("Its changes are discarded.")).to_be_visible()
        see(discard).to_be_hidden()
        assert (parent / "a").read_text() == "by task 1"


def test_of_many_rows_only_those_in_sight_are_drawn(chromium, see, tmp_path):
    with forked(shown_tasks.__file__, f"{tmp_path}", "120", "1500") as keeper, page_server(tmp_path) as address:
        start = keeper.stdout.readline().strip()
        page = opened(chromium, address)
        see(page.get_by_role("listitem").first).to_contain_text("tokens")
        page.locator(".scroller").evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
        see(page.get_by_role("listitem").last).to_have_attribute("aria-posinset", "1621")
        see(page.get_by_role("listitem").last).to_contain_text("$")
        assert page.get_by_role("listitem").count() < 60
        page.keyboard.press("j")
        first = page.get_by_role("listitem").first
        see(first).to_be_focused()
        page.locator(".scroller").evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
        see(page.get_by_role("listitem").last).to_have_attribute("aria-posinset", "1621")
        see(first).to_be_focused()
        page.keyboard.press("j")
        see(page.get_by_role("listitem").nth(1)).to_be_focused()
        see(page.get_by_role("listitem").nth(1)).to_have_attribute("aria-posinset", "2")
        page.goto(f"{address.split('/?')[0]}/tasks/{start}")
        see(page.get_by_role("region", name="Tree and timeline")).to_contain_text("121 tasks")
        page.get_by_role("button", name="1 asking").click()
        see(page.get_by_role("heading", level=1)).to_contain_text("Rewrite the changelog for readers")
        assert page.get_by_role("treeitem").count() < 60
        amiss = page.get_by_role("list", name="Failed and stuck")
        see(amiss).to_be_hidden()  # none is below this one
        page.goto(f"{address.split('/?')[0]}/tasks/{start}")
        see(amiss).to_contain_text("Finder · Find texts without a translation")
        see(amiss).to_contain_text("Anthropic answered 503 three times.")
        amiss.get_by_role("link").first.click()
        see(page.get_by_role("heading", level=1)).to_contain_text("Find texts without a translation")
        page.get_by_role("button", name="stuck").click()
        see(page.get_by_text("Stuck: nothing has come for")).to_be_visible()
        see(page.locator(".stuck-note")).to_contain_text("trace_locks.py. “Cancel task” stops it")
        page.get_by_role("button", name="10 failed").click()
        see(page.locator(".failure")).to_contain_text("Run it again later")
        assert page.faults == []


def test_an_exported_page_opens_without_a_network(chromium, see, looked_at, tmp_path):
    ids, address = looked_at
    page = opened(chromium, f"{address}")
    page.goto(f"{address.split('/?')[0]}/tasks/{ids['lead']}")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    file = tmp_path / "export.html"
    download.value.save_as(file)

    page = opened(chromium, "about:blank", offline=True)
    asked = []
    page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
    page.goto(file.as_uri())
    see(page.get_by_role("treeitem")).to_have_count(5)
    row(page, "reader").click()
    see(page.get_by_role("region", name="Transcript")).to_contain_text("Where output is cut")
    see(page.get_by_role("button", name="Cancel task")).to_be_hidden()
    page.get_by_role("link", name="Cost").click()
    see(page.get_by_role("row").filter(has_text="finder")).to_contain_text("$0.0031")
    assert {*asked} <= {file.as_uri(), "data:,"}
    assert page.faults == []
