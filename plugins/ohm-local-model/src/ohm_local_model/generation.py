"""One message in the making: llama.cpp in a thread, its chunks in the event loop."""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token
from pydantic import BaseModel, JsonValue
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelRequestRejectedError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.usage import RequestUsage

from ohm_local_model.schema import bounded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from pathlib import Path


class Delta(BaseModel):
    """The part of the message that a chunk adds."""

    content: str | None = None
    reasoning_content: str | None = None


class Choice(BaseModel):
    """The only choice of a chunk."""

    delta: Delta = Delta()
    finish_reason: str | None = None


class Timings(BaseModel):
    """Token counts so far: prompt tokens from the cache, prompt tokens processed, tokens generated."""

    cache_n: int = 0
    prompt_n: int = 0
    predicted_n: int = 0


class Failure(BaseModel):
    """The refusal of a request by the server."""

    message: str
    type: str = ""
    n_prompt_tokens: int = 0
    n_ctx: int = 0


class Chunk(BaseModel):
    """A chunk of llama.cpp, for one token or for one batch of the prompt."""

    choices: list[Choice] = []
    timings: Timings | None = None
    error: Failure | None = None
    created: int = 0


class Server(Protocol):
    """`xllamacpp.Server`, which has no type stubs."""

    @property
    def listening_address(self) -> str:
        """Return the address of its loopback port, `http://127.0.0.1:<port>`."""
        ...

    @property
    def handle_chat_completions(self) -> Callable[[dict[str, JsonValue], Callable[[dict[str, JsonValue]], bool]], None]:
        """Block until the answer is complete or the callback, called in this thread, returns True."""
        ...


class Generation:
    """One message in the making: iterate over its chunks, once; `usage` is always up to date."""

    def __init__(
        self,
        path: Path,
        load: Callable[[], Server],
        request: dict[str, JsonValue],
        schema: Mapping[str, JsonValue] | None,
    ) -> None:
        self._path = path
        self._load = load
        self._request = request
        self._schema = schema
        self._first: Chunk | None = None
        self._failure: Exception | None = None
        self._stopping = threading.Event()
        self._token = current_token()
        # Unbounded is bounded enough: every generation has a token cap.
        self._send, self._receive = anyio.create_memory_object_stream[Chunk](math.inf)
        self._thread = threading.Thread(target=self._work, name=f"gguf {path.name}")
        self.usage = RequestUsage()
        self.finish_reason: str | None = None
        self.created = 0

    async def start(self) -> None:
        """Start the thread and wait for its first chunk, so that a refusal is raised here."""
        self._thread.start()
        with suppress(anyio.EndOfStream):
            self._first = self._read(await self._receive.receive())
        self._raise_failure()

    async def __aiter__(self) -> AsyncIterator[Delta]:
        """Yield the parts of the message."""
        if self._first is not None:
            for choice in self._first.choices:
                yield choice.delta
        with suppress(anyio.ClosedResourceError):  # stopped by another task
            async for chunk in self._receive:
                for choice in self._read(chunk).choices:
                    yield choice.delta
        self._raise_failure()
        if self.finish_reason is None and not self._stopping.is_set():
            message = f"{self._path} stopped in the middle of its answer."
            raise UnexpectedModelBehavior(message)

    async def stop(self) -> None:
        """End it and join its thread."""
        self._stopping.set()
        if self._thread.ident is None:  # it could not be started
            self._send.close()
        async for chunk in self._receive:
            self._read(chunk, refuse=False)
        if self._thread.is_alive():
            self._thread.join()  # no wait: closing the stream was its last act
        self._receive.close()

    def _read(self, chunk: Chunk, *, refuse: bool = True) -> Chunk:
        if chunk.error is not None and refuse:
            raise self._refusal(chunk.error)
        if (count := chunk.timings) is not None:
            self.usage = RequestUsage(
                input_tokens=count.cache_n + count.prompt_n,
                cache_read_tokens=count.cache_n,
                output_tokens=count.predicted_n,
            )
        for choice in chunk.choices:
            self.finish_reason = choice.finish_reason or self.finish_reason
        self.created = chunk.created or self.created
        return chunk

    def _refusal(self, error: Failure) -> ModelAPIError:
        if error.type == "exceed_context_size_error":
            fact = f"The prompt has {error.n_prompt_tokens} tokens, and {self._path.name} takes {error.n_ctx} in a run."
            return ModelContextWindowExceededError(str(self._path), fact, provider_error_type=error.type)
        return ModelAPIError(str(self._path), f"{error.message.rstrip('.')}.", provider_error_type=error.type)

    def _raise_failure(self) -> None:
        name = str(self._path)
        match self._failure:
            case None:
                pass
            case ValueError() as exc:
                raise ModelRequestRejectedError(name, f"{name} cannot be asked this: {exc}") from exc
            case exc:
                advice = "it may be damaged, need more memory, or be newer than the installed xllamacpp"
                raise ModelUnavailableError(name, f"The model file {name} could not be loaded: {advice}.") from exc

    def _work(self) -> None:
        try:
            server = self._load()
            if self._schema is not None:
                self._request["grammar"] = _grammar(self._schema)
            if not self._stopping.is_set():
                server.handle_chat_completions(self._request, self._on_chunk)
        except (ImportError, OSError, RuntimeError, ValueError) as exc:
            self._failure = exc
        finally:
            with suppress(anyio.RunFinishedError):
                from_thread.run_sync(self._send.close, token=self._token)

    def _on_chunk(self, raw: dict[str, JsonValue]) -> bool:
        """Pass a chunk to the event loop; True asks the server to stop. The server swallows what is raised here."""
        if self._stopping.is_set():
            return True
        from_thread.run_sync(self._send.send_nowait, Chunk.model_validate(raw), token=self._token)
        return False


def _grammar(schema: Mapping[str, JsonValue]) -> str:
    """Return the grammar of a schema without optional white space, which small models repeat for ever.

    `json_schema` in a request would allow that white space, at twice the tokens.
    """
    options: dict[str, JsonValue] = {
        "whitespace_flexible": False,
        "item_separator": ", ",
        "key_separator": ": ",
        "lenient": True,  # a keyword that the grammar compiler does not know is left to the validation that follows
    }
    grammar: str = import_module("xllamacpp").json_schema_to_grammar({**bounded(schema), "x-guidance": options})
    return grammar
