"""The commands about what tasks did to files of their own, as they are typed."""

from __future__ import annotations

from functools import partial
from typing import Annotated, TypeAlias

import typer

from ohm_subagents.commands import HERE, AsJson, Config, Cwd, directory, finish

TaskId: TypeAlias = Annotated[
    str, typer.Argument(metavar="id", help="Task id, or a beginning or end that no other id has.")
]


def diff(
    task_id: TaskId,
    *,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Show what a task did to files of its own, as a patch that git apply takes."""
    from ohm_subagents.cli.diff import print_diff
    from ohm_subagents.cli.reading import read
    from ohm_subagents.cli.task import print_task

    here = directory(cwd)
    read(partial(print_task, task_id, partial(print_diff, here), file=config, as_json=False), cwd=cwd, config=config)


def land(
    task_id: TaskId,
    *,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make what a task did to files of its own to yours as they are now: all of it, or nothing."""
    from ohm_subagents.cli.control import work
    from ohm_subagents.cli.run import Typed

    finish(partial(work, "land", task_id, Typed.here(cwd, config, as_json=as_json)))


def discard(
    task_id: TaskId,
    *,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Remove what a task did to files of its own, unless it has landed."""
    from ohm_subagents.cli.control import work
    from ohm_subagents.cli.run import Typed

    typed = Typed.here(cwd, config, as_json=as_json)
    finish(partial(work, "discard", task_id, typed))
