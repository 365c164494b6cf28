"""The proof that a sandbox holds here: a program in it tries to get out."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ohm_subagents.sandbox.box import Box
from ohm_subagents.sandbox.machine import this_machine

ATTEMPTS: Final = ("write outside of its directory", "read a secret", "reach the network")
_PATIENCE_S: Final = 30
_DONE: Final = "work"
_PROGRAM: Final = """
import socket, sys
outside, port = sys.argv[1:]
def write():
    open(f"{outside}/new", "w").close()
def read():
    open(f"{outside}/secret").close()
def reach():
    socket.create_connection(("127.0.0.1", int(port)), 5).close()
def work():
    open("made", "w").close()
for attempt in (write, read, reach, work):
    try:
        attempt()
        print(attempt.__name__)
    except OSError:
        pass
"""


def escaped() -> tuple[str, ...]:
    """Try the sandbox of this machine, in a moment; return what a program in it could do and must not.

    Raises OSError with the reason if the program does not even run there. Call it in a thread, where a mechanism is.
    """
    machine = this_machine()
    if machine.mechanism is None:
        raise OSError(machine.lacks)
    with TemporaryDirectory(prefix="ohm-sandbox-") as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        outside, workspace, private = (Path(folder, name) for name in ("outside", "workspace", "private"))
        for each in (outside, workspace, private):
            each.mkdir(mode=0o700)
        (outside / "secret").write_text("secret", encoding="utf-8")
        box = Box(mechanism=machine.mechanism, program=machine.bubblewrap, workspace=workspace, home=private / "home")
        command = (sys.executable, "-I", "-S", "-c", _PROGRAM, f"{outside}", f"{listener.getsockname()[1]}")
        held = box.around(command, cwd=workspace, env={}, folder=private, dies_with_us=False)
        try:
            ended = subprocess.run(  # noqa: S603  our own program
                held.command,
                env=held.env,
                cwd=workspace,
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
                check=False,
            )
        except subprocess.SubprocessError as error:
            raise OSError(*error.args) from error
    done = ended.stdout.split()
    if _DONE not in done:
        why = ended.stderr.strip().rpartition("\n")[2] or f"it ended with code {ended.returncode}"
        raise OSError(why)
    return tuple(what for name, what in zip(("write", "read", "reach"), ATTEMPTS, strict=True) if name in done)
