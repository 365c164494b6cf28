"""Processes that leave nothing behind. Knows no CLI."""

from __future__ import annotations

import signal
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import field, replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Self
from uuid import uuid4

import anyio
from anyio import CancelScope, CapacityLimiter, to_thread

from ohm_subagents._records import dataclass
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.shell import orphans
from ohm_subagents.shell.dialect import Ended
from ohm_subagents.shell.launch import Launch, spawn
from ohm_subagents.shell.lines import Lines, Tail
from ohm_subagents.shell.orphans import MARKER
from ohm_subagents.shell.reaper import Reaper
from ohm_subagents.shell.start import Start

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Generator, Mapping

    from anyio.abc import TaskGroup, TaskStatus

    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.result import Result
    from ohm_subagents.shell.launch import Running

__all__ = ["MARKER", "Child", "Launch", "Supervisor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """The state that the processes of a supervisor share. Its threads are its own: no other work delays an end."""

    tasks: TaskGroup
    grace_s: float
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(4))


@contextmanager
def _uninterrupted() -> Generator[None]:
    """A shield, which swallows no exception and says so to type checkers."""
    with CancelScope(shield=True):
        yield


class Child:
    """A running process and whatever it starts."""

    def __init__(self, launch: Launch, running: Running, mark: str, context: _Context) -> None:
        from ohm_subagents.shell.tree import Tree  # noqa: PLC0415  psutil, for who starts a process

        self._launch = launch
        self._running = running
        self._mark = mark
        self._context = context
        self._lines, self._tail = Lines(running.stdout), Tail(running.stderr)
        self._tree = Tree(running.process.pid, 0 if launch.box is None else launch.box.wrappers)
        self._stopping, self._exited, self._gone = anyio.Event(), anyio.Event(), anyio.Event()
        self._released = anyio.Event()
        self._ended = Ended(code=0)

    @property
    def pid(self) -> int:
        """The process id of the command itself."""
        return self._running.process.pid

    @property
    def dropped_lines(self) -> int:
        """The number of lines that were left out because they were longer than 64 MiB."""
        return self._lines.dropped

    async def write(self, data: bytes) -> None:
        """Write to standard input; what a process that has gone away does not take is lost."""
        await self._running.stdin.write(data)

    def end_input(self) -> None:
        """Let the process read the end of its standard input; for one that was started without a prompt."""
        self._running.stdin.close()

    def lines(self) -> AsyncIterator[bytes]:
        """Standard output, split at line feeds and nothing else, without them; ends with the process.

        For one reader. Who reads no further need not close anything, but the process waits when the pipe is full.
        """
        return self._lines

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield standard output as it comes, not in lines."""
        while chunk := await self._running.stdout.read():
            yield chunk

    async def ended(self, within_s: float | None = None) -> Ended:
        """Wait for the process's own end, then for the end of what it left. After `within_s` it is stopped.

        Lines that the task which calls this has not read are dropped, and those that no task has begun to read; another
        task that reads them gets them all.
        """
        async with anyio.create_task_group() as group:
            group.start_soon(self._lines.drop, anyio.get_current_task().id)
            with anyio.move_on_after(within_s):
                await self._exited.wait()
            if not self._exited.is_set():
                self._stopping.set()
            await self._gone.wait()
            group.cancel_scope.cancel()
        return self._ended

    async def gone(self) -> None:
        """Wait until nothing of it is left. Unlike `ended`, this drops no line: a process may wait for its reader."""
        await self._gone.wait()

    @property
    def has_ended(self) -> bool:
        """The process itself has ended."""
        return self._exited.is_set()

    async def family(self) -> frozenset[int]:
        """Return the pids of the process itself and of what it has started."""
        found: set[int] = set()
        await self._in_thread(lambda: found.update(pid for pid, _ in orphans.marked_processes(self._mark)))
        return frozenset(found)

    async def sweep(self, *, spare: Collection[int] = ()) -> None:
        """End what the process has left running, but not the process itself, nor whom to spare.

        A cancellation does not cut it short.
        """
        if not self._exited.is_set():
            with _uninterrupted():
                await self._in_thread(partial(orphans.end, self._mark, spare={self.pid, *spare}))

    def stop(self) -> None:
        """End it and all that it started, in the background: returns at once. To be called for every process."""
        self._released.set()
        self._stopping.set()

    async def attend(self) -> None:
        """From its start until nothing is left. Not to be cancelled, because then something would be left."""
        try:
            await self._live()
        finally:
            self._gone.set()
        await self._released.wait()  # its files may still be read
        self._launch.on_gone()

    async def _live(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._feed)
            group.start_soon(self._tail.drain)
            async with anyio.create_task_group() as ending:
                ending.start_soon(self._end)
                code = await self._running.process.wait()
                self._ended = Ended(code=code, was_stopped=self._stopping.is_set())
                self._exited.set()
                self._running.close()
                self._stopping.set()  # a waiter need wait no more
            await self._in_thread(self._tree.kill)
            await self._in_thread(partial(orphans.end, self._mark))
        self._ended = replace(self._ended, stderr=self._tail.text)

    async def _feed(self) -> None:
        if self._launch.prompt is not None:
            await self._running.stdin.write(self._launch.prompt)
            self._running.stdin.close()

    async def _end(self) -> None:
        """Ask it to end, wait for a while, end it. Never SIGINT: at that, CLIs go without their children."""
        await self._stopping.wait()
        if self._exited.is_set():
            return
        await self._in_thread(self._tree.see)
        self._tree.signal(signal.SIGTERM)
        with anyio.move_on_after(self._context.grace_s):
            await self._exited.wait()
            return
        await self._in_thread(self._tree.see)
        await self._in_thread(self._tree.kill)

    async def _in_thread(self, work: Callable[[], object]) -> None:
        await to_thread.run_sync(work, limiter=self._context.threads)


class Supervisor:
    """Starts processes and sees that nothing of them is left: after their end, after ours, and when we are killed.

    `folder` is a private directory (0700) for their files, which goes with them.
    """

    def __init__(self, tasks: TaskGroup, grace_s: float, folder: Path) -> None:
        self.folder = folder
        self._context = _Context(tasks=tasks, grace_s=grace_s)
        self._host = uuid4().hex
        self._numbers = count(1)
        self._children: set[Child] = set()
        self._is_closing = False
        self._reaper: Reaper | None = None
        self._reaper_lock = anyio.Lock()

    @classmethod
    @asynccontextmanager
    async def open(cls, *, grace_s: float = 5.0) -> AsyncGenerator[Self]:
        """On leaving, whatever still runs is stopped and waited for."""
        async with AsyncExitStack() as after, anyio.create_task_group() as tasks:
            folder = after.enter_context(TemporaryDirectory(prefix="ohm-shell-", ignore_cleanup_errors=True))
            supervisor = cls(tasks, grace_s, Path(folder))
            after.push_async_callback(supervisor._stop_reaper)
            try:
                yield supervisor
            finally:
                supervisor._stop_all()

    async def start(self, launch: Launch) -> Result[Child, OhmError]:
        """Start a process in a session of its own. An `Err` says in one sentence why it could not be started."""
        start: Start[Child] = Start(partial(self._context.tasks.start, self._run, launch))
        self._context.tasks.start_soon(start.play)
        return await start.result()

    async def _run(self, launch: Launch, *, task_status: TaskStatus[Result[Child, OhmError]]) -> None:
        """One process from its start until nothing of it is left, whatever is cancelled."""
        mark = f"{self._host}.{next(self._numbers)}"
        outer = launch.env.get(MARKER)
        env = {**launch.env, MARKER: f"{outer}/{mark}" if outer else mark}
        with _uninterrupted():
            await self._ensure_reaper()
            match await spawn(launch, env, self.folder):
                case Err() as unusable:
                    task_status.started(unusable)
                case Ok(running):
                    await self._attend(Child(launch, running, mark, self._context), task_status)

    async def _attend(self, child: Child, task_status: TaskStatus[Result[Child, OhmError]]) -> None:
        self._children.add(child)
        task_status.started(Ok(child))
        if self._is_closing:
            child.stop()
        try:
            await child.attend()
        finally:
            self._children.discard(child)

    async def _ensure_reaper(self) -> None:
        """Before the first process, so that none is ever without."""
        async with self._reaper_lock:
            if self._reaper is None:
                self._reaper = await Reaper.start(self._host, self._context.grace_s, self.folder)

    def _stop_all(self) -> None:
        self._is_closing = True
        for child in self._children:
            child.stop()

    async def _stop_reaper(self) -> None:
        with _uninterrupted():
            if self._reaper:
                await self._reaper.dismiss()


_MOST_OUTPUT: Final = 1 << 20


async def output_of(
    supervisor: Supervisor, command: tuple[str, ...], env: Mapping[str, str], cwd: Path
) -> Result[tuple[int, str, str], OhmError]:
    """Run a command to its end, or to its first MiB of output: exit code, standard output, the end of stderr."""
    started = await supervisor.start(Launch(command=command, cwd=cwd, env=env, prompt=b""))
    match started:
        case Err() as unusable:
            return unusable
        case Ok(child):
            pass
    said: list[bytes] = []
    size = 0
    try:
        async for line in child.lines():
            said.append(line)
            size += len(line)
            if size > _MOST_OUTPUT:
                child.stop()
                break
        ended = await child.ended()
    finally:
        child.stop()
    return Ok((ended.code, b"\n".join(said).decode("utf-8", "replace"), ended.stderr))
