"""Calls for every framework: each ends in a result, and its usage is known."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import anyio
from pydantic_core import from_json

from ohm_subagents.contract.usage import NOTHING_USED, Usage
from ohm_subagents.suite import ToolResult

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Unpack

    from ohm_subagents import CallOptions, Mailbox, Ohm
    from ohm_subagents.suite import OnUpdate, Tool


ARRIVAL: Final = (
    "What ends in the background comes as a message at your next turn: use op wait only if you cannot go on without it."
)
"""The sentence for a model whose mailbox is read before each of its turns, in the description of `task` and replies."""


@contextmanager
def installed(distribution: str) -> Generator[None]:
    """Import a framework inside of this; raises `ImportError` with what to install where it is missing."""
    try:
        yield
    except ModuleNotFoundError as exc:
        missing = f"{exc.msg}. This adapter needs {distribution}: pip install {distribution}"
        raise ImportError(missing, name=exc.name) from exc


def parsed(arguments: str) -> object:
    """Return arguments that a model wrote as JSON, or the text if it is none: the tool says then what is wrong."""
    try:
        return from_json(arguments)
    except ValueError:
        return arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """The end of a call.

    Fields:
        result: what the tool returned, or why it could not be called.
        usage: what the tasks that the call started have used, and all tasks below them.
    """

    result: ToolResult
    usage: Usage = NOTHING_USED


def described(ohm: Ohm, tool: Tool, mailbox: Mailbox | None) -> str:
    """Return the description of a tool, with how results arrive for a parent that has an mailbox."""
    is_told = mailbox is not None and tool.name == "task" and starts_async(ohm)
    return f"{tool.description}\n\n{ARRIVAL}" if is_told else tool.description


def starts_async(ohm: Ohm) -> bool:
    """Return True if a model may start what goes on in the background."""
    return ohm.config.subagents.async_start == "allow"


async def call_tool(
    ohm: Ohm,
    name: str,
    arguments: object,
    on_update: OnUpdate | None = None,
    *,
    mailbox: Mailbox | None = None,
    **options: Unpack[CallOptions],
) -> Called:
    """Call a tool for a model: whatever fails is text, and cancelling the caller cancels what it waits for."""
    try:
        call = await (ohm if mailbox is None else mailbox).begin(name, arguments, on_update=on_update, **options)
        try:
            result = await call.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await call.cancel()
                if mailbox is not None:
                    await mailbox.has_read(call, everything=True)
            raise
        if mailbox is not None:
            await mailbox.has_read(call)
            if set(call.task_ids) - call.told_ids:
                result = replace(result, text=f"{result.text}\n{ARRIVAL}")
        tasks = (ohm.task(task_id) for task_id in call.task_ids)
        used = (task.activity.tree_usage for task in tasks if task is not None)
        return Called(result=result, usage=sum(used, start=NOTHING_USED))
    except Exception as exc:  # noqa: BLE001  a closed Ohm, say: an agent has to read it, not to break
        return Called(result=ToolResult(text=f"{exc}", details={}, is_error=True))
