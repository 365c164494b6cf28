"""The outcomes of runs and tasks."""

from __future__ import annotations

from typing import Literal

from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import OhmError


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The run answered."""

    kind: Literal["succeeded"] = "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run ended with an error; what it did before is in its events."""

    error: OhmError
    """The reason."""
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The run was stopped on request."""

    reason: str
    """The reason, in one sentence."""
    kind: Literal["cancelled"] = "cancelled"


Outcome = Succeeded | Failed | Cancelled
