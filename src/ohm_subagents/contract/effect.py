"""Effects: the reason not to do a run again, as one event tells it."""

from __future__ import annotations

from typing import Final, Literal

from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    DiagnosticRaised,
    FileChanged,
    Finalized,
    RunEvent,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.model_route import RouteResolved
from ohm_subagents.contract.profile import FINALIZE, READING_TOOLS
from ohm_subagents.contract.workspace import WorkspaceKept

Effect = Literal["none", "words", "deed"]
"""`none`: nothing was done for the task yet; `words`: a model was asked, which may be asked once more; `deed`: what
must not be done twice."""
_HARMLESS: Final = frozenset({*READING_TOOLS, "glob", FINALIZE})
"""Tools that may run twice."""


def effect_of(event: RunEvent) -> Effect:
    """Return what has happened by an event at the latest; what a call changes has happened once it has begun."""
    match event:
        case TextDelta() | ThinkingDelta() | ToolUpdated() | ToolEnded() | UsageAdded() | Checkpointed():
            return "words"
        case ToolStarted(tool=tool):
            return "words" if tool.casefold() in _HARMLESS else "deed"
        case FileChanged():
            return "deed"
        case WorkspaceKept() | Finalized() | AgentEnded():  # the first one keeps the deeds of all runs so far
            return "words"
        case RouteResolved() | DiagnosticRaised():
            return "none"
