"""Commands and replies as the text that processes which share a store send each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pydantic_core import from_json, to_json

from ohm_subagents.contract.wire.codec import dump, load_as
from ohm_subagents.contract.wire.commands import command_of, wire_command
from ohm_subagents.contract.wire.replies import reply_of, wire_reply
from ohm_subagents.contract.wire.serving import CommandAnswered, ExecuteCommand
from ohm_subagents.contract.wire.versions import WireError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.contract.commands import Command, NamedTool
    from ohm_subagents.contract.replies import Reply
    from ohm_subagents.contract.text import Redactor
    from ohm_subagents.contract.wire.run import WireTool


def written_command(command: Command) -> str:
    """Write a command; raises `WireError` for one with functions of the program."""
    return to_json(dump(ExecuteCommand(n=0, command=wire_command(command, _staying)))).decode()


def _staying(tool: NamedTool) -> NoReturn:
    wrong = (
        f"The tool '{tool.name}' is a function of this program, and the process that runs the task cannot call it. "
        "Name tools of plugins or of MCP servers."
    )
    raise WireError(wrong)


def _called_back(tool: WireTool) -> NoReturn:
    wrong = f"The tool '{tool.name}' is a function of a program that is not connected."
    raise WireError(wrong)


def read_command(text: str, redaction: Callable[[], Redactor]) -> Command | None:
    """Return what `written_command` wrote; None for a command that only a later release can read."""
    try:
        return command_of(load_as(ExecuteCommand, from_json(text)).command, redaction, _called_back)
    except (WireError, ValueError):
        return None


def written_reply(reply: Reply) -> str:
    """Write a reply."""
    return to_json(dump(CommandAnswered(n=0, reply=wire_reply(reply)))).decode()


def read_reply(text: str, command: Command) -> Reply | None:
    """Return the reply to a command that `written_reply` wrote; None for one that only a later release can read."""
    try:
        return reply_of(load_as(CommandAnswered, from_json(text)).reply, command)
    except (WireError, ValueError):
        return None
