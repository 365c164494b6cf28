"""The context of a call: the task that makes it, its level, and the budgets that it is charged to."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._orchestrator.ledger import Ledger
from ohm_subagents.contract.account import StartBudget
from ohm_subagents.contract.ids import CallId, new_batch_id
from ohm_subagents.contract.usage import NOTHING_USED

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ohm_subagents._orchestrator.observe.call import ProgramCall
    from ohm_subagents.contract.call_rules import CloneOf
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.limits import Budget
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.sandbox import SandboxMode
    from ohm_subagents.contract.tool_ceiling import Delegation


def no_model() -> None:
    """Return that the model of the caller is not known."""


def new_call_id() -> CallId:
    """Return an id that no other call has."""
    return CallId(f"call_{token_hex(16)}")


class SharedClone(NamedTuple):
    """A clone that a task works in with all that it starts.

    Fields:
        place: the clone, and what it is a clone of.
        task_id: the task whose clone it is; None where this process does not know that.
    """

    place: CloneOf
    task_id: TaskId | None


class CallContext(NamedTuple):
    """The position of a call in the tree of tasks.

    Fields:
        ledger: the budgets that are charged.
        level: 0 for a program, one more for each task below it.
        task_id: the task that calls; None for a program.
        call: the id of the program's call, or of its start of several tasks, that tasks are started for, if it has one.
        model: returns the model of the task that calls; None where that is not known.
        passes: the ceilings of the tools of what is started; None without any.
        outside: the task of another process for which this one runs, if it does.
        shares: the budget of the start that goes on; None where nobody need know it.
        clone: the clone that the task which calls works in; None for the files of nobody else.
        sandbox: the sandbox of the task that calls, of which what it starts has at least as strict a one.
    """

    ledger: Ledger
    level: int
    task_id: TaskId | None = None
    call: CallId | None = None
    model: Callable[[], ModelPattern | None] = no_model
    passes: Delegation | None = None
    outside: TaskId | None = None
    shares: StartBudget | None = None
    clone: SharedClone | None = None
    sandbox: SandboxMode = "off"

    def of_start(self, budget: Budget | None, *, tasks: int) -> CallContext:
        """Return the context of one start of so many tasks, which have one more budget if there is one.

        Several tasks of a program have an id of a call in common; those of a subagent have their parent.
        """
        caller, level = self.child(budget, owner="the call"), self.level + 1
        if tasks > 1 and (caller.call, caller.task_id, caller.outside) == (None, None, None):
            caller = caller._replace(call=new_batch_id())
        if tasks > 1 and caller.ledger.limits(level):
            rest = replace(caller.ledger.remaining(level), wall_ends_ms=None)  # time is not shared out
            shares = StartBudget(id=f"start_{token_hex(16)}", budget=rest.with_used(NOTHING_USED, now_ms=0))
            return caller._replace(shares=shares)
        return caller if caller.shares is None else caller._replace(shares=None)

    def child(self, budget: Budget | None, *, owner: str) -> CallContext:
        """Return the same context under one more budget; `owner` names it in error messages."""
        if budget is None:
            return self
        ledger = Ledger(budget, owner=owner, level=self.level, parent=self.ledger)
        return self._replace(ledger=ledger)


current_context: Final[ContextVar[CallContext | None]] = ContextVar("ohm_call_context", default=None)
"""The context of the code that runs. Set around each run, so that a task started by a tool is the subagent's child."""


_program_call: Final[ContextVar[tuple[CallContext | None, ProgramCall] | None]] = ContextVar(
    "ohm_program_call", default=None
)
"""The newest call that was begun around the running code, and the context of the code that began it."""


def current_program_call() -> ProgramCall | None:
    """Return the program's call that the running code is part of; a subagent further down is not part of it."""
    found = _program_call.get()
    return None if found is None or found[0] is not current_context.get() else found[1]


@contextmanager
def part_of(call: ProgramCall) -> Generator[None]:
    """Let the commands inside be part of this call."""
    token = _program_call.set((current_context.get(), call))
    try:
        yield
    finally:
        _program_call.reset(token)


class _SharedBudget:
    """Keeps the context of the first start, to which later ones are charged."""

    __slots__ = ("context",)

    def __init__(self) -> None:
        self.context: CallContext | None = None


_shared_budget: Final[ContextVar[_SharedBudget | None]] = ContextVar("ohm_shared_budget", default=None)
"""The budget that the starts of the running code share, if they do."""


@contextmanager
def shared_budget() -> Generator[None]:
    """Charge all starts inside to the same `subagents.budget`, as if they were one start."""
    token = _shared_budget.set(_SharedBudget())
    try:
        yield
    finally:
        _shared_budget.reset(token)


def program_context(make: Callable[[], CallContext]) -> CallContext:
    """Return the context of a program: a new one, or that of the start with which this one shares its budget."""
    shared = _shared_budget.get()
    if shared is None:
        return make()
    if shared.context is None:
        shared.context = make()
    return shared.context


def root_context(
    budget: Budget,
    *,
    level: int,
    passes: Delegation | None = None,
    outside: TaskId | None = None,
    clone: CloneOf | None = None,
) -> CallContext:
    """Return the context of a program, or of a process that is itself a subagent at `level`, under its ceilings.

    `clone` is that of `outside`, the task that the process runs for.
    """
    around = None if clone is None else SharedClone(clone, outside)
    ledger = Ledger(budget, owner="subagents.budget", level=0)
    return CallContext(ledger=ledger, level=level, passes=passes, outside=outside, clone=around)
