"""Calls for every framework: each ends in a result, and its usage is known."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from pydantic_core import from_json

from ohm_subagents.contract.usage import NOTHING_USED, Usage
from ohm_subagents.suite import ToolResult

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Unpack

    from ohm_subagents import CallOptions, Ohm
    from ohm_subagents.suite import OnUpdate


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
        usage: what the tasks that the call started have used.
    """

    result: ToolResult
    usage: Usage = NOTHING_USED


async def call_tool(
    ohm: Ohm, name: str, arguments: object, on_update: OnUpdate | None = None, **options: Unpack[CallOptions]
) -> Called:
    """Call a tool for a model: whatever fails is text, and cancelling the caller cancels what it waits for."""
    try:
        call = await ohm.begin(name, arguments, on_update=on_update, **options)
        try:
            result = await call.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await call.cancel()
            raise
        tasks = (ohm.task(task_id) for task_id in call.task_ids)
        used = (task.activity.usage for task in tasks if task is not None)
        return Called(result=result, usage=sum(used, start=NOTHING_USED))
    except Exception as exc:  # noqa: BLE001  a closed Ohm, say: an agent has to read it, not to break
        return Called(result=ToolResult(text=f"{exc}", details={}, is_error=True))
