"""Which failures may pass by themselves, so that the same prompt is worth another attempt (001)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.errors import Category, ErrorCode
from ohm_subagents.contract.events import Failed

if TYPE_CHECKING:
    from ohm_subagents.contract.events import Outcome

_LASTING: Final = frozenset({ErrorCode.BACKEND_TIMEOUT, ErrorCode.LOOP_DETECTED})
"""What the guard of a run has ended: it would only take as long again."""
_TELLING: Final = re.compile(
    r"internal_server_error|stream error|ECONNRE(?:SET|FUSED)|ETIMEDOUT|ENOTFOUND|rate[ _-]?limit|overloaded"
    r"|temporarily unavailable|time[ -]?out",
    re.IGNORECASE,
)


def is_transient(outcome: Outcome) -> bool:
    """Whether a run failed for a reason that is none of its own: the backend says so, or the words are known."""
    if not isinstance(outcome, Failed) or outcome.error.code in _LASTING:
        return False
    error = outcome.error
    return error.resolved_category is Category.RUNTIME and (error.retryable or bool(_TELLING.search(error.message)))
