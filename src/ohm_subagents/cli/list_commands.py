"""`ohm tasks` and `ohm tasks export`, as they are typed."""

from __future__ import annotations

from functools import partial
from pathlib import Path  # noqa: TC003  typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from ohm_subagents._terminal.command import typed_count
from ohm_subagents.commands import BAD_USAGE, HERE, AsJson, Config, Cwd, complain, typed_path

if TYPE_CHECKING:
    from ohm_subagents.cli.reading import Below
    from ohm_subagents.store import TaskQuery
    from ohm_subagents.views import CostKey

Session: TypeAlias = Annotated[str | None, typer.Option("--session", help="Only tasks of this session.")]
TreeOf: TypeAlias = Annotated[
    str | None,
    typer.Option("--below", metavar="<task>", help="Only this task and all below it; a part of its id is enough."),
]
WithCost: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--cost",
        help="Show what each task used itself and with all tasks below it; the sum counts each listed one once.",
    ),
]
Limit: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--limit",
        help="Maximum number of tasks, newest first: 20, and with --below all of them, if it is left out.",
        metavar="<int>",
        parser=typed_count,
    ),
]
tasks_app = typer.Typer(help="List the kept tasks of every process, or export them.", rich_markup_mode=None)


@tasks_app.callback(invoke_without_command=True)
def tasks(
    context: typer.Context,
    *,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            help="Only tasks in this state: queued, running, succeeded, failed, cancelled; asking, stuck.",
        ),
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Only tasks of this subagent.")] = None,
    session: Session = None,
    below: TreeOf = None,
    cost: WithCost = False,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Add up what all of them used, by profile, model, day or session."),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="With --by, as CSV.")] = False,
    limit: Limit = None,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the kept tasks, newest first."""
    if context.invoked_subcommand is not None:
        given = (status, profile, session, below, cost, by, as_csv, limit, cwd, config, as_json)
        if given != (None, None, None, None, False, None, False, None, HERE, None, False):
            complain(f"Put the options behind the word: ohm tasks {context.invoked_subcommand} <options>.")
            raise typer.Exit(BAD_USAGE)
        return
    from ohm_subagents.cli.reading import Below, read
    from ohm_subagents.cli.tasks import print_tasks
    from ohm_subagents.store import TaskQuery

    query, tree = TaskQuery(status=status, profile=profile, session=session), Below(below, config)
    if by is not None or as_csv:
        _report(query, tree, by, as_csv=as_csv, as_json=as_json, cwd=cwd)
    show = partial(print_tasks, query, limit, below=tree, with_cost=cost, as_json=as_json)
    read(show, cwd=cwd, config=config, as_json=as_json)


def _report(query: TaskQuery, tree: Below, by: str | None, *, as_csv: bool, as_json: bool, cwd: Path) -> None:
    from ohm_subagents.cli.reading import read
    from ohm_subagents.cli.report import print_costs
    from ohm_subagents.views import COST_KEYS

    wanted: CostKey | None = next((key for key in COST_KEYS if key == by), None)
    if wanted is None:
        said = "--csv is for a report: add --by" if by is None else f"--by is '{by}'; allowed"
        complain(f"{said}{' ' if by is None else ': '}{', '.join(COST_KEYS)}.")
        raise typer.Exit(BAD_USAGE)
    if as_csv and as_json:
        complain("--csv and --json exclude each other: type one of them.")
        raise typer.Exit(BAD_USAGE)
    form: Literal["table", "csv", "json"] = "csv" if as_csv else "json" if as_json else "table"
    read(partial(print_costs, query, wanted, form, below=tree), cwd=cwd, config=tree.file, as_json=as_json)


@tasks_app.command()
def export(
    *,
    session: Session = None,
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
