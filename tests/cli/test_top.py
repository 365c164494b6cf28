"""`ohm top`: tasks of all processes in one table, of which keys choose, open and steer one."""

from __future__ import annotations

import json
import signal
from decimal import Decimal
from functools import partial

import pytest
from another_process import another_process
from anyio import to_thread
from screen import PATIENCE_S, on_terminal
from store_tasks import Clock, Hand, opened

from ohm_subagents.cli.fleet import Fleet
from ohm_subagents.cli.table import Table
from ohm_subagents.commands import system_clock
from ohm_subagents.contract import Budget, RunEnded, StartBudget, Succeeded, TaskSettled, Usage, UsageAdded

DOWN, ENTER, ESCAPE = "\x1b[B", "\n", "\x1b"
SPENT = UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.5")))
DONE = (RunEnded(outcome=Succeeded(), output="It is done."), TaskSettled(outcome=Succeeded()))


@pytest.fixture(autouse=True)
def staged(ohm):
    ohm.configure({"subagentBackend": "stage"})


def last_frame(screen) -> list[str]:
    """The lines since the newest line of sums."""
    lines = screen.text.splitlines()
    return lines[max(at for at, line in enumerate(lines) if "sorted by" in line) :]


def wait_for_request(ohm) -> None:
    """Wait for the one request; it is told before it is stored."""
    while not json.loads(ohm("requests", "--json").stdout):
        pass


@pytest.mark.slow
def test_keys_sort_what_is_shown_live_and_end_it(ohm, ohm_process) -> None:
    with another_process(ohm.root / "config"), on_terminal(ohm_process, "top") as (screen, shown):
        screen.wait_for("sorted by time", "running  ", "t ▾ time")
        screen.type("c")
        screen.wait_for("sorted by cost", "c ▾ cost")
        screen.type("q")
        screen.wait_for_end()
        assert shown.wait(PATIENCE_S) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        (60, "  c cost · t ▾ time · k tokens · p profile"),
        (80, "x cancel · c cost · t ▾ time\n  k tokens · p profile"),
        (120, "x cancel · c cost · t ▾ time · k tokens · p profile"),
    ],
)
def test_the_keys_are_named_whole_on_every_screen(ohm, ohm_process, columns: int, hint: str) -> None:
    with (
        another_process(ohm.root / "config"),
        on_terminal(ohm_process, "top", columns=columns) as (screen, _),
    ):
        screen.wait_for("  q quit · ↑↓ choose ▸ · Enter open · s send", hint)
        screen.type("q")
        screen.wait_for_end()


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_chosen_task_is_cancelled_and_the_others_go_on(ohm, ohm_process) -> None:
    with another_process(ohm.root / "config") as (task_id, _):
        clock = Clock(system_clock())
        async with opened("sqlite", ohm.root / "config", clock) as store:
            Hand(store, clock).started("task_other", description="Stay")
            await store.flush()
            with on_terminal(ohm_process, "top") as (screen, shown):
                wait_for = partial(to_thread.run_sync, screen.wait_for)
                await wait_for("2 tasks: 2 running", "x cancel")
                screen.type("x")
                await wait_for("Choose a task first: ↑ and ↓ move the ▸.")
                screen.type(DOWN + "x")
                await wait_for("Cancel p? x again / Esc")
                screen.type("x")
                await wait_for("2 tasks: 1 running, 1 cancelled", "╰ It was cancelled on a")
                screen.type("q")
                await to_thread.run_sync(screen.wait_for_end)
                assert shown.wait(PATIENCE_S) == 0
            told = await to_thread.run_sync(ohm, "task", task_id)
    assert "It was cancelled on a terminal." in told.stdout


@pytest.mark.slow
def test_what_a_task_asks_is_answered_from_the_table(ohm, ohm_process) -> None:
    asks = {"task": {"tools": {"ask": ["bash: git push"]}}}
    ohm.configure({"subagentBackend": "stage", "suites": ["task"], "subagents": asks})
    with ohm_process.start("run", "task", "push") as process:
        wait_for_request(ohm)
        with on_terminal(ohm_process, "top") as (screen, _):
            screen.wait_for("1 task: 1 running (1 asking)", "a answer")
            screen.type("a")
            screen.wait_for("Task · push wants to run bash:", "  command: git push", "[y] once")
            screen.type("y\n")
            screen.wait_for("1 task: 1 succeeded", "╰ It is pushed.")
            screen.type("q")
            screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.anyio
async def test_no_letter_chooses_a_row_where_its_pair_sorts(ohm) -> None:
    clock = Clock(system_clock())
    async with opened("sqlite", ohm.root / "config", clock) as store:
        Hand(store, clock).started("task_1")
        await store.flush()
        table = Table(Fleet(store, settled=0), "time", opens=lambda _, table: table)
        assert table.press("j") is None
        assert table.press("k") is table
        assert "sorted by tokens" in table.frame(80, 9)
        assert table.selection.chosen is None
        assert table.press(DOWN) is table
    assert table.selection.chosen == "task_1"


