"""Commands as data: all of a command that may travel. Functions stay where they are.

A command that holds functions has a record of its own here, so that a server of another release reads what a program
sends, whatever becomes of the command: the golden files of each version hold these records, and
`tests/contract/wire/test_commands.py` names the fields that stay behind. The other commands are plain data, and travel
as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

from pydantic import Discriminator, JsonValue, Tag

from ohm_subagents._records import dataclass
from ohm_subagents.contract.acceptance import Acceptance
from ohm_subagents.contract.commands import (
    AnswerRequest,
    Cancel,
    Command,
    GetTasks,
    LandWork,
    NamedTool,
    Overrides,
    Send,
    Session,
    Start,
    StartItem,
    Wait,
)
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.limits import Budget, Limits, LoopPolicy
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.sandbox import SandboxMode
from ohm_subagents.contract.task import Invocation
from ohm_subagents.contract.wire.lenient import AnyError
from ohm_subagents.contract.wire.run import WireTool
from ohm_subagents.contract.workspace import FileOverrides

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.contract.text import Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class WireOverrides(FileOverrides):
    """The choices of one call, as `Overrides` has them."""

    model: str | None = None
    """A model pattern, a name of the menu or `inherit`."""
    parent_model: str | None = None
    """The model that the caller runs on."""
    strict_model: bool | None = None
    """A run that another model answers fails."""
    backend: str | None = None
    """The id of a backend."""
    sandbox: SandboxMode | None = None
    """The sandbox of the task."""
    limits: Limits | None = None
    """Limits of each run of the task."""
    loop: LoopPolicy | None = None
    """The loop rules of each run of the task."""
    cwd: str | None = None
    """The directory of the task."""
    tool_names: tuple[str, ...] = ()
    """Names, and patterns with `*`, of child tools."""
    functions: tuple[WireTool, ...] = ()
    """The child tools that are functions of the program, which is asked to call them."""
    allow: tuple[str, ...] | None = None
    """The most of the profile's tools, and of their calls, that the task has; None for all."""
    deny: tuple[str, ...] = ()
    """The tools, and the calls, that the task does not have."""
    result_schema: dict[str, JsonValue] | None = field(default=None, hash=False)
    """The JSON schema of the answer."""
    accept: Acceptance | None = None
    """Checks of the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireItem:
    """One task to start, as `StartItem` has it."""

    profile: str | Profile
    """The id, or the profile itself."""
    description: str
    """The title of the task."""
    prompt: str
    """The text for the subagent."""
    overrides: WireOverrides = field(default_factory=WireOverrides)
    """The choices of this call."""
    invocation: Invocation = "task-routed"
    """The kind of tool that asks."""
    is_one_shot: bool = False
    """No follow-up is expected."""
    preface: str = ""
    """Text that precedes the prompt of the first run."""
    session: Session | None = None
    """The session of the task; None for a new one."""
    refusal: AnyError | None = None
    """The error by which a suite refuses the item."""
    is_redacted: bool = False
    """Secrets are taken out of every text of the task before it is recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireStart:
    """Start the items, as `Start` has them."""

    items: tuple[WireItem, ...]
    """The tasks to start, in the order of their replies."""
    parallel: bool = False
    """Run the items at the same time."""
    background: bool = False
    """Return as soon as the items are admitted."""
    background_after_ms: int | None = None
    """Return after so many milliseconds."""
    may_go_on: bool = False
    """The caller takes a reply in which tasks go on."""
    by_program: bool = False
    """A program asks."""
    budget: Budget | None = None
    """Shared by all items and whatever they start."""
    parent: str | None = None
    """A task that runs, and that the items are below."""
    limit: int | None = None
    """The most items that run at once."""
    max_depth: int | None = None
    """The most levels of tasks."""
    op: Literal["start"] = "start"
    """Tells commands apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireSend:
    """Send a follow-up, as `Send` has it."""

    id: str
    """The id of the task."""
    prompt: str
    """The text of the follow-up."""
    item: WireItem | None = None
    """The item whose choices hold for what continues a settled task."""
    profile: Profile | None = None
    """The profile of what continues a settled task."""
    functions: tuple[WireTool, ...] | None = None
    """The functions of the program for what continues a settled task; None for those of the item."""
    is_redacted: bool = False
    """Secrets are taken out of the texts of what continues a settled task."""
    op: Literal["send"] = "send"
    """Tells commands apart."""


def _op_of(command: object) -> str:
    if isinstance(command, Mapping):
        return str(cast("Mapping[str, object]", command).get("op"))
    return str(getattr(command, "op", ""))


WireCommand = Annotated[
    Annotated[WireStart, Tag("start")]
    | Annotated[GetTasks, Tag("status")]
    | Annotated[Wait, Tag("wait")]
    | Annotated[WireSend, Tag("send")]
    | Annotated[Cancel, Tag("cancel")]
    | Annotated[AnswerRequest, Tag("answer")]
    | Annotated[LandWork, Tag("land")]
    | Annotated[LandWork, Tag("discard")],
    Discriminator(_op_of),
]


def wire_command(command: Command, function: Callable[[NamedTool], WireTool]) -> WireCommand:
    """Return a command as data; `function` describes a child tool that stays here.

    What checks an answer beyond its schema (`Overrides.misfit`) is left to whoever reads the answer.
    """
    match command:
        case Start():
            return WireStart(
                items=tuple(_wire_item(one, function) for one in command.items),
                parallel=command.parallel,
                background=command.background,
                background_after_ms=command.background_after_ms,
                may_go_on=command.may_go_on,
                by_program=command.by_program,
                budget=command.budget,
                parent=command.parent,
                limit=command.limit,
                max_depth=command.max_depth,
            )
        case Send():
            return WireSend(
                id=command.id,
                prompt=command.prompt,
                item=None if command.item is None else _wire_item(command.item, function),
                profile=command.profile,
                functions=None if command.tools is None else tuple(map(function, command.tools)),
                is_redacted=command.redaction is not None,
            )
        case _:
            return command


def command_of(
    command: WireCommand, redaction: Callable[[], Redactor], function: Callable[[WireTool], NamedTool]
) -> Command:
    """Return the command.

    `redaction` gives what takes secrets out of texts here, and `function` makes a child tool that calls a function
    where that is.
    """
    match command:
        case WireStart():
            return Start(
                items=tuple(_item_of(one, redaction, function) for one in command.items),
                parallel=command.parallel,
                background=command.background,
                background_after_ms=command.background_after_ms,
                may_go_on=command.may_go_on,
                by_program=command.by_program,
                budget=command.budget,
                parent=None if command.parent is None else TaskId(command.parent),
                limit=command.limit,
                max_depth=command.max_depth,
            )
        case WireSend():
            return Send(
                id=command.id,
                prompt=command.prompt,
                item=None if command.item is None else _item_of(command.item, redaction, function),
                profile=command.profile,
                tools=None if command.functions is None else tuple(map(function, command.functions)),
                redaction=redaction() if command.is_redacted else None,
            )
        case _:
            return command


_ALIKE: Final = (
    *("model", "parent_model", "strict_model", "isolation", "land", "backend", "sandbox"),
    *("limits", "loop", "tool_names", "allow", "deny", "accept"),
)


def _alike(given: Overrides | WireOverrides) -> dict[str, Any]:
    """Return the choices that travel as they are."""
    return {name: getattr(given, name) for name in _ALIKE}


def _wire_item(item: StartItem, function: Callable[[NamedTool], WireTool]) -> WireItem:
    given = item.overrides
    return WireItem(
        profile=item.profile,
        description=item.description,
        prompt=item.prompt,
        overrides=WireOverrides(
            cwd=None if given.cwd is None else str(given.cwd),
            functions=tuple(map(function, given.tools)),
            result_schema=None if given.result_schema is None else dict(given.result_schema),
            **_alike(given),
        ),
        invocation=item.invocation,
        is_one_shot=item.is_one_shot,
        preface=item.preface if isinstance(item.preface, str) else item.preface(),
        session=item.session,
        refusal=item.refusal,
        is_redacted=item.redaction is not None,
    )


def _item_of(item: WireItem, redaction: Callable[[], Redactor], function: Callable[[WireTool], NamedTool]) -> StartItem:
    given = item.overrides
    return StartItem(
        profile=item.profile,
        description=item.description,
        prompt=item.prompt,
        overrides=Overrides(
            cwd=None if given.cwd is None else Path(given.cwd),
            tools=tuple(map(function, given.functions)),
            result_schema=given.result_schema,
            **_alike(given),
        ),
        invocation=item.invocation,
        is_one_shot=item.is_one_shot,
        preface=item.preface,
        session=item.session,
        refusal=item.refusal,
        redaction=redaction() if item.is_redacted else None,
    )
