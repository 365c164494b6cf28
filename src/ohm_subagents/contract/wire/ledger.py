"""The messages to a ledger, which grants model requests while a submitter is gone, and its answers."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

from ohm_subagents._records import dataclass
from ohm_subagents.contract.account import Remaining
from ohm_subagents.contract.usage import Usage
from ohm_subagents.contract.wire.frames import Carried
from ohm_subagents.contract.wire.messages import WireMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositBudgets(WireMessage):
    """A submitter lets the ledger grant a part of its budgets; `BudgetsDeposited` is the answer."""

    owner: str
    """The id of the submitter; what another one has claimed is no longer its own."""
    budgets: dict[str, Remaining] = field(default_factory=dict[str, Remaining], hash=False)
    """By the key of a budget: the part that the ledger may grant, in place of what it has."""
    runs: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]], hash=False)
    """By the key of a run: the budgets that it is charged to. It is granted nothing before it is named here."""
    claims: tuple[str, ...] = ()
    """The runs that this submitter has taken up: nothing is granted to them, or of their budgets, until it says so."""
    settled: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]], hash=False)
    """By the key of a run: the requests that the ledger has granted, and whose usage the submitter has stored."""
    over: tuple[str, ...] = ()
    """The runs of which all is stored."""
    kind: Literal["deposit_budgets"] = "deposit_budgets"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsettledRequest:
    """A request that the ledger has granted, and whose usage its submitter has not settled."""

    ask: int
    """The number of what was asked, in the run."""
    usage: Usage
    """The usage; while it is not known to be over, what was reserved."""
    told: int = 0
    """The number of the report of the run up to which all of the usage was told; 0 while it is not over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsettledRun:
    """A run that the ledger has granted requests."""

    run_key: str
    """The run."""
    asks: tuple[int, ...]
    """The numbers of what was asked, in the run."""
    usage: Usage
    """The usage of those requests; of one that is not known to be over, what was reserved."""
    requests: tuple[UnsettledRequest, ...] = ()
    """The requests one by one; none from a ledger of an older release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetsDeposited(WireMessage):
    """The answer to `DepositBudgets`."""

    budgets: dict[str, Remaining] = field(default_factory=dict[str, Remaining], hash=False)
    """By the key of a budget: the part that the submitter has to leave alone."""
    unsettled: tuple[UnsettledRun, ...] = ()
    """The runs of the submitter with requests that it has not settled."""
    kind: Literal["budgets_deposited"] = "budgets_deposited"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestUsed:
    """The end of a request that a ledger was asked for."""

    run_key: str
    """The run."""
    ask: int
    """The number of what was asked, in the run."""
    usage: Usage | None = None
    """The usage; None for a request that the submitter has granted."""
    told: int = 0
    """The number of the report of the run up to which all of the usage was told; 0 if that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskLedger(WireMessage):
    """A runner asks for model requests of runs whose submitter is silent; `LedgerAnswered` is the answer."""

    CARRIES: ClassVar[str] = "asks"
    asks: Carried = field(default=(), hash=False)
    """The asks, as `dump` wrote `RequestAsked`."""
    used: tuple[RequestUsed, ...] = ()
    """The requests that are over."""
    wait_s: float = 20
    """The seconds to wait while none is granted."""
    kind: Literal["ask_ledger"] = "ask_ledger"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerAnswered(WireMessage):
    """The answer to `AskLedger`."""

    CARRIES: ClassVar[str] = "answers"
    answers: Carried = field(default=(), hash=False)
    """`Granted` for each request that may go out; the others wait."""
    kind: Literal["ledger_answered"] = "ledger_answered"
