"""`ohm call`, and every command that is a call of a tool: live on a terminal, what came of it in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import from_json

from ohm_subagents.cli.run import exit_code, opened
from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    TASK_FAILED,
    call_live,
    complain,
    json_fault,
    print_json,
    print_text,
    width,
)
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.text import encodable
from ohm_subagents.views import PLAIN, LiveTask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents import Ohm
    from ohm_subagents.cli.run import Typed
    from ohm_subagents.commands import Board
    from ohm_subagents.contract import Task
    from ohm_subagents.suite import ToolResult
    from ohm_subagents.views import Theme


async def call(tool: str, arguments: str, typed: Typed) -> int:
    """Call a tool and print its result; return the exit code."""
    try:
        payload: JsonValue = from_json(encodable(arguments))
    except ValueError as error:
        example = '{"op": "status", "id": "task_1"}'
        why = json_fault(arguments, error)
        complain(f"The arguments are not JSON: {why}. Type an object in single quotes, such as '{example}'.")
        return BAD_USAGE
    async with opened(typed) as (ohm, board, _):
        return await called(ohm, board, tool, payload, as_json=typed.as_json, file=typed.config)


async def called(
    ohm: Ohm,
    board: Board | None,
    tool: str,
    payload: JsonValue,
    *,
    about: Sequence[TaskId] = (),
    as_json: bool,
    within_s: float | None = None,
    stops_work: bool = True,
    file: Path | None = None,
) -> int:
    """Call a tool, at most for so many seconds; print its result, or the tasks it is `about`; return the exit code.

    Without `stops_work` a signal that ends the call interrupts no task. `file` is the ohm.json that was typed.
    """
    ended, number = await call_live(ohm, tool, payload, board=board, within_s=within_s)
    about = [*about] if ended is None else _answering(ended, about)
    if as_json:
        print_json({} if ended is None else ended.details)
    elif ended is not None and about and _is_refused(ended, [task for one in about if (task := ohm.task(one))]):
        complain(_error_of(ended))
    elif ended is not None and board is not None:
        newest = [one._replace(task=ohm.task(one.task.id) or one.task) for one in board.tasks]
        _print_called(ended, newest, board.theme, about)
        _tell_retry(newest, about, ohm, file)
    elif number is not None:
        complain("" if ended is None else ended.render(expanded=True, width=width()))
    elif ended is not None and about:
        known = [LiveTask(task) for one in about if (task := ohm.task(one)) is not None]
        _print_called(ended, known, PLAIN, about)
        _tell_retry(known, about, ohm, file)
    elif ended is not None:
        print_text(ended.text)
    if number is not None:
        if stops_work:
            complain("Interrupted.")
        return 128 + number
    return TASK_FAILED if ended is None else _code_of(ended)


def _print_called(result: ToolResult, tasks: Sequence[LiveTask], theme: Theme, about: Sequence[TaskId]) -> None:
    """Print the tasks of a call with their answers; if there are none, or it was refused, what the tool shows."""
    from ohm_subagents._terminal.finished import print_batch, tell_failure

    is_refused = not about and _is_refused(result, [one.task for one in tasks if not one.depth])
    if not tasks or is_refused or result.details.get("rejected_count"):
        print_text(result.text if result.is_error else result.render(expanded=True, width=width()))
        return
    print_batch(tasks, theme, after=tell_failure, asked=frozenset(about), is_told_once=True)


def _tell_retry(tasks: Sequence[LiveTask], about: Sequence[TaskId], ohm: Ohm, file: Path | None) -> None:
    from ohm_subagents._terminal.finished import print_retry

    print_retry([one.task for one in tasks if not one.depth or one.task.id in about], ohm.store, file)


def _answering(result: ToolResult, about: Sequence[TaskId]) -> list[TaskId]:
    """Return the tasks that a call is about; of a follow-up to a settled one the new task, which goes on with it."""
    told = result.details
    is_another = told.get("resumed_from") in about and told.get("op") == "send" and bool(told.get("task_id"))
    return [TaskId(f"{told['task_id']}")] if is_another else [*about]


def _is_refused(result: ToolResult, tasks: Sequence[Task]) -> bool:
    """Return True if a call has failed, and none of its tasks has failed, or was cancelled, for that reason."""
    codes = {task.error.code for task in tasks if task.error is not None}
    codes |= {ErrorCode.TASK_ABORTED for task in tasks if task.status == "cancelled"}
    code = result.details.get("error_code")
    return result.is_error and (not codes or (code is not None and code not in codes))


def _error_of(result: ToolResult) -> OhmError:
    told = result.details
    message, advice = told.get("error_message") or result.text, told.get("error_advice") or ""
    return OhmError(code=f"{told.get('error_code')}", message=f"{message}", advice=f"{advice}")


def _code_of(result: ToolResult) -> int:
    if not result.is_error:
        return TASK_FAILED if result.has_failed else SUCCESS
    details = result.details
    return exit_code(
        code=str(details.get("error_code")),
        category=str(details.get("error_category")),
        started=bool(details.get("task_id")),
    )
