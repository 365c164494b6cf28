"""Ids, made from an injected clock and counter (task-v1, ids)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NewType

TaskId = NewType("TaskId", str)
SessionId = NewType("SessionId", str)

Clock = Callable[[], int]
"""Epoch milliseconds, for stamps and retention. Deadlines follow the event loop instead."""


def task_ids(clock: Clock) -> Callable[[], TaskId]:
    """A generator of `task_<epoch ms>_<sequence>`; the sequence has at least four digits. Ids are opaque."""
    sequence = 0

    def next_id() -> TaskId:
        nonlocal sequence
        sequence += 1
        return TaskId(f"task_{clock()}_{sequence:04d}")

    return next_id
