"""The link of a submitter to one life of a runner: one call that sends, one that listens, for all of its runs."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import anyio

from ohm_subagents.contract.wire import (
    SHARES,
    CancelRun,
    Feed,
    Hello,
    Poll,
    Post,
    Receipt,
    RunReport,
    RunUnknown,
    WireError,
    WireMessage,
    common_version,
    dump,
    load,
    load_as,
    sized,
)
from ohm_subagents.remote.posting import posted
from ohm_subagents.remote.transport import RunnerLostError, UndeliveredError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from anyio.abc import TaskGroup

    from ohm_subagents.contract.wire import RunMessage, WireObject
    from ohm_subagents.remote.transport import Transport

    Call = Callable[..., Awaitable[WireObject]]

M = TypeVar("M", bound=WireMessage)
A = TypeVar("A", Receipt, Feed)
FORGOTTEN_AFTER_S: Final = 600.0
"""Seconds of silence without a run after which a link is begun anew: in an hour, a runner forgets it."""
STARTED_ANEW: Final = "It was started anew."
FORGOTTEN: Final = "It does not know the run any more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """The times for which a runner that does not answer is waited for."""

    wait_s: float = 20.0
    """The seconds that a poll waits for news."""
    answer_s: float = 10.0
    """The seconds after which a call that got no answer is made again, beyond those that it waits for news."""
    retry_s: float = 0.25
    """The seconds between a call that failed and the next one."""
    lost_s: float = 60.0
    """The seconds without any answer after which the runner counts as lost."""
    cancel_s: float = 10.0
    """The seconds that a run has to end once it was cancelled."""


class LinkedRun(Protocol):
    """A run as its link sees it."""

    def hear(self, reports: Sequence[RunReport]) -> None:
        """Take in reports, each once and in order, and acknowledge them when they are not needed again."""
        ...

    def lose(self, why: str) -> None:
        """Take in that the run is lost."""
        ...


class Link:
    """The runs of a submitter at one life of a runner; for the next life there is another link."""

    def __init__(self, transport: Transport, patience: Patience, hello: Hello) -> None:
        """Raises `WireError` if there is no version of messages that both sides know."""
        self.version = common_version(hello.versions, they="the runner", we="this program")
        self.why_lost = ""
        self._transport = transport
        self._patience = patience
        self._incarnation = hello.incarnation
        self._owner = token_hex(8)
        self._runs: dict[str, LinkedRun] = {}
        self._heard: dict[str, int] = {}
        self._acks: dict[str, int] = {}
        self._left: set[str] = set()
        self._unsent: deque[tuple[WireObject, int]] = deque()
        self._first = 1
        self._since = 0
        self._to_send = anyio.Event()
        self._to_hear = anyio.Event()
        self._heard_at = anyio.current_time()
        self._calls: TaskGroup | None = None

    @property
    def quiet_s(self) -> float:
        """The seconds since the last answer of the runner; 0 while a run is open."""
        return 0.0 if self._runs else anyio.current_time() - self._heard_at

    def goes_on(self, hello: Hello) -> bool:
        """Take in who the runner is now; return True if that is the same life of it, in which it knows this link."""
        is_forgotten = self.quiet_s > FORGOTTEN_AFTER_S
        self._heard_at = anyio.current_time()
        if (hello.incarnation != self._incarnation or is_forgotten) and not self.why_lost:
            self._lose(STARTED_ANEW)
            if self._calls is not None:
                self._calls.cancel_scope.cancel()
        return not self.why_lost

    def open(self, run_key: str, run: LinkedRun, *, since: int = 0) -> None:
        """Let a run hear what is reported of it after this report."""
        self._listen_on()
        self._runs[run_key] = run
        self._heard[run_key] = since
        self._left.discard(run_key)

    def acknowledge(self, run_key: str, n: int) -> None:
        """Tell the runner that the reports of a run up to this one are not needed again."""
        self._listen_on()
        self._acks[run_key] = n

    def close(self, run_key: str, *, is_left: bool = False) -> None:
        """Let nobody hear of a run any more; of one that `is_left` to another process, nothing is acknowledged."""
        self._runs.pop(run_key, None)
        self._heard.pop(run_key, None)
        if is_left:
            self._left.add(run_key)

    def send(self, message: RunMessage) -> None:
        """Send a message to the runner, after those before it. Raises `WireError` if its version cannot say it."""
        written = sized(message, version=self.version)
        if not self._unsent:
            self._to_send.set()
        self._unsent.append(written)

    async def serve(self) -> None:
        """Send and listen until the runner is lost."""
        try:
            async with anyio.create_task_group() as self._calls:
                self._calls.start_soon(self._send_all)
                await self._listen()
        except* RunnerLostError as lost:
            self._lose(str(lost.exceptions[0]))

    async def leave(self) -> None:
        """Send the acknowledgements that wait for the next poll; who is not reached keeps those runs for their time."""
        if self._acks and not self.why_lost:
            last = Poll(owner=self._owner, incarnation=self._incarnation, since=self._since, acks=self._acks, wait_s=0)
            with suppress(RunnerLostError):
                await answered(Feed, self._transport.feed, dump(last, version=self.version), self._patience)

    async def _send_all(self) -> None:
        while True:
            while not self._unsent:
                self._to_send = anyio.Event()
                await self._to_send.wait()
            receipt = await self._asked(Receipt, self._transport.post, self._next_post())
            done = receipt.taken + 1 - self._first
            if done < 1:
                raise RunnerLostError(FORGOTTEN)
            for _ in range(done):
                self._unsent.popleft()
            self._first += done

    def _next_post(self) -> Post:
        messages, shared = posted(self._unsent, shares=self.version >= SHARES)
        return Post(
            owner=self._owner, incarnation=self._incarnation, first=self._first, messages=messages, shared=shared
        )

    def _listen_on(self) -> None:
        """Wake `_listen`, if nothing was there that it listens for."""
        if not self._runs and not self._acks:
            self._to_hear.set()

    async def _listen(self) -> None:
        while True:
            while not self._runs and not self._acks:
                self._to_hear = anyio.Event()
                await self._to_hear.wait()
            acks, self._acks = self._acks, {}
            wait_s = self._patience.wait_s if self._runs else 0
            poll = Poll(owner=self._owner, incarnation=self._incarnation, since=self._since, acks=acks, wait_s=wait_s)
            feed = await self._asked(Feed, self._transport.feed, poll, wait_s=wait_s)
            heard: dict[str, list[RunReport]] = {}
            for place, fields in enumerate(feed.reports, feed.first):
                if place == self._since + 1:
                    self._since = place
                    self._hear(fields, heard)
            for key, reports in heard.items():
                if key in self._runs:
                    self._runs[key].hear(reports)
                elif key not in self._left:
                    self.acknowledge(key, reports[-1].n)

    def _hear(self, fields: WireObject, heard: dict[str, list[RunReport]]) -> None:
        """Collect a report for its run; one that cannot be read ends the run, which would wait for ever."""
        try:
            message = load(fields)
        except WireError as unreadable:
            key = str(fields.get("run_key"))
            run = self._runs.pop(key, None)
            if run is not None:
                self.send(CancelRun(run_key=key))  # it may be begun again elsewhere
                run.lose(f"It reports what cannot be read: {unreadable}")
            return
        match message:
            case RunReport(run_key=key, n=n):
                if n > self._heard.get(key, 0):
                    self._heard[key] = n
                    heard.setdefault(key, []).append(message)
            case RunUnknown(run_key=key):
                run = self._runs.pop(key, None)
                if run is not None:
                    run.lose(FORGOTTEN)
            case _:
                pass

    async def _asked(self, expected: type[A], call: Call, message: WireMessage, *, wait_s: float = 0) -> A:
        answer = await answered(expected, call, dump(message, version=self.version), self._patience, wait_s=wait_s)
        if answer.incarnation != self._incarnation:
            raise RunnerLostError(STARTED_ANEW)
        self._heard_at = anyio.current_time()
        return answer

    def _lose(self, why: str) -> None:
        """Tell every run that it is lost."""
        self.why_lost = why
        runs, self._runs = self._runs, {}
        for run in runs.values():
            run.lose(why)


async def answered(
    expected: type[M], call: Call, frame: WireObject | None, patience: Patience, *, wait_s: float = 0
) -> M:
    """Call the runner until it answers, and return the answer. Raises `RunnerLostError` if it never does."""
    failing_since: float | None = None
    while True:
        try:
            with anyio.fail_after(wait_s + patience.answer_s):
                return load_as(expected, await call(*(() if frame is None else (frame,))))
        except (UndeliveredError, TimeoutError) as undelivered:
            now = anyio.current_time()
            failing_since = now if failing_since is None else failing_since
            if now - failing_since >= patience.lost_s:
                silent = f"It has not answered for {patience.lost_s:g} s. {undelivered}".rstrip()
                raise RunnerLostError(silent) from None
            await anyio.sleep(patience.retry_s)
        except WireError as unreadable:
            why = f"Its answer cannot be read: {unreadable}"
            raise RunnerLostError(why) from None
        except RunnerLostError:
            raise
        except Exception as error:  # a transport of a plugin may raise anything
            why = f"The transport failed: {type(error).__name__}: {error}"
            raise RunnerLostError(why) from error
