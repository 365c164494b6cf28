"""Wakes other processes of this machine that share the file: each has a named pipe for what it wants to be told."""

from __future__ import annotations

import errno
import os
import select
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ohm_subagents.store import Followers
from ohm_subagents.stores.sqlite.place import make_private

if TYPE_CHECKING:
    from pathlib import Path

Topic = Literal["commands", "events", "settled"]
FOLDER: Final = "ohm.subagents.wakers"
LOOK_S: Final = 0.25
"""The interval at which a process looks where there are no named pipes: on a network file system, and on Windows."""
_TICK_NS: Final = 100_000_000
"""More than the time between two changes of a directory that show as one."""
_WAKE: Final = b"w"
_END: Final = b"e"


class Told(NamedTuple):
    """The news of a transaction.

    Fields:
        has_events: events of tasks.
        has_settled: tasks that have settled, or ask.
        commands_to: the owners who have got a command or a reply.
    """

    has_events: bool
    has_settled: bool
    commands_to: set[int]

    def is_for(self, topic: str, owner: int) -> bool:
        """Return True if it has news of a topic for an owner."""
        if topic == "commands":
            return owner in self.commands_to
        return self.has_events if topic == "events" else self.has_settled


class Wakers:
    """The pipes beside the file; `owner` is the number of this store among those that share it."""

    def __init__(self, directory: Path, *, owner: int, is_usable: bool) -> None:
        self.folder = directory / FOLDER
        self._place = str(self.folder)
        self.owner = owner
        self.is_usable = is_usable and hasattr(os, "mkfifo")
        self._own: tuple[Waker, ...] = ()
        self._listed: tuple[int, tuple[tuple[str, int, str], ...]] = (0, ())

    def all(self) -> tuple[Waker, Waker, Waker]:
        """Make what tells this process of commands, of events, and of what has settled or asks."""
        self._own = Waker(self, "commands"), Waker(self, "events"), Waker(self, "settled")
        return self._own

    def tell(self, told: Told) -> None:
        """Tell what a transaction has brought; from any thread."""
        for waker in self._own:
            if told.is_for(waker.topic, self.owner):
                waker.wake()
        for topic, owner, name in self._listening():
            if owner != self.owner and told.is_for(topic, owner):
                self._wake(name)

    def _listening(self) -> tuple[tuple[str, int, str], ...]:
        """Return who listens to what; read only where that has changed, for it is asked after each transaction."""
        try:
            changed = os.stat(self._place).st_mtime_ns  # noqa: PTH116  a Path is made anew each time
        except OSError:  # nobody ever has
            return ()
        if changed != self._listed[0]:
            is_certain = time.time_ns() - changed > _TICK_NS  # else another change may not show
            found: list[tuple[str, int, str]] = []
            with suppress(OSError):
                for pipe in self.folder.iterdir():
                    topic, owner, *_ = [*pipe.name.split("."), ""]
                    if owner.isdecimal():
                        found.append((topic, int(owner), pipe.name))
            self._listed = changed if is_certain else 0, tuple(found)
        return self._listed[1]

    def _wake(self, name: str) -> None:
        path = self.folder / name
        try:
            pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as exc:
            if exc.errno == errno.ENXIO:  # its process has died
                path.unlink(missing_ok=True)
            return
        try:
            os.write(pipe, _WAKE)
        except OSError:  # it is full: enough has been told
            return
        finally:
            os.close(pipe)


class Waker:
    """Tells followers of one topic, whichever process has news of it: a `Notifier`."""

    def __init__(self, wakers: Wakers, topic: Topic) -> None:
        self.topic = topic
        self._wakers = wakers
        self._path = wakers.folder / f"{topic}.{wakers.owner}.{os.getpid()}"
        self._followers = Followers(on_first=self._listen, on_last=self.close)
        self.follow, self.wake = self._followers.follow, self._followers.wake
        self._pipe: int | None = None
        self._thread: threading.Thread | None = None

    @property
    def look_s(self) -> float | None:
        """See `Notifier`."""
        return LOOK_S if self._pipe is None else None

    def _listen(self) -> None:
        if not self._wakers.is_usable:
            return
        new = self._path.with_name(f"new.{self._path.name}")
        try:
            make_private(self._wakers.folder)
            new.unlink(missing_ok=True)
            os.mkfifo(new, 0o600)
            pipe = os.open(new, os.O_RDWR | os.O_NONBLOCK)
            new.rename(self._path)  # now it has a reader: one without is taken for that of a dead process
        except OSError:  # then it looks
            return
        self._pipe = pipe
        self._thread = threading.Thread(target=self._run, args=(pipe,), name="ohm-subagents waker", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no more."""
        pipe, self._pipe = self._pipe, None
        if pipe is None or self._thread is None:
            return
        with suppress(OSError):
            self._path.unlink()
        with suppress(OSError):
            os.read(pipe, 65536)  # it must not be full
        os.write(pipe, _END)
        self._thread.join()
        os.close(pipe)

    def _run(self, pipe: int) -> None:
        ready = select.poll()
        ready.register(pipe, select.POLLIN)
        while True:
            ready.poll()
            with suppress(BlockingIOError):
                if _END in os.read(pipe, 65536):
                    return
                self.wake()
