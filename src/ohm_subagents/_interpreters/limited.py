"""A script: run the `main` of a module of ours within limits, which the kernel keeps, whatever the module does.

`python -I -S limited.py <bytes of memory> <seconds> <module> <import paths…>`. The seconds are those of the processor,
and those on the clock. Standard library only, so that it starts at once.
"""

from __future__ import annotations

import resource
import signal
import sys
from contextlib import suppress
from importlib import import_module


def main(arguments: list[str]) -> None:
    memory, seconds, module, *paths = arguments
    limit(int(memory), int(seconds))
    for number in (signal.SIGALRM, signal.SIGXCPU):  # whatever our host ignores or blocks
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.alarm(int(seconds))
    sys.path += paths
    import_module(module).main()


def limit(memory: int, seconds: int, pid: int = 0) -> None:
    """Limit this process, or on Linux another: within the hard limits that it has, and as far as the system can."""
    _limit(resource.RLIMIT_AS, memory, memory, pid)
    _limit(resource.RLIMIT_CPU, seconds, seconds + 1, pid)  # at the hard limit it is killed, and gives no reason


def _limit(what: int, soft: int, most: int, pid: int) -> None:
    with suppress(ValueError, OSError):  # not every system limits everything, and a process may be over already
        _, hard = resource.prlimit(pid, what) if pid else resource.getrlimit(what)
        if hard != resource.RLIM_INFINITY:
            soft, most = min(soft, hard), min(most, hard)
        if pid:
            resource.prlimit(pid, what, (soft, most))
        else:
            resource.setrlimit(what, (soft, most))


if __name__ == "__main__":
    main(sys.argv[1:])
