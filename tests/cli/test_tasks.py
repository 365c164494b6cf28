"""`ohm tasks`: what every process has kept, without changing any of it."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from decimal import Decimal
from functools import partial

import pytest
from anyio import to_thread
from screen import PATIENCE_S, on_terminal
from store_tasks import Clock, Hand, opened

from ohm_subagents.commands import system_clock
from ohm_subagents.contract import (
    AccountCharged,
    AnswerAwaited,
    Budget,
    Envelope,
    Failed,
    OhmError,
    Remaining,
    Request,
    RequestHeld,
    RequestReleased,
    StartBudget,
    Usage,
    UsageAdded,
)

LINE = re.compile(
    r"(\S) (task_\S+) Finder · (.*?) · ([\w ]+)(?:, (\S+ \d+|elsewhere))?"
    r" · (?:created |ended )?(\d+)s(?: ago)?(?: · ([\d.]+)s)?(?: · (.*))?"
)
NOTHING_KEPT = 'Nothing is kept: subagents.store is "memory", so tasks are gone with the process that ran them.\n'


def listed(ohm, *options: str) -> list[tuple[str, ...]]:
    done = ohm("tasks", *options)
    assert (done.returncode, done.stderr) == (0, "")
    if done.stdout.startswith("No tasks are kept in "):
        return []
    found = [(LINE.fullmatch(line), line) for line in done.stdout.splitlines()]
    assert all(match for match, _ in found), found
    return [match.groups() for match, _ in found]


def seen(ohm, *, calls: str) -> tuple[str, ...]:
    """The newest task, once so much of it is in the file of the process that runs it."""
    while True:
        found = listed(ohm)
        if found and found[0][4] and f"{found[0][7]}".endswith(calls):
            return found[0]


def test_where_nothing_is_kept_nothing_is_made(ohm) -> None:
    before = sorted((ohm.root / "config").iterdir())
    place = ohm.root / "config" / "ohm.subagents.tasks.sqlite3"
    assert ohm("tasks").stdout == f"No tasks are kept in '{place}'.\n"
    assert ohm("tasks", "--json").stdout == "[]\n"
    assert ohm("tasks", "export").stdout == ""
    assert sorted((ohm.root / "config").iterdir()) == before


def test_tasks_are_listed_newest_first(ohm) -> None:
    ohm("run", "finder", "fail", "--backend", "stage")
    ohm("run", "finder", "Wo ist\n世界?", "--backend", "none")
    newest, oldest = listed(ohm)
    assert (newest[0], newest[2], newest[3], newest[4]) == ("✓", "Wo ist", "succeeded", None)
    assert newest[7].startswith("subagent: finder · description: Wo ist · prompt: Wo ist")
    assert (oldest[0], oldest[2], oldest[3], oldest[7]) == ("✕", "fail", "failed", "It broke. · 1 tool call")


def test_the_cost_is_told_in_full_with_a_sum_over_all_that_are_listed(ohm) -> None:
    ohm("run", "finder", "fail", "--backend", "stage")
    ohm("run", "finder", "Wo?", "--backend", "none")
    *lines, total = ohm("tasks", "--cost").stdout.splitlines()
    assert [line.rpartition(" · ")[2] for line in lines] == ["nothing used", "It broke."]
    assert lines[1].endswith(" · 1 tool call · It broke.")
    assert total == "2 tasks in all: 1 tool call"


def test_options_choose_among_them(ohm) -> None:
    for prompt in ("fail", "answer", "x"):
        ohm("run", "finder", prompt, "--backend", "stage")
    assert [task[2] for task in listed(ohm, "--status", "failed")] == ["fail"]
    assert [task[2] for task in listed(ohm, "--profile", "Finder", "--status", "succeeded")] == ["x", "answer"]
    [known] = json.loads(ohm("tasks", "--status", "failed", "--json").stdout)
    assert [task[2] for task in listed(ohm, "--session", known["session_id"])] == ["fail"]
    place = ohm.root / "config" / "ohm.subagents.tasks.sqlite3"
    assert (
        ohm("tasks", "--profile", "oracle").stdout
        == f"No task in '{place}' has the subagent 'oracle' (kept there: 3).\n"
    )
    assert ohm("tasks", "--status", "stuck").stdout == "Nothing is stuck (3 tasks kept).\n"
    assert ohm("tasks", "--status", "asking", "--profile", "finder").stdout.startswith(f"No task in '{place}' has ")


@pytest.mark.anyio
async def test_those_that_are_stuck_or_wait_for_an_answer_are_found(ohm) -> None:
    clock = Clock()
    clock.now = system_clock() - 40_000
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        asking = hand.started("task_asking")
        hand.started("task_lead")
        hand.started("task_quiet", parent="task_lead")
        place = {"task_id": asking.id, "session_id": asking.session_id, "path": (asking.id,), "profile": "finder"}
        place |= {"asked_ms": clock(), "expires_ms": clock() + 600_000}
        hand.tell(asking, AnswerAwaited(request=Request(id="req_1", kind="question", question="May I?", **place)))
        await store.flush()
        for status, found in (("stuck", "task_quiet"), ("asking", "task_asking")):
            done = await to_thread.run_sync(partial(ohm, "tasks", "--status", status))
            assert [line.split()[1] for line in done.stdout.splitlines()] == [found]
        stuck = await to_thread.run_sync(partial(ohm, "tasks", "--status", "stuck", "--limit", "1"))
        told = [partial(ohm, "task", task_id) for task_id in ("task_lead", "task_quiet", "task_asking")]
        facts = [(await to_thread.run_sync(one)).stdout for one in told]
        tree = facts[0].rpartition("\n\n")[2].splitlines()
    assert stuck.stderr.startswith("What is stuck ")
    assert "ohm cancel" in stuck.stderr
    assert stuck.stdout.startswith("! ")
    assert re.search(r" · stuck for \d+s, pid \d+ · .* · Waits for its model\.\n$", stuck.stdout)
    assert re.search(r"^status +running, pid \d+$", facts[0], re.MULTILINE)
    assert re.search(r"^status +stuck for \d+s, pid \d+$", facts[1], re.MULTILINE)
    assert re.search(r"^status +asking, pid \d+$", facts[2], re.MULTILINE)
    assert re.search(r"^asks +May I\? \(req_1\) · asked \d+s ago · denied in 9m \d+s$", facts[2], re.MULTILINE)
    assert ["stuck for" in line for line in tree] == [False, False, False, False, True]
    assert tree[0].startswith("2 running (1 stuck) · ")
    assert tree[-1].startswith("    ")


@pytest.mark.anyio
async def test_a_task_of_another_process_that_waits_for_a_provider_is_not_stuck_and_says_so(ohm) -> None:
    clock = Clock(system_clock() - 40_000)
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        hand.tell(hand.started("task_held"), RequestHeld(provider="openai", why="rate_limit"))
        gone_on = hand.tell(hand.started("task_gone_on"), RequestHeld(provider="openai", why="slots"))
        clock.now = system_clock()
        hand.tell(gone_on, RequestReleased())
        await store.flush()
        stuck = await to_thread.run_sync(partial(ohm, "tasks", "--status", "stuck"))
        every = (await to_thread.run_sync(partial(ohm, "tasks"))).stdout
    assert "stuck for" not in stuck.stdout + every
    assert every.count("Waits: openai asked to slow down.") == 1


@pytest.mark.anyio
async def test_a_task_waits_for_what_it_has_started_and_not_for_what_that_has_left_behind(ohm) -> None:
    clock = Clock(system_clock() - 40_000)
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        hand.started("task_lead")
        hand.settled("task_over", parent="task_lead")
        hand.started("task_left", parent="task_over")
        await store.flush()
        told = [(await to_thread.run_sync(partial(ohm, "task", name))).stderr for name in ("task_lead", "task_over")]
        hand.started("task_more", parent="task_lead")
        await store.flush()
        listed = (await to_thread.run_sync(partial(ohm, "tasks"))).stdout
    waiting = [line.split()[1] for line in listed.splitlines() if "Waits for 1 of 2 below: 1 stuck" in line]
    assert waiting == ["task_lead"]
    assert [one.startswith("What is stuck ") for one in told] == [True, False]


@pytest.mark.anyio
async def test_on_a_terminal_a_list_shows_each_task_below_the_one_that_has_started_it(ohm, ohm_process) -> None:
    clock = Clock(system_clock())
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        below = (("task_below", "task_lead"), ("task_further", "task_lead"))
        for task_id, parent in (("task_other", None), ("task_lead", None), *below):
            hand.settled(task_id, parent=parent)
            clock.now += 1
        await store.flush()
        heads = []
        for limit in ((), ("--limit", "2")):
            with on_terminal(ohm_process, "tasks", *limit) as (screen, process):
                await to_thread.run_sync(screen.wait_for_end)
                assert process.wait(PATIENCE_S) == 0
            heads.append([line.partition("Finder")[0] for line in screen.text.splitlines() if "Finder" in line])
        piped = (await to_thread.run_sync(ohm, "tasks")).stdout
    assert heads[0] == ["✓ ask_lead ", "  ✓ sk_below ", "  ✓ _further ", "✓ sk_other "]
    assert heads[1] == ["✓ sk_below ↳ ", "✓ _further ↳ "]
    assert [line.split()[1] for line in piped.splitlines()] == ["task_further", "task_below", "task_lead", "task_other"]


@pytest.mark.anyio
async def test_on_a_terminal_a_list_ends_with_how_many_are_in_each_state_and_how_to_answer(ohm, ohm_process) -> None:
    clock = Clock(system_clock() - 40_000)
    ends = []
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        hand.settled("task_done")
        asking = hand.started("task_asking")
        hand.started("task_quiet")
        place = {"task_id": asking.id, "session_id": asking.session_id, "path": (asking.id,), "profile": "finder"}
        hand.tell(asking, AnswerAwaited(request=Request(id="req_1", kind="question", question="May I?", **place)))
        await store.flush()
        for typed in ((), ("--limit", "2"), ("--status", "succeeded")):
            with on_terminal(ohm_process, "tasks", *typed) as (screen, process):
                await to_thread.run_sync(screen.wait_for_end)
                assert process.wait(PATIENCE_S) == 0
            ends.append(screen.text.splitlines())
    rule = "! stuck: no progress for 30s; a long call may only be slow"
    assert ends[0][-3:] == [rule, "3 tasks: 2 running (1 asking, 1 stuck), 1 succeeded", "Answer: ohm requests"]
    assert ends[1][-4:] == [
        rule,
        "2 of 3 tasks: 2 running (1 asking, 1 stuck)",
        "Answer: ohm requests",
        "1 more task: --limit 3",
    ]
    assert len(ends[2]) == 2


@pytest.mark.anyio
async def test_what_is_too_long_for_a_line_is_marked_where_it_is_cut(ohm) -> None:
    clock = Clock(system_clock())
    why = "The provider refused the request. " * 20
    async with opened("sqlite", ohm.root / "config", clock) as store:
        for task_id in ("task_one", "task_two"):
            failed = Failed(error=OhmError(code="task_backend_execution_failed", message=why))
            Hand(store, clock).settled(task_id, outcome=failed, description="Look at all of it " * 9)
        await store.flush()
        for typed in ((), ("--cost",)):
            line, *_ = (await to_thread.run_sync(partial(ohm, "tasks", *typed))).stdout.splitlines()
            assert f"{why[:190]}" in line
            assert "…" in line
        several = await to_thread.run_sync(partial(ohm, "task", "task_"))
    assert "'task_one' (Look at all of it Look at all of it Loo…)" in several.stderr


def test_a_limit_says_how_many_more_there_are(ohm) -> None:
    for prompt in ("one", "two", "three"):
        ohm("run", "finder", prompt)
    done = ohm("tasks", "--limit", "1")
    assert "· three ·" in done.stdout
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "2 more tasks: --limit 3\n")
    done = ohm("tasks", "--limit", "1", "--json")
    assert (len(json.loads(done.stdout)), done.stderr) == (1, "2 more tasks: --limit 3\n")


def test_a_sum_over_a_part_of_the_tasks_says_so_and_how_to_have_that_of_all(ohm) -> None:
    for prompt in ("fail", "fail", "fail"):
        ohm("run", "finder", prompt, "--backend", "stage")
    some, one = ohm("tasks", "--cost", "--limit", "2"), ohm("tasks", "--cost", "--limit", "1")
    assert some.stdout.splitlines()[-1] == "These 2 of 3 tasks: 2 tool calls"
    assert some.stderr == "1 more task: --limit 3; --by profile adds up all of them\n"
    assert one.stdout.splitlines()[-1] == "This 1 of 3 tasks: 1 tool call"
    assert ohm("tasks", "--cost").stdout.splitlines()[-1] == "3 tasks in all: 3 tool calls"


def test_json_is_a_list_of_envelopes(ohm) -> None:
    ran = json.loads(ohm("run", "finder", "answer", "--backend", "stage", "--json").stdout)
    listed = json.loads(ohm("tasks", "--json").stdout)
    assert listed == [ran]
    assert Envelope.model_validate(listed[0]).payload() == listed[0]


def test_a_task_of_another_process_is_seen_at_work_and_goes_on(ohm, ohm_process) -> None:
    with ohm_process.start("run", "finder", "pause", "--backend", "stage") as process:
        ohm.reached.read_text()
        task = seen(ohm, calls="So far: app.py · 1 tool call")
        assert task[4] == f"pid {process.pid}"
        assert "├── ✓ read src/app.py · 12 lines\n    ╰── So far: app.py" in ohm("task", task[1]).stdout
        assert f"status        running, pid {process.pid}\n" in ohm("task", task[1]).stdout
        assert "So far: app.py" in ohm("task", task[1], "--transcript").stdout
        unfinished = ohm("task", task[1], "--output")
        assert (unfinished.returncode, unfinished.stdout) == (1, "")
        assert unfinished.stderr.startswith(f"Task '{task[1]}' has no answer; it is running. ")
        ohm.released.write_text("go")
        stdout, _ = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (0, b"line one\n  line two\n")
    assert [task[3:5] for task in listed(ohm)] == [("succeeded", None)]


def test_a_task_of_a_process_whose_number_means_nothing_here_runs_elsewhere(ohm, ohm_process) -> None:
    with ohm_process.start("run", "finder", "hang", "--backend", "stage") as process:
        ohm.reached.read_text()
        seen(ohm, calls="1 tool call")
        with closing(sqlite3.connect(ohm.root / "config" / "ohm.subagents.tasks.sqlite3")) as database:
            database.execute("UPDATE owners SET boot = 'of another machine'")
            database.commit()
        assert listed(ohm)[0][3:5] == ("running", "elsewhere")
        process.terminate()
        process.wait(60)


def test_a_task_whose_process_was_killed_has_failed_and_keeps_what_was_done(ohm, ohm_process) -> None:
    with ohm_process.start("run", "finder", "pause", "--backend", "stage") as process:
        ohm.reached.read_text()
        seen(ohm, calls="1 tool call")
        process.kill()
        process.wait(60)
    done = ohm("tasks")
    assert LINE.fullmatch(done.stdout.strip())[4] == "failed"
    assert f"warning: The process of task '{LINE.fullmatch(done.stdout.strip())[2]}' died; what it did" in done.stderr
    [task] = listed(ohm)
    assert f"what it did is kept, and `ohm run --resume {task[1]}` goes on with it." in done.stderr
    assert "non-terminal" not in done.stderr
    shown = ohm("task", task[1])
    went_on = f"Its process died; what it did is kept. `ohm run --resume {task[1]}` goes on with it."
    assert (shown.stdout.count(went_on), "non-terminal" in shown.stdout) == (2, False)
    assert went_on in ohm("task", task[1], "--transcript").stdout
    told = "✓ read src/app.py · 12 lines" in shown.stdout, "(task_rehydrated_incomplete)" in shown.stdout
    assert told == (True, True)
    assert "So far: app.py" in ohm("task", task[1], "--transcript").stdout


def test_the_row_of_a_task_whose_process_died_has_the_command_with_its_short_id(ohm, ohm_process) -> None:
    with ohm_process.start("run", "finder", "pause", "--backend", "stage") as process:
        ohm.reached.read_text()
        seen(ohm, calls="1 tool call")
        process.kill()
        process.wait(60)
    task = LINE.fullmatch(ohm("tasks").stdout.strip())[2]
    with on_terminal(ohm_process, "tasks", columns=120) as (screen, shown):
        screen.wait_for_end()
        assert shown.wait(PATIENCE_S) == 0
    assert f"Its process died; ohm run --resume {task[-8:]} goes on with what it did." in screen.text


@pytest.mark.parametrize("name", ["TASK_MAX_ENTRIES", "TASK_RETENTION_MS"])
def test_who_only_looks_removes_nothing_whatever_is_configured(ohm, name: str) -> None:
    for prompt in ("one", "two"):
        ohm("run", "finder", prompt)
    before = ohm("tasks", "export").stdout
    ohm.env[f"OHM_SUBAGENTS_{name}"] = "1"
    ohm("tasks")
    ohm("tasks", "export")
    del ohm.env[f"OHM_SUBAGENTS_{name}"]
    assert ohm("tasks", "export").stdout == before


def test_a_task_past_its_time_is_not_listed_and_says_so(ohm) -> None:
    ohm("run", "finder", "x")
    task_id = listed(ohm)[0][1]
    ohm.env["OHM_SUBAGENTS_TASK_RETENTION_MS"] = "1"
    assert ohm("tasks").stdout.startswith("No tasks are kept in ")
    done = ohm("task", task_id)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Task id '{task_id}' expired by retention policy after 1ms\n"


def test_a_task_that_made_room_for_others_says_so(ohm) -> None:
    ohm.env["OHM_SUBAGENTS_TASK_MAX_ENTRIES"] = "1"
    ohm("run", "finder", "one")
    task_id = listed(ohm)[0][1]
    ohm("run", "finder", "two")
    told = ohm("task", task_id).stderr
    assert told == f"Task id '{task_id}' evicted by capacity policy after reaching max 1 tasks\n"


def test_memory_keeps_nothing_and_says_so(ohm) -> None:
    ohm.env["OHM_SUBAGENTS_STORE"] = "memory"
    assert (ohm("tasks").returncode, ohm("tasks").stdout) == (0, NOTHING_KEPT)
    done = ohm("tasks", "--json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", NOTHING_KEPT)
    done = ohm("task", "task_1")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", NOTHING_KEPT)
    done = ohm("tasks", "export")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", NOTHING_KEPT)


def test_a_snapshot_is_read_beside_the_process_that_writes_it(ohm, ohm_process) -> None:
    ohm.env["OHM_SUBAGENTS_STORE"] = "snapshot"
    ohm("run", "finder", "answer", "--backend", "stage")
    with ohm_process.start("run", "finder", "pause", "--backend", "stage") as process:
        ohm.reached.read_text()
        assert seen(ohm, calls="1 tool call")[4] == "elsewhere"
        ohm.released.write_text("go")
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, b"")
    _, answered = listed(ohm)
    assert answered[3] == "succeeded"
    assert "✓ read src/app.py · " in ohm("task", answered[1], "--transcript").stdout


def test_a_snapshot_whose_process_was_killed_shows_what_the_next_one_will_find(ohm, ohm_process) -> None:
    ohm.env["OHM_SUBAGENTS_STORE"] = "snapshot"
    file = ohm.root / "config" / "ohm.subagents.tasks.json"
    with ohm_process.start("run", "finder", "pause", "--backend", "stage") as process:
        ohm.reached.read_text()
        seen(ohm, calls="1 tool call")
        process.kill()
        process.wait(60)
    before = file.read_bytes()
    [task] = listed(ohm)
    assert task[3] == "failed"
    assert "(task_rehydrated_incomplete)" in ohm("task", task[1]).stdout
    assert file.read_bytes() == before


def test_a_snapshot_that_no_database_has_taken_over_yet_is_shown(ohm) -> None:
    ohm.env["OHM_SUBAGENTS_STORE"] = "snapshot"
    ohm("run", "finder", "x")
    del ohm.env["OHM_SUBAGENTS_STORE"]
    assert [task[2] for task in listed(ohm)] == ["x"]
    assert not [*(ohm.root / "config").glob("*.sqlite3")]


def test_a_store_of_a_plugin_is_written_and_read_as_our_own(ohm) -> None:
    ohm.env["OHM_SUBAGENTS_STORE"] = "shelf"
    ran = json.loads(ohm("run", "finder", "answer", "--backend", "stage", "--json").stdout)
    ohm("run", "finder", "fail", "--backend", "stage")
    assert [task[2:4] for task in listed(ohm)] == [("fail", "failed"), ("answer", "succeeded")]
    assert [task[2] for task in listed(ohm, "--status", "failed")] == ["fail"]
    assert json.loads(ohm("tasks", "--json").stdout)[1] == ran
    assert "So far: app.py" in ohm("task", ran["task_id"], "--transcript").stdout
    assert f"shelf: 2 in {ohm.root / 'config' / 'shelf'}" in ohm("doctor").stdout


def test_a_store_that_no_plugin_offers_is_told_with_those_that_there_are(ohm) -> None:
    ohm.env["OHM_SUBAGENTS_STORE"] = "shelve"
    done = ohm("tasks")
    assert (done.returncode, done.stdout) == (1, "")
    allowed = "'memory', 'postgres', 'shelf', 'snapshot', 'sqlite'"
    fact = "There is no store 'shelve' (env OHM_SUBAGENTS_STORE). Did you mean 'shelf'?"
    assert done.stderr == f"{fact} Set subagents.store to one of {allowed}.\n"
    refused = ohm("run", "finder", "x", "--backend", "none")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == f"error: No task may start: {done.stderr}", "and not a second time"
    found = ohm("doctor")
    assert found.returncode == 1
    assert f"No task may start: {done.stderr.strip()}" in found.stdout


def test_a_registry_that_cannot_be_used_is_one_sentence(ohm) -> None:
    (ohm.root / "config" / "ohm.subagents.tasks.sqlite3").mkdir()
    done = ohm("tasks")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"The registry of tasks in '{ohm.root / 'config'}' cannot be used, ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("store", ["sqlite", "snapshot"])
def test_a_home_in_which_nothing_can_be_kept_is_told_in_words(ohm, store) -> None:
    ohm.env["OHM_SUBAGENTS_STORE"] = store
    ohm.env["PI_CONFIG_DIR"] = "/proc/nowhere"
    done = ohm("run", "finder", "x", "--backend", "none")
    assert done.returncode == 0
    assert "in '/proc/nowhere' cannot be used, no such file or directory: '/proc/nowhere'." in done.stderr


def test_what_tasks_used_is_added_up(ohm) -> None:
    ohm.configure({"subagentBackend": "stage"})
    for words in ("one", "two"):
        ohm("run", "finder", words)
    head, line, total = ohm("tasks", "--cost", "--by", "profile").stdout.splitlines()
    assert (head.split()[0], line.split()[:2], total.split()[:2]) == ("profile", ["finder", "2"], ["all", "2"])
    assert ohm("tasks", "--by", "session", "--csv").stdout.count("\n") == 3
    assert json.loads(ohm("tasks", "--by", "model", "--json").stdout)[0]["tasks"] == 2
    assert ohm("tasks", "--by", "name").stderr == "--by is 'name'; allowed: profile, model, day, session.\n"
    assert ohm("tasks", "--csv").stderr == "--csv is for a report: add --by profile, model, day, session.\n"


@pytest.mark.anyio
async def test_the_tree_of_one_task_is_listed_and_its_cost_added_up(ohm) -> None:
    clock = Clock(system_clock())
    spent = UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.25")))
    parents = {"task_root": None, "task_child": "task_root", "task_grandchild": "task_child", "task_other": None}
    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        for task_id, parent in parents.items():
            hand.settled(task_id, spent, parent=parent)
            clock.now += 1
        await store.flush()

    def ids(*typed: str) -> list[str]:
        return [line.split()[1] for line in ohm("tasks", *typed).stdout.splitlines() if " task_" in line]

    def looked() -> None:
        assert ids("--below", "ask_root") == ["task_grandchild", "task_child", "task_root"]
        assert ids("--below", "task_child", "--limit", "1") == ["task_grandchild"]
        assert ohm("tasks", "--below", "task_root", "--limit", "2").stderr == "1 more task: --limit 3\n"
        total = ohm("tasks", "--below", "task_root", "--cost").stdout.splitlines()[-1]
        assert total.startswith("3 tasks in all: $0.7500 · 3 requests")
        assert ohm("tasks", "--below", "task_root", "--cost", "--by", "profile").stdout.splitlines()[-1].split()[
            :2
        ] == [
            "all",
            "3",
        ]
        assert json.loads(ohm("tasks", "--below", "task_other", "--json").stdout)[0]["task_id"] == "task_other"
        nothing = ohm("tasks", "--below", "task_root", "--status", "failed").stdout
        assert nothing == "No task of the tree of 'task_root' has the status 'failed'.\n"
        unknown = ohm("tasks", "--below", "nobody")
        assert (unknown.returncode, unknown.stdout, "nobody" in unknown.stderr) == (1, "", True)
        assert ohm("tasks", "--below", "task_root", "export").returncode == 2

    await to_thread.run_sync(looked)


@pytest.mark.anyio
async def test_what_is_left_of_a_shared_budget_is_that_of_now_in_every_view(ohm) -> None:
    clock = Clock(system_clock())
    start = StartBudget(id="start_1", budget=Budget(cost_usd=Decimal(5)))

    def spent(cost: str, left: str):
        charged = AccountCharged(remaining=Remaining(cost_usd=Decimal(left)))
        return UsageAdded(usage=Usage(requests=1, cost_usd=Decimal(cost))), charged

    async with opened("sqlite", ohm.root / "config", clock) as store:
        hand = Hand(store, clock)
        hand.started("task_stale", *spent("0.1", "4.9"), shares=start)
        hand.started("task_below", *spent("0.1", "4.8"), parent="task_stale")
        hand.started("task_tight", *spent("0.1", "0.2"), shares=start)
        hand.settled("task_over", *spent("1", "3.8"), shares=start)
        await store.flush()
        wanted = (["tasks", "--cost"], ["top"], ["task", "task_stale"], ["task", "task_over"])
        told = [(await to_thread.run_sync(ohm, *words)).stdout.splitlines() for words in wanted]
    left = {line.split()[1]: line.partition("left: ")[2].split(" ")[0] for line in told[0][:-1]}
    assert left == {"task_over": "", "task_tight": "$0.2000", "task_below": "$3.8000", "task_stale": "$3.8000"}
    assert [line.split().count("$3.8000") for line in told[1] if "task_stale" in line] == [1]
    assert "left          $3.8000" in told[2]
    assert "left at end   $3.8000" in told[3]
