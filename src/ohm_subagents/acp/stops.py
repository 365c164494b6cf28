"""The end of a prompt: a stop reason of the protocol, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from acp import RequestError

from ohm_subagents import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp.schema import StopReason

    from ohm_subagents import OhmError

INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_FOUND: Final = -32002
"""The code of the protocol for a resource that is not found."""
_STOPS: Final[Mapping[str, StopReason]] = {
    ErrorCode.TASK_ABORTED: "cancelled",
    ErrorCode.CONTENT_FILTERED: "refusal",
    ErrorCode.CONTEXT_WINDOW_EXCEEDED: "max_tokens",
    ErrorCode.USAGE_LIMIT_EXCEEDED: "max_turn_requests",
    ErrorCode.BUDGET_EXCEEDED: "max_turn_requests",
    ErrorCode.LOOP_DETECTED: "max_turn_requests",
}


def stop_reason(error: OhmError | None) -> StopReason | None:
    """Return the stop reason of a prompt that ended with an error, or without one; None if the protocol has none."""
    return "end_turn" if error is None else _STOPS.get(error.code)


def failure(error: OhmError) -> RequestError:
    """Return the error of a prompt that failed: its sentence, and for programs its code, category and task."""
    data = {
        "code": f"{error.code}",
        "category": f"{error.resolved_category}",
        "retryable": error.retryable,
        "taskId": error.task_id,
    }
    return RequestError(INTERNAL_ERROR, f"{error}", {name: each for name, each in data.items() if each is not None})
