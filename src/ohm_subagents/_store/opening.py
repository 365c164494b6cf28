"""Which store, where; and that it is closed."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

import anyio

from ohm_subagents._store.memory import MemoryStore
from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from ohm_subagents._store.protocol import Store
    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents._store.schema import Sync
    from ohm_subagents._store.snapshot import SnapshotStore
    from ohm_subagents._store.sqlite import SqliteStore
    from ohm_subagents.contract.ids import Clock

StoreKind = Literal["sqlite", "snapshot", "memory"]


def no_seam(_step: str) -> None:
    """Nothing happens there."""


@asynccontextmanager
async def open_store(
    kind: StoreKind,
    directory: Path,
    *,
    clock: Clock,
    policy: RetentionPolicy,
    sync: Sync = "normal",
    name_of: Callable[[str], str] = str,
    seam: Callable[[str], None] = no_seam,
) -> AsyncGenerator[Store]:
    """A store in `directory`, flushed and closed at the end; where none can be, one in memory that says why.

    `sync`: with `full` not even a power cut loses what was flushed. `name_of` gives the name of a profile, which the
    snapshot file does not hold. `seam` is for tests of `sqlite`: see `Writer`.
    """
    if kind == "memory":
        yield MemoryStore(clock, policy)
        return
    opened: SqliteStore | SnapshotStore | str
    if kind == "sqlite":
        opened = _sqlite(directory, clock=clock, policy=policy, sync=sync, name_of=name_of, seam=seam)
    else:
        opened = _snapshot(directory, clock=clock, policy=policy, name_of=name_of)
    if isinstance(opened, str):
        told = Diagnostic(subject="subagents.store", message=f"Tasks are kept in memory only: {opened}.")
        yield MemoryStore(clock, policy, diagnostics=(told,))
        return
    try:
        yield opened
    finally:
        with anyio.CancelScope(shield=True):
            await opened.flush()
        opened.close()


def _sqlite(
    directory: Path,
    *,
    clock: Clock,
    policy: RetentionPolicy,
    sync: Sync,
    name_of: Callable[[str], str],
    seam: Callable[[str], None],
) -> SqliteStore | str:
    """The store, or why there is none."""
    from ohm_subagents._store.database import UNUSABLE, open_database  # noqa: PLC0415  only who keeps tasks needs it

    try:
        return open_database(directory, clock=clock, policy=policy, sync=sync, name_of=name_of, seam=seam)
    except UNUSABLE as exc:
        return f"the registry in '{directory}' cannot be used, {exc}"


def _snapshot(
    directory: Path, *, clock: Clock, policy: RetentionPolicy, name_of: Callable[[str], str]
) -> SnapshotStore | str:
    from ohm_subagents._store.snapshot import SnapshotStore  # noqa: PLC0415  only who keeps tasks needs it

    try:
        return SnapshotStore(directory, clock=clock, policy=policy, name_of=name_of)
    except BlockingIOError:
        return f"another process uses the snapshot in '{directory}'"
    except OSError as exc:
        return f"the snapshot in '{directory}' cannot be used, {exc}"
