"""Ids, made from an injected clock and counter."""

from __future__ import annotations

import re
from collections.abc import Callable
from secrets import token_hex
from typing import Final, NewType

TaskId = NewType("TaskId", str)
SessionId = NewType("SessionId", str)
CallId = NewType("CallId", str)

_BATCH: Final = re.compile("batch_[0-9a-f]{32}")

Clock = Callable[[], int]
"""Epoch milliseconds, for stamps and retention. Deadlines follow the event loop instead."""


def new_batch_id() -> CallId:
    """Return an id for a start of several tasks that is no call with an id of its own."""
    return CallId(f"batch_{token_hex(16)}")


def is_batch_id(call: CallId) -> bool:
    """Return True for an id that `new_batch_id` has made."""
    return _BATCH.fullmatch(call) is not None


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
