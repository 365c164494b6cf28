"""The record of one task that runs here: its newest state, and the only place that changes it meanwhile."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.spending import BudgetExceeded
from ohm_subagents._plugins.stores import TaskQuery
from ohm_subagents.contract.account import AccountCharged
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.events import RunEnded, TaskSettled, ToolEnded, UsageAdded
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.model_route import RouteResolved
from ohm_subagents.contract.requests import AnswerGiven, Deny
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.task import UNAVAILABLE, apply
from ohm_subagents.contract.usage import NOTHING_USED, ONE_REQUEST

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from decimal import Decimal

    from ohm_subagents._orchestrator.ledger import Ledger
    from ohm_subagents._orchestrator.observe.observers import Observers
    from ohm_subagents._orchestrator.run.redaction import EventRedactor
    from ohm_subagents._plugins.backends.interface import RunOutput
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.usage import Usage


class TaskRecord:
    """The only writer of a task that runs here: each event goes apply → store → observers, in that order and at once.

    Fields:
        task: the newest state.
        clock: gives the time in epoch milliseconds.
        observers: notified of every event.
        on_settled: called once, after the event that settles the task, or when it is left.
        is_left: another process may go on with the task; nothing is recorded of it here any more.
        above: the record of the task whose subagent started this one, while that goes on.
        ledger: the budgets that the task is charged to; None where they limit nothing of it.
        level: the depth at which it runs.
        started: the tasks that its subagent has started in this process.
        on_caught_up: called once all is known that its run did in another process; None for one that has begun here.
    """

    __slots__ = (
        "_elsewhere",
        "_held",
        "_redactor",
        "_store",
        "above",
        "clock",
        "is_left",
        "ledger",
        "level",
        "observers",
        "on_caught_up",
        "on_settled",
        "started",
        "task",
    )

    def __init__(
        self, task: Task, *, clock: Clock, store: Store, observers: Observers, redactor: EventRedactor | None
    ) -> None:
        self.task = task
        self.above: TaskRecord | None = None
        self.ledger: Ledger | None = None
        self.level = 0
        self.started: list[TaskId] = []
        self.is_left = False
        self._elsewhere: dict[TaskId, Usage] = {}
        self._held: list[tuple[TaskRecord, Task, Event]] | None = None
        self.observers = observers
        self.on_settled: Callable[[], None] = _nothing
        self.on_caught_up: Callable[[], None] | None = None
        self.clock = clock
        self._store = store
        self._redactor = redactor

    def add(self, event: Event) -> None:
        """Apply one event, without the secrets of a redacted task; nothing happens once it has settled or is left."""
        if self.is_left:
            return
        for each in (event,) if self._redactor is None else self._redactor.events(event):
            before = self.task
            self.task = task = apply(before, each, at_ms=max(self.clock(), before.updated_ms))  # it may be set back
            if task is before:
                continue
            if self.above is not None and task.activity.usage is not before.activity.usage:
                self._charge_all(each, task.activity.usage.since(before.activity.usage))
            elif self._held is None:
                self._store.save(task, each)
                self.observers.notify(task, each)
            else:
                self._held.append((self, task, each))
            if isinstance(each, TaskSettled):
                self._over()

    @contextmanager
    def together(self) -> Generator[None]:
        """Save what is added while this is open as one: all of it, or nothing. Observers are notified after that."""
        held = self._held = []
        try:
            yield
        finally:
            self._held = None
            if held:
                self._keep(held)

    def has_expired(self, task_id: str) -> bool:
        """Return True for a task that the store has kept, and has removed by its retention."""
        found = self._store.get(TaskId(task_id))
        return isinstance(found, Err) and found.err_value.code == ErrorCode.TASK_EXPIRED

    async def stored(self) -> None:
        """Wait until the store has written what was added so far."""
        await self._store.flush()

    @property
    def holds_text(self) -> bool:
        """Return True while a text is held back because its end may be the beginning of a secret."""
        return self._redactor is not None and self._redactor.holds_text

    def _keep(self, told: Sequence[tuple[TaskRecord, Task, Event]]) -> None:
        self._store.save_all([(task, event) for _, task, event in told])
        for record, task, event in told:
            record.observers.notify(task, event)

    def leave(self) -> None:
        """Leave the task as it is to another process: what its run still does while it is stopped is not recorded."""
        self.is_left = True
        self.observers.leave(self.task)
        self._over()

    def caught_up(self) -> None:
        """Note that all is known that its run did in another process, if it goes on from there."""
        on_caught_up, self.on_caught_up = self.on_caught_up, None
        if on_caught_up is not None:
            on_caught_up()

    def lose(self) -> None:
        """Count a request of a run that was lost before it was heard: it may have had one out, if one was left."""
        if self.on_caught_up is None:
            return
        reserved = None if self.ledger is None else self.ledger.reserve()
        if not isinstance(reserved, BudgetExceeded):
            self.add(UsageAdded(usage=ONE_REQUEST))
            if self.ledger is not None and reserved is not None:
                self.ledger.commit(reserved)
        self.caught_up()

    def _over(self) -> None:
        self.caught_up()
        on_settled, self.on_settled = self.on_settled, _nothing  # break the cycle: both are freed at once
        on_settled()

    def _charge_all(self, event: Event, usage: Usage) -> None:
        """Save and tell an event that used something, and charge that to every task above: all of it, or nothing."""
        charged, above = AccountCharged(usage=usage), self.above
        told: list[tuple[TaskRecord, Task, Event]] = [(self, self.task, event)]
        while above is not None:
            if above._applied(charged):  # noqa: SLF001  one of us
                told.append((above, above.task, charged))
            above = above.above
        if self._held is None:
            self._keep(told)
        else:
            self._held += told

    def charge_other_processes(self) -> Usage:
        """Charge what tasks of other processes below this one used since the last time, and return it."""
        new = NOTHING_USED
        for found in self._store.list(TaskQuery(parent=self.task.id)):
            if isinstance(found, Ok) and found.ok_value.id not in self.started:
                listed = found.ok_value
                known, self._elsewhere = self._elsewhere, {**self._elsewhere, listed.id: listed.tree_usage}
                new += listed.tree_usage.since(known.get(listed.id, NOTHING_USED))
        charged = AccountCharged(usage=new)
        if new != NOTHING_USED and self._applied(charged):
            self._charge_all(charged, new)
        return new

    def take_up(self) -> Usage:
        """Charge what tasks below this one used and the process that has run it did not live to charge; return it."""
        below = (one.ok_value for one in self._store.list(TaskQuery(parent=self.task.id)) if isinstance(one, Ok))
        self._elsewhere = {one.id: one.tree_usage for one in below}
        activity = self.task.activity
        owed = sum(self._elsewhere.values(), NOTHING_USED).since(activity.tree_usage.since(activity.usage))
        if not _is_gain(owed):  # nothing, or less than was charged, as some of them have left the store
            return NOTHING_USED
        self.add(AccountCharged(usage=owed))
        return owed

    def tell_remaining(self) -> None:
        """Record what is left of the budgets of the task and of every task above, where that has changed."""
        for record, ledger in self._limited():
            account, left = record.task.activity.account, ledger.remaining(record.level)
            if account is None or account.remaining != left:
                record.add(AccountCharged(remaining=left))

    def charge_unpriced(self, cost_usd: Decimal) -> None:
        """Record what a request without usage costs the budgets of the task and of every task above."""
        for record, _ in self._limited():
            record.add(AccountCharged(unpriced_usd=cost_usd))

    def _limited(self) -> Iterator[tuple[TaskRecord, Ledger]]:
        record: TaskRecord | None = self
        while record is not None and record.ledger is not None:
            yield record, record.ledger
            record = record.above

    def _applied(self, event: Event) -> bool:
        if self.is_left:
            return False
        before = self.task
        self.task = apply(before, event, at_ms=max(self.clock(), before.updated_ms))  # the clock may be set back
        return self.task is not before

    def redact(self, text: str) -> str:
        """Return the text as it may be shown; whatever is cut goes through this before."""
        return text if self._redactor is None else self._redactor.text(text)

    def reroute(self, label: str) -> None:
        """Record that another backend works from now on, whose model is unknown until it reports one."""
        self.add(RouteResolved(provider=UNAVAILABLE, model=UNAVAILABLE, runtime=label, route=label))

    def end_run(self, outcome: Outcome, output: RunOutput | None = None) -> None:
        """Close a run that its backend ended."""
        if output is None:
            self.add(RunEnded(outcome=outcome))
            return
        self.add(RunEnded(outcome=outcome, output=output.text, summary=output.summary, exit_code=output.exit_code))

    def close_calls(self) -> None:
        """Close the tool calls that a run left open when it was cut off."""
        asked = {one.call_id for one in self.task.requests}
        for call in self.task.activity.open_calls:
            text = "not made: nobody has approved it" if call.call_id in asked else "interrupted"
            self.add(ToolEnded(call_id=call.call_id, tool=call.tool, status="interrupted", text=text))

    def cut_run(self, outcome: Outcome) -> None:
        """Close a run that was cut off."""
        self.close_calls()
        self._close_requests()
        self.end_run(outcome)

    def _close_requests(self) -> None:
        for request in self.task.requests:
            self.add(AnswerGiven(request_id=request.id, answer=Deny("the run was cut off"), by="cancel"))

    def abandon(self, outcome: Outcome, *, settled: Outcome) -> None:
        """End the task, as `settled`, and with `outcome` the run that is open, if any: no more of that counts."""
        if self.task.is_terminal:
            return
        if self.task.runs and self.task.runs[-1].outcome is None:
            self.cut_run(outcome)
        self._close_requests()  # of the landing, which comes after the run
        self.add(TaskSettled(outcome=settled))

    def settle(self, outcome: Outcome) -> None:
        """End the task, and the run that is still open, if any."""
        self.abandon(outcome, settled=outcome)

    def log_crash(self, error: BaseException) -> None:
        """Log the traceback of a backend that raised; the caller gets the message only."""
        logger, task = self.observers.logger, self.task
        if self._redactor is None:
            logger.error("backend.raised", task_id=task.id, backend=task.assignment.backend, exc_info=error)
            return
        shown = self._redactor.text("".join(traceback.format_exception(error)))
        logger.error("backend.raised", task_id=task.id, backend=task.assignment.backend, traceback=shown)


def _nothing() -> None:
    """Leave it at that."""


def _is_gain(usage: Usage) -> bool:
    counts = (usage.requests, usage.input_tokens, usage.output_tokens, usage.tool_calls, usage.cost_usd or 0)
    return min(counts) >= 0 and max(counts) > 0
