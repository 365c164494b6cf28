"""System calls and waits of a task on the default store, counted: no clock tells them on a busy machine."""

from pathlib import Path

import pytest
from store_tasks import Clock, Hand, opened

from ohm_subagents.store import RetentionPolicy

pytestmark = pytest.mark.anyio
COUNTERS = Path("/proc/self/io")
TASKS = 200


def writes():
    """Count the writes that this process has asked of the system so far."""
    return int(dict(line.split(": ") for line in COUNTERS.read_text().splitlines())["syscw"])


@pytest.mark.skipif(not COUNTERS.exists(), reason="only Linux counts the writes of a process")
async def test_what_leaves_the_file_is_copied_into_no_other(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock, policy=RetentionPolicy(max_entries=1)) as store:
        before = writes()
        for number in range(TASKS):
            Hand(store, clock).settled(f"task_{number}")
            await store.flush()
        assert writes() - before < 30 * TASKS  # two for each page of the log that is written ahead


async def test_hundreds_of_tasks_are_written_before_the_file_itself_is_which_waits_for_the_disk(tmp_path):
    clock, file = Clock(), tmp_path / "ohm.subagents.tasks.sqlite3"
    async with opened("sqlite", tmp_path, clock) as store:
        Hand(store, clock).settled("task_first")
        await store.flush()
        before = file.stat()
        for number in range(TASKS):
            Hand(store, clock).settled(f"task_{number}", output="x" * 2000)
            await store.flush()
        after = file.stat()
        assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
    assert file.stat().st_size > TASKS * 2000
