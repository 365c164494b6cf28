"""The place of the server of a user: its socket, in a directory for nobody else; and how it is started."""

from __future__ import annotations

import os
import select
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from ohm_subagents._concurrency.file_lock import locked
from ohm_subagents._config.env import CEILING_VARIABLE, CHILD_VARIABLE, DEPTH_VARIABLE, TASK_VARIABLE, config_dir
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyio.abc import ByteStream

RUN_VARIABLE: Final = "OHM_SUBAGENT_RUN_ID"
_OF_ONE_RUN: Final = frozenset({RUN_VARIABLE, TASK_VARIABLE, CEILING_VARIABLE, CHILD_VARIABLE, DEPTH_VARIABLE})
"""The variables of a run: whatever has them ends with it, which a server must not."""
READY: Final = "ready"
"""The line on standard output with which a server says that it listens."""
STARTS_WITHIN_S: Final = 60
"""A server that takes longer to listen is taken for one that hangs."""
GREETS_WITHIN_S: Final = 60
"""A server that takes longer to open an `Ohm` is taken for one that hangs, say one that a signal has stopped."""
LONGEST_LOG: Final = 1024 * 1024
"""A log of more bytes is put aside, in place of the one before, when a server starts."""
_START: Final = "from ohm_subagents.cli.main import main; main()"


class ServerError(Exception):
    """There is no connection to a server; `error` says why."""

    def __init__(self, error: OhmError) -> None:
        super().__init__(str(error))
        self.error = error


def unreachable(message: str, advice: str = "") -> OhmError:
    """Return the error of a server that cannot be reached."""
    return OhmError(code=ErrorCode.SERVER_UNREACHABLE, message=message, advice=advice, retryable=True)


def end_it(path: Path) -> str:
    """Return the advice about a server that does not answer at a socket."""
    return f"End its process by a signal; `fuser {path}` tells which one that is."


def socket_of(env: Mapping[str, str]) -> Path:
    """Return the socket of the server of this user, for the configuration directory of this environment."""
    runtime = env.get("XDG_RUNTIME_DIR", "").strip()
    directory = Path(runtime) / "ohm" if runtime.startswith("/") else Path(gettempdir()) / f"ohm-{os.getuid()}"
    digest = sha256(os.fsencode(os.path.realpath(config_dir(env)))).hexdigest()[:16]
    return directory / f"{digest}.sock"


def make_private(directory: Path) -> None:
    """Make the directory of a socket, for nobody else. Raises `ServerError` where it is somebody else's."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise ServerError(
            unreachable(f"The directory '{directory}' of the server cannot be made: {error.strerror}.")
        ) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise ServerError(
            unreachable(
                f"The directory '{directory}' of the server is open to other users.",
                f"Remove it, or allow it to nobody else: chmod 700 {directory}.",
            )
        )


def is_same_user(connection: socket.socket) -> bool:
    """Return True if the process at the other end is of our user; the directory alone says so where nothing tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.getuid()


async def connected(path: Path) -> ByteStream | None:
    """Return a connection to the server at a socket; None if nobody listens there."""
    try:
        return await anyio.connect_unix(path)
    except OSError:
        return None


async def connected_or_started(path: Path, env: Mapping[str, str]) -> ByteStream:
    """Return a connection to the server of this user, which is started if there is none. Raises `ServerError`."""
    make_private(path.parent)
    found = await connected(path)
    if found is not None:
        return found
    async with locked(path.with_suffix(".starting")):  # of many programs that find none, one starts it
        found = await connected(path)
        if found is None:
            await to_thread.run_sync(_start, path, {**env})
            found = await connected(path)
    if found is None:
        raise ServerError(unreachable(f"The server that was started does not listen at '{path}'.", _log_hint(path)))
    return found


def _start(path: Path, env: dict[str, str]) -> None:
    """Start the server as a process of its own, and return when it listens."""
    kept = {name: value for name, value in env.items() if name not in _OF_ONE_RUN}
    with open(_log_of(path), "ab", opener=_privately) as log:
        server = subprocess.Popen(  # noqa: S603  our own interpreter
            [sys.executable, "-c", _START, "serve", "--socket", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=kept,
            cwd="/",
            start_new_session=True,
        )
    with server.stdout or log as told:
        ready = select.poll()
        ready.register(told, select.POLLIN)
        if not ready.poll(STARTS_WITHIN_S * 1000):
            server.kill()
            server.wait()
            wrong = f"The server that was started did not listen within {STARTS_WITHIN_S} seconds, and was ended."
            raise ServerError(unreachable(wrong, _log_hint(path)))
        is_ready = told.readline().strip() == READY.encode()
    if not is_ready:
        raise ServerError(unreachable(f"The server could not be started (exit code {server.wait()}).", _log_hint(path)))
    server.returncode = 0  # it is on its own: nobody waits for it


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)


def _log_of(path: Path) -> Path:
    """Return the log of the servers at a socket; a long one is put aside first."""
    log = path.with_suffix(".log")
    with suppress(FileNotFoundError):
        if log.stat().st_size > LONGEST_LOG:
            log.replace(path.with_suffix(".log.1"))
    return log


def _log_hint(path: Path) -> str:
    return f"Its log is '{path.with_suffix('.log')}'."
