"""A submitter as its runner sees it."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

from ohm_subagents.contract.wire import Feed, RunUnknown, sized
from ohm_subagents.remote.portion import portion

if TYPE_CHECKING:
    from collections.abc import Generator

    from ohm_subagents.remote.run_log import Entry


class Owner:
    """A submitter: what it has sent so far, and what it is to be told."""

    def __init__(self) -> None:
        self.taken = 0
        self.seen_at = anyio.current_time()
        self._polls = 0
        self._first = 1
        self._waiting: deque[Entry | RunUnknown] = deque()
        self._news = anyio.Event()

    @contextmanager
    def polling(self) -> Generator[None]:
        """It is there while this is open."""
        self._polls += 1
        try:
            yield
        finally:
            self._polls -= 1
            self.seen_at = anyio.current_time()

    async def silent(self, for_s: float) -> None:
        """Wait until it was not there for so many seconds."""
        while True:
            rest_s = for_s if self._polls else self.seen_at + for_s - anyio.current_time()
            if rest_s <= 0:
                return
            await anyio.sleep(rest_s)

    def tell(self, entry: Entry | RunUnknown) -> None:
        """Tell it this, with its next poll."""
        self._waiting.append(entry)
        self._news.set()

    def trim(self, since: int) -> None:
        """Forget what it has, up to this place in the feed."""
        while self._waiting and self._first <= since:
            self._waiting.popleft()
            self._first += 1

    async def wait(self, wait_s: float) -> None:
        """Wait until there is something to tell, or another poll takes the place of this one."""
        self._news.set()
        news = self._news = anyio.Event()
        if not self._waiting:
            with anyio.move_on_after(wait_s):
                await news.wait()

    def feed(self, incarnation: str, version: int) -> Feed:
        """Return what there is to tell."""
        messages = (one if isinstance(one, RunUnknown) else one.report() for one in self._waiting)
        reports = portion(sized(one, version=version) for one in messages)
        return Feed(incarnation=incarnation, first=self._first, reports=reports)
