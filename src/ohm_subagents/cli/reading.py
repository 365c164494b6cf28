"""Read the kept tasks, without a model, a suite or a plugin of tools."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from ohm_subagents.commands import BAD_USAGE, TASK_FAILED, complain, directory, finish, report
from ohm_subagents.config import load_config, process_env
from ohm_subagents.contract.result import Err
from ohm_subagents.store import event_to_json, stored_tasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import ListedTask, Recorded, Task
    from ohm_subagents.store import Store

Show: TypeAlias = "Callable[[Store, OhmConfig], Awaitable[int]]"
NOTHING_KEPT = 'Nothing is kept: subagents.store is "memory", so tasks are gone with the process that ran them.'


def read(show: Show, *, cwd: Path, config: Path | None, as_json: bool = False) -> NoReturn:
    """Open the store of a directory as typed, and leave with the exit code of `show`.

    Leave with 2 if the directory or the configuration cannot be read, with 1 if the store cannot.
    """
    finish(partial(_read, show, directory(cwd, as_json=as_json), config))


async def _read(show: Show, cwd: Path, config: Path | None) -> int:
    loaded = load_config(cwd=cwd, config=config, env=process_env())
    if isinstance(loaded, Err):
        complain(loaded.err_value)
        return BAD_USAGE
    report(loaded.ok_value.diagnostics)
    async with AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(stored_tasks(loaded.ok_value, cwd=cwd))
        except OSError as exc:
            why = str(exc)
            complain(f"{why[:1].upper()}{why[1:]}.")
            return TASK_FAILED
        reported = store.diagnostics
        report(reported)
        code = await show(store, loaded.ok_value.config)
        report(each for each in store.diagnostics if each not in reported)  # what was found on the way
        return code


def owner_of(task: Task | ListedTask, store: Store) -> str:
    """Return who runs a task, for people; empty for a settled one."""
    return "" if task.is_terminal else store.owner(task.id)


def event_fields(recorded: Recorded) -> dict[str, JsonValue]:
    """Return an event as it is printed: its time, its kind, then its fields."""
    written = event_to_json(recorded.event)
    fields = {name: value for name, value in written.items() if name not in {"version", "kind"}}
    return {"at_ms": recorded.at_ms, "kind": written["kind"], **fields}
