"""The feed of one run whose backend goes on when this process dies."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING

from ohm_subagents._records import dataclass
from ohm_subagents.contract.feed import FeedRead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.contract.events import RunEvent


@dataclass(frozen=True, slots=True)
class RecordedFeed:
    """Records what a run reports together with the position in its feed (`RunFeed`)."""

    _record: TaskRecord
    key: str
    position: int = 0

    @property
    def is_left(self) -> bool:
        """True once the task is left to another process."""
        return self._record.is_left

    def attempt(self, number: int) -> RecordedFeed:
        """Return the feed of a further call of the backend within the same run."""
        return self if number == 1 else replace(self, key=f"{self.key}.{number}")

    def again(self) -> RecordedFeed:
        """Return the feed of the same run where its backend begins it once more (`RunFeed`)."""
        return replace(self, key=f"{self.key}+", position=0)

    def record(self, sink: Sink, events: Sequence[RunEvent], *, position: int) -> None:
        """Emit what the reports up to `position` said, and record it with the position (`RunFeed`).

        While a text is held back because it may go on as a secret, no position is recorded: the text would be lost.
        """
        with self._record.together():
            for event in events:
                sink.emit(event)
            if not self._record.holds_text:
                self._record.add(FeedRead(key=self.key, position=position))

    def caught_up(self) -> None:
        """Note that all was recorded that the run did in another process (`RunFeed`)."""
        self._record.caught_up()

    def lose(self) -> None:
        """Count a request that the run may have had out when it was lost, if it was not heard by then (`RunFeed`)."""
        self._record.lose()

    async def stored(self) -> int:
        """Wait until what is recorded so far is stored, and return its position (`RunFeed`)."""
        read = self._record.task.activity.feed
        await self._record.stored()
        return self.position if read is None or read.key != self.key else read.position


def feed_of(record: TaskRecord) -> RecordedFeed:
    """Return the feed of the open run, at the position where its record has stopped.

    Its key is found again by whoever takes the task up from its store, and is that of no task of another store.
    """
    task, read = record.task, record.task.activity.feed
    if read is not None:
        return RecordedFeed(record, read.key, read.position)
    return RecordedFeed(record, f"{task.id}.{len(task.runs)}.{task.assignment.nonce or token_hex(4)}")
