"""Bounded parallelism in input order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    Job = Callable[[], Awaitable[None]]


async def run_in_order(jobs: Iterable[Job], *, workers: int) -> None:
    """Run every job, at most `workers` at once; each worker takes the next job in input order."""
    queue = iter(jobs)
    async with anyio.create_task_group() as group:
        for _ in range(workers):
            group.start_soon(_work, queue)


async def _work(queue: Iterator[Job]) -> None:
    for job in queue:
        await job()
