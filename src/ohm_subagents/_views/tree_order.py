"""The order of a tree: each task above those that it has started."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ohm_subagents.contract.ids import TaskId

T = TypeVar("T")


def in_tree(items: Sequence[T], ids: Callable[[T], tuple[TaskId, TaskId | None]]) -> Iterator[tuple[int, T]]:
    """Yield each item with its depth, above those whose parent it is; side by side they stay in the order given.

    `ids` returns the id of the task of an item, and that of its parent; one whose parent is not there is at the top.
    """
    known = {ids(one)[0] for one in items}
    below: dict[TaskId | None, list[T]] = defaultdict(list)
    for one in items:
        parent = ids(one)[1]
        below[parent if parent in known else None].append(one)
    yield from _below(below, None, 0, ids)


def _below(
    below: Mapping[TaskId | None, list[T]],
    parent: TaskId | None,
    depth: int,
    ids: Callable[[T], tuple[TaskId, TaskId | None]],
) -> Iterator[tuple[int, T]]:
    for one in below.get(parent, ()):
        yield depth, one
        yield from _below(below, ids(one)[0], depth + 1, ids)
