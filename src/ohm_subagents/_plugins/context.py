"""What the hooks `ohm_backends` and `ohm_models` are given: what their backends and models may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from ohm_subagents._plugins.interfaces import ModelSpec

OHM_JSON: Final = "ohm.json"


class Log(Protocol):
    """Where a backend logs what is wrong with itself; a structlog logger is one."""

    def error(self, event: str, **fields: object) -> object:
        """Log an event with its fields."""
        ...

    def exception(self, event: str, **fields: object) -> object:
        """Log an event with the exception that is being handled."""
        ...


class _Silent:
    """Logs nothing."""

    def error(self, event: str, **fields: object) -> object:
        del event, fields
        return None

    exception = error


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleModel:
    """A model of an OpenAI-compatible service."""

    id: str
    """The name that the service knows it by."""
    supports_thinking: bool = False
    """Takes a thinking level."""
    context_window: int | None = None
    """The size of its context window in tokens; None if it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleProvider:
    """An OpenAI-compatible service that the user has configured; with neither key it is asked without one."""

    name: str
    """The name that model patterns use, in lower case."""
    base_url: str
    """The base URL of its API."""
    api_key_env: str | None = None
    """The environment variable that holds its key."""
    api_key: str = field(default="", repr=False)
    """The key itself."""
    key_place: str = ""
    """What messages name instead of the variable, where that must not be shown."""
    models: tuple[CompatibleModel, ...] = ()
    """The models that may be asked; empty allows any name."""
    source: str = OHM_JSON
    """The file that configures it: `ohm.json`, or `models.json` of the agent directory."""
    obstacle: str = ""
    """Why no model of it can be asked from this process, in one sentence; empty if one can."""


def _no_models() -> Mapping[str, ModelSpec]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendContext:
    """What a backend or a model provider may use of the `Ohm` that it is for.

    Contexts are equal if the environment, the providers and the cache directory are. When an `Ohm` is reconfigured, a
    backend whose new `BackendSpec` equals the former one stays open: a module's function as `open`, or a frozen
    dataclass with the context and a `__call__`.
    """

    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The environment that the `Ohm` was opened with, keys included. Read nothing from `os.environ`."""
    providers: tuple[CompatibleProvider, ...] = ()
    """The OpenAI-compatible services of ohm.json, then those that only `models.json` has."""
    cache_directory: Path | None = None
    """A directory for what may be deleted at any time; None keeps nothing."""
    log: Log = field(default=_Silent(), repr=False, compare=False)
    """The logger of the `Ohm`."""
    models: Callable[[], Mapping[str, ModelSpec]] = field(default=_no_models, repr=False, compare=False)
    """Return the model providers of all plugins by name. Call it when a backend opens, not in a hook."""
