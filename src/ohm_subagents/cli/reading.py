"""Commands that read what is kept: no model, no suite."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, TypeAlias

import anyio

from ohm_subagents.commands import BAD_USAGE, TASK_FAILED, complain, report
from ohm_subagents.config import load_config, process_env
from ohm_subagents.contract.result import Err, Ok
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


def read(show: Show, *, cwd: Path, config: Path | None) -> int:
    """Return the exit code of `show`; 2 when the configuration cannot be read, 1 when the store cannot."""
    match load_config(cwd=cwd, config=config, env=process_env()):
        case Err(error):
            complain(error)
            return BAD_USAGE
        case Ok(loaded):
            report(loaded.diagnostics)
            return anyio.run(_shown, show, loaded.config, cwd)


async def _shown(show: Show, config: OhmConfig, cwd: Path) -> int:
    async with AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(stored_tasks(config, cwd=cwd))
        except OSError as exc:
            why = str(exc)
            complain(f"{why[:1].upper()}{why[1:]}.")
            return TASK_FAILED
        reported = store.diagnostics
        report(reported)
        code = await show(store, config)
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
