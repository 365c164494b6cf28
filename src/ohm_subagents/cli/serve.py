"""`ohm serve`, as it is typed."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path  # noqa: TC003  typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ohm_subagents.commands import BAD_USAGE, SUCCESS, TASK_FAILED, complain, finish, typed_path

if TYPE_CHECKING:
    from anyio import Event

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}


def typed_seconds(typed: str | float) -> float:
    """Read a time such as 90s, 10m or 2h from the command line."""
    found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]+)?)([smh])", str(typed))
    if found is None:
        message = f"'{typed}' is no time; allowed: a number with s, m or h, such as 90s, 10m or 2h."
        raise typer.BadParameter(message)
    return float(found[1]) * _SECONDS[found[2]]


def serve(
    *,
    idle_after: Annotated[
        float,
        typer.Option(
            "--idle-after",
            metavar="<time>",
            help="End when no program was connected and no task ran for so long: 90s, 10m, 2h.",
            parser=typed_seconds,
        ),
    ] = "10m",  # type: ignore[assignment]  # typer parses the default too
    status: Annotated[bool, typer.Option("--status", help="Tell about the server that runs.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the server that runs, and the tasks in it.")] = False,
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="<path>", help="Listen at this socket.", parser=typed_path),
    ] = None,
) -> None:
    """Own the tasks of programs that open an `Ohm` with `server`; such a program starts it by itself."""
    if status or stop:
        finish(partial(_asked, socket, stops=stop))
    finish(partial(_served, socket, idle_after))


async def _served(socket: Path | None, idle_s: float) -> int:
    import logging

    from ohm_subagents._terminal.signals import aborted_by_signal
    from ohm_subagents.cli.server_log import FieldsFormatter
    from ohm_subagents.commands import print_text
    from ohm_subagents.serve import READY, serve

    handler = logging.StreamHandler()
    handler.setFormatter(FieldsFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])

    async def served(stop: Event) -> str | None:
        return await serve(_place(socket), idle_s=idle_s, listening=lambda: print_text(READY), stop=stop)

    wrong, ended = await aborted_by_signal(served)
    if wrong is not None:
        complain(wrong)
        return BAD_USAGE
    return SUCCESS if ended is None else 128 + ended


async def _asked(socket: Path | None, *, stops: bool) -> int:
    from ohm_subagents import Err
    from ohm_subagents.commands import print_text
    from ohm_subagents.serve import ask_server

    told = await ask_server(_place(socket), stops=stops)
    if isinstance(told, Err):
        complain(f"{told.err_value}")
        return TASK_FAILED
    if told.ok_value is None:
        complain("No server runs.")
        return SUCCESS if stops else TASK_FAILED
    state, at = "Stopped" if stops else "Running", told.ok_value
    print_text(f"{state}: process {at.pid}, release {at.release}, {at.clients} programs, {at.tasks} tasks.")
    return SUCCESS


def _place(socket: Path | None) -> Path:
    from ohm_subagents.config import process_env
    from ohm_subagents.serve import socket_of

    return socket_of(process_env()) if socket is None else socket.absolute()
