"""A host that hears no signals: each that can be is ignored, and some are blocked. Its children must hear them."""

import signal
from contextlib import contextmanager

IGNORED = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE, signal.SIGTSTP, signal.SIGTTOU),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGWINCH, signal.SIGRTMIN + 3),
)
BLOCKED = (signal.SIGTERM, signal.SIGUSR2, signal.SIGCHLD, signal.SIGRTMAX)
SHOW = "grep -E '^Sig(Ign|Blk)' /proc/self/status"
HEARS_ALL = [("SigBlk", 0), ("SigIgn", 0)]


@contextmanager
def deafened(ignored=IGNORED, blocked=BLOCKED):
    """This process, as its children find it."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def hearing():
    """This process, whoever may have started it (`nohup`, `&`), as a terminal would have."""
    ignored = [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]
    for number in {*ignored} - {signal.SIGPIPE, signal.SIGXFSZ}:  # these are Python's own
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def heard(status):
    """Return the signals that a process does not hear, by the lines of its status, but for those that none can set."""
    ours = sum(1 << number - 1 for number in signal.valid_signals())
    fields = (line.partition(":") for line in status.splitlines())
    return [(name, int(mask, 16) & ours) for name, _, mask in fields if name in {"SigBlk", "SigIgn"}]
