"""The parts of an envelope that are the evidence of the checks of an outcome."""

from __future__ import annotations

from ohm_subagents.contract.acceptance import Verified
from ohm_subagents.contract.envelope_parts import Record


class CheckBlock(Record):
    """The evidence of one check of the outcome."""

    check: str
    """The check, as it was written."""
    verdict: Verified
    """`not_run` for one that could not be run, or for which no time was left."""
    why: str | None = None
    """The reason of another verdict than `passed`."""
    exit_code: int | None = None
    """The exit code of the command."""
    duration_ms: int
    """The time that it took, in milliseconds."""
    output: str | None = None
    """The end of what the command wrote."""


class VerificationBlock(Record):
    """The evidence of the checks of the outcome."""

    attempts: int
    """The times that the checks ran: 2 after the subagent was told what failed, 0 if they did not."""
    why: str | None = None
    """The reason for which none ran."""
    checks: list[CheckBlock]
    """The checks, in their order."""
