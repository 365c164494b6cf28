"""What the default store asks of the system for one task, counted: no clock says it on a busy machine."""

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
