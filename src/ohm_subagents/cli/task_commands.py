"""The commands about kept tasks, as they are typed."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path  # noqa: TC003  typer reads the annotations
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import typer

from ohm_subagents.cli.work_commands import TaskId, diff, discard, land
from ohm_subagents.commands import (
    BAD_USAGE,
    HERE,
    AsJson,
    Config,
    Cwd,
    complain,
    directory,
    finish,
    typed_count,
    typed_path,
    typed_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ohm_subagents.store import TaskQuery
    from ohm_subagents.views import CostKey, FleetSort

_LIMIT: Final = 20


def _typed_seconds(typed: str | float) -> float:
    """Read the seconds of `--timeout` from the command line, above 0; leave with 2 for what is none."""
    try:
        seconds = float(typed)
    except ValueError:
        seconds = 0
    if not 0 < seconds < math.inf:
        complain(f"--timeout is '{typed}'; allowed: seconds above 0.")
        raise typer.Exit(BAD_USAGE)
    return seconds


Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        help="Wait at most so many seconds: then a follow-up is withdrawn, and tasks go on.",
        metavar="<seconds>",
        parser=_typed_seconds,
    ),
]
Session: TypeAlias = Annotated[str | None, typer.Option("--session", help="Only tasks of this session.")]
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
    cost: Annotated[
        bool, typer.Option("--cost", help="Show what each task used, with all tasks below it, and the sum.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Add up what all of them used, by profile, model, day or session."),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="With --by, as CSV.")] = False,
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
        given = (status, profile, session, cost, by, as_csv, limit, cwd, config, as_json)
        if given != (None, None, None, False, None, False, _LIMIT, HERE, None, False):
            complain(f"Put the options behind the word: ohm tasks {context.invoked_subcommand} <options>.")
            raise typer.Exit(BAD_USAGE)
        return
    from ohm_subagents.cli.reading import read
    from ohm_subagents.cli.tasks import print_tasks
    from ohm_subagents.store import TaskQuery

    query = TaskQuery(status=status, profile=profile, session=session)
    if by is not None or as_csv:
        _report(query, by, as_csv=as_csv, as_json=as_json, cwd=cwd, config=config)
    read(partial(print_tasks, query, limit, with_cost=cost, as_json=as_json), cwd=cwd, config=config, as_json=as_json)


def _report(query: TaskQuery, by: str | None, *, as_csv: bool, as_json: bool, cwd: Path, config: Path | None) -> None:
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
    read(partial(print_costs, query, wanted, form), cwd=cwd, config=config, as_json=as_json)


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


def task(
    task_id: TaskId,
    *,
    output: Annotated[bool, typer.Option("--output", help="Print the whole answer alone.")] = False,
    transcript: Annotated[bool, typer.Option("--transcript", help="Print all that was said and done.")] = False,
    events: Annotated[bool, typer.Option("--events", help="Print the events, one JSON value a line.")] = False,
    is_followed: Annotated[
        bool, typer.Option("--follow", help="Show a task that goes on until it has settled; also its --events.")
    ] = False,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show one kept task: all that is known of it, its tree and its answer."""
    from ohm_subagents.cli.follow import follow
    from ohm_subagents.cli.reading import read
    from ohm_subagents.cli.task import VIEWS, print_task, tree

    typed = {"--output": output, "--transcript": transcript, "--events": events, "--json": as_json}
    chosen = [name for name, is_typed in typed.items() if is_typed]
    if len(chosen) > 1:
        complain(f"{' and '.join(chosen)} exclude each other: type one of them.")
        raise typer.Exit(BAD_USAGE)
    name = chosen[0] if chosen else ""
    if is_followed and name in {"--output", "--json"}:
        complain(f"--follow shows what a task does, and {name} what came of it: type one of them.")
        raise typer.Exit(BAD_USAGE)
    view = partial(follow, name, config) if is_followed else VIEWS.get(name) or partial(tree, config)
    read(partial(print_task, task_id, view, file=config, as_json=as_json), cwd=cwd, config=config, as_json=as_json)


