"""`ohm tasks`, `ohm tasks export` and `ohm task`, as they are typed."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003  typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ohm_subagents.commands import BAD_USAGE, HERE, INTERRUPTED, AsJson, Config, Cwd, complain, directory

if TYPE_CHECKING:
    from ohm_subagents.cli.reading import Show

_LIMIT: Final = 20
tasks_app = typer.Typer(help="The tasks that are kept, of every process.", rich_markup_mode=None)


@tasks_app.callback(invoke_without_command=True)
def tasks(
    context: typer.Context,
    *,
    status: Annotated[
        str | None, typer.Option("--status", help="Only queued, running, succeeded, failed or cancelled tasks.")
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Only tasks of this subagent.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="Only tasks of this session.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of tasks, newest first.")] = _LIMIT,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the tasks that are kept, newest first."""
    if context.invoked_subcommand is not None:
        if (status, profile, session, limit, cwd, config, as_json) != (None, None, None, _LIMIT, HERE, None, False):
            complain(f"Type the options of ohm tasks {context.invoked_subcommand} behind it.")
            raise typer.Exit(BAD_USAGE)
        return
    from ohm_subagents.cli.tasks import print_tasks
    from ohm_subagents.store import TaskQuery

    query = TaskQuery(status=status, profile=profile, session=session)
    _finish(partial(print_tasks, query, limit, as_json=as_json), cwd, config, as_json=as_json)


@tasks_app.command()
def export(
    *,
    session: Annotated[str | None, typer.Option("--session", help="Only tasks of this session.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="A new file for it, which only you may read.", readable=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")] = False,
    with_checkpoints: Annotated[
        bool, typer.Option("--with-checkpoints", help="With the conversation state that a session continues from.")
    ] = False,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Write everything that is kept as JSON Lines, a task a line, oldest first."""
    from ohm_subagents.cli.export import Export, export_tasks

    wanted = Export(session=session, file=output, force=force, with_checkpoints=with_checkpoints)
    _finish(partial(export_tasks, wanted), cwd, config)


def task(
    task_id: Annotated[str, typer.Argument(metavar="ID", help="Task id or unique prefix.")],
    *,
    output: Annotated[bool, typer.Option("--output", help="The whole answer and nothing else.")] = False,
    transcript: Annotated[bool, typer.Option("--transcript", help="What was said and done, in order, uncut.")] = False,
    events: Annotated[bool, typer.Option("--events", help="The same as events, one JSON value a line.")] = False,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show one task that is kept: its tree, then all that is known of it."""
    from ohm_subagents.cli.task import VIEWS, print_task

    typed = {"--output": output, "--transcript": transcript, "--events": events, "--json": as_json}
    chosen = [name for name, is_typed in typed.items() if is_typed]
    if len(chosen) > 1:
        complain(f"{' and '.join(chosen)} exclude each other: type one of them.")
        raise typer.Exit(BAD_USAGE)
    view = VIEWS[chosen[0] if chosen else ""]
    _finish(partial(print_task, task_id, view, as_json=as_json), cwd, config, as_json=as_json)


def _finish(show: Show, cwd: Path, config: Path | None, *, as_json: bool = False) -> None:
    from ohm_subagents.cli.reading import read

    place = directory(cwd, as_json=as_json)
    try:
        code = read(show, cwd=place, config=config)
    except KeyboardInterrupt:
        code = INTERRUPTED
    raise typer.Exit(code)
