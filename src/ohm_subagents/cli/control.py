"""`ohm send`, `ohm cancel` and `ohm wait`: steer kept tasks, whichever process runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.cli.run import called, opened
from ohm_subagents.cli.task import STATE, find
from ohm_subagents.commands import SUCCESS, TASK_FAILED, complain
from ohm_subagents.contract.task import TERMINAL

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents.cli.run import Typed
    from ohm_subagents.contract.commands import Op


async def send(task_id: str, prompt: str, typed: Typed) -> int:
    """Send a follow-up and print what comes of it; return the exit code."""
    return await _about_one("send", task_id, {"prompt": prompt}, typed)


async def cancel(task_id: str, typed: Typed) -> int:
    """Stop a task and print what it was; return the exit code."""
    return await _about_one("cancel", task_id, {}, typed)


async def _about_one(op: Op, task_id: str, more: dict[str, JsonValue], typed: Typed) -> int:
    async with opened(typed) as (ohm, board, _):
        found = find(task_id, ohm.store, ohm.config, op=op, as_json=typed.as_json)
        if isinstance(found, int):
            return found
        if op == "cancel" and found.is_terminal:
            complain(f"Task '{found.id}' was over before: it {STATE[found.status]}.")
        return await called(ohm, board, "task", {"op": op, "id": found.id, **more}, as_json=typed.as_json)


async def wait(task_ids: list[str], timeout_s: float | None, typed: Typed, *, is_any: bool) -> int:
    """Wait until all of the tasks, or one with `is_any`, have settled, and print them.

    Return 0 if what was waited for has succeeded.
    """
    async with opened(typed) as (ohm, board, _):
        ids: list[str] = []
        for task_id in task_ids:
            found = find(task_id, ohm.store, ohm.config, op="wait", as_json=typed.as_json)
            if isinstance(found, int):
                return found
            ids.append(found.id)
        payload: dict[str, JsonValue] = {"op": "wait", "ids": [*ids], "mode": "any" if is_any else "all"}
        if timeout_s is not None:
            payload["timeout_ms"] = round(timeout_s * 1000)
        code = await called(ohm, board, "task", payload, as_json=typed.as_json)
        statuses = [task.status for task in map(ohm.task, ids) if task is not None]
        ended = [each for each in statuses if each in TERMINAL]
        is_done = bool(ended) if is_any else len(ended) == len(ids)
        return code or (SUCCESS if is_done and {*ended} == {"succeeded"} else TASK_FAILED)
