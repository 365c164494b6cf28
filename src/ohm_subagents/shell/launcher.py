"""A script: become a command that starts with every signal at its default and none blocked, whatever ours are.

`python -I -S launcher.py <pid of the parent> <status> <program> <arguments…>`. To the descriptor `status` goes "+" when
this script runs, then the error number if the program does not; it closes as soon as the program runs. With 2, standard
error, a program that does not run is told in a line there, and the exit code is a shell's.

A command with a status is supervised (Linux): the kernel ends it when the process that started it is killed, unless 0
is given for the pid; and its daemons stay below it, so that a look at its tree finds them, whatever they have made of
their environment. What it does not wait for is a zombie until it ends.
"""

from __future__ import annotations

import os
import sys

_C_SIGNALS = __import__("_signal")  # `signal` takes 5 ms to import, and type checkers do not know what is below it
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_STDERR, _NOT_RUN = 2, 127


def main(arguments: list[str]) -> None:
    """Become the command; the arguments are the id of the parent, the file that is told of a failure, the command."""
    parent, status, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    _reset_signals()
    if status != _STDERR:
        os.set_inheritable(status, False)  # noqa: FBT003  it has no keywords
        if sys.platform == "linux":
            _supervise(parent)
        os.write(status, b"+")
    try:
        os.execvpe(command[0], command, _environment())  # noqa: S606  no shell is what we want
    except OSError as error:
        told = f"{error.errno}" if status != _STDERR else f"{command[0]}: {error.strerror}\n"
        os.write(status, os.fsencode(told))
        sys.exit(_NOT_RUN)


def _reset_signals() -> None:
    """Reset the signals that this process may change; a program inherits the ignored and the blocked."""
    for number in _C_SIGNALS.valid_signals():
        if _C_SIGNALS.getsignal(number) == _C_SIGNALS.SIG_IGN:
            _C_SIGNALS.signal(number, _C_SIGNALS.SIG_DFL)
    _C_SIGNALS.pthread_sigmask(_C_SIGNALS.SIG_SETMASK, ())


def _supervise(parent: int) -> None:
    import ctypes  # noqa: PLC0415  it takes longer than all of the rest

    control = ctypes.CDLL(None).prctl
    control(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if parent:
        control(_PR_SET_PDEATHSIG, _C_SIGNALS.SIGTERM, 0, 0, 0)
    if parent and os.getppid() != parent:  # it was killed before the kernel knew whom to tell
        os.kill(os.getpid(), _C_SIGNALS.SIGKILL)


def _environment() -> dict[bytes, bytes]:
    """As it was given to us, where that can be read: without a locale, Python adds one to `os.environ`."""
    if sys.platform != "linux":
        return dict(os.environb)
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  pathlib takes longer to import than all of the rest
        entries = file.read().split(b"\0")
    return {name: value for name, _, value in (entry.partition(b"=") for entry in entries) if name}


if __name__ == "__main__":
    main(sys.argv[1:])
