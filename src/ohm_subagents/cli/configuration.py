"""`ohm config show`: the configuration that holds, under its documented names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.cli.exits import SUCCESS
from ohm_subagents.cli.terminal import print_json

if TYPE_CHECKING:
    from ohm_subagents import Ohm
    from ohm_subagents._config.load import LoadedConfig


def print_config(_ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print it as JSON that could be an ohm.json; keys of providers are names of variables, never values."""
    print_json(loaded.config.model_dump(mode="json", by_alias=True, exclude_none=True))
    return SUCCESS
