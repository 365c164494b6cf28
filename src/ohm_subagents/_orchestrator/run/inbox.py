"""The inbox of one task: prompts that wait for a run, and follow-ups, which the open run takes or the next run gets."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
from ohm_subagents.contract.events import FollowUpTaken

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.run.task_record import TaskRecord


class TaskInbox:
    """The prompts of one task, and the way into its open run (`Inbox`).

    Fields:
        first: the prompt that the task was started with.
        current: the prompt that a run has.
        on_finishable: called with True when the open run can be asked to finish, and with False when it no longer can.
    """

    __slots__ = ("_finish", "_record", "_steer", "_taken", "_waiting", "current", "first", "on_finishable")

    def __init__(self, first: QueuedPrompt, record: TaskRecord) -> None:
        self.first = first
        self.current: QueuedPrompt | None = None
        self.on_finishable: Callable[[bool], None] | None = None
        self._record = record
        self._waiting = [first]
        self._taken: list[QueuedPrompt] = []
        self._steer: Callable[[str], bool] | None = None
        self._finish: Callable[[str], bool] | None = None

    # For callers

    def send(self, text: str, plan: Plan) -> QueuedPrompt:
        """Offer a follow-up to the open run; one that it does not take becomes a run after those that wait."""
        prompt = QueuedPrompt(text, plan, is_follow_up=True)
        if self._waiting or not self._offer(prompt):
            self._waiting.append(prompt)
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
    def steered_by(self, steer: Callable[[str], bool], finish: Callable[[str], bool] | None = None) -> Generator[None]:
        """Let the open run take follow-ups, those that wait already first (`Inbox`)."""
        self._steer, self._finish = steer, finish
        self._tell_finishable()
        while self._waiting and self._offer(self._waiting[0]):
            self._waiting.pop(0)
        try:
            yield
        finally:
            self._steer = self._finish = None
            self._tell_finishable()

    # For the engine

    def steer(self, text: str) -> bool:
        """Say something to the model of the open run; return True if the run has taken it."""
        return self._steer is not None and self._steer(text)

    def finish(self, text: str) -> bool:
        """Ask the open run, at most once, to answer now; return True if the run has taken that."""
        finish, self._finish = self._finish, None
        return finish is not None and finish(text)

    def take(self) -> QueuedPrompt | None:
        """Take the prompt of the next run; None when no more wait."""
        self.current = self._waiting.pop(0) if self._waiting else None
        return self.current

    def correct(self, prompt: QueuedPrompt, text: str) -> None:
        """Put a correction first; its run answers `prompt` as well."""
        self._taken.append(prompt)
        self._waiting.insert(0, prompt.correction(text))

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
        """Release all callers: the task is settled."""
        if self.current is not None and self._record.task.runs:
            self.answer(self.current)
        for prompt in self._waiting:
            prompt.answered.set()

    def _offer(self, prompt: QueuedPrompt) -> bool:
        """Offer a follow-up to the open run, which takes none for another backend."""
        if self._steer is None or self.current is None or prompt.plan.backend != self.current.plan.backend:
            return False
        if not self._steer(prompt.text):
            return False
        self._taken.append(prompt)
        self._record.add(FollowUpTaken(prompt=prompt.text))
        return True

    def _tell_finishable(self) -> None:
        if self.on_finishable is not None:
            self.on_finishable(self._finish is not None)
