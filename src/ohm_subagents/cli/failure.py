"""The exit code of a failure."""

from __future__ import annotations

from typing import Final

from ohm_subagents._terminal.exits import BAD_USAGE, TASK_FAILED
from ohm_subagents.contract.errors import Category, ErrorCode

_MISCONFIGURED: Final = frozenset(
    {
        ErrorCode.CONFIG_INVALID,
        ErrorCode.UNSUPPORTED_BACKEND,
        ErrorCode.BACKEND_OPTIONS_INVALID,
        ErrorCode.MODEL_UNKNOWN,
    }
)
_MISUSED: Final = frozenset({Category.VALIDATION, Category.NOT_FOUND})


def exit_code(*, code: str, category: str, started: bool) -> int:
    """Give the exit code of a failure: 2 when what was typed or configured cannot work, else 1.

    The category of a task that had started is about its work, no longer about what was typed.
    """
    return BAD_USAGE if code in _MISCONFIGURED or (category in _MISUSED and not started) else TASK_FAILED
