"""A prompt that waits for a run, and the callers that wait for its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents.contract.truncation import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents.contract.commands import Preface
    from ohm_subagents.contract.events import Recorded
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.task import Run, Task

TITLE: Final = 72
"""At most so many characters of a description or a follow-up are in the summary of its run."""


class LazyEvent:
    """An `anyio.Event` created on first wait: most of a thousand queued tasks are never waited for."""

    __slots__ = ("_event", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._event: anyio.Event | None = None

    def set(self) -> None:
        if not self.is_set:
            self.is_set = True
            if self._event is not None:
                self._event.set()

    def wait(self) -> Coroutine[object, object, None]:
        if self.is_set:
            return checkpoint()
        if self._event is None:
            self._event = anyio.Event()
        return self._event.wait()


class QueuedPrompt:
    """A prompt (`text`, below its `preface`), and how it runs (`plan`); callers wait for `answered`.

    Fields:
        attempt: 1, and one more for each correction that asks for an answer left out by the run before.
        began: the task before the first run of the prompt.
        ended: the task right after its last run; what lies between is the prompt's own.
        is_attached: its run has begun in a process that is dead, and goes on at the backend.
        is_followed: more prompts waited when this one was answered.
        scope: cancels the run that has taken the prompt.
        earlier: the newest fact about tools of the runs before it.
        outcome: how the first prompt of a task ended, which decides about the task.
        before_retry: how the run ended whose outcome did not pass its checks; None for any other prompt.
    """

    __slots__ = (
        "answered",
        "attempt",
        "before_retry",
        "began",
        "earlier",
        "ended",
        "is_attached",
        "is_follow_up",
        "is_followed",
        "outcome",
        "plan",
        "preface",
        "run",
        "scope",
        "text",
    )

    def __init__(
        self, text: str, plan: Plan, *, is_follow_up: bool = False, preface: Preface = "", attempt: int = 1
    ) -> None:
        self.text = text
        self.plan = plan
        self.preface = preface
        self.is_follow_up = is_follow_up
        self.attempt = attempt
        self.began: Task | None = None
        self.ended: Task | None = None
        self.is_attached = False
        self.is_followed = False
        self.answered = LazyEvent()
        self.run: Run | None = None
        self.scope: anyio.CancelScope | None = None
        self.earlier: Recorded | None = None
        self.outcome: Outcome | None = None
        self.before_retry: Outcome | None = None

    def correction(self, text: str, *, after: Outcome | None = None) -> QueuedPrompt:
        """Return the prompt that asks for what the run of this one left out; `after` is how that ended in a retry."""
        prompt = QueuedPrompt(text, self.plan, is_follow_up=self.is_follow_up, attempt=self.attempt + 1)
        prompt.before_retry = self.before_retry if after is None else after
        return prompt

    def summary(self, redact: Callable[[str], str]) -> str:
        """Return the default summary of a success; `redact` is applied before it is cut."""
        profile = self.plan.profile.name
        if self.is_follow_up:
            return f"{profile} follow-up: {shortened(redact(self.text), TITLE)}"
        return f"{profile}: {shortened(redact(self.plan.item.description), TITLE)}"
