"""One run at a runner, as its submitter sees it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.contract.wire import (
    AskLeft,
    AskMessage,
    AttachRun,
    CancelRun,
    EventReported,
    ResultReported,
    StartRun,
    SteerAnswered,
    SteeringClosed,
    SteeringOpened,
    UnknownEvent,
    WireError,
)
from ohm_subagents.plugin import (
    Diagnostic,
    DiagnosticRaised,
    Err,
    ErrorCode,
    OhmError,
    Ok,
    RunEvent,
    RunOutput,
)
from ohm_subagents.remote.answers import Answers
from ohm_subagents.remote.request import wire_run
from ohm_subagents.remote.settlement import Settlement, catches_up
from ohm_subagents.remote.steering import Steering

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from anyio.abc import TaskGroup

    from ohm_subagents.contract.wire import RunMessage, RunReport, Workspace
    from ohm_subagents.plugin import Result, RunFeed, RunRequest, Sink
    from ohm_subagents.remote.deposits import Deposits
    from ohm_subagents.remote.link import Link

STORED_EVERY: Final = 1000
"""Reports after which a run that may be attached to has them stored, so that its runner can forget them."""


class SubmittedRun:
    """Starts a run, tells its sink what happens, and answers what it asks."""

    def __init__(
        self, run_key: str, request: RunRequest, sink: Sink, link: Link, deposits: Deposits | None = None
    ) -> None:
        """With `deposits`, a ledger grants its model requests while this process is gone."""
        self._key = run_key
        self._request = request
        self._sink = sink
        self._link = link
        self._feed = request.feed
        self._has_ended = False
        self._fault: Exception | None = None
        self._result: Result[RunOutput, OhmError] | None = None
        self._stirred = anyio.Event()
        self._is_over = self._is_closed = self._is_storing = self._is_catching_up = False
        deposits = None if request.feed is None else deposits
        self._asks = Answers(run_key, request, link, deposits=deposits, on_first=self._stirred.set)
        self._settlement = Settlement(run_key, request, deposits, self._asks)
        self._group: TaskGroup | None = None
        self._steering: Steering | None = None
        self._has_noted = False
        self._last = self._acknowledged = 0
        self.told: ResultReported | None = None
        """The end of the run as the runner told it."""

    def start(self, workspace: Workspace, *, cancel_s: float) -> Awaitable[Result[RunOutput, OhmError]]:
        """Run it to its end. If this is cancelled, the run has `cancel_s` seconds to end, and is told of until then."""
        return self._play(partial(self._started, workspace), 0, cancel_s)

    def _started(self, workspace: Workspace) -> RunMessage:
        run = wire_run(self._request, workspace)
        return StartRun(run_key=self._key, run=run, ledger_after_s=self._settlement.after_s)

    async def attach(self, since: int, *, cancel_s: float) -> Result[RunOutput, OhmError]:
        """Go on with a run that another process began, from what it reported after `since`."""
        lost = await self._settlement.claim()
        if lost is not None:
            self._link.send(CancelRun(run_key=self._key))  # or it goes on for nobody
            return Err(lost)
        self._is_catching_up = True
        attach = partial(AttachRun, run_key=self._key, since=since, tells_end=True)
        return await self._play(partial(attach, ledger_after_s=self._settlement.after_s), since, cancel_s)

    async def _play(self, first: Callable[[], RunMessage], since: int, cancel_s: float) -> Result[RunOutput, OhmError]:
        """Return how the run ends, once that is counted which a ledger has granted to it, and nobody will hear of."""
        self._link.open(self._key, self, since=since)
        try:
            self._settlement.open()
            self._link.send(first())
            stop: BaseException | None = None
            try:
                await self._stirred.wait()  # most runs ask nothing, and need no group of tasks
            except anyio.get_cancelled_exc_class() as cancelled:
                stop = cancelled
            if stop is not None or not self._is_over:
                await self._attend(stop, cancel_s)
        except anyio.get_cancelled_exc_class():
            self._hear_no_more()
            await self._settlement.count_cancelled(self._sink, cancel_s)
            raise
        except WireError as unsayable:
            return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message=str(unsayable)))
        finally:
            self._hear_no_more()
        if self._fault is not None:
            raise self._fault
        result = self._result or Err(_lost("It is gone."))
        is_lost = isinstance(result, Err) and result.err_value.code == ErrorCode.RUNNER_LOST
        unknown = await self._settlement.count_unheard(self._sink, is_lost=is_lost)
        return result if unknown is None else Err(unknown)

    def _hear_no_more(self) -> None:
        self._close()
        self._link.close(self._key, is_left=self._is_left or self.told is None)  # no end that was not heard is over

    async def _attend(self, stop: BaseException | None, cancel_s: float) -> None:
        """Answer what the run asks until it is over; it was cancelled if there is a `stop`, which is raised again."""
        self._stirred = anyio.Event()
        async with anyio.create_task_group() as self._group:
            self._asks.open(self._group)
            try:
                await self._until_over(stop)
            except anyio.get_cancelled_exc_class():
                if not self._is_left:
                    with anyio.move_on_after(cancel_s, shield=True):
                        self._link.send(CancelRun(run_key=self._key))
                        await self._until_over()
                raise
            finally:
                self._close()

    async def _until_over(self, stop: BaseException | None = None) -> None:
        if stop is not None:
            raise stop
        if not self._is_over:
            await self._stirred.wait()

    @property
    def is_silent(self) -> bool:
        """True if the run was to end, and the runner has not said how."""
        return self.told is None and self._result is None and not self._is_left

    @property
    def _is_left(self) -> bool:
        return self._feed is not None and self._feed.is_left

    async def acknowledge_end(self) -> None:
        """Let the runner forget the run once its end, which the engine has recorded, is stored; the ledger too."""
        if self._feed is None or self._feed.is_left or not (self._has_ended or self._settlement.is_needed):
            return
        await self._feed.stored()
        if self._has_ended:
            self._link.acknowledge(self._key, self._last)
        self._settlement.end()

    def lose(self, why: str) -> None:
        """Take in that the runner is gone with the run."""
        self._end(Err(_lost(why)))

    def hear(self, reports: Sequence[RunReport]) -> None:
        """Take in reports. What cannot be recorded ends this run, and no other of the link."""
        try:
            self._hear(reports)
        except Exception as error:  # noqa: BLE001  it is raised to the caller of the run
            self._fault = error
            self._link.send(CancelRun(run_key=self._key))
            self._stop_waiting()

    def _hear(self, reports: Sequence[RunReport]) -> None:
        """Record what was heard before anything is done about it, so that it is done once."""
        events: list[RunEvent] = []
        for report in reports:
            match report:
                case EventReported(event=UnknownEvent() as event):
                    events += self._note(event)
                case EventReported(event=event):
                    events += [event] if isinstance(event, RunEvent) else []
                case ResultReported():
                    self._record(events, report.n - 1)
                    events, self._last, self._has_ended = [], report.n, True
                    self._take(report)
                case _:
                    self._record(events, report.n)
                    events = []
                    self._take(report)
        if events:
            self._record(events, reports[-1].n)
        if self._feed is not None and self._is_catching_up and catches_up(reports):
            self._is_catching_up = False
            self._feed.caught_up()
        self._settlement.hear(reports)
        self._acknowledge()

    def _record(self, events: Sequence[RunEvent], n: int) -> None:
        if n == self._last and not events:
            return
        self._last = n
        if self._feed is not None:
            self._feed.record(self._sink, events, position=n)
            return
        for event in events:
            self._sink.emit(event)

    def _acknowledge(self) -> None:
        """Acknowledge what was heard; of a run that may be attached to, what is stored, and that now and then."""
        if self._feed is None:
            self._link.acknowledge(self._key, self._last)
        elif self._last - self._acknowledged < STORED_EVERY or self._is_storing or self._is_closed:
            return
        elif self._group is None:
            self._stirred.set()  # a group to store in, and later reports ask for it again
        else:
            self._is_storing = True
            self._group.start_soon(self._store, self._feed)

    async def _store(self, feed: RunFeed) -> None:
        self._acknowledged = await feed.stored()
        self._link.acknowledge(self._key, self._acknowledged)
        self._is_storing = False

    def _take(self, report: RunReport) -> None:
        if isinstance(report, ResultReported):
            self.told = report
        match report:
            case ResultReported(error=None) as answer:
                self._end(Ok(RunOutput(text=answer.text, summary=answer.summary, exit_code=answer.exit_code)))
            case ResultReported(error=OhmError() as error):
                self._end(Err(error))
            case AskLeft(ask=ask):
                self._asks.leave(ask)
            case AskMessage():
                self._asks.begin(report)
            case SteeringOpened() | SteerAnswered() | SteeringClosed() if self._request.inbox is not None:
                self._steering = self._steering or Steering(self._key, self._link, self._request.inbox)
                if not self._is_closed:
                    self._steering.hear(report)
            case _:
                pass

    def _end(self, result: Result[RunOutput, OhmError]) -> None:
        if self._result is None:
            self._result = result
            self._stop_waiting()

    def _stop_waiting(self) -> None:
        self._is_over = True
        self._stirred.set()

    def _close(self) -> None:
        self._settlement.close()
        if self._steering is not None:
            self._steering.close()
        self._asks.close()
        if self._group is not None and self._is_storing:
            self._group.cancel_scope.cancel()
        self._is_closed = True

    def _note(self, event: UnknownEvent) -> Iterator[RunEvent]:
        """Tell once that the runner is newer than this."""
        if not self._has_noted:
            self._has_noted = True
            message = f"The runner reports events of a newer release, such as '{event.kind}', which are not recorded."
            yield DiagnosticRaised(diagnostic=Diagnostic(subject="remote", message=message))


def _lost(why: str) -> OhmError:
    return OhmError(
        code=ErrorCode.RUNNER_LOST,
        message=f"The runner is lost, and the run with it. {why}",
        advice="What it had reported is kept. Start the task again.",
        retryable=True,
    )
