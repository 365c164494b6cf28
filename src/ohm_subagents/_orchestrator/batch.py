"""Bounded parallelism in input order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from anyio.abc import TaskStatus

    Job = Callable[[Callable[[], None]], Awaitable[None]]


async def run_in_order(jobs: Iterable[Job], *, workers: int) -> None:
    """Run every job, at most `workers` at once.

    A job begins only after the one before it has called what it is given, or ended: so jobs begin in input order on
    every event loop, also on one that schedules at random.
    """
    slots = anyio.Semaphore(workers, fast_acquire=True)
    async with anyio.create_task_group() as group:
        for job in jobs:
            await slots.acquire()
            await group.start(_work, job, slots)


async def _work(job: Job, slots: anyio.Semaphore, *, task_status: TaskStatus[None]) -> None:
    has_begun = False

    def begun() -> None:
        nonlocal has_begun
        if not has_begun:
            has_begun = True
            task_status.started()

    try:
        await job(begun)
    finally:
        slots.release()
        begun()
