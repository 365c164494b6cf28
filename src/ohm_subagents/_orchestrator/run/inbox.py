"""The inbox of one task: prompts that wait for a run, and follow-ups, which the open run takes or the next run gets."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
from ohm_subagents._plugins.backends.request import Inbox
from ohm_subagents.contract.events import FollowUpTaken

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.run.budget_notices import BudgetNotices
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents.contract.outcome import Outcome


class TaskInbox(Inbox):
    """The prompts of one task, and the way into its open run (`Inbox`).

    Fields:
        first: the prompt that the task was started with.
        current: the prompt that a run has.
        notices: tells the model when little is left of a budget; None where nothing limits the task.
        on_finishable: called with True when the open run can be asked to finish, and with False when it no longer can.
    """

    __slots__ = (
        "_finish",
        "_is_offering",
        "_offer_to",
        "_offered",
        "_record",
        "_taken",
        "_waiting",
        "current",
        "first",
        "notices",
        "on_finishable",
    )

    def __init__(self, first: QueuedPrompt, record: TaskRecord) -> None:
        self.first = first
        self.current: QueuedPrompt | None = None
        self.notices: BudgetNotices | None = None
        self.on_finishable: Callable[[bool], None] | None = None
        self._record = record
        self._waiting = [first]
        self._taken: list[QueuedPrompt] = []
        self._offered: QueuedPrompt | None = None
        self._is_offering = False
        self._offer_to: Callable[[str, Callable[[bool], None]], None] | None = None
        self._finish: Callable[[str], bool] | None = None

    # For callers

    def send(self, text: str, plan: Plan) -> QueuedPrompt:
        """Offer a follow-up to the open run; one that it does not take becomes a run after those that wait."""
        prompt = QueuedPrompt(text, plan, is_follow_up=True)
        self._waiting.append(prompt)
        if len(self._waiting) == 1:
            self._offer_next()
        return prompt

    def is_taken(self, prompt: QueuedPrompt) -> bool:
        """Return True if the open run has taken the follow-up: only stopping that run would withdraw it."""
        return prompt in self._taken

    def withdraw(self, prompt: QueuedPrompt) -> None:
        """Forget a prompt whose caller stopped waiting, or stop the run that was started for it."""
        if prompt in self._waiting:
            self._waiting.remove(prompt)
        if prompt.scope is not None:
            prompt.scope.cancel()

    # For the backend

    @contextmanager
    def offered_to(
        self, offer: Callable[[str, Callable[[bool], None]], None], finish: Callable[[str], bool] | None = None
    ) -> Generator[None]:
        """Let the open run take follow-ups, those that wait already first (`Inbox`)."""
        self._offer_to, self._finish = offer, finish
        self._tell_finishable()
        self._offer_next()
        try:
            yield
        finally:
            self._offer_to = self._finish = self._offered = None
            self._tell_finishable()

    # For the engine

    def steer(self, text: str) -> bool:
        """Say something to the model of the open run; return False if the run has refused it at once."""
        if self._offer_to is None:
            return False
        answers: list[bool] = []
        self._offer_to(text, answers.append)
        return all(answers)

    def finish(self, text: str) -> bool:
        """Ask the open run, at most once, to answer now; return True if the run has taken that."""
        finish, self._finish = self._finish, None
        return finish is not None and finish(text)

    def take(self) -> QueuedPrompt | None:
        """Take the prompt of the next run; None when no more wait."""
        self.current = self._waiting.pop(0) if self._waiting else None
        return self.current

    def correct(self, prompt: QueuedPrompt, text: str, *, after: Outcome | None = None) -> None:
        """Put a correction first, or a retry `after` an outcome; its run answers `prompt` as well."""
        self._taken.append(prompt)
        self._waiting.insert(0, prompt.correction(text, after=after))

    def answer(self, prompt: QueuedPrompt) -> None:
        """Answer the prompt whose run has ended, and every follow-up that the run took."""
        task = self._record.task
        for each in (prompt, *self._taken):
            each.run = task.runs[-1]
            each.began, each.ended = each.began or prompt.began, task
            each.is_followed = bool(self._waiting) and not task.is_terminal
            each.answered.set()
        self._taken.clear()

    def close(self) -> None:
        """Release all callers: the task is settled, or left with an open run that has no answer."""
        if self.current is not None and self._record.task.runs and not self._record.is_left:
            self.answer(self.current)
        for prompt in filter(None, (self.first, self.current, *self._taken, *self._waiting)):
            prompt.answered.set()

    def _offer_next(self) -> None:
        """Offer the follow-ups that wait to the open run, each once the one before is taken."""
        while self._offered is None and self._offer_to is not None and self._waiting:
            prompt = self._waiting[0]
            if not self._suits(prompt):
                return
            self._offered, self._is_offering = prompt, True
            try:
                self._offer_to(prompt.text, partial(self._answer_offer, prompt))
            finally:
                self._is_offering = False
            if self._waiting and self._waiting[0] is prompt:  # the answer comes later, or it was refused
                return

    def _answer_offer(self, prompt: QueuedPrompt, is_taken: bool) -> None:  # noqa: FBT001  an answer is yes or no
        """Take in what the run has answered to an offer. What it has not taken becomes the next run."""
        if self._offered is not prompt:
            return
        self._offered = None
        if not is_taken:
            return
        if prompt in self._waiting:  # else its caller has gone meanwhile
            self._waiting.remove(prompt)
            self._taken.append(prompt)
        self._record.add(FollowUpTaken(prompt=prompt.text))
        if not self._is_offering:
            self._offer_next()

    def _suits(self, prompt: QueuedPrompt) -> bool:
        """Return False for a follow-up for another backend than that of the open run, or with other rights."""
        if self.current is None or prompt.plan.backend != self.current.plan.backend:
            return False
        ours, theirs = self.current.plan.spec, prompt.plan.spec
        return ours.tools == theirs.tools and ours.call_rules == theirs.call_rules

    def _tell_finishable(self) -> None:
        if self.on_finishable is not None:
            self.on_finishable(self._finish is not None)
