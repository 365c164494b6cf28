"""`ohm ui`: the page, served until a signal comes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Final

import anyio
import typer
from anyio import to_thread
from anyio.lowlevel import checkpoint

from ohm_subagents import Ohm
from ohm_subagents.commands import (
    BAD_USAGE,
    SUCCESS,
    complain,
    is_terminal,
    listener_at,
    print_text,
    report,
    until_signal,
)
from ohm_subagents.config import config_dir, process_env
from ohm_subagents.contract import Err
from ohm_subagents.ui.server import serve_tasks
from ohm_subagents.ui.token import kept_token

if TYPE_CHECKING:
    import socket

HOST: Final = "127.0.0.1"
PORT: Final = 8470
"""The port where none is typed, as long as it is free: a page left open finds the server again."""


async def serve_page(port: int | None, *, cwd: Path, config: Path | None, opens_browser: bool) -> int:
    """Serve the page and print its address, with the token, as the first line; return the exit code."""
    try:
        listener = _listener(port)
    except OSError as error:
        complain(f"Cannot listen at port {port}: {error.strerror or error}. Choose another one, or 0 for any.")
        return BAD_USAGE
    with listener:
        at = listener.getsockname()[1]
        token = kept_token(config_dir(process_env()))
        async with Ohm.open(cwd=cwd, config=config) as ohm:
            report(ohm.diagnostics)
            if isinstance(ohm.inspect().loaded, Err):  # it is among the diagnostics
                return BAD_USAGE
            ended = await until_signal(partial(_served, ohm, listener, token, at, opens_browser=opens_browser))
    return SUCCESS if ended is None else 128 + ended


async def _served(ohm: Ohm, listener: socket.socket, token: str, port: int, *, opens_browser: bool) -> None:
    address = f"http://{HOST}:{port}/?token={token}"
    async with anyio.create_task_group() as group:
        await group.start(partial(serve_tasks, ohm, listener, token=token))
        print_text(address)
        if opens_browser and is_terminal():
            group.start_soon(_opened_in_browser, address)
    await checkpoint()  # tell the command that a signal has ended it


async def _opened_in_browser(address: str) -> None:
    """Open the page by a file of the user alone: every user of the machine sees the arguments of a program."""
    with NamedTemporaryFile("w", prefix="ohm.ui.", suffix=".html") as file:
        file.write(f'<!doctype html><title>ohm</title><meta http-equiv="refresh" content="0;url={address}">')
        file.flush()
        await to_thread.run_sync(typer.launch, Path(file.name).as_uri())
        await anyio.sleep_forever()  # nobody says when the browser has read it


def _listener(port: int | None) -> socket.socket:
    if port is not None:
        return listener_at(HOST, port)
    try:
        return listener_at(HOST, PORT)
    except OSError:
        return listener_at(HOST, 0)
