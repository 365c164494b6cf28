"""The account of a task: as keys of an envelope, and as text for people."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from ohm_subagents._views.quantities import cost_text, counted, duration_text
from ohm_subagents._views.spans import BETWEEN
from ohm_subagents.contract.account import Remaining
from ohm_subagents.contract.envelope_parts import RemainingBlock, UsageBlock, UsageCounts
from ohm_subagents.contract.listed_task import ListedTask
from ohm_subagents.contract.usage import NOTHING_USED, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ohm_subagents.contract.account import Account
    from ohm_subagents.contract.task import Task

UNPRICED: Final = "unpriced"
"""The word for what requests cost that no provider has told the cost of, as of one that was refused or cut off."""


def usage_block(task: Task) -> UsageBlock | None:
    """Return the usage of a task, with that of its tree where a task below it used something; None if none did."""
    own, tree = task.activity.usage, task.activity.tree_usage
    if not (tree.requests or tree.tool_calls):
        return None
    counts = _counts(own)
    if tree is own:
        return UsageBlock(**dict(counts))
    return UsageBlock(**dict(counts), own=counts, tree=_counts(tree))


def _counts(usage: Usage) -> UsageCounts:
    return UsageCounts(
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        tool_calls=usage.tool_calls,
        cost_usd=None if usage.cost_usd is None else str(usage.cost_usd),
    )


def remaining_block(task: Task) -> RemainingBlock | None:
    """Return the rest of the budgets of a task, as at its newest event; None where nothing limits it."""
    account = task.activity.account
    left = None if account is None else account.remaining
    if left is None:
        return None
    return RemainingBlock(
        requests=left.requests,
        tokens=left.tokens,
        cost_usd=None if left.cost_usd is None else str(left.cost_usd),
        tool_calls=left.tool_calls,
        spawns=left.spawns,
        wall_ms=left.wall_ms(task.updated_ms),
    )


def account_now(
    task: Task, *, parent: Account | None = None, together: Iterable[Task | ListedTask] = ()
) -> Account | None:
    """Return the account of a task that works with what is left of its budgets now: others have spent of them since.

    `parent` is the account, as it is now, of the task that has started it; `together` are all tasks of its start
    (`TaskQuery.start`), the ones that have settled too.
    """
    account, shares = task.activity.account, task.assignment.shares
    if account is None or account.remaining is None or task.is_terminal:
        return account
    left = account.remaining
    if parent is not None and parent.remaining is not None:
        left = _least(left, parent.remaining)
    if shares is not None:
        spent = [one if isinstance(one, ListedTask) else one.activity for one in together]
        all_used, whole = sum((one.tree_usage for one in spent), NOTHING_USED), shares.budget
        unpriced = sum(one.account.unpriced_usd or 0 for one in spent if one.account is not None)
        rests = {
            "requests": (whole.requests, all_used.requests),
            "tokens": (whole.tokens, all_used.input_tokens + all_used.output_tokens),
            "cost_usd": (whole.cost_usd, (all_used.cost_usd or 0) + unpriced),
            "tool_calls": (whole.tool_calls, all_used.tool_calls),
        }
        known: dict[str, Any] = {name: max(0, most - used) for name, (most, used) in rests.items() if most is not None}
        left = _least(left, Remaining(**known))
    return replace(account, remaining=left)


def _least(own: Remaining, around: Remaining) -> Remaining:
    """Return the smaller one of each rest that the own budgets have."""
    pairs = {each.name: (getattr(own, each.name), getattr(around, each.name)) for each in fields(own)}
    return replace(own, **{name: min(pair) for name, pair in pairs.items() if None not in pair})


def price_text(usage: Usage) -> str:
    """Write what requests cost, `unpriced` if no provider has told that, or nothing if they used no tokens."""
    if usage.cost_usd is not None:
        return cost_text(usage.cost_usd)
    return UNPRICED if usage.input_tokens or usage.output_tokens else ""


def total_price_text(usages: Sequence[Usage]) -> str:
    """Write what several cost in all, and how many tokens that leaves out, whose cost no provider has told."""
    return " ".join(filter(None, [price_text(Usage.total(usages)), left_out_text(usages)]))


def left_out_text(usages: Sequence[Usage]) -> str:
    """Write how many tokens the cost of several leaves out, as `(14,400 tokens unpriced)`; empty for none of them."""
    tokens = unpriced_tokens(usages)
    is_priced = any(one.cost_usd is not None for one in usages)
    return f"({tokens:,} tokens {UNPRICED})" if tokens and is_priced else ""


def used_text(usage: Usage) -> str:
    """Write cost, requests, tokens and tool calls, each only where there are any; empty if there are none."""
    parts = [] if usage.cost_usd is None else [cost_text(usage.cost_usd)]
    parts += [counted(usage.requests, "request")] if usage.requests else []
    if usage.input_tokens or usage.output_tokens:
        parts.append(f"{usage.input_tokens:,} tokens in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out")
    return BETWEEN.join([*parts, *([counted(usage.tool_calls, "tool call")] if usage.tool_calls else [])])


def unpriced_text(task: Task) -> str:
    """Say that requests of a task, or below it, have no price though money limits them, and how much is counted.

    A provider that reports no usage is charged with what was reserved for its requests: with what the others cost, that
    is all that a budget of the task alone has lost. Empty for any other task.
    """
    used, account = task.activity.tree_usage, task.activity.account
    if account is None or account.remaining is None or account.remaining.cost_usd is None or not used.requests:
        return ""
    more = account.unpriced_usd
    if used.cost_usd is None:
        return price_text(used) if more is None else f"{UNPRICED}, counted as {cost_text(more)}"
    return "" if more is None else f"{UNPRICED} requests counted as {cost_text(more)}"


def unpriced_tokens(usages: Iterable[Usage]) -> int:
    """Return how many tokens have no price, as far as none of what was used with them has one."""
    return sum(one.input_tokens + one.output_tokens for one in usages if one.cost_usd is None)


def remaining_text(account: Account | None, *, at_ms: int) -> str:
    """Write what is left of each budget of a task, in epoch milliseconds `at_ms`; empty where nothing limits it."""
    left = None if account is None else account.remaining
    spawns = [] if left is None or left.spawns is None else [counted(left.spawns, "task")]
    return BETWEEN.join([*remaining_parts(account, at_ms=at_ms), *spawns])


def remaining_parts(account: Account | None, *, at_ms: int) -> list[str]:
    """Return what is left of each budget of a task, the money first; not how many tasks it may start."""
    left = None if account is None else account.remaining
    if left is None:
        return []
    wall_ms = left.wall_ms(at_ms)
    parts = [] if left.cost_usd is None else [cost_text(left.cost_usd)]
    parts += [] if left.requests is None else [counted(left.requests, "request")]
    parts += [] if left.tokens is None else [f"{left.tokens:,} tokens"]
    parts += [] if left.tool_calls is None else [counted(left.tool_calls, "tool call")]
    return parts if wall_ms is None else [*parts, duration_text(wall_ms)]


def cost_texts(task: ListedTask, *, now_ms: int, unpriced: str = "") -> list[str]:
    """Write what a task used itself, what that is with all below it, and while it works what is left of its budgets."""
    own = used_text(task.usage) or "nothing used"
    used = [own] if task.tree_usage is task.usage else [own, f"with below: {used_text(task.tree_usage)}"]
    used[-1] += f"{BETWEEN}{unpriced}" if unpriced else ""
    left = "" if task.is_terminal else remaining_text(task.account, at_ms=now_ms)
    return [*used, *([f"left: {left}"] if left else [])]


def total_line(tasks: Sequence[ListedTask], *, of: int | None = None) -> str:
    """Write what several tasks used themselves, so that none counts twice, whatever is below what.

    `of` is the number of all tasks that they were chosen from.
    """
    usages = [task.usage for task in tasks]
    rest = used_text(replace(Usage.total(usages), cost_usd=None))
    used = BETWEEN.join(filter(None, [total_price_text(usages), rest]))
    which = f"{counted(len(tasks), 'task')} in all"
    if of is not None and of > len(tasks):
        which = f"{'These' if tasks[1:] else 'This'} {len(tasks)} of {counted(of, 'task')}"
    return f"{which}: {used or 'nothing used'}"
