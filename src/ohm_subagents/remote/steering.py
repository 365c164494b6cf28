"""The follow-ups of one run at a runner, as its submitter offers them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ohm_subagents.contract.wire import SteerAnswered, SteeringClosed, SteeringOpened, SteerRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.plugin import Inbox
    from ohm_subagents.remote.link import Link


class Steering:
    """Offers what comes into an inbox to a run, while that takes follow-ups."""

    def __init__(self, run_key: str, link: Link, inbox: Inbox) -> None:
        self._key = run_key
        self._link = link
        self._inbox = inbox
        self._open = ExitStack()
        self._offers: dict[int, Callable[[bool], None]] = {}
        self._offered = 0

    def hear(self, report: SteeringOpened | SteerAnswered | SteeringClosed) -> None:
        """Take in that the run takes follow-ups or no longer does, or what it says to one."""
        match report:
            case SteeringOpened(can_finish=can_finish):
                self._open.enter_context(self._inbox.offered_to(self._offer, self._finish if can_finish else None))
            case SteerAnswered(offer=offer, is_taken=is_taken):
                self._offers.pop(offer, _ignore)(is_taken)
            case SteeringClosed():
                self.close()

    def close(self) -> None:
        """Offer nothing any more."""
        self._open.close()

    def _offer(self, text: str, answer: Callable[[bool], None]) -> None:
        self._offered += 1
        self._offers[self._offered] = answer
        self._link.send(SteerRun(run_key=self._key, offer=self._offered, text=text))

    def _finish(self, text: str) -> bool:
        self._offered += 1
        self._link.send(SteerRun(run_key=self._key, offer=self._offered, text=text, is_last=True))
        return True


def _ignore(_is_taken: bool) -> None:  # noqa: FBT001  an answer is yes or no
    pass
