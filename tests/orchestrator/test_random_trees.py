"""Random trees of tasks against a real server that counts: each request that arrived is in one task, and in its tree.

The trees are the same on every run; `OHM_TREES=200` asks for that many.
"""

import os
import random
import re
from dataclasses import dataclass, field

import anyio
import pytest
from model_server import Call, ModelServer, Say, Stall, Status

from ohm_subagents import Handle, Ohm, tool
from ohm_subagents.contract import Usage
from ohm_subagents.store import ListedTask, TaskQuery
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

ONCE_MORE = Status(503, headers=(("retry-after", "0"),))
NAMED = re.compile(r"node (\d+)")
MOST_NODES = 9


@dataclass
class Node:
    """One task: the replies of its model in order, and the tasks that its tool starts."""

    number: int
    replies: list[object]
    below: list["Node"] = field(default_factory=list)
    is_asked_for_more: bool = False
    is_cancelled: bool = False
    hands_in: bool = False

    def kinds(self, above=None):
        """The node with all below it: each order of replies, and each ending below another one."""
        ending = isinstance(self.replies[-1], Status), self.is_cancelled, self.hands_in, self.is_asked_for_more
        yield len(self.below), [reply is ONCE_MORE for reply in self.replies], ending
        yield above, ending
        for node in self.below:
            yield from node.kinds(ending)


class Forest:
    """A random tree, by its seed: retries, failures, broken streams, corrections, follow-ups, cancellations."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes = {}
        self.root = self.node(depth=0)
        if not self.root.below:
            self.root.replies[-1:] = [Say(Call("split", {"node": 0})), Say("done")]
            self.root.below = [self.node(depth=3)]
        self.asked = dict.fromkeys(self.nodes, 0)

    def node(self, depth):
        chance, node = self.random.random, Node(len(self.nodes), [])
        self.nodes[node.number] = node
        width = self.random.randint(0, 3) if depth < 3 else 0
        node.below = [self.node(depth + 1) for _ in range(width) if len(self.nodes) < MOST_NODES]
        node.replies += [ONCE_MORE] * (chance() < 0.3)
        node.replies += [Say(Call("split", {"node": node.number}))] if node.below else []
        node.replies += [ONCE_MORE] * (chance() < 0.2)
        ending = chance() if depth else 1
        if ending < 0.15:
            node.replies.append(Status(400))
        elif ending < 0.3:
            node.replies.append(Say("half", Stall()))
            node.is_cancelled = True
        elif ending < 0.5:
            node.hands_in = True
            node.replies += [Say("no"), Say(Call("subagent_finalize", {"status": "SUCCESS", "result": 1})), Say("done")]
        else:
            node.replies.append(Say("done"))
            node.is_asked_for_more = chance() < 0.4 and not node.below
        node.replies += [Say("more")] * node.is_asked_for_more
        return node

    def reply(self, request):
        said = [
            text for message in request.messages if message["role"] == "user" for text in NAMED.findall(f"{message}")
        ]
        number = int(said[-1])
        self.asked[number] += 1
        return self.nodes[number].replies[self.asked[number] - 1]


class Grown:
    """The end of a tree: all tasks as they are kept, and the requests that the server saw."""

    def __init__(self, forest, server, ohm):
        self.forest, self.server, self.ohm = forest, server, ohm

    async def grow(self):
        @tool
        async def split(node: int) -> str:
            """Start the tasks below."""
            async with anyio.create_task_group() as group:
                for below in self.forest.nodes[node].below:
                    group.start_soon(self.run, below)
            return "all done"

        self.tools = [split]
        await self.run(self.forest.root)

    async def run(self, node):
        options = {"result_type": int} if node.hands_in else {}
        handle = await self.ohm.start("task", f"node {node.number}", tools=self.tools, **options)
        assert isinstance(handle, Handle)
        if node.is_cancelled:
            await self.server.until(lambda _: self.forest.asked[node.number] == len(node.replies))
            await handle.cancel()
        await handle.wait()
        if node.is_asked_for_more:
            await self.ohm.call("task", {"op": "send", "id": handle.id, "prompt": f"node {node.number} again"})


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_each_request_that_arrived_is_in_one_task_and_in_every_tree_above_it(tmp_path):
    for seed in range(int(os.environ.get("OHM_TREES", "1"))):
        await grown(seed, tmp_path / f"{seed}")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
async def test_so_it_is_with_every_kind_of_tree(tmp_path, part):
    for seed in different(range(100))[part::5]:
        await grown(seed, tmp_path / f"{seed}")


def different(seeds):
    """Return few seeds whose trees have together what all have: next, that which adds most for its size."""
    grown = {seed: Forest(seed) for seed in seeds}
    kinds = {seed: {f"{kind}" for kind in forest.root.kinds()} for seed, forest in grown.items()}
    left, found = set().union(*kinds.values()), []
    while left:
        found.append(max(seeds, key=lambda seed: len(kinds[seed] & left) / len(grown[seed].nodes)))
        left -= kinds[found[-1]]
    return found


async def grown(seed, place):
    forest = Forest(seed)
    env = HERMETIC | {"PI_CONFIG_DIR": f"{place}", "OHM_SUBAGENTS_STORE": "sqlite"}
    async with ModelServer(forest.reply) as server:
        config = {
            "providers": {"acme": {"baseUrl": server.url, "models": ["m"]}},
            "subagents": {"model": "acme/m", "sendToFinished": "resume", "budget": {"depth": 9, "requests": 500}},
        }
        async with Ohm.open(env=env, config=config) as ohm:
            await Grown(forest, server, ohm).grow()
        async with Ohm.open(env=env, config=config) as ohm:  # as the file has it
            tasks = [*ohm.store.tasks()]
            listed = [one.unwrap() for one in ohm.store.list(TaskQuery())]

    arrived = len(server.requests)
    root = tasks[0]
    assert root.activity.tree_usage.requests == arrived, seed
    assert sum((task.activity.usage for task in tasks), Usage()) == root.activity.tree_usage, seed
    assert root.activity.account.remaining.requests == 500 - arrived, seed
    for task in tasks:
        below = (one.activity.tree_usage for one in tasks if one.assignment.parent == task.id)
        assert task.activity.tree_usage == sum(below, task.activity.usage), (seed, task.id)
    assert listed == [ListedTask.of(task) for task in reversed(tasks)]
