"""Words for the model of a task when little is left of a budget, of each budget once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.events import GuardTripped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ohm_subagents._orchestrator.ledger import Ledger
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents.contract.events import Guard

_UNITS: Final[Mapping[Guard, str]] = {
    "requests": "model requests",
    "tokens": "tokens",
    "cost": "US dollars",
    "tool_calls": "tool calls",
}
ONE_LEFT: Final = "One model request is left of the budget."
ANSWER: Final = "Do only what matters most, and answer before it is spent."
ANSWER_NOW: Final = "Answer with it, from what you have found so far."


class BudgetNotices:
    """Tells the open run, or with the next prompt where it takes no words in between."""

    def __init__(self, ledger: Ledger, record: TaskRecord) -> None:
        self._ledger = ledger
        self._record = record
        self._is_gated = False
        self._told: set[str] = set()
        self._waiting: list[str] = []

    def tell(self, steer: Callable[[str], bool], *, is_gated: bool) -> None:
        """Tell the model by `steer` what it has not been told yet; it is at work, and will be asked again.

        Where the backend asks the gate before each request (`is_gated`), that tells of the last one.
        """
        self._is_gated |= is_gated
        for text in self._due():
            if not steer(text):
                self._waiting.append(text)

    def take(self) -> str:
        """Return what the next prompt has to say first; empty for nothing."""
        texts = [*self._waiting, *self._due()]
        self._waiting.clear()
        return "\n".join(texts)

    def _due(self) -> Iterator[str]:
        for name, left, limit in self._ledger.scarce():
            is_last = name == "requests" and left == 1
            topic = "last request" if is_last else name
            if topic not in self._told and not (is_last and self._is_gated):
                self._told.update({topic, name})
                rest = f"{left:,} of {limit:,} {_UNITS[name]} are left of the budget."
                fact = ONE_LEFT if is_last else rest
                self._record.add(GuardTripped(guard=name, step="warn", message=fact))
                yield f"{fact} {ANSWER_NOW if is_last else ANSWER}"
