"""A diagnostic: something the user should know that did not stop the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One clear sentence about a file, a key, a plugin or a model that could not be honoured as written.

    `subject` is what it is about (a plugin name, a config key); `source` is the file, with `line` and `column` (from 1)
    when known.
    """

    subject: str
    message: str
    severity: Severity = "warning"
    source: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """`file:line:column: message`, as far as these are known."""
        place = ":".join(str(part) for part in (self.source, self.line, self.column) if part)
        return f"{place}: {self.message}" if self.source else self.message


UNREADABLE_SESSION: Final = Diagnostic(
    subject="session",
    message="The stored conversation of this session cannot be read; "
    "the run continues from its prompts and answers alone.",
)
"""What a backend says of a checkpoint that it cannot continue from."""
CUT_OFF: Final = "The answer was cut off"
"""How a backend begins a diagnostic of an answer that is there, and not all of it."""
TOOLLESS: Final = "no tools"
"""The subject of what a backend says of a subagent that has none of the tools it is to have."""
