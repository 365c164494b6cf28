"""`ohm ui --export`: the page of one task as a file."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    TASK_FAILED,
    complain,
    find_task,
    print_text,
    system_clock,
    with_store,
)
from ohm_subagents.contract import Err
from ohm_subagents.ui.export import exported_page
from ohm_subagents.ui.pictures import Pictures

if TYPE_CHECKING:
    from ohm_subagents.config import OhmConfig
    from ohm_subagents.store import Store


async def export_task(typed: str, output: Path | None, *, force: bool, cwd: Path, config: Path | None) -> int:
    """Write the page of a task, found by its id or a part of it, to a file; return the exit code.

    A file that exists is replaced with `force` only.
    """
    return await with_store(partial(_export, typed, output, file=config, force=force), cwd, config)


async def _export(
    typed: str, output: Path | None, store: Store, config: OhmConfig, *, file: Path | None, force: bool
) -> int:
    found = find_task(typed, store, config, op="status", file=file, as_json=False)
    if isinstance(found, int):
        return found
    data = await Pictures(store, system_clock).export(found.id)
    if isinstance(data, Err):
        complain(data.err_value)
        return TASK_FAILED
    page = exported_page(data.ok_value)
    if output != Path("-"):
        return _written(page, output or Path(f"{found.id}.html"), force=force)
    print_text(page)
    return SUCCESS


def _written(page: str, file: Path, *, force: bool) -> int:
    try:
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
        with open(os.open(file, flags, 0o600), "w", encoding="utf-8") as stream:  # noqa: PTH123  private at once
            stream.write(page)
    except FileExistsError:
        complain(f"The file '{file}' exists. Type another name, or --force to replace it.")
        return BAD_USAGE
    except OSError as exc:
        complain(f"The file '{file}' cannot be written: {exc.strerror}.")
        return TASK_FAILED
    print_text(f"Wrote '{file}'.")
    return SUCCESS
