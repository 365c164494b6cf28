"""A runner: it hosts the runs of submitters on one backend, without an `Ohm`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Final, TypeVar, cast

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents.contract.wire import (
    VERSIONS,
    AttachRun,
    Feed,
    Hello,
    Poll,
    Post,
    Receipt,
    ResultReported,
    RunMessage,
    RunUnknown,
    StartRun,
    WireError,
    dump,
    load,
    load_as,
)
from ohm_subagents.plugin import Capability, ErrorCode, OhmError, Options
from ohm_subagents.remote.ended_runs import EndedRuns
from ohm_subagents.remote.hosted_run import HostedRun
from ohm_subagents.remote.owner import Owner
from ohm_subagents.remote.posting import received
from ohm_subagents.remote.run_log import MAX_UNSENT, Entry
from ohm_subagents.remote.workspaces import RunnerWorkspaces

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from anyio.abc import TaskGroup

    from ohm_subagents.contract.wire import WireMessage, WireObject
    from ohm_subagents.plugin import Backend, BackendSpec, Preparing, Result, RunOutput, RunRequest, Sink
    from ohm_subagents.remote.deposits import LedgerLookup
    from ohm_subagents.remote.workspaces import Workspaces

KEPT_S: Final = 3600.0
"""Seconds for which a run that has ended is kept while its submitter does not acknowledge it."""
MAX_WAIT_S: Final = 20.0
KEY_TAKEN: Final = "The runner has another run of the same key, of another submitter."
OptionsT = TypeVar("OptionsT", bound=Options)


class Runner:
    """Hosts many runs in one event loop. `hello`, `post` and `feed` are the far end of a `Transport`.

    A message counts once, however often it arrives. A submitter that is gone costs its runs nothing: they go on, and
    what they report is kept.
    """

    def __init__(
        self,
        backend: Backend,
        group: TaskGroup,
        *,
        backend_id: str = "",
        env: Mapping[str, str] | None = None,
        workspaces: Workspaces | None = None,
        kept_s: float = KEPT_S,
        max_unsent: int = MAX_UNSENT,
        ledger: LedgerLookup | None = None,
    ) -> None:
        """Host runs of `backend` in tasks of `group`, with `env` as the environment of each; see `open_runner`."""
        self.incarnation = token_hex(8)
        """The id of this life of the runner."""
        self._backend = backend
        self._backend_id = backend_id
        self._group = group
        self._env = env or {}
        self._workspaces = workspaces or RunnerWorkspaces(self._env)
        self._kept_s = kept_s
        self._max_unsent = max_unsent
        self._ledger = ledger
        self._owners: dict[str, Owner] = {}
        self._runs: dict[str, HostedRun] = {}
        self._ended = EndedRuns(group, kept_s, self._forget)
        self._asked_at = anyio.current_time()
        self._emptied = anyio.Event()

    async def unused(self, for_s: float | None) -> None:
        """Wait until it has had no run, and nobody has called it, for so many seconds; for ever if that is None.

        A run that has ended counts until its submitter has acknowledged that, or has not for as long as it is kept.
        """
        while True:
            if for_s is None:
                await anyio.sleep_forever()
            elif self._runs:
                self._emptied = anyio.Event()
                await self._emptied.wait()
            elif (rest_s := self._asked_at + for_s - anyio.current_time()) > 0:
                await anyio.sleep(rest_s)
            else:
                return

    async def hello(self) -> WireObject:
        """Return who this is, and what it runs."""
        await checkpoint()
        self._asked_at = anyio.current_time()
        running = tuple(key for key, run in self._runs.items() if not run.has_ended)
        ended = tuple(key for key, run in self._runs.items() if run.has_ended)
        hello = Hello(
            incarnation=self.incarnation,
            versions=VERSIONS,
            backend=self._backend_id,
            running=running,
            kept=len(ended),
            ended=ended,
        )
        return dump(hello, version=VERSIONS[0])

    async def post(self, frame: WireObject) -> WireObject:
        """Take in the messages of a `Post`, and return a `Receipt`."""
        await checkpoint()
        self._asked_at = anyio.current_time()
        post, version = load_as(Post, frame), _version(frame)
        if post.incarnation != self.incarnation:
            return dump(Receipt(incarnation=self.incarnation, taken=0), version=version)
        owner = self._owner(post.owner)
        for number, fields in enumerate(post.messages, post.first):
            if number == owner.taken + 1:
                owner.taken = number
                self._receive(post, fields)
        return dump(Receipt(incarnation=self.incarnation, taken=owner.taken), version=version)

    async def feed(self, frame: WireObject) -> WireObject:
        """Return what there is to tell after the place of a `Poll`, once there is something, or after its wait."""
        await checkpoint()
        poll, version = load_as(Poll, frame), _version(frame)
        if poll.incarnation not in {"", self.incarnation}:
            return dump(Feed(incarnation=self.incarnation, first=1), version=version)
        for key, n in poll.acks.items():
            if key in self._runs:
                self._acknowledge(self._runs[key], n)
        owner = self._owner(poll.owner)
        owner.trim(poll.since)
        with owner.polling():
            await owner.wait(min(poll.wait_s, MAX_WAIT_S))
        self._asked_at = anyio.current_time()
        return dump(owner.feed(self.incarnation, version), version=version)

    def _receive(self, post: Post, fields: WireObject) -> None:
        """Take in a message; a run that cannot be read ends at once, and any other message counts for nothing."""
        try:
            self._take(load(received(post, fields)), post.owner)
        except WireError as unreadable:
            key = fields.get("run_key")
            if fields.get("kind") == "start" and isinstance(key, str):
                error = OhmError(code=ErrorCode.BACKEND_FAILED, message=f"The runner cannot read the run: {unreadable}")
                self._owner(post.owner).tell(Entry(ResultReported(run_key=key, n=1, error=error)))

    def _take(self, message: WireMessage, owner: str) -> None:
        match message:
            case StartRun(run_key=key) if key in self._runs:
                taken = OhmError(code=ErrorCode.RUNNER_LOST, message=KEY_TAKEN, retryable=True)
                self._owner(owner).tell(Entry(ResultReported(run_key=key, n=1, error=taken)))
            case StartRun(run_key=key, run=wire_run, ledger_after_s=after_s):
                run = HostedRun(key, wire_run, owner=owner, told=self._tell, max_unsent=self._max_unsent)
                run.requests.after_s = after_s
                self._runs[key] = run
                self._group.start_soon(self._host, run)
                self._have_unattended(run)
            case AttachRun():
                self._attach(message, owner)
            case RunMessage(run_key=key) if key in self._runs:
                self._runs[key].take(message)
            case _:
                pass

    async def _host(self, run: HostedRun) -> None:
        """Let a run come to its end, and keep it until its submitter has acknowledged all, or its time is over."""
        await run.serve(self._backend, self._workspaces, self._env)
        if run.key in self._runs:
            self._ended.add(run)

    def _have_unattended(self, run: HostedRun) -> None:
        """Let a run ask the ledger while its submitter is silent, once one allows that; most have nobody to ask."""
        if self._ledger is not None and run.requests.after_s is not None and run.unattended is None:
            run.unattended = anyio.Event()
            self._group.start_soon(self._serve_unattended, run, self._ledger, run.unattended)

    async def _serve_unattended(self, run: HostedRun, ledger: LedgerLookup, is_forgotten: anyio.Event) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run.requests.serve, ledger, partial(self._silent, run))
            await is_forgotten.wait()
            group.cancel_scope.cancel()

    async def _silent(self, run: HostedRun, for_s: float) -> None:
        """Wait until the submitter of a run, whoever that is, was silent for so many seconds."""
        owner = ""
        while owner != run.owner:
            owner = run.owner
            await self._owner(owner).silent(for_s)

    def _forget(self, run: HostedRun) -> None:
        del self._runs[run.key]
        self._ended.discard(run)
        if run.unattended is not None:
            run.unattended.set()
        if not self._runs:
            self._emptied.set()

    def _attach(self, message: AttachRun, owner: str) -> None:
        run = self._runs.get(message.run_key)
        if run is None:
            self._owner(owner).tell(RunUnknown(run_key=message.run_key))
            return
        run.owner = owner
        run.replay(message)
        self._have_unattended(run)

    def _tell(self, run: HostedRun, entry: Entry) -> None:
        self._owner(run.owner).tell(entry)

    def _acknowledge(self, run: HostedRun, n: int) -> None:
        run.log.acknowledge(n)
        if run.has_ended and run.log.is_acknowledged:
            self._forget(run)

    def _owner(self, owner: str) -> Owner:
        found = self._owners.get(owner)
        if found is None:
            self._forget_silent_owners()
            found = self._owners[owner] = Owner()
        return found

    def _forget_silent_owners(self) -> None:
        """Forget submitters that own no run and were silent for long, an hour at least."""
        silent_since = anyio.current_time() - max(self._kept_s, KEPT_S)
        owners = {run.owner for run in self._runs.values()}
        for name in [name for name, one in self._owners.items() if name not in owners and one.seen_at < silent_since]:
            del self._owners[name]


class _Prepared:
    """A backend that is prepared before each of its runs, as an engine does it."""

    def __init__(self, backend: Backend, preparing: Preparing) -> None:
        self._backend = backend
        self._preparing = preparing

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        await self._preparing.prepare(request.profile, request.model)  # what it cannot make, the run will say
        return await self._backend.run(request, sink)


@asynccontextmanager
async def open_runner(
    spec: BackendSpec[OptionsT],
    options: OptionsT,
    *,
    env: Mapping[str, str] | None = None,
    workspaces: Workspaces | None = None,
    kept_s: float = KEPT_S,
    max_unsent: int = MAX_UNSENT,
    ledger: LedgerLookup | None = None,
) -> AsyncGenerator[Runner]:
    """Open a backend, and host runs on it until the context is left, which ends them.

    `env` is the environment of the runs: the keys that they need are in it, and in no message. A run that has ended is
    kept for `kept_s` seconds if its submitter does not acknowledge it; of a run that has `max_unsent` reports waiting,
    pieces of text are joined. `ledger` finds what grants model requests while a submitter is silent that lets it.
    """
    async with spec.open(options) as backend, anyio.create_task_group() as group:
        prepares = Capability.PREPARES in spec.capabilities
        yield Runner(
            _Prepared(backend, cast("Preparing", backend)) if prepares else backend,
            group,
            backend_id=spec.id,
            env=env,
            workspaces=workspaces,
            kept_s=kept_s,
            max_unsent=max_unsent,
            ledger=ledger,
        )
        group.cancel_scope.cancel()


def _version(frame: WireObject) -> int:
    version = frame.get("version")
    if not isinstance(version, int):
        missing = "The frame has no version."
        raise WireError(missing)
    return version
