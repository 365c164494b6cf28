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
    _limit(resource.RLIMIT_AS, int(memory))
    _limit(resource.RLIMIT_CPU, int(seconds), room=1)  # at the hard limit it would be killed, and nobody told why
    for number in (signal.SIGALRM, signal.SIGXCPU):  # whatever our host ignores or blocks
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.alarm(int(seconds))
    sys.path += paths
    import_module(module).main()


def _limit(what: int, value: int, room: int = 0) -> None:
    _, hard = resource.getrlimit(what)
    soft, most = (each if hard == resource.RLIM_INFINITY else min(each, hard) for each in (value, value + room))
    with suppress(ValueError, OSError):  # not every system limits everything
        resource.setrlimit(what, (soft, most))


if __name__ == "__main__":
    main(sys.argv[1:])
