"""The tool calls of a run: a call is reported once its arguments are known, and once more when it is over."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from acp.schema import ContentToolCallContent, FileEditToolCallContent, TextContentBlock

from ohm_subagents.plugin import FileChanged, ToolEnded, ToolStarted, ToolUpdated

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from acp.schema import ToolCall as AcpCall
    from acp.schema import ToolCallUpdate

    from ohm_subagents.contract import RunEvent

_WRITING: Final = frozenset({"edit", "delete", "move"})
_OVER: Final = frozenset({"completed", "failed"})
_MAX_NAME: Final = 80


@dataclass(slots=True, kw_only=True)
class Call:
    """A tool call as far as the agent has told."""

    id: str
    """The agent's id of the call."""
    name: str = ""
    """The agent's own name for the tool; empty while it has not said one."""
    kind: str = "other"
    """The kind of the tool, one of those of ACP."""
    title: str = ""
    """Its title, for people."""
    args: object = None
    """The arguments; None while they are not known."""
    texts: list[str] = field(default_factory=list[str])
    """The newest content that is text."""
    output: object = None
    """The result as the tool gave it."""
    printed: str = ""
    """Everything that its terminal has printed."""
    paths: tuple[str, ...] = ()
    """The files that it writes, as far as known."""
    ours: str | None = None
    """The tool of ours that it is of; None for a tool of the agent."""
    has_started: bool = False
    """It was reported."""

    @property
    def tool(self) -> str:
        """Return the name of the tool; without one, its kind, or its title."""
        shown = self.title.partition("\n")[0][:_MAX_NAME]
        return self.name or (self.kind if self.kind != "other" else shown) or "tool"

    def learn(self, told: AcpCall | ToolCallUpdate) -> None:
        """Take what an update tells; what it leaves out stays."""
        self.name = name_in(told.field_meta) or self.name
        self.kind, self.title = told.kind or self.kind, told.title or self.title
        if told.raw_input not in (None, {}):
            self.args = told.raw_input
        self.output = told.raw_output if told.raw_output is not None else self.output
        content = told.content or []
        blocks = [one.content for one in content if isinstance(one, ContentToolCallContent)]
        self.texts = [one.text for one in blocks if isinstance(one, TextContentBlock)] or self.texts
        written = [one.path for one in content if isinstance(one, FileEditToolCallContent)]
        if self.kind in _WRITING:
            written += [one.path for one in told.locations or []]
        self.paths = tuple(dict.fromkeys(written)) or self.paths
        self.printed += _printed(told)

    @property
    def text(self) -> str:
        """Return the whole output."""
        if isinstance(self.output, str):
            return self.output
        if self.output is not None and not self.texts:
            return compact(self.output)
        return "\n".join(self.texts) or self.printed


class Calls:
    """The calls that are not over, in the order in which they began."""

    def __init__(self, cwd: Path, names: Collection[str], served: Callable[[Call], str | None]) -> None:
        """`names` are tools of the agent, which some tell as titles alone.

        `served` names the tool of ours that a call is of: what happens in it is reported where it runs.
        """
        self._cwd = cwd
        self._names = names
        self._served = served
        self._open: dict[str, Call] = {}

    def call(self, told: AcpCall | ToolCallUpdate) -> Call:
        """Return the call that an update is about, with what it tells."""
        call = self._open.setdefault(told.tool_call_id, Call(id=told.tool_call_id))
        call.learn(told)
        call.ours = call.ours or self._served(call)
        if not call.name and told.title and told.title in self._names:
            call.name = told.title
        return call

    def asked(self, told: ToolCallUpdate) -> Call:
        """Return the call that a request for permission is about: of a known one it may tell anything."""
        return self._open.get(told.tool_call_id) or self.call(told)

    def begun(self, told: AcpCall) -> Iterator[RunEvent]:
        """Report a new call, unless its arguments may come with the next update."""
        call = self.call(told)
        if told.status not in (None, "pending"):
            yield from self._updated(call, told)

    def updated(self, told: ToolCallUpdate) -> Iterator[RunEvent]:
        """Report more of a call."""
        yield from self._updated(self.call(told), told)

    def _updated(self, call: Call, told: AcpCall | ToolCallUpdate) -> Iterator[RunEvent]:
        if call.args is not None or told.status in (*_OVER, "in_progress"):
            yield from self.start(call)
        if call.ours is not None:
            if told.status in _OVER:
                del self._open[call.id]
        elif told.status in _OVER:
            yield from self._end(call, ok=told.status == "completed")
        elif call.has_started and (piece := _streamed(told)):
            yield ToolUpdated(call_id=call.id, tool=call.tool, text=piece)

    def start(self, call: Call) -> Iterator[RunEvent]:
        """Report that a call begins, if that was not reported."""
        if not call.has_started and call.ours is None:
            call.has_started, call.name = True, call.tool
            yield ToolStarted(call_id=call.id, tool=call.tool, args="" if call.args is None else compact(call.args))

    def start_all(self) -> Iterator[RunEvent]:
        """Report the calls that waited for more: the agent speaks of something else by now."""
        for call in tuple(self._open.values()):
            yield from self.start(call)

    def _end(self, call: Call, *, ok: bool) -> Iterator[RunEvent]:
        del self._open[call.id]
        yield ToolEnded(call_id=call.id, tool=call.tool, status="success" if ok else "error", text=call.text)
        for path in call.paths if ok else ():
            file = self._cwd / path
            yield FileChanged(path=str(file.relative_to(self._cwd) if file.is_relative_to(self._cwd) else file))


def name_in(meta: object) -> str:
    """Return the name of a tool in `_meta`, where agents put it: `toolName`, or `<agent>.toolName`."""
    if not isinstance(meta, dict):
        return ""
    known = cast("dict[str, object]", meta)
    inner = (cast("dict[str, object]", one) for one in known.values() if isinstance(one, dict))
    names = (known.get("toolName"), *(one.get("toolName") for one in inner))
    return next((name for name in names if isinstance(name, str) and name), "")


def compact(value: object) -> str:
    """Return JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _printed(told: AcpCall | ToolCallUpdate) -> str:
    match told.field_meta:
        case {"terminal_output": {"data": str(data)}}:
            return data
        case _:
            return ""


def _streamed(told: AcpCall | ToolCallUpdate) -> str:
    """Return a piece of output: what a terminal has printed, or the content of a call that goes on."""
    blocks = [one.content for one in told.content or [] if isinstance(one, ContentToolCallContent)]
    texts = "\n".join(one.text for one in blocks if isinstance(one, TextContentBlock))
    return _printed(told) or (texts if told.status == "in_progress" else "")
