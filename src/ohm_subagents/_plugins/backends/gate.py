"""The gate that a backend asks before each model request, and before each call of a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Protocol

from pydantic import JsonValue

from ohm_subagents._records import dataclass
from ohm_subagents.contract.account import Remaining
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.profile import Decision
from ohm_subagents.contract.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestNeed:
    """The needs of a model request.

    Fields:
        provider: the provider that is asked.
        model: the model that is asked.
        input_tokens: an estimate of the tokens in.
        max_output_tokens: the limit of the request for tokens out; None without one.
        price: a function from tokens in and out to USD; None if the price is unknown.
    """

    provider: str
    model: str = ""
    input_tokens: int = 0
    max_output_tokens: int | None = None
    price: Callable[[int, int], Decimal] | None = None


class OpenBudget(Protocol):
    """A budget that model requests are charged to, for a backend that lets others grant a part of it.

    Fields:
        cover: awaited before a request is granted that was reserved, and returns why it may not be; None for nothing
            to wait for.
    """

    cover: Callable[[], Awaitable[OhmError | None]] | None

    @property
    def key(self) -> str:
        """The name of the budget: no other one has it, in any process."""
        ...

    def rest(self) -> Remaining:
        """Return what is neither spent nor reserved."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Permission for one model request.

    Fields:
        max_output_tokens: the tokens that the budget has left for the answer; None without a budget.
        is_last: the budget allows no further request, so the model should answer now.
        budgets: the budgets that the request is charged to.
    """

    max_output_tokens: int | None = None
    is_last: bool = False
    budgets: tuple[OpenBudget, ...] = ()


class Gate(Protocol):
    """Admits each model request of a run (budgets, a limit per provider, rate limits) and each tool call."""

    def request(self, need: RequestNeed) -> AbstractAsyncContextManager[Result[Grant, OhmError]]:
        """Wait for a turn, reserve the budget, and hold both until the context is left, when the answer is complete.

        An `Err` is a budget that is spent, or cannot be kept: return it from `Backend.run` as it is. What was really
        used is what the run emits as `UsageAdded`, before it leaves the context. The context may be left in any order
        with others: it holds no cancel scope and no task group.
        """
        ...

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        """Return an error if a cost budget is set and the price is unknown. Reserves nothing.

        For a backend that cannot ask before each request, because another program makes them.
        """
        ...

    async def throttled(
        self, provider: str, *, attempt: int, retry_after_s: float | None, status: int | None = None
    ) -> bool:
        """Report that the provider is overloaded or asked to slow down; return True if the request may be sent again.

        `attempt` counts from 1, and `status` is that of HTTP, where it is known. If so, `request` waits as long as it
        has to, and so do all runs of this provider.
        """
        ...

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str = "",
        on_wait: Callable[[], None] | None = None,
        judged: Decision | None = None,
    ) -> str | None:
        """Wait until a call of a tool may be made; return None, or the sentence for the model that refuses it.

        Await it before each call, of whatever tool, with the arguments that the tool will get; a rule that wants
        somebody to be asked holds the call up until that one has answered. Make a call that it lets through once.

        `on_wait` is called when the call begins to wait, and not for one that need not: emit there the state from which
        another process can go on. It may be called again while the call waits.

        `judged` is the verdict of the rules for a run that works in a clone elsewhere, whose files only the runner can
        look at. Without it, the gate judges the call itself.
        """
        ...
