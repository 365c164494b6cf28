"""A backend whose runs are at a runner, behind a transport."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents.contract.wire import CancelRun, Hello, WireError
from ohm_subagents.plugin import Capability, Diagnostic, DiagnosticRaised, Err, ErrorCode, OhmError, Ok
from ohm_subagents.remote.deposits import Deposits
from ohm_subagents.remote.link import Link, Patience, answered
from ohm_subagents.remote.request import left_behind, run_key
from ohm_subagents.remote.submitted_run import SubmittedRun
from ohm_subagents.remote.transport import RunnerLostError, RunnerUnusableError
from ohm_subagents.remote.workspaces import Carrier

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable

    from anyio.abc import TaskGroup

    from ohm_subagents.plugin import Result, RunOutput, RunRequest, Sink
    from ohm_subagents.remote.deposits import LedgerLookup
    from ohm_subagents.remote.transport import Transport
    from ohm_subagents.workspaces import GitWorkspaces

FRESH_S: Final = 1.0
"""Seconds after which a runner that said nothing is asked who it is before a run is sent there."""
LEAVE_S: Final = 2.0
"""Seconds in which a runner is told, at the end, which runs it may forget."""
_OF_THIS_PROCESS = frozenset({Capability.PREPARES, Capability.TRACES, Capability.SANDBOX})


def remote_capabilities(capabilities: frozenset[Capability]) -> frozenset[Capability]:
    """Return what a `RemoteBackend` does that is in front of a backend with these capabilities.

    The runner prepares the backend itself, the spans of a run are made from its events, and a run goes on when this
    process dies.
    """
    return capabilities - _OF_THIS_PROCESS | {Capability.ATTACHES}


class _Asking:
    """A question to the runner, whose answer many may wait for; None if who asked was cancelled."""

    def __init__(self) -> None:
        self.answer: Result[Link, OhmError] | None = None
        self.is_over = anyio.Event()


class RemoteBackend:
    """Runs each prompt at one runner (`Backend`). One call listens for all of its runs, and one sends."""

    def __init__(
        self,
        transport: Transport,
        group: TaskGroup,
        patience: Patience,
        clones: GitWorkspaces | None = None,
        deposits: Deposits | None = None,
    ) -> None:
        """With `clones`, the files of a task travel; without, its directory has to be the same at the runner."""
        self._deposits = deposits
        self._carrier = Carrier(clones)
        self._transport = transport
        self._group = group
        self._patience = patience
        self._link: Link | None = None
        self._turn = anyio.Lock(fast_acquire=True)
        self._asking: _Asking | None = None
        self._over: list[SubmittedRun] = []
        self._acknowledging = anyio.Lock()
        self._known: frozenset[str] = frozenset()
        self._known_at = -math.inf
        self._knows_more = False

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run one prompt to its end, at the runner."""
        for note in left_behind(request.profile):
            sink.emit(note)
        linked = await self._linked()
        if isinstance(linked, Err):
            return linked
        carried = await self._carrier.carried(request)
        if isinstance(carried, Err):
            return carried
        run = SubmittedRun(run_key(request), request, sink, linked.ok_value, self._deposits)
        return await self._ended(run, run.start(carried.ok_value, cancel_s=self._cancel_s), request, sink)

    async def reach(self, *, anew: bool = False) -> OhmError | None:
        """Wait until the runner has said who it is; return the error if it cannot be reached.

        With `anew` it is asked also while it has runs: it may be gone with them, and nobody knows yet.
        """
        linked = await self._linked(anew=anew)
        return linked.err_value if isinstance(linked, Err) else None

    async def running(self) -> int:
        """Return how many runs the runner has, those of other submitters too; 0 of one that cannot be reached."""
        try:
            return len((await answered(Hello, self._transport.hello, None, self._patience)).running)
        except RunnerLostError:
            return 0

    async def attach(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Go on with a run that the runner has, and whose submitter is gone (`Attaching`)."""
        linked = await self._linked()
        if isinstance(linked, Err):
            return Err(replace(linked.err_value, advice="The run may go on there; what it had reported is kept."))
        run = SubmittedRun(run_key(request), request, sink, linked.ok_value, self._deposits)
        since = 0 if request.feed is None else request.feed.position
        return await self._ended(run, run.attach(since, cancel_s=self._cancel_s), request, sink)

    async def end(self, request: RunRequest) -> None:
        """Have the runner stop a run that it has, and of which nobody will hear."""
        linked = await self._linked()
        if isinstance(linked, Ok):
            linked.ok_value.send(CancelRun(run_key=run_key(request)))

    @property
    def _cancel_s(self) -> float:
        return self._patience.cancel_s + self._carrier.bundle_s

    async def _ended(
        self, run: SubmittedRun, playing: Awaitable[Result[RunOutput, OhmError]], request: RunRequest, sink: Sink
    ) -> Result[RunOutput, OhmError]:
        """Return how a run ends, once what it did to its files is kept; an answer whose work is lost is none."""
        lost: OhmError | None = None
        has_answered = False
        try:
            result = await playing
            has_answered = isinstance(result, Ok)
        finally:
            lost = await self._carrier.kept(request, sink, run.told, is_silent=run.is_silent)
            if lost is not None and not has_answered:
                sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="workspace", message=str(lost))))
            self._acknowledge(run)
        return Err(lost) if lost is not None and has_answered else result

    async def has(self, request: RunRequest) -> bool:
        """Return True if the runner knows the run of a request, so that it may be attached to.

        An older release does not name the runs that have ended: any may be one of those that it keeps.
        """
        async with self._turn:
            if anyio.current_time() - self._known_at > FRESH_S:
                try:
                    hello = await answered(Hello, self._transport.hello, None, self._patience)
                except RunnerLostError:
                    return False
                self._known, self._known_at = frozenset((*hello.running, *hello.ended)), anyio.current_time()
                self._knows_more = hello.kept > len(hello.ended)
            return self._knows_more or run_key(request) in self._known

    async def _linked(self, *, anew: bool = False) -> Result[Link, OhmError]:
        """Return the link to the runner in its present life, or why there is none; all who wait go on together."""
        while True:
            link, asking = self._link, self._asking
            if not anew and link is not None and not link.why_lost and link.quiet_s <= FRESH_S:
                return Ok(link)
            if asking is None:
                asking = self._asking = _Asking()
                try:
                    asking.answer = await self._greeted()
                finally:
                    self._asking = None
                    asking.is_over.set()
            else:
                await asking.is_over.wait()
            if asking.answer is not None:  # else who asked was cancelled
                return asking.answer

    async def _greeted(self) -> Result[Link, OhmError]:
        """Ask the runner who it is: nobody tells an idle link of a new life."""
        link = self._link
        try:
            hello = await answered(Hello, self._transport.hello, None, self._patience)
            if link is None or not link.goes_on(hello):
                link = self._link = Link(self._transport, self._patience, hello)
                self._group.start_soon(link.serve)
        except RunnerUnusableError as why:
            return Err(_unusable(str(why)))
        except WireError as why:
            return Err(_strange(str(why)))
        except RunnerLostError as why:
            return Err(_unreachable(str(why)))
        return Ok(link)

    def _acknowledge(self, run: SubmittedRun) -> None:
        """Let the runner forget a run that is over; those that end together are acknowledged together."""
        self._over.append(run)
        if len(self._over) == 1:
            self._group.start_soon(self._acknowledge_ends)

    async def _acknowledge_ends(self) -> None:
        async with self._acknowledging:
            await checkpoint()  # for the engine to record the ends
            over, self._over = self._over, []
            for run in over:
                await run.acknowledge_end()

    async def leave(self) -> None:
        """Tell the runner at once which runs it may forget, as nobody will tell it later."""
        with anyio.move_on_after(LEAVE_S, shield=True):
            await self._acknowledge_ends()
            if self._link is not None:
                await self._link.leave()
            if self._deposits is not None:
                await self._deposits.leave()


@asynccontextmanager
async def open_remote(
    transport: Transport,
    *,
    patience: Patience | None = None,
    clones: GitWorkspaces | None = None,
    ledger: LedgerLookup | None = None,
    ledger_after_s: float | None = None,
) -> AsyncGenerator[RemoteBackend]:
    """Open a backend whose runs are at the far end of a transport. Whatever still runs when it is left is cancelled.

    With `clones`, the files of a task travel to the runner, and what it did comes back; without, its directory has to
    be the same on both sides. With `ledger` and `ledger_after_s`, a ledger grants model requests of runs that may be
    attached to, once this process was silent for so many seconds.
    """
    patience = patience or Patience()
    async with anyio.create_task_group() as group:
        deposits = None if ledger is None else Deposits(ledger, group, patience, after_s=ledger_after_s)
        backend = RemoteBackend(transport, group, patience, clones, deposits)
        try:
            yield backend
        finally:
            await backend.leave()
        group.cancel_scope.cancel()


def _unreachable(why: str) -> OhmError:
    return OhmError(
        code=ErrorCode.RUNNER_LOST,
        message=f"The runner cannot be reached. {why}",
        advice="Nothing was begun. See that it runs, and start the task again.",
        retryable=True,
    )


def _strange(why: str) -> OhmError:
    return OhmError(
        code=ErrorCode.RUNNER_LOST,
        message=f"This program and the runner do not understand each other. {why}",
        advice="Nothing was begun.",
    )


def _unusable(why: str) -> OhmError:
    return OhmError(
        code=ErrorCode.BACKEND_OPTIONS_INVALID,
        message=f"The runner cannot open its backend. {why}",
        advice="Nothing was begun. Install or set on its machine what it lacks, or correct what it is to run; then end "
        "the runner, and start the task again.",
    )