def send(
    task_id: TaskId,
    prompt: Annotated[str, typer.Argument(help="The follow-up, as one argument in quotes; - for standard input.")],
    *,
    timeout: Timeout = None,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Send a follow-up to a task of any process, and print the answer."""
    from ohm_subagents.cli.control import send
    from ohm_subagents.cli.run import Typed

    typed = Typed.here(cwd, config, as_json=as_json)
    finish(partial(send, task_id, typed_text(prompt), timeout, typed))


def cancel(
    task_id: TaskId,
    *,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Stop a task of any process; what it has done is kept."""
    from ohm_subagents.cli.control import cancel
    from ohm_subagents.cli.run import Typed

    finish(partial(cancel, task_id, Typed.here(cwd, config, as_json=as_json)))


def wait(
    task_ids: Annotated[
        list[str], typer.Argument(metavar="id...", help="Task ids, or beginnings or ends that no other id has.")
    ],
    *,
    timeout: Timeout = None,
    is_any: Annotated[bool, typer.Option("--any", help="Wait for one of the tasks only.")] = False,
    cwd: Cwd = HERE,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Wait until tasks of any process have settled, and print them."""
    from ohm_subagents.cli.control import wait
    from ohm_subagents.cli.run import Typed

    typed = Typed.here(cwd, config, as_json=as_json)
    finish(partial(wait, task_ids, timeout, typed, is_any=is_any))


def top(
    *,
    sort: Annotated[str, typer.Option("--sort", help="By cost, time, tokens or profile.")] = "time",
    settled: Annotated[
        int | None, typer.Option("--settled", help="Also so many settled ones.", metavar="<int>", parser=typed_count)
    ] = None,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Show the tasks that all processes run, live, with clocks and costs."""
    from ohm_subagents.cli.reading import read
    from ohm_subagents.cli.top import top
    from ohm_subagents.views import FLEET_SORTS

    wanted: FleetSort | None = next((each for each in FLEET_SORTS if each == sort), None)
    if wanted is None:
        complain(f"--sort is '{sort}'; allowed: {', '.join(FLEET_SORTS)}.")
        raise typer.Exit(BAD_USAGE)
    read(partial(top, wanted, settled or 0), cwd=cwd, config=config)


def requests(*, cwd: Cwd = HERE, config: Config = None, as_json: AsJson = False) -> None:
    """List what subagents of any process wait for: tool calls to approve, and questions."""
    from ohm_subagents.cli.reading import read
    from ohm_subagents.cli.requests import print_requests

    read(partial(print_requests, config, as_json=as_json), cwd=cwd, config=config, as_json=as_json)


def answer(
    request_id: Annotated[str, typer.Argument(metavar="id", help="Id of the request, or a unique prefix.")],
    decision: Annotated[str, typer.Argument(metavar="approve|deny|text", help="The answer.")],
    words: Annotated[
        list[str] | None, typer.Argument(help="The reason of a denial, or the text that answers a question.")
    ] = None,
    *,
    scope: Annotated[
        str, typer.Option("--scope", help="Approve this call, all like it of this `task`, or `always`.")
    ] = "call",
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Answer a subagent of any process; a task whose process has ended goes on here."""
    from ohm_subagents.cli.requests import answer, read_answer

    given = read_answer(decision, " ".join(words or ()), scope)
    if isinstance(given, str):
        complain(given)
        raise typer.Exit(BAD_USAGE)
    finish(partial(answer, request_id, given, cwd=directory(cwd), config=config))


TASK_COMMANDS: Final[Mapping[Callable[..., None], str]] = MappingProxyType(
    {
        task: "Show one kept task: its tree and its answer.",
        diff: "Show what a task did to files of its own.",
        land: "Make what a task did apart to your files.",
        discard: "Remove what a task did apart.",
        send: "Send a follow-up to a task of any process.",
        cancel: "Stop a task of any process.",
        wait: "Wait until tasks of any process have settled.",
        top: "Show what all processes run, live.",
        requests: "List what subagents wait for.",
        answer: "Answer a subagent that waits.",
    }
)
"""The commands about single tasks, each with its line in the help."""
