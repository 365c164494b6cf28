"""`code_search` on a large tree."""

from contextlib import asynccontextmanager
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import perf_counter

import anyio

from ohm_subagents.backends.in_process.search.code_index.index import CodeIndexes, Question

FILES = 400
LINES = 500
TICK_S = 0.001
NOUNS = [
    "account",
    "archive",
    "basket",
    "budget",
    "cache",
    "client",
    "cursor",
    "invoice",
    "ledger",
    "message",
    "order",
    "parcel",
    "payment",
    "queue",
    "report",
]
VERBS = [
    "archive",
    "balance",
    "cancel",
    "charge",
    "collect",
    "count",
    "deliver",
    "export",
    "forward",
    "import",
    "load",
    "merge",
    "notify",
    "parse",
    "refund",
]


def source(number):
    """A module of functions, no two of them alike."""
    functions = (
        f"def {VERBS[at % 15]}_{NOUNS[(at + number) % 15]}_{number}_{at}(value, limit):\n"
        f'    """{VERBS[(at + 3) % 15].title()} the {NOUNS[(at * 7) % 15]} of customer {number}."""\n'
        f"    total = sum(item.{NOUNS[(at * 5) % 15]} for item in value)\n"
        f"    if total > limit:\n"
        f"        raise ValueError('{NOUNS[at % 15]} {at} is over its limit')\n"
        f"    return [total, limit, {at}]\n\n\n"
        for at in range(LINES // 8)
    )
    return "".join(functions)


@asynccontextmanager
async def tree():
    """The tree and a question about it."""
    with TemporaryDirectory(prefix="ohm-bench-") as folder:
        root = Path(folder) / "tree"
        root.mkdir()
        paths = [f"m{number}.py" for number in range(FILES)]
        for number, path in enumerate(paths):
            (root / path).write_text(source(number))
        words = "Where is the payment of a customer refunded?"
        yield Path(folder), Question(root=root, start=".", paths=paths, words=words, limit=3, lines=3)


class Ticker:
    """Wakes every millisecond; `late` is by how much, in seconds, each time."""

    def __init__(self):
        self.late = []

    async def run(self, *, task_status):
        task_status.started()
        while True:
            begun = perf_counter()
            await anyio.sleep(TICK_S)
            self.late.append(perf_counter() - begun - TICK_S)


@asynccontextmanager
async def reading(wanted="lateness"):
    """Yield how late the event loop is while a tree is read for the first time (99th percentile), or for how long."""
    async with tree() as (folder, question):
        number = 0

        async def repeat():
            nonlocal number
            number += 1
            ticker = Ticker()
            async with anyio.create_task_group() as tasks:
                await tasks.start(ticker.run)
                begun = perf_counter()
                found = await CodeIndexes(folder / f"cache-{number}").answer(question)
                took = perf_counter() - begun
                tasks.cancel_scope.cancel()
            assert len(found.places) == question.limit
            return took if wanted == "seconds" else quantiles(ticker.late, n=100)[98]

        yield repeat


@asynccontextmanager
async def asking_again():
    """Seconds for a question to a tree that another process has read."""
    async with tree() as (folder, question):
        await CodeIndexes(folder / "cache").answer(question)

        async def repeat():
            begun = perf_counter()
            await CodeIndexes(folder / "cache").answer(question)
            return perf_counter() - begun

        yield repeat
