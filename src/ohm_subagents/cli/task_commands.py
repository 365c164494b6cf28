"""The commands about single tasks and those that run, as they are typed."""

from __future__ import annotations

import math
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from ohm_subagents._terminal.command import typed_count, typed_text
from ohm_subagents.cli.work_commands import TaskId, diff, discard, land
from ohm_subagents.commands import BAD_USAGE, HERE, AsJson, Config, Cwd, complain, directory, finish

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ohm_subagents.views import FleetSort


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
    view = partial(follow, name, cwd, config) if is_followed else VIEWS.get(name) or partial(tree, config)
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
    read(partial(top, wanted, settled or 0, cwd, config), cwd=cwd, config=config)


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
