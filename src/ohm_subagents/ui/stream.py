"""The news of the registry for pages that are open: one look for all of them, and only as long as there are some."""

from __future__ import annotations

from contextlib import aclosing, contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import anyio
from pydantic_core import to_json

from ohm_subagents.store import watched_tasks
from ohm_subagents.ui.answers import Hello, TasksGone, TreeChanged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from ohm_subagents.store import Store
    from ohm_subagents.ui.answers import Told
    from ohm_subagents.ui.pictures import Pictures

_PING_S: Final = 15.0
_RETRY_MS: Final = 1_000
_MOST_TOLD: Final = 100


class News:
    """Looks for what is new, at most four times a second, and wakes the streams."""

    def __init__(self, store: Store, pictures: Pictures) -> None:
        """Look at a store while `run` runs."""
        self.server = token_hex(8)
        self._store = store
        self._pictures = pictures
        self._looked = anyio.Event()
        self._wanted = anyio.Event()
        self._listening = 0
        self._is_over = False
        self._told: list[tuple[int, Told]] = []

    def tell(self, told: Told) -> None:
        """Tell all pages of something."""
        self._told = [*self._told, (self._pictures.registry.version + 1, told)][-_MOST_TOLD:]

    async def run(self) -> None:
        """Look, as long as somebody listens, until this is cancelled; then end all streams."""
        try:
            while True:
                await self._wanted.wait()
                async with aclosing(watched_tasks(self._store)) as looks:
                    async for _ in looks:
                        if not self._listening:
                            self._wanted = anyio.Event()
                            break
                        await self._pictures.look()
                        looked, self._looked = self._looked, anyio.Event()
                        looked.set()
        finally:
            self._is_over = True
            self._looked.set()

    @contextmanager
    def _listened(self) -> Generator[None]:
        self._listening += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._listening -= 1

    async def stream(self, task_id: str | None, last_id: str) -> AsyncGenerator[bytes]:
        """Yield the events for one page, from the one on that it has had last; of a task also when its tree changes."""
        registry = self._pictures.registry
        with self._listened():
            await self._pictures.look()
            server, _, number = last_id.partition("-")
            version = int(number) if server == self.server and number.isdecimal() else registry.version
            yield f"retry: {_RETRY_MS}\n\n".encode()
            yield self._event("hello", Hello(server=self.server, now_ms=self._pictures.now()), version)
            seen = None if task_id is None else await self._pictures.newest_changes(task_id)
            while not self._is_over:
                newest, looked = registry.version, self._looked
                async for event in self._events_after(version, newest):
                    yield event
                if task_id is not None and (found := await self._pictures.newest_changes(task_id)) != seen:
                    seen = found
                    yield self._event("tree", TreeChanged(id=task_id), newest)
                version = newest
                with anyio.move_on_after(_PING_S) as quiet:
                    await looked.wait()
                if quiet.cancelled_caught:
                    yield b": ping\n\n"

    async def _events_after(self, version: int, newest: int) -> AsyncGenerator[bytes]:
        if (changed := await self._pictures.changes(version)) is not None:
            yield self._event("tasks", changed, newest)
        if gone := self._pictures.registry.gone_after(version):
            yield self._event("gone", TasksGone(ids=gone), newest)
        for at, told in self._told:
            if version < at <= newest:
                yield self._event("told", told, newest)

    def _event(self, name: str, data: object, version: int) -> bytes:
        return b"".join([f"event: {name}\nid: {self.server}-{version}\ndata: ".encode(), to_json(data), b"\n\n"])
