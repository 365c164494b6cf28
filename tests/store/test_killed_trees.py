"""The usage of a tree of tasks adds up in the file, whenever the process was killed."""

import random
from collections import defaultdict
from pathlib import Path

import pytest
from forking import forked

from ohm_subagents import Ohm
from ohm_subagents.contract import Usage
from ohm_subagents.testing import HERMETIC

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CHILD = Path(__file__).with_name("tree_child.py")


@pytest.fixture
def anyio_backend():
    return "asyncio"


def killed(place, seed):
    """Let a process grow trees, and kill it at a random moment after some tasks have begun."""
    with forked(CHILD, place, seed) as child:
        for _ in range(random.Random(seed).randrange(5, 60)):
            child.stdout.readline()


@pytest.mark.parametrize("seed", range(12))
async def test_a_tree_adds_up_after_its_process_was_killed(tmp_path, seed):
    killed(tmp_path, seed)
    env = HERMETIC | {"PI_CONFIG_DIR": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(env=env, config={"subagentBackend": "none"}) as ohm:
        tasks = {task.id: task for task in ohm.store.tasks()}

    below = defaultdict(Usage)
    for task in reversed(tasks.values()):  # a child comes after its parent
        whole = task.activity.usage + below[task.id]
        assert task.activity.tree_usage == whole, task.id
        if task.assignment.parent is not None:
            below[task.assignment.parent] += whole
    assert any(task.error is not None for task in tasks.values()), "some were at work"
    assert any(task.assignment.parent for task in tasks.values())
