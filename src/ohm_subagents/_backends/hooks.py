"""The built-in backends and model providers, offered through the same hooks as anybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._backends.echo import ECHO
from ohm_subagents._backends.fallback import fallback_spec
from ohm_subagents._backends.in_process.models import ModelBook
from ohm_subagents._backends.in_process.providers import builtin_model_specs, custom_model_specs
from ohm_subagents._backends.in_process.search_model import search_model_spec
from ohm_subagents._backends.in_process.spec import InProcessOptions, interactive_sdk_spec
from ohm_subagents._backends.shell.pi.spec import interactive_shell_spec
from ohm_subagents._plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ohm_subagents._backends.in_process.tools.commands import Run
    from ohm_subagents._backends.services import CompatibleProvider
    from ohm_subagents._backends.shell.pi.options import PiOptions
    from ohm_subagents._plugins.interfaces import BackendSpec, ModelSpec
    from ohm_subagents._plugins.pool import Log
    from ohm_subagents._plugins.suites import JsonObject


class BuiltinBackends:
    """`none`, `interactive-sdk` and `interactive-shell`.

    `providers` are the services of ohm.json, `pi_providers` those of models.json, which a nested `pi` knows by itself.
    `cache_directory` is for what may be thrown away at any time; None keeps nothing of it.
    `models` are what all plugins offer, asked for when the first run needs one. `fallback` are the options, as they are
    written, of the `interactive-shell` that runs what `interactive-sdk` cannot begin; None without one.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        providers: Iterable[CompatibleProvider],
        pi_providers: Iterable[CompatibleProvider],
        models: Callable[[], Mapping[str, ModelSpec]],
        fallback: JsonObject | None,
        cache_directory: Path | None,
        log: Log,
    ) -> None:
        self._env = env
        self._providers = tuple(providers)
        self._pi_providers = tuple(pi_providers)
        self._models = models
        self._fallback = fallback
        self._in_process = interactive_sdk_spec(
            self.model_book,
            index_directory=cache_directory and cache_directory / "code-search",
            commands=self._commands,
        )
        self._shell = interactive_shell_spec(self._providers)
        if fallback is not None:
            self._in_process = fallback_spec(self._in_process, self._shell, second_options=fallback, log=log)

    def is_same(self, other: BuiltinBackends) -> bool:
        """Whether models would be found in the same places with the same keys, and runs go the same ways."""
        return self._made_of() == other._made_of()

    def _made_of(self) -> object:
        return (self._env, self._providers, self._pi_providers, self._fallback)

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec[InProcessOptions] | BackendSpec[PiOptions] | BackendSpec]:
        """Hand over the backends."""
        return (self._in_process, self._shell, ECHO)

    @hookimpl
    def ohm_models(self) -> Iterable[ModelSpec]:
        """Hand over the user's own providers, then ours, the embedded one last."""
        ours = builtin_model_specs(self._env, self._pi_providers)
        names = {spec.provider for spec in ours}
        theirs = (one for one in self._pi_providers if one.name not in names)  # those only say more of ours
        return (*custom_model_specs((*self._providers, *theirs), self._env), *ours, search_model_spec())

    def _commands(self) -> AbstractAsyncContextManager[Run]:
        """What runs the commands of `bash`, and leaves nothing of them behind."""
        from ohm_subagents._backends.supervised import supervised_commands  # noqa: PLC0415  it loads pydantic_ai

        return supervised_commands(self._env)

    def model_book(self) -> ModelBook:
        """A book over every provider there is, not opened yet."""
        written = (one.api_key for one in self._pi_providers if one.api_key)
        return ModelBook(self._models().values(), self._env, secrets=written)
