"""The reaper, run as a script by `reaper`: end what a host has left, once the host is gone.

It waits for the end of its standard input, and then ends everything that carries the mark and removes a folder
(arguments: mark, pid of the host, grace in seconds, folder). It imports `orphans` from beside it and the standard
library only, so that it starts in 15 ms and needs nothing that might be gone when the host is.
"""

import os
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ohm_subagents.shell.orphans import await_end, end, marked_processes, signal_to
else:
    sys.path.append(os.path.dirname(__file__))  # noqa: PTH120  no pathlib, see above; at the end: it hides no module
    from orphans import await_end, end, marked_processes, signal_to


def guard(mark: str, host: int, grace_s: float, folder: str) -> None:
    """Wait for the end of the host, however it comes, then end all that carry the mark: TERM, a while, KILL.

    What they had in the folder goes last: logins are among it, and conversations.
    """
    _await_end_of(host)
    left = [*marked_processes(mark)]
    for identity in left:
        signal_to(identity, signal.SIGTERM)
    await_end(left, grace_s)
    end(mark)
    from shutil import rmtree  # noqa: PLC0415  takes longer to import than all of the rest, and has time now

    rmtree(folder, ignore_errors=True)


def _await_end_of(host: int) -> None:
    """Until the pipe from the host closes; a fork of the host may hold it open, so the host itself is watched too."""
    ends = select.poll()
    ends.register(0, select.POLLIN)
    if hasattr(os, "pidfd_open"):
        try:
            ends.register(os.pidfd_open(host), select.POLLIN)
        except ProcessLookupError:
            return
        except OSError:  # this system has no such descriptors, so the pipe has to do
            pass
    ends.poll()


if __name__ == "__main__":
    guard(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
