"""A command as a program sends it to its server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from anyio import to_thread

from ohm_subagents._orchestrator.admission.items import wordless
from ohm_subagents._plugins.suites.tools_as_data import tool_as_data
from ohm_subagents.contract.commands import Send, Start
from ohm_subagents.contract.text import encodable
from ohm_subagents.contract.wire.commands import wire_command

if TYPE_CHECKING:
    from ohm_subagents._plugins.suites.tool import Tool
    from ohm_subagents.contract.commands import Command, NamedTool, StartItem
    from ohm_subagents.contract.wire.commands import WireCommand
    from ohm_subagents.contract.wire.run import WireTool


async def as_data(command: Command) -> tuple[WireCommand, list[Tool]]:
    """Return a command as it is sent, and its functions; texts that a suite makes are made here, in a thread."""
    if isinstance(command, Start):
        command = replace(command, items=tuple(map(_refused_here, command.items)))
    match command:
        case Start(items=items) if any(callable(one.preface) for one in items):
            command = replace(command, items=tuple([await _with_preface(one) for one in items]))
        case Send(item=item) if item is not None and callable(item.preface):
            command = replace(command, item=await _with_preface(item))
        case _:
            pass
    functions: list[Tool] = []

    def function(given: NamedTool) -> WireTool:
        tool = cast("Tool", given)
        functions.append(tool)
        return tool_as_data(tool)

    return wire_command(command, function), functions


def _refused_here(item: StartItem) -> StartItem:
    """Refuse an item for a text that cannot be sent as it is: what arrives could be carried out."""
    error = wordless(item, item.prompt)
    if error is None:
        return item
    return replace(item, prompt=_sendable(item.prompt), description=_sendable(item.description), refusal=error)


def _sendable(text: object) -> str:
    return encodable(text) if isinstance(text, str) else "?"


async def _with_preface(item: StartItem) -> StartItem:
    preface = item.preface
    return replace(item, preface=await to_thread.run_sync(preface)) if callable(preface) else item
