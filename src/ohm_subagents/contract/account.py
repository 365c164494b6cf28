"""The account of a task: what the tasks below it used, and what is left of its budgets."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar, Final, Literal

from ohm_subagents._records import dataclass
from ohm_subagents.contract.limits import Budget
from ohm_subagents.contract.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """The rest of every budget that a task is charged to, its own and those around it: the smallest counts.

    A field is None where nothing limits it.
    """

    requests: int | None = None
    """Requests to models."""
    tokens: int | None = None
    """Tokens, input and output together."""
    cost_usd: Decimal | None = None
    """US dollars."""
    tool_calls: int | None = None
    """Tool calls of subagents."""
    spawns: int | None = None
    """Tasks that tasks may start; None also where the task is too deep to start any."""
    wall_ends_ms: int | None = None
    """The end of the time, in epoch milliseconds; None too before the first run."""

    def wall_ms(self, now_ms: int) -> int | None:
        """Return the time that is left, in milliseconds; None without a limit."""
        return None if self.wall_ends_ms is None else max(0, self.wall_ends_ms - now_ms)

    def with_used(self, usage: Usage, *, now_ms: int) -> Budget:
        """Return the budget of which this is left after `usage`, and from `now_ms` on."""
        used = {"requests": usage.requests, "tokens": usage.input_tokens + usage.output_tokens}
        used["tool_calls"] = usage.tool_calls
        whole = {name: left + used[name] for name in used if (left := getattr(self, name)) is not None}
        cost = None if self.cost_usd is None else self.cost_usd + (usage.cost_usd or 0)
        return Budget(**whole, cost_usd=cost, spawns=self.spawns, wall_ms=self.wall_ms(now_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The usage below a task, and what is left of its budgets."""

    below: Usage | None = None
    """The usage of all tasks below it, at any depth, running ones too; None while there is none."""
    remaining: Remaining | None = None
    """The rest of its budgets after its newest charge; None where nothing limits it."""
    unpriced_usd: Decimal | None = None
    """US dollars that budgets lost for requests without usage, of it and below it; in no usage. None for none."""

    def charged(self, event: AccountCharged) -> Account:
        """Return the account after a charge."""
        below = self.below if event.usage is None else event.usage if self.below is None else self.below + event.usage
        unpriced = self.unpriced_usd
        if event.unpriced_usd is not None:
            unpriced = (unpriced or 0) + event.unpriced_usd
        return Account(below=below, remaining=event.remaining or self.remaining, unpriced_usd=unpriced)

    def since(self, earlier: Account | None) -> Account:
        """Return what was charged after `earlier`; what is left is left, and what had no usage had none."""
        if earlier is None or earlier.below is None or self.below is None:
            return self
        below = None if self.below is earlier.below else self.below.since(earlier.below)
        return Account(below=below, remaining=self.remaining, unpriced_usd=self.unpriced_usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartBudget:
    """The budget that all tasks of one start share, with everything below them."""

    id: str
    """The id of the start; the tasks of a start have the same."""
    budget: Budget
    """The rest of all budgets around the tasks as they were started."""


NO_ACCOUNT: Final = Account()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountCharged:
    """A task below used something, less is left of a budget, or a request had no usage."""

    TEXTS: ClassVar[tuple[str, ...]] = ()
    usage: Usage | None = None
    """The usage of one task below it, at any depth; None if it is about budgets only."""
    remaining: Remaining | None = None
    """The rest of the budgets; None leaves it as it was."""
    unpriced_usd: Decimal | None = None
    """US dollars that budgets lose for a request without usage, as much as was reserved for it; None for none."""
    kind: Literal["account_charged"] = "account_charged"
