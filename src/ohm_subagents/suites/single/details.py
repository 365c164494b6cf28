"""The details of a result for machines, and the suite's error code for each of the engine's."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal

from pydantic import JsonValue

from ohm_subagents.suite import DetailsModel, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.suite import Usage


class SubagentErrorCode(StrEnum):
    """The reason why a call gave no result, or not all of it."""

    INVALID_INPUT = "INVALID_INPUT"
    SUBAGENTS_DISABLED = "SUBAGENTS_DISABLED"
    UNKNOWN_AGENT = "UNKNOWN_AGENT"
    SUBAGENT_DISABLED = "SUBAGENT_DISABLED"
    SUBAGENT_DEPTH_EXCEEDED = "SUBAGENT_DEPTH_EXCEEDED"
    SUBAGENT_TIMEOUT = "SUBAGENT_TIMEOUT"
    SUBAGENT_FAILED = "SUBAGENT_FAILED"
    SUBAGENT_OUTPUT_TRUNCATED = "SUBAGENT_OUTPUT_TRUNCATED"


_OTHERS: Final[Mapping[SubagentErrorCode, tuple[ErrorCode, ...]]] = {
    SubagentErrorCode.INVALID_INPUT: (
        ErrorCode.INVALID_TASK_PAYLOAD,
        ErrorCode.INVALID_PRIMARY_PAYLOAD,
        ErrorCode.OPERATION_NOT_SUPPORTED,
        ErrorCode.ASYNC_DISABLED,
    ),
    SubagentErrorCode.SUBAGENTS_DISABLED: (ErrorCode.SUBAGENTS_DISABLED,),
    SubagentErrorCode.UNKNOWN_AGENT: (ErrorCode.UNKNOWN_SUBAGENT_TYPE,),
    SubagentErrorCode.SUBAGENT_DISABLED: (
        ErrorCode.PERMISSION_DENIED,
        ErrorCode.INTERNAL_SUBAGENT_HIDDEN,
        ErrorCode.SUBAGENT_UNAVAILABLE,
    ),
    SubagentErrorCode.SUBAGENT_DEPTH_EXCEEDED: (ErrorCode.DEPTH_EXCEEDED,),
    SubagentErrorCode.SUBAGENT_TIMEOUT: (ErrorCode.BACKEND_TIMEOUT, ErrorCode.WAIT_TIMEOUT),
}
CODES: Final[Mapping[str, SubagentErrorCode]] = {
    **dict.fromkeys(ErrorCode, SubagentErrorCode.SUBAGENT_FAILED),
    **{code: of_suite for of_suite, codes in _OTHERS.items() for code in codes},
}
"""The suite's code of each code of the engine; any other fault is SUBAGENT_FAILED."""


def code_of(code: str) -> SubagentErrorCode:
    """Return the suite's code for one of the engine or of a plugin."""
    return CODES.get(code, SubagentErrorCode.SUBAGENT_FAILED)


class UsageCounts(DetailsModel):
    """Usage of all attempts: tokens, USD, model requests. `input` does not count cached tokens."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0
    turns: int = 0

    @classmethod
    def of(cls, usage: Usage) -> UsageCounts:
        """Convert the engine's counts, whose input tokens include those read from a cache or written to it."""
        return cls(
            input=max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
            output=usage.output_tokens,
            cache_read=usage.cached_tokens,
            cache_write=usage.cache_write_tokens,
            cost=float(usage.cost_usd or 0),
            turns=usage.requests,
        )


class SingleResult(DetailsModel):
    """The result of the task. `notes` name what was not done as the agent's file asks."""

    agent: str
    task: str
    exit_code: int
    usage: UsageCounts
    error: str | None = None
    session_file: str | None = None
    output: str | None = None
    display_items: tuple[dict[str, JsonValue], ...] | None = None
    timeout_reason: Literal["runtime", "idle"] | None = None
    notes: tuple[str, ...] | None = None


class ErrorInfo(DetailsModel):
    """The fault of a call."""

    code: SubagentErrorCode
    message: str


class Streaming(DetailsModel):
    """The progress of the subagent."""

    display_items: tuple[dict[str, JsonValue], ...]
    usage: UsageCounts
    turn_count: int


class Details(DetailsModel):
    """All of it. `mode` is `management` for a call that was refused before its arguments were read."""

    mode: Literal["single", "management"] = "single"
    run_id: str | None = None
    results: tuple[SingleResult, ...] = ()
    error: ErrorInfo | None = None
    streaming: Streaming | None = None
