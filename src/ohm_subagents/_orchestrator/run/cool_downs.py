"""Cool-downs: models that have failed of late are not asked for some time, whichever task has met the failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.model_route import FailureClass


class CoolDowns:
    """The models that have failed of late, each for some time, whichever task has asked them.

    Times are those of the event loop's clock.
    """

    def __init__(self) -> None:
        self.classes: Collection[FailureClass] = ()
        """The failures that count."""
        self._length_s = 0.0
        self._ends: dict[tuple[str, str], tuple[float, FailureClass]] = {}

    def configure(self, *, classes: Collection[FailureClass], length_ms: int) -> None:
        """Set what counts from now on, and for how long."""
        self.classes = classes
        self._length_s = length_ms / 1000

    def begin(self, model: ModelPattern, why: FailureClass) -> None:
        """Note that a model has failed."""
        self._ends[model.provider, model.model] = anyio.current_time() + self._length_s, why

    def end(self, model: ModelPattern) -> None:
        """Note that a model has answered."""
        self._ends.pop((model.provider, model.model), None)

    def reason(self, model: ModelPattern) -> FailureClass | None:
        """Return the failure for which a model cools down; None if it may be asked."""
        return self._ends[model.provider, model.model][1] if self.left_s(model) else None

    def left_s(self, model: ModelPattern) -> float:
        """Return the seconds until a model may be asked; 0 if it may be."""
        ends_at, _ = self._ends.get((model.provider, model.model), (0.0, None))
        return max(0.0, ends_at - anyio.current_time())

    def first(self, models: Sequence[ModelPattern]) -> ModelPattern:
        """Return the first model that does not cool down; where all do, the one that may be asked first."""
        return min(models, key=self.left_s)
