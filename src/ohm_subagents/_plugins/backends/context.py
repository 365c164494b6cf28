"""The contexts of the hooks `ohm_backends` and `ohm_models`: the services for their backends and models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Protocol

from ohm_subagents._plugins.backends.interface import ModelSpec
from ohm_subagents._records import dataclass
from ohm_subagents.contract.services import CompatibleProvider


class Log(Protocol):
    """Logs a backend's own faults; a structlog logger is one."""

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


def _trust_nothing(_path: Path, _text: str) -> bool:
    return False


def _no_models() -> Mapping[str, ModelSpec]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendContext:
    """The parts of an `Ohm` that its backends and model providers may use.

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
    trusts: Callable[[Path, str], bool] = field(default=_trust_nothing, repr=False, compare=False)
    """Return True if the user trusts this file of a project with this text in it."""
    models: Callable[[], Mapping[str, ModelSpec]] = field(default=_no_models, repr=False, compare=False)
    """Return the model providers of all plugins by name. Call it when a backend opens, not in a hook."""
