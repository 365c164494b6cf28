"""The engine's side of a run, for tests of a backend: a gate and an inbox that do what a test tells them."""

from __future__ import annotations

from collections import deque
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import checkpoint
from subagent_runs import EventLog

from ohm_subagents._plugins.backends.gate import Grant, RequestNeed
from ohm_subagents.contract import Event, OhmError, Ok, Result, TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Mapping

    from pydantic import JsonValue

    from ohm_subagents.contract.profile import Decision


@dataclass(frozen=True)
class Throttle:
    """One call of `throttled`."""

    provider: str
    attempt: int
    retry_after_s: float | None
    status: int | None = None


class FakeGate:
    """Gives `answers` in order and then plain grants; lets an overloaded provider be asked again `retries` times.

    `story` has the kind of every event, and `asked` and `left` where a request came and went.
    """

    def __init__(self, *answers: Result[Grant, OhmError], retries: int = 0) -> None:
        self._answers = deque(answers)
        self._retries = retries
        self.needs: list[RequestNeed] = []
        self.throttles: list[Throttle] = []
        self.held = 0
        self.story: list[str] = []
        self.log = StoryLog(self.story)

    @asynccontextmanager
    async def request(self, need: RequestNeed) -> AsyncGenerator[Result[Grant, OhmError]]:
        self.needs.append(need)
        self.story.append("asked")
        entered_by = anyio.get_current_task().id
        self.held += 1
        try:
            yield self._answers.popleft() if self._answers else Ok(Grant())
        finally:
            self.held -= 1
            self.story.append("left")
            assert anyio.get_current_task().id == entered_by, "a limiter can be released only by who has it"

    def unpriced(self, need: RequestNeed) -> OhmError | None:
        self.needs.append(need)
        return None

    async def throttled(
        self, provider: str, *, attempt: int, retry_after_s: float | None, status: int | None = None
    ) -> bool:
        self.story.append("throttled")
        self.throttles.append(Throttle(provider, attempt, retry_after_s, status))
        return attempt <= self._retries

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str = "",
        on_wait: Callable[[], None] | None = None,
        judged: Decision | None = None,
    ) -> str | None:
        await checkpoint()
        return None


class StoryLog(EventLog):
    """A log that adds each event's kind to `story`, and sets `spoken` at the first word of the model."""

    def __init__(self, story: list[str] | None = None) -> None:
        super().__init__()
        self.story = [] if story is None else story
        self.spoken = anyio.Event()

    def emit(self, event: Event) -> None:
        self.story.append(event.kind)
        super().emit(event)
        if isinstance(event, TextDelta):
            self.spoken.set()


class FakeInbox:
    """Hands out the run's `steer` and `finish`; both are None when no run takes them."""

    def __init__(self) -> None:
        self.steer: Callable[[str], bool] | None = None
        self.finish: Callable[[str], bool] | None = None

    @contextmanager
    def steered_by(self, steer: Callable[[str], bool], finish: Callable[[str], bool] | None = None) -> Generator[None]:
        self.steer, self.finish = steer, finish
        try:
            yield
        finally:
            self.steer = self.finish = None