@pytest.mark.anyio
async def test_the_choice_stays_on_its_task_and_that_is_opened_with_those_below_it(ohm, ohm_process) -> None:
    clock = Clock(system_clock() - 9_000)
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        lead = hand.started("task_lead", description="Release")
        hand.settled("task_done", parent="task_lead", description="Test", output="All pass.")
        child = hand.started("task_child", parent="task_lead", description="Write")
        clock.now += 5_000
        hand.started("task_dear", SPENT, description="Cost a lot")
        await store.flush()
        with on_terminal(ohm_process, "top") as (screen, _):
            wait_for = partial(to_thread.run_sync, screen.wait_for)
            await wait_for("4 tasks: 3 running, 1 succeeded", "Waits for 1 of 2 below", "╰ All pass.")
            screen.type(DOWN + "c")
            await wait_for("sorted by cost", "c ▾ cost")
            marked = [line for line in last_frame(screen) if "▸" in line and "choose" not in line]
            assert [line.split()[-1] for line in marked] == ["Release"]
            screen.type(ENTER)
            await wait_for("Finder · Release", "Esc all tasks · ↑↓ choose ▸ · Enter open · s send · x cancel")
            screen.type(DOWN + DOWN + DOWN + ENTER)
            await wait_for("q all tasks · Esc back")
            hand.tell(child, *DONE)
            await store.flush()
            await wait_for("It is done.", "q all tasks · Esc back · s send")
            drawn = screen.text.count("sorted by cost")
            screen.type("q")
            await to_thread.run_sync(partial(screen.wait_for, "sorted by cost", times=drawn + 1))
            hand.tell(lead, *DONE)
            await store.flush()
            await wait_for("4 tasks: 1 running, 3 succeeded")
            screen.type("q")
            await to_thread.run_sync(screen.wait_for_end)


@pytest.mark.anyio
async def test_of_what_has_settled_that_of_the_same_starts_is_shown_and_as_much_else_as_is_asked_for(ohm) -> None:
    clock, shares = Clock(system_clock()), StartBudget(id="start_1", budget=Budget(requests=10))
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        for task_id in ("task_old", "task_new"):
            hand.settled(task_id, description=f"Of {task_id}")
        hand.settled("task_batch_1", description="Together", shares=shares)
        hand.started("task_batch_2", description="Together", shares=shares)
        hand.settled("task_lead", description="Ended before those below")
        hand.settled("task_helped", parent="task_lead", description="Beside it")
        hand.started("task_child", parent="task_lead", description="Goes on")
        await store.flush()
        shown, more = [await to_thread.run_sync(ohm, "top", *words) for words in ((), ("--settled", "1"))]
    ids = [line.split()[1] for line in shown.stdout.splitlines()[2:]]
    assert ids == ["task_batch_2", "task_lead", "task_child", "task_helped", "task_batch_1"]
    assert shown.stdout.startswith("5 tasks: 2 running, 3 succeeded")
    added = {line.split()[1] for line in more.stdout.splitlines()[2:]} - {*ids}
    assert added == {"task_new"}


@pytest.mark.anyio
async def test_in_a_pipe_no_title_is_cut(ohm) -> None:
    clock, title = Clock(system_clock()), "Look at all of it. " * 1_000
    async with opened("sqlite", ohm.root / "config", clock) as store:
        Hand(store, clock).started("task_1", description=title)
        await store.flush()
        shown = await to_thread.run_sync(ohm, "top")
    assert shown.stdout.endswith(f"  {title.strip()}\n")


@pytest.mark.anyio
async def test_what_has_settled_of_a_call_that_goes_on_is_shown(ohm) -> None:
    clock = Clock(system_clock())
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        for call in ("call_1", "call_2"):
            hand.settled(f"task_of_{call}", call=call)
        hand.started("task_2", call="call_1")
        await store.flush()
        shown = await to_thread.run_sync(ohm, "top")
    assert [line.split()[1] for line in shown.stdout.splitlines()[2:]] == ["task_2", "task_of_call_1"]


@pytest.mark.anyio
async def test_what_settles_while_the_table_is_open_stays_in_it_also_what_begins_only_then(ohm, ohm_process) -> None:
    clock = Clock(system_clock())
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        hand.settled("task_before", description="Long over")
        task = hand.started("task_1", description="Work")
        await store.flush()
        with on_terminal(ohm_process, "top") as (screen, _):
            await to_thread.run_sync(screen.wait_for, "1 task: 1 running")
            clock.now = system_clock()
            hand.tell(task, *DONE)
            hand.settled("task_2", description="Come and go", output="Quick work.")
            await store.flush()
            await to_thread.run_sync(screen.wait_for, "2 tasks: 2 succeeded", "╰ It is done.", "╰ Quick work.")
            screen.type("q")
            await to_thread.run_sync(screen.wait_for_end)
    assert "Long over" not in screen.text


