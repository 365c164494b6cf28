"""One call of `subagent` from its first attempt to its end: its messages, usage, limits and records."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import (
    NOTHING_USED,
    TOOLLESS,
    AgentEnded,
    DiagnosticRaised,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.suites.single.details import Streaming, UsageCounts
from ohm_subagents.suites.single.truncation import size_text
from ohm_subagents.suites.single.verdict import is_provider_error
from ohm_subagents.views import MessageLog, calls_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import JsonValue

    from ohm_subagents.suite import Diagnostic, Event, JsonObject, Task
    from ohm_subagents.suites.single.session_file import SessionFiles

MAX_STDOUT_BYTES: Final = 8 * 1024 * 1024
MAX_LINES: Final = 10_000
"""Model requests, tool calls and results of an attempt together; more stops it."""
RUNNING: Final = "(running...)"

logger = logging.getLogger(__name__)


class ChildRun:
    """Observes the tasks that a call starts, one for each attempt; `prompt` is the task without secrets.

    Messages are those of the newest attempt, usage and notes are those of all. The engine tells of nothing before
    it is redacted. `stop` ends a subagent that says more than any answer needs; `flooded` then tells which limit that
    was.
    """

    def __init__(self, prompt: str, files: SessionFiles, *, stop: Callable[[], None]) -> None:
        self.run_id = files.run_id
        self.attempts = 0
        self.task: Task | None = None
        self.session_file: str | None = None
        self.flooded = ""
        self.has_answered = False
        self._prompt = prompt
        self._files = files
        self._stop = stop
        self._log = MessageLog(prompt, most=None)
        self._usage = NOTHING_USED
        self._diagnostics: dict[str, Diagnostic] = {}
        self._told_bytes = self._lines = 0

    def notify(self, task: Task, event: Event) -> None:
        """Add an event of the task."""
        self.task = task
        if isinstance(event, RunStarted):
            self._begin()
        if not self.flooded:
            self._log.add(event)
        match event:
            case TextDelta(text=text) | ThinkingDelta(text=text) | ToolUpdated(text=text):
                self._count(text)
            case ToolStarted(args=text) | ToolEnded(text=text):
                self._count(text, lines=1)
            case UsageAdded(usage=usage):
                self._usage += usage
                self._count("", lines=1)
            case AgentEnded():
                self.has_answered = True
            case DiagnosticRaised(diagnostic=diagnostic):
                self._diagnostics.setdefault(diagnostic.message, diagnostic)
            case RunEnded():
                self._keep()
            case _:
                pass

    def _begin(self) -> None:
        self.attempts += 1
        self.has_answered = False
        self._told_bytes = self._lines = 0
        self._log = MessageLog(self._prompt, most=None)

    def _count(self, text: str, *, lines: int = 0) -> None:
        self._told_bytes += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        self._lines += lines
        if self._told_bytes > MAX_STDOUT_BYTES:
            self._flood(f"stdout hard limit ({size_text(MAX_STDOUT_BYTES)})")
        elif self._lines > MAX_LINES:
            self._flood(f"JSONL lines hard limit ({MAX_LINES})")

    def _flood(self, limit: str) -> None:
        if not self.flooded:
            self.flooded = f"Subagent output exceeded the {limit}."
            self._stop()

    def _keep(self) -> None:
        """Write the record of the attempt; a disk that refuses it costs the record only."""
        try:
            self.session_file = self._files.write(self.attempts, self._log.messages)
        except OSError as error:
            logger.warning("The record of a subagent could not be written: %s.", error.strerror)

    @property
    def last_said(self) -> str:
        """The newest text of the assistant, or empty."""
        return next(self._said(), "")

    @property
    def last_text(self) -> str:
        """The newest text that is not the error of a provider, or empty."""
        return next((text for text in self._said() if not is_provider_error(text)), "")

    def _said(self) -> Iterator[str]:
        said = (text_of(message) for message in reversed(self._log.messages) if message.get("role") == "assistant")
        return (text for text in said if text)

    @property
    def items(self) -> tuple[JsonObject, ...]:
        """Texts and tool calls of the assistant, in order."""
        found: list[JsonObject] = []
        for message in self._log.messages:
            if message.get("role") == "assistant":
                text = text_of(message)
                if text:
                    found.append({"type": "text", "text": text})
                found += [_call(name, arguments) for name, arguments in calls_of(message)]
        return tuple(found)

    @property
    def usage(self) -> UsageCounts:
        """Usage of all attempts."""
        return UsageCounts.of(self._usage)

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages of the diagnostics, each once, however many attempts there were."""
        return tuple(self._diagnostics)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notes that the caller needs to judge the answer: it came about without any tool."""
        return tuple(message for message, one in self._diagnostics.items() if one.subject == TOOLLESS)

    def streaming(self) -> Streaming:
        """Return the state for a progress frame."""
        return Streaming(display_items=self.items, usage=self.usage, turn_count=self._usage.requests)


def _call(name: str, arguments: JsonValue) -> JsonObject:
    return {"type": "toolCall", "name": name, "args": arguments if isinstance(arguments, dict) else {}}
