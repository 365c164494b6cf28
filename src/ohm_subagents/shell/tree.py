"""A process, its group and its descendants, as the process table has them."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from ohm_subagents.shell import orphans

if TYPE_CHECKING:
    from ohm_subagents.shell.orphans import Identity


_MOST_LOOKS = 10


class Tree:
    """A process that leads its own session, and those below it as far as they were seen.

    What carries our mark is found without this. It is for what does not, as far as it is below the process when that is
    stopped: where no environment can be read, and what was started with an empty one or with another mark. Daemons are
    below it too if the launcher has started it. A pid that is another process's by now is never signalled.
    """

    def __init__(self, pid: int, wrappers: int = 0) -> None:
        """`wrappers` is the number of processes between it and its command, each with the next as its only child."""
        self._pid = pid
        self._wrappers = wrappers
        self._leader = _process(pid)
        self._seen: set[Identity] = set()

    def see(self) -> None:
        """Note the processes below it now: once a process has ended, they cannot be found. Reads the table.

        Looks twice, and on while there is a new one: one whose parent ends meanwhile is below none in the table.
        """
        for look in range(_MOST_LOOKS):
            before = len(self._seen)
            self._look()
            if look and len(self._seen) == before:
                return

    def _look(self) -> None:
        if self._leader:
            with suppress(psutil.Error):
                for process in self._leader.children(recursive=True):
                    identity = orphans.identified(process.pid)
                    if identity and process.is_running():
                        self._seen.add(identity)

    def signal(self, number: signal.Signals) -> None:
        """Signal the command itself."""
        if self._leader:
            with suppress(psutil.Error):
                self._command(self._leader).send_signal(number)

    def _command(self, process: psutil.Process) -> psutil.Process:
        """Return the command behind the wrappers; the last of these that there is, while they start."""
        for _ in range(self._wrappers):
            children = process.children()
            if not children:
                break
            process = children[0]
        return process

    def kill(self) -> None:
        """Kill the group and everyone that was seen, and wait for the end of those."""
        if self._is_group_ours():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        for identity in self._seen:
            orphans.signal_to(identity, signal.SIGKILL)
        orphans.await_end(self._seen)

    def _is_group_ours(self) -> bool:
        """While its leader or any member lives, no other process can get the pid, and so none can lead such a group."""
        return (self._leader is not None and self._leader.is_running()) or not psutil.pid_exists(self._pid)


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None