@pytest.mark.slow
def test_the_first_task_of_all_is_shown_where_nothing_was_kept_when_the_table_was_opened(ohm, ohm_process) -> None:
    before = sorted((ohm.root / "config").iterdir())
    with on_terminal(ohm_process, "top") as (screen, shown):
        screen.wait_for("Nothing waits or runs.")
        assert sorted((ohm.root / "config").iterdir()) == before
        with another_process(ohm.root / "config") as (task_id, _):
            screen.wait_for("1 task: 1 running", "read a.py")
            screen.type(DOWN + ENTER)
            screen.wait_for("Esc all tasks")
            screen.type("q")
            assert ohm("cancel", task_id).returncode == 0
            screen.wait_for("1 task: 1 cancelled")
        screen.type("q")
        screen.wait_for_end()
        assert shown.wait(PATIENCE_S) == 0


def test_a_store_that_tells_no_news_is_read_anew(ohm, ohm_process) -> None:
    ohm.configure({"subagentBackend": "stage", "subagents": {"store": "snapshot"}})
    with on_terminal(ohm_process, "top") as (screen, _):
        screen.wait_for("Nothing waits or runs.")
        for number in (1, 2):
            assert ohm("run", "finder", "wide").returncode == 0
            screen.wait_for(f"{number} task{'s' * (number - 1)}: {number} succeeded")
        screen.type("q")
        screen.wait_for_end()


@pytest.mark.slow
def test_a_store_that_cannot_be_used_once_it_is_there_ends_the_table_with_a_sentence(ohm, ohm_process) -> None:
    with on_terminal(ohm_process, "top") as (screen, shown):
        screen.wait_for("Nothing waits or runs.")
        (ohm.root / "config" / "ohm.subagents.tasks.sqlite3").mkdir()
        screen.wait_for("The registry of tasks in", "cannot be used")
        screen.wait_for_end()
        assert shown.wait(PATIENCE_S) == 1


class Counted:
    """A store that counts the tasks that are read of it."""

    def __init__(self, store) -> None:
        self._store = store
        self.read = 0

    def __getattr__(self, name: str):
        return getattr(self._store, name)

    def get(self, task_id):
        self.read += 1
        return self._store.get(task_id)

    def list(self, query):
        for found in self._store.list(query):
            self.read += 1
            yield found


@pytest.mark.anyio
async def test_a_look_reads_what_goes_on_and_not_all_that_is_kept(ohm) -> None:
    clock = Clock(system_clock() - 60_000)
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        for number in range(150):
            hand.settled(f"task_{number}")
        hand.settled("task_a", parent="task_lead")
        hand.started("task_b", parent="task_lead")
        await store.flush()
        counted = Counted(store)
        fleet = Fleet(counted, settled=0)
        first, counted.read = counted.read, 0
        fleet.read()
    assert {row.listed.id for row in fleet.rows} == {"task_a", "task_b"}
    assert first < 15
    assert counted.read < 6


class Blinking(Counted):
    """A store whose lists are empty while it blinks, as of a task that goes from one status to another meanwhile."""

    is_blind = False

    def list(self, query):
        return iter(()) if self.is_blind else super().list(query)


@pytest.mark.anyio
async def test_a_task_that_two_lists_have_missed_is_not_lost(ohm) -> None:
    clock = Clock(system_clock())
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        task = hand.started("task_1")
        await store.flush()
        blinking = Blinking(store)
        fleet = Fleet(blinking, settled=0)
        blinking.is_blind = True
        fleet.read()
        assert [row.listed.status for row in fleet.rows] == ["running"]
        hand.tell(task, *DONE)
        await store.flush()
        fleet.read()
    assert [row.listed.status for row in fleet.rows] == ["succeeded"]


@pytest.mark.slow
def test_a_task_whose_process_has_died_goes_on_here_once_it_is_answered_and_ends_with_the_table(
    ohm, ohm_process
) -> None:
    asks = {"task": {"tools": {"ask": ["bash: git push"]}}}
    ohm.configure({"subagentBackend": "stage", "suites": ["task"], "subagents": asks})
    with ohm_process.start("run", "task", "push") as process:
        wait_for_request(ohm)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
    with on_terminal(ohm_process, "top") as (screen, shown):
        screen.wait_for("1 task: 1 running (1 asking, 1 with no process)", "a answer")
        screen.type("a")
        screen.wait_for("[y] once")
        screen.type("y\n")
        screen.wait_for("Its process has ended, so it goes on here, and ends when you leave.", "1 asking")
        screen.type("q")
        screen.wait_for("1 task goes on here and ends with this: q again / Esc")
        screen.type("q")
        screen.wait_for_end()
        assert shown.wait(PATIENCE_S) == 0
