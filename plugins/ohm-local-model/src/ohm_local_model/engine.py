"""One llama.cpp server inside this process for one GGUF file, shared by all who use the file."""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from ohm_local_model.generation import Generation

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from pydantic import JsonValue

    from ohm_local_model.generation import Server
    from ohm_local_model.transcript import ChatMessage

CONTEXT_TOKENS: Final = 8192
"""Prompt and answer of one run."""
PARALLEL: Final = 2
"""Runs that generate at the same time; further ones wait in order."""
BATCH_TOKENS: Final = 64
"""Prompt tokens between two chances to cancel. As fast as the default of 2048 on a CPU."""


@dataclass(eq=False, slots=True, kw_only=True)
class Engine:
    """Loads the file at the first request and keeps it until the last `async with` on it ends, or until it is garbage.

    All in threads. Only llama.cpp's own set-up of a file that has been read stops the event loop, because xllamacpp
    keeps the interpreter's lock meanwhile: 0.4 s for 135M parameters.

    Serves one event loop at a time. The server's loopback port, which cannot be turned off, wants a random key.
    """

    path: Path
    context_tokens: int = CONTEXT_TOKENS
    parallel: int = PARALLEL
    _users: int = field(default=0, init=False)
    _server: Server | None = field(default=None, init=False)
    _loading: threading.Lock = field(default_factory=threading.Lock, init=False)
    _slots: anyio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Make the queue."""
        self._slots = anyio.Semaphore(self.parallel)

    async def __aenter__(self) -> Self:
        """Count one more user."""
        self._users += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        """Unload the file when the last user leaves."""
        self._users -= 1
        if self._users == 0:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._unload)

    @property
    def is_loaded(self) -> bool:
        """The file is in memory."""
        return self._server is not None

    @asynccontextmanager
    async def turn(self, *, afresh: bool) -> AsyncGenerator[Turn]:
        """Wait for a slot and hold it; on leaving, whatever still generates is stopped and its thread is joined.

        `afresh` forgets the prompts of earlier turns. What is left of them saves time but changes how the prompt is
        cut into batches, and with it the last bits of every number: enough to turn a near tie into another answer.
        """
        await self._slots.acquire()
        turn = Turn(self, afresh=afresh)
        try:
            yield turn
        finally:
            with anyio.CancelScope(shield=True):
                await turn.stop()
            self._slots.release()

    def server(self) -> Server:
        """The server, loaded if need be. Blocks; raises `RuntimeError` or `ImportError` when it cannot be loaded."""
        with self._loading:
            if self._server is None:
                self._server = self._load()
            return self._server

    def _load(self) -> Server:
        _read_ahead(self.path)
        runtime = import_module("xllamacpp")
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        params = runtime.CommonParams()
        params.model.path = str(self.path)
        params.n_ctx = self.context_tokens * self.parallel  # llama.cpp splits it between the slots
        params.n_parallel = self.parallel
        params.n_batch = BATCH_TOKENS
        # All cores but one: with a busy core, llama.cpp's spinning barriers make all of them crawl.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, cores - 1)
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.api_keys = [secrets.token_hex()]
        params.n_threads_http = 1
        params.ui = params.endpoint_slots = params.warmup = params.fit_params = False
        params.offline = True
        params.cache_ram_mib = 0  # its default is 8 GB of old prompts
        params.verbosity = 0  # it logs to stderr
        server: Server = runtime.Server(params)
        return server

    def _unload(self) -> None:
        with self._loading:
            self._server = None


class Turn:
    """A slot of the engine: one generation at a time."""

    def __init__(self, engine: Engine, *, afresh: bool) -> None:
        self._engine = engine
        self._afresh = afresh
        self._current: Generation | None = None

    async def generate(
        self,
        conversation: Sequence[ChatMessage],
        sampling: Mapping[str, JsonValue],
        schema: Mapping[str, JsonValue] | None = None,
    ) -> Generation:
        """Start to generate the next message, under `schema` if given; returns at the first sign of life.

        Raises `ModelContextWindowExceededError`, `ModelRequestRejectedError`, `ModelUnavailableError` (the file cannot
        be loaded) or `ModelAPIError`. Cancellation waits for a file that is just being loaded.
        """
        await self.stop()
        request: dict[str, JsonValue] = {
            **sampling,
            "messages": [{"role": message.role, "content": message.content} for message in conversation],
            "cache_prompt": not self._afresh,
            "chat_template_kwargs": {"enable_thinking": False},
            "stream": True,
            "return_progress": True,
            "timings_per_token": True,
        }
        self._afresh = False
        self._current = generation = Generation(self._engine.path, self._engine.server, request, schema)
        await generation.start()
        return generation

    async def stop(self) -> None:
        """End the generation, if there is one, within one token or one batch of the prompt."""
        current, self._current = self._current, None
        if current is not None:
            await current.stop()


def _read_ahead(path: Path) -> None:
    """Bring the file into the page cache, so that no thread that holds the interpreter's lock waits for the disk."""
    buffer = bytearray(1 << 20)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
