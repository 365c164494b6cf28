"""The processes, sockets and directories of the Ray clusters that a program of the tests has started."""

import os
from pathlib import Path

import psutil
from ray_clusters import TOKEN, with_nobody

PLACES = (Path("/tmp"), Path("/dev/shm"))
SIGNS = ("ray", "plasma")
"""The first letters of all that Ray makes there unless it is told to do so elsewhere."""


def found(directory=None):
    """The processes and sockets of clusters of this program, and directories, this one among them; a line each."""
    here = psutil.Process()
    ours = [one for one in psutil.process_iter() if one != here and _is_ours(one)]
    yield from (f"process {one.pid}: {' '.join(with_nobody(one.cmdline) or ())[:100]}" for one in ours)
    yield from (
        f"socket of process {one.pid}: {each.laddr} {each.raddr} {each.status}"
        for one in (here, *ours)
        for each in with_nobody(lambda one=one: one.net_connections("all")) or ()
        if each.status != psutil.CONN_NONE or each.laddr
    )
    places = [one for place in PLACES for one in place.iterdir() if one.name.startswith(SIGNS)]
    yield from (f"directory {one}" for one in (*places, directory) if one is not None and one.exists())


def _is_ours(process):
    """Tell by its environment, which all that a cluster starts has from it, whoever its parent is by now."""
    is_child = with_nobody(process.ppid) == os.getpid()
    return is_child or TOKEN in (with_nobody(process.environ) or {}).values()
