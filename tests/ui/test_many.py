"""A page of ten thousand tasks, and a tree of two hundred: each is read once, and then only what is new."""

from decimal import Decimal

import pytest
from store_tasks import Clock, Hand, TextDelta, opened

from ohm_subagents.contract import (
    AccountCharged,
    AnswerAwaited,
    AnswerGiven,
    Approve,
    Budget,
    FollowUpTaken,
    Request,
    RequestHeld,
    RunEnded,
    StartBudget,
    Succeeded,
    TaskSettled,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)
from ohm_subagents.contract.account import Remaining
from ohm_subagents.store import RetentionPolicy, recovered
from ohm_subagents.ui.filters import Filters
from ohm_subagents.ui.pictures import Pictures

pytestmark = pytest.mark.anyio
ALL = RetentionPolicy(max_entries=20_000, retention_ms=10**12)


class CountingStore:
    """A store that counts the rows and the tasks that are read from it."""

    def __init__(self, store):
        self._store = store
        self.rows = 0
        self.loads = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def list(self, query):
        for row in self._store.list(query):
            self.rows += 1
            yield row

    def get(self, task_id):
        self.loads += 1
        return self._store.get(task_id)


@pytest.mark.slow
async def test_of_ten_thousand_tasks_each_is_read_once(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock, policy=ALL) as store:
        hand = Hand(store, clock)
        for number in range(10_000):
            clock.now += 1_000
            hand.settled(f"task_{number:05d}", profile=f"p{number % 5}", description=f"look at {number}")
        await store.flush()
        counting = CountingStore(store)
        pictures = Pictures(counting, clock)
        page = await pictures.page(Filters(), offset=0, limit=100)
        assert [page["total"], page["tasks"][0]["id"], len(page["tasks"])] == [10_000, "task_09999", 100]
        assert (counting.rows, counting.loads) == (10_000, 100)
        assert page["tasks"] == (await pictures.page(Filters(), offset=0, limit=100))["tasks"]
        assert counting.loads == 100
        hand.started("new", TextDelta(text="so far"))
        hand.settled("newer")
        await store.flush()
        found = await pictures.page(Filters(text="LOOK 4999"), offset=0, limit=100)
        assert [row["id"] for row in found["tasks"]] == ["task_04999"]
        last = await pictures.page(Filters(), offset=10_000, limit=100)
        assert [last["total"], len(last["tasks"])] == [10_002, 2]
        assert counting.rows < 10_020
        assert pictures.cost("profile")["tasks"] == 10_002


async def test_of_a_tree_of_two_hundred_the_settled_ones_are_read_once(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock, policy=ALL) as store:
        hand = Hand(store, clock)
        hand.started("root")
        calls = [
            ToolStarted(call_id="1", tool="read", args='{"path": "a.py"}'),
            ToolEnded(call_id="1", tool="read", status="success", text="x"),
        ]
        for number in range(200):
            (hand.started if number < 8 else hand.settled)(f"child_{number:03d}", *calls, parent="root")
        await store.flush()
        counting = CountingStore(store)
        pictures = Pictures(counting, clock)
        picture = (await pictures.picture("root")).unwrap()
        assert [len(picture["tree"]), picture["tree"][0]["children"]] == [201, 200]
        assert sum(span["kind"] == "tool" for span in picture["spans"]) == 200
        loads, before = counting.loads, await pictures.newest_changes("root")
        assert (await pictures.picture("root")).unwrap() == picture
        assert (counting.loads, await pictures.newest_changes("root")) == (loads, before)


