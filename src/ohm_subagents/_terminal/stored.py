"""The store of a directory for a command that reads it, without a model, a suite or a plugin of tools."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from ohm_subagents._app.stored_tasks import stored_tasks
from ohm_subagents._config.env import process_env
from ohm_subagents._config.load import load_config
from ohm_subagents._terminal.command import BAD_USAGE, TASK_FAILED, complain, report
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._plugins.stores import Store


async def with_store(show: Callable[[Store, OhmConfig], Awaitable[int]], cwd: Path, config: Path | None) -> int:
    """Open the store of a directory, as configured, and report what is wrong with it; return the exit code of `show`.

    Return 2 if the configuration cannot be read, 1 if the store cannot.
    """
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
