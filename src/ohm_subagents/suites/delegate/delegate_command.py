"""`ohm delegate`: the tasks of a file, worked on by parallel sub-agents in live windows."""

from __future__ import annotations

import codecs
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer
from pydantic_core import from_json

from ohm_subagents import Ohm
from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    TASK_FAILED,
    Board,
    call_live,
    complain,
    is_terminal,
    json_fault,
    print_batch,
    print_json,
    print_styled,
    print_text,
    report,
    terminal_theme,
)
from ohm_subagents.config import DELEGATE_BACKEND, process_env
from ohm_subagents.contract.result import Ok
from ohm_subagents.store import TaskQuery
from ohm_subagents.suite import asked_by
from ohm_subagents.suites.delegate.details import Windows
from ohm_subagents.suites.delegate.windows import DELEGATE
from ohm_subagents.views import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from ohm_subagents.contract import Task
    from ohm_subagents.store import Store
    from ohm_subagents.suite import ToolResult
    from ohm_subagents.suites.delegate.details import Window
    from ohm_subagents.views import Theme

STDIN: Final = "-"


def tasks_in(source: str) -> JsonValue:
    """Return the call that a file or standard input has as JSON, or its tasks as a list.

    Otherwise one sentence about why there is none, and exit code 2.
    """
    where = "standard input" if source == STDIN else f"'{source}'"
    written = b""
    try:
        written = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
        tasks: JsonValue = from_json(written.removeprefix(codecs.BOM_UTF8))
    except OSError as error:
        is_json = source.lstrip().startswith(("[", "{"))
        advice = " That is JSON itself: put it into a file, or give it on standard input, with - in its place."
        complain(f"Cannot read {where}: {error.strerror}.{advice if is_json else ''}")
    except ValueError as error:
        complain(f"What {where} says is not JSON: {json_fault(written, error)}.")
    else:
        return {"tasks": tasks} if isinstance(tasks, list) else tasks
    raise typer.Exit(BAD_USAGE)


async def delegate(
    tasks: JsonValue, *, cwd: Path, config: Path | None, as_json: bool, backend: str | None = None
) -> int:
    """Call `delegate_to_subagents` and print what came of it; return the exit code."""
    env = process_env() if backend is None else {**process_env(), DELEGATE_BACKEND: backend}
    board = Board(terminal_theme(), config=config) if is_terminal() and not as_json else None
    plugins = [board] if board else []
    async with Ohm.open(cwd=cwd, config=config, env=env, suites=["delegate"], plugins=plugins) as ohm:
        reported = ohm.diagnostics
        report(reported)
        with asked_by("terminal"):
            result, number = await call_live(ohm, DELEGATE, tasks, board=board)
        if result is not None:
            told = {one.text for one in reported}
            if as_json:
                print_json({**result.details, **_task_ids(result, ohm.store)})
            _print(result, board, as_json=as_json, told=told)
        if number is not None:
            complain("Interrupted.")
            return 128 + number
        return TASK_FAILED if result is None else _code(result)


def _print(result: ToolResult, board: Board | None, *, as_json: bool, told: set[str]) -> None:
    """Print the result; notes that were `told` before are not repeated."""
    if result.is_error:
        complain(result.text)
    if not result.is_error and not as_json:
        windows = Windows.model_validate(result.details).windows
        if board is None:
            print_text(result.text)
        else:
            _print_tasks(windows, board)
        for window in windows:
            for note in (one for one in window.notes or () if one not in told):
                complain(f"{window.name}: {note}")


def _task_ids(result: ToolResult, store: Store) -> dict[str, JsonValue]:
    """Return the newest task of each session, by the session's id, as `taskIds`; nothing for a refused call."""
    if result.is_error:
        return {}
    ids: dict[str, JsonValue] = {}
    for session in Windows.model_validate(result.details).session_ids:
        found = next((one.ok_value for one in store.list(TaskQuery(session=session)) if isinstance(one, Ok)), None)
        ids |= {} if found is None else {session: found.id}
    return {"taskIds": ids}


def _print_tasks(windows: Sequence[Window], board: Board) -> None:
    """Print the tree of all tasks, each answer with its session, and the tasks that were never begun."""
    by_session, theme = {one.session_id: one for one in windows}, board.theme

    def print_facts(task: Task) -> None:
        if (window := by_session.pop(task.session_id, None)) is not None:
            _print_window(window, theme)

    print_batch(board.tasks, theme, after=print_facts)
    for window in by_session.values():
        print_styled(f"\n  {theme.fg('error', '✕')} {theme.bold(one_line(window.name))}")
        _print_window(window, theme)


def _print_window(window: Window, theme: Theme) -> None:
    for note in window.left_out or ():
        print_styled(theme.fg("warning", f"Note: {one_line(note)}"))
    if window.error_message:
        print_styled(theme.fg("error", f"Error: {one_line(window.error_message)}"))
    print_styled(theme.fg("dim", f"session {window.session_id}"))


def _code(result: ToolResult) -> int:
    if result.is_error:
        return BAD_USAGE
    windows = Windows.model_validate(result.details).windows
    return SUCCESS if all(window.status == "completed" for window in windows) else TASK_FAILED
