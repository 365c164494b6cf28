"""The contract of tools: a tool, its calls and their results. Public as `ohm_subagents.suite` and `.plugin`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

import anyio
from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.alias_generators import to_camel

from ohm_subagents._plugins.suites.image import Image, check_number
from ohm_subagents._records import dataclass
from ohm_subagents._views.cells import PREVIEW_LINES, preview_lines, printable_json, wrapped
from ohm_subagents._views.theme import PLAIN, Theme, View
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.result import Result
from ohm_subagents.redaction.redactor import Redaction
from ohm_subagents.sandbox.box import Box

JsonObject: TypeAlias = dict[str, JsonValue]
FORMS_ONLY: Final = Redaction()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call."""

    text: str
    """For the model."""
    details: JsonObject
    """For machines."""
    is_error: bool = False
    """The call itself failed."""
    has_failed: bool = False
    """A subagent that the call started has failed, while the call itself has not."""
    images: tuple[Image, ...] = ()
    """For a model that takes images, up to 10; `text` says what they are, by their labels, as others read it alone."""
    view: Callable[[View], str] | None = field(default=None, repr=False, compare=False)
    """Draw the result for people; None shows the text."""
    preview_max_lines: int = field(default=PREVIEW_LINES, repr=False, compare=False)
    """The lines of a preview."""

    def __post_init__(self) -> None:
        check_number(self.images)

    def render(self, *, expanded: bool = False, width: int = 120, theme: Theme = PLAIN) -> str:
        """Draw the result for a person, `width` terminal cells wide; nothing in it can drive the terminal."""
        if self.view is None:
            return "\n".join(wrapped(self.text, width))
        return self.view(View(expanded=expanded, width=width, theme=theme))

    def preview(self, *, width: int = 120) -> str:
        """Draw the newest lines of the collapsed view, below a note that counts the others."""
        return "\n".join(preview_lines(self.render(width=width), width=width, max_lines=self.preview_max_lines))


class DetailsModel(BaseModel):
    """Base of models for `ToolResult.details` and for what a suite keeps: camelCase, without fields that are None."""

    model_config = ConfigDict(
        defer_build=True, frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )

    def payload(self) -> JsonObject:
        """Return plain JSON."""
        plain: JsonObject = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return plain


OnUpdate: TypeAlias = Callable[[ToolResult], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool."""

    arguments: JsonValue
    """The arguments as the model wrote them."""
    on_update: OnUpdate | None = None
    """Receives progress frames."""
    abort: anyio.Event | None = None
    """Set by the host to end the call with a result."""
    session_id: SessionId | None = None
    """The session of the subagent that calls; None for the parent agent."""
    redaction: Redaction = field(default=FORMS_ONLY, repr=False, compare=False)
    """Takes secrets out of what the tool itself writes or cuts; the result of a suite that redacts goes through the
    same one, which redacts no text twice. For another suite it knows common forms of secrets and homes, no values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of a suite, for any host."""

    name: str
    """The name that the model calls."""
    label: str
    """The name that people see."""
    description: str
    """For the model."""
    input_schema: Mapping[str, JsonValue]
    """The JSON schema of the arguments; others are refused before `execute`, unless the tool `checks_arguments`."""
    execute: Callable[[ToolCall], Awaitable[ToolResult]]
    """Carry out a call; never raises for bad input."""
    call_view: Callable[[JsonValue, Theme], str]
    """Draw a call in one line."""
    result_view: Callable[[ToolResult, View], str] | None = None
    """Draw a stored result, of which only text and details are left; None shows the text."""
    failure: Callable[[OhmError], ToolResult] | None = None
    """Make the result of a call that raised; None makes a task.v1 envelope."""
    prompt_snippet: str = ""
    """One line for the system prompt of an agent that may call the tool."""
    prompt_guidelines: tuple[str, ...] = ()
    """Rules for that prompt."""
    only_if_named: bool = False
    """Give the tool to a subagent only if its profile, or ohm.json, names it."""
    checks_arguments: bool = False
    """The tool refuses bad arguments itself, in its own words."""

    def render_call(self, arguments: JsonValue, *, theme: Theme = PLAIN) -> str:
        """Draw a call in one line for a person; the view gets arguments that cannot drive a terminal."""
        return self.call_view(printable_json(arguments), theme)

    def render_result(
        self, result: ToolResult, *, expanded: bool = False, width: int = 120, theme: Theme = PLAIN
    ) -> str:
        """Draw a result for a person, say one that a host has stored."""
        if self.result_view is None:
            return result.render(expanded=expanded, width=width, theme=theme)
        return self.result_view(result, View(expanded=expanded, width=width, theme=theme))


def named_tools(tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """Return the names of the tools that are given only to a profile that names them."""
    return tuple(name for name, tool in tools.items() if tool.only_if_named)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNeed:
    """A run that needs tools of a source."""

    task_id: TaskId
    """The task of the run."""
    gives: Callable[[str], bool]
    """Return True if the profile, under the rules of ohm.json, gives the tool of this name."""
    settled: Callable[[], Awaitable[None]]
    """Wait until the task has settled: what was opened for it alone may close then."""
    box: Box | None = None
    """The sandbox of the run: a program that is started for its tools is held by it. None for no sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """A source of child tools that are known only when a run needs them, because something outside has to be asked."""

    prefix: str
    """The beginning of the names of its tools, such as `mcp__calc__`. It is asked if a profile names a tool like this,
    or a pattern with `*` that could stand for one."""
    tools: Callable[[ToolNeed], Awaitable[Result[tuple[Tool, ...], OhmError]]]
    """Return its tools that `ToolNeed.gives`; called before each run that names some, while no clock of it counts.

    An `Err` costs the run these tools, and is a diagnostic of its task. Keep the list, and bound the wait for it.
    """
