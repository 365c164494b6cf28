"""Where a process stands among subagents, as its environment says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """`depth` is how many subagents the process is inside of, None if that cannot be read.

    `max_depth` is how many there may be, None where the environment does not say. `is_child`: the process itself was
    started for a subagent; `is_sticky_child`: for one of 003.
    """

    depth: int | None = 0
    max_depth: int | None = None
    is_child: bool = False
    is_sticky_child: bool = False
