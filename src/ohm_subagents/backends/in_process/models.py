"""The model of a run: chosen, and opened once for all runs."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final, Self

import anyio
from anyio import to_thread

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Result
from ohm_subagents.plugin import READY_WITHIN_S, ModelChoice, SharedResource, did_you_mean, install_command, missing_key
from ohm_subagents.redaction import LEAST_SECRET

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from types import TracebackType

    from anyio.abc import TaskGroup
    from pydantic_ai.models import Model

    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.plugin import BackendContext, ModelSpec


_IN_A_PLUGIN: Final = {"gguf": "local"}
"""Providers that come with an extra."""


def _comes_with(provider: str) -> str:
    extra = _IN_A_PLUGIN.get(provider)
    return f"Provider {provider} comes with: {install_command(extra)}. " if extra else ""


class _OpenModel(SharedResource["Model"]):
    """A model, opened in a thread: the first one imports the SDK of its provider.

    The thread is left behind when the book is closed meanwhile: a model that was never entered needs no leaving.
    """

    def __init__(self, spec: ModelSpec, pattern: ModelPattern, book: ModelBook) -> None:
        super().__init__()
        self._spec = spec
        self._pattern = pattern
        self._book = book

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Result[Model, OhmError]]:
        opened = await to_thread.run_sync(self._spec.open, self._pattern, abandon_on_cancel=True)
        if isinstance(opened, Err):
            yield opened
            return
        async with opened.ok_value:
            yield opened

    def failed(self, error: Exception) -> OhmError:
        if self.is_open:
            self._book.broken.append(error)  # raised when every other model is closed
        from ohm_subagents.backends.in_process.failures import failure  # noqa: PLC0415  loads pydantic_ai

        return failure(error, self._pattern, response=None, secrets=self._book.secrets())

    def late(self) -> OhmError:
        return _never_opened(self._pattern)


class ModelBook(ModelChoice):
    """Chooses a model where no setting names one, and opens it at most once for each provider and name.

    Leaving it closes every model. A run that is cancelled while its model opens leaves at
    once, without taking the model from the others that wait for it.
    """

    def __init__(self, specs: Iterable[ModelSpec], env: Mapping[str, str], secrets: Iterable[str] = ()) -> None:
        super().__init__(specs, env)
        self._written = tuple(secrets)
        self._models: dict[tuple[str, str], _OpenModel] = {}
        self._group: TaskGroup | None = None
        self._stack = AsyncExitStack()
        self.broken: list[Exception] = []

    @classmethod
    def of(cls, context: BackendContext) -> Self:
        """Make the book of an `Ohm`, over the providers of all its plugins; not opened yet."""
        written = (one.api_key for one in context.providers if one.api_key)
        return cls(context.models().values(), context.env, secrets=written)

    async def __aenter__(self) -> Self:
        self._group = await self._stack.enter_async_context(anyio.create_task_group())
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        for model in self._models.values():
            model.begin_close()
        swallowed = await self._stack.__aexit__(exc_type, exc, traceback)
        if self.broken:
            raise ExceptionGroup("Models failed to close.", self.broken)
        return swallowed

    def is_free(self, pattern: ModelPattern) -> bool:
        """Return True if the models of the pattern's provider cost nothing."""
        return any(spec.is_free for spec in self._specs if spec.provider == pattern.provider)

    def secrets(self) -> tuple[str, ...]:
        """Return the values of all provider keys, longest first, to be cut out of what is shown."""
        values = {self._env.get(key, "").strip() for spec in self._specs for key in spec.keys}
        known = {value for value in (*values, *self._written) if len(value) >= LEAST_SECRET}
        return tuple(sorted(known, key=len, reverse=True))

    @asynccontextmanager
    async def opened(self, pattern: ModelPattern, key: str | None) -> AsyncGenerator[Result[Model, OhmError]]:
        """Open the model as `open` does; with a key, a model of its own for this use alone."""
        spec = self.spec_of(pattern)
        if key is None or spec is None or spec.open_with_key is None:
            yield await self.open(pattern)
            return
        if not _is_sendable(key):
            yield Err(_unsendable_key(pattern, "apiKey"))
            return
        opened = await to_thread.run_sync(spec.open_with_key, pattern, key, abandon_on_cancel=True)
        if isinstance(opened, Err):
            yield opened
            return
        async with opened.ok_value:
            yield opened

    def takes_key(self, pattern: ModelPattern) -> bool:
        """Return True if a model of the provider can be opened with a key that is given."""
        spec = self.spec_of(pattern)
        return spec is not None and spec.open_with_key is not None

    async def open(self, pattern: ModelPattern) -> Result[Model, OhmError]:
        """Open the model of `pattern` on first use, whatever its thinking level.

        Returns `model_unknown`, `model_key_missing`, or what the provider's own `open` says; one that raises is
        `task_backend_execution_failed`. All who wait get the same failure; the next one tries again.
        """
        spec = self.spec_of(pattern)
        if spec is None:
            return Err(self._unknown_provider(pattern))
        if not self.has_key(spec):
            return Err(missing_key(pattern, spec.key_names))
        if (name := self._unsendable(spec)) is not None:
            return Err(_unsendable_key(pattern, name))
        key = (pattern.provider, pattern.model)
        model = self._models.get(key)
        if model is None:
            if self._group is None:
                raise RuntimeError("ModelBook.open needs an entered ModelBook.")
            model = self._models[key] = _OpenModel(spec, pattern, self)
            self._group.start_soon(self._serve, key, model)
        await model.ready.wait()
        return model.opened or Err(_closed(pattern))

    async def _serve(self, key: tuple[str, str], model: _OpenModel) -> None:
        try:
            await model.serve()
        finally:
            if not model.is_open:
                del self._models[key]

    def _unsendable(self, spec: ModelSpec) -> str | None:
        """Return the variable of the key that is used if no HTTP header can carry it."""
        used = next((name for name in spec.keys if self._env.get(name, "").strip()), None)
        if used is None:
            return None
        return None if _is_sendable(self._env[used].strip()) else spec.key_place or used

    def _unknown_provider(self, pattern: ModelPattern) -> OhmError:
        known = sorted(spec.provider for spec in self._specs)
        hint = _comes_with(pattern.provider) or did_you_mean(pattern.provider, known, model=pattern.model)
        return OhmError(
            code=ErrorCode.MODEL_UNKNOWN,
            message=f'Unknown model provider "{pattern.provider}" in "{pattern}".',
            advice=f"{hint}Available providers: {', '.join(known)}. Add your own under providers in ohm.json; "
            "a run on another machine does not read that file.",
        )


def _is_sendable(key: str) -> bool:
    """Return True if an HTTP header can carry the key."""
    return key.isascii() and key.isprintable()


def _unsendable_key(pattern: ModelPattern, name: str) -> OhmError:
    return OhmError(
        code=ErrorCode.MODEL_KEY_MISSING,
        message=f'The key in {name} cannot be used for model "{pattern}": it holds a character that no key has.',
        advice=f"Set {name} to a key of printable ASCII characters.",
    )


def _never_opened(pattern: ModelPattern) -> OhmError:
    return OhmError(
        code=ErrorCode.BACKEND_TIMEOUT,
        message=f'Model "{pattern}" was not open within {READY_WITHIN_S / 60:.0f} minutes.',
        advice="Try again, or use another model.",
        retryable=True,
    )


def _closed(pattern: ModelPattern) -> OhmError:
    return OhmError(code=ErrorCode.TASK_ABORTED, message=f'Model "{pattern}" was closed while it was being opened.')
