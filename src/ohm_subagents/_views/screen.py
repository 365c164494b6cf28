"""Several tasks on a screen of so many lines."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.account import UNPRICED, left_out_text
from ohm_subagents._views.brief_rows import brief_blocks
from ohm_subagents._views.budget_left import left_spans
from ohm_subagents._views.live_task import with_patience
from ohm_subagents._views.live_tree import task_block
from ohm_subagents._views.quantities import clock_text, cost_text, usage_parts
from ohm_subagents._views.spans import painted, stacked
from ohm_subagents._views.state_counts import calm_counts, state_counts, without_spare
from ohm_subagents._views.task_texts import UPDATED
from ohm_subagents._views.tree import MIN_WIDTH
from ohm_subagents._views.work_facts import STUCK_RULE, sight_rank
from ohm_subagents.contract.usage import NOTHING_USED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ohm_subagents._views.live_task import LiveTask
    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Status
    from ohm_subagents.contract.usage import Usage

_LEAST_TREE: Final = 2
"""A tree of so many lines tells no more than a row with its words below; half of its lines are for what it asks."""


def screen_lines(
    tasks: Sequence[LiveTask], *, now_ms: int, width: int, height: int, theme: Theme, chosen: str | None = None
) -> list[str]:
    """Draw tasks on a screen of `height` lines: one as a tree; of several a line each, and more where there is room.

    First what each does or said has lines of its own (`brief_blocks`), then those that run are trees. Where there is
    room for none of some, those that have settled are left out first, and their states counted. `chosen` is the id of
    the task that is marked.
    """
    tasks = with_patience(tasks, now_ms=now_ms)
    if len(tasks) == 1:
        return task_block(tasks[0], now_ms=now_ms, width=width, height=height, theme=theme)
    shown = _fitting(tasks, height - 1, chosen, now_ms)
    with_left = not left_of(tasks, now_ms=now_ms)  # else the first line tells it
    write = partial(brief_blocks, now_ms=now_ms, width=width, theme=theme, chosen=chosen, with_left=with_left)
    draw = partial(task_block, now_ms=now_ms, width=width, theme=theme, with_left=with_left)
    is_mixed = len({one.task.assignment.profile for one in tasks}) > 1
    free = height - 1 - len(shown) - (len(shown) < len(tasks))
    blocks = _by_id(shown, write(shown, free=free, with_kind=is_mixed))
    rule = _rule(shown, now_ms)[: max(0, height - 1 - sum(map(len, blocks.values())) - (len(shown) < len(tasks)))]
    room = height - 1 - len(rule) - (len(shown) < len(tasks))
    running = [one for one in shown if one.task.status == "running"]
    settled = sum(len(blocks[one.task.id]) for one in shown if one.task.status != "running")
    spare = (room - settled) // len(running) if running else 0
    if spare > _LEAST_TREE:
        trees = [one for one in running if not one.task.requests or spare > 2 * len(blocks[one.task.id]) - 2]
        others = [one for one in shown if one not in trees]
        blocks = _by_id(others, write(others, free=room - spare * len(trees) - len(others)))
        blocks |= _trees(trees, spare, room - sum(map(len, blocks.values())), chosen, draw)
    lines = [sum_line(tasks, now_ms=now_ms, width=max(MIN_WIDTH, width), theme=theme)]
    lines += [line for one in shown for line in blocks[one.task.id]]
    lines += _left_out([one for one in tasks if one.task.id not in blocks], now_ms, width, theme)
    return [*lines, *(painted([("dim", words)], max(MIN_WIDTH, width), theme) for words in rule)]


def opened_lines(tasks: Sequence[LiveTask], *, now_ms: int, width: int, height: int, theme: Theme) -> list[str]:
    """Draw a task that was opened as a tree of `height` lines at most, and those below it, which follow it, as rows.

    A third of the lines are its own, and those that the others leave, with one more for each that asks or has failed.
    """
    top, *below = with_patience(tasks, now_ms=now_ms)
    telling = sum(bool(one.task.requests) or one.task.status == "failed" for one in below)
    own = max(height - len(below) - telling, height // 3)
    lines = task_block(top, now_ms=now_ms, width=width, height=own, theme=theme)
    room = height - len(lines)
    if not below or room < 1:
        return lines
    shown = _fitting(below, room, None, now_ms)
    is_cut, is_mixed = len(shown) < len(below), len({one.task.assignment.profile for one in tasks}) > 1
    write = partial(brief_blocks, shown, now_ms=now_ms, width=width, theme=theme, with_kind=is_mixed)
    lines += [line for block in write(free=room - len(shown) - is_cut) for line in block]
    return [*lines, *_left_out([one for one in below if one not in shown], now_ms, width, theme)]


def _left_out(tasks: Sequence[LiveTask], now_ms: int, width: int, theme: Theme) -> list[str]:
    """Return the line that counts the tasks there is no room for, if there are any."""
    told = ", ".join(text for _, text in _counts(tasks, now_ms).values())
    words = f"  {UPDATED} {len(tasks)} more: {told}"
    return [painted([("dim", words)], max(MIN_WIDTH, width), theme)] if tasks else []


def _by_id(tasks: Sequence[LiveTask], blocks: Sequence[list[str]]) -> dict[TaskId, list[str]]:
    return {one.task.id: block for one, block in zip(tasks, blocks, strict=True)}


def _rule(tasks: Sequence[LiveTask], now_ms: int) -> list[str]:
    """Return the words that explain the mark of those that are stuck, if one is."""
    return [f"  {STUCK_RULE}"] if any(one.concern(now_ms=now_ms) == "stuck" for one in tasks) else []


def _trees(
    tasks: Sequence[LiveTask], height: int, room: int, chosen: str | None, draw: Callable[..., list[str]]
) -> dict[TaskId, list[str]]:
    """Draw trees of `height` lines; what they leave of the `room` for all goes to those that ask something."""
    blocks = {one.task.id: draw(one, height=height, is_chosen=one.task.id == chosen) for one in tasks}
    asking = [one for one in tasks if one.task.requests]
    free = room - sum(map(len, blocks.values()))
    for number, one in enumerate(asking):
        before = len(blocks[one.task.id])
        more = free // (len(asking) - number)
        blocks[one.task.id] = draw(one, height=max(height, before + more), is_chosen=one.task.id == chosen)
        free -= len(blocks[one.task.id]) - before
    return blocks


def sum_line(tasks: Sequence[LiveTask], *, now_ms: int, width: int, theme: Theme) -> str:
    """Draw how many tasks there are of each kind, what their trees have used and taken, and what is left for them.

    Where there is no room for all of that, tokens and calls go first, then the time and the numbers of those that
    nobody has to look at; the first number says of how many it is then. No number is cut.
    """
    counts = _counts(tasks, now_ms)
    told = [*counts.values()]
    used = _used(tasks)
    began_ms = min((one.task.assignment.created_ms for one in tasks), default=now_ms)
    ended_ms = max((one.task.ended_ms or now_ms for one in tasks), default=now_ms)
    cost: list[Span] = [] if used.cost_usd is None else [("dim", cost_text(used.cost_usd))]
    time: Span = ("dim", clock_text(ended_ms - began_ms))
    usage: list[Span] = [("dim", number) for number in usage_parts(replace(used, cost_usd=None))]
    left = left_of(tasks, now_ms=now_ms)
    more = (_unpriced(tasks) if left else []) or _without_price(tasks)
    parts = [*told, time, *cost, *more, *left, *usage]
    spare = [*reversed(usage), time, *more, *calm_counts(counts)]

    def stack(kept: list[Span]) -> list[list[Span]]:
        return stacked(_of_all(kept, told, len(tasks)), width)

    return painted(stack(without_spare(parts, spare, lambda kept: len(stack(kept)) == 1))[0], width, theme)


def _used(tasks: Sequence[LiveTask]) -> Usage:
    """Return what tasks have used with all below them, shown or not: each tree once. Each is above those it started."""
    used = NOTHING_USED
    counted: set[TaskId | None] = set()
    for task in (one.task for one in tasks):
        if task.assignment.parent in counted:
            counted.add(task.id)
        elif task.activity.tree_usage is task.activity.usage:
            used += task.activity.usage
        else:
            used += task.activity.tree_usage
            counted.add(task.id)
    return used


def _without_price(tasks: Sequence[LiveTask]) -> list[Span]:
    """Return how many tokens the cost leaves out."""
    left_out = left_out_text([one.task.activity.usage for one in tasks])
    return [("dim", left_out.strip("()"))] if left_out else []


def _unpriced(tasks: Sequence[LiveTask]) -> list[Span]:
    """Return what requests without a price have taken from budgets beside the cost."""
    accounts = (one.task.activity.account for one in tasks if not one.depth)
    counted = sum((one.unpriced_usd or Decimal() for one in accounts if one is not None), Decimal())
    return [("dim", f"{cost_text(counted)} counted for {UNPRICED} requests")] if counted else []


def _of_all(parts: Sequence[Span], counts: Sequence[Span], total: int) -> list[Span]:
    """Say in the first part of how many tasks it is, if the number of others is left out."""
    if all(one in parts for one in counts):
        return [*parts]
    (mark, first), *others = parts
    number, _, rest = first.partition(" ")
    return [(mark, f"{number} of {total} {rest}"), *others]


def left_of(tasks: Sequence[LiveTask], *, now_ms: int) -> list[Span]:
    """Return what is left of the money that all of them share, while one of them works, and of what runs out."""
    tops = [one.task for one in tasks if not one.depth]
    shared = {None if one.assignment.shares is None else one.assignment.shares.id for one in tops}
    is_one = len(tops) == 1 or (len(shared) == 1 and None not in shared)
    works = any(not one.task.is_terminal for one in tasks)
    left = left_spans(tops, at_ms=now_ms) if is_one and works else []
    return [(mark, text) for mark, text in left if mark == "warning" or text.startswith("$")]


def _counts(tasks: Sequence[LiveTask], now_ms: int) -> dict[Status, Span]:
    return state_counts(one.concern(now_ms=now_ms) or one.task.status for one in tasks)


def _fitting(tasks: Sequence[LiveTask], room: int, chosen: str | None, now_ms: int) -> Sequence[LiveTask]:
    """Return the tasks that there is room for, in their order; a note takes the last line if some are left out."""
    if len(tasks) <= room:
        return tasks
    ranked = sorted(
        tasks, key=lambda one: (one.task.id != chosen, sight_rank(one.concern(now_ms=now_ms) or one.task.status))
    )
    kept = {one.task.id for one in ranked[: max(1, room - 1)]}
    return [one for one in tasks if one.task.id in kept]