async def test_of_a_budget_that_a_tree_shares_each_page_tells_what_its_root_has_left(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        hand = Hand(store, clock)
        root, child, limited = (hand.started(name, parent=above) for name, above in TREE)
        hand.tell(child, left(cost_usd="0.4887", spawns=25))
        hand.tell(limited, left(cost_usd="0.4855", spawns=25, requests=3))
        root = hand.tell(root, AccountCharged(usage=Usage(requests=2, cost_usd=Decimal("0.0192"))))
        root = hand.tell(root, AccountCharged(unpriced_usd=Decimal("0.0143")))
        hand.tell(root, left(cost_usd="0.4665", spawns=25))
        await store.flush()
        pictures = Pictures(store, clock)
        told = {name: (await pictures.picture(name)).unwrap() for name, _ in TREE}
    assert {name: (one["left"], one["own_left"]) for name, one in told.items()} == {
        "root": ("$0.4665 · 25 tasks", ""),
        "child": ("$0.4665 · 25 tasks", ""),
        "limited": ("$0.4665 · 25 tasks", "3 requests"),
    }
    assert {one["unpriced"] for one in told.values()} == {"unpriced requests counted as $0.0143"}


async def test_a_task_tells_what_others_of_its_start_have_left_of_the_budget_and_nothing_once_it_has_settled(tmp_path):
    clock = Clock()
    shares = StartBudget(id="start_1", budget=Budget(cost_usd=Decimal(5)))
    async with opened("sqlite", tmp_path, clock) as store:
        hand = Hand(store, clock)
        for name, spent in (("one", "0.50"), ("other", "1.25")):
            task = hand.started(name, UsageAdded(usage=Usage(requests=1, cost_usd=Decimal(spent))), shares=shares)
            task = hand.tell(task, left(cost_usd="4.50"))
        await store.flush()
        pictures = Pictures(store, clock)
        at_work = (await pictures.picture("one")).unwrap()["left"]
        hand.tell(task, RunEnded(outcome=Succeeded(), output="Done."), TaskSettled(outcome=Succeeded()))
        await store.flush()
        settled = (await pictures.picture("other")).unwrap()["left"]
    assert (at_work, settled) == ("$3.2500", "")


async def test_the_time_of_a_call_is_without_its_wait_for_an_answer(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        hand = Hand(store, clock)
        task = hand.started("task_1", ToolStarted(call_id="c", tool="bash", args="{}"))
        place = {"task_id": task.id, "session_id": task.session_id, "path": (task.id,), "profile": "finder"}
        asked = Request(id="req_1", kind="tool", tool="bash", call_id="c", **place)
        for later_ms, event in (
            (100, AnswerAwaited(request=asked)),
            (36_000, AnswerGiven(request_id="req_1", answer=Approve(), by="terminal")),
            (200, ToolEnded(call_id="c", tool="bash", status="success", text="")),
        ):
            clock.now += later_ms
            task = hand.tell(task, event)
        await store.flush()
        entries = (await Pictures(store, clock).transcript("task_1", 0)).unwrap()["entries"]
    assert [entry["took_ms"] for entry in entries if entry["kind"] == "tool"] == [300]


TREE = (("root", None), ("child", "root"), ("limited", "child"))


def left(cost_usd, **rest):
    return AccountCharged(remaining=Remaining(cost_usd=Decimal(cost_usd), **rest))


async def test_a_queued_task_says_its_place_among_those_that_were_queued_with_it(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        hand, pictures = Hand(store, clock), Pictures(store, clock)
        hand.started("lead")
        for name, lead in (("first", "lead"), ("second", "lead"), ("alone", None)):
            clock.now += 1_000
            hand.new(name, parent=lead)
        await store.flush()
        listed = (await pictures.page(Filters(), offset=0, limit=9))["tasks"]
        tree = (await pictures.picture("second")).unwrap()["tree"]
    said = {
        "first": "Waits for its turn (1 of 2).",
        "second": "Waits for its turn (2 of 2).",
        "alone": "Waits for its turn.",
    }
    assert {row["id"]: row["last"] for row in listed if row["status"] == "queued"} == said
    assert {row["id"]: row["last"] for row in tree if row["status"] == "queued"}.items() < said.items()


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ({"why": "slots"}, "Waits for a free slot: openai answers other requests."),
        ({"why": "rate_limit"}, "Waits: openai asked to slow down."),
        ({"why": "rate_limit", "wait_s": 0.266, "status": 429}, "Waits: openai asked to slow down."),
        ({"why": "rate_limit", "wait_s": 90.2, "status": 429}, "Waits: openai asked to slow down for 1m 30s."),
        ({"why": "rate_limit", "wait_s": 0.266, "status": 503}, "Waits: openai answered 503."),
        ({"why": "rate_limit", "wait_s": 6.2, "status": 503}, "Waits: openai answered 503; tries again after 6s."),
        ({"why": "budget"}, "Waits: other requests have reserved the rest of the budget."),
    ],
)
async def test_a_task_whose_request_is_held_says_why_as_on_a_terminal(held, told, tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        hand, pictures = Hand(store, clock), Pictures(store, clock)
        hand.tell(hand.started("held"), RequestHeld(provider="openai", **held))
        clock.now += 40_000
        await store.flush()
        (row,) = (await pictures.page(Filters(), offset=0, limit=9))["tasks"]
    assert (row["last"], row["is_stuck"]) == (told, False)


async def test_a_question_leaves_its_options_to_the_buttons(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        hand = Hand(store, clock)
        task = hand.started("asker")
        given = {"session_id": task.session_id, "path": (task.id,), "profile": "finder", "kind": "question"}
        asked = Request(id="req_1", task_id=task.id, question="Which one?", options=("2.4.1", "3.0.0"), **given)
        hand.tell(task, AnswerAwaited(request=asked))
        await store.flush()
        (request,) = (await Pictures(store, clock).picture("asker")).unwrap()["requests"]
    assert (request["title"], request["options"]) == ("Which one?", ["2.4.1", "3.0.0"])


async def test_the_newest_start_is_first_and_each_task_below_the_one_that_started_it(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        hand = Hand(store, clock)
        for name, above, call in (
            ("old", None, None),
            ("one", None, "call"),
            ("two", None, "call"),
            ("first", "one", None),
            ("new", None, None),
            ("below first", "first", None),
            ("second", "one", None),
            ("lost", "nobody", None),
            ("egg", "hen", None),
            ("hen", "egg", None),
        ):
            clock.now += 1_000
            hand.settled(name, parent=above, call=call)
        await store.flush()
        rows = (await Pictures(store, clock).page(Filters(), offset=0, limit=99))["tasks"]
    assert [(row["id"], row["depth"]) for row in rows[:8]] == [
        ("lost", 0),
        ("new", 0),
        ("one", 0),
        ("first", 1),
        ("below first", 2),
        ("second", 1),
        ("two", 0),
        ("old", 0),
    ]
    assert {row["id"] for row in rows[8:]} == {"egg", "hen"}


async def test_the_tasks_below_one_are_counted_whichever_is_read_first_and_as_long_as_they_are_kept(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock, policy=RetentionPolicy(max_entries=3)) as store:
        hand, pictures = Hand(store, clock), Pictures(store, clock)

        async def below():
            clock.now += 1_000
            await store.flush()
            page = await pictures.page(Filters(), offset=0, limit=9)
            return {row["id"]: row["below"] for row in page["tasks"]}

        for name, above in reversed(TREE):
            hand.settled(name, parent=above)
            clock.now += 1_000
        assert await below() == {"root": 2, "child": 1, "limited": 0}
        hand.settled("another", parent="child")
        assert await below() == {"another": 0, "root": 2, "child": 1}


async def test_one_that_does_nothing_for_long_is_stuck_unless_it_waits_for_another(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        hand = Hand(store, clock)
        for task_id, parent in (("root", None), ("quiet", "root"), ("busy", "root")):
            task = hand.started(task_id, parent=parent)
        clock.now += 40_000
        hand.tell(task, TextDelta(text="I work."))
        await store.flush()
        pictures = Pictures(store, clock)
        picture = (await pictures.picture("root")).unwrap()
        tree = picture["tree"]
        listed = (await pictures.page(Filters(), offset=0, limit=9))["tasks"]
        stuck = await pictures.page(Filters(statuses=frozenset({"stuck"})), offset=0, limit=9)
    assert ([row["id"] for row in stuck["tasks"]], stuck["counts"]["stuck"]) == (["quiet"], 1)
    assert picture["counts"] == stuck["counts"]
    assert [row["last"] for row in tree if row["is_stuck"]] == ["Waits for its model."]
    for rows in (tree, listed):
        assert {row["id"]: row["is_stuck"] for row in rows} == {"root": False, "quiet": True, "busy": False}
        assert {row["id"] for row in rows if row["progress_ms"] is None} == {"root"}


async def test_one_that_waits_for_tasks_of_its_own_says_for_how_many_until_it_does_something_else(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        hand, pictures = Hand(store, clock), Pictures(store, clock)
        root = hand.started("root", ToolStarted(call_id="1", tool="task", args="{}"))
        for number in range(3):
            clock.now += 1
            (hand.settled if number else hand.started)(f"child_{number}", parent="root")
        clock.now += 40_000

        async def last():
            await store.flush()
            page = await pictures.page(Filters(text="root"), offset=0, limit=9)
            (root,) = (await pictures.picture("root")).unwrap()["tree"][:1]
            assert page["tasks"][0]["last"] == root["last"]
            return root["last"]

        assert await last() == "Waits for 1 of 3 tasks below: 1 stuck"
        hand.tell(root, ToolStarted(call_id="2", tool="read", args='{"path": "a.py"}'))
        assert await last() == "read a.py"


async def test_pages_are_told_of_a_task_that_does_something_else_or_waits_for_another(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        hand, pictures = Hand(store, clock), Pictures(store, clock)
        task = hand.started("root")
        await store.flush()
        await pictures.look()
        seen = pictures.registry.version
        hand.tell(task, ToolStarted(call_id="1", tool="read", args='{"path": "a.py"}'))
        await store.flush()
        await pictures.look()
        changed = await pictures.changes(seen)
        assert [row["last"] for row in changed["tasks"]] == ["read a.py"]
        seen = pictures.registry.version
        await pictures.look()
        assert await pictures.changes(seen) is None


@pytest.mark.parametrize(
    ("resumes", "way_on"),
    [(True, "A follow-up goes on with it."), (False, "`ohm run --resume task_1` goes on with it.")],
)
async def test_a_task_whose_process_died_says_so_and_how_to_go_on(tmp_path, resumes, way_on):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        task = Hand(store, clock).started("task_1")
        _, events = recovered(task, now_ms=clock())
        Hand(store, clock).tell(task, *events)
        await store.flush()
        pictures = Pictures(store, clock, resumes=resumes)
        failure = (await pictures.picture("task_1")).unwrap()["task"]["failure"]
        told = (await pictures.transcript("task_1", 0)).unwrap()["entries"][-1]
    said = "Its process died; what it did is kept."
    assert (failure["message"], failure["advice"]) == (said, way_on)
    assert told["text"] == f"{said} `ohm run --resume task_1` goes on with it."


@pytest.mark.parametrize(("ends", "then"), [("success", ""), ("interrupted", ", not heard")])
async def test_a_follow_up_that_a_run_has_taken_in_the_middle_of_a_call_is_heard_once_that_has_ended(
    tmp_path, ends, then
):
    clock = Clock()
    calls = [ToolStarted(call_id=name, tool=name) for name in ("read", "bash")]
    async with opened("sqlite", tmp_path, clock) as store:
        hand = Hand(store, clock)
        task = hand.started("task_1", *calls, FollowUpTaken(prompt="and tests?"))
        task = hand.tell(task, ToolEnded(call_id="read", tool="read", status="success"))
        await store.flush()
        pictures = Pictures(store, clock)
        before = (await pictures.transcript("task_1", 0)).unwrap()
        task = hand.tell(task, ToolEnded(call_id="bash", tool="bash", status=ends))
        hand.tell(task, RunEnded(outcome=Succeeded(), output="Done."), TaskSettled(outcome=Succeeded()))
        await store.flush()
        after = (await pictures.transcript("task_1", before["next"])).unwrap()
    titles = [[one["title"] for one in told["entries"] if one["kind"] == "prompt"] for told in (before, after)]
    assert titles == [["prompt", "follow-up, heard once bash has ended"], [f"follow-up{then}"]]
