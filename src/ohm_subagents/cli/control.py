"""`ohm send`, `ohm cancel` and `ohm wait`: steer kept tasks, whichever process runs them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

import anyio

from ohm_subagents._terminal.prompts import answer_hint
from ohm_subagents.cli.call import called
from ohm_subagents.cli.follow import replayed
from ohm_subagents.cli.reading import concerns_in
from ohm_subagents.cli.run import opened
from ohm_subagents.cli.task import STATE, tasks_below
from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    TASK_FAILED,
    complain,
    find_task,
    print_json,
    print_refusal,
    print_text,
    with_config,
)
from ohm_subagents.contract import CommandRejected, Err
from ohm_subagents.suite import asked_by
from ohm_subagents.views import changes_text, total_price_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pydantic import JsonValue

    from ohm_subagents import Ohm
    from ohm_subagents.cli.run import Typed
    from ohm_subagents.commands import Board
    from ohm_subagents.contract import Task
    from ohm_subagents.contract.commands import Op
    from ohm_subagents.views import LiveTask


async def send(task_id: str, prompt: str, timeout_s: float | None, typed: Typed) -> int:
    """Send a follow-up and print what comes of it; return the exit code."""
    if not prompt.strip() and not typed.as_json:
        complain("The follow-up is blank. Say in words what the subagent is to do.")
        return BAD_USAGE
    return await _about_one("send", task_id, {"prompt": prompt}, typed, within_s=timeout_s)


async def cancel(task_id: str, typed: Typed) -> int:
    """Stop a task and print what it was; return the exit code."""
    return await _about_one("cancel", task_id, {}, typed)


async def _about_one(
    op: Op, task_id: str, more: dict[str, JsonValue], typed: Typed, *, within_s: float | None = None
) -> int:
    async with opened(typed) as (ohm, board, _):
        found = find_task(task_id, ohm.store, ohm.config, op=op, file=typed.config, as_json=typed.as_json)
        if isinstance(found, int):
            return found
        if op == "cancel" and found.is_terminal:
            complain(f"Task '{found.id}' was over before: it {STATE[found.status]}.")
        if op == "send" and not found.is_terminal:
            complain(
                f"Task '{found.id}' {STATE[found.status]}; the answer comes when the run that takes this has ended."
            )
        payload: dict[str, JsonValue] = {"op": op, "id": found.id, **more}
        below = [*tasks_below(found.id, ohm.store, 1)] if op == "cancel" and not found.is_terminal else []
        is_answered_by_another = op == "send" and found.is_terminal
        async with _seen(ohm, board, [] if is_answered_by_another else [found]):
            with asked_by("command"):
                code = await called(
                    ohm,
                    board,
                    "task",
                    payload,
                    about=[found.id],
                    as_json=typed.as_json,
                    within_s=within_s,
                    file=typed.config,
                )
        if below and code == SUCCESS and not typed.as_json:
            _tell_below([ohm.task(found.id) or found, *(ohm.task(one.task.id) or one.task for one in below)], below)
        is_refused = op == "send" and found.is_terminal and ohm.config.subagents.send_to_finished == "refuse"
        if is_refused and code == TASK_FAILED and not typed.as_json:
            resuming = with_config(f'ohm run --resume {found.id} "…"', typed.config)
            complain(f"Without that setting, `{resuming}` starts a task that goes on with its conversation.")
        return code


def _tell_below(newest: list[Task], below: list[LiveTask]) -> None:
    """Tell how many tasks a cancel has ended with the one that was named, and what all of them have cost."""
    ended = sum(not one.task.is_terminal for one in below)
    told = f"{ended} {'task below it was' if ended == 1 else 'tasks below it were'} cancelled too. " if ended else ""
    cost = total_price_text([task.activity.usage for task in newest])
    complain(f"{told}{f'With all {len(below)} below it: {cost}.' if cost else ''}".strip())


async def work(op: Literal["land", "discard"], task_id: str, typed: Typed) -> int:
    """Land or discard what a task did, and say what came of it; return the exit code."""
    async with opened(typed) as (ohm, _, _):
        found = find_task(task_id, ohm.store, ohm.config, op=op, file=typed.config, as_json=typed.as_json)
        if isinstance(found, int):
            return found
        done = await (ohm.land(found.id) if op == "land" else ohm.discard(found.id))
        if isinstance(done, Err):
            refused = CommandRejected(error=done.err_value, backend=found.assignment.backend, op=op, task_id=found.id)
            print_refusal(refused, as_json=typed.as_json)
            return TASK_FAILED
        envelope = done.ok_value
        if typed.as_json:
            print_json(envelope.payload())
            return SUCCESS
        became = "has landed, uncommitted" if op == "land" else "is discarded"
        changed = "" if envelope.workspace is None else f": {changes_text(envelope.workspace)}"
        print_text(f"The work of task '{found.id}' {became}{changed}.")
        return SUCCESS


async def wait(task_ids: list[str], timeout_s: float | None, typed: Typed, *, is_any: bool) -> int:
    """Wait until all of the tasks, or one with `is_any`, have settled, and print them.

    Return 0 if what was waited for has succeeded.
    """
    async with opened(typed) as (ohm, board, _):
        tasks: list[Task] = []
        for task_id in task_ids:
            found = find_task(task_id, ohm.store, ohm.config, op="wait", file=typed.config, as_json=typed.as_json)
            if isinstance(found, int):
                return found
            tasks.append(found)
        ids: list[JsonValue] = [task.id for task in tasks]
        payload: dict[str, JsonValue] = {"op": "wait", "ids": ids, "mode": "any" if is_any else "all"}
        if timeout_s is not None:
            payload["timeout_ms"] = round(timeout_s * 1000)
        async with _seen(ohm, board, tasks):
            about = [task.id for task in tasks]
            code = await called(
                ohm, board, "task", payload, about=about, as_json=typed.as_json, stops_work=False, file=typed.config
            )
        newest = [now for task in tasks if (now := ohm.task(task.id)) is not None]
        if not typed.as_json:
            _tell_unsettled(ohm, newest, typed)
        ended = [task.status for task in newest if task.is_terminal]
        is_done = bool(ended) if is_any else len(ended) == len(ids)
        return code or (SUCCESS if is_done and {*ended} == {"succeeded"} else TASK_FAILED)


def _tell_unsettled(ohm: Ohm, tasks: list[Task], typed: Typed) -> None:
    """Tell what tasks ask and how to answer it, and how many others go on."""
    for task, request in [(one, asked) for one in tasks for asked in one.requests]:
        complain(answer_hint(request, typed.config, task=task))
    others = [task for task in tasks if not task.is_terminal and not task.requests]
    concerns = concerns_in(ohm.store) if others else {}
    stuck = sum(concerns.get(one.id) == "stuck" for one in others)
    amiss = f" ({stuck} stuck)" if stuck else ""
    if len(others) == len(tasks) == 1:
        complain(f"Task '{others[0].id}' has not settled; it goes on.")
    elif others:
        kind = "other task" if len(others) < len(tasks) else "task"
        complain(f"{len(others)} {kind}{' goes' if len(others) == 1 else 's go'} on{amiss}.")


@asynccontextmanager
async def _seen(ohm: Ohm, board: Board | None, tasks: list[Task]) -> AsyncGenerator[None]:
    """Let a board see tasks of other processes, which tell it of nothing, while this is open."""
    if board is None:
        yield
        return
    board.is_left = any(not task.is_terminal for task in tasks)
    async with anyio.create_task_group() as group:
        for task in tasks:
            board.show(task)
            if ohm.store.is_foreign(task.id):
                group.start_soon(replayed, task, ohm.store, board)
        yield
        group.cancel_scope.cancel()
