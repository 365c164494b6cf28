"""`ohm tasks`, `ohm tasks export` and `ohm task`, as they are typed."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003  typer reads the annotations
from typing import Annotated, Final

import typer

from ohm_subagents.commands import BAD_USAGE, HERE, AsJson, Config, Cwd, complain, typed_count, typed_path

_LIMIT: Final = 20
tasks_app = typer.Typer(help="List the kept tasks of every process, or export them.", rich_markup_mode=None)


@tasks_app.callback(invoke_without_command=True)
def tasks(
    context: typer.Context,
    *,
    status: Annotated[
        str | None,
        typer.Option("--status", help="Only tasks in this state: queued, running, succeeded, failed, cancelled."),
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Only tasks of this subagent.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="Only tasks of this session.")] = None,
    limit: Annotated[
        int,
        typer.Option("--limit", help="Maximum number of tasks, newest first.", metavar="<int>", parser=typed_count),
    ] = _LIMIT,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the kept tasks, newest first."""
    if context.invoked_subcommand is not None:
        if (status, profile, session, limit, cwd, config, as_json) != (None, None, None, _LIMIT, HERE, None, False):
            complain(f"Put the options behind the word: ohm tasks {context.invoked_subcommand} <options>.")
            raise typer.Exit(BAD_USAGE)
        return
    from ohm_subagents.cli.reading import read
    from ohm_subagents.cli.tasks import print_tasks
    from ohm_subagents.store import TaskQuery

    query = TaskQuery(status=status, profile=profile, session=session)
    read(partial(print_tasks, query, limit, as_json=as_json), cwd=cwd, config=config, as_json=as_json)


@tasks_app.command()
def export(
    *,
    session: Annotated[str | None, typer.Option("--session", help="Only tasks of this session.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", help="New file to write to, readable by you alone.", metavar="<path>", parser=typed_path
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    with_checkpoints: Annotated[
        bool, typer.Option("--with-checkpoints", help="Add the conversation state of each session.")
    ] = False,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Write the kept tasks as JSON Lines, oldest first."""
    from ohm_subagents.cli.export import Export, export_tasks
    from ohm_subagents.cli.reading import read

    wanted = Export(session=session, file=output, force=force, with_checkpoints=with_checkpoints)
    read(partial(export_tasks, wanted), cwd=cwd, config=config)


def task(
    task_id: Annotated[str, typer.Argument(metavar="id", help="Task id or unique prefix.")],
    *,
    output: Annotated[bool, typer.Option("--output", help="Print the whole answer alone.")] = False,
    transcript: Annotated[bool, typer.Option("--transcript", help="Print all that was said and done.")] = False,
    events: Annotated[bool, typer.Option("--events", help="Print the events, one JSON value a line.")] = False,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show one kept task: its tree, then all that is known of it."""
    from ohm_subagents.cli.reading import read
    from ohm_subagents.cli.task import VIEWS, print_task

    typed = {"--output": output, "--transcript": transcript, "--events": events, "--json": as_json}
    chosen = [name for name, is_typed in typed.items() if is_typed]
    if len(chosen) > 1:
        complain(f"{' and '.join(chosen)} exclude each other: type one of them.")
        raise typer.Exit(BAD_USAGE)
    view = VIEWS[chosen[0] if chosen else ""]
    read(partial(print_task, task_id, view, as_json=as_json), cwd=cwd, config=config, as_json=as_json)
