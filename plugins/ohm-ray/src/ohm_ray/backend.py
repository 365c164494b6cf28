"""The backend `ray`: each run goes to the runner of a pool that has the fewest."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from operator import attrgetter
from secrets import randbelow
from typing import TYPE_CHECKING, Final

import anyio

from ohm_ray.about import with_demands
from ohm_ray.member import Member, is_lost
from ohm_subagents.plugin import (
    Checkpointed,
    Diagnostic,
    DiagnosticRaised,
    Err,
    ErrorCode,
    OhmError,
)
from ohm_subagents.remote import (
    Deposits,
    Patience,
    PoolSize,
    RunnerLostError,
    Scaling,
    UndeliveredError,
    opens_at,
    placed,
    retry_wait_s,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Sequence

    from anyio.abc import TaskGroup

    from ohm_ray.options import RayOptions
    from ohm_ray.runners import Runners
    from ohm_ray.services import Services
    from ohm_subagents.plugin import Result, RunEvent, RunOutput, RunRequest, Sink
    from ohm_subagents.remote import LedgerLookup
    from ohm_subagents.workspaces import GitWorkspaces

RETRIES: Final = 3
"""Runners that one run may lose before it fails, where `onLost` is `retry`."""
KNOWN_AFTER_S: Final = 1.0
"""Seconds for which the runners are asked, before the first run of a program, how many they have."""
_ELSEWHERE: Final = "The runner was lost, and the run goes on at another one, from its last checkpoint."


class RayBackend:
    """Runs each prompt at one runner of a pool (`Backend`, `Attaching`)."""

    def __init__(
        self,
        runners: Runners,
        group: TaskGroup,
        options: RayOptions,
        patience: Patience,
        *,
        services: Services,
        clones: GitWorkspaces | None,
        deposits: Deposits | None,
    ) -> None:
        self._runners = runners
        self._options = options
        self._services = services
        self._deposits = deposits
        self._members: list[Member] = []
        self._new_member = partial(Member, runners, options, group, patience, clones=clones, deposits=deposits)
        scaling = Scaling(
            min_runners=options.fewest,
            max_runners=options.most,
            runs_per_runner=options.runs_per_runner,
            idle_s=options.idle_s,
        )
        self._size = PoolSize(scaling)
        self._turn = anyio.Lock(fast_acquire=True)
        self._knows_others = False

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run one prompt to its end. `onLost` says what follows where its runner is lost."""
        seen = _Seen(sink)
        member = await self._placed()
        result = await self._counted(member, self._run_at(member, request, seen))
        return await self._kept_on(request, seen, result)

    async def attach(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Go on with a run of a process that has died, at the runner that has it; where none does, it is lost."""
        seen = _Seen(sink)
        result: Result[RunOutput, OhmError] = Err(_NOBODY)
        lives = self._lives(request)
        found = await self._found(lives)
        if self._deposits is not None:
            gone = [one for one in lives if found is None or one is not found[1]]
            lost = await self._deposits.count_lost(gone, seen)
            if lost is not None and found is not None:
                await found[0].remote.end(found[1])
            if lost is not None:
                return Err(lost)
        if found is not None:
            member, request = found
            result = await self._counted(member, member.remote.attach(request, seen))
        return await self._kept_on(request, seen, result)

    async def leave(self) -> None:
        """Tell each runner which runs it may forget, as `RemoteBackend.leave` does."""
        async with anyio.create_task_group() as group:
            for member in self._members:
                group.start_soon(member.remote.leave)

    async def _kept_on(
        self, request: RunRequest, seen: _Seen, result: Result[RunOutput, OhmError]
    ) -> Result[RunOutput, OhmError]:
        """Return the result of a run, which `onLost` may begin again elsewhere, each time with a feed of its own."""
        losses = 0
        while self._options.on_lost == "retry" and is_lost(result):
            losses += 1
            wait_s = retry_wait_s(losses=losses, retries=RETRIES, jitter=randbelow(1000) / 1000)
            if wait_s is None:
                break
            await anyio.sleep(wait_s)
            if request.feed is not None:
                request.feed.lose()
                await request.feed.stored()  # or nobody would know of it who finds the run elsewhere
                request = replace(request, feed=request.feed.again())
            request = replace(request, checkpoint=seen.checkpoint or request.checkpoint)
            seen.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="ray", message=_ELSEWHERE)))
            member = await self._placed()
            result = await self._counted(member, self._run_at(member, request, seen, anew=True))
        return result

    def _lives(self, request: RunRequest) -> list[RunRequest]:
        """Return the request with each feed that its run may have, the newest last.

        Before the process died it may have begun the run again elsewhere, of which nothing is recorded yet.
        """
        requests = [request]
        for _ in range(RETRIES if request.feed is not None and self._options.on_lost == "retry" else 0):
            requests.append(replace(requests[-1], feed=requests[-1].feed and requests[-1].feed.again()))
        return requests

    async def _found(self, requests: Sequence[RunRequest]) -> tuple[Member, RunRequest] | None:
        """Return the runner that has the run, and the request with the feed that it has there."""
        found: list[tuple[Member, RunRequest]] = []

        async def look(number: int) -> None:
            if await self._is_there(number):
                member = self._member(number)
                for one in reversed(requests):
                    if await member.remote.has(one):
                        found.append((member, one))
                        group.cancel_scope.cancel()  # a runner that is silent is waited for no longer

        async with anyio.create_task_group() as group:
            for number in range(self._options.most):
                group.start_soon(look, number)
        return found[0] if found else None

    async def _counted(
        self, member: Member, run: Awaitable[Result[RunOutput, OhmError]]
    ) -> Result[RunOutput, OhmError]:
        """Return what becomes of a run at a runner, and count it meanwhile."""
        life, was_lost = member.begin(), False
        try:
            result = await run
            was_lost = is_lost(result)
        finally:
            now = anyio.current_time()
            member.end(life, now=now, was_lost=was_lost)
            self._size.fit(self._running, now=now)
        return result

    async def _run_at(
        self, member: Member, request: RunRequest, sink: Sink, *, anew: bool = False
    ) -> Result[RunOutput, OhmError]:
        """Run it at a runner; with `anew` once that has answered since: a node takes several runners with it."""
        unreachable = await member.remote.reach(anew=anew)
        about = member.transport.about
        if unreachable is not None or about is None:
            return Err(with_demands(unreachable or _NOBODY, self._options))
        refused = (
            member.transport.misfit or about.stranger(request, self._options, self._services) or about.unable(request)
        )
        if refused is not None:
            return Err(refused)
        for told in about.notes(request):
            sink.emit(DiagnosticRaised(diagnostic=told))
        return await member.remote.run(request, sink)

    async def _placed(self) -> Member:
        """Return the runner for the next run: one more of them, if those that there are have enough to do.

        The last of a pool that was larger than it needs to be for some time get none, and end when they are idle.
        """
        if not self._knows_others:
            await self._know_others()
        while True:
            runs, now = 1 + self._running, anyio.current_time()
            in_use = self._size.fit(runs, now=now)
            self._member(in_use - 1)
            members = sorted(self._members[:in_use], key=_others)
            loads = [one.load for one in members]
            number = placed(loads, runs_per_runner=max(runs, self._options.runs_per_runner), now=now)
            if number is not None:
                return members[number]
            await anyio.sleep_until(opens_at(loads, runs_per_runner=runs))

    async def _know_others(self) -> None:
        """Learn before the first run how busy the runners are with other programs, or all would begin at one."""
        async with self._turn:
            if not self._knows_others and self._options.fewest > 1:
                with anyio.move_on_after(KNOWN_AFTER_S):
                    async with anyio.create_task_group() as group:
                        for number in range(self._options.fewest):
                            group.start_soon(self._know_other, number)
            self._knows_others = True

    async def _know_other(self, number: int) -> None:
        if await self._is_there(number):
            member = self._member(number)
            member.others = await member.remote.running()

    @property
    def _running(self) -> int:
        return sum([one.load.running for one in self._members])  # a list: it is asked for three times a run

    def _member(self, number: int) -> Member:
        while len(self._members) <= number:
            self._members.append(self._new_member(len(self._members)))
        return self._members[number]

    async def _is_there(self, number: int) -> bool:
        try:
            return await self._runners.has(number)
        except (UndeliveredError, RunnerLostError):
            return False


_others = attrgetter("others")


class _Seen:
    """Passes events on, and keeps the last checkpoint."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.checkpoint: str | None = None

    def emit(self, event: RunEvent) -> None:
        if isinstance(event, Checkpointed):
            self.checkpoint = event.state
        self._sink.emit(event)


@asynccontextmanager
async def open_pool(
    runners: Runners,
    options: RayOptions,
    *,
    services: Services = (),
    patience: Patience | None = None,
    clones: GitWorkspaces | None = None,
    ledger: LedgerLookup | None = None,
) -> AsyncGenerator[RayBackend]:
    """Open a backend on a pool of runners. Whatever still runs when it is left is cancelled.

    `services` are those that its runners are started with. With `clones`, the files of a task travel to its runner.
    `ledger` finds what grants model requests while this process is gone.
    """
    after_s = options.ledger_after_s
    patience = patience or Patience()
    if after_s is not None:  # a program that is gone leaves a poll behind, which tells nothing for as long
        patience = replace(patience, wait_s=min(patience.wait_s, after_s))
    async with anyio.create_task_group() as group:
        idle_s = options.ledger_idle_s
        deposits = None if ledger is None else Deposits(ledger, group, patience, after_s=after_s, idle_s=idle_s)
        backend = RayBackend(runners, group, options, patience, services=services, clones=clones, deposits=deposits)
        try:
            yield backend
        finally:
            await backend.leave()
        group.cancel_scope.cancel()


_NOBODY: Final = OhmError(
    code=ErrorCode.RUNNER_LOST,
    message="No runner of the pool is there any more, and the run is lost with it.",
    advice="What it had reported is kept. Start the task again.",
    retryable=True,
)
