"""Which model runs, and one open `Model` for each, shared by every run."""

from __future__ import annotations

from collections import defaultdict
from contextlib import AsyncExitStack
from difflib import get_close_matches
from typing import TYPE_CHECKING, Self

import anyio
from anyio import to_thread

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.model_pattern import ModelPattern, parse_model_pattern
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from anyio.abc import TaskGroup, TaskStatus
    from pydantic_ai.models import Model

    from ohm_subagents._plugins.interfaces import ModelSpec
    from ohm_subagents.contract.profile import Profile


class ModelBook:
    """Chooses a model (house 9.6, below the settings) and opens it at most once for each provider and name.

    Entered by whoever owns it; leaving closes every model. A model is entered and left by a task of its own, because
    a context manager that holds a task group has to be closed by the task that opened it.
    """

    def __init__(self, specs: Iterable[ModelSpec], env: Mapping[str, str]) -> None:
        self._specs = tuple(specs)
        self._env = env
        self._models: dict[tuple[str, str], Model] = {}
        self._locks: defaultdict[tuple[str, str], anyio.Lock] = defaultdict(anyio.Lock)
        self._stack = AsyncExitStack()
        self._keepers: TaskGroup | None = None
        self._closing = anyio.Event()

    async def __aenter__(self) -> Self:
        self._keepers = await self._stack.enter_async_context(anyio.create_task_group())
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        self._closing.set()
        return await self._stack.__aexit__(exc_type, exc, traceback)

    @property
    def specs(self) -> tuple[ModelSpec, ...]:
        """The providers, in the order in which their defaults are tried."""
        return self._specs

    def has_key(self, spec: ModelSpec) -> bool:
        """Whether the provider needs no key, or one of its keys is in the environment and not blank."""
        return not spec.keys or any(self._env.get(key, "").strip() for key in spec.keys)

    def secrets(self) -> tuple[str, ...]:
        """The values of every provider key, to be cut out of anything that is shown."""
        values = (self._env.get(key, "").strip() for spec in self._specs for key in spec.keys)
        return tuple(sorted({value for value in values if value}, key=len, reverse=True))

    def choose(self, pattern: ModelPattern | None, profile: Profile) -> Result[ModelPattern, OhmError]:
        """The pattern given; else the default of the first provider whose key is there; else the profile's fallback.

        Returns `task_model_missing` with the settings that name a model and the keys that were looked for.
        """
        if pattern is not None:
            return Ok(pattern)
        for spec in self._specs:
            if spec.default_model is not None and self.has_key(spec):
                return parse_model_pattern(f"{spec.provider}/{spec.default_model}")
        if profile.fallback_model is not None:
            return Ok(profile.fallback_model)
        keys = ", ".join(sorted({key for spec in self._specs if spec.default_model for key in spec.keys}))
        return Err(
            OhmError(
                code=ErrorCode.MODEL_MISSING,
                message=f'No model for subagent "{profile.id}": set OHM_MODEL, or subagents.model or '
                f'subagents.{profile.id}.model in ohm.json, to "<provider>/<model>", '
                f"or put one of the keys {keys} in the environment.",
            )
        )

    async def open(self, pattern: ModelPattern) -> Result[Model, OhmError]:
        """The model of `pattern`, opened on first use; its thinking level is no part of it.

        Returns `model_unknown`, `model_key_missing`, or what the provider's own `open` says.
        """
        spec = next((spec for spec in self._specs if spec.provider == pattern.provider), None)
        if spec is None:
            return Err(self._unknown_provider(pattern))
        if not self.has_key(spec):
            return Err(_missing_key(pattern, spec))
        key = (pattern.provider, pattern.model)
        async with self._locks[key]:
            if key in self._models:
                return Ok(self._models[key])
            # A thread, because the first one imports a provider's SDK and a local one reads gigabytes.
            opened = await to_thread.run_sync(spec.open, pattern)
            if isinstance(opened, Err):
                return opened
            if self._keepers is None:
                raise RuntimeError("ModelBook.open needs an entered ModelBook.")
            await self._keepers.start(self._keep, opened.ok_value)
            self._models[key] = opened.ok_value
            return opened

    async def _keep(self, model: Model, *, task_status: TaskStatus[None]) -> None:
        async with model:
            task_status.started()
            await self._closing.wait()

    def _unknown_provider(self, pattern: ModelPattern) -> OhmError:
        known = sorted(spec.provider for spec in self._specs)
        close = get_close_matches(pattern.provider, known, n=1)
        hint = f' Did you mean "{close[0]}/{pattern.model}"?' if close else ""
        return OhmError(
            code=ErrorCode.MODEL_UNKNOWN,
            message=f'Unknown model provider "{pattern.provider}" in "{pattern}".{hint}',
            advice=f"Available providers: {', '.join(known)}. Add your own under providers in ohm.json.",
        )


def _missing_key(pattern: ModelPattern, spec: ModelSpec) -> OhmError:
    return OhmError(
        code=ErrorCode.MODEL_KEY_MISSING,
        message=f'No key for provider "{spec.provider}" of model "{pattern}": '
        f"{' or '.join(spec.keys)} is not in the environment.",
        advice=f"Set {spec.keys[0]}, or choose a model of another provider.",
    )
