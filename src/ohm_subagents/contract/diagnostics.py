"""Diagnostics: what the user should know, though it did not stop the work."""

from __future__ import annotations

from typing import Final, Literal

from ohm_subagents._records import dataclass
from ohm_subagents.contract.text import with_advice

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One sentence about a file, a key, a plugin or a model that could not be honoured as written."""

    subject: str
    """The name of a plugin, or a key of the configuration."""
    message: str
    """The sentence."""
    advice: str = ""
    """The sentence on what to do about it, which follows; empty where the message says it."""
    severity: Severity = "warning"
    """The severity; no diagnostic stops the work."""
    source: str | None = None
    """The file; None for none."""
    line: int | None = None
    """The line of the file (1-based), where it is known."""
    column: int | None = None
    """The column (1-based), where it is known."""

    def __str__(self) -> str:
        """Return `file:line:column: message advice`, as far as these are known."""
        place = ":".join(str(part) for part in (self.source, self.line, self.column) if part)
        return f"{place}: {self.text}" if self.source else self.text

    @property
    def text(self) -> str:
        """The message and the advice, without the place."""
        return with_advice(self.message, self.advice)


UNREADABLE_SESSION: Final = Diagnostic(
    subject="session",
    message="The stored conversation of this session cannot be read; "
    "the run continues from its prompts and answers alone.",
)
"""The diagnostic of a backend that cannot continue from a checkpoint."""
CUT_OFF: Final = "The answer was cut off"
"""The beginning of a backend's diagnostic on an answer that is not complete."""
TOOLLESS: Final = "no tools"
"""The subject of a backend's diagnostic on a subagent that gets none of its tools."""
