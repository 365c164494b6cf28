"""A prompt on its way to a run, and who waits for its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents.contract.events import Recorded
    from ohm_subagents.contract.run import Run
    from ohm_subagents.contract.task import Task


class Signal:
    """An event of which nothing exists until somebody waits: most of a thousand queued tasks are never waited for."""

    __slots__ = ("_event", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._event: anyio.Event | None = None

    def set(self) -> None:
        self.is_set = True
        if self._event is not None:
            self._event.set()

    async def wait(self) -> None:
        if self.is_set:
            await checkpoint()
            return
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()


class Message:
    """A prompt on its way to a run: who sent it waits for `answered`, and may withdraw it.

    `scope` is there once a run has it, `earlier` is then the newest fact about tools of the runs before, if any.
    `attempt` is 1, and more for each correction of what a run before it left out. `began` is the task as it was before
    its first run, `ended` as it was right after its last one: what lies between is its own. `is_followed`: when it was
    answered, more was waiting.
    """

    __slots__ = (
        *("answered", "attempt", "began", "earlier", "ended", "is_follow_up", "is_followed"),
        *("plan", "prompt", "run", "scope"),
    )

    def __init__(self, prompt: str, plan: Plan, *, is_follow_up: bool, attempt: int = 1) -> None:
        self.prompt = prompt
        self.plan = plan
        self.is_follow_up = is_follow_up
        self.attempt = attempt
        self.began: Task | None = None
        self.ended: Task | None = None
        self.is_followed = False
        self.answered = Signal()
        self.run: Run | None = None
        self.scope: anyio.CancelScope | None = None
        self.earlier: Recorded | None = None
