"""OpenAI-compatible services, as backends know them: those of ohm.json, and those of models.json."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from ohm_subagents._records import dataclass

OHM_JSON: Final = "ohm.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleModel:
    """A model of an OpenAI-compatible service."""

    id: str
    """The name that the service knows it by."""
    supports_thinking: bool = False
    """Takes a thinking level."""
    supports_images: bool = False
    """Reads the images that tools return."""
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
    """The name in messages instead of the variable, where that must not be shown."""
    models: tuple[CompatibleModel, ...] = ()
    """The models that may be asked; empty allows any name."""
    source: str = OHM_JSON
    """The file that configures it: `ohm.json`, or `models.json` of the agent directory."""
    obstacle: str = ""
    """The reason, in one sentence, why this process cannot use its models; empty if it can."""
