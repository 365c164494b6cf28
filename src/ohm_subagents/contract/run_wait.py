"""The wait of a run, which is no time of its work."""

from __future__ import annotations

from typing import Final

from ohm_subagents._records import dataclass
from ohm_subagents.contract.events import RequestHeld


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWait:
    """The newest wait of a run, for a model request to go out or for an answer."""

    held: RequestHeld | None = None
    """The model request that waits for a slot, a provider or a budget; None while none does."""
    over_ms: int | None = None
    """The end of a wait that is over, in epoch milliseconds."""


NO_WAIT: Final = RunWait()
