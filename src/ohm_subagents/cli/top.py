"""`ohm top`: the tasks that all processes run, live."""

from __future__ import annotations

import signal
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.cli.reading import Accounts, owner_of
from ohm_subagents.commands import (
    NOTHING_KEPT,
    SUCCESS,
    drawn,
    is_terminal,
    pressed_keys,
    print_styled,
    print_text,
    short_id,
    system_clock,
    terminal_theme,
    until_signal,
)
from ohm_subagents.contract.result import Ok
from ohm_subagents.store import TaskQuery, watched_tasks
from ohm_subagents.views import FLEET_SORTS, PLAIN, FleetRow, fleet_lines

if TYPE_CHECKING:
    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract import ListedTask
    from ohm_subagents.store import Store
    from ohm_subagents.views import FleetSort

_KEYS: Final = {sort[0]: sort for sort in FLEET_SORTS} | {"k": "tokens"}
_HINT: Final = "c cost · t time · k tokens · p profile · q quit"
_STEERED: Final = " · to steer: ohm send|cancel <id>"
_EVERYTHING: Final = 10_000
"""More lines and columns than any terminal has."""


class _Fleet:
    """The newest rows, as they are drawn."""

    def __init__(self, store: Store, sort: FleetSort, *, settled: int) -> None:
        self.sort: FleetSort = sort
        self._store = store
        self._settled = settled
        self._rows: list[FleetRow] = []
        self._short: dict[str, str] = {}
        self.read()

    def read(self) -> None:
        """Read the tasks that have not settled, and so many of the others, the newest first."""
        asked = [self._store.list(TaskQuery(status=status)) for status in ("running", "queued")]
        tasks = [one.ok_value for found in asked for one in found if isinstance(one, Ok)]
        if self._settled:
            ended = (one.ok_value for one in self._store.list(TaskQuery()) if isinstance(one, Ok))
            tasks += [
                task for task, _ in zip((one for one in ended if one.is_terminal), range(self._settled), strict=False)
            ]
        accounts = Accounts(self._store)
        self._rows = [self._row(task, accounts) for task in tasks]

    def _row(self, task: ListedTask, accounts: Accounts) -> FleetRow:
        """Return a task with its process, and of one that runs all that is known."""
        found = self._store.get(task.id) if task.status == "running" else None
        work = found.ok_value if isinstance(found, Ok) else None
        task = task if work is None else replace(task, account=accounts.of(work))
        if is_terminal() and task.id not in self._short:
            self._short[task.id] = short_id(task.id, self._store)
        return FleetRow(task, owner_of(task, self._store), work, self._short.get(task.id, ""))

    def lines(self, width: int, height: int) -> list[str]:
        """Draw what was read last, with the time of now."""
        is_drawn = is_terminal()
        return fleet_lines(
            self._rows,
            sort=self.sort,
            now_ms=system_clock(),
            width=width,
            height=height,
            theme=terminal_theme() if is_drawn else PLAIN,
            with_work=is_drawn,
        )

    def frame(self, width: int, height: int) -> str:
        """Draw it with the keys that there are."""
        hint = _HINT + _STEERED if len(_HINT + _STEERED) <= width else _HINT
        return "\n".join([*self.lines(width, height - 1), hint])


async def top(sort: FleetSort, settled: int, store: Store, _config: OhmConfig) -> int:
    """Show the tasks of all processes until `q` is pressed; once, where no terminal is there. Return the exit code."""
    if store.place is None:
        print_text(NOTHING_KEPT)
        return SUCCESS
    fleet = _Fleet(store, sort, settled=settled)
    if not is_terminal():
        print_styled("\n".join(fleet.lines(_EVERYTHING, _EVERYTHING)))
        return SUCCESS
    ended = await until_signal(partial(_live, fleet, store))
    return SUCCESS if ended in {None, signal.SIGINT} else 128 + int(ended or 0)


async def _live(fleet: _Fleet, store: Store) -> None:
    with drawn(fleet.frame):
        async with anyio.create_task_group() as group:
            group.start_soon(_followed, fleet, store)
            async for key in pressed_keys():
                if key == "q":
                    break
                chosen: FleetSort | None = next((sort for sort in FLEET_SORTS if sort == _KEYS.get(key)), None)
                fleet.sort = chosen or fleet.sort
            group.cancel_scope.cancel()


async def _followed(fleet: _Fleet, store: Store) -> None:
    async for _ in watched_tasks(store):
        fleet.read()
