"""The error of a run whose time is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from ohm_subagents.contract.limits import ClockName, Clocks
    from ohm_subagents.contract.task import Task


def timed_out(task: Task, limits: Clocks, clock: ClockName) -> OhmError:
    """Return the error of a run of `task` that one of its clocks has ended."""
    in_flight = task.activity.open_calls[0].tool if task.activity.open_calls else "?"
    facts: dict[ClockName, tuple[int, str]] = {
        "soft": (limits.soft_ms, f"Task {task.id} timed out while waiting for subagent backend response"),
        "cap": (limits.cap_ms, f"Task {task.id} took longer than its cap of {limits.cap_ms} ms."),
        "idle": (limits.idle_ms, f"Task {task.id} heard nothing from the model for {limits.idle_ms} ms."),
        "tool": (
            limits.tool_ms,
            f"Task {task.id} had a call of the tool {in_flight} in flight for {limits.tool_ms} ms.",
        ),
    }
    limit_ms, fact = facts[clock]
    variable = " or OHM_SUBAGENTS_BACKEND_TIMEOUT_MS" if clock == "soft" else ""
    return OhmError(
        code=ErrorCode.BACKEND_TIMEOUT,
        message=fact,
        advice=f"The limit was {limit_ms} ms; raise limits.{clock}Ms of the subagent in ohm.json{variable}, "
        "or give it a smaller task.",
        retryable=True,
    )
