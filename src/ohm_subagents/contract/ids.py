"""Ids, made from an injected clock and counter."""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex
from typing import NewType

TaskId = NewType("TaskId", str)
SessionId = NewType("SessionId", str)
CallId = NewType("CallId", str)

Clock = Callable[[], int]
"""Epoch milliseconds, for stamps and retention. Deadlines follow the event loop instead."""


def task_ids(clock: Clock, *, first: int = 1) -> Callable[[], TaskId]:
    """Return a maker of ids `task_<epoch ms>_<sequence>`, of at least four digits; for callers, ids are opaque.

    Processes that share a store begin at different numbers, and so never give the same id.
    """
    sequence = first - 1

    def next_id() -> TaskId:
        nonlocal sequence
        sequence += 1
        return TaskId(f"task_{clock()}_{sequence:04d}")

    return next_id


def secret_task_id() -> TaskId:
    """Make an id that nobody guesses, for tasks that whoever knows their ids may read and cancel."""
    return TaskId(f"task_{token_hex(16)}")
