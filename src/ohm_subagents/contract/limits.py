"""How much a task may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`soft_ms`: how long one run may take, in milliseconds; time in the queue never counts."""

    soft_ms: int = 180_000
