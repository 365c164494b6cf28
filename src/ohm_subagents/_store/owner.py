"""Who owns a task: a process, told apart from a later one with the same number."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

HEARTBEAT_S: Final = 5
SILENT_MS: Final = 30_000
"""A process that nobody here can see is dead when it has been silent for this long."""

_PROC: Final = Path("/proc")
_STATE, _STARTED = 0, 19
_GONE: Final = frozenset({"Z", "X"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """`started` is in the system's own words; `boot` and `namespace` say where `pid` means something."""

    pid: int
    started: str
    boot: str
    namespace: str

    @classmethod
    def current(cls) -> Process:
        """This one."""
        return cls(pid=os.getpid(), started=_started(os.getpid()) or "", boot=_boot(), namespace=_namespace())

    def is_alive(self, *, heartbeat_ms: int, now_ms: int) -> bool:
        """Whether it still runs; where its number means nothing, whether it was heard of lately."""
        if (self.boot, self.namespace) != (_boot(), _namespace()):
            return now_ms - heartbeat_ms < SILENT_MS
        return _started(self.pid) == self.started


def _started(pid: int) -> str | None:
    """When a process began; None if there is none, or only what its parent has not yet collected."""
    if not (_PROC / "self" / "stat").exists():
        return _started_by_ps(pid)
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE] in _GONE else fields[_STARTED]


def _started_by_ps(pid: int) -> str | None:
    asked = subprocess.run(  # noqa: S603  a fixed program and a number
        ["/bin/ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = asked.stdout.strip().partition(" ")
    return None if not state or state[0] in _GONE else started.strip()


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


def wall_clock_ms() -> int:
    """Heartbeats are read by other processes, who know nothing of an injected clock."""
    return time.time_ns() // 1_000_000
