"""The processes that share a store: not mistaken for a later one with the same pid."""

import os
import platform
from functools import cache
from pathlib import Path
from typing import Final

from ohm_subagents._records import dataclass

_PROC: Final = Path("/proc")
_STATE, _STARTED = 0, 19
_DEAD: Final = frozenset({"Z", "X"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process of this or another machine."""

    pid: int
    """Its number."""
    started: str
    """The time at which it began, in the system's own words: a clock that is set does not change them."""
    boot: str
    """The start of its machine: with `namespace`, where `pid` means something."""
    namespace: str
    """Its namespace of pids."""

    @classmethod
    def current(cls) -> "Process":
        """Return this process."""
        return cls(pid=os.getpid(), started=_started(os.getpid()) or "", boot=_boot(), namespace=_namespace())

    @property
    def is_seen_here(self) -> bool:
        """True if its pid means something here: it is one of this machine, since its last start."""
        return (self.boot, self.namespace) == (_boot(), _namespace())

    def is_running(self) -> bool:
        """Return True if it still runs; only for one that is seen from here."""
        return _started(self.pid) == self.started


def _started(pid: int) -> str | None:
    """Return when a process began; None if there is none, or only what its parent has not yet collected."""
    if not os.path.exists(_PROC / "self" / "stat"):
        return _started_elsewhere(pid)
    try:  # read here, since psutil takes 10 ms to import
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE] in _DEAD else fields[_STARTED]


def _started_elsewhere(pid: int) -> str | None:
    import psutil  # noqa: PLC0415  not on Linux, see above

    try:
        process = psutil.Process(pid)
        return None if process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD} else str(process.create_time())
    except psutil.Error:
        return None


@cache
def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()


@cache
def _namespace() -> str:
    try:
        return str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return ""
