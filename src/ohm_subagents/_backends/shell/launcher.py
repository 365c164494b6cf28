"""A script: become a command that the kernel ends when the process that started it is killed (Linux).

Its daemons stay below it, so that a look at its tree finds them, whatever they have made of their environment. What
it does not wait for is a zombie until it ends.

`python -I -S launcher.py <pid of the parent> <status> <program> <arguments…>`. To the descriptor `status` goes "+" when
this script runs, then the error number if the program does not; it closes as soon as the program runs.
"""

from __future__ import annotations

import ctypes
import os
import sys

_C_SIGNALS = __import__("_signal")  # `signal` takes 5 ms to import, and type checkers do not know what is below it
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main(arguments: list[str]) -> None:
    parent, status, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    os.set_inheritable(status, False)  # noqa: FBT003  it has no keywords
    control = ctypes.CDLL(None).prctl
    control(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    control(_PR_SET_PDEATHSIG, _C_SIGNALS.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it was killed before the kernel knew whom to tell
        os.kill(os.getpid(), _C_SIGNALS.SIGKILL)
    for ignored_by_python in (_C_SIGNALS.SIGPIPE, _C_SIGNALS.SIGXFSZ):
        _C_SIGNALS.signal(ignored_by_python, _C_SIGNALS.SIG_DFL)
    os.write(status, b"+")
    try:
        os.execve(command[0], command, _environment())  # noqa: S606  no shell is what we want
    except OSError as error:
        os.write(status, f"{error.errno}".encode())


def _environment() -> dict[bytes, bytes]:
    """As it was given to us: without a locale, Python adds one to `os.environ`."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  pathlib takes longer to import than all of the rest
        entries = file.read().split(b"\0")
    return {name: value for name, _, value in (entry.partition(b"=") for entry in entries) if name}


if __name__ == "__main__":
    main(sys.argv[1:])
