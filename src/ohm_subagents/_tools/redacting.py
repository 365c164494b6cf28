"""Redact what passes between a suite and the rest: its tools' results, the tasks it starts, what it writes to the host.

`is_redacted` decides for which tools, `redacted_result` takes the secrets out of one result. What is recorded of a task
is redacted where it is recorded, by `_orchestrator/run/redaction.py`.

A tool redacts by itself only what does not pass through here: files that it writes, and texts that it cuts, since half
a secret cannot be recognised. For these it has `ToolCall.redaction`, which looks at each text once.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from ohm_subagents._views.cells import wrapped
from ohm_subagents.contract.commands import Send, Start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import anyio
    from pydantic import JsonValue

    from ohm_subagents._plugins.suites.delivery import Delivery
    from ohm_subagents._plugins.suites.embedding import Host, WidgetPlacement
    from ohm_subagents._plugins.suites.interface import (
        EventHandler,
        Executor,
        Progress,
        SessionTask,
        SuiteContext,
        ToolSuiteSpec,
    )
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.tool import JsonObject, Tool, ToolCall, ToolResult
    from ohm_subagents._views.theme import Theme, View
    from ohm_subagents.contract.commands import Command
    from ohm_subagents.contract.ids import SessionId
    from ohm_subagents.contract.replies import Reply
    from ohm_subagents.redaction.redactor import Redaction

    Redactions = Callable[[], Redaction]


def is_redacted(suite: ToolSuiteSpec | None, redact: bool | Sequence[str]) -> bool:  # noqa: FBT001  the setting itself
    """Return True if the tools of a suite, or of the program itself (None), let no secret out.

    `redact` is `subagents.redact` of ohm.json: all tools, or those of the named suites. Some suites always do.
    """
    if suite is None:
        return redact is True
    return suite.redacts or redact is True or (redact is not False and suite.name in redact)


def redacting_context(context: SuiteContext) -> SuiteContext:
    """Return the context with an executor and a host that redact."""
    redaction, door = context.redaction, context.host

    def register(event: str, handler: EventHandler) -> None:
        async def redacted(payload: JsonObject) -> JsonObject | None:
            answer = await handler(payload)
            return None if answer is None else redaction().object(answer)

        door.on(event, redacted)

    program = None if door.program is None else RedactingHost(door.program, redaction)
    executor = RedactingExecutor(context.executor, redaction)
    return replace(context, executor=executor, host=replace(door, program=program, on=register))


class RedactingExecutor:
    """The engine, where every task that is started is redacted."""

    def __init__(self, executor: Executor, redaction: Redactions) -> None:
        self._executor = executor
        self._redaction = redaction

    async def execute(
        self,
        command: Command,
        *,
        observer: Observer | None = None,
        progress: Progress | None = None,
        abort: anyio.Event | None = None,
    ) -> Reply:
        if isinstance(command, Start):
            redaction = self._redaction()
            items = tuple(replace(item, redaction=item.redaction or redaction) for item in command.items)
            command = replace(command, items=items)
        elif isinstance(command, Send):
            command = replace(command, redaction=command.redaction or self._redaction())
        return await self._executor.execute(command, observer=observer, progress=progress, abort=abort)

    async def read_session(self, session_id: SessionId) -> tuple[SessionTask, ...]:
        return await self._executor.read_session(session_id)


def redacting_tool(tool: Tool, redaction: Redactions) -> Tool:
    """Return the tool with redacted text, details, views and progress frames, and arguments redacted where shown.

    An exception may hold a secret too: wrap the tool in `guarded_tool` first.
    """

    async def execute(call: ToolCall) -> ToolResult:
        plain, watched = redaction(), call.on_update
        once = plain.remembering()

        def on_update(frame: ToolResult) -> None:
            if watched is not None:
                watched(redacted_result(frame, once, later=plain))

        inner = replace(call, redaction=once, on_update=None if watched is None else on_update)
        return redacted_result(await tool.execute(inner), once, later=plain)

    def call_view(arguments: JsonValue, theme: Theme) -> str:
        plain = redaction()
        return plain.text(tool.call_view(plain.json(arguments), theme))

    def result_view(result: ToolResult, view: View) -> str:
        if tool.result_view is not None:
            return _redacted_view(partial(tool.result_view, result), redaction(), view)
        return _redacted_view(partial(_rendered, result), redaction(), view)

    return replace(tool, execute=execute, call_view=call_view, result_view=result_view)


def redacted_result(result: ToolResult, redaction: Redaction, *, later: Redaction) -> ToolResult:
    """Return the result redacted, however it is shown.

    `later` redacts its views: it lives as long as the result, so it must not remember the texts of the call.
    """
    view = None if result.view is None else partial(_redacted_view, result.view, later)
    return replace(result, text=redaction.text(result.text), details=redaction.object(result.details), view=view)


def _rendered(result: ToolResult, view: View) -> str:
    return result.render(expanded=view.expanded, width=view.width, theme=view.theme)


def _redacted_view(shown: Callable[[View], str], redaction: Redaction, view: View) -> str:
    """Draw a view, whose lines may break inside a secret, where it would not be recognised.

    A view with a secret is drawn in plain lines from its redacted text.
    """
    drawn, whole = shown(view), shown(replace(view, width=sys.maxsize))
    redacted = redaction.text(whole)
    if redacted == whole:
        return redaction.text(drawn)
    return "\n".join(islice(wrapped(redacted, view.width), drawn.count("\n") + 1))


class RedactingHost:
    """Redacts what is written to the host. No subclass of `Host`: it would inherit methods that do not redact."""

    def __init__(self, host: Host, redaction: Redactions) -> None:
        self._host = host
        self._redaction = redaction

    def append_entry(self, kind: str, data: JsonObject) -> None:
        self._host.append_entry(kind, self._redaction().object(data))

    def branch(self) -> Sequence[JsonObject]:
        return self._host.branch()

    def send_message(self, kind: str, text: str, *, display: bool = True) -> None:
        self._host.send_message(kind, self._redaction().text(text), display=display)

    def send_user_message(self, text: str, *, follow_up: bool = False) -> None:
        self._host.send_user_message(self._redaction().text(text), follow_up=follow_up)

    def set_status(self, key: str, text: str | None) -> None:
        self._host.set_status(key, None if text is None else self._redaction().text(text))

    def set_widget(self, key: str, lines: Sequence[str] | None, *, placement: WidgetPlacement | None = None) -> None:
        redacted = None if lines is None else [self._redaction().text(line) for line in lines]
        self._host.set_widget(key, redacted, placement=placement)

    def active_tools(self) -> Sequence[str]:
        return self._host.active_tools()

    def has_ui(self) -> bool:
        return self._host.has_ui()

    def notify(self, delivery: Delivery) -> None:
        """Tell of a task whose record is redacted already."""
        self._host.notify(delivery)

    def session_file(self) -> Path | None:
        return self._host.session_file()
