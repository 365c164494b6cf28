"""Real processes on one registry: killed at every write, and side by side."""

from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from forking import forked
from loops import slow_on_trio
from store_tasks import Clock, Hand, opened

HERE = Path(__file__).parent
PROCESSES = 2


@pytest.fixture
def programs(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


@pytest.mark.parametrize(("at_random", "writes"), [(0, [8]), pytest.param(20, [1, 2, 3, 4], marks=pytest.mark.slow)])
@pytest.mark.timeout(300)
def test_a_killed_process_loses_nothing_that_it_acknowledged(programs, at_random, writes):
    import kill_rounds

    report = kill_rounds.rounds(at_random=at_random, writes=writes)

    assert (report.rounds, report.losses) == (at_random + len(kill_rounds.STEPS) * len(writes), []), str(report)
    assert report.accepted > 0
    assert report.recovered > 0  # the endless task of a round is one


@pytest.mark.parametrize("tasks", [30, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.timeout(300)
def test_two_processes_with_many_tasks_each_lose_nothing_and_think_nobody_dead(tmp_path, tasks):
    with ExitStack() as stack:
        starts = [forked(HERE / "share_child.py", tmp_path, tasks) for _ in range(PROCESSES)]
        children = [stack.enter_context(one) for one in starts]
        for child in children:
            assert child.stdout.readline() == "open\n"
        for child in children:
            child.stdin.write("go\n")
        ids = [line for child in children for line in child.stdout.read().split()]
        assert [child.wait() for child in children] == [0] * PROCESSES
    assert len(set(ids)) == PROCESSES * tasks

    async def looked_up():
        from ohm_subagents.store import RetentionPolicy

        clock = Clock(0)
        async with opened("sqlite", tmp_path, clock, policy=RetentionPolicy(max_entries=10_000)) as store:
            assert store.diagnostics == ()
            return {task.id: (task.status, task.output) for task in store.tasks()}

    assert anyio.run(looked_up) == {task_id: ("succeeded", f"answer of {task_id}") for task_id in ids}


@pytest.fixture
def holder(tmp_path):
    """Another process with a running task on the registry in `tmp_path`."""
    with forked(HERE / "hold_child.py", tmp_path) as child:
        child.first = int(child.stdout.readline())
        yield child


@pytest.mark.anyio
@slow_on_trio
async def test_a_task_of_a_living_process_is_left_alone_and_shown_as_it_goes(tmp_path, holder):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        assert store.is_foreign("task_theirs")
        seen = store.get("task_theirs").ok_value
        assert (seen.status, seen.text) == ("running", "so far")
        holder.stdin.write("go on\n")
        assert holder.stdout.readline() == "told\n"
        assert store.get("task_theirs").ok_value.text == "so far and further"
        assert store.diagnostics == ()
        assert store.recent() == ()
        assert store.first_sequence != holder.first
        Hand(store, clock).started("task_ours")
        assert not store.is_foreign("task_ours")


@pytest.mark.anyio
@slow_on_trio
async def test_a_task_whose_process_dies_while_somebody_looks_has_failed_at_the_next_look(tmp_path, holder):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        assert store.get("task_theirs").ok_value.status == "running"
        holder.kill()
        holder.wait()
        assert not store.is_foreign("task_theirs")
        seen = store.get("task_theirs").ok_value
        assert (seen.status, str(seen.error.code), seen.text) == ("failed", "task_rehydrated_incomplete", "so far")
        assert store.get("task_theirs").ok_value is seen
    async with opened("sqlite", tmp_path, clock) as store:
        assert store.get("task_theirs").ok_value == seen
        assert store.diagnostics == ()


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancel_from_outside_settles_a_task_within_a_second_and_its_processes_are_gone(programs, tmp_path):
    import steer_rounds

    found = await steer_rounds.cancelled(5, tmp_path)
    assert sorted(settled for settled, _ in found)[2] < 1
