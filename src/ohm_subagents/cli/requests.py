"""`ohm requests` and `ohm answer`: what subagents of any process wait for, and the answer to one of them."""

from __future__ import annotations

from functools import partial
from textwrap import indent
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from ohm_subagents._terminal.finished import print_finished
from ohm_subagents._terminal.live import watched
from ohm_subagents._terminal.lookup import NOTHING_KEPT
from ohm_subagents._terminal.prompts import answer_hint, text_answer
from ohm_subagents.cli.reading import owner_of
from ohm_subagents.cli.run import Typed, opened
from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    TASK_FAILED,
    complain,
    is_attended,
    is_terminal,
    print_json,
    print_text,
    print_wrapped,
    system_clock,
    until_signal,
)
from ohm_subagents.contract import Approve, Deny, Err, Ok, Request, Text
from ohm_subagents.store import TaskQuery
from ohm_subagents.views import (
    answer_text,
    argument_lines,
    asked_times,
    landing_text,
    named_call,
    one_line,
    printable,
    request_words,
    task_text,
    task_title,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents import Call, Handle, Ohm
    from ohm_subagents.commands import Board
    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import Answer, Task
    from ohm_subagents.store import Store

_SCOPES: Final = ("call", "task", "always")


async def print_requests(file: Path | None, store: Store, _config: OhmConfig, *, as_json: bool) -> int:
    """Print the open requests of all tasks, oldest first; return the exit code.

    On a terminal what is asked comes first and the command that answers it last; in a pipe the id. `file` is the
    ohm.json of `--config`.
    """
    found = sorted(_open(store), key=lambda one: one[1].asked_ms)
    if as_json:
        adapter = TypeAdapter(Request)
        print_json([adapter.dump_python(request, mode="json") for _, request in found])
    elif not found:
        print_text(NOTHING_KEPT if store.place is None else "No subagent waits for an answer.")
    else:
        for task, request in found:
            lines = _asked(task, request, store, file) if is_terminal() else _lines(task, request, store)
            print_wrapped("\n".join(lines))
    return SUCCESS


def _open(store: Store) -> Iterator[tuple[Task, Request]]:
    for listed in store.list(TaskQuery(status="running")):
        task = store.get(listed.ok_value.id) if isinstance(listed, Ok) else listed
        if isinstance(task, Ok):
            yield from ((task.ok_value, request) for request in task.ok_value.requests)


def _lines(task: Task, request: Request, store: Store) -> Iterator[str]:
    cwd = "" if task.launch is None else task.launch.cwd
    title = task_title(task.assignment.profile, task.assignment.description)
    yield one_line(f"{request.id}  {title} ({task.id}) · {request_words(request, cwd)}")
    if request.kind == "tool" and not landing_text(request):  # whoever answers has to see all of it
        for argument in argument_lines(named_call(request.tool, request.arguments)):
            yield indent(printable(argument), "      ").removeprefix("  ")
    yield _facts(task, request, store)


def _asked(task: Task, request: Request, store: Store, file: Path | None) -> list[str]:
    asked, begin, command = answer_hint(request, file, task=task).strip("\n").rpartition("\n  Answer it with:")
    return [asked, f"{_facts(task, request, store)}{begin}{command}", ""]


def _facts(task: Task, request: Request, store: Store) -> str:
    facts = asked_times(request, now_ms=system_clock())
    return "  " + " · ".join([*facts, *filter(None, [owner_of(task, store)])])


def read_answer(decision: str, words: str, scope: str) -> Answer | str:
    """Return the answer that was typed, or the sentence that says what is wrong with it."""
    if scope not in _SCOPES:
        return f"'{scope}' is no scope. Allowed: {', '.join(_SCOPES)}."
    match decision:
        case "approve" if words:
            return f"An approval has no words: leave out '{one_line(words)}', or answer a question with text."
        case "approve":
            return Approve(scope="call" if scope == "call" else "task" if scope == "task" else "always")
        case "deny":
            return Deny(words)
        case "text" if words:
            return Text(words)
        case "text":
            return "The text is missing: ohm answer <id> text '<words>'."
        case _:
            return f"'{one_line(decision)}' is no answer. Allowed: approve, deny, text."


async def answer(request_id: str, given: Answer, *, cwd: Path, config: Path | None) -> int:
    """Give an answer; a task whose process has ended goes on here, to its end. Return the exit code."""
    async with opened(Typed(cwd=cwd, config=config, as_json=False)) as (ohm, board, _):
        alike = [one for one in ohm.requests() if one.id.startswith(request_id)]
        asked = next((one for one in alike if one.id == request_id or len(alike) == 1), None)
        if asked is None and alike:
            complain(f"{len(alike)} ids of requests begin with '{request_id}'. Type more of it.")
            return BAD_USAGE
        request_id = request_id if asked is None else asked.id
        if asked is not None and isinstance(given, Text):
            given = text_answer(asked, given.text)
        answered = await ohm.answer(request_id, given, by="command")
        if isinstance(answered, Err):
            complain(answered.err_value)
            return BAD_USAGE
        request = answered.ok_value
        print_wrapped(one_line(f"{request.id}  {answer_text(given, 'terminal')}: {request_words(request)}"))
        return await _continued(ohm, request, board, config)


async def _followed(
    ohm: Ohm, handle: Handle[JsonValue] | Call, answered: Request, *, config: Path | None, is_drawn: bool
) -> None:
    """Follow a task to its end, and tell how to answer what it asks where nobody can be asked, or sees it drawn."""
    told = {answered.id}
    async for _ in handle.events():
        task = ohm.task(answered.task_id)
        for one in () if task is None or is_drawn or is_attended() else task.requests:
            if one.id not in told:
                told.add(one.id)
                complain(answer_hint(one, config, task=task))


async def _continued(ohm: Ohm, request: Request, board: Board | None, config: Path | None) -> int:
    """Wait for a task that goes on in this process since its own has ended."""
    handle, task = ohm.handle(request.task_id), ohm.task(request.task_id)
    if handle is None or task is None or task.is_terminal or ohm.store.is_foreign(task.id):
        return SUCCESS
    complain(f"Its process has ended, so task '{task.id}' goes on here. Ctrl-C cancels it.")
    async with watched(ohm, board):
        await until_signal(partial(_followed, ohm, handle, request, config=config, is_drawn=board is not None))
    ended = ohm.task(task.id)
    if ended is None:
        return TASK_FAILED
    if board is None:
        print_text(task_text(ended, output_max_chars=ohm.config.output_max_chars))
    else:
        print_finished(ended, board.theme)
        complain("" if ended.error is None else f"\n{ended.error}")
    return SUCCESS if ended.status == "succeeded" else TASK_FAILED
