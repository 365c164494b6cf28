"""Signals that a process inherits: a child gets the default ones, whatever its host ignores or blocks."""

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ohm_subagents._interpreters.interpreter import has_interpreter

LAUNCHER: Final = Path(__file__).with_name("launcher.py")
_STDERR, _NOT_RUN = 2, 127  # as the launcher has them
_RESTORED: Final = frozenset({signal.SIGPIPE, signal.SIGXFSZ})
"""The signals that Python itself ignores, and `subprocess` sets back."""
_OURS: Final = signal.valid_signals() - _RESTORED
"""The signals that a program may set, without those of the C library, which its `posix_spawn` leaves ignored."""


def launched(command: Sequence[str], *, parent: int = 0, status: int = _STDERR) -> tuple[str, ...]:
    """Return the command, by way of the launcher, which sets all signals back and becomes it; see there.

    What a host ignores or blocks (`nohup`, `&`, a daemon, a server that waits for its signals), a program that it
    starts ignores and blocks too: it hears no SIGINT and no SIGTERM. `subprocess` sets back only what Python ignores.
    `preexec_fn` is not safe where there are threads; `os.posix_spawn` knows no directory and makes no process that an
    event loop waits for; to change our own dispositions meanwhile is for the main thread only, and exposes the host to
    what it had put off; a shell must not set back what it was started with (POSIX), and `env --default-signal` is not
    everywhere. Our own interpreter is there.
    """
    return (sys.executable, "-I", "-S", f"{LAUNCHER}", f"{parent}", f"{status}", *command)


def with_default_signals(command: Sequence[str]) -> tuple[str, ...]:
    """Have a child of this thread start with default signals: at no cost where the host has them itself.

    Elsewhere it goes by way of the launcher, which takes some 15 ms.
    """
    return launched(command) if masks_signals() and has_interpreter() else (*command,)


def start_failure(command: Sequence[str], code: int, errors: str) -> str | None:
    """Tell why a command with default signals did not start, if that is how it ended.

    Without the launcher, the operating system's error is raised instead.
    """
    name = f"{command[0]}: "
    return errors.removeprefix(name).strip() if code == _NOT_RUN and errors.startswith(name) else None


def masks_signals() -> bool:
    """Tell whether a child of this thread would inherit a signal that is ignored or blocked."""
    if signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        return True
    if sys.platform != "linux":
        return any(signal.getsignal(number) is signal.SIG_IGN for number in _OURS)
    status = Path("/proc/self/status").read_bytes()  # it knows also what was not ignored by Python
    ignored = int(status.partition(b"SigIgn:")[2].split(maxsplit=1)[0], 16)
    return bool(ignored & sum(1 << number - 1 for number in _OURS))
