"""Orphans: the processes whose environment carries the mark of a run, and their end.

A mark is one part of the marker, which names a process and those around it: `<outer>/<host>.<n>`. Standard library only
on Linux: `reaper_script` imports it without any package.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import TypeAlias

    Identity: TypeAlias = tuple[int, float]
    """A pid and when it started: a pid alone may be another process's by now."""

MARKER = "OHM_SUBAGENT_RUN_ID"
_PROC = "/proc"
_HAS_PROC = sys.platform == "linux"
_MOMENT_S, _PAUSE_S = 0.001, 0.005
_LOOKING_S = 0.5
_PATIENCE_S = 2.0
_FLAGS, _STARTED, _CODE, _ENV_START, _ENV_END = 6, 19, 23, 47, 48
_PF_KTHREAD = 0x00200000


def carries(environ: bytes, mark: str) -> bool:
    """Return True if this environment block carries the mark, alone or among those of the processes around it.

    The mark of a host, `<host>`, is carried by whatever has one of its children's, `<host>.<n>`.
    """
    name, wanted = f"{MARKER}=".encode(), mark.encode()
    if wanted not in environ:
        return False
    markers = (entry[len(name) :] for entry in environ.split(b"\0") if entry.startswith(name))
    parts = (part for marker in markers for part in marker.split(b"/"))
    return any(part == wanted or part.startswith(wanted + b".") for part in parts)


def marked_processes(mark: str) -> Iterator[Identity]:
    """Yield the living processes that carry the mark, each as soon as it is seen; takes milliseconds and reads files.

    Looks again for those that were started meanwhile, until there are none, because a process that forks and exits is
    never to be seen in one look; and for those whose program was just being loaded.
    """
    deadline = time.monotonic() + _LOOKING_S
    seen: set[int] = set()
    loading: set[int] = set()
    while (fresh := _pids() - seen) or loading:
        if seen and time.monotonic() > deadline:  # never before the first look: a machine may be slower than that
            return
        if not fresh:
            time.sleep(_MOMENT_S)
        seen |= fresh
        again = loading.copy()
        loading.clear()
        for pid in fresh | again:
            environ, identity = _environ(pid), None
            if environ and carries(environ, mark):
                identity, environ = identified(pid), _environ(pid)  # again: the pid may be another's by now
            if environ is None and not (pid in again and _is_bare(pid)):
                loading.add(pid)
            elif environ and identity and carries(environ, mark):
                yield identity


def identified(pid: int) -> Identity | None:
    """Return the process, unless it has ended; a zombie has."""
    started = _started(pid)
    return None if started is None else (pid, started)


def signal_to(identity: Identity, number: int) -> None:
    """Send a signal, unless the process has ended, and the pid may be another's by now."""
    pid, _ = identity
    if identified(pid) == identity:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def await_end(processes: Collection[Identity], patience_s: float = _PATIENCE_S) -> None:
    """Wait until none of them lives; they are not our children, so the kernel does not report their end."""
    deadline = time.monotonic() + patience_s
    while any(identified(identity[0]) == identity for identity in processes) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)


def end(mark: str, *, spare: Collection[int] = (), patience_s: float = _PATIENCE_S) -> bool:
    """Kill all that carry the mark but those to spare, until none is found; return True if it came to that.

    Only a process that the kernel does not let go, or one that belongs to another user, outlasts our patience.
    """
    deadline = time.monotonic() + patience_s
    while True:
        is_empty = True
        for identity in marked_processes(mark):
            if identity[0] not in spare:
                is_empty = False
                signal_to(identity, signal.SIGKILL)
        if is_empty or time.monotonic() > deadline:
            return is_empty
        time.sleep(_PAUSE_S)  # as above


def _pids() -> set[int]:
    if _HAS_PROC:
        return {int(name) for name in os.listdir(_PROC) if name.isdecimal()}  # noqa: PTH208  no pathlib, see above
    import psutil  # noqa: PLC0415  not on Linux, see above

    return {*psutil.pids()}


def _environ(pid: int) -> bytes | None:
    """Return the environment that the process was started with; empty if it has ended or is not ours to see.

    None if it has none, as it seems while its program is loaded: the old one is gone, and the new one not there yet.
    """
    if _HAS_PROC:
        environ = _read(f"{_PROC}/{pid}/environ")
        return None if environ == b"" and _is_alive(pid) else environ or b""
    import psutil  # noqa: PLC0415  not on Linux, see above

    try:
        return "\0".join(f"{name}={value}" for name, value in psutil.Process(pid).environ().items()).encode()
    except (psutil.Error, OSError):
        return b""


def _started(pid: int) -> float | None:
    """Return when the process started, in a unit of the system's own; None if it has ended."""
    if _HAS_PROC:
        return float(stat[_STARTED]) if (stat := _stat(pid)) else None
    import psutil  # noqa: PLC0415  not on Linux, see above

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def _is_alive(pid: int) -> bool:
    """Return True for a living process that is none of the kernel's own, which never have an environment."""
    stat = _stat(pid)
    return bool(stat) and not int(stat[_FLAGS]) & _PF_KTHREAD


def _is_bare(pid: int) -> bool:
    """Return True if its environment is empty; one that is being loaded looks so too, but has no code address yet."""
    stat = _stat(pid)
    return bool(stat) and stat[_ENV_START] == stat[_ENV_END] != b"0" != stat[_CODE]


def _stat(pid: int) -> list[bytes]:
    """Return the fields of proc_pid_stat(5) from the third on; none if the process has ended, as a zombie has."""
    fields = (_read(f"{_PROC}/{pid}/stat") or b"").rpartition(b")")[2].split()
    return [] if fields[:1] in ([b"Z"], [b"X"]) else fields


def _read(path: str) -> bytes | None:
    """Return the content of a file, empty if it went away meanwhile; None if it cannot be opened."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        parts: list[bytes] = []
        while part := os.read(file, 1 << 17):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(file)
