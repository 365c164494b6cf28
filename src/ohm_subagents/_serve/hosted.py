"""The engines that a server holds: one for each set of options by which programs open an `Ohm`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from pydantic_core import to_json

from ohm_subagents._app.opening import opened_engine
from ohm_subagents._concurrency.faults import error_line
from ohm_subagents._config.mcp_servers import McpServer
from ohm_subagents._orchestrator.run.requests import kept_requests
from ohm_subagents._serve.starters import Starters
from ohm_subagents.contract.events import TaskSettled
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from ohm_subagents._app.engine import Engine
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.wire.serving import OpenOhm

logger = logging.getLogger(__name__)
_OF_A_TERMINAL: Final = frozenset(
    {
        "_", "SHLVL", "PWD", "OLDPWD", "TERM", "COLORTERM", "COLUMNS", "LINES", "WINDOWID", "STY", "TMUX", "TMUX_PANE",
        "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY",
    }
)  # fmt: skip
"""The variables that say where a program was typed: two programs that differ in them alone share an engine."""


class Hosted:
    """An engine, which stays open while a program uses it, or a task of it runs."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.engine: Engine | None = None
        self.fault = self.advice = ""
        self.clients = 0
        self.starters = Starters()
        self._changed = changed
        self.closed = anyio.Event()
        self._over = anyio.Event()
        self._opened = anyio.Event()

    async def opened(self) -> Engine | None:
        """Return the engine once it is open; None if that failed: `fault` says why, and `advice` what to do."""
        await self._opened.wait()
        return self.engine

    @property
    def running(self) -> int:
        """The tasks that have not settled."""
        return 0 if self.engine is None else self.engine.running_count

    async def hold(self, opening: OpenOhm) -> None:
        """Open the engine, and close it after `end`."""
        try:
            async with opened_engine(
                {
                    "cwd": opening.cwd,
                    "config": Path(opening.config) if isinstance(opening.config, str) else opening.config,
                    "env": opening.env,
                    "trust": opening.trust,
                    "profiles": opening.profiles,
                    "mcp_servers": {n: McpServer.model_validate(one) for n, one in opening.mcp_servers.items()},
                    "new_task_id": self.starters.new_task_id,
                }
            ) as engine:
                if isinstance(loaded := engine.assembly.loaded, Err):  # it says nothing of a store either
                    self.fault, self.advice = loaded.err_value.message, loaded.err_value.advice
                    return
                if kept_requests(engine.store) is None:
                    self.fault, self.advice = _unread(engine.assembly.config.subagents.store)
                    return
                self.engine = engine
                self._opened.set()
                with engine.orchestrator.watching_all(self):
                    await self._over.wait()
        finally:
            self.fault = self.fault or "The server ended before it had opened an Ohm."
            self.engine = None
            self._opened.set()
            self.closed.set()
            self._changed()

    def notify(self, task: Task, event: Event) -> None:
        """See `Observer.notify`."""
        if isinstance(event, TaskSettled):
            self.starters.settle(task.id)
            self._changed()

    def end(self) -> None:
        """Close the engine."""
        self._over.set()


class HostedOhms:
    """The engines that are open, by what programs name."""

    def __init__(self, group: TaskGroup, changed: Callable[[], None]) -> None:
        self._group = group
        self._changed = changed
        self._hosted: dict[bytes, Hosted] = {}

    def use(self, opening: OpenOhm) -> Hosted:
        """Return what holds the engine that a program names; it is opened for the first one."""
        env = sorted((name, value) for name, value in opening.env.items() if name not in _OF_A_TERMINAL)
        key = to_json((opening.cwd, opening.config, env, opening.trust, opening.profiles, opening.mcp_servers))
        hosted = self._hosted.get(key)
        if hosted is None:
            hosted = self._hosted[key] = Hosted(self._changed)
            self._group.start_soon(self._held, key, hosted, opening)
        hosted.clients += 1
        return hosted

    def leave(self, hosted: Hosted) -> None:
        """Note that a program is gone."""
        hosted.clients -= 1
        self._changed()

    def end_unused(self) -> None:
        """Close the engines that no program uses, and of which no task runs."""
        for key, hosted in tuple(self._hosted.items()):
            if not hosted.clients and not hosted.running:
                del self._hosted[key]
                hosted.end()

    async def close(self) -> None:
        """Close all engines, and wait until they are closed."""
        for hosted in tuple(self._hosted.values()):
            hosted.end()
            await hosted.closed.wait()

    @property
    def clients(self) -> int:
        """The programs that are connected."""
        return sum(hosted.clients for hosted in self._hosted.values())

    @property
    def running(self) -> int:
        """The tasks that have not settled."""
        return sum(hosted.running for hosted in self._hosted.values())

    async def _held(self, key: bytes, hosted: Hosted, opening: OpenOhm) -> None:
        try:
            await hosted.hold(opening)
        except Exception as error:
            hosted.fault = f"The server could not open an Ohm: {error_line(error)}. Its log has the traceback."
            logger.exception("An Ohm in '%s' could not be opened, or not be closed.", opening.cwd)
        finally:
            if self._hosted.get(key) is hosted:
                del self._hosted[key]


def _unread(store: str) -> tuple[str, str]:
    """Return the fault of a store that no other process reads, and the advice."""
    if store == "sqlite":
        fault = "A server needs a store that other processes read, and its registry of tasks cannot be used here."
        return fault, "Make its directory writable, or run without a server."
    fault = f"A server needs a store that other processes read, such as sqlite; subagents.store is '{store}'."
    return fault, "Set subagents.store to 'sqlite', or run without a server."
